"""One formula, two evaluators: what NumPy computes, an engine computes too; a property written by the five steps works in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.properties.base import Array, Facts, Interval, Location, Pieces, one_piece
from multivalid.properties.ops import NUMPY, Ops, expressions

from .registry import REGISTRY, Case

FORMULAS = [case for case in REGISTRY if case.prop.statistics(NUMPY, np.array([1.0])) is not None and case.text]


def in_duckdb(frame: pd.DataFrame, **formulas: Any) -> pd.DataFrame:
    relation = duckdb.connect().from_df(frame)
    return nw.from_native(relation).select(**formulas).to_native().df()


@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case.name)
def test_an_engine_evaluates_the_same_formulas(case: Case) -> None:
    rng = np.random.default_rng(2)
    ends = case.prop.facts(case.lo, case.hi).range
    y = np.append(rng.uniform(case.lo, case.hi, 60), [case.lo, case.hi])
    p = np.append(np.append(np.clip(y[:20], *ends), rng.uniform(*ends, 40)), ends)  # ties among them
    prop, ops = case.prop, expressions()
    g, label = nw.col("p"), nw.col("y")
    statistics = {f"t{k}": term for k, term in enumerate(prop.statistics(ops, label) or [])}
    found = in_duckdb(
        pd.DataFrame({"p": p, "y": y}), v=prop.residual(ops, g, label), s=prop.scoring(ops, g, label),
        best=prop.best_prediction(ops, label) + 0.0, constant=prop.scoring_constant(ops, label) + 0.0 * label, **statistics,
    )  # fmt: skip
    scale = 1 + np.abs(found).max().max()
    for name, expected in {
        "v": prop.identify(p, y), "s": prop.score(p, y), "best": prop.solve_points(y), "constant": prop.score_constant(y),
    }.items():  # fmt: skip
        np.testing.assert_allclose(found[name], expected, atol=1e-13 * scale, err_msg=name)
    np.testing.assert_allclose(found[list(statistics)], prop.moments(y)[:, 1:], atol=1e-13 * scale)


@dataclass(frozen=True)
class HighLabelsCountTwice(Location):
    """Written as a reader of CONTRIBUTING would: a mean in which labels above 2 count twice."""

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.where(label > 2.0, 2.0, 1.0) * (prediction - label)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.where(label > 2.0, 1.0, 0.5) * ops.power(prediction - label, 2)

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        weight = ops.where(label > 2.0, 2.0, 1.0)
        return [weight, weight * label]

    def scoring_constant(self, ops: Ops, label: Any) -> Any:
        return ops.where(label > 2.0, 1.0, 0.5) * ops.power(label, 2)

    @property
    def shift_invariant(self) -> bool:
        return False

    @property
    def monotone_in_label(self) -> bool:
        return False

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        return Facts(Interval(lo, hi), Interval(lo, hi), 2 * (hi - lo), 2.0, "", 1.0, (hi - lo) ** 2)

    def pieces(self, points: Array) -> Pieces:
        one, nil = np.ones_like(points), np.zeros_like(points)
        return one_piece(np.stack([nil, points, -one], axis=1), np.stack([nil, points**2 / 2, -points], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return np.asarray(means[:, 2] / means[:, 1])


def test_a_property_of_ones_own_works_in_an_engine() -> None:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"g": rng.choice(["a", "b", "c"], 3000), "p": rng.choice([1.0, 2.0, 3.0], 3000)})
    frame["y"] = rng.gamma(2.0, 1.0, 3000) + (frame["g"] == "a")
    own = HighLabelsCountTwice()
    here = mv.audit("y", "p", groups=["g"], data=frame, property=own)
    there = mv.audit("y", "p", groups=["g"], data=duckdb.connect().from_df(frame), property=own)
    for column in ("error", "value", "prediction"):
        np.testing.assert_allclose(there.table[column], here.table[column], rtol=1e-9)


def test_what_numpy_alone_knows_is_refused_by_an_engine() -> None:
    frame = duckdb.connect().from_df(pd.DataFrame({"p": [0.5, 0.2], "y": [0.0, 1.0]}))
    for own in (mv.Property.from_identification(lambda g, y: g - y), mv.Moment(np.sqrt), mv.Shortfall(np.expm1)):
        with pytest.raises(mv.MultivalidError, match="engine could add up"):
            mv.audit("y", "p", groups=[], data=frame, property=own)
