"""What a person sees of an audit, the measures' inequalities, and that the kind of frame does not matter."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import multivalid as mv


def people(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    sex = rng.choice(["f", "m"], rows)
    age = rng.integers(18, 90, rows)
    score = np.round(rng.random(rows), 2)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "score": score,
            "weight": rng.choice([0.5, 1.0, 2.0], rows),
            "y": (rng.random(rows) < np.clip(score + 0.25 * ((sex == "f") & (age > 50)), 0, 1)).astype(float),
        }
    )


GROUPS = ["sex", mv.bins("age", 3), "sex == 'f' and age > 50"]


def test_frames_agree():
    data = people()
    audits = {
        kind: mv.audit("y", "score", data=frame, groups=GROUPS, sample_weight="weight")
        for kind, frame in {
            "pandas": data,
            "shuffled index": data.set_index(np.random.default_rng(0).permutation(len(data))),
            "polars": pl.from_pandas(data),
            "pyarrow": pa.Table.from_pandas(data),
        }.items()
    }
    arrays = mv.audit(
        data.y.to_numpy(), list(data.score), data=data, groups=GROUPS, sample_weight=pl.Series(data.weight.to_numpy())
    )
    for found in [*audits.values(), arrays]:
        assert list(found.table["name"]) == list(audits["pandas"].table["name"])
        for name, column in audits["pandas"].table.items():
            if name != "name":
                np.testing.assert_array_equal(found.table[name], column, err_msg=name)
    kinds = {kind: type(found.to_frame()) for kind, found in audits.items()}
    assert kinds == {"pandas": pd.DataFrame, "shuffled index": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    assert list(audits["polars"].to_frame().columns) == list(audits["polars"].table)
    assert audits["pyarrow"].to_frame()["name"].to_pylist()[0] == "everyone"
    assert isinstance(mv.audit([0, 1], [0.5, 0.5], groups=[]).to_frame(), pd.DataFrame)


def test_words():
    found = mv.audit("y", "score", data=people(), groups=[*GROUPS, "age > 200"])
    assert found.verdict.endswith("sex == 'f' and age > 50, sex = f, everyone.") or "off beyond chance" in found.verdict
    text = found.summary(3)
    assert text.startswith(found.verdict)
    assert "age > 200" in text  # left out, and said so
    assert max(len(line) for line in text.splitlines() if "left out" not in line) <= 130
    shown = text.splitlines()[next(i for i, line in enumerate(text.splitlines()) if line.startswith("group ")) :]
    assert len([line for line in shown if line.startswith(("everyone", "sex", "age"))]) == 3
    assert repr(found) == f"<Audit of Mean(): {found.verdict}>"
    worst = found.worst(5)
    assert [cell.error for cell in worst] == sorted(found.cells["error"], reverse=True)[:5]
    assert worst[0].group in found.table["name"]
    assert isinstance(worst[0].rows, int)


def test_long_names_do_not_break_the_table():
    group = np.array([True, False] * 50)
    found = mv.audit(group, np.full(100, 0.9), groups={"a name of a group that is much longer than any column " * 2: group})
    lines = found.summary().splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("group ")) :]
    assert all(len(line) <= 125 for line in table)
    assert "…" in found.summary()


def test_weights_matter_and_repeat():
    data = people(200)
    times = np.random.default_rng(1).integers(0, 4, 200)
    repeated = data.loc[np.repeat(data.index, times)]
    bins = [mv.bins("age", edges=[18, 40, 60, 90])]
    weighted = mv.audit("y", "score", data=data, groups=["sex", *bins], sample_weight=times, property="expectile:0.7")
    plain = mv.audit("y", "score", data=repeated, groups=["sex", *bins], property="expectile:0.7")
    ignored = mv.audit("y", "score", data=data, groups=["sex", *bins], property="expectile:0.7")
    by_name = dict(zip(plain.table["name"], range(99), strict=False))
    order = [by_name[name] for name in weighted.table["name"]]
    for column in ("weight", "error", "gamma_error", "l1", "linf", "prediction", "value"):
        np.testing.assert_allclose(weighted.table[column], plain.table[column][order], rtol=1e-11, atol=1e-15, err_msg=column)
    assert abs(weighted.error - ignored.error) > 1e-4


@pytest.mark.parametrize("prop", ["mean", "expectile:0.8", "quantile:0.9", "huber:0.3"])
def test_measures_respect_their_inequalities(prop):
    data = people()
    found = mv.audit("y", "score", data=data, groups=GROUPS, property=prop, sample_weight="weight")
    table, facts = found.table, mv.parse(prop).facts(0, 1)
    mass = table["weight"] / table["weight"][0]
    assert (table["l1"] <= np.sqrt(mass * table["error"]) + 1e-12).all()
    assert (table["linf"] <= table["l1"] + 1e-12).all()
    if prop == "mean":
        np.testing.assert_allclose(table["error"], table["gamma_error"], rtol=1e-12)
    if facts.lipschitz is not None and facts.anti_lipschitz is not None:
        # Both conversions hold level by level only when every row of a level has one prediction.
        same = mv.audit("y", "score", data=data, groups=GROUPS, property=prop, grid=mv.Grid(np.arange(101) / 100)).table
        assert (same["gamma_error"] <= facts.anti_lipschitz**2 * same["error"] + 1e-12).all()
        assert (same["error"] <= facts.lipschitz**2 * same["gamma_error"] + 1e-12).all()


def test_levels_by_default():
    rng = np.random.default_rng(0)
    y = rng.random(500)
    assert len(mv.audit(y, np.round(y, 1), groups=[]).grid) == 11
    rare = 0.05 * rng.random(500) ** 2
    weight = rng.choice([0.0, 0.5, 2.0], 500)
    for predictions in (rare, 100 * rng.random(500)):
        found = mv.audit(y, predictions, groups=[], sample_weight=weight)
        assert 15 <= len(found.grid) <= 20
        assert found.cells["weight"].max() < 3 * found.cells["weight"].min() + 4  # about equal
        np.testing.assert_array_equal(found.grid.points, mv.Grid.quantile(predictions, 20, weight).points)


def test_the_audit_leaves_its_input_alone():
    data = people(50)
    before = data.copy(deep=True)
    y, score = data.y.to_numpy(copy=True), data.score.to_numpy(copy=True)
    y.flags.writeable = score.flags.writeable = False
    mv.audit(y, score, data=data, groups=GROUPS)
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize("levels", [3, 3000, 70_000, 300_000])
def test_many_levels(levels):
    """Histograms narrow from eight groups to one as levels grow; sums stay the same."""
    from multivalid.cells.tabulate import tabulate
    from multivalid.groups.membership import Membership

    rng = np.random.default_rng(7)
    member = rng.random((500, 11)) < 0.4
    level, sums = rng.integers(0, levels, 500), rng.normal(size=(500, 2))
    table = tabulate(Membership.from_dense(member).by_row(), level, sums, levels, 12)
    assert table.shape == (levels, 12, 2)
    for g in range(11):
        expected = np.bincount(level[member[:, g]], sums[member[:, g], 1], minlength=levels)
        np.testing.assert_allclose(table[:, g + 1, 1], expected, atol=1e-14)
    np.testing.assert_allclose(table[:, 0].sum(axis=0), sums.sum(axis=0), atol=1e-12)
