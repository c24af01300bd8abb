"""Theorem mode of a pair without m: its promise is worth something, or it refuses with numbers; right forecasts keep their order."""

from statistics import NormalDist

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.joint.default_levels import default_grids


def two_means(n=2000, seed=0):
    random = np.random.default_rng(seed)
    group = random.random(n) < 0.4
    return np.where(group, 0.8, 0.2) + 0.05 * random.standard_normal(n), group


@pytest.mark.parametrize("pair", ["mean_variance", "mean_mad", "quantile_iqr"])
def test_the_default_is_not_vacuous(pair):
    y, group = two_means()
    said = np.tile(mv.properties.parse_any(pair).solve(y), (y.size, 1))
    made = mv.multicalibrate(y, said, groups=[group], property=pair, mode="theorem").certificate
    assert made.status != "vacuous"
    assert made.alpha[0] <= made.trivial[0]
    if pair == "quantile_iqr":
        assert np.isnan(made.alpha[1])
        assert "no bound in advance" in made.argument
    else:
        assert made.alpha[1] <= made.trivial[1]


def test_where_no_number_of_levels_helps_it_refuses_with_numbers():
    random = np.random.default_rng(0)
    y, group = random.standard_normal(2000), random.random(2000) < 0.4  # groups that do not differ
    said = np.tile(mv.MeanVariance().solve(y), (y.size, 1))
    with pytest.raises(InputError, match=r"can promise nothing here: .* \(10,000, 10,000\) levels .* promise"):
        mv.multicalibrate(y, said, groups=[group], property="mean_variance", mode="theorem")
    assert (
        mv.multicalibrate(y, said, groups=[group], property="mean_variance", mode="theorem", m=10).certificate.status == "vacuous"
    )


def test_too_many_cells_are_refused_with_the_levels_needed():
    y, _ = two_means()
    groups = [y > cut for cut in np.linspace(0, 1, 300)]
    said = np.tile(mv.ExpectileVariantile(0.8).solve(y), (y.size, 1))
    with pytest.raises(InputError, match=r"needs about m = \([\d,]+, [\d,]+\) levels"):
        mv.multicalibrate(y, said, groups=groups, property="expectile_variantile:0.8", mode="theorem")


@pytest.mark.parametrize("tau", [0.9, 0.93, 0.975])
@pytest.mark.parametrize("losses", [True, False])
def test_right_forecasts_keep_their_order(tau, losses):
    random = np.random.default_rng(1)
    n, sign = 3000, 1 if losses else -1
    spread = np.exp(random.normal(0, 0.7, n))
    y = spread * random.standard_normal(n)
    q = NormalDist().inv_cdf(tau)
    said = sign * np.stack([q * spread, NormalDist().pdf(q) / (1 - tau) * spread], axis=1)
    fitted = mv.multicalibrate(sign * y, said, groups=[], property=f"quantile_cvar:{tau}", mode="theorem", losses=losses)
    after = sign * fitted.predict(said)
    assert (after[:, 1] >= after[:, 0]).all()


@pytest.mark.parametrize("pair", [mv.QuantileCVaR(0.93), mv.LowerQuantileCVaR(0.93)], ids=repr)
def test_both_grids_have_the_points_of_the_first(pair):
    facts = pair.facts(-1.0, 3.0)
    first, second = default_grids(facts, (20, 286))
    assert np.isin(first.points, second.points).all()
    assert second.edge <= second.gap * (1 + 1e-9)
    assert second.lo <= facts.second_range.lo + 1e-12
    assert second.hi >= facts.second_range.hi - 1e-12
