"""Algorithm 3 the slow way: rows, boolean masks and loops over slices, straight from the text."""

import numpy as np


class Naive:
    """f⁰ and f¹ as level indices of every row; V and S are evaluated on the rows themselves."""

    def __init__(self, pair, labels, weights, masks, grids, levels):
        self.pair, self.y, self.w, self.masks = pair, labels, weights / weights.sum(), masks
        self.grids = grids
        self.level = [levels[0].copy(), levels[1].copy()]
        self.updates = [0, 0]
        self.blocked = [set(), set()]

    def identify(self, side, rows, level):
        point, y = self.grids[side].points[level], self.y[rows]
        if side == 0:
            return self.pair.first.identify(point, y)
        return self.pair.identify_second(self.grids[0].points[self.level[0][rows]], point, y)

    def score(self, side, rows, level):
        point, y = self.grids[side].points[level], self.y[rows]
        if side == 0:
            return self.pair.first.score(point, y)
        return self.pair.score_second(self.grids[0].points[self.level[0][rows]], point, y)

    def cells(self):
        for j0 in np.unique(self.level[0]):
            for j1 in np.unique(self.level[1][self.level[0] == j0]):
                here = (self.level[0] == j0) & (self.level[1] == j1) & (self.w > 0)
                for g, mask in enumerate(self.masks):
                    rows = np.flatnonzero(here & mask)
                    if rows.size:
                        yield int(j0), int(j1), g, rows

    def violated(self, side, threshold, reach):
        """The cell of largest p·v² among those that count, and its rows; None when there is none."""
        best = None
        for j0, j1, g, rows in self.cells():
            p = self.w[rows].sum()
            v = self.w[rows] @ self.identify(side, rows, (j0, j1)[side]) / p
            if p * v**2 >= threshold and abs(v) > reach and (j0, j1, g) not in self.blocked[side]:
                size = p * v**2
                if best is None or size > best[0] * (1 + 1e-12):
                    best = size, (j0, j1, g), rows
        return best

    def stage(self, side, threshold, lipschitz):
        reach = 2 * lipschitz * self.grids[side].gap
        if side == 1:
            self.blocked[1].clear()
        while (found := self.violated(side, threshold, reach)) is not None:
            _, (j0, j1, g), rows = found
            scores = np.array([self.w[rows] @ self.score(side, rows, k) for k in range(len(self.grids[side]))])
            here = (j0, j1)[side]
            ties = np.flatnonzero(scores <= scores.min() + 1e-12 * np.ptp(scores))
            to = int(ties[np.argmin(np.abs(ties - here))])
            if to == here or scores[here] - scores[to] < threshold / (4 * lipschitz) * (1 - 1e-9):
                self.blocked[side].add((j0, j1, g))
                continue
            self.level[side][rows] = to
            self.updates[side] += 1
            touched = {(j0, j1), (to, j1) if side == 0 else (j0, to)}
            for k in (0, 1):
                self.blocked[k] = {cell for cell in self.blocked[k] if cell[:2] not in touched}

    def run(self, thresholds, lipschitz):
        """Do { stage 0; stage 1 } while V⁰ is violated."""
        while True:
            for side in (0, 1):
                self.stage(side, thresholds[side], lipschitz[side])
            if self.violated(0, thresholds[0], 2 * lipschitz[0] * self.grids[0].gap) is None:
                return self


def errors(pair, labels, weights, masks, predictions):
    """Both conditions of the definition, V-form and Γ-form: ((V⁰, V¹), (Γ⁰, Γ¹)), the largest over groups and slices."""
    w = weights / weights.sum()
    worst = np.zeros((2, 2))
    for mask in masks:
        for side in (0, 1):
            other = predictions[:, 1 - side]
            for slice_value in np.unique(other):
                sums = np.zeros(2)
                for value in np.unique(predictions[other == slice_value, side]):
                    rows = np.flatnonzero(mask & (other == slice_value) & (predictions[:, side] == value) & (w > 0))
                    if rows.size == 0:
                        continue
                    p, y, share = w[rows].sum(), labels[rows], w[rows] / w[rows].sum()
                    truth = pair.solve(y, share)
                    v = share @ (pair.first.identify(value, y) if side == 0 else pair.identify_second(truth[0], value, y))
                    sums += p * np.array([v**2, (value - truth[side]) ** 2])
                worst[:, side] = np.maximum(worst[:, side], sums)
    return worst
