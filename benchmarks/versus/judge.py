"""Audit the predictions of a method on the rows held out; prints one row of the table."""

from __future__ import annotations

import sys

import fans
import numpy as np

import multivalid as mv


def judge(source: str, level: str, answer: str) -> str:
    """Largest debiased error of any group, groups off beyond chance, mean score, CPU seconds."""
    d, made = np.load(source), np.load(answer)
    groups, said = list(d["check_groups"].T), made["prediction"]
    if level == "several":
        found = mv.audit(d["check_y"], said, groups=groups, property=mv.Quantiles(fans.TAUS))
        largest = max(float(part.table["debiased"].max()) for part in found.parts)
        off = int(np.any([np.isin(part.table["name"], part.off) for part in found.parts], axis=0).sum())
        crossed = int((np.diff(said, axis=1) < 0).any(axis=1).sum())
        pinball = float(mv.Quantiles(fans.TAUS).losses(said, d["check_y"]).mean())
        return f"{largest:.2e} | {off} of {len(groups) + 1}, {crossed:,} rows cross | {pinball:.5g} | {float(made['seconds']):.1f}"
    prop = mv.Mean() if level == "none" else mv.Quantile(float(level))
    found = mv.audit(d["check_y"], said, groups=groups, property=prop)
    return f"{found.table['debiased'].max():.2e} | {len(found.off)} of {len(groups) + 1} | {found.score:.5g} | {float(made['seconds']):.1f}"


if __name__ == "__main__":
    print(judge(*sys.argv[1:]))
