"""How far held-out rows lean towards a correction: to first order what it gains, and of a known spread where the input is right."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.practical.data import Matching, Outcomes
from multivalid.practical.link import choose_link
from multivalid.several.losses import OneWhole, OwnScales, lean_of_shares
from tests.several.worlds import TAUS, kinds, softmax

QUANTILES = mv.Quantiles(TAUS)


def drawn(shares, rng):
    return (shares.cumsum(axis=1) > rng.random(len(shares))[:, None]).argmax(axis=1)


def test_a_small_move_of_classes_gains_its_lean():
    rng = np.random.default_rng(1)
    eta, weights = rng.normal(size=(4, 500)), rng.choice([0.5, 1.0, 3.0], 500)
    losses = OneWhole(mv.Classes(range(4)), Outcomes(rng.integers(0, 4, 500).astype(float), weights))
    step = 1e-5 * rng.normal(size=(4, 500))
    lean, _ = losses.leans(eta, eta + step)
    np.testing.assert_allclose(losses.losses(eta) - losses.losses(eta + step), lean, atol=1e-8)


def test_the_lean_of_right_classes_has_the_spread_it_says():
    rng = np.random.default_rng(2)
    before, after, weights = softmax(rng.normal(size=(40, 3))), softmax(rng.normal(size=(40, 3))), rng.choice([0.5, 2.0], 40)
    found = [lean_of_shares(before.T, after.T, drawn(before, rng), weights) for _ in range(4000)]
    sums, known = np.array([lean.sum() for lean, _ in found]), found[0][1].sum()
    assert abs(sums.mean()) < 4 * np.sqrt(known / sums.size)
    assert sums.var() == pytest.approx(known, rel=0.1)


def test_the_lean_of_right_quantiles_has_the_spread_it_says():
    rng = np.random.default_rng(3)
    said = np.column_stack([np.full(60, z) for z in (-1.2815515655, 0.0, 1.2815515655)]) + rng.normal(size=60)[:, None]
    weights, labels = rng.choice([0.5, 2.0], 60), said[:, 1] + rng.normal(size=60)
    scales = [
        Matching(one.predicted, choose_link(one.predicted, labels, said[:, k])) for k, one in enumerate(QUANTILES.coordinates)
    ]
    eta = np.stack([scale.link.forward(column) for scale, column in zip(scales, said.T, strict=True)])
    moved = eta + np.array([-0.1, 0.2, 0.3])[:, None] * rng.normal(1, 0.3, size=(3, 60))
    sums = []
    for _ in range(4000):
        lean, known = OwnScales(QUANTILES, scales, Outcomes(said[:, 1] + rng.normal(size=60), weights)).leans(eta, moved)
        sums.append(lean.sum())
    assert abs(np.mean(sums)) < 4 * np.sqrt(known.sum() / len(sums))
    assert np.var(sums) == pytest.approx(known.sum(), rel=0.1)


def test_a_class_plainly_off_for_a_group_is_corrected_in_few_rows():
    """Curves beside the shifts would follow noise in so few rows, and t of the gain is half of the lean's: hardly any was corrected."""
    changed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        inside, x = rng.random(2000) < 0.2, rng.normal(size=(2000, 4))
        truth = softmax(x + np.outer(inside, [0.0, 0.8, 0.0, 0.0]))
        made = mv.multicalibrate(
            drawn(truth, rng), softmax(x), groups=[inside, rng.random(2000) < 0.3], property=mv.Classes(range(4))
        )
        changed += made.predictor.together is not None
    assert changed >= 8


def test_the_note_tells_the_evidence():
    names, base, _, groups, _ = kinds(3000, 1)
    made = mv.multicalibrate(names, base, groups=list(groups.T), property=mv.Classes(["ant", "bee", "cat", "dog"]))
    assert "Group shifts of all classes alone: held-out score gain" in made.certificate.note
    assert "(z = " in made.certificate.note
