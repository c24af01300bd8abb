"""`import multivalid` is light, and every public name explains itself with an example."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import numpy as np
import pandas as pd
import pytest

import multivalid as mv

HEAVY = [
    "pandas", "polars", "pyarrow", "duckdb", "matplotlib", "jinja2", "typer", "rich", "sklearn", "scipy.stats", "scipy.optimize",
]  # fmt: skip


def after(code: str) -> set[str]:
    """Names of the modules that a fresh Python has loaded after running `code`."""
    ending = f"{code}\nimport sys; print(*sys.modules, sep='\\n')"
    return set(subprocess.run([sys.executable, "-c", ending], capture_output=True, text=True, check=True).stdout.split())


def test_importing_loads_next_to_nothing():
    loaded = after("import multivalid")
    assert {name for name in loaded if name.startswith("multivalid")} == {
        "multivalid", "multivalid.audit", "multivalid.discover", "multivalid.lazy_names", "multivalid.scope",
    }  # fmt: skip
    assert loaded.isdisjoint([*HEAVY, "numpy", "scipy", "narwhals", "dataclasses", "inspect", "hashlib"])


def test_an_audit_of_arrays_loads_neither_frame_libraries_nor_what_corrects():
    loaded = after("import multivalid as mv; mv.audit([0, 1, 1], [0.2, 0.7, 0.7], groups=[[True, False, True]]).error")
    assert loaded.isdisjoint([*HEAVY, "multivalid.joint", "multivalid.batch", "multivalid.practical", "multivalid.online"])
    assert "multivalid.audit.audit" in loaded


def test_correcting_one_property_does_not_load_pairs():
    loaded = after("import multivalid as mv; mv.multicalibrate([0, 1, 1], [0.2, 0.7, 0.7], groups=[], mode='theorem', m=4)")
    assert loaded.isdisjoint(["multivalid.joint.theorem", "multivalid.audit.pair", "multivalid.online", "multivalid.estimators"])
    assert "multivalid.batch.theorem" in loaded


def test_correcting_classes_loads_neither_pairs_nor_another_blas():
    rows = "[0, 1, 2] * 200, [[0.2, 0.3, 0.5], [0.3, 0.3, 0.4], [0.1, 0.5, 0.4]] * 200"
    loaded = after(f"import multivalid as mv; mv.multicalibrate({rows}, groups=[], property=mv.Classes(range(3)))")
    assert loaded.isdisjoint(["multivalid.joint.practical", "multivalid.fit_with_columns", "scipy.linalg"])
    assert "multivalid.several.shares_fit" in loaded


# What a service that predicts row by row does not wait for: libraries beyond NumPy, and the parts that fit, audit or read frames.
NOT_TO_SERVE = [
    *HEAVY, "scipy", "narwhals", "threadpoolctl", "pathlib", "tempfile", "multivalid.fit", "multivalid.levels", "multivalid.sources",
    "multivalid.cells", "multivalid.atoms.frame_columns", "multivalid.audit.audit", "multivalid.kernels.library",
    "multivalid.batch.algorithm", "multivalid.groups.engine", "multivalid.groups.items", "multivalid.groups.membership",
    "multivalid.practical.newton", "multivalid.practical.shifts",
]  # fmt: skip


def asked(path: Path) -> set[str]:
    """Modules loaded by a fresh process that reads a model and answers one request; the answer is that of this process."""
    row = {"site": "b", "age": 40, "x": 0.3}
    answer = mv.load(path).predict_one(0.4, row)
    code = f"import multivalid as mv; assert mv.load({str(path)!r}).predict_one(0.4, {row!r}) == {answer!r}"
    return after(code)


@pytest.mark.parametrize("mode", ["practical", "theorem"])
@pytest.mark.parametrize("property", ["mean", "quantile:0.5"])
def test_a_saved_model_answers_with_numpy_and_the_standard_library(tmp_path, property, mode):
    data = pd.DataFrame({"site": list("abcd") * 100, "age": np.arange(400) % 80})
    said = np.linspace(0.1, 0.9, 400)
    y = np.clip(said + 0.2 * (data["site"] == "b") + 0.1 * np.sin(np.arange(400)), 0, 1)
    items = ["site", mv.bins("age", 3), "age > 20 and site in ['b', 'c']", mv.cross("site", "age > 50")]
    fitted = mv.multicalibrate(y, said, groups=items, data=data, property=property, mode=mode)
    assert fitted.patches or fitted.predictor.model is not None
    fitted.save(tmp_path / "model.json")
    loaded = asked(tmp_path / "model.json")
    assert loaded.isdisjoint(NOT_TO_SERVE)
    assert {name for name in loaded if name.startswith("multivalid.discover.")} == set()


def test_a_saved_model_with_found_trees_answers_without_frames(tmp_path):
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"age": rng.integers(18, 90, 12_000), "site": rng.choice(list("abcd"), 12_000), "x": rng.normal(size=12_000)}
    )
    off = 1.5 * np.sin(2 * data["x"]) * (data["age"] - 54) / 18 + 0.8 * (data["site"] == "b")
    z = rng.normal(size=12_000)
    y, said = (rng.random(12_000) < 1 / (1 + np.exp(-z - off))).astype(float), 1 / (1 + np.exp(-z))
    fitted = mv.multicalibrate(y, said, groups=["site"], data=data, features=["age", "x", "site"])
    assert fitted.predictor.forest is not None
    fitted.save(tmp_path / "model.json")
    assert asked(tmp_path / "model.json").isdisjoint([*HEAVY, "scipy", "narwhals", "multivalid.audit.audit", "multivalid.sources"])


@pytest.mark.parametrize(
    "module", [mv, importlib.import_module("multivalid.scope"), importlib.import_module("multivalid.properties")]
)
def test_late_names_are_those_that_type_checkers_see(module):
    body = ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
    nodes = [*body, *(node for block in body if isinstance(block, ast.If) for node in block.body)]
    ours = [node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("multivalid")]
    seen = {alias.name: node.module for node in ours for alias in node.names if alias.name != "lazy_names"}
    parts = {name for name, home in seen.items() if home == "multivalid"}
    assert set(seen) - parts == set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is getattr(importlib.import_module(seen[name]), name)


@pytest.mark.parametrize(
    "first",
    [
        "import multivalid.audit.pair, multivalid.scope.convex_without_v",
        "from multivalid.scope import require; from multivalid.audit.audit import Audit",
        "import multivalid.fit, multivalid.online, multivalid.estimators",
        "import multivalid; multivalid.multicalibrate; import importlib; importlib.reload(multivalid)",
        "from multivalid import *",
    ],
)
def test_functions_are_not_hidden_by_the_packages_of_their_name(first):
    code = f"{first}\nimport multivalid as mv; print(type(mv.audit).__name__, type(mv.scope).__name__, mv.scope('mean').status)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["function", "function", "alone"]


def test_functions_are_functions_here_too():
    """In this process every part has been imported in some other order by other tests."""
    assert isinstance(mv.audit, FunctionType)
    assert isinstance(mv.scope, FunctionType)


def test_names_are_listed_and_starred():
    assert {*mv.__all__, "estimators", "online", "properties", "__version__"} <= set(dir(mv))
    space: dict[str, object] = {}
    exec("from multivalid import *", space)  # noqa: S102 - the statement under test
    assert {name: space[name] for name in mv.__all__} == {name: getattr(mv, name) for name in mv.__all__}
    assert mv.online.OnlineMulticalibrator is mv.OnlineMulticalibrator


def test_a_misspelt_name_is_refused():
    with pytest.raises(AttributeError, match="module 'multivalid' has no attribute 'Qantile'"):
        _ = mv.Qantile


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


@pytest.mark.parametrize("name", sorted(mv.__all__))
def test_examples_need_public_names_alone(name, tmp_path, monkeypatch):
    """What a reader pastes after `from multivalid import *` runs; the doctests of a module see its private names too."""
    monkeypatch.chdir(tmp_path)
    public = {known: getattr(mv, known) for known in mv.__all__}
    for test in doctest.DocTestFinder().find(public[name], name, module=False, globs=public):
        told: list[str] = []
        found = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=told.append)
        assert found.failed == 0, "".join(told)
