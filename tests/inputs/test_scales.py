"""Labels and predictions on different scales get a sentence; impossible sizes are refused before memory is touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from multivalid.groups.codec import family_from_json
from tests.inputs.frames import ENGINES


def world() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    y = (rng.random(200) < 0.4).astype(float)
    p = rng.choice([0.25, 0.5], 200)
    return pl.DataFrame({"y": y, "p": p, "code": y + 1, "percent": 100 * p, "between": np.where(np.arange(200) == 7, 1.5, y + 1)})


@pytest.mark.parametrize("engine", ENGINES)
def test_per_cent_beside_zeros_and_ones(engine: Any) -> None:
    said = mv.audit("y", "percent", groups=[], data=engine(world())).summary()
    assert "y_pred goes from 25 to 50: if these are per cent, divide them by 100" in said


@pytest.mark.parametrize("engine", ENGINES)
def test_ones_and_twos_beside_probabilities(engine: Any) -> None:
    data = engine(world())
    assert "pass positive=2" in mv.audit("code", "p", groups=[], data=data).summary()
    assert "positive" not in mv.audit("code", "p", groups=[], data=data, positive=2).summary()
    assert "positive" not in mv.audit("between", "p", groups=[], data=data).summary()


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_said_of_what_fits(engine: Any) -> None:
    assert mv.audit("y", "p", groups=[], data=engine(world())).groups.notes == []


@pytest.mark.parametrize("make", [mv.Grid.uniform, mv.Grid.closed])
def test_a_grid_of_too_many_levels_is_refused(make: Any) -> None:
    with pytest.raises(InputError, match="at most 10,000,000 levels, got 100,000,000,000"):
        make(0, 1, 10**11)


@pytest.mark.parametrize("mode", ["practical", "theorem", "paper"])
def test_a_fit_on_too_many_levels_is_refused(mode: str) -> None:
    frame = world()
    with pytest.raises(InputError, match="at most 10,000,000 levels"):
        mv.multicalibrate(frame["y"], frame["p"], groups=[], mode=mode, m=10**11)


def test_a_file_with_more_groups_than_small_codes_can_count_is_refused() -> None:
    values = {"codes": [0], "kind": "values", "column": "c", "type": "number", "values": list(range(40_000))}
    with pytest.raises(ModelFileError, match="40,000 groups of one item"):
        family_from_json({"names": ["everyone", "c = 0"], "blocks": [values], "arrays": 0, "notes": []})


@pytest.mark.parametrize("prop", ["mean", "quantile:0.9", "quantile_cvar:0.9"])
@pytest.mark.filterwarnings("error")
def test_the_size_of_weights_says_nothing_and_one_beyond_numbers_is_refused(prop: str) -> None:
    rng = np.random.default_rng(0)
    group = rng.random(300) < 0.4
    y, w = np.where(group, 2.0, 1.0) * rng.gamma(2.0, 1.0, 300), 1.0 + group
    said = np.tile(np.atleast_1d(mv.properties.parse_any(prop).solve(y)), (300, 1)).squeeze()
    once = mv.audit(y, said, groups=[group], property=prop, sample_weight=w)
    for size in (2.0**-490, 2.0**490):
        again = mv.audit(y, said, groups=[group], property=prop, sample_weight=w * size)
        for name in set(once.table) - {"name", "weight"}:
            np.testing.assert_allclose(again.table[name], once.table[name], rtol=1e-9, err_msg=name)
        for mode in ("practical", "theorem"):
            fitted = mv.multicalibrate(y, said, groups=[group], property=prop, sample_weight=w * size, mode=mode, m=10)
            assert np.isfinite(fitted.predict(said, groups=[group])).all()
    for size in (1e200, 1e-200):
        with pytest.raises(InputError, match="only their ratios matter"):
            mv.audit(y, said, groups=[group], property=prop, sample_weight=w * size)
