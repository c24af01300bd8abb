"""`import multivalid` is light, and every public name explains itself with an example."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import multivalid as mv

HEAVY = [
    "pandas", "polars", "pyarrow", "duckdb", "matplotlib", "jinja2", "typer", "rich", "sklearn", "scipy.stats", "scipy.optimize",
]  # fmt: skip


def test_importing_loads_nothing_heavy():
    code = f"import sys, multivalid; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_audit_of_arrays_loads_no_frame_library():
    code = (
        "import sys, multivalid as mv; mv.audit([0, 1, 1], [0.2, 0.7, 0.7], groups=[[True, False, True]]).summary(); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(mv.__all__))
def test_public_names_have_an_example(name):
    thing = getattr(mv, name)
    texts = [inspect.getdoc(thing) or ""]
    assert texts[0], f"{name} has no docstring"
    if inspect.isclass(thing):
        texts += [inspect.getdoc(member) or "" for label, member in vars(thing).items() if not label.startswith("_")]
    assert any(">>>" in text for text in texts), f"{name} has no example"


def test_names_are_sorted_and_real():
    assert list(mv.__all__) == sorted(mv.__all__)
    assert len(set(mv.__all__)) == len(mv.__all__)
    assert {"Mean", "Quantile", "Grid", "Groups", "audit", "bins", "cross", "multicalibrate", "load"} <= set(mv.__all__)
