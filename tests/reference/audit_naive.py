"""The audit as plain loops over groups, levels and rows: slow, obvious, and written from the definitions alone."""

from __future__ import annotations

from typing import Any

import numpy as np


def level_of(prediction: float, points: list[float]) -> int:
    """The nearest point, the lower one when two are as near: the first point whose midpoint with the next is not below."""
    for j in range(len(points) - 1):
        if prediction < points[j + 1] and prediction <= points[j] + (points[j + 1] - points[j]) / 2:
            return j
    return len(points) - 1


def sum_of(values: Any) -> float:
    return float(np.sum(np.array(list(values), dtype=float)))


def unbiased_variance(v: list[float], w: list[float]) -> float:
    """Of the weighted mean: its square minus the mean product over all pairs of different rows."""
    if len(v) < 2:
        return 0.0
    total = sum_of(w)
    mean = sum_of(a * b for a, b in zip(w, v, strict=True)) / total
    v0 = [x - mean for x in v]  # v² − Σ_{i≠j} w_i w_j V_i V_j / Σ_{i≠j} w_i w_j, written about the mean to keep digits
    squares, ww = sum_of((a * b) ** 2 for a, b in zip(w, v0, strict=True)), sum_of(a * a for a in w)
    cross = 2 * mean * sum_of(a * a * b for a, b in zip(w, v0, strict=True))
    return (squares + cross) / (total**2 - ww)


def holm(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, running = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, p[i] * (len(p) - rank)))
        adjusted[i] = running
    return adjusted


def audit(y: Any, prediction: Any, masks: list[Any], prop: Any, points: list[float], weights: Any = None) -> tuple[list, list]:
    """Per group a dict with every column of the table; per non-empty cell a dict with every column of the cells.

    `masks[0]` is the whole population. Rows without weight count nowhere.
    """
    y, prediction = np.asarray(y, float), np.asarray(prediction, float)
    w = np.ones(y.size) if weights is None else np.asarray(weights, float)
    v = np.array([float(prop.identify(a, b)) for a, b in zip(prediction, y, strict=True)])
    level = [level_of(a, points) for a in prediction]
    total = sum_of(w)
    mean_square = sum_of(w**2 * v**2) / sum_of(w**2)
    kurt = sum_of(w**2 * v**4) / sum_of(w**2) / mean_square**2 if mean_square > 0 else 3.0
    prior = 3.0 * max(kurt - 1.0, 1.0)

    def cell(g: int, j: int) -> dict[str, Any] | None:
        rows = [i for i in range(y.size) if masks[g][i] and level[i] == j and w[i] > 0]
        if not rows:
            return None
        wi, vi = [w[i] for i in rows], [v[i] for i in rows]
        weight = sum_of(wi)
        mean = sum_of(a * b for a, b in zip(wi, vi, strict=True)) / weight
        variance = unbiased_variance(vi, wi)
        effective = weight**2 / sum_of(a * a for a in wi)
        return {
            "rows": len(rows), "weight": weight, "mean": mean, "variance": variance, "effective": effective,
            "per_row": max(variance, 0.0) * effective,
            "prediction": sum_of(w[i] * prediction[i] for i in rows) / weight,
            "value": prop.solve(y[rows], w[rows]),
        }  # fmt: skip

    everyone = {j: cell(0, j) for j in range(len(points))}
    table, cells = [], []
    for g in range(len(masks)):
        found = []
        for j in range(len(points)):
            c = cell(g, j)
            if c is None:
                continue
            pop = everyone[j]
            pooled = (pop["effective"] * pop["per_row"] + prior * mean_square) / (pop["effective"] + prior)
            c["steady"] = (c["effective"] * c["per_row"] + prior * pooled) / (c["effective"] + prior) / c["effective"]
            c["mass"], c["level"], c["group"] = c["weight"] / total, points[j], g
            c["error"] = c["mass"] * c["mean"] ** 2
            found.append(c)
        cells += found
        table.append(group_row(found, y, w, prediction, masks[g], prop))
    return table, cells


def group_row(found: list, y: Any, w: Any, prediction: Any, mask: Any, prop: Any) -> dict[str, float]:
    inside = [i for i in range(y.size) if mask[i] and w[i] > 0]
    weight = sum_of(w[i] for i in inside)
    error = sum_of(c["error"] for c in found)
    return {
        "rows": len(inside),
        "weight": weight,
        "error": error,
        "gamma_error": sum_of(c["mass"] * (c["prediction"] - c["value"]) ** 2 for c in found),
        "l1": sum_of(c["mass"] * abs(c["mean"]) for c in found),
        "linf": max((c["mass"] * abs(c["mean"]) for c in found), default=0.0),
        "worst_level": max(found, key=lambda c: c["error"])["level"] if found else np.nan,
        "debiased": sum_of(c["mass"] * (c["mean"] ** 2 - c["variance"]) for c in found if c["rows"] >= 2),
        "prediction": sum_of(w[i] * prediction[i] for i in inside) / weight if inside else np.nan,
        "value": prop.solve(y[inside], w[inside]) if inside else np.nan,
    }
