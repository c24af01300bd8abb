"""Random problems over every pair, with ties, weights, empty groups and labels in raw units."""

import numpy as np

import multivalid as mv
from multivalid.sources.rows import open_rows

PAIRS = [
    mv.MeanVariance(), mv.MeanStd(), mv.MeanMoment(3), mv.MeanMoment(4), mv.MeanMAD(), mv.QuantileCVaR(0.75), mv.QuantileCVaR(0.9),
    mv.LowerQuantileCVaR(0.8),
    mv.QuantileSpectral(0.8, 0.4), mv.ExpectileVariantile(0.8), mv.QuantileIQR(), mv.BayesPair(mv.Mean()),
    mv.BayesPair(mv.Quantile(0.7)), mv.BayesPair(mv.Expectile(0.3)), mv.BayesPair(mv.Huber(0.4)), mv.BayesPair(mv.LpQuantile(3, 0.6)),
    mv.BayesPair(mv.Entropic(0.5)),
    mv.Pair.from_target(mv.Quantile(0.5), lambda g, y: np.abs(y - g), range=(0, 7), conditional_lipschitz=1, name="spread"),
    mv.Pair.from_identification(
        mv.Mean(), lambda g, s, y: s**2 - (y - g) ** 2, range=(0, 7), labels=(-3, 4), lipschitz=14, conditional_lipschitz=14, name="s"
    ),
]  # fmt: skip


def problem(seed):
    """A pair and rows with two predictions each, all different from seed to seed."""
    random = np.random.default_rng(seed)
    pair = PAIRS[seed % len(PAIRS)]
    n = int(random.integers(3, 120))
    y = random.random(n) if random.random() < 0.5 else np.round(random.random(n) * 4) / 4
    if random.random() < 0.3:
        y = 7 * y - 3
    weights = random.integers(0, 4, n).astype(float)
    weights[0] = 1.0
    lo, hi = y.min(), y.max()
    said = np.column_stack([random.choice(random.random(3) * (hi - lo) + lo, n), random.choice(random.random(3) * (hi - lo), n)])
    groups = [random.random(n) < 0.4, random.random(n) < 0.7, np.zeros(n, dtype=bool)]
    levels = [int(m) for m in random.integers(2, 9, 2)]
    return pair, open_rows(y, said, groups=groups, sample_weight=weights, width=2), levels
