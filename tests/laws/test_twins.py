"""Nothing is written twice: no seven lines of code stand in two places, whatever the names of their variables."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import multivalid

PACKAGE = Path(multivalid.__file__).parent
LINES = 7


class _Shape(ast.NodeTransformer):
    """Variables lose their names; functions, attributes, numbers and texts keep theirs: they say what is done."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("_", ast.Load())


def bodies(tree: ast.Module) -> list[list[ast.stmt]]:
    """The statements of every function, without its docstring; signatures and imports are what Python asks for."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            found.append([one for one in body if not isinstance(one, (ast.Import, ast.ImportFrom))])
    return found


def runs(body: list[ast.stmt], lines: int) -> list[tuple[str, int]]:
    """Every shortest run of statements that takes so many lines, as its shape and its first line."""
    found = []
    shapes = [ast.dump(_Shape().visit(ast.parse(ast.unparse(one)))) for one in body]
    for first in range(len(body)):
        for last in range(first, len(body)):
            if (body[last].end_lineno or 0) - body[first].lineno + 1 >= lines:
                found.append(("\n".join(shapes[first : last + 1]), body[first].lineno))
                break
    return found


def twins(sources: dict[str, str], lines: int) -> list[list[str]]:
    """Places of code of one shape."""
    places = defaultdict(list)
    for name, text in sources.items():
        for body in bodies(ast.parse(text)):
            for shape, line in runs(body, lines):
                places[shape].append(f"{name}:{line}")
    return [where for where in places.values() if len(where) > 1]


def test_a_twin_with_other_names_is_seen():
    first = "def f(a):\n    b = a + 1\n    c = b.total(2)\n    return c\n"
    other = "def g(x):\n    y = x + 1\n    z = y.total(2)\n    return z\n"
    assert twins({"one": first, "two": other}, 3) == [["one:2", "two:2"]]
    assert twins({"one": first, "two": other.replace("total", "mean")}, 3) == []


def test_no_seven_lines_stand_twice():
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert len(sources) > 100
    assert twins(sources, LINES) == []
