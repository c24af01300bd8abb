"""From a sample to all rows: one Newton step whose gradient is a pass of sums over all of them.

A model fitted on a sample of n rows is off by about 1/√n. The curvature there is known from the sample; the gradient at that point, ΣwV
over every group and along the base, is a sum, which an engine adds up over all N rows. One step then ends where all rows put the model, up
to the square of what the sample was off by (Le Cam's one-step estimator): no row has to leave its engine, and none is read twice.

Bends, twists and products of two groups stay as the sample has them; everything that makes a group right on average moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.evaluators import Evaluator, Members
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import Matching
from multivalid.practical.model import Model
from multivalid.practical.newton import SHARE
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.products import products
from multivalid.practical.solve import solve
from multivalid.practical.work import Worked
from multivalid.properties.base import Array, Property
from multivalid.sources.open import Source

FARTHEST_STEP = 1.0  # units of the link: a sample leaves no more than this to correct


def refit(source: Source, done: Worked, prop: Property, mean_weight: float) -> Model | None:
    """The model fitted on a sample, moved to where all rows of `source` put it; None where there is no model.

    `mean_weight` is that of the sample, whose rows have weights of mean one in the fit.
    """
    model, rows, ridge, loss = done.predictor.model, done.inner, done.ridge, Matching(prop, done.predictor.link)
    if model is None:
        return None
    sums = source.group_sums(done.predictor, Pulls(prop, done.predictor, model)) / (mean_weight * loss.unit)
    eta = Candidate("", model, ridge, done.predictor.rounds).eta(rows)
    loss.widen(eta, rows, SHARE)
    table = products(model, rows, slice(0, len(rows)), lambda _, part: np.maximum(loss.slope(eta[part], rows, part), 0.0)).table
    flat, free = model.flat, _free(model)
    table = table[np.ix_(free, free)] * (source.totals.weight / mean_weight / len(rows))
    right = -(_gradient(model, sums) + ridge * flat.penalty * flat.values)[free]
    step = np.zeros(free.size)
    step[free] = solve(table, ridge * flat.penalty[free], right, flat.few[free])
    return model.moved(np.clip(step, -FARTHEST_STEP, FARTHEST_STEP))


def moves_whole(done: Worked) -> bool:
    """Whether all rows move everything that was fitted on a sample: there are no bends, twists, products of groups or shifts of cells."""
    model = done.predictor.model
    return not done.predictor.rounds and (model is None or bool(_free(model).all()))


class Pulls:
    """wV of a row times ∂η/∂u for its summed shifts u, and wV along the base; then, of everyone alone, wV and wV times each hinge."""

    def __init__(self, prop: Property, predictor: LinkPredictor, model: Model) -> None:
        self.prop, self.link, self.model, self.whole = prop, predictor.link, model, 1 + model.knots.size

    def __call__(self, by: Evaluator, prediction: Any, made: Any, label: Any, weight: Any, members: Members) -> list[Any]:
        ops, model = by.ops, self.model
        standard = model.standard(by, self.link.onto(by, prediction))
        wv = by.keep("pulled", weight * self.prop.residual(ops, made, label))
        hinges = [ops.maximum(standard - float(knot), 0.0) for knot in model.knots]
        plain = not (model.bends.size or model.twists.size)
        pulled = wv if plain else wv * self._slope(by, members.total(model.shifts.tolist()), [standard, *hinges])
        return [pulled, wv * standard, wv, *(wv * hinge for hinge in hinges)]

    def _slope(self, by: Evaluator, index: Any, along: Sequence[Any]) -> Any:
        """∂η/∂u: the sum of all bends and twists that lie below u, the twists along the base."""
        bends, twists = np.append(1.0, self.model.bends), self.model.twists.reshape(1 + self.model.bends.size, -1)
        piece = by.place(index, self.model.bend_knots.tolist()) if bends.size > 1 else None

        def at(steps: Array) -> Any:
            return float(steps[0]) if piece is None else by.look_up(piece, np.cumsum(steps).tolist())

        slope = at(bends)
        for part, steps in zip(along, twists.T, strict=False):
            slope = slope + part * at(steps)
        return slope


def _free(model: Model) -> NDArray[np.bool_]:
    """Which coefficients move: the curve, the shifts, and products of a group with the base."""
    curve, bend, shift, product, total = model.flat.cuts
    free = np.zeros(total, dtype=bool)
    free[:curve] = free[bend:shift] = True
    free[shift:product] = model.pairs[1] == model.shifts.size
    return free


def _gradient(model: Model, sums: Array) -> Array:
    """The gradient in the coefficients that move, from the sums of every group (everyone first)."""
    curve, bend, shift, product, total = model.flat.cuts
    gradient, along = np.zeros(total), _free(model)[shift:product]
    gradient[0], gradient[1], gradient[2:curve] = sums[0, 2], sums[0, 1], sums[0, 3:]
    gradient[bend:shift] = sums[1:, 0]
    gradient[shift:product][along] = sums[1 + model.pairs[0, along], 1]
    return gradient
