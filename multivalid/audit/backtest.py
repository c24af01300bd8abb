"""Backtest of (value at risk, expected shortfall) forecasts, for every group named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.frames import column_or_values, from_columns
from multivalid.audit import backtest_text, risk_tests
from multivalid.audit.risk_tests import Dependence
from multivalid.cells.adjust import holm
from multivalid.cells.short_names import WIDEST
from multivalid.errors import InputError
from multivalid.groups.frames import enter
from multivalid.levels import SIGNIFICANCE
from multivalid.properties import QuantileCVaR
from multivalid.properties.base import Array
from multivalid.properties.pairs.sides import check_sides
from multivalid.sources.memory import MemorySource as Rows
from multivalid.sources.rows import open_rows

CORRECTIONS = ("hommel", "holm")
POWER = 0.8  # an error as large as `detectable_es` is found so often
ENOUGH_ROWS = 20  # from here on more exceedances than not are taken for a mistake of signs


class Backtest:
    """What `backtest` found.

    Attributes
    ----------
    tau : float
        Confidence level.
    table : dict of arrays
        One row per group: name, rows (those with weight), exceedances and how many were expected (counts, or sums of weights where
        weights were given); var_p of the number of exceedances; severity, the mean loss beyond VaR in units of ES − VaR (1 is right), with
        es_p; p_value of both together, two-sided, and one_sided of the test for understated risk; p_adjusted and one_sided_adjusted
        by Holm over the groups; detectable_es, the share by which ES would have to be too low to be found in four cases of five;
        kupiec and christoffersen (likelihood ratios) with kupiec_p and christoffersen_p; var_mean and es_mean (V⁰ and V¹, negative
        where risk was understated) with their standard errors var_se, es_se, and wald. nan: too few rows or exceedances to tell.

    Examples
    --------
    >>> import numpy as np
    >>> found = backtest(np.arange(100.0), np.full(100, 94.0), np.full(100, 97.0), tau=0.95, groups=[])
    >>> found.table["exceedances"], found.table["expected"]
    (array([5]), array([5.]))
    """

    origin: Mapping[str, str] = MappingProxyType({})  # the frame and the columns

    def __init__(self, tau: float, losses: bool, table: dict[str, NDArray[Any]], frame: Any) -> None:
        self.tau, self.losses, self.table, self._frame = tau, losses, table, frame

    @property
    def off(self) -> list[str]:
        """Names of the groups that fail the two-sided test or the one for understated risk, worst first."""
        return backtest_text.off(self.table)

    @property
    def verdict(self) -> str:
        """How many groups fail, in one line."""
        return backtest_text.verdict(self.table)

    def summary(self, k: int = 10, widest: int | None = WIDEST) -> str:
        """The verdict and the k worst groups, as text that fits a terminal; names have at most `widest` letters, any number with None."""
        return backtest_text.summary(self.table, self.tau, self.losses, k, widest)

    def to_frame(self) -> Any:
        """The table as a data frame of the kind that `data` was."""
        return from_columns(self.table, self._frame)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None, settings: Mapping[str, Any] | None = None) -> Path:
        """Write one self-contained HTML page, and its numbers beside it (NAME.report.json); only those where `path` ends in .json.

        `settings` is what else a reader needs to repeat the numbers: file names, model versions.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> found = backtest(np.arange(100.0), np.full(100, 94.0), np.full(100, 97.0), tau=0.95, groups=[])
        >>> found.report(pathlib.Path(tempfile.mkdtemp()) / "backtest.html").name
        'backtest.html'
        """
        from multivalid.report import backtest as page
        from multivalid.report.origin import made_with

        content = backtest_text.content(self.table, self.tau, self.losses, title or "Backtest of VaR and expected shortfall")
        return page.write({**content, "settings": {**self.origin, **(settings or {}), **made_with()}}, path)

    def plot(self, ax: Any = None) -> Any:
        """Exceedances of each group as a share of what was expected, with a 95 % interval each, on a matplotlib axis; returns it."""
        from multivalid.report import backtest as page

        return page.plot(self.table, self.tau, ax)

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
    cluster: Any = None,
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
        Neighbours in time whose forecast errors overlap (Newey–West weights); rows must then be in order of time.
    correction : {"hommel", "holm"}
        How the tests of VaR and of ES of a group are made into one.
    cluster : array-like or column name, optional
        Rows with the same value share their luck (all desks on one day): the unit of chance is then the cluster, not the row.

    Notes
    -----
    With losses L: the number of L > VaR is compared with the binomial law (mid-p); without an assumption on the law of losses this
    is exact but for the mid-p. The severity X = (L − VaR)/(ES − VaR) over the exceedances has mean 1 when both are right; its t statistic
    is compared with the law that normal tails give it above, and generalised Pareto tails with index ⅓ below, which is an assumption
    on the tail. The two are joined by Hommel's rule, groups by Holm's. The one-sided test asks whether there are too many exceedances
    or they are too large, that is, whether risk was understated; prudent forecasts pass. Outcomes equal to VaR (95 of 100 policies without
    a claim, and a VaR of 0) count as part of the tail as far as the share 1 − tau needs them: neither test then mistakes them. Fewer
    than two exceedances: severity cannot be tested, and the number of exceedances decides alone. Christoffersen's test reads rows as
    consecutive days; where ties fill the tail up it is nan, as nobody can say which days they are.

    References
    ----------
    Kupiec (1995), Techniques for verifying the accuracy of risk measurement models, Journal of Derivatives 3.
    Christoffersen (1998), Evaluating interval forecasts, International Economic Review 39.
    McNeil & Frey (2000), Estimation of tail-related risk measures, Journal of Empirical Finance 7.

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
    if lags and cluster is not None:
        raise InputError("lags and cluster are two ways to allow for dependence: give one of them, and lags=0 with cluster.")
    frame = None if data is None else enter(data)
    sign = 1.0 if losses else -1.0
    outcome, value, shortfall = (
        sign * validate.vector(column_or_values(frame, column, name), name)
        for column, name in ((y_true, "y_true"), (var, "var"), (es, "es"))
    )
    pair = QuantileCVaR(tau)
    for column, name in ((outcome, "y_true"), (value, "var"), (shortfall, "es")):
        validate.same_length(column, outcome.size, name, "y_true")
        pair.check_labels(column, name)
    rows = open_rows(outcome, value, groups=groups, data=data, sample_weight=sample_weight, cluster=cluster)
    shortfall = shortfall if rows.kept is None else shortfall[rows.kept]
    check_sides(rows.labels, rows.predictions, shortfall, tau, losses=losses)
    _check_share(rows.labels, rows.predictions, tau, losses)
    table = _table(rows, shortfall, tau, Dependence(rows.cluster, lags), correction)
    if sample_weight is None:
        table["exceedances"] = table["exceedances"].astype(np.int64)
    from multivalid.report.origin import origin

    made = Backtest(tau, losses, table, rows.frame)
    made.origin = origin(y_true, [var, es], data, sample_weight, cluster)
    return made


def _check_share(outcome: Array, value: Array, tau: float, losses: bool) -> None:
    """Refuse forecasts that most outcomes lie beyond, as they would were sides mixed up; both are losses here."""
    beyond = float(np.mean(outcome > value)) if outcome.size else 0.0
    if outcome.size >= ENOUGH_ROWS and tau >= 0.8 and beyond > 0.5:
        other = "losses=False if outcomes are returns" if losses else "losses=True if outcomes are losses"
        raise InputError(
            f"tau = {tau:g} says that {100 * (1 - tau):g} % of the outcomes lie beyond var, but {100 * beyond:.0f} % do: signs or sides "
            f"seem to be mixed up; set {other}, and give outcomes, var and es the same sign."
        )


def _table(rows: Rows, shortfall: Array, tau: float, dependence: Dependence, correction: str) -> dict[str, NDArray[Any]]:
    pair = QuantileCVaR(tau)
    v = np.stack(
        [pair.first.identify(rows.predictions, rows.labels), pair.identify_second(rows.predictions, shortfall, rows.labels)]
    )
    found = []
    for g in range(rows.membership.groups):
        group = rows.membership.mask(g)
        tested = _tests(rows, shortfall, group, tau, dependence.of(group), correction)
        found.append(tested | _means(v[:, group], rows.weights[group], dependence.lags))
    table: dict[str, NDArray[Any]] = {"name": np.array(rows.groups.names)}
    table |= {name: np.array([one[name] for one in found]) for name in found[0]}
    table["p_adjusted"] = holm(table["p_value"])
    table["one_sided_adjusted"] = holm(table["one_sided"])
    tests = max(int((~np.isnan(table["p_value"])).sum()), 1)
    table["detectable_es"] = _detectable(table.pop("severity_spread"), table.pop("excess_share"), tests)
    return table


def _tests(
    rows: Rows, shortfall: Array, inside: NDArray[np.bool_], tau: float, dependence: Dependence, correction: str
) -> dict[str, float]:
    outcome, value, es, w = rows.labels[inside], rows.predictions[inside], shortfall[inside], rows.weights[inside]
    exceeded = outcome > value
    unit = float(w.max(initial=0.0)) or 1.0  # the tests take cubes of weights
    counted = risk_tests.Outcomes(exceeded, outcome == value, w / unit, tau)
    often = risk_tests.frequency_tails(counted, dependence)
    excess = np.zeros(w.size)
    with np.errstate(divide="ignore"):
        excess[exceeded] = (outcome - value)[exceeded] / (es - value)[exceeded]
    large = risk_tests.severity(excess, counted, dependence)
    var_p, es_p = _both_sides(often), _both_sides(large.tails)
    kupiec, christoffersen = risk_tests.by_name(counted)
    total = float(w.sum())
    return {
        "rows": exceeded.size,
        "exceedances": unit * counted.beyond,
        "expected": unit * counted.expected,
        "var_p": var_p,
        "severity": large.mean,
        "es_p": es_p,
        "p_value": join(var_p, es_p, correction),
        "one_sided": join(often[1], large.tails[1], correction),
        "severity_spread": large.spread,
        "excess_share": float(w @ (es - value) / max(abs(float(w @ es)), 1e-300)) if total else float("nan"),
        "kupiec": kupiec[0],
        "kupiec_p": kupiec[1],
        "christoffersen": christoffersen[0],
        "christoffersen_p": christoffersen[1],
    }


def _both_sides(tails: tuple[float, float]) -> float:
    return float(np.minimum(2 * np.minimum(*tails), 1.0))


def join(first: float, second: float, correction: str) -> float:
    """One p-value from two by Hommel's or Holm's rule; from one alone where the other cannot be had."""
    known = sorted(p for p in (first, second) if p == p)
    if len(known) < 2:
        return known[0] if known else float("nan")
    return min(2 * known[0], known[1]) if correction == "hommel" else min(2 * known[0], 1.0)


def _detectable(spread: Array, excess: Array, tests: int) -> Array:
    """By which share ES must be too low: an X of mean 1 + d comes from an ES that is short of d·(ES − VaR)."""
    from scipy.special import ndtri

    away = (ndtri(1 - SIGNIFICANCE / (2 * tests)) + ndtri(POWER)) * spread
    short = away * excess
    return np.asarray(short / (1 + short))


def _means(v: Array, weights: Array, lags: int) -> dict[str, float]:
    """Mean V⁰ and V¹ with standard errors, and Wald's statistic of both."""
    n = v.shape[1]
    if not weights.any():
        nan = float("nan")
        return {"var_mean": nan, "var_se": nan, "es_mean": nan, "es_se": nan, "wald": nan}
    # Mean 1: a plain mean of share·V is the weighted mean of V, its variance that of the terms.
    share = weights * (n / weights.sum())
    mean = (share * v).mean(axis=1)
    moment = _long_run(share * v, min(lags, n - 1))
    spread = np.sqrt(np.maximum(np.diag(_long_run(share * (v - mean[:, None]), min(lags, n - 1))), 0.0) / n)
    unit = np.sqrt(np.maximum(np.diag(moment), 1e-300))  # V⁰ is a share, V¹ is money
    eigen, axes = np.linalg.eigh(moment / np.outer(unit, unit))
    kept = eigen > 1e-9
    wald = float(n * np.sum((axes.T @ (mean / unit))[kept] ** 2 / eigen[kept])) if mean.any() else 0.0
    return {
        "var_mean": float(mean[0]), "var_se": float(spread[0]), "es_mean": float(mean[1]), "es_se": float(spread[1]), "wald": wald,
    }  # fmt: skip


def _long_run(v: Array, lags: int) -> Array:
    """Mean of VV' with Bartlett weights on the products of neighbours in time."""
    n = v.shape[1]
    out = v @ v.T / n
    for k in range(1, lags + 1):
        cross = v[:, k:] @ v[:, :-k].T / n
        out += (1 - k / (lags + 1)) * (cross + cross.T)
    return np.asarray(out)
