"""Do the tests bite? Change one formula at a time in a copy of the package, and see whether the tests of its room notice.

    python benchmarks/mutants.py [count [seed]]      (200, 1; hours. Not part of the tests.)

A mutant is one change in a mathematical module: an operator, a comparison, a number, minimum for maximum. The tests of its room run in
a copy, stopped at the first failure or after ten minutes (which counts as noticed: a loop that does not end is). Survivors are printed
with the line; some of them change no answer (a tolerance, a size of a block), and a person has to say which.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Rooms with mathematics, and where their tests are; the fewest first, so that a mutant dies early.
ROOMS = {
    "batch": ["tests/batch"], "joint": ["tests/joint"], "cells": ["tests/cells", "tests/audit"], "properties": ["tests/properties"],
    "online": ["tests/online"], "practical": ["tests/practical"], "audit": ["tests/audit"], "discover": ["tests/discover"],
    "scope": ["tests/scope"], "levels.py": ["tests/test_levels.py", "tests/audit"],
    "rounding.py": ["tests/test_rounding.py", "tests/batch"],
}  # fmt: skip
LIMIT = 600
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISONS = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "log1p": "log", "exp": "expm1", "sum": "mean"}


def changes(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """Every place that can be changed inside a function, and how."""
    found: list[tuple[ast.AST, str]] = []
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.BinOp)
                    and type(node.op) in ARITHMETIC
                    and not isinstance(node.left, (ast.Constant, ast.JoinedStr))
                ):
                    found.append((node, "operator"))
                elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
                    found.append((node, "comparison"))
                elif isinstance(node, ast.Attribute) and node.attr in NAMES:
                    found.append((node, "function"))
                elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0, -1):
                    found.append((node, "number"))
    return found


def change(node: ast.AST, kind: str) -> None:
    """Make the change in place."""
    if kind == "operator":
        assert isinstance(node, ast.BinOp)
        node.op = ARITHMETIC[type(node.op)]()
    elif kind == "comparison":
        assert isinstance(node, ast.Compare)
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif kind == "function":
        assert isinstance(node, ast.Attribute)
        node.attr = NAMES[node.attr]
    else:
        assert isinstance(node, ast.Constant)
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5


def mutated(path: Path, dice: random.Random) -> tuple[str, str] | None:
    """The source with one change, and what was changed."""
    tree = ast.parse(path.read_text("utf-8"))
    places = changes(tree)
    if not places:
        return None
    node, kind = dice.choice(places)
    before = ast.unparse(node)
    change(node, kind)
    return ast.unparse(tree), f"line {getattr(node, 'lineno', 0)}: {before}  ->  {ast.unparse(node)}"


def noticed(copy: Path, tests: list[str]) -> bool:
    """Whether the tests of the room fail in the copy."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main(count: int, seed: int) -> None:
    """Print a line per mutant and the score."""
    dice = random.Random(seed)
    files = [
        (path, tests)
        for room, tests in ROOMS.items()
        for path in sorted([ROOT / "multivalid" / room] if room.endswith(".py") else (ROOT / "multivalid" / room).rglob("*.py"))
    ]
    weights = [len(changes(ast.parse(path.read_text("utf-8")))) for path, _ in files]
    caught = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("multivalid", "tests", "docs"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, copy / name)
        while tried < count:
            path, tests = dice.choices(files, weights)[0]
            made = mutated(path, dice)
            if made is None:
                continue
            target = copy / path.relative_to(ROOT)
            target.write_text(made[0], "utf-8")
            dead = noticed(copy, tests)
            shutil.copy(path, target)
            caught, tried = caught + dead, tried + 1
            print(f"{'noticed ' if dead else 'SURVIVED'} {path.relative_to(ROOT)} {made[1]}", flush=True)
    print(f"{caught} of {tried} mutants noticed ({100 * caught / tried:.0f} %), seed {seed}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
