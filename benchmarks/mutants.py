"""Do the tests bite? Change one formula at a time in a copy of the package, and see whether a test notices.

    python benchmarks/mutants.py [count [seed [room …]]]      (200, 1, all rooms; an hour or two. Not part of the tests.)

A mutant is one change in a mathematical module: an operator, a comparison, a number, minimum for maximum. First the tests of those rooms
run once, and what functions each calls is kept in build/mutants; then every mutant meets the tests that call the changed function, one
case of each test first, for about fifteen seconds, after them others of the same files. A test that runs far too long notices too: a
loop that does not end is an answer. Survivors are printed as file, line and change; some change no answer (a tolerance, the size of a
block), and a person has to say which.
"""

from __future__ import annotations

import ast
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "mutants"
ROOMS = ("atoms", "audit", "batch", "cells", "discover", "groups", "joint", "online", "practical", "properties", "scope", "several")
FILES = ("collateral", "grid", "levels", "metrics", "rounding")
# Words, pages and files: their tests are about other things than numbers.
NOT_MATHEMATICS = {
    "text.py", "backtest_text.py", "sentences.py", "short_names.py", "page.py", "codec.py", "names.py", "parse.py", "source.py",
    "state_file.py", "file_lock.py", "durable.py", "durable_monitor.py", "literals.py", "meaning.py", "reading.py", "monitor_reading.py",
    "picture.py", "syntax.py", "strings.py", "checks.py", "export.py",
}  # fmt: skip
BUDGET = 15.0  # seconds of tests for one mutant
MOST = 400  # tests for one mutant
LIMIT = 120  # CPU seconds after which a mutant that still runs is said to be noticed
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISONS = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "log1p": "log", "exp": "expm1", "sum": "mean"}
Place = tuple[ast.AST, str, int]  # what is changed, how, first line of the innermost function around it


def places(node: ast.AST, function: int = 0) -> list[Place]:
    """Every place inside a function that can be changed; not in messages."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert)):
        return []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        function = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        return [place for part in node.body for place in places(part, function)]
    found = []
    if function:
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not isinstance(node.left, (ast.List, ast.JoinedStr)):
            found.append((node, "operator", function))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            found.append((node, "comparison", function))
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            found.append((node, "function", function))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0, -1):
            found.append((node, "number", function))
    return found + [place for part in ast.iter_child_nodes(node) for place in places(part, function)]


def change(node: ast.AST) -> None:
    """Make the change in place."""
    if isinstance(node, ast.BinOp):
        node.op = ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif isinstance(node, ast.Attribute):
        node.attr = NAMES[node.attr]
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5


def mutant(path: Path, dice: random.Random) -> tuple[str, int, str, int]:
    """The source with one change, its line, what was changed, and the first line of the function."""
    tree = ast.parse(path.read_text("utf-8"))
    node, _, function = dice.choice(places(tree))
    before = ast.unparse(node)
    change(node)
    return ast.unparse(tree), getattr(node, "lineno", 0), f"{before}  ->  {ast.unparse(node)}", function


def witnesses(calls: dict[str, list], function: str) -> list[str]:
    """Tests that call the function, one case of each test before the second of any, the fastest first; then others of their files."""
    direct = {test for test, (_, called) in calls.items() if function in called}
    files = {test.split("::")[0] for test in direct}
    chosen, spent = [], 0.0
    for group in (direct, {test for test in calls if test.split("::")[0] in files} - direct):
        seen: Counter[str] = Counter()
        ranked = []
        for test in sorted(group, key=lambda one: calls[one][0]):
            name = test.split("[")[0]
            ranked.append((seen[name], calls[test][0], test))
            seen[name] += 1
        for _, seconds, test in sorted(ranked):
            if chosen and (spent + seconds > BUDGET or len(chosen) >= MOST):
                break
            chosen.append(test)
            spent += seconds
    return chosen


def noticed(copy: Path, tests: list[str]) -> bool:
    """Whether one of the tests fails in the copy."""
    (copy / "chosen").write_text("\n".join(tests), "utf-8")
    return run(copy, ["-x", "-p", "no:cacheprovider", "@chosen"], LIMIT) != 0


def run(copy: Path, options: list[str], limit: int, **variables: str) -> int:
    """Pytest in the copy, one thread."""
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT / 'benchmarks'}", "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *options]
    return subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
    ).returncode  # fmt: skip


def recorded(copy: Path, rooms: list[str]) -> dict[str, list]:
    """What functions each test of the rooms calls, measured once a room."""
    found: dict[str, list] = {}
    KEPT.mkdir(parents=True, exist_ok=True)
    for room in rooms:
        kept = KEPT / f"{room}.json"
        if not kept.exists():
            tests = [f"tests/{room}", f"multivalid/{room}"] if room in ROOMS else [f"tests/test_{room}.py", f"multivalid/{room}.py"]
            run(
                copy, ["-p", "called_functions", *(one for one in tests if (ROOT / one).exists())], 3600, CALLED_FUNCTIONS=str(kept)
            )
        found |= json.loads(kept.read_text("utf-8"))
    return found


def main(count: int, seed: int, rooms: list[str]) -> None:
    """Print a line per mutant and the score."""
    dice = random.Random(seed)
    package = ROOT / "multivalid"
    files = [path for room in rooms for path in sorted((package / room).rglob("*.py")) if path.name not in NOT_MATHEMATICS]
    files += [package / f"{name}.py" for name in FILES if name in rooms]
    weights = [len(places(ast.parse(path.read_text("utf-8")))) for path in files]
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("multivalid", "tests", "docs"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, copy / name)
        calls = recorded(copy, rooms)
        for path in dice.choices(files, weights, k=count):
            text, line, words, function = mutant(path, dice)
            tests = witnesses(calls, f"{path.relative_to(package)}:{function}")
            target = copy / path.relative_to(ROOT)
            target.write_text(text, "utf-8")
            dead = bool(tests) and noticed(copy, tests)
            shutil.copy(path, target)
            caught += dead
            told = "noticed " if dead else "SURVIVED" if tests else "UNCALLED"
            print(f"{told} {path.relative_to(ROOT)}:{line}: {words}   ({len(tests)} tests)", flush=True)
    print(f"{caught} of {count} mutants noticed ({100 * caught / count:.0f} %), seed {seed}, in {', '.join(rooms)}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200,
        int(sys.argv[2]) if len(sys.argv) > 2 else 1,
        sys.argv[3:] or [*ROOMS, *FILES],
    )
