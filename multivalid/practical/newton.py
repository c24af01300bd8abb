"""Gauss–Newton on the matching loss, with a ridge chosen by cross-validation on sums per fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid.practical.data import LinkRows, Matching, folds
from multivalid.practical.model import Model
from multivalid.practical.products import products
from multivalid.practical.solve import solve, solve_each
from multivalid.properties.base import Array

FOLDS = 5
HESSIAN_ROWS = 40_000  # curvature needs fewer rows than the gradient
MOST_FOLDED = (
    1_500  # coefficients up to which each fold has its own curvature; beyond, folds share their average, in a fifth of the memory
)
SHARE = 0.1  # of the rows on which V changes within the window, at the end
RIDGES = 10.0 ** np.arange(0, 4.01, 0.5)
STEPS = 15
LARGE_STEPS = 8  # on more rows than that: each costs a pass, and the last ones gain less than the noise
LONGEST = 30.0  # units of the link


@dataclass(frozen=True)
class Fitted:
    """A model at its optimum, with η and w·V of the rows and the ridge used."""

    model: Model
    eta: Array
    identification: Array
    ridge: float


def fit(
    model: Model,
    rows: LinkRows,
    loss: Matching,
    ridge: float | None = None,
    *,
    warm: bool = False,
    tuned: bool = False,
    tolerance: float = 1 / 40,
) -> Fitted:
    """Damped Gauss–Newton from `model`.

    It stops when the gain a step predicts is below `tolerance` per parameter, in units where sampling noise gains 1/2. A step is kept
    when the loss does not rise steeply at its end: M is convex, so that is a descent, and V alone decides (M is never evaluated).
    The window of the slope narrows from half of the rows to `SHARE`, where it begins if the model is `warm`, fitted on a part of the
    rows. Where it was `tuned` there, the ridge stays.
    """
    search = _Search(model, rows, loss, ridge, warm, tuned)
    for _ in range(STEPS if len(rows) <= HESSIAN_ROWS else LARGE_STEPS):
        search.curvature()
        direction = search.direction()
        settled = search.wide <= SHARE / 2 and (search.settled or len(rows) > HESSIAN_ROWS)
        if (settled and search.gain < tolerance * model.flat.penalty.size) or not search.advance(direction):
            break
    return Fitted(search.model, search.eta, search.identification, search.ridge)


class _Search:
    def __init__(self, model: Model, rows: LinkRows, loss: Matching, ridge: float | None, warm: bool, tuned: bool) -> None:
        self.model, self.rows, self.loss = model, rows, loss
        self.penalty = model.flat.penalty
        self.ridge = np.nan if ridge is None else ridge
        self.wide = SHARE if warm else 0.5
        self.damping = 0.0
        self.gain = self.last_gain = np.inf
        self.tuned, self.settled = (4, True) if tuned else (0, False)
        self.hessian: Array | None = None
        self.eta, self.identification, self.gradient = sweep(model, rows, loss)

    def curvature(self) -> None:
        """The Hessian anew while the window narrows or steps are large; then the ridge."""
        if self.hessian is not None and self.wide <= SHARE / 2 and self.gain <= 0.05 * self.last_gain:
            return
        self.loss.widen(self.eta, self.rows, max(SHARE, self.wide))
        parts, self.damper = hessian(self.model, self.rows, self.loss)
        self.hessian = parts.sum(axis=0)
        # ΣwV² over the curvature of the intercept: how much of M one parameter gains from noise alone. It gains by moving √spread over
        # the curvature, and no coefficient moves farther than `LONGEST`, however little curvature the labels show.
        spread = float(np.sum(self.identification**2 / self.rows.weights))
        curvature = max(float(self.hessian[0, 0]), np.sqrt(spread) / LONGEST, 1e-300)
        self.noise = max(spread / curvature, 1e-100)  # labels without noise: a fit without ridge
        if self.wide <= SHARE and self.tuned < 4:
            chosen = choose_ridge(self.model, self.gradient, parts, self.noise)
            self.settled = 0.7 < chosen / self.ridge < 1.4
            self.tuned = 4 if self.settled else self.tuned + 1
            self.ridge = chosen
        if np.isnan(self.ridge):
            self.ridge = 10 * self.noise
        self.wide /= 2

    def direction(self) -> Array:
        self.slope = self.gradient.sum(axis=0) + self.ridge * self.penalty * self.model.flat.values
        step = self._step()
        self.last_gain, self.gain = self.gain, float(-self.slope @ step / 2 / self.noise)
        return step

    def advance(self, step: Array) -> bool:
        """Take the step, damped until it does not overshoot; False when no damping helps."""
        costly = len(self.rows) >= 2 * HESSIAN_ROWS
        for _ in range(8):
            if not (costly and self._overshoots(step)):
                new = self.model.moved(step)
                eta, identification, gradient = sweep(new, self.rows, self.loss)
                start = self.identification @ (eta - self.eta) + self.ridge * (self.penalty * self.model.flat.values) @ step
                end = identification @ (eta - self.eta) + self.ridge * (self.penalty * new.flat.values) @ step
                if start < 0 and end <= 0.5 * abs(start):
                    self.damping /= 5
                    self.model, self.eta, self.identification, self.gradient = new, eta, identification, gradient
                    return True
            self.damping = max(10 * self.damping, 1e-2)
            step = self._step()
        return False

    def _overshoots(self, step: Array) -> bool:
        """Whether a sample tells already that the loss would rise steeply at the end of the step, where a pass costs more.

        The slope at its start is known; how much it changes on the way is a sum of products that are hardly ever negative, which a
        sample tells well however near to the optimum.
        """
        span = slice(0, HESSIAN_ROWS)
        moved, identification, _ = sweep(self.model.moved(step), self.rows.part(0, HESSIAN_ROWS), self.loss)
        change = (identification - self.identification[span]) @ (moved - self.eta[span])
        rise = change * (len(self.rows) / HESSIAN_ROWS) + self.ridge * (self.penalty * step) @ step
        start = float(self.slope @ step)
        return bool(start + rise > 0.5 * abs(start))

    def _step(self) -> Array:
        """A damped step, no coefficient moving farther than any link needs: where no label is in the window, curvature says nothing."""
        assert self.hessian is not None
        step = solve(self.hessian, self.ridge * self.penalty + self.damping * self.damper, -self.slope, self.model.flat.few)
        return step * min(1.0, LONGEST / max(float(np.abs(step).max()), LONGEST))


def sweep(model: Model, rows: LinkRows, loss: Matching) -> tuple[Array, Array, Array]:
    """One pass: η, w·V, and the gradient per fold (rows are shuffled, folds are contiguous)."""
    eta, identification, pulls = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    gradient, at, buffer = np.zeros((FOLDS, model.flat.values.size)), model.dense_at(rows.blocks.line_at), None
    first, last = model.flat.cuts[1:3]
    for fold, span in enumerate(folds(len(rows), FOLDS)):
        for part in rows.chunks(span):
            eta[part], index, buffer = model.evaluate(rows.base[part], rows.blocks.part(part), buffer)
            identification[part] = loss.identify(eta[part], rows, part)
            pull = model.chain(index, buffer)
            if rows.blocks.coded:
                pulls[part] = identification[part] if pull is None else pull * identification[part]
            gradient[fold, at] += buffer @ identification[part].astype(np.float32)
        for block in rows.blocks.coded and rows.blocks.codes_of(span):
            gradient[fold, first:last][block.groups] = block.sums(pulls[span])
    return eta, identification, gradient


def hessian(model: Model, rows: LinkRows, loss: Matching) -> tuple[Array, Array]:
    """Σ slope·feature·feature' per fold, and the scale of damping.

    It comes from a sample scaled up where rows are many (the folds then share its average). The damping is the diagonal plus the
    mean slope times Σ feature², which stays positive for a feature none of whose rows is in the window.
    """
    count, size = min(len(rows), HESSIAN_ROWS), model.flat.values.size
    shared = count < len(rows) or size > MOST_FOLDED
    spans = [slice(0, count)] if shared else folds(count, FOLDS)
    # V falls by rounding alone.
    parts = [products(model, rows, span, lambda eta, part: np.maximum(loss.slope(eta, rows, part), 0.0)) for span in spans]
    out, mass = np.stack([part.table for part in parts]), np.sum([part.mass for part in parts], axis=0)
    if shared:
        out = np.broadcast_to(out[0] * (len(rows) / count / FOLDS), (FOLDS, size, size))
    return out, np.einsum("fii->i", out) + out[:, 0, 0].sum() / count * mass


def choose_ridge(model: Model, gradient: Array, parts: Array, noise: float) -> float:
    """The ridge of least cross-validated loss in the quadratic model of M: needs the sums per fold, no pass over rows."""
    ridges = RIDGES * noise * (1 - 1 / FOLDS)
    lines = ridges[:, None] * model.flat.penalty  # ridges × coefficients
    right = -(gradient.sum(axis=0) - gradient + (lines * model.flat.values)[:, None])  # ridges × folds × coefficients
    shared = parts.strides[0] == 0  # one Hessian for all folds: one factorisation serves them all
    risk = np.zeros(ridges.size)
    for fold, part in enumerate(parts[:1] if shared else parts):
        chosen = slice(None) if shared else slice(fold, fold + 1)
        rest = part * (FOLDS - 1) if shared else parts.sum(axis=0) - part
        steps = solve_each(rest, lines, right[:, chosen], model.flat.few)
        curved = (steps.reshape(-1, part.shape[0]) @ part).reshape(steps.shape)
        risk += np.sum((gradient[chosen] + curved / 2) * steps, axis=(1, 2))
    return float(RIDGES[np.argmin(risk)] * noise)
