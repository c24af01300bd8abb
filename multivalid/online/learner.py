"""The online learner: predict, hear the outcome, stay calibrated for every group.

A round is *asked* (a level is drawn for the row's groups) and later *told* (its outcome changes the transcript). `predict_one` and
`learn_one` do both for outcomes that come at once. Whatever is wrong with an argument is found before anything changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.online import checks
from multivalid.online.draws import Draws
from multivalid.online.experts import Experts
from multivalid.online.game import CrossingRule, solve_game
from multivalid.online.guide import Guide
from multivalid.online.hedge import CellWeights, GroupWeights
from multivalid.online.play import Play, Ticket
from multivalid.online.reading import Alarm, alarm_of, bounds_of, summary_of, table_of
from multivalid.online.setup import Setup, make_setup
from multivalid.online.transcript import Transcript
from multivalid.properties.base import Property

if TYPE_CHECKING:
    from multivalid.online.durable import DurableMulticalibrator

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class OnlineMulticalibrator:
    """Predictions of a property that stay calibrated for every group, whatever the stream does.

    Parameters
    ----------
    property : Property or str
        What is predicted, for instance "mean" or "quantile:0.9".
    groups : int, list of predicates, or fitted groups
        An int k: `x` is then a row of k booleans. Predicates (``"age >= 65"``) are evaluated on dicts.
        The whole population is always group 0.
    m : int, optional
        Number of levels; chosen by the library when left out.
    algorithm : "B", "A" or "paper"
        B bounds every group at all times with probability 1 − delta; A bounds the expected error; "paper" is the published form.
    labels : (float, float)
        Where labels lie; predictions are in the same units.
    lipschitz : float, optional
        Most that V rises per unit of prediction. Known for most properties; for quantiles it is a bound on the density of the
        labels, assumed and watched by `alarm`.
    grid : Grid, optional
        The levels, instead of m.
    horizon : int, optional
        Number of rounds to come, if known.
    rule : "crossing", "lp" or "lp-any", optional
        A round mixes two neighbouring levels, or solves the exact game against Lipschitz laws, or against every label.
    delta : float
        Allowed probability that the bound of B fails; also the level of the alarm.
    jitter : float
        Adds uniform noise in [0, jitter) to each label before learning, for quantiles of labels with atoms.
    seed : int, optional
        Makes the run reproducible.

    Notes
    -----
    See `docs/online.md` for what is promised, also under delay and with weights. One thread at a time may use a learner.

    Examples
    --------
    >>> import numpy as np
    >>> learner = OnlineMulticalibrator("mean", groups=2, m=10, seed=1)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(500):
    ...     x = rng.random(2) < 0.5
    ...     prediction = learner.predict_one(x)
    ...     learner.learn_one(x, float(rng.random() < 0.3 + 0.4 * x[0]))
    >>> learner.rounds, learner.error() < learner.bound()
    (500, True)
    """

    def __init__(
        self,
        property: Property | str,
        groups: Any,
        *,
        m: int | None = None,
        algorithm: str = "B",
        labels: tuple[float, float] = (0.0, 1.0),
        lipschitz: float | None = None,
        grid: Grid | None = None,
        horizon: int | None = None,
        rule: str | None = None,
        delta: float = 0.05,
        jitter: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self._prepare(
            make_setup(
                property, groups, m=m, grid=grid, algorithm=algorithm, rule=rule, labels=labels, lipschitz=lipschitz,
                horizon=horizon, delta=delta, jitter=jitter,
            ),
            Draws(seed),
        )  # fmt: skip

    def _prepare(self, setup: Setup, draws: Draws) -> None:
        self.setup, self._draws = setup, draws
        self.property, self.grid, self.groups = setup.prop, setup.grid, setup.members.names
        self._transcript = t = Transcript(len(self.groups), len(setup.grid))
        bound, horizon = setup.facts.bound, setup.horizon
        self._weights: Experts | GroupWeights | CellWeights
        if setup.algorithm == "B":
            self._weights = Experts(t, bound, setup.slack, horizon, setup.delta)
        else:
            self._weights = (GroupWeights if setup.algorithm == "A" else CellWeights)(t, bound, setup.rise, horizon)
        self._rule = CrossingRule(setup.grid.points)
        self._guide = Guide(len(self.groups), setup.grid.lo, setup.grid.hi)
        self._open: dict[int, Play] = {}
        self._next = 0
        self._late = 0
        self._pending: tuple[bytes, Play] | None = None
        self._pending_many: list[tuple[bytes, Play]] | None = None

    # ---- outcomes at once ------------------------------------------------------------------------------------------
    def predict_one(self, x: Any, base: float | None = None) -> float:
        """The prediction for `x`; `learn_one` with the same `x` then learns from it. `base` is a model's own prediction."""
        bits = self.setup.members.row(x)
        play = self._play(bits.nonzero()[0], checks.base(base))
        self._pending = (bits.tobytes(), play)
        return float(self.grid.points[play.level])

    def learn_one(self, x: Any, y: float, weight: float = 1.0) -> None:
        """The outcome of `x`. Without a `predict_one` for it just before, a prediction is drawn first."""
        bits = self.setup.members.row(x)
        y, weight = checks.label(y, self.setup.labels), checks.weight(weight)
        used = self._draws.used
        key, play = self._pending or (b"", None)
        if play is None or key != bits.tobytes():
            play = self._play(bits.nonzero()[0], None)
        shown = self._jittered(y)
        self._keep(used, self._record_rounds, [play], [shown], [weight])
        self._pending = None
        self._next += 1
        self._apply(play, shown, weight)

    # ---- outcomes later ----------------------------------------------------------------------------------------------
    def ask(self, x: Any, base: float | None = None) -> Ticket:
        """A prediction with a number, for an outcome that comes later."""
        return self._ask(self.setup.members.row(x).nonzero()[0], checks.base(base))

    def tell(self, ticket: Ticket | int, y: float, weight: float = 1.0) -> None:
        """The outcome of a ticket; tickets may come back in any order, each once."""
        number, play = self._ticket(ticket)
        y, weight = checks.label(y, self.setup.labels), checks.weight(weight)
        used = self._draws.used
        shown = self._jittered(y)
        self._keep(used, self._record_tell, number, shown, weight)
        del self._open[number]
        self._apply(play, shown, weight)

    def forget(self, ticket: Ticket | int) -> None:
        """Give up a ticket whose outcome will never come; it counts nowhere."""
        number, _ = self._ticket(ticket)
        self._record_forget(number)
        del self._open[number]

    @property
    def outstanding(self) -> tuple[int, ...]:
        """The numbers of the tickets whose outcomes are still to come."""
        return tuple(self._open)

    # ---- many at once ------------------------------------------------------------------------------------------------
    def predict_many(self, data: Any, base: Any = None) -> Array:
        """Predictions for many rows from the present state; `learn_many` with the same rows then learns from them."""
        from multivalid.online import bulk

        return bulk.predict_many(self, data, base)

    def learn_many(self, data: Any, y: Any, weight: Any = None) -> None:
        """The outcomes of many rows, in order. All of them are checked before the first is learned."""
        from multivalid.online import bulk

        bulk.learn_many(self, data, y, weight)

    def replay(
        self, data: Any, y: Any, *, base: Any = None, weight: Any = None, time: str | None = None, progress: bool = False
    ) -> Array:
        """Run through history one row at a time, each outcome known before the next prediction; returns the predictions.

        `y`, `base` and `weight` are arrays, or column names of `data`; `time` names a column to sort by.
        """
        from multivalid.online import bulk

        return bulk.replay(self, data, y, base=base, weight=weight, time=time, progress=progress)

    # ---- how it is going -----------------------------------------------------------------------------------------------
    @property
    def rounds(self) -> int:
        """Outcomes learned so far."""
        return self._transcript.rounds

    def error(self) -> float:
        """max over groups of K₂/T, exact: the online twin of an audit's error."""
        return float(self._transcript.squared().max() / max(self._transcript.weight, 1e-300))

    def bound(self) -> float:
        """What is promised for `error()` under the algorithm's assumptions; infinite where nothing is promised."""
        return float(bounds_of(self._weights, self._late, self.setup).max() / max(self._transcript.weight, 1e-300))

    @property
    def alarm(self) -> Alarm:
        """Evidence that V rises more steeply than assumed (labels with atoms, for instance); true when it is raised."""
        return alarm_of(self._weights, self._late, self.setup)

    def table(self) -> dict[str, NDArray[Any]]:
        """One row per group: name, rows, weight, error, l1, linf, prediction, bound, worst_level (equal-length arrays)."""
        return table_of(self._transcript, self.setup, bounds_of(self._weights, self._late, self.setup))

    def summary(self) -> str:
        """The state in a few lines of text."""
        return summary_of(self)

    # ---- keeping ---------------------------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the whole state as JSON; `multivalid.load` goes on exactly where this learner stands."""
        from multivalid.online.state import save

        save(self, path)

    @classmethod
    def open(
        cls, path: str | Path, property: Property | str | None = None, groups: Any = None, **options: Any
    ) -> DurableMulticalibrator:
        """A learner that keeps every round in the SQLite file `path`; see `multivalid.online.durable`."""
        from multivalid.online.durable import open_durable

        return open_durable(path, property, groups, **options)

    # ---- inside ------------------------------------------------------------------------------------------------------------
    def _play(self, active: Index, base: float | None) -> Play:
        guess = self._guide.guess(active) if base is None else base
        draw = self._draws.uniform()
        if self.setup.rule == "crossing" and not isinstance(self._weights, CellWeights):
            c, scale = self._weights.coefficients(active)
            low, high, share = self._rule.choose(c, guess, free=base is not None, log_scale=scale)
            level = low if draw < share else high
        else:
            values, caps = self.setup.cells
            mixture, _ = solve_game(self._weights.losses(active, values), caps)
            level = min(int(np.searchsorted(np.cumsum(mixture), draw, side="right")), len(self.grid) - 1)
        return Play(active, level, guess if base is None else None, self._transcript.rounds)

    def _ask(self, active: Index, base: float | None) -> Ticket:
        used = self._draws.used
        play = self._play(active, base)
        self._keep(used, self._record_ask, self._next, play)
        ticket = Ticket(self._next, float(self.grid.points[play.level]))
        self._open[self._next] = play
        self._next += 1
        return ticket

    def _apply(self, play: Play, y: float, weight: float) -> None:
        active, level, guess, seen = play
        point = self.grid.points.item(level)
        at = [point] if guess is None else [point, guess]
        value, *rest = self.property.identify(np.array(at), np.array([y] * len(at))).tolist()
        self._late = max(self._late, self._transcript.rounds - seen)
        n, r = self._transcript.add(active, level, value, weight)
        self._weights.update(active, level, value, weight, n, r)
        if rest:
            self._guide.learn(active, weight * rest[0] / self.setup.facts.bound)

    def _jittered(self, y: float) -> float:
        return y + self.setup.jitter * self._draws.uniform() if self.setup.jitter else y

    def _ticket(self, ticket: Ticket | int) -> tuple[int, Play]:
        number = checks.ticket(ticket)
        play = self._open.get(number)
        if play is None:
            known = 0 <= number < self._next
            raise InputError(f"ticket {number} {'has been used or forgotten already' if known else 'was never given out here'}.")
        return number, play

    def _keep(self, used: int, record: Callable[..., None], *event: Any) -> None:
        """Record an event; when that fails, random numbers drawn for it go back as well."""
        try:
            record(*event)
        except BaseException:
            self._draws.rewind(used)
            raise

    # A durable learner replaces these; each keeps the event or raises.
    def _record_rounds(self, plays: list[Play], labels: list[float], weights: list[float]) -> None: ...

    def _record_ask(self, number: int, play: Play) -> None: ...

    def _record_tell(self, number: int, y: float, weight: float) -> None: ...

    def _record_forget(self, number: int) -> None: ...
