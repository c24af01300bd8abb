"""The online learner: predict, hear the outcome, stay calibrated for every group.

A round is *asked* (a prediction for the row's groups) and later *told* (its outcome is learned). `predict_one` and `learn_one` do both for
outcomes that come at once. Whatever is wrong with an argument is found before anything changes.
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
from multivalid.online.classic.reading import Alarm
from multivalid.online.draws import Draws
from multivalid.online.engine import Play
from multivalid.online.reading import alarm_of, summary_of
from multivalid.online.setups import AnySetup, engine_for, make_setup
from multivalid.online.tickets import Ticket
from multivalid.properties.base import Property

if TYPE_CHECKING:
    from multivalid.online.durable import DurableMulticalibrator

Array = NDArray[np.float64]


class OnlineMulticalibrator:
    """Predictions of a property that stay calibrated for every group, whatever the stream does.

    Parameters
    ----------
    property : Property, Quantiles or str
        What is predicted, for instance "mean", "quantile:0.9" or "quantiles:0.1,0.5,0.9". Several quantiles never cross; predictions and
        bases then have one number per level.
    groups : int, list of predicates, or fitted groups
        An int k: `x` is then a row of k booleans. Predicates (``"age >= 65"``) are evaluated on dicts.
        The whole population is always group 0.
    labels : (float, float), optional
        Where labels lie; predictions are in the same units. Labels outside are counted as its ends. Left out, the range is learnt and
        grows ("sharp"), or is (0, 1) (the others, which refuse labels outside).
    algorithm : "sharp", "B", "A" or "paper"
        "sharp" follows a guide as closely as the promise allows, draws nothing and assumes nothing of the stream. B and A draw one of m
        fixed levels, under assumptions; "paper" is the published form. See `docs/online.md`.
    m : int, optional
        Number of buckets (sharp: 20) or levels.
    shares : "split" or "drawn"
        Sharp: a row at the edge of two buckets counts in both in part, or in one that is drawn.
    copies, batch : int
        Sharp: the promise holds while at most copies × batch outcomes are open; each copy is paid after `batch` outcomes.
    delta : float
        Allowed probability that the bound fails, where something is drawn; level of B's alarm.
    lipschitz, grid, horizon, rule, jitter
        Of the other algorithms: see `docs/online.md`.
    seed : int, optional
        Makes a run that draws reproducible.

    Notes
    -----
    One thread at a time may use a learner.

    Examples
    --------
    >>> import numpy as np
    >>> learner = OnlineMulticalibrator("mean", groups=2, labels=(0, 1))
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(500):
    ...     x = rng.random(2) < 0.5
    ...     prediction = learner.predict_one(x)
    ...     learner.learn_one(x, float(rng.random() < 0.3 + 0.4 * x[0]))
    >>> learner.rounds, learner.error() < learner.bound()
    (500, True)
    """

    _keeps_rounds = False  # whether every round must be recorded before it is learned

    def __init__(
        self,
        property: Property | str,
        groups: Any,
        *,
        labels: tuple[float, float] | None = None,
        algorithm: str = "sharp",
        m: int | None = None,
        shares: str | None = None,
        copies: int | None = None,
        batch: int | None = None,
        delta: float = 0.05,
        lipschitz: float | None = None,
        grid: Grid | None = None,
        horizon: int | None = None,
        rule: str | None = None,
        jitter: float | None = None,
        seed: int | None = None,
    ) -> None:
        self._prepare(
            make_setup(
                property, groups, algorithm=algorithm, labels=labels, m=m, shares=shares, copies=copies, batch=batch, delta=delta,
                lipschitz=lipschitz, grid=grid, horizon=horizon, rule=rule, jitter=jitter,
            ),
            Draws(seed),
        )  # fmt: skip

    def _prepare(self, setup: AnySetup, draws: Draws) -> None:
        self.setup, self._draws = setup, draws
        self.property, self.groups = setup.prop, setup.members.names
        self._engine = engine_for(setup)
        self.grid: Grid | None = getattr(setup, "grid", None)  # the levels of the algorithms that have them
        self._open: dict[int, Play] = {}
        self._keys: dict[str | int, int] = {}  # of open tickets, and back
        self._key_of: dict[int, str | int] = {}
        self._next = 0
        self._pending: Play | None = None
        self._pending_many: list[tuple[bytes, Play]] | None = None

    # ---- outcomes at once ------------------------------------------------------------------------------------------
    def predict_one(self, x: Any, base: Any = None) -> Any:
        """The prediction for `x`; `learn_one` with the same `x` then learns from it. `base` is a model's own prediction."""
        active = self.setup.members.active(x)
        play = self._engine.play(active, self._engine.check_base(base), self._draws)
        self._pending = play
        return play.prediction

    def learn_one(self, x: Any, y: float, weight: float = 1.0) -> None:
        """The outcome of `x`. Without a `predict_one` for it just before, a prediction is made first."""
        active = self.setup.members.active(x)
        y, weight = self._engine.check_label(y), checks.weight(weight)
        used = self._draws.used
        play = self._pending
        if play is None or (play.active is not active and not np.array_equal(play.active, active)):
            play = self._engine.play(active, None, self._draws)
        shown = self._engine.shown(y, self._draws)
        if self._keeps_rounds:
            self._keep(used, self._record_rounds, [play], [shown], [weight])
        self._pending = None
        self._next += 1
        self._engine.begin(play)
        self._engine.settle(play, shown, weight)

    # ---- outcomes later ----------------------------------------------------------------------------------------------
    def ask(self, x: Any, base: Any = None, *, key: str | int | None = None) -> Ticket:
        """A prediction with a number, and a key of your own if you like, for an outcome that comes later."""
        active, base, key = self.setup.members.active(x), self._engine.check_base(base), checks.key(key)
        if key is not None and key in self._keys:
            raise InputError(f"key {key!r} already names an open ticket ({self._keys[key]}); tell or forget that first.")
        used = self._draws.used
        play = self._engine.play(active, base, self._draws)
        self._keep(used, self._record_ask, self._next, play, key)
        return self._hand_out(play, key)

    def tell(
        self, ticket: Ticket | int | None = None, y: float | None = None, weight: float = 1.0, *, key: str | int | None = None
    ) -> None:
        """The outcome of a ticket, named by itself, its number or its key; tickets may come back in any order, each once."""
        number, play = self._ticket(ticket, key)
        if y is None:
            raise InputError("y must be a number, got None; forget() is for outcomes that never come.")
        y, weight = self._engine.check_label(y), checks.weight(weight)
        used = self._draws.used
        shown = self._engine.shown(y, self._draws)
        self._keep(used, self._record_tell, number, shown, weight)
        self._take_back(number)
        self._engine.settle(play, shown, weight)

    def forget(self, ticket: Ticket | int | None = None, *, key: str | int | None = None) -> None:
        """Give up a ticket whose outcome will never come; it counts nowhere."""
        number, play = self._ticket(ticket, key)
        self._record_forget(number)
        self._take_back(number)
        self._engine.drop(play)

    @property
    def outstanding(self) -> tuple[int, ...]:
        """The numbers of the tickets whose outcomes are still to come."""
        return tuple(self._open)

    def open_tickets(self) -> tuple[Ticket, ...]:
        """The tickets whose outcomes are still to come, with their predictions and keys, in the order they were asked."""
        return tuple(Ticket(number, play.prediction, self._key_of.get(number)) for number, play in self._open.items())

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
        return self._engine.rounds

    def error(self) -> float:
        """max over groups of K₂/T, exact: the online twin of an audit's error, over the buckets or levels that were played."""
        return float(self._engine.squared().max() / max(self._engine.weight, 1e-300))

    def bound(self) -> float:
        """What is promised for `error()`; infinite where nothing is. `summary()` says what it assumes."""
        return float(self._engine.bounds().max() / max(self._engine.weight, 1e-300))

    @property
    def alarm(self) -> Alarm:
        """Evidence that what algorithm B assumes of labels is wrong; never raised by the sharp one, which assumes nothing."""
        return alarm_of(self._engine)

    def table(self) -> dict[str, NDArray[Any]]:
        """One row per group: name, rows, weight, error, l1, linf, prediction, bound, worst_level (equal-length arrays)."""
        return self._engine.table()

    def summary(self) -> str:
        """The state in a few lines of text."""
        return summary_of(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.property!r}, {self._engine.headline()}>"

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
    def _hand_out(self, play: Play, key: str | int | None) -> Ticket:
        ticket = Ticket(self._next, play.prediction, key)
        self._open[self._next] = play
        if key is not None:
            self._keys[key], self._key_of[self._next] = self._next, key
        self._engine.begin(play)
        self._next += 1
        return ticket

    def _take_back(self, number: int) -> None:
        del self._open[number]
        key = self._key_of.pop(number, None)
        if key is not None:
            del self._keys[key]

    def _ticket(self, ticket: Ticket | int | None, key: str | int | None) -> tuple[int, Play]:
        if (ticket is None) == (key is None):
            raise InputError("name the ticket either by itself (or its number) or by key=, one of the two.")
        if key is not None:
            if checks.key(key) not in self._keys:
                raise InputError(
                    f"key {key!r} names no open ticket: it was never given, or its outcome has been told or forgotten."
                )
            number = self._keys[key]
        else:
            assert ticket is not None
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

    def _record_ask(self, number: int, play: Play, key: str | int | None) -> None: ...

    def _record_tell(self, number: int, y: float, weight: float) -> None: ...

    def _record_forget(self, number: int) -> None: ...
