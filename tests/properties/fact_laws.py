"""Laws about what a property declares of itself: constants, moments, pieces, invariance, and that it travels."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from sklearn.base import clone

import multivalid as mv

from .laws import mean_identification, prediction_mesh, random_laws
from .registry import Case


def bound_holds(case: Case) -> None:
    """C bounds |V|, B bounds how far S varies for one label, and Γ stays in the declared range."""
    facts = case.prop.facts(case.lo, case.hi)
    g, y = prediction_mesh(case), np.linspace(case.lo, case.hi, 65)
    v, s = case.prop.identify(g[:, None], y), case.prop.score(g[:, None], y)
    most, vary = np.abs(v).max(), np.ptp(s, axis=0).max()
    assert most <= facts.bound * (1 + 1e-9), f"|V| reaches {most}, above the bound {facts.bound}"
    assert vary <= facts.span * (1 + 1e-9), f"S varies by {vary}, above the span {facts.span}"
    if case.tight:
        assert most >= 0.99 * facts.bound, f"|V| reaches only {most} of the bound {facts.bound}"
        assert vary >= 0.98 * facts.span, f"S varies by only {vary} of the span {facts.span}"
    for labels, weights in random_laws(case):
        value = case.prop.solve(labels, weights)
        slack = 1e-12 * max(1.0, facts.range.length)
        assert facts.range.lo - slack <= value <= facts.range.hi + slack, f"the value {value} leaves the range {facts.range}"


def lipschitz_holds(case: Case) -> None:
    """V rises at most by L per unit for every label; without an L there is a reason, and a slope that explodes."""
    facts = case.prop.facts(case.lo, case.hi)
    mesh, labels = prediction_mesh(case, 801), np.linspace(case.lo, case.hi, 33)
    slopes = np.diff(case.prop.identify(mesh[:, None], labels), axis=0) / np.diff(mesh)[:, None]
    if facts.lipschitz is not None:
        assert facts.reason == ""
        assert slopes.max() <= facts.lipschitz * (1 + 1e-9) + 1e-9, f"V rises by {slopes.max()}, above L = {facts.lipschitz}"
        if case.tight:
            assert slopes.max() >= 0.98 * facts.lipschitz, f"V rises by only {slopes.max()} of L = {facts.lipschitz}"
        return
    assert facts.reason, "no Lipschitz constant and no reason"
    step = 1e-8 * case.length
    at = case.lo + 0.4 * case.length
    rise = (case.prop.identify(at + step, at) - case.prop.identify(at - step, at)) / (2 * step)
    if case.text:  # of a user's own V nothing is known
        assert rise * case.length > 100 * facts.bound, "V is smooth at the label, so a constant exists"


def anti_lipschitz_holds(case: Case) -> None:
    """|γ − Γ| ≤ L_a·|mean V(γ)|."""
    facts = case.prop.facts(case.lo, case.hi)
    if facts.anti_lipschitz is None:
        return
    mesh = prediction_mesh(case)
    for labels, weights in random_laws(case):
        gap = np.abs(mesh - case.prop.solve(labels, weights))
        v = np.abs(mean_identification(case.prop, mesh, labels, weights))
        assert (gap <= facts.anti_lipschitz * v * (1 + 1e-9) + 1e-9 * case.length).all(), "L_a is too small"


def pieces_reproduce(case: Case) -> None:
    """Moments and pieces give V and S back on any grid, labels on breakpoints included."""
    rng = np.random.default_rng(21)
    lo, hi = prediction_mesh(case, 2)
    for size in (1, 2, 13):
        points = np.sort(rng.uniform(lo, hi, size))
        pieces = case.prop.pieces(points)
        labels = np.concatenate([rng.uniform(case.lo, case.hi, 25), [case.lo, case.hi]])
        if pieces is not None:
            on = pieces.breaks.ravel()
            labels = np.concatenate([labels, on[(on >= case.lo) & (on <= case.hi)]])
        moments = case.prop.moments(labels)
        assert (moments is None) == (pieces is None), "moments and pieces must come together"
        if moments is None or pieces is None:
            return
        np.testing.assert_array_equal(moments[:, 0], 1.0)
        piece = (labels[:, None, None] > pieces.breaks).sum(axis=1)  # labels × points
        at = np.arange(size)
        v = np.einsum("ijk,ik->ij", pieces.identify[piece, at], moments)
        s = np.einsum("ijk,ik->ij", pieces.score[piece, at], moments) + case.prop.score_constant(labels)[:, None]
        for got, verb, coefficients in ((v, case.prop.identify, pieces.identify), (s, case.prop.score, pieces.score)):
            size_of_terms = np.einsum("ijk,ik->ij", np.abs(coefficients[piece, at]), np.abs(moments))
            error = np.abs(got - verb(points, labels[:, None]))
            assert (error <= 1e-14 * (size_of_terms + 1) * 10).all(), "pieces do not reproduce V and S"


def shift_as_declared(case: Case) -> None:
    """Where shift invariance is declared, V ignores a common shift, and S changes by an amount without the prediction in it."""
    if not case.prop.shift_invariant:
        return
    rng = np.random.default_rng(4)
    g, y = rng.integers(-64, 65, 40) / 64, rng.integers(-64, 65, 40) / 64  # dyadic, so that the shift is exact
    for shift in (8.0, -1024.0):
        np.testing.assert_allclose(case.prop.identify(g + shift, y + shift), case.prop.identify(g, y), rtol=1e-13, atol=0)
        moved = case.prop.score(g[:, None] + shift, y + shift) - case.prop.score(g[:, None], y)
        np.testing.assert_allclose(moved, np.broadcast_to(moved[:1], moved.shape), rtol=0, atol=1e-10)


def travels(case: Case) -> None:
    """Copies, pickles and clones are the same property; `repr` and `spec` read back."""
    prop = case.prop
    for other in (pickle.loads(pickle.dumps(prop)), copy.copy(prop), copy.deepcopy(prop), clone(prop, safe=False)):  # noqa: S301
        assert other == prop
        assert hash(other) == hash(prop)
        assert other.solve([case.lo, case.hi, case.hi]) == prop.solve([case.lo, case.hi, case.hi])
    if case.text:
        assert eval(repr(prop), vars(mv)) == prop, f"{prop!r} does not read back"  # noqa: S307
    if prop.spec is not None:
        assert mv.parse(prop.spec) == prop, f"{prop.spec!r} does not parse back"
