"""The start as a formula: η = base + curve(base) + h(u) + t(u, base) + Σ products of two features, u the summed shifts of the groups.

The same for arrays and for the expressions of an engine. In memory `Model.evaluate` is its faster twin: it works on single-precision
features in chunks, because the fit needs the features themselves, and one matrix product then does the sum.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product
from typing import Any

from multivalid.groups.engine import balanced
from multivalid.practical.model import FARTHEST, Model
from multivalid.properties.ops import Ops


def summed_shifts(ops: Ops, model: Model, base: Any, flags: Sequence[Any]) -> Any:
    """u, the shifts of the groups that a row belongs to; `flags` has one condition per group, the population left out."""
    shifts = [ops.where(flag, float(shift), 0.0) for flag, shift in zip(flags, model.shifts, strict=True)]
    return balanced(shifts, operator.add) if shifts else base * 0.0


def eta(ops: Ops, model: Model, base: Any, index: Any, flags: Sequence[Any]) -> Any:
    """η of every row, from its base prediction on the link scale and its summed shifts `index`."""
    standard = ops.minimum(ops.maximum((base - model.center) / model.scale, -FARTHEST), FARTHEST)
    along = [standard, *(ops.maximum(standard - float(knot), 0.0) for knot in model.knots)]
    pulls = [index, *(ops.maximum(index - float(knot), 0.0) for knot in model.bend_knots)]
    terms = [base + float(model.curve[0]), *(part * float(c) for part, c in zip(along, model.curve[1:], strict=True))]
    terms += [part * float(c) for part, c in zip(pulls, [1.0, *model.bends], strict=True)]
    if model.twists.size:
        terms += [u * b * float(c) for (u, b), c in zip(product(pulls, along), model.twists, strict=True)]
    for (i, j), amount in zip(model.pairs.T, model.products, strict=True):
        both = flags[i] & flags[j] if j < model.shifts.size else flags[i]
        worth = float(amount) if j < model.shifts.size else standard * float(amount)
        terms.append(ops.where(both, worth, 0.0))
    return balanced(terms, operator.add)
