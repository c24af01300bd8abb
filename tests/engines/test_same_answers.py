"""The same cases on every engine: patches, predictions and audits are those of the rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2_contingency

import multivalid as mv
from multivalid.atoms.frame_columns import checked
from multivalid.cells.sentences import UNNAMED
from multivalid.errors import InputError
from multivalid.groups import remote
from multivalid.practical.model import Model
from multivalid.practical.shifts import ShiftRound
from multivalid.sources.holdout import drawn
from tests.engines.conftest import collected, rows

Enter = Callable[[pd.DataFrame], Any]
GROUPS = ["site", mv.bins("age", 4), mv.cross("site", "age > 60"), "age >= 18 and site != 'b'"]
EXACT = ["mean", "quantile:0.9", "event:10:40", "expectile:0.75"]
CLOSE = ["huber:5", "moment:2", "ratio:2:1", "entropic:0.03", "lp_quantile:3:0.7"]
KEY = ["site", "age", "y", "p", "w", "held"]


def without_collateral(note: str) -> str:
    """The note without its line on groups that got worse, which are looked for in memory only."""
    return "\n".join(line for line in note.splitlines() if not line.startswith(UNNAMED))


def same_tables(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert list(first) == list(second)
    for name in first:
        if name == "worst_level":
            continue  # an argmax, which rounding decides where two levels tie; the errors themselves are compared
        if first[name].dtype.kind in "USO":
            assert first[name].tolist() == second[name].tolist()
        else:
            # A cell whose labels are all alike has none but rounding for a variance, of which a standard error is the root.
            least = 1e-7 if name == "standard_error" else 1e-12
            np.testing.assert_allclose(second[name], first[name], rtol=1e-9, atol=least, err_msg=name)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_audit(engine: Enter, name: str, weight: str | None) -> None:
    frame = rows()
    frame["y"] = frame["y"] + 1
    expected = mv.audit("y", "p", groups=GROUPS, data=frame, property=name, sample_weight=weight)
    found = mv.audit("y", "p", groups=GROUPS, data=engine(frame), property=name, sample_weight=weight)
    same_tables(expected.table, found.table)
    same_tables(expected.cells, found.cells)
    assert found.verdict == expected.verdict
    if name in ("quantile:0.9", "event:10:40"):  # sums of whole numbers, times constants
        assert found.table["rows"].tolist() == expected.table["rows"].tolist()
        assert found.table["weight"].tolist() == expected.table["weight"].tolist()


@pytest.mark.parametrize(("name", "alpha"), [("mean", 0.05), ("quantile:0.9", 1e-4), ("expectile:0.75", 0.2), ("moment:2", 2000.0)])
@pytest.mark.parametrize("weight", [None, "w"])
def test_patches_and_predictions(engine: Enter, name: str, alpha: float, weight: str | None) -> None:
    frame = rows()
    # Levels are whole numbers, so that every sum is one too: even a tie between two groups with the same rows is decided alike.
    grid = mv.Grid(np.arange(0.0, 100.0, 4.0) ** (2 if name == "moment:2" else 1))
    options: dict[str, Any] = {"groups": GROUPS, "property": name, "sample_weight": weight, "mode": "paper", "alpha": alpha}
    options["grid"] = grid
    expected = mv.multicalibrate("y", "p", data=frame, holdout="held", **options)
    data = engine(frame)
    found = mv.multicalibrate("y", "p", data=data, holdout="held", **options)
    assert expected.patches
    assert found.patches == expected.patches
    assert found.grid == expected.grid
    assert found.groups == expected.groups
    first, second = expected.certificate.to_json(), found.certificate.to_json()
    first["note"], second["note"] = (without_collateral(one["note"]) for one in (first, second))
    np.testing.assert_allclose(second.pop("potential"), first.pop("potential"), rtol=1e-9)
    np.testing.assert_allclose(np.array(second.pop("blocked")), np.array(first.pop("blocked")), rtol=1e-9)
    for field, value in first.items():
        assert second[field] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), field
    ours = collected(found.predict("p", data=data, output="better")).sort_values(KEY)["better"]
    theirs = expected.predict("p", data=frame, output="better").sort_values(KEY)["better"]
    assert ours.tolist() == theirs.tolist()
    same_tables(
        expected.audit("y", "p", data=frame, sample_weight=weight).table,
        found.audit("y", "p", data=data, sample_weight=weight).table,
    )


def test_theorem_mode(engine: Enter) -> None:
    frame = rows()
    frame["y"], frame["p"] = frame["y"] / 128, frame["p"] / 128
    expected = mv.multicalibrate("y", "p", groups=GROUPS, data=frame, mode="theorem", m=40)
    found = mv.multicalibrate("y", "p", groups=GROUPS, data=engine(frame), mode="theorem", m=40)
    assert expected.patches
    assert found.patches == expected.patches
    assert found.certificate.error == pytest.approx(expected.certificate.error, rel=1e-12)


@pytest.mark.parametrize(
    ("link", "stretched", "prop", "unit"),
    [("identity", False, "quantile:0.9", 1.0), ("logit", True, "quantile:0.9", 1 / 50), ("logit", False, "event:10:40", 1.0)],
    ids=["own units", "labels on the ends of their range", "probabilities"],
)
def test_practical_mode(engine: Enter, link: str, stretched: bool, prop: str, unit: float) -> None:
    """The fit sees the same rows; predictions differ in the digits that float32 features cost in memory."""
    frame = rows()
    frame["y"], frame["p"] = unit * frame["y"], unit * frame["p"]
    if prop.startswith("event"):
        frame["p"] /= 64
    if stretched:
        frame["y"], frame["p"] = np.minimum(frame["y"], 1.0), np.minimum(frame["p"], 1.0)
    options: dict[str, Any] = {"groups": GROUPS, "property": prop, "holdout": "held"}
    expected, data = mv.multicalibrate("y", "p", data=frame, **options), engine(frame)
    assert (expected.predictor.link.kind, expected.predictor.link.stretched) == (link, stretched)
    found = mv.multicalibrate("y", "p", data=data, **options)
    ours = collected(found.predict("p", data=data, output="better")).sort_values(KEY)["better"]
    theirs = expected.predict("p", data=frame, output="better").sort_values(KEY)["better"]
    assert not np.array_equal(theirs, frame.sort_values(KEY)["p"])
    np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=1e-5)
    assert found.certificate.error == pytest.approx(expected.certificate.error, rel=1e-6)


def test_every_part_of_a_practical_model(lazy_engine: Enter) -> None:
    """Curve, bends, products, twists and shifts as expressions are what they are in memory."""
    frame, rng = rows(), np.random.default_rng(3)
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=frame, property="quantile:0.9")
    groups, base = len(made.groups) - 1, made.predictor.link.forward(frame["p"].to_numpy())
    model = Model.new(base, groups)
    model = model.moved(rng.normal(0, 0.5, model.flat.values.size)).with_bends(rng.normal(0, 1, 200))
    model = model.with_products(np.array([[0, 1, 2], [2, 4, groups]])).with_twists()
    model = model.moved(rng.normal(0, 0.1, model.flat.values.size))
    shifts = [ShiftRound(np.array([-0.5, 0.4]), [(0, 0, 0.2), (3, 2, -0.3), (3, 0, 0.1)])]
    made.predictor = replace(made.predictor, model=model, rounds=shifts)
    data = lazy_engine(frame)
    ours = collected(made.predict("p", data=data, output="better")).sort_values(KEY)["better"]
    theirs = made.predict("p", data=frame, output="better").sort_values(KEY)["better"]
    np.testing.assert_allclose(ours.to_numpy(), theirs.to_numpy(), rtol=1e-4)


class TestSlowEngines:
    """Ibis and Dask: one audit by moments, one by order, one fit with rows held out, predictions and their audit."""

    @pytest.mark.parametrize("name", ["mean", "quantile:0.9"])
    def test_audit(self, slow_engine: Enter, name: str) -> None:
        test_audit(slow_engine, name, "w")

    def test_patches_and_predictions(self, slow_engine: Enter) -> None:
        test_patches_and_predictions(slow_engine, "mean", 0.05, "w")


def test_pairs(lazy_engine: Enter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every label counts in a pair, so its rows are fetched, up to a limit."""
    frame = rows().assign(q=lambda given: given["p"] + 8.0)
    data, two = lazy_engine(frame), ["p", "q"]
    options: dict[str, Any] = {"groups": GROUPS, "property": "mean_variance", "sample_weight": "w"}
    same_tables(mv.audit("y", two, data=frame, **options).table, mv.audit("y", two, data=data, **options).table)
    expected = mv.multicalibrate("y", two, data=frame, mode="theorem", m=8, holdout="held", **options)
    found = mv.multicalibrate("y", two, data=data, mode="theorem", m=8, holdout="held", **options)
    assert found.patches == expected.patches
    assert found.patches
    after = [made.audit("y", two, data=given, sample_weight="w") for made, given in ((expected, frame), (found, data))]
    same_tables(after[0].table, after[1].table)
    predicted = collected(found.predict(two, data=data))[["calibrated_first", "calibrated_second"]].to_numpy()
    np.testing.assert_allclose(np.sort(predicted, axis=0), np.sort(expected.predict(two, data=frame), axis=0), rtol=1e-12)
    monkeypatch.setattr(remote, "MOST_VALUES", 20_000)
    with pytest.raises(
        InputError,
        match=r"predictions of 2 columns are worked on in memory, and 3,000 rows of 7 columns are more than the 20,000 values",
    ):
        mv.audit("y", two, data=data, **options)


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_share_held_out(lazy_engine: Enter, weight: str | None) -> None:
    """The very rows that the hash picks, on every engine: the certificate is that of naming them in memory."""
    frame = rows()
    options: dict[str, Any] = {
        "groups": GROUPS,
        "sample_weight": weight,
        "mode": "theorem",
        "grid": mv.Grid(np.arange(0.0, 100.0, 4.0)),
    }
    found = mv.multicalibrate("y", "p", data=lazy_engine(frame), holdout=0.3, random_state=7, **options)
    opened, _ = checked(nw.from_native(pl.from_pandas(frame).lazy()), "y", "p", weight)
    marked = drawn(opened, 0.3, 7, [*found.groups.columns]).collect().to_native().to_pandas()
    assert 0.28 < marked["__mv_held"].mean() < 0.32
    expected = mv.multicalibrate("y", "p", data=marked, holdout=marked["__mv_held"].to_numpy(), **options)
    assert found.patches == expected.patches
    assert found.certificate.holdout_error == pytest.approx(expected.certificate.holdout_error, rel=1e-9)
    other = mv.multicalibrate("y", "p", data=lazy_engine(frame), holdout=0.3, random_state=8, **options)
    assert other.certificate.holdout_error != found.certificate.holdout_error


def test_the_hash_tells_nothing_of_the_rows() -> None:
    """Held-out rows are like the others: independent of label, prediction and group, and of those of another seed."""
    frame = rows(30_000)
    opened, _ = checked(nw.from_native(pl.from_pandas(frame).lazy()), "y", "p", "w")
    held = {seed: drawn(opened, 0.3, seed, ["site", "age"]).collect().to_native().to_pandas() for seed in (0, 1)}
    p_values = [
        chi2_contingency(pd.crosstab(values, one["__mv_held"]))[1]
        for one in held.values()
        for values in (one["y"] // 5, one["p"], one["w"], one["site"], one["site"] + one["p"].astype(str), one["age"])
    ]
    assert min(p_values) > 0.001
    first, second = (one["__mv_held"].to_numpy(dtype=float) for one in held.values())
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
