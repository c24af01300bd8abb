"""Laws of a fit, over one coordinate or two, rows in memory or in an engine: neither makes a difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from tests.engines.conftest import collected
from tests.laws.conftest import Enter

GROUPS = ["site", mv.bins("age", 3), "age > 30"]
MODES: dict[str, dict[str, Any]] = {"theorem": {"mode": "theorem", "m": 12}, "practical": {"mode": "practical"}}


def rows(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Labels with a lean by site, predictions of two columns (a mean and a variance), uneven weights."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    y = np.clip(rng.beta(2, 3, n) + 0.3 * (site == "c"), 0, 1)
    return pd.DataFrame(
        {
            "y": y, "p": rng.random(n), "q": 0.01 + 0.2 * rng.random(n), "w": rng.integers(1, 4, n) / 2.0,
            "site": site, "age": rng.integers(0, 90, n), "held": rng.random(n) < 0.3,
        }
    )  # fmt: skip


def columns(coordinates: int) -> Any:
    return "p" if coordinates == 1 else ["p", "q"]


def fitted(data: Any, coordinates: int, **options: Any) -> Any:
    options = {"groups": GROUPS, "sample_weight": "w", "property": "mean" if coordinates == 1 else "mean_variance", **options}
    return mv.multicalibrate("y", columns(coordinates), data=data, **options)


def alike(first: Any, second: Any, coordinates: int) -> None:
    """Two fits say and do the same."""
    new = rows(100, seed=9)
    assert first.groups.names == second.groups.names
    for one, other in zip(first.grids, second.grids, strict=True):
        np.testing.assert_allclose(one.points, other.points, rtol=1e-9)
    np.testing.assert_allclose(second.certificate.alpha, first.certificate.alpha, rtol=1e-6)
    np.testing.assert_allclose(second.certificate.error, first.certificate.error, rtol=1e-6, atol=1e-12)
    assert second.certificate.status == first.certificate.status
    made = [one.predict(columns(coordinates), data=new) for one in (first, second)]
    np.testing.assert_allclose(made[1], made[0], rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_rows_may_live_anywhere(place: Enter, coordinates: int, mode: str) -> None:
    data = rows()
    alike(fitted(data, coordinates, **MODES[mode]), fitted(place(data), coordinates, **MODES[mode]), coordinates)


@pytest.mark.parametrize("mode", MODES)
def test_a_row_without_weight_is_not_there(place: Enter, coordinates: int, mode: str) -> None:
    """Whatever it says: a wild label and prediction, a site and ages of its own, among the rows held out too."""
    data = rows()
    ghosts = data.head(25).assign(y=100.0, p=-50.0, q=1e4, w=0.0, site="nowhere", age=200)
    both = pd.concat([ghosts.head(20), data, ghosts.tail(5)], ignore_index=True)
    for more in ({}, {"holdout": "held"}):
        options = MODES[mode] | more
        expected = fitted(place(data), coordinates, **options)
        found = fitted(place(both), coordinates, **options)
        alike(expected, found, coordinates)
        assert "nowhere" not in found.certificate.summary()
        np.testing.assert_array_equal(found.levels, expected.levels)  # those of the rows that are there
    np.testing.assert_allclose(
        found.audit("y", columns(coordinates), data=place(both), sample_weight="w").errors,
        expected.audit("y", columns(coordinates), data=place(data), sample_weight="w").errors,
        rtol=1e-6,
    )


def test_the_distance_from_the_ends_of_a_grid_counts(place: Enter, coordinates: int) -> None:
    """All levels lie in the middle: V is far from zero at the outermost ones, so no error below 8L²·(.45)² can be promised."""
    grid: Any = mv.Grid([0.45, 0.5, 0.55], lo=0, hi=1)
    grid = grid if coordinates == 1 else (grid, mv.Grid.uniform(0, 1, 20))
    made = fitted(place(rows()), coordinates, mode="theorem", grid=grid).certificate
    assert np.ravel(made.alpha)[0] == pytest.approx(8 * 0.45**2)
    assert made.status == "vacuous"  # it is reached, and a constant would reach it too
    assert not made.blocked


@pytest.mark.parametrize("number", [10**400, -(10**400), 1e308 * 10, True, "1", None, []], ids=str)
def test_hostile_numbers_in_files(coordinates: int, number: Any) -> None:
    made = fitted(rows(), coordinates, mode="theorem", m=6)
    for part, name in (
        ("certificate", "updates"),
        ("certificate", "potential"),
        ("certificate", "error"),
        ("predictor", "patches"),
    ):
        content = made.to_json()
        whole = content[part][name]
        listed = isinstance(whole, list)
        content[part][name] = [number] * max(len(whole), 1) if listed else number
        with pytest.raises(ModelFileError):
            type(made).from_json(content)


def test_a_fit_of_any_place_is_saved_and_read(place: Enter, coordinates: int, tmp_path: Any) -> None:
    made = fitted(place(rows()), coordinates, mode="theorem", m=6)
    made.save(tmp_path / "model.json")
    alike(made, mv.load(tmp_path / "model.json"), coordinates)


@pytest.mark.parametrize("mode", MODES)
def test_predictions_and_audits_on_any_frame(place: Enter, coordinates: int, mode: str) -> None:
    made, new = fitted(rows(), coordinates, **MODES[mode]), rows(60, seed=1)
    names = ("z", "s")[:coordinates]
    there = made.predict(columns(coordinates), data=place(new), output=names[0] if coordinates == 1 else names)
    assert type(there) is type(place(new))
    found = collected(there).set_index("p").loc[new["p"]]  # an engine may return rows in another order
    expected = made.predict(columns(coordinates), data=new).reshape(len(new), -1)
    np.testing.assert_allclose(found[list(names)].to_numpy(), expected, atol=1e-6)
    default = ["calibrated"] if coordinates == 1 else ["calibrated_first", "calibrated_second"]
    if not isinstance(there, pd.DataFrame):
        assert set(default) <= set(collected(made.predict(columns(coordinates), data=place(new))).columns)
    audits = [made.audit("y", columns(coordinates), data=data, sample_weight="w") for data in (new, place(new))]
    np.testing.assert_allclose(audits[1].errors, audits[0].errors, rtol=1e-6)
    assert audits[1].off == audits[0].off


def test_what_has_no_number_is_refused_everywhere(place: Enter) -> None:
    """e to the power of 2,000 is no number."""
    data = rows().assign(p=lambda given: np.where(given.index == 7, 2000.0, given["p"]))
    with pytest.raises(InputError, match=r"too far out for Entropic\(.*1 predictions give no finite identification"):
        mv.multicalibrate("y", "p", data=place(data), groups=["site"], property="entropic:1")
