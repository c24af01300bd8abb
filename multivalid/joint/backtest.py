"""Backtest of (value at risk, expected shortfall) forecasts, for every group named."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms import frames, select
from multivalid.atoms.frames import from_columns
from multivalid.atoms.select import Rows
from multivalid.cells.inference import holm
from multivalid.errors import InputError
from multivalid.properties import QuantileCVaR
from multivalid.properties.base import Array

LEVEL = 0.05
CORRECTIONS = ("hommel", "holm")


class Backtest:
    """What `backtest` found.

    Attributes
    ----------
    tau : float
        Confidence level.
    table : dict of arrays
        One row per group: name, rows (those with weight), exceedances and how many were expected (counts, or sums of weights where
        weights were given); var_mean and es_mean (V⁰ and V¹, negative where risk was understated) with their standard errors
        var_se, es_se; wald and p_value of the two-sided test, one_sided of the test for understated risk; p_adjusted and
        one_sided_adjusted by Holm over the groups.

    Examples
    --------
    >>> import numpy as np
    >>> found = backtest(np.arange(100.0), np.full(100, 94.0), np.full(100, 97.0), tau=0.95, groups=[])
    >>> found.table["exceedances"], found.table["expected"]
    (array([5]), array([5.]))
    """

    def __init__(self, tau: float, losses: bool, table: dict[str, NDArray[Any]], frame: Any) -> None:
        self.tau, self.losses, self.table, self._frame = tau, losses, table, frame

    @property
    def verdict(self) -> str:
        """How many groups fail, in one line."""
        groups = len(self.table["name"])
        off = int((self.table["p_adjusted"] <= LEVEL).sum())
        under = int((self.table["one_sided_adjusted"] <= LEVEL).sum())
        return f"{off} of {groups} groups miscalibrated at 5 % (two-sided), {under} with risk understated (one-sided); Holm over groups."

    def summary(self, k: int = 10) -> str:
        """The verdict and the k worst groups, as text that fits a terminal."""
        t = self.table
        order = np.lexsort((-t["wald"], t["p_value"]))[:k]
        width = min(max([len("group"), *(len(str(t["name"][i])) for i in order)]), 34)
        sign = "losses" if self.losses else "returns"
        lines = [
            f"Backtest of VaR and ES at {self.tau:g} ({sign}). {self.verdict}",
            "",
            f"{'group':<{width}} {'rows':>8} {'exceed.':>8} {'expected':>9} {'V⁰ (s.e.)':>18} {'V¹ (s.e.)':>20} {'p':>8} {'p under':>8}",
        ]
        for i in order:
            first = f"{t['var_mean'][i]:+.4f} ({t['var_se'][i]:.4f})"
            second = f"{t['es_mean'][i]:+.4g} ({t['es_se'][i]:.3g})"
            exceeded = f"{t['exceedances'][i]:,}" if t["exceedances"].dtype == np.int64 else f"{t['exceedances'][i]:,.1f}"
            lines.append(
                f"{str(t['name'][i])[:width]:<{width}} {t['rows'][i]:>8,} {exceeded:>8} {t['expected'][i]:>9.1f} {first:>18} "
                f"{second:>20} {t['p_adjusted'][i]:>8.2g} {t['one_sided_adjusted'][i]:>8.2g}"
            )
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The table as a data frame of the kind that `data` was."""
        return from_columns(self.table, self._frame)

    def __repr__(self) -> str:
        return f"<Backtest at {self.tau:g}: {self.verdict}>"


