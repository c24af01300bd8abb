"""Several quantiles, several classes: each coordinate as if audited alone, with one correction over all."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError

rng = np.random.default_rng(0)
Y = rng.gamma(2.0, size=300)
SAID = np.stack([np.quantile(Y, 0.1) + 0.1 * rng.random(300), np.full(300, np.quantile(Y, 0.7))], axis=1)
GROUP, WEIGHT = rng.random(300) < 0.3, rng.choice([0.0, 1.0, 3.0], 300)


def test_every_coordinate_is_that_of_its_own_audit():
    found = mv.audit(Y, SAID, groups=[GROUP], property=mv.Quantiles([0.1, 0.9]), sample_weight=WEIGHT)
    alone = [
        mv.audit(Y, SAID[:, k], groups=[GROUP], property=f"quantile:{tau}", sample_weight=WEIGHT)
        for k, tau in enumerate((0.1, 0.9))
    ]
    for one, key in zip(alone, found.property.keys, strict=True):
        for name in ("error", "value", "prediction", "debiased", "p_value"):
            np.testing.assert_array_equal(found.table[f"{key}_{name}"], one.table[name])
        assert (found.table[f"{key}_p_adjusted"] >= one.table["p_adjusted"] - 1e-12).all()
    assert found.error == max(one.error for one in alone)
    assert "off beyond chance" in found.verdict
    assert all(key in found.summary() for key in found.property.keys)
    assert set(found.cells["coordinate"]) == set(found.property.keys)


@pytest.fixture
def nothing_gathered(monkeypatch):
    def refuse(*_):
        raise AssertionError("rows were gathered")

    monkeypatch.setattr("multivalid.sources.open.gather", refuse)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_stay_in_their_engine(engine, nothing_gathered):
    crossing = SAID.copy()
    crossing[:7] = crossing[:7, ::-1]
    frame = pl.DataFrame({"y": Y, "a": crossing[:, 0], "b": crossing[:, 1], "g": GROUP, "w": WEIGHT})
    lazy = frame.lazy() if engine == "polars" else duckdb.sql("SELECT * FROM frame")
    memory, there = (
        mv.audit("y", ["a", "b"], data=one, groups=["g"], property="quantiles:0.1,0.9", sample_weight="w") for one in (frame, lazy)
    )
    for name, column in memory.table.items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(there.table[name], column, rtol=1e-9, atol=1e-12, err_msg=name)
    assert there.verdict == memory.verdict
    assert there.broken == memory.broken == int(np.count_nonzero(WEIGHT[:7]))


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_classes_stay_in_their_engine(engine, nothing_gathered):
    names = np.array(["dog", "cat", "eel"])[rng.integers(0, 3, 120)]
    shares = rng.dirichlet(np.ones(3), 120)
    shares[:4, 0] *= 0.5
    frame = pl.DataFrame({"kind": names, "a": shares[:, 0], "b": shares[:, 1], "c": shares[:, 2], "g": GROUP[:120]})
    target = mv.Classes(["dog", "cat", "eel"])
    lazy = frame.lazy() if engine == "polars" else duckdb.sql("SELECT * FROM frame")
    memory, there = (mv.audit("kind", ["a", "b", "c"], data=one, groups=["g"], property=target) for one in (frame, lazy))
    assert there.broken == memory.broken == 4
    for key in target.keys:
        np.testing.assert_allclose(there.table[f"{key}_error"], memory.table[f"{key}_error"], rtol=1e-9)
        np.testing.assert_allclose(there.table[f"{key}_p_adjusted"], memory.table[f"{key}_p_adjusted"], rtol=1e-6)
    with pytest.raises(InputError, match="3 rows of 'kind' do not"):
        mv.audit("kind", ["a", "b", "c"], data=_with(frame, "kind", ["cow"] * 3), groups=[], property=target)
    with pytest.raises(InputError, match="between 0 and 1"):
        mv.audit("kind", ["a", "b", "c"], data=_with(frame, "b", [40.0]), groups=[], property=target)
    with pytest.raises(InputError, match="must name 3 columns"):
        mv.audit("kind", ["a", "b"], data=lazy, groups=[], property=target)
    with pytest.raises(InputError, match="y_true"):
        mv.audit("sort", ["a", "b", "c"], data=lazy, groups=[], property=target)


def _with(frame, column, first):
    """The frame, lazy, with other values at its top."""
    return frame.with_columns(pl.Series(column, [*first, *frame[column][len(first) :]])).lazy()


def test_classes():
    code = rng.integers(0, 3, 200)
    found = mv.audit(code, np.full((200, 3), 1 / 3), groups=[], property=mv.Classes([0, 1, 2]))
    shares = np.bincount(code) / 200
    assert [part.table["value"][0] for part in found.parts] == pytest.approx(shares)


def test_input_that_breaks_the_constraint_is_counted():
    crossing = SAID.copy()
    crossing[:7] = crossing[:7, ::-1]
    found = mv.audit(Y, crossing, groups=[GROUP], property=mv.Quantiles([0.1, 0.9]))
    assert found.broken == 7
    assert any("In 7 of 300 rows the quantiles cross" in note for note in found.groups.notes)
    assert "In 7 of 300" in found.summary()
    whole = mv.audit(Y, SAID, groups=[GROUP], property=mv.Quantiles([0.1, 0.9]))
    assert whole.broken == 0
    assert "cross" not in whole.summary()
    shares = np.full((300, 2), 0.5)
    shares[:3, 0] = 0.4
    found = mv.audit((Y > 2).astype(int), shares, groups=[], property=mv.Classes([0, 1]))
    assert found.broken == 3


def test_one_verdict_counts_groups_once_and_names_the_column():
    y = np.tile(np.linspace(0, 1, 400), 2)
    side = np.repeat([False, True], 400)
    said = np.column_stack([np.full(800, 0.1), np.where(side, 0.6, 0.9)])
    found = mv.audit(y, said, groups=[side], property=mv.Quantiles([0.1, 0.9]))
    assert found.verdict == (
        "2 of 2 groups are off beyond chance at 5 % in at least one of 2 columns: group 1 (quantile 0.9), everyone (quantile 0.9)."
    )
    right = mv.audit(y, np.tile([0.1, 0.9], (800, 1)), groups=[side], property=mv.Quantiles([0.1, 0.9]))
    assert right.verdict == "None of 2 groups is off beyond chance at 5 % in any of 2 columns."


def test_holm_covers_groups_and_columns():
    found = mv.audit(Y, SAID, groups=[GROUP], property=mv.Quantiles([0.1, 0.9]))
    keys = found.property.keys
    raw = np.concatenate([found.table[f"{key}_p_value"] for key in keys])
    order, expected = np.argsort(raw), np.empty(raw.size)
    running = 0.0
    for rank, place in enumerate(order):
        running = max(running, min(1.0, raw[place] * (raw.size - rank)))
        expected[place] = running
    np.testing.assert_allclose(np.concatenate([found.table[f"{key}_p_adjusted"] for key in keys]), expected)


@pytest.mark.parametrize("lazy", [False, True])
def test_classes_named_by_text(lazy):
    names = np.array(["dog", "cat", "eel"])[rng.integers(0, 3, 120)]
    frame = pl.DataFrame({"kind": names, "a": np.full(120, 0.2), "b": np.full(120, 0.5), "c": np.full(120, 0.3)})
    found = mv.audit(
        "kind", ["a", "b", "c"], data=frame.lazy() if lazy else frame, groups=[], property=mv.Classes(["dog", "cat", "eel"])
    )
    assert found.table["cat_value"][0] == pytest.approx(np.mean(names == "cat"))
    assert found.table["eel_prediction"][0] == pytest.approx(0.3)


def test_cells_and_report(tmp_path):
    found = mv.audit(Y, SAID, groups=[GROUP], property=mv.Quantiles([0.1, 0.9]))
    assert found.worst(1)[0].error == found.cells["error"].max()
    page = found.report(tmp_path / "r.html").read_text()
    assert "quantile 0.1" in page
    assert "quantile 0.9" in page


@pytest.mark.parametrize(
    ("y", "said", "target", "needle"),
    [
        (["a", "x"], [[0.5, 0.5]] * 2, mv.Classes(["a", "b"]), "row 1"),
        (["a", None], [[0.5, 0.5]] * 2, mv.Classes(["a", "b"]), "row 1"),
        (["a", "b"], [[0.5, 1.5]] * 2, mv.Classes(["a", "b"]), "between 0 and 1"),
        (["a", "b"], [[0.0, 0.0]] * 2, mv.Classes(["a", "b"]), "probability 0"),
        ([["a"], ["b"]], [[0.5, 0.5]] * 2, mv.Classes(["a", "b"]), "one column"),
        ([1.0, 2.0], np.ones((2, 3)), mv.Quantiles([0.1, 0.9]), "2 columns"),
        (["a", "b"], [[1.0, 2.0]] * 2, mv.Quantiles([0.1, 0.9]), "y_true"),
    ],
)
def test_hostile_input_is_refused_with_the_reason(y, said, target, needle):
    with pytest.raises(mv.MultivalidError, match=needle):
        mv.audit(y, said, groups=[], property=target)
