"""Classes fitted together: shifts of log-probabilities per (group, class), which a division by their sum turns into probabilities.

The log loss of a softmax is convex in the shifts, and its gradient in the shift of (group, class) is ΣwV of that cell: at the minimum every
class is right for every group after the division, up to the ridge. Steps use the blocks Σw·p_j·x·x' of the curvature, one per class.
They are above the true curvature Σw·(diag(p) − pp')·x·x', and equal to it in every direction that leaves Σ p_j·η_j alone, which is all that
the loss can see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Membership
from multivalid.practical.data import LinkRows, folds
from multivalid.practical.model import Model
from multivalid.practical.newton import FOLDS, LONGEST, choose_ridge, folded_products
from multivalid.practical.solve import solve
from multivalid.practical.start import screen
from multivalid.properties.base import Array

STEPS = 30
TUNED = 3  # steps after which the ridge stays
TOLERANCE = 1 / 200  # gain per parameter that a step must promise, in units where noise gains 1/2
TRIALS = 8


@dataclass(frozen=True)
class ClassRows:
    """Codes of the labels, weights of mean one, log-probabilities (rows, classes), and groups; rows are in random order."""

    codes: Array
    weights: Array
    base: Array
    membership: Membership

    def __len__(self) -> int:
        return int(self.codes.size)

    def take(self, rows: NDArray[np.intp]) -> ClassRows:
        """A selection of rows."""
        return ClassRows(self.codes[rows], self.weights[rows], self.base[rows], self.membership.take(rows))

    def of_class(self, k: int) -> LinkRows:
        """The rows as those of one class."""
        return LinkRows((self.codes == k).astype(np.float64), self.weights, np.ascontiguousarray(self.base[:, k]), self.membership)


@dataclass(frozen=True)
class Softmax:
    """One model of log-probabilities per class, and the ridge of each."""

    models: list[Model]
    ridges: list[float]

    @classmethod
    def new(cls, rows: ClassRows) -> Softmax:
        """Models that change nothing."""
        groups = rows.membership.groups - 1
        return cls([Model.new(column, groups) for column in rows.base.T], [0.0] * rows.base.shape[1])

    def eta(self, rows: ClassRows) -> Array:
        """Log-probabilities up to a number per row."""
        out = np.empty(rows.base.shape)
        for k, model in enumerate(self.models):
            one = rows.of_class(k)
            for part in one.chunks():
                out[part, k] = model.evaluate(one.base[part], one.blocks.part(part))[0]
        return out


def probabilities(eta: Array) -> Array:
    """Softmax of every row."""
    shifted = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def log_loss(eta: Array, rows: ClassRows) -> float:
    """Σw·(−log of the probability of the label's class)."""
    top = eta.max(axis=1, keepdims=True)
    total = top[:, 0] + np.log(np.exp(eta - top).sum(axis=1))
    return float(rows.weights @ (total - eta[np.arange(len(rows)), rows.codes.astype(np.intp)]))


def fit(rows: ClassRows, start: Softmax | None = None) -> Softmax:
    """Damped Newton on all classes at once; from `start`, whose ridges are then kept."""
    made = Softmax.new(rows) if start is None else start
    eta = made.eta(rows)
    for number in range(STEPS):
        tune = start is None and number < TUNED
        steps, ridges, gain = _direction(made, rows, eta, tune)
        made = Softmax(made.models, ridges)
        if not tune and gain < TOLERANCE * sum(step.size for step in steps):
            break
        found = _advanced(made, rows, eta, steps)
        if found is None:
            break
        made, eta = found
    return made


def with_products(made: Softmax, rows: ClassRows) -> Softmax | None:
    """Room, for each class, for products of two groups, or of a group and the class's own prediction, that go with what is left of its V
    beyond chance; None where there are no more of them."""
    share = probabilities(made.eta(rows))
    models = []
    for k, model in enumerate(made.models):
        one = rows.of_class(k)
        models.append(model.with_products(screen(model, one, rows.weights * (share[:, k] - one.labels))))
    added = sum(model.products.size for model in models) - sum(model.products.size for model in made.models)
    return Softmax(models, made.ridges) if added else None


def _direction(made: Softmax, rows: ClassRows, eta: Array, tune: bool) -> tuple[list[Array], list[float], float]:
    """A step for each class, the ridges, and what the steps gain in units of noise."""
    share = probabilities(eta)
    steps, ridges, gain = [], [], 0.0
    for k, model in enumerate(made.models):
        one = rows.of_class(k)
        residual = rows.weights * (share[:, k] - one.labels)
        gradient, parts = _sums(model, one, residual, rows.weights * share[:, k])
        curvature = parts.sum(axis=0)
        noise = max(float(np.sum(residual**2 / rows.weights)) / max(float(curvature[0, 0]), 1e-300), 1e-100)
        ridge = choose_ridge(model, gradient, parts, noise) if tune else made.ridges[k]
        slope = gradient.sum(axis=0) + ridge * model.penalty * model.vector
        step = solve(curvature, ridge * model.penalty, -slope, model.few)
        steps.append(step * min(1.0, LONGEST / max(float(np.abs(step).max()), LONGEST)))
        ridges.append(ridge)
        gain += float(-slope @ step / 2 / noise)
    return steps, ridges, gain


def _sums(model: Model, rows: LinkRows, residual: Array, curvature: Array) -> tuple[Array, Array]:
    """Σ residual·feature and Σ curvature·feature·feature' per fold; the latter from a sample scaled up where rows are many."""
    gradient, at, buffer = np.zeros((FOLDS, model.vector.size)), model.dense_at(rows.blocks.line_at), None
    first, last = model.cuts[1:3]
    for fold, span in enumerate(folds(len(rows), FOLDS)):
        for part in rows.chunks(span):
            _, _, buffer = model.evaluate(rows.base[part], rows.blocks.part(part), buffer)
            gradient[fold, at] += buffer @ residual[part].astype(np.float32)
        for block in rows.blocks.codes_of(span):
            gradient[fold, first:last][block.groups] = block.sums(residual[span])
    return gradient, folded_products(model, rows, lambda _, part: curvature[part])[0]


def _advanced(made: Softmax, rows: ClassRows, eta: Array, steps: list[Array]) -> tuple[Softmax, Array] | None:
    """The models after the steps: halved until the penalised loss falls, or else doubled while it falls further; None where it never does.

    The blocks are above the true curvature, so that steps are rather too short than too long.
    """
    best: tuple[Softmax, Array] | None = None
    least = log_loss(eta, rows) + _penalty(made)
    scale = 1.0
    for _ in range(TRIALS):
        moved = Softmax([m.moved(step * scale) for m, step in zip(made.models, steps, strict=True)], made.ridges)
        there = moved.eta(rows)
        loss = log_loss(there, rows) + _penalty(moved)
        if loss < least:
            best, least = (moved, there), loss
        elif best is not None:  # doubling went too far
            break
        if best is not None and scale < 1:
            break
        scale = scale / 2 if best is None else scale * 2
    return best


def _penalty(made: Softmax) -> float:
    return sum(ridge / 2 * float(model.penalty @ model.vector**2) for model, ridge in zip(made.models, made.ridges, strict=True))
