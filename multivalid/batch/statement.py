"""What a finished run of Algorithm 1 guarantees, on the rows fitted and on rows held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import numpy as np

from multivalid.audit.audit import Audit, audit_source
from multivalid.audit.text import verdict_on
from multivalid.batch import bounds
from multivalid.batch.algorithm import Trace
from multivalid.batch.certificate import Certificate
from multivalid.batch.measured import CellTable
from multivalid.batch.plan import Plan, levels_below
from multivalid.batch.rules import worst_error
from multivalid.levels import SIGNIFICANCE
from multivalid.properties import Target
from multivalid.sources.open import Opened

C = TypeVar("C", bound=Certificate[Any, Any, Any])


def certify(
    plan: Plan,
    trace: Trace,
    state: CellTable,
    *,
    optimal: float,
    bound: float,
    rows: float,
    trivial: float | None = None,
    before: float | None = None,
) -> Certificate:
    """What a finished run guarantees.

    `optimal` is the least mean score, `bound` limits |V|, `rows` is the effective number, `trivial` the error of the best constant
    prediction, `before` that of the input.
    """
    error = worst_error(state.mass, state.identification)
    drops = trace.drops
    most = bounds.update_bound(trace.potential[0], optimal, 0.25, plan.drop_bound) if plan.drop_bound > 0 else None
    # Cells that no level improves do no harm when every group's error is within what was asked for all the same.
    reached = trace.status == "converged" or (trace.status == "blocked" and error <= plan.alpha)
    empty = trivial is not None and plan.alpha > trivial
    return Certificate(
        status=("vacuous" if empty else "converged") if reached else trace.status,
        mode=plan.mode,
        alpha=plan.alpha,
        error=error,
        updates=len(trace.patches),
        update_bound=most,
        initial=trace.potential[0],
        optimal=optimal,
        potential=np.asarray(trace.potential),
        least_drop=float(drops.min()) if drops.size else float("nan"),
        drop_bound=plan.drop_bound,
        lipschitz=plan.lipschitz,
        steepest=trace.steepest,
        blocked=trace.blocked,
        sample_bound=bounds.generalisation(
            error, rows=rows, bound=bound, levels=len(plan.grid), groups=state.mass.shape[1], updates=len(trace.patches),
            delta=SIGNIFICANCE,
        ),
        note="\n".join(filter(None, [_needed(plan, trivial) if empty and reached else "", _note(plan, trace), trace.note])),
        trivial=trivial,
        error_before=before,
    )  # fmt: skip


def _needed(plan: Plan, trivial: float | None) -> str:
    """How many levels an error below that of a constant takes."""
    if not trivial:
        return "No number of levels promises less than a constant prediction has here: its error is 0."
    levels = levels_below(trivial, plan.lipschitz, plan.grid.hi - plan.grid.lo)
    return f"To promise less than a constant prediction has, m = {levels:,} levels are needed."


def _note(plan: Plan, trace: Trace) -> str:
    if plan.mode == "paper" and trace.status == "blocked":
        return "The printed loop would repeat for ever here: the level of least |V| does not lower the score of the worst cell."
    if trace.steepest > plan.lipschitz * (1 + 1e-9):
        return (
            f"In some cell V rises with slope {trace.steepest:.3g}, steeper than the L = {plan.lipschitz:.3g} assumed; "
            f"errors stated are as measured, the a-priori bounds assume L."
        )
    return ""


def add_holdout(certificate: C, held: Opened, target: Target, grids: Any = None) -> C:
    """The certificate with errors, debiased errors and population bounds on held-out rows that carry their final predictions."""
    return add_holdout_audit(certificate, audit_source(held, target, grids, beyond=grids is not None, values=False))


def add_holdout_audit(certificate: C, found: Audit) -> C:
    """The same from an audit of the held-out rows, a number for each coordinate; the bound is the asymptotic one of
    `Audit.holdout_bound`."""
    unbiased = [float(one.table["debiased"].max()) for one in found.coordinates]
    error, debiased, bound = (
        values[0] if len(values) == 1 else tuple(values) for values in (found.errors, unbiased, found.holdout_bound)
    )
    measured = replace(certificate, holdout_error=error, holdout_debiased=debiased, holdout_bound=bound)
    return add_verdict(measured, found, "held-out rows")


def add_verdict(certificate: C, found: Audit, rows: str) -> C:
    """The certificate with the verdict on these rows; where groups are off beyond chance it does not say `converged`."""
    status = "uncalibrated" if certificate.status == "converged" and found.off else certificate.status
    note = "\n".join(filter(None, [certificate.note, verdict_on(found, rows)]))
    return replace(certificate, status=status, note=note)


def test_when_read(certificate: C, audit_fitted: Callable[[], Audit]) -> Callable[[], C]:
    """A call that gives the certificate, which is tested on the rows fitted where it says `converged`; once, when it is first made."""

    @cache
    def stated() -> C:
        if certificate.status != "converged":
            return certificate
        tested = add_verdict(certificate, audit_fitted(), "the rows fitted")
        if tested.status == "converged":
            return tested
        return replace(
            tested, note=f"{tested.note}\nThe error asked for allows that; a smaller alpha, with more levels, allows less."
        )

    return stated
