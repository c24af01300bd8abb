"""Splits and slices the slow way: every candidate is tried on plain row masks."""

from __future__ import annotations

import itertools

import numpy as np

from multivalid.discover.split import CATEGORY_PRIOR_ROWS, LEAST_ROWS, PRIOR_ROWS


def gain_of(left, gradient, slope, unit):
    """What a split takes off the loss, both sides shrunk; −inf where a side has too few rows."""
    if min(left.sum(), (~left).sum()) < LEAST_ROWS:
        return -np.inf
    sides = [(gradient[m].sum() ** 2) / (slope[m].sum() + PRIOR_ROWS * unit) for m in (left, ~left)]
    return sum(sides)


def every_split(bins, codes, gradient, slope):
    """(gain, column, mask) of every split that the grower may make: thresholds with missing values on either side, categories in order."""
    unit = slope.mean()
    for c, one in enumerate(bins):
        column = codes[:, c]
        if one.ordered:
            missing = column == one.size - 1
            for cut, with_missing in itertools.product(range(one.size - 1), (False, True)):
                left = (column <= cut) & ~missing | (missing & with_missing)
                yield gain_of(left, gradient, slope, unit), c, left
        else:
            steps = []
            for k in range(one.size):
                inside = column == k
                steps.append(gradient[inside].sum() / (slope[inside].sum() + CATEGORY_PRIOR_ROWS * unit))
            order = np.argsort(np.array(steps), kind="stable")
            for cut in range(one.size):
                left = np.isin(column, order[: cut + 1])
                yield gain_of(left, gradient, slope, unit), c, left


def best_pair(search):
    """The best rank of any two conditions on different columns, mask by mask."""
    best = -np.inf
    rows = search.residual
    mean_square = float(np.mean(rows**2))
    columns = range(len(search.bins))
    for f, g in itertools.combinations(columns, 2):
        for i, j in itertools.product(range(len(search.conditions[f])), range(len(search.conditions[g]))):
            mask = search.mask([(f, i), (g, j)])
            inside = rows[mask]
            if inside.size >= search.least:
                best = max(best, inside.sum() ** 2 / max((inside**2).sum(), inside.size * mean_square))
    return best
