"""Where there is no group but everyone: a promise that no constant could break is none, and is not called converged."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv

RNG = np.random.default_rng(11)
Y = RNG.normal(size=1500)
PAIRS = {
    "mean_variance": np.tile([0.0, 1.0], (1500, 1)),
    "quantile_cvar:0.9": np.tile([1.2816, 1.755], (1500, 1)),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("m", [None, 20])
def test_pairs_without_groups(pair, m):
    made = mv.multicalibrate(Y, PAIRS[pair], groups=[], property=pair, mode="theorem", m=m).certificate
    prop = mv.MeanVariance() if pair == "mean_variance" else mv.QuantileCVaR(0.9)
    first, second = prop.solve(Y)
    most = np.mean(prop.first.identify(first, Y) ** 2), np.mean(prop.identify_second(first, second, Y) ** 2)
    assert made.trivial == pytest.approx(most, rel=1e-9)
    promises = all(a <= t for a, t in zip(made.alpha, made.trivial, strict=True))
    assert made.status == ("converged" if promises else "vacuous")
    assert promises == (m is None)
    if not promises:
        assert "This promises nothing" in made.summary()
        assert "levels are needed" in made.summary()


def test_pairs_for_which_no_levels_are_enough_say_so():
    y = np.exp(2 * RNG.normal(size=1500))
    said = np.tile([float(np.quantile(y, 0.9)), float(y[y > np.quantile(y, 0.9)].mean())], (1500, 1))
    made = mv.multicalibrate(y, said, groups=[], property="quantile_cvar:0.9", mode="theorem").certificate
    assert made.status == "vacuous"


@pytest.mark.parametrize(
    ("options", "status"), [({"m": 2}, "vacuous"), ({"alpha": 1.5}, "vacuous"), ({}, "converged"), ({"m": 40}, "converged")]
)
def test_one_property_without_groups(options, status):
    y = (RNG.random(800) < 0.4) * 1.0
    made = mv.multicalibrate(y, np.full(800, 0.4), groups=[], mode="theorem", **options).certificate
    assert made.status == status
    assert (made.alpha > made.trivial) == (status == "vacuous")


@pytest.mark.parametrize(("alpha", "status"), [(35.0, "vacuous"), (0.2, "converged")])
def test_practical_mode_without_groups(alpha, status):
    f = RNG.uniform(0.2, 0.8, 800)
    made = mv.multicalibrate((RNG.random(800) < f) * 1.0, f, groups=[], alpha=alpha).certificate
    assert made.status == status


def test_a_pair_without_a_bound_says_why():
    said = np.tile([0.0, 0.6745], (1500, 1))
    made = mv.multicalibrate(Y, said, groups=[], property=mv.QuantileIQR(0.5, 0.75), mode="theorem").certificate
    assert np.isnan(made.alpha[1])
    assert "no bound in advance, as L_c and L_a are not known" in made.summary()
