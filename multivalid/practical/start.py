"""Stage 0: one convex fit of group shifts; then a bend of their sum and its twist along the base if tests ask for them, then products."""

from __future__ import annotations

from collections.abc import Callable
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
    for name, richer in (("bend", with_bends), ("twist", with_twists)):
        more, added = richer(done.model, sample)
        if added.stop > added.start and statistic(more, added, rows, loss) > beyond_chance(added.stop - added.start):
            if large:
                more = newton.fit(more, sample, loss, done.ridge, tolerance=1 / 8).model
            done = newton.fit(more, rows, loss, done.ridge, warm=True)
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


Richer = Callable[[Model, LinkRows], tuple[Model, slice]]


def with_bends(model: Model, rows: LinkRows) -> tuple[Model, slice]:
    """Room to bend the summed shifts, and where its coefficients stand."""
    bent = model.with_bends(summed_shifts(model, rows))
    return bent, slice(*bent.cuts[:2])


def with_twists(model: Model, rows: LinkRows) -> tuple[Model, slice]:
    """Room for the summed shifts to matter more or less along the base, and where its coefficients stand."""
    twisted = model.with_twists()
    return twisted, slice(*twisted.cuts[3:])


def beyond_chance(count: int) -> float:
    """χ² with `count` degrees of freedom that is far beyond chance: ten standard deviations, since more coefficients are more work."""
    return count + 10 * float(np.sqrt(2 * count))


def statistic(model: Model, added: slice, rows: LinkRows, loss: Matching) -> float:
    """χ² of the added coefficients, which are still zero, the others profiled out.

    How much the scores vary is told by the curvature and by the products of V with the features. Where both tell the same, so does their
    mean. Where rows are few either can be far too small, the one because a handful of rows in a window stands for the slope of V, the
    other because events are rare; the mean is not.
    """
    _, identification, gradient = newton.sweep(model, rows, loss)
    curvature, slope = newton.hessian(model, rows, loss)[0].sum(axis=0), gradient.sum(axis=0)
    new = np.zeros(slope.size, dtype=bool)
    new[added] = True
    rest = curvature[np.ix_(~new, ~new)]
    profile = np.zeros((slope.size, model.vector[added].size))
    profile[new] = np.eye(profile.shape[1])
    profile[~new] = -solve(rest, np.zeros(len(rest)), curvature[np.ix_(~new, new)], model.few[~new])
    # Weights say how much a row counts, not how often it was seen: its V varies by the square of its weight.
    noise = np.sum(identification**2) / max(curvature[0, 0], 1e-300)
    score, spread = profile.T @ slope, profile.T @ (noise * curvature + scatter(model, rows, identification)) @ profile / 2
    spread += np.diag(1e-3 * np.diag(spread) + 1e-12 * np.trace(spread) + 1e-300)
    return float(score @ solve(spread, np.zeros(len(score)), score))


def scatter(model: Model, rows: LinkRows, identification: Array) -> Array:
    """Σ (feature·V)(feature·V)', from a sample scaled up where rows are many."""
    count = min(len(rows), newton.HESSIAN_ROWS)
    return products(model, rows, slice(0, count), lambda _, part: identification[part] ** 2).table * (len(rows) / count)


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
