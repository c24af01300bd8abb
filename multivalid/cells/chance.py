"""What chance allows one to say of every group: p-values, gaps with intervals, typical errors with limits.

Everything follows from the sums of `terms` by (level, group). Group 0 is everyone. nan means that these rows cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multivalid.cells.adjust import holm
from multivalid.cells.evidence import Evidence, evidence
from multivalid.levels import SIGNIFICANCE
from multivalid.properties.base import Array

__all__ = ["Evidence", "Findings", "evidence", "findings"]


@dataclass(frozen=True)
class Findings:
    """One number per group, in the label's units where they have units; nan where the rows cannot tell.

    Attributes
    ----------
    p_value, p_adjusted : is it chance? (Holm over all groups and coordinates)
    gap, gap_low, gap_high : mean V with an interval; all intervals hold together with probability 95 %
    rms, rms_low, rms_high : √(E/μ) without what noise adds, and limits that hold together likewise
    detectable : the gap that would have been found in four cases of five; nan where none would
    debiased : E without what noise adds on average
    limit : upper 95 % limit of E for each group by itself; the largest is a limit for the largest E
    """

    p_value: Array
    p_adjusted: Array
    gap: Array
    gap_low: Array
    gap_high: Array
    rms: Array
    rms_low: Array
    rms_high: Array
    detectable: Array
    debiased: Array
    limit: Array


def findings(coordinates: Sequence[Evidence]) -> list[Findings]:
    """Everything for every coordinate of a target; tests and intervals share one 5 % over all groups and coordinates."""
    tests = sum(int((one.weight > 0).sum()) for one in coordinates)
    p_values, counted = [], []
    for one in coordinates:
        few, counts = one.untestable(tests)
        p_values.append(np.where(few, np.nan, one.p_values()))
        counted.append(counts)
    adjusted = np.split(holm(np.concatenate(p_values), np.concatenate(counted)), np.cumsum([p.size for p in p_values])[:-1])
    level = SIGNIFICANCE / max(tests, 1)
    made = []
    for one, p, p_adjusted in zip(coordinates, p_values, adjusted, strict=True):
        made.append(_findings(one, p, p_adjusted, level))
    return made


def _findings(one: Evidence, p_value: Array, p_adjusted: Array, level: float) -> Findings:
    low, high = one.interval(level / 2)
    e = one.errors
    return Findings(
        p_value=p_value,
        p_adjusted=p_adjusted,
        gap=one.gap,
        gap_low=low,
        gap_high=high,
        rms=one.rms(e.debiased),
        # Above 0 only where the tests say so: a limit from a handful of rows is less sure than they are.
        rms_low=np.where(p_adjusted <= SIGNIFICANCE, one.rms(e.lower(level)), np.where(one.weight > 0, 0.0, np.nan)),
        rms_high=one.rms(e.upper(level)),
        detectable=one.detectable(level / 2),
        debiased=e.debiased * one.scale**2,
        limit=e.upper(SIGNIFICANCE) * one.scale**2,
    )
