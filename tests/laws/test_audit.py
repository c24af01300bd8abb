"""Laws of an audit, over one coordinate or two, rows in memory or in an engine: neither makes a difference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.errors import InputError
from tests.laws.conftest import Enter

GROUPS = ["site", mv.bins("age", 3), mv.cross("site", "age > 40"), "age > 30"]


def rows(n: int = 400, seed: int = 1) -> pd.DataFrame:
    """Asymmetric labels with ties, predictions of two columns, uneven weights."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    y = np.round(rng.gamma(2.0, 2.0, n) + (site == "c"), 1)
    return pd.DataFrame(
        {
            "y": y,
            "p": np.round(3 + rng.normal(0, 1.5, n), 2),
            "q": np.round(4 + rng.normal(0, 1.0, n), 2) ** 2 / 3,
            "w": rng.choice([0.5, 1.0, 3.0], n),
            "site": site,
            "age": rng.integers(0, 90, n),
        }
    )


def audited(data: Any, coordinates: int, **options: Any) -> mv.Audit:
    if coordinates == 1:
        return mv.audit("y", "p", data=data, groups=GROUPS, property="expectile:0.7", **options)
    return mv.audit("y", ["p", "q"], data=data, groups=GROUPS, property="mean_variance", **options)


def same(first: mv.Audit, second: mv.Audit) -> None:
    assert list(first.table) == list(second.table)
    for name, column in first.table.items():
        if column.dtype.kind in "USO":
            assert column.tolist() == second.table[name].tolist()
        elif name != "worst_level":  # an argmax, which rounding decides where two levels tie
            np.testing.assert_allclose(second.table[name], column, rtol=1e-9, atol=1e-11, err_msg=name)


def test_rows_may_live_anywhere(place: Enter, coordinates: int) -> None:
    data = rows()
    same(audited(data, coordinates, sample_weight="w"), audited(place(data), coordinates, sample_weight="w"))


def test_a_row_without_weight_is_not_there(place: Enter, coordinates: int) -> None:
    """Whatever it says: a wild label and prediction, a site and ages of its own."""
    data = rows()
    ghosts = data.head(25).assign(y=1e6, p=-1e5, q=1e7, w=0.0, site="nowhere", age=200)
    both = pd.concat([ghosts.head(20), data, ghosts.tail(5)], ignore_index=True)
    expected = audited(data, coordinates, sample_weight="w")
    found = audited(place(both), coordinates, sample_weight="w")
    same(expected, found)
    assert [note for note in found.groups.notes if "nowhere" in note] == []


def test_doubled_weights_change_no_test(place: Enter, coordinates: int) -> None:
    data = rows()
    once, twice = (audited(place(data.assign(w=factor * data["w"])), coordinates, sample_weight="w") for factor in (1, 2))
    for name in once.table:
        if "weight" not in name and once.table[name].dtype.kind == "f" and name != "worst_level":
            np.testing.assert_allclose(twice.table[name], once.table[name], rtol=1e-9, atol=1e-11, err_msg=name)


def test_the_order_of_rows_is_no_matter(place: Enter, coordinates: int) -> None:
    data = rows()
    same(
        audited(data, coordinates, sample_weight="w"),
        audited(place(data.sample(frac=1, random_state=3)), coordinates, sample_weight="w"),
    )


def test_what_has_no_number_is_refused_everywhere(place: Enter, coordinates: int) -> None:
    """e to the power of 2,000 is no number."""
    data = rows().assign(p=lambda given: np.where(given.index == 7, 2000.0, given["p"]))
    columns, target = (("p", "entropic:1"), (["p", "q"], "bayes:entropic:1"))[coordinates - 1]
    with pytest.raises(InputError, match=r"too far out for .*Entropic\(.*1 predictions give no finite identification"):
        mv.audit("y", columns, data=place(data), groups=["site"], property=target)


def test_levels_are_chosen_alike(place: Enter, coordinates: int) -> None:
    data = rows()
    grids = audited(place(data), coordinates, sample_weight="w").grids
    for grid, column in zip(grids, ("p", "q"), strict=False):
        few, many = (64, 20) if coordinates == 1 else (5, 5)
        assert len(np.unique(data[column])) > few
        np.testing.assert_array_equal(grid.points, mv.Grid.quantile(data[column], many, data["w"]).points)
        assert (grid.lo, grid.hi) == (data[column].min(), data[column].max())


def test_the_debiased_error_is_unbiased_under_weights(place: Enter, coordinates: int) -> None:
    """Six rows in twelve weigh six times as much; the noise of the mean is taken out all the same, whatever the weights say of its size."""
    rng = np.random.default_rng(5)
    bias, draws = 0.35, 3000  # every draw is a group of twelve rows
    weight = np.tile([6.0] * 6 + [1.0] * 6, draws)
    y = 1.0 + np.where(weight > 1, 2.0, 0.5) * rng.standard_normal(weight.size)  # and the heavy rows are the noisy ones
    data = pd.DataFrame({"y": y, "p": 1.0 + bias, "q": 2.0, "w": weight, "draw": np.repeat(np.arange(draws), 12)})
    columns, target = (("p", "mean"), (["p", "q"], "mean_variance"))[coordinates - 1]
    table = mv.audit("y", columns, data=place(data), groups=["draw"], property=target, sample_weight="w").table
    found = (
        table["debiased" if coordinates == 1 else "first_debiased"][1:] * draws
    )  # an error counts by its group's share of the rows
    assert found.size == draws
    error = np.std(found) / draws**0.5
    assert abs(np.mean(found) - bias**2) < 3.5 * error
    assert error < 0.2 * bias**2
