"""The minimum of a smooth convex function by L-BFGS, for coordinates in which its curvature is about the identity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multivalid.properties.base import Array

REMEMBERED = 20  # steps whose differences describe the curvature
ENOUGH = 1e-4  # of what the slope promises, a step must gain so much
HALVINGS = 20


def minimum(function: Callable[[Array], tuple[float, Array]], start: Array, *, steps: int, tolerance: float) -> Array:
    """Where `function`, which gives value and gradient, is least; the end is a step that gains less than `tolerance` of the value."""
    at, (value, gradient) = start, function(start)
    moves: list[tuple[Array, Array, float]] = []
    for _ in range(steps):
        direction = -_bent(gradient, moves)
        promised = float(gradient @ direction)
        if not promised < 0:
            break
        length = 1.0
        for _ in range(HALVINGS):
            there = at + length * direction
            lower, slope = function(there)
            if lower <= value + ENOUGH * length * promised:
                break
            # The parabola through both values and the slope at the start, no shorter than a tenth.
            length *= min(max(-promised * length / (2 * (lower - value - promised * length)), 0.1), 0.5)
        else:
            break
        change, turned = there - at, slope - gradient
        if (along := float(change @ turned)) > 0:
            moves = [*moves[1 - REMEMBERED :], (change, turned, along)]
        gained, at, value, gradient = value - lower, there, lower, slope
        if gained <= tolerance * max(abs(value), 1.0):
            break
    return at


def _bent(gradient: Array, moves: list[tuple[Array, Array, float]]) -> Array:
    """The gradient divided by the curvature that the last moves have shown (the two loops of Nocedal)."""
    out, amounts = np.array(gradient), []
    for change, turned, along in reversed(moves):
        amounts.append(float(change @ out) / along)
        out -= amounts[-1] * turned
    if moves:
        change, turned, along = moves[-1]
        out *= along / float(turned @ turned)
    for (change, turned, along), amount in zip(moves, reversed(amounts), strict=True):
        out += (amount - float(turned @ out) / along) * change
    return out
