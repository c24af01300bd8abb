"""Sums by (level, group), straight from rows: for tests of what follows from them."""

from __future__ import annotations

import numpy as np

from multivalid.cells.terms import Coverage, Residual, Row, TwoValued


def levels(f, w, most=20):
    """Every value its own level where they are few, else levels of about equal weight."""
    values = np.unique(f)
    if values.size <= 64:
        return np.searchsorted(values, f), values.size
    order = np.argsort(f, kind="stable")
    running = np.cumsum(w[order])
    edges = np.unique(f[order][np.searchsorted(running, running[-1] * np.arange(1, most) / most)])
    return np.searchsorted(edges, f, side="right"), edges.size + 1


def law_and_row(y, f, weights, tau=None):
    """Which law V follows, and the columns it is summed from."""
    w = np.ones(y.size) if weights is None else weights / weights.mean()
    if tau is not None:
        v = np.where(y <= f, 1 - tau, -tau)
        return Coverage(chance=tau), Row(w, v, f, np.full(y.size, -tau), np.full(y.size, 1 - tau), y == f, plain=weights is None)
    if np.isin(y, (0, 1)).all():
        return TwoValued(outside=bool((f < 0).any() or (f > 1).any())), Row(w, f - y, f, f - 1, f, plain=weights is None)
    return Residual(), Row(w, f - y, f)


def tabulate(y, f, groups=(), weights=None, tau=None):
    """The law, and its sums; everyone is group 0."""
    law, row = law_and_row(y, f, weights, tau)
    at, count = levels(f, row.weight)
    masks = [np.ones(y.size, dtype=bool), *groups]
    sums = {
        name: np.stack([np.bincount(at[inside], weights=column[inside], minlength=count) for inside in masks], axis=1)
        for name, column in law.all_terms(row).items()
    }
    return law, law.complete(sums)
