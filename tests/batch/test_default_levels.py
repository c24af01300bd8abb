"""Never "converged" with an error that a constant prediction reaches too, and a default that is never vacuous."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError


def data(seed: int = 0, n: int = 2000, apart: float = 0.4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.3
    y = np.clip(rng.beta(2, 4, n) + apart * group, 0, 1)
    return pd.DataFrame({"y": y, "p": rng.random(n).round(2), "g": group, "w": rng.integers(1, 4, n) / 2})


def best_constant(prop: mv.Property, d: pd.DataFrame, points: np.ndarray) -> float:
    """The slow way: every level as the one prediction, every group."""
    y, w = d["y"].to_numpy(), d["w"].to_numpy()
    total, masks = w.sum(), [np.ones(len(d), bool), d["g"].to_numpy(), ~d["g"].to_numpy()]
    errors = []
    for point in points:
        v = prop.identify(point, y)
        errors.append(max((w[m] @ v[m]) ** 2 / w[m].sum() / total for m in masks))
    return min(errors)


GROUPS = ["g", "not g"]


@pytest.mark.parametrize("text", ["mean", "quantile:0.8", "expectile:0.3"])
@pytest.mark.parametrize("m", [3, 10, 200])
def test_the_status_compares_with_the_best_constant(text: str, m: int) -> None:
    d = data()
    made = mv.multicalibrate("y", "p", data=d, groups=GROUPS, property=text, sample_weight="w", mode="theorem", m=m)
    trivial = best_constant(mv.parse(text), d, made.grid.points)
    found = made.certificate
    assert found.trivial == pytest.approx(trivial, rel=1e-9)
    assert found.status == ("vacuous" if found.alpha > trivial else "converged")
    if found.status == "vacuous":
        assert "a constant prediction has an error of" in found.summary()
        needed = int(found.summary().split("m = ")[1].split(" ")[0].replace(",", ""))
        finer = mv.multicalibrate(
            "y", "p", data=d, groups=GROUPS, property=text, sample_weight="w", mode="theorem", m=needed, lipschitz=found.lipschitz
        ).certificate
        assert finer.alpha <= trivial * (1 + 1e-9)


@pytest.mark.parametrize(("text", "apart"), [("mean", 0.4), ("mean", 0.05), ("quantile:0.8", 0.4)])
@pytest.mark.parametrize("batched", [False, True])
def test_the_default_is_not_vacuous_and_the_same_in_engines(text: str, apart: float, batched: bool) -> None:
    d = data(apart=apart)
    options: dict[str, Any] = {"groups": GROUPS, "property": text, "sample_weight": "w", "mode": "theorem", "batched": batched}
    made = mv.multicalibrate("y", "p", data=d, **options)
    assert made.certificate.alpha <= made.certificate.trivial
    assert made.certificate.status in ("converged", "uncalibrated", "blocked")
    for home in (pl.from_pandas(d).lazy(), duckdb.from_df(d)):
        there = mv.multicalibrate("y", "p", data=home, **options)
        assert there.grid == made.grid
        assert there.certificate.error == pytest.approx(made.certificate.error)
        assert there.certificate.status == made.certificate.status
        assert there.certificate.trivial == pytest.approx(made.certificate.trivial)


def test_groups_that_hardly_differ_need_many_levels() -> None:
    d = data(apart=0.05)
    found = mv.multicalibrate("y", "p", data=d, groups=GROUPS, property="quantile:0.8", sample_weight="w", mode="theorem")
    assert len(found.grid) > 1000
    assert found.certificate.alpha <= found.certificate.trivial


def test_where_no_number_of_levels_will_do_it_refuses_with_numbers() -> None:
    y, group = np.tile([0.2, 0.8], 500), np.repeat([True, False], 500)  # both groups alike: a constant is right for both
    with pytest.raises(InputError, match=r"can promise nothing here: .* 10,000 levels with L = 1 promise 8e-08"):
        mv.multicalibrate(y, np.full(1000, 0.4), groups=[group], mode="theorem")
    assert mv.multicalibrate(y, np.full(1000, 0.4), groups=[group], mode="theorem", m=20).certificate.status == "vacuous"


def test_without_groups_the_worst_constant_is_what_a_promise_is_compared_with() -> None:
    made = mv.multicalibrate([0.0, 1.0], [0.4, 0.4], groups=[], mode="theorem")
    assert (made.certificate.status, len(made.grid)) == ("converged", 20)
    assert made.certificate.trivial == pytest.approx(max((made.grid.points - 0.5) ** 2))


def test_an_input_that_meets_the_goal_is_said_to() -> None:
    d = data()
    truth = d.groupby("g")["y"].transform("mean")
    made = mv.multicalibrate(d["y"], truth, groups=[d["g"].to_numpy()], mode="theorem", m=60).certificate
    assert made.updates == 0
    assert made.error_before == made.error
    assert "nothing had to be done" in made.summary()
    moved = mv.multicalibrate(d["y"], d["p"], groups=[d["g"].to_numpy()], mode="theorem", m=60).certificate
    assert moved.error_before > moved.alpha
    assert "nothing had to be done" not in moved.summary()