def backtest(
    y_true: Any,
    var: Any,
    es: Any,
    *,
    tau: float,
    groups: Any,
    data: Any = None,
    sample_weight: Any = None,
    losses: bool = True,
    lags: int = 0,
    correction: str = "hommel",
) -> Backtest:
    """Are value at risk and expected shortfall right together, for every group?

    Parameters
    ----------
    y_true, var, es : array-like, or names of columns of `data`
        Outcomes, and forecasts of VaR and ES made for them.
    tau : float
        Confidence level, such as 0.975.
    groups : list of items, Groups, or boolean array
        Desks, regions, periods; see `Groups`. The whole book is always a group.
    data : data frame, optional
        Where columns named in the other arguments live.
    sample_weight : array-like or column name, optional
        Non-negative weights, for rows that stand for more or less than one of the book. They say how much a row counts, not how often
        it was seen: twice the weight on every row leaves the tests as they are, every row twice does not.
    losses : bool
        True: outcomes are losses, large is bad, and VaR and ES are high quantiles (es ≥ var). False: outcomes are returns, low is
        bad, and VaR and ES are low returns, usually negative numbers (es ≤ var). `tau` is the confidence level either way.
    lags : int
        Lags of a Newey–West covariance, for forecasts whose errors overlap in time; rows must then be in order of time.
    correction : {"hommel", "holm"}
        How the two one-sided tests of a group are made into one.

    Notes
    -----
    With losses L: V⁰ = 1[L ≤ VaR] − τ and V¹ = ES − VaR − (L − VaR)₊/(1 − τ); forecasts that are right have mean zero in both. The
    two-sided test is Wald's, n·v'Ω⁻¹v with Ω the mean of VV' (its two degrees of freedom fall to one where Ω is singular); with weights,
    v is the weighted mean, and Ω/n becomes Σw²VV'/(Σw)². The one-sided test asks whether either mean is negative, that is, whether
    risk was understated; prudent forecasts pass.

    References
    ----------
    Nolde & Ziegel (2017), Elicitability and backtesting: perspectives for banking regulation, Annals of Applied Statistics 11.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> loss, quiet = rng.standard_normal(4000), np.arange(4000) < 2000
    >>> loss[~quiet] *= 1.5
    >>> found = backtest(loss, np.full(4000, 1.96), np.full(4000, 2.338), tau=0.975, groups=[quiet])
    >>> found.table["exceedances"].tolist(), found.table["expected"].round(6).tolist()
    ([243, 44], [100.0, 50.0])
    """
    tau = validate.fraction(tau, "tau")
    lags = validate.count(lags, "lags", 0)
    if correction not in CORRECTIONS:
        raise InputError(f"correction must be one of {', '.join(CORRECTIONS)}, got {correction!r}.")
    frame = None if data is None else frames.eager(data)
    sign = 1.0 if losses else -1.0
    outcome, value, shortfall = (
        sign * validate.vector(select.resolve(column, frame, name), name)
        for column, name in ((y_true, "y_true"), (var, "var"), (es, "es"))
    )
    for column, name in ((value, "var"), (shortfall, "es")):
        validate.same_length(column, outcome.size, name, "y_true")
    _ordered(value, shortfall, losses)
    rows = select.rows(outcome, value, groups=groups, data=data, sample_weight=sample_weight)
    v = np.stack([QuantileCVaR(tau).first.identify(value, outcome), QuantileCVaR(tau).identify_second(value, shortfall, outcome)])
    table = _table(rows, v, outcome > value, tau, lags, correction)
    if sample_weight is None:
        table["exceedances"] = table["exceedances"].astype(np.int64)
    return Backtest(tau, losses, table, rows.frame)


def _ordered(value: Array, shortfall: Array, losses: bool) -> None:
    crossed = np.flatnonzero(shortfall < value)
    if crossed.size:
        other = "losses=False if these are returns" if losses else "losses=True if these are losses"
        rule = "es ≥ var for losses" if losses else "es ≤ var for returns"
        raise InputError(
            f"expected shortfall lies beyond value at risk: {rule}, but {crossed.size} rows break this, the first at row {crossed[0]}; "
            f"set {other}, or repair the forecasts."
        )


def _table(rows: Rows, v: Array, exceeded: NDArray[np.bool_], tau: float, lags: int, correction: str) -> dict[str, NDArray[Any]]:
    found = []
    for g in range(rows.membership.groups):
        inside = rows.membership.mask(g)
        w = rows.weights[inside]
        counts = int((w > 0).sum()), float(w @ exceeded[inside]), (1 - tau) * float(w.sum())
        found.append((*counts, *_tests(v[:, inside], w, lags, correction)))
    names = ("rows", "exceedances", "expected", "var_mean", "var_se", "es_mean", "es_se", "wald", "p_value", "one_sided")
    table: dict[str, NDArray[Any]] = {"name": np.array(rows.groups.names)}
    table |= {name: np.array(column) for name, column in zip(names, zip(*found, strict=True), strict=True)}
    table["p_adjusted"] = holm(table["p_value"])
    table["one_sided_adjusted"] = holm(table["one_sided"])
    return table


def _tests(v: Array, weights: Array, lags: int, correction: str) -> tuple[float, ...]:
    """Means with standard errors, Wald's statistic with its p-value, and the one-sided p-value."""
    from scipy.special import gammaincc, ndtr  # imported late: only a test needs it

    n = v.shape[1]
    if not weights.any():
        return (*(float("nan"),) * 4, 0.0, 1.0, 1.0)
    share = weights * (
        n / weights.sum()
    )  # mean 1: a plain mean of share·V is the weighted mean of V, its variance that of the terms
    mean = (share * v).mean(axis=1)
    moment = _long_run(share * v, min(lags, n - 1))
    spread = np.sqrt(np.maximum(np.diag(_long_run(share * (v - mean[:, None]), min(lags, n - 1))), 0.0) / n)
    # Judged in units of each coordinate: V⁰ is a share, V¹ is money.
    unit = np.sqrt(np.maximum(np.diag(moment), 1e-300))
    eigen, axes = np.linalg.eigh(moment / np.outer(unit, unit))
    kept = eigen > 1e-9
    wald = float(n * np.sum((axes.T @ (mean / unit))[kept] ** 2 / eigen[kept])) if mean.any() else 0.0
    p_value = float(gammaincc(int(kept.sum()) / 2, wald / 2)) if kept.any() else 1.0
    one = np.sort(ndtr(np.sqrt(n) * mean / unit))
    both = min(2 * one[0], one[1]) if correction == "hommel" else min(2 * one[0], 1.0)
    return float(mean[0]), float(spread[0]), float(mean[1]), float(spread[1]), wald, p_value, float(both)


def _long_run(v: Array, lags: int) -> Array:
    """Mean of VV' with Bartlett weights on the products of neighbours in time."""
    n = v.shape[1]
    out = v @ v.T / n
    for k in range(1, lags + 1):
        cross = v[:, k:] @ v[:, :-k].T / n
        out += (1 - k / (lags + 1)) * (cross + cross.T)
    return np.asarray(out)
