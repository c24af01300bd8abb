"""Audit the predictions of a method on the rows held out; prints one row of the table."""

from __future__ import annotations

import sys

import numpy as np

import multivalid as mv


def judge(source: str, level: str, answer: str) -> str:
    """Largest debiased error of any group, groups off beyond chance, mean score, CPU seconds."""
    d, made = np.load(source), np.load(answer)
    prop = mv.Mean() if level == "none" else mv.Quantile(float(level))
    found = mv.audit(d["check_y"], made["prediction"], groups=list(d["check_groups"].T), property=prop)
    off = int((found.table["p_adjusted"] <= 0.05).sum())
    return f"{found.table['debiased'].max():.2e} | {off} of {len(found.table['name'])} | {found.score:.5g} | {float(made['seconds']):.1f}"


if __name__ == "__main__":
    print(judge(*sys.argv[1:]))
