"""Watching predictions that others make: an alarm for each group whose predictions are off, that is seldom false however long one looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.online import monitor_reading as reading
from multivalid.online.members import Members, members
from multivalid.online.rows import Rows, read_row, read_rows
from multivalid.online.times import PERIODS, check_order, period_starts
from multivalid.online.watch import Watch
from multivalid.online.watch_targets import WatchTarget, watch_target
from multivalid.online.windows import Periods, Recent, Trace
from multivalid.properties.base import Property
from multivalid.properties.pairs.base import Pair

if TYPE_CHECKING:
    from multivalid.online.durable_monitor import DurableMonitor

Array = NDArray[np.float64]
LEARN_EDGES = 256  # rounds whose predictions decide the buckets


@dataclass(frozen=True)
class MonitorSetup:
    """Checked settings; equal ones describe interchangeable monitors."""

    watched: WatchTarget
    members: Members
    delta: float
    tolerance: float
    buckets: int | tuple[float, ...]
    window: int
    period: str | float | None

    @property
    def count(self) -> int:
        """How many buckets there are."""
        return self.buckets if isinstance(self.buckets, int) else len(self.buckets) + 1

    @property
    def hypotheses(self) -> int:
        """How many things could be wrong: groups, once for each coordinate."""
        return len(self.members.names) * len(self.watched.coordinates)

    def to_json(self) -> dict[str, Any]:
        """Plain data; the property needs a name."""
        return {
            "property": self.watched.spec, "groups": self.members.to_json(),
            "labels": None if self.watched.labels is None else list(self.watched.labels), "delta": self.delta,
            "tolerance": self.tolerance, "buckets": self.buckets if isinstance(self.buckets, int) else list(self.buckets),
            "window": self.window, "period": self.period,
        }  # fmt: skip


@dataclass(frozen=True)
class GroupAlarm:
    """The alarm of one group.

    Attributes
    ----------
    group, coordinate : str
        Whose predictions, and of what (empty where only one thing is predicted).
    round, time : int and float or datetime64 or None
        When it was raised: rounds count from 1; `time` is None unless times were given.
    since, since_time : int and float or datetime64 or None
        When the trouble most likely began: an estimate without a guarantee.
    says : str
        What the bet that earned most bet on.
    evidence : float
        The group's evidence now.

    Examples
    --------
    >>> import numpy as np
    >>> monitor = Monitor("mean", groups=0)
    >>> monitor.update_many(np.zeros((60, 0), bool), np.full(60, 0.1), np.ones(60))
    >>> alarm = monitor.alarms[0]
    >>> alarm.group, alarm.round, alarm.since, alarm.says
    ('everyone', 11, 1, 'predictions too low')
    """

    group: str
    coordinate: str
    round: int
    time: Any
    since: int
    since_time: Any
    says: str
    evidence: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {name: str(value) if isinstance(value, np.datetime64) else value for name, value in asdict(self).items()}


class Monitor:
    """Watches predictions of a property and raises an alarm for each group for which they are off.

    While the predictions of every group are right, the probability that any alarm is ever raised is at most `delta`, however long the
    stream and however often one looks. Right means: given all that happened before and the prediction, V has mean zero (or at most
    `tolerance` off it). It follows for independent rows from a model that is calibrated for the group at each value it predicts; outcomes
    that come so late that later predictions overlap with them are not covered.

    Parameters
    ----------
    property : Property, Pair or str
        What is predicted, for instance "mean" or "quantile:0.9". For "quantile_cvar:0.975" predictions are pairs (VaR, ES), and ES is
        watched by an e-backtest: for being too low, given that VaR is right.
    groups : int, list of predicates, or fitted groups
        An int k: `x` is then a row of k booleans. Predicates (``"age >= 65"``) are evaluated on dicts and frames. The whole population is
        always watched too, as "everyone".
    labels : (float or None, float or None), optional
        Between which values outcomes lie; the level rests on it, so outcomes outside are refused. Quantiles and probabilities of events
        need none; for other properties [0, 1] is meant when it is left out. With None for one end only one direction is watched:
        labels=(0, None) tells predictions of a mean that are too low. A prediction outside is judged as the nearer end of the range;
        `summary()` says how many were.
    delta : float
        Allowed probability of a false alarm, over all groups and all time.
    tolerance : float
        How far the mean of V may be off zero: in the label's units for means, a share for quantiles (0.01 is a point of coverage).
    buckets : int or increasing edges
        Ranges of the prediction that are also watched one by one; a number takes the quantiles of the first 256 predictions.
    window : int
        How many of the last rounds `table(last=...)` can look back.
    period : "day", "week", "month", "year" or a number, optional
        Keep sums by period for `table(by_period=True)`; needs times.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> monitor = Monitor("quantile:0.9", groups=["hour >= 18"])
    >>> for t in range(1500):
    ...     hour = int(rng.integers(24))
    ...     worse = 2.0 if t >= 500 and hour >= 18 else 1.0
    ...     monitor.update({"hour": hour}, 2.303, worse * rng.exponential())
    >>> [(alarm.group, alarm.says) for alarm in monitor.alarms]
    [('hour >= 18', 'predictions too low'), ('everyone', 'predictions too low')]
    """

    def __init__(
        self,
        property: Property | Pair | str,
        groups: Any,
        *,
        labels: tuple[float | None, float | None] | None = None,
        delta: float = 0.05,
        tolerance: float = 0.0,
        buckets: int | Sequence[float] = 10,
        window: int = 1000,
        period: str | float | None = None,
    ) -> None:
        what, who = watch_target(property, labels), members(groups)
        self._prepare(
            MonitorSetup(
                what, who, validate.fraction(delta, "delta"), _tolerance(tolerance, what), _buckets(buckets),
                validate.count(window, "window"), _period(period),
            )
        )  # fmt: skip

    def _prepare(self, setup: MonitorSetup) -> None:
        self.setup, self.property, self.groups = setup, setup.watched.target, setup.members.names
        coordinates, size = setup.watched.coordinates, len(self.groups)
        threshold = setup.hypotheses / setup.delta
        self._watches = [Watch(one, size, setup.count, threshold, setup.tolerance) for one in coordinates]
        if not isinstance(setup.buckets, int):
            for watch in self._watches:
                watch.set_edges(np.array(setup.buckets))
        self._first: list[list[float]] = []  # predictions of the rounds before there are buckets
        self._rounds = 0
        self._outside = 0  # rounds with a prediction beyond the range of labels
        self._clock: tuple[str, float] | None = None
        self._recent = Recent(setup.window, size, len(coordinates))
        self._periods = Periods(size, len(coordinates))
        self._trace = Trace(size * len(coordinates))

    # ---- what happened ---------------------------------------------------------------------------------------------
    def update(self, x: Any, prediction: float | Sequence[float], y: float, time: Any = None) -> None:
        """One round: the row, what was predicted for it (a pair for VaR and ES), and its outcome."""
        self._add(self._checked(read_row(self.setup, x, prediction, y, time)))

    def update_many(self, frame: Any, prediction: Any, y: Any, time: Any = None) -> None:
        """Many rounds in order: a frame, a list of dicts, or rows of booleans. All are checked before the first counts.

        Parameters
        ----------
        frame : frame, list of dicts, or array of booleans
        prediction, y : array or column name
            For VaR and ES two columns, or an array with two.
        time : array or column name, optional
            Numbers or dates that do not go back; the rows must be in this order. Either all rounds have a time or none has.
        """
        self._add(self._checked(read_rows(self.setup, frame, prediction, y, time)))

    def _checked(self, rows: Rows) -> Rows:
        """Refuse what does not fit the rounds before; nothing has changed yet."""
        kind = None if self._clock is None else self._clock[0]
        if self._rounds and rows.count and rows.kind != kind:
            raise InputError(
                f"time: earlier rounds had {kind or 'none'}, these have {rows.kind or 'none'}; all rounds need the same."
            )
        if rows.kind is None and self.setup.period is not None and rows.count:
            raise InputError(f"time is needed because period={self.setup.period!r}.")
        if rows.kind is not None and rows.count:
            if isinstance(self.setup.period, str) != (rows.kind == "date") and self.setup.period is not None:
                raise InputError(f"period={self.setup.period!r} does not go with times that are {rows.kind}s.")
            check_order(rows.time, None if self._clock is None else self._clock[1], rows.kind)
        return rows

    def _add(self, rows: Rows) -> None:
        """Bring everything up to date with rows that were checked."""
        self._recent.add(rows.member, rows.values, self._rounds)
        self._outside += self.setup.watched.outside(rows.predictions)
        if self.setup.period is not None and rows.kind is not None:
            self._periods.add(period_starts(rows.time, rows.kind, self.setup.period), rows.member, rows.values)
        done = 0
        while done < rows.count:
            step = min(rows.count - done, self._trace.until(self._rounds))
            if self._learning:
                step = min(step, LEARN_EDGES - self._rounds)
            self._add_part(rows.part(done, done + step))
            done += step

    def _add_part(self, rows: Rows) -> None:
        for i, watch in enumerate(self._watches):
            watch.add(rows.member, rows.predictions, rows.values[:, i], rows.time, self._rounds)
        learning = self._learning
        self._rounds += rows.count
        if rows.kind is not None:
            self._clock = (rows.kind, float(rows.time[-1]))
        if learning:
            self._first += rows.predictions.tolist()
            if not self._learning:
                self._set_edges()
        if self._trace.wanted(self._rounds):
            self._trace.add(self._rounds, float(rows.time[-1]), np.log10(np.maximum(self._evidence(), 1e-300)))

    @property
    def _learning(self) -> bool:
        return isinstance(self.setup.buckets, int) and self._rounds < LEARN_EDGES

    def _set_edges(self) -> None:
        shares = np.arange(1, self.setup.count) / self.setup.count
        for watch in self._watches:
            watch.set_edges(np.quantile(watch.coordinate.prediction(np.array(self._first)), shares))
        self._first = []

    def _evidence(self) -> Array:
        return np.concatenate([watch.bets.evidence for watch in self._watches])

    # ---- what it says ----------------------------------------------------------------------------------------------
    @property
    def rounds(self) -> int:
        """How many rounds have been seen."""
        return self._rounds

    @property
    def alarms(self) -> list[GroupAlarm]:
        """The alarms raised so far, the earliest first; an alarm stays, also when the evidence falls again."""
        return reading.alarms_of(self)

    def table(self, *, last: int | None = None, by_period: bool = False) -> dict[str, NDArray[Any]]:
        """One row per group (equal-length arrays).

        Columns: name, coordinate, rows, gap (the mean of V: above zero, predictions are too high), evidence (now), peak (its largest so
        far), off_now (off now by e-BH at level delta: of groups named at one time, chosen beforehand, at most a share delta is expected
        to be right), alarm, alarm_round, since.

        Parameters
        ----------
        last : int, optional
            `rows` and `gap` of the last so many rounds, at most `window`.
        by_period : bool
            One row per period and group instead, with columns period, name, coordinate, rows and gap; the latest 120 periods.
        """
        return reading.periods_of(self) if by_period else reading.table_of(self, last)

    def summary(self) -> str:
        """The state in a few lines of text."""
        return reading.summary_of(self)

    def __repr__(self) -> str:
        alarms = len(self.alarms) or "no"
        told = f"{self.rounds:,} rounds, {len(self.groups)} groups, {alarms} alarm{'s' * (alarms != 1)}"
        return f"<{type(self).__name__} of {self.setup.watched.target!r}: {told}>"

    def report(self, path: str | Path, *, settings: Mapping[str, Any] | None = None) -> Path:
        """Write a page with the evidence over time (.html, and its numbers beside it as .report.json).

        `settings` is what else a reader needs to know: the service that is watched, file names, model versions.
        """
        from multivalid.report.watch import write

        return write(reading.content_of(self, settings or {}), path)

    # ---- keeping ---------------------------------------------------------------------------------------------------
    def to_json(self) -> dict[str, Any]:
        """Settings and state as plain data."""
        from multivalid.online import monitor_state

        return monitor_state.to_json(self)

    def save(self, path: str | Path) -> None:
        """Write the whole state as JSON; `multivalid.load` goes on exactly where this monitor stands."""
        from multivalid.storage import write_json

        write_json(path, self.to_json())

    @classmethod
    def open(
        cls, path: str | Path, property: Property | Pair | str | None = None, groups: Any = None, **options: Any
    ) -> DurableMonitor:
        """A monitor that keeps every update in the SQLite file `path`; see `multivalid.online.durable_monitor`."""
        from multivalid.online.durable_monitor import open_monitor

        return open_monitor(path, property, groups, **options)


def _tolerance(value: float, what: WatchTarget) -> float:
    slack = validate.real(value, "tolerance")
    with np.errstate(invalid="ignore"):
        ends = [one.v_range(np.array([one.range.lo]), np.array([one.range.hi])) for one in what.coordinates]
    most = max(float(np.nanmax(np.abs(one))) for one in ends)
    if not 0.0 <= slack < most:
        raise InputError(f"tolerance must be at least 0 and below {most:g}, the most that V can be, got {value!r}.")
    return slack


def _buckets(value: Any) -> int | tuple[float, ...]:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return validate.count(value, "buckets")
    edges = validate.vector(value, "buckets")
    if (np.diff(edges) <= 0).any():
        raise InputError(f"buckets must be a number, or edges that increase, got {value!r}.")
    return tuple(edges.tolist())


def _period(value: Any) -> str | float | None:
    if value is None:
        return None
    if isinstance(value, str):
        if value not in PERIODS:
            raise InputError(f"period must be one of {', '.join(map(repr, PERIODS))} or a positive number, got {value!r}.")
        return value
    return validate.positive(value, "period")
