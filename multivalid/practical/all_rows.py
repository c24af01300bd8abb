"""From a sample to all rows: one Newton step whose gradient is a pass of sums over all of them.

A model fitted on a sample of n rows is off by about 1/√n. The curvature there is known from the sample; the gradient at that point, ΣwV
over every group and along the base, is a sum, which an engine adds up over all N rows. One step then ends where all rows put the model, up
to the square of what the sample was off by (Le Cam's one-step estimator): no row has to leave its engine, and none is read twice.

Bends, twists and products of two groups stay as the sample has them; everything that makes a group right on average moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.tabulate import tabulate_groups
from multivalid.evaluators import Evaluator
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.model import Model
from multivalid.practical.newton import SHARE
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.products import products
from multivalid.practical.solve import solve
from multivalid.properties.base import Array, Property
from multivalid.sources.memory import MemorySource
from multivalid.sources.open import Source

FARTHEST_STEP = 1.0  # units of the link: a sample leaves no more than this to correct


def refit(source: Source, sample: MemorySource, prop: Property, predictor: LinkPredictor, ridge: float) -> Model | None:
    """The model of a predictor fitted on `sample`, moved to where all rows of `source` put it; None where there is no model."""
    model = predictor.model
    if model is None:
        return None
    sums = source.group_sums(predictor, Pulls(prop, predictor, model))
    rows = LinkRows.of(sample, predictor.link, np.flatnonzero(sample.weights > 0))
    eta = Candidate("", model, ridge, predictor.rounds).eta(rows)
    mean_weight = sample.weights[sample.weights > 0].mean()
    loss = Matching(prop, predictor.link)
    free, gradient = _gradient(model, sums / (mean_weight * loss.unit), _pulls(model, rows))
    loss.widen(eta, rows, SHARE)
    table = products(model, rows, slice(0, len(rows)), lambda _, part: np.maximum(loss.slope(eta[part], rows, part), 0.0)).table
    table = table[np.ix_(free, free)] * (source.totals.weight / sample.weights.sum())
    flat = model.flat
    right = -(gradient + ridge * flat.penalty * flat.values)[free]
    step = np.zeros(free.size)
    step[free] = solve(table, ridge * flat.penalty[free], right, flat.few[free])
    return model.moved(np.clip(step, -FARTHEST_STEP, FARTHEST_STEP))


class Pulls:
    """wV of a row, and the same along the base: times its standardised value, and (of everyone alone) times each hinge."""

    def __init__(self, prop: Property, predictor: LinkPredictor, model: Model) -> None:
        self.prop, self.link, self.model, self.whole = prop, predictor.link, model, model.knots.size

    def __call__(self, by: Evaluator, prediction: Any, made: Any, label: Any, weight: Any) -> list[Any]:
        ops, standard = by.ops, self.model.standard(by, self.link.onto(by, prediction))
        wv = by.keep("pulled", weight * self.prop.residual(ops, made, label))
        return [wv, wv * standard, *(wv * ops.maximum(standard - float(knot), 0.0) for knot in self.model.knots)]


def _gradient(model: Model, sums: Array, pulls: Array) -> tuple[NDArray[np.bool_], Array]:
    """Which coefficients move, and the gradient there, from the sums of every group (everyone first)."""
    curve, bend, shift, product, total = model.flat.cuts
    free, gradient = np.zeros(total, dtype=bool), np.zeros(total)
    free[:curve] = free[bend:shift] = True
    gradient[:curve], gradient[bend:shift] = sums[0], pulls * sums[1:, 0]
    along = np.flatnonzero(model.pairs[1] == model.shifts.size)  # products of a group with the base
    free[shift:product][along] = True
    gradient[shift:product][along] = sums[1 + model.pairs[0, along], 1]
    return free, gradient


def _pulls(model: Model, rows: LinkRows) -> Array:
    """How far η moves, on average over a group, with the group's shift: 1 but for bends and twists."""
    if not (model.bends.size or model.twists.size):
        return np.ones(model.shifts.size)
    pulls = np.empty(len(rows))
    for part in rows.chunks():
        _, index, features = model.evaluate(rows.base[part], rows.blocks.part(part))
        pulls[part] = model.chain(index, features)
    place = np.zeros(len(rows), dtype=np.intp)
    total, weight = tabulate_groups(rows.membership, place, [rows.weights * pulls, rows.weights], 1)
    return np.asarray(np.divide(total, weight, out=np.ones_like(total), where=weight > 0)[0, 1:])
