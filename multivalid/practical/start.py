"""Stage 0: one convex fit of group shifts; then a bend of their sum and its twist along the base if tests ask for them, then products."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from multivalid.levels import SIGNIFICANCE
from multivalid.practical import newton
from multivalid.practical.blocks import add_products
from multivalid.practical.data import CHUNK, LinkRows, Matching
from multivalid.practical.model import FEW_KNOTS, Model
from multivalid.practical.newton import Fitted
from multivalid.practical.products import products
from multivalid.practical.solve import solve
from multivalid.properties.base import Array

SUBSAMPLE = 20_000  # the first steps on large data use this many rows
MOST_PRODUCTS = 32
SCREEN_VARIANCE_ROWS = 30_000
BEYOND_CHANCE = 10.0  # standard deviations of χ² from which coefficients are added, since more of them are more work
PRIOR_ROWS = 25.0  # a product of two features must rest on more rows than this to stand out


@dataclass(frozen=True)
class Stage:
    """A model worth considering, and what it is called in the report."""

    name: str
    fitted: Fitted


def group_shifts(rows: LinkRows, loss: Matching, knots: int = FEW_KNOTS) -> list[Stage]:
    """The first stage alone: a curve of the base and a shift per group."""
    large = len(rows) > 2 * SUBSAMPLE
    model, ridge = Model.new(rows.base, rows.membership.groups - 1, knots), None
    if large:
        rough = newton.fit(model, rows.part(0, SUBSAMPLE), loss, tolerance=1 / 8)
        model, ridge = rough.model, rough.ridge
    return [Stage("group shifts", newton.fit(model, rows, loss, ridge, warm=large))]


def stages(rows: LinkRows, loss: Matching) -> list[Stage]:
    """Models of growing richness, each fitted on from the last."""
    large = len(rows) > 2 * SUBSAMPLE
    sample = rows.part(0, SUBSAMPLE) if large else rows
    found = group_shifts(rows, loss)
    done = found[0].fitted
    for name in ("bend", "twist"):
        richer = done.model.with_bends(summed_shifts(done.model, sample)) if name == "bend" else done.model.with_twists()
        added = slice(*(richer.flat.cuts[:2] if name == "bend" else richer.flat.cuts[3:]))
        if added.stop > added.start and statistic(richer, added, rows, loss) > BEYOND_CHANCE:
            if large:
                richer = newton.fit(richer, sample, loss, done.ridge, tolerance=1 / 8).model
            done = newton.fit(richer, rows, loss, done.ridge, warm=True)
            found.append(Stage(name, done))
    pairs = screen(done.model, rows, done.identification)
    if pairs.shape[1]:
        done = newton.fit(done.model.with_products(pairs), rows, loss, done.ridge, warm=True)
        found.append(Stage("products", done))
    return found


def summed_shifts(model: Model, rows: LinkRows) -> Array:
    """Σ shifts of the groups of each row."""
    found = [model.evaluate(rows.base[part], rows.blocks.part(part))[1] for part in rows.chunks()]
    return np.concatenate(found).astype(np.float64)


def statistic(model: Model, added: slice, rows: LinkRows, loss: Matching) -> float:
    """χ² of the added coefficients, which are still zero, the others profiled out; in standard deviations from its mean.

    How much the scores vary is told by the curvature and by the products of V with the features. Where both tell the same, so does their
    mean. Where rows are few either can be far too small, the one because a handful of rows in a window stands for the slope of V, the
    other because events are rare; the mean is not.
    """
    _, identification, gradient = newton.sweep(model, rows, loss)
    curvature, slope = newton.hessian(model, rows, loss)[0].sum(axis=0), gradient.sum(axis=0)
    new = np.zeros(slope.size, dtype=bool)
    new[added] = True
    rest = curvature[np.ix_(~new, ~new)]
    profile = np.zeros((slope.size, model.flat.values[added].size))
    profile[new] = np.eye(profile.shape[1])
    profile[~new] = -solve(rest, np.zeros(len(rest)), curvature[np.ix_(~new, new)], model.flat.few[~new])
    # Weights say how much a row counts, not how often it was seen: its V varies by the square of its weight.
    noise = np.sum(identification**2) / max(curvature[0, 0], 1e-300)
    count = min(len(rows), newton.HESSIAN_ROWS)  # a sample, scaled up where rows are many
    products_of_v = products(model, rows, slice(0, count), lambda _, part: identification[part] ** 2).table * (len(rows) / count)
    score, spread = profile.T @ slope, profile.T @ (noise * curvature + products_of_v) @ profile / 2
    spread += np.diag(1e-3 * np.diag(spread) + 1e-12 * np.trace(spread) + 1e-300)
    chi2 = float(score @ solve(spread, np.zeros(len(score)), score))
    return float((chi2 - score.size) / np.sqrt(2 * score.size))


def screen(model: Model, rows: LinkRows, identification: Array) -> NDArray[np.intp]:
    """Pairs of features whose product correlates with what is left of V beyond chance, the most significant first."""
    features = model.shifts.size + 1
    used = min(len(rows), -(-SCREEN_VARIANCE_ROWS // CHUNK) * CHUNK)  # the variance needs fewer rows
    sums = _sums_of_products(model, rows, identification, slice(0, len(rows)), power=1)
    squares = _sums_of_products(model, rows, identification**2, slice(0, used), power=2)
    i, j = np.triu_indices(features, 1)
    prior = PRIOR_ROWS * float(np.mean(identification**2)) + 1e-300
    z = np.abs(sums[i, j]) / np.sqrt(squares[i, j] * (len(rows) / used) + prior)
    best = np.argpartition(-z, MOST_PRODUCTS)[:MOST_PRODUCTS] if z.size > MOST_PRODUCTS else np.arange(z.size)
    order = best[np.argsort(-z[best], kind="stable")]
    order = order[z[order] > chance_limit(z.size)]
    return np.stack([i[order], j[order]]).astype(np.intp)


def _sums_of_products(model: Model, rows: LinkRows, values: Array, span: slice, power: int) -> Array:
    """Σ values·(feature·feature')^power: groups first, then the base."""
    groups, blocks = model.shifts.size, rows.blocks
    at = np.append(blocks.line_at, groups)
    dense, out = np.zeros((at.size, at.size)), np.zeros((groups + 1, groups + 1))
    for part in rows.chunks(span):
        here = blocks.part(part)
        base = ((rows.base[part] - model.center) / model.scale)[None] ** power
        q = np.concatenate([here.lines, base]).astype(np.float32)
        weighted = q * values[part].astype(np.float32)
        dense += weighted @ q.T
        for block in here.coded:
            out[at, block.groups] += block.sums_of_lines(weighted)
    out[np.ix_(at, at)] = dense
    out[:groups, groups] = out[groups, :groups]
    for block in blocks.coded:
        out[block.groups, at] = out[at, block.groups].T
    if blocks.coded:
        add_products(out, blocks.codes_of(span), values[span])
    return out


def chance_limit(tests: int, level: float = SIGNIFICANCE) -> float:
    """|z| that none of `tests` standard normal variables exceeds with probability 1 − level (Bonferroni).

    Examples
    --------
    >>> round(chance_limit(1), 3), round(chance_limit(1000), 3)
    (1.96, 4.056)
    """
    return -NormalDist().inv_cdf(level / 2 / max(tests, 1))
