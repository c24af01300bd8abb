"""On finitely many features every set is a union of points: calibrated for all of them at once."""

from __future__ import annotations

import itertools

import numpy as np

import multivalid as mv


def test_calibrated_for_every_set_of_features() -> None:
    rng = np.random.default_rng(2)
    feature = rng.integers(0, 5, 3000)
    y = (rng.random(3000) < np.array([0.1, 0.3, 0.5, 0.7, 0.9])[feature]).astype(float)
    sets = [np.isin(feature, chosen) for size in range(1, 5) for chosen in itertools.combinations(range(5), size)]
    base = rng.uniform(0.3, 0.7, 3000)
    made = mv.multicalibrate(y, base, groups=sets, mode="theorem", m=20)
    assert made.certificate.status in ("converged", "uncalibrated")  # twenty levels leave what tests of 3,000 rows may see
    assert made.certificate.error <= made.certificate.alpha
    assert made.certificate.updates <= made.certificate.update_bound
    points = np.asarray(made.grid.points)
    said = points[made.levels]
    worst = 0.0
    for mask in [np.ones(3000, dtype=bool), *sets]:
        for level in np.unique(said[mask]):
            cell = mask & (said == level)
            worst = max(worst, cell.mean() * float(level - y[cell].mean()) ** 2)
    assert worst <= made.certificate.alpha, "no set and level is off by more than was promised"
    # Sets of levels: V adds up over them, so calibrated level by level is calibrated on every set of levels.
    for mask in sets:
        by_level = [(mask & (said == level)).mean() * (level - y[mask & (said == level)].mean()) for level in np.unique(said[mask])]
        whole = float(np.mean(np.where(mask, said - y, 0.0)))
        assert abs(sum(by_level) - whole) < 1e-12
