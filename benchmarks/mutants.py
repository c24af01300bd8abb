"""Do the tests bite? Change one formula at a time in a copy of the package, and see whether a test notices.

    python benchmarks/mutants.py [count [seed [room …]]]      (204, 1, all rooms; an hour or two. Not part of the tests.)

A mutant is one change in a mathematical module: an operator, a comparison, a number, minimum for maximum. Every room gets the same number
of them. First the tests of the room run once, and what functions each calls is kept in build/mutants; then every mutant meets the tests
recorded so far that call the changed function, one case of each test first, for about fifteen seconds, after them others of the same
files; a survivor meets more of them, for about a minute. A test that runs far too long notices too: a loop that does not end is an answer.
Survivors are printed as file, line and change; some change no answer (a tolerance, the size of a block), and a person has to say which.
Ctrl-C prints the score so far.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "multivalid"
KEPT = ROOT / "build" / "mutants"
# Those that are mostly tested through others come last, when the tests of these are known.
ROOMS = ("cells", "groups", "audit", "batch", "discover", "joint", "online", "practical", "properties", "scope", "several", "atoms")
FILES = ("grid", "levels", "metrics", "rounding", "collateral")
# Words, pages and files: their tests are about other things than numbers.
NOT_MATHEMATICS = {
    "text.py", "backtest_text.py", "sentences.py", "short_names.py", "page.py", "codec.py", "names.py", "parse.py", "source.py",
    "state_file.py", "file_lock.py", "durable.py", "durable_monitor.py", "literals.py", "meaning.py", "reading.py", "monitor_reading.py",
    "picture.py", "syntax.py", "strings.py", "checks.py", "export.py",
}  # fmt: skip
BUDGETS = (15.0, 60.0)  # seconds of tests for one mutant, and for one that survived those
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


def mutant(path: Path, number: int) -> tuple[str, int, str, int]:
    """The source with the place of that number changed, its line, what was changed, and the first line of the function."""
    tree = ast.parse(path.read_text("utf-8"))
    node, _, function = places(tree)[number]
    before = ast.unparse(node)
    change(node)
    return ast.unparse(tree), getattr(node, "lineno", 0), f"{before}  ->  {ast.unparse(node)}", function


def witnesses(calls: dict[str, list], function: str, budget: float) -> list[str]:
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
            if chosen and (spent + seconds > budget or len(chosen) >= MOST):
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


def recorded(copy: Path, room: str) -> dict[str, list]:
    """What functions each test of the room calls, measured once for this state of the code, and what was measured of other rooms."""
    folder = KEPT / state()
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{room}.json"
    if not kept.exists():
        tests = [f"tests/{room}", f"multivalid/{room}"] if room in ROOMS else [f"tests/test_{room}.py", f"multivalid/{room}.py"]
        run(copy, ["-p", "called_functions", *(one for one in tests if (ROOT / one).exists())], 3600, CALLED_FUNCTIONS=str(kept))
    found: dict[str, list] = {}
    for one in sorted(folder.glob("*.json")):
        found |= json.loads(one.read_text("utf-8"))
    return found


def state() -> str:
    """A name for the code and the tests as they are: what was recorded goes by lines."""
    made = hashlib.sha256()
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        made.update(path.read_bytes())
    return made.hexdigest()[:12]


def chosen_places(room: str, count: int, dice: random.Random) -> list[tuple[Path, int]]:
    """Places of a room that can be changed, drawn without putting any back, so that large files get more."""
    files = sorted((PACKAGE / room).rglob("*.py")) if room in ROOMS else [PACKAGE / f"{room}.py"]
    every = [
        (path, number)
        for path in files
        if path.name not in NOT_MATHEMATICS
        for number in range(len(places(ast.parse(path.read_text("utf-8")))))
    ]
    return sorted(dice.sample(every, min(count, len(every))))


def tried(copy: Path, room: str, count: int, seed: int) -> Iterator[bool]:
    """Print a line per mutant of the room; whether it was noticed."""
    calls = recorded(copy, room)
    for path, number in chosen_places(room, count, random.Random(f"{seed} {room}")):
        text, line, words, function = mutant(path, number)
        quick, long = (witnesses(calls, f"{path.relative_to(PACKAGE)}:{function}", budget) for budget in BUDGETS)
        target = copy / path.relative_to(ROOT)
        target.write_text(text, "utf-8")
        rest = [test for test in long if test not in set(quick)]
        dead = any(noticed(copy, tests) for tests in (quick, rest) if tests)
        shutil.copy(path, target)
        told = "noticed " if dead else "SURVIVED" if quick else "UNCALLED"
        print(f"{told} {path.relative_to(ROOT)}:{line}: {words}   ({len(long)} tests)", flush=True)
        yield dead


def main(count: int, seed: int, rooms: list[str]) -> None:
    """Print a line per mutant, the score of each room, and the score."""
    scores: dict[str, list[bool]] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("multivalid", "tests", "docs"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, copy / name)
        try:
            for room in rooms:
                scores[room] = []
                for dead in tried(copy, room, max(1, count // len(rooms)), seed):
                    scores[room].append(dead)
                print(f"{room}: {sum(scores[room])} of {len(scores[room])}", flush=True)
        except KeyboardInterrupt:
            print("stopped")
    every = [dead for room in scores.values() for dead in room]
    print(
        f"{sum(every)} of {len(every)} mutants noticed ({100 * sum(every) / max(1, len(every)):.0f} %), seed {seed}, "
        f"in {', '.join(f'{room} {sum(one)}/{len(one)}' for room, one in scores.items())}"
    )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 12 * len((*ROOMS, *FILES)),
        int(sys.argv[2]) if len(sys.argv) > 2 else 1,
        sys.argv[3:] or [*FILES, *ROOMS],
    )
