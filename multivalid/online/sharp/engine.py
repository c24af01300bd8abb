"""The sharp learner's state and what it does with a round; the shell around it (learner.py) knows tickets and files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.online import checks
from multivalid.online.draws import Draws
from multivalid.online.sharp import delays, reading
from multivalid.online.sharp.bets import ACTUAL
from multivalid.online.sharp.play import (
    BUCKET,
    EXPERT,
    FROM,
    GUIDE,
    LEARNERS,
    PREDICTION,
    SHARE,
    SIZE,
    WIDTH,
    Array,
    Bits,
    Index,
    Play,
)
from multivalid.online.sharp.promise import cell_bounds, squared_bounds
from multivalid.online.sharp.ranges import carry_over, first_range, grow, grown_range, set_range
from multivalid.online.sharp.rounds import VALUES, rounds_on
from multivalid.online.sharp.setup import SharpSetup
from multivalid.online.sharp.span import broken_promise, kind_of, span_of
from multivalid.online.sharp.tables import KIND, LENGTH, LO, ROUNDS, STAKE, TAU, Tables

MASS = 0.1  # a: of a cell's bets against those on the score


class SharpEngine:
    """Plays and settles rounds; see `docs/online.md` for what is promised."""

    columns = 1

    def __init__(self, setup: SharpSetup) -> None:
        self.setup = setup
        self.tables = t = Tables(len(setup.members.names), setup.buckets, setup.rates, setup.copies)
        t.setting[[KIND, TAU, STAKE]] = *kind_of(setup.prop), MASS
        self.queue = delays.Queue(setup.copies, setup.batch)
        self.labels: tuple[float, float] | None = None
        self.clipped = self.lost_rates = 0
        self.excess: Array = np.zeros_like(t.count)
        if setup.labels is not None:
            set_range(t, self._span(setup.labels))
        else:
            t.setting[1:6] = 1.0  # something to compute with until the first label comes
        self._rounds = rounds_on(t)

    # ---- a round ---------------------------------------------------------------------------------------------------------
    def check_label(self, y: float) -> float:
        """A finite outcome; one outside the range is cut for the bets, not refused."""
        return checks.finite_label(y)

    def check_base(self, base: float | None) -> float | None:
        """A number, or none."""
        return checks.base(base)

    def check_labels(self, labels: Array) -> None:
        """Labels of many rows: what is finite will do."""

    def shown(self, y: float, draws: Draws) -> float:
        """The label as it came."""
        return y

    def play(self, active: Index, base: float | None, draws: Draws, together: int = 1) -> Play:
        """A prediction from the present state; `together` says how many are made from it before the first outcome."""
        numbers, setting = np.zeros(SIZE), self.tables.setting
        self.queue.place(numbers, together)
        numbers[FROM], numbers[WIDTH] = setting.item(LO), setting.item(LENGTH)
        if self.labels is None:
            numbers[[PREDICTION, SHARE]] = 0.0 if base is None else base, 1.0
        else:
            self._rounds.choose(active, math.nan if base is None else base, numbers)
        if self.setup.shares == "drawn":
            self._draw(numbers, draws.uniform())
        return Play(active, numbers)

    def plays(self, rows: list[Index], base: Array, draws: Draws) -> list[Play]:
        """Predictions for many rows from the present state; a base of NaN is none."""
        if self.labels is None or self.setup.shares == "drawn":
            given = [None if math.isnan(b) else b for b in base.tolist()]
            return [self.play(active, b, draws, len(rows)) for active, b in zip(rows, given, strict=True)]
        numbers = np.zeros((len(rows), SIZE))
        for row in numbers:
            self.queue.place(row, len(rows))
        numbers[:, [FROM, WIDTH]] = self.tables.setting[[LO, LENGTH]]
        starts = np.cumsum([0, *(r.size for r in rows)], dtype=np.int64)
        self._rounds.choose_many(np.concatenate(rows), starts, base, numbers)
        return [Play(active, row) for active, row in zip(rows, numbers, strict=True)]

    def begin(self, play: Play) -> None:
        """Its outcome is awaited."""
        self.queue.begin(play.numbers)

    def drop(self, play: Play) -> None:
        """Its outcome will never come."""
        self._pay(self.queue.close(play.numbers, None))

    def settle(self, play: Play, y: float, weight: float, published: float | None = None) -> None:
        """The outcome of a play; `published` where that was not what its bets asked for."""
        if weight == 0.0:  # as if the row were not there
            return self.drop(play)
        if published is None and self._settled_at_once(play, y, weight):
            return None
        active, numbers = play.active, play.numbers.copy()
        if self.labels is None:
            self._begin_range(active, numbers, y)
        carry_over(self.tables, numbers)
        assert self.labels is not None
        cut = min(max(y, self.labels[0]), self.labels[1])
        shown = numbers.item(PREDICTION) if published is None else published
        values = self._values(numbers, cut, y, shown)
        truth = float(np.clip((self._at_best(cut) - self.tables.setting[LO]) / self.tables.setting[LENGTH], 0.0, 1.0))
        if self.queue.at_once(numbers):
            self._rounds.settle(active, numbers, values, truth, weight)
            self.queue.paid_alone(numbers)
        else:
            delays.record(self.tables, active, numbers, values, truth, weight)
            self._pay(self.queue.close(numbers, (active, numbers, float(values[0]), weight)))
        settled = Play(active, numbers)
        if values[ACTUAL] != values[0] or shown != settled.prediction:
            self._count_difference(settled, values, weight, shown)
        if cut != y:
            self._outside(y)
        return None

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array) -> Array | None:
        """Row after row without Python between, up to the first label outside the range; None where not even one row can go so."""
        if (
            self.labels is None
            or not self._rounds.replays
            or self.queue.busy
            or self.setup.batch > 1
            or self.setup.shares == "drawn"
        ):
            return None
        inside = (labels >= self.labels[0]) & (labels <= self.labels[1])
        count = labels.size if inside.all() else int(np.argmin(inside))
        if count == 0:
            return None
        numbers = np.zeros(SIZE)
        self.queue.place(numbers, 1)
        numbers[[FROM, WIDTH]] = self.tables.setting[[LO, LENGTH]]
        made = self._rounds.replay(members[:count], base[:count], labels[:count], weights[:count], numbers)
        self.queue.paid[0] += int(np.count_nonzero(weights[:count]))
        return made

    # ---- how it is going ---------------------------------------------------------------------------------------------------
    @property
    def rounds(self) -> int:
        """Outcomes learned."""
        return int(self.tables.rows[0])

    @property
    def weight(self) -> float:
        """Σ of their weights."""
        return float(self.tables.running[ROUNDS])

    def squared(self) -> Array:
        """K₂ of each group."""
        t = self.tables
        return np.asarray((t.sum**2 / np.where(t.count > 0, t.count, 1.0)).sum(axis=1))

    def bounds(self) -> Array:
        """What is promised for K₂ of each group; infinite where nothing is."""
        if not self.queue.proven:
            return np.full(self.tables.groups, np.inf)
        extra = math.log(1.0 / self.setup.delta) if self.setup.shares == "drawn" else 0.0
        sides = cell_bounds(self.tables, open_at_once=self.setup.open_at_once, lost_rates=self.lost_rates, extra=extra)
        return squared_bounds(self.tables, *sides, self.excess)

    def table(self) -> dict[str, NDArray[Any]]:
        """One row per group."""
        return reading.table_of(self)

    def headline(self) -> str:
        """What is played, for the summary."""
        return f"sharp: {self.rounds:,} rounds, {len(self.setup.members.names)} groups, {self.setup.buckets} buckets"

    def notes(self) -> list[str]:
        """What a reader of the bound should know."""
        return reading.notes_of(self)

    # ---- keeping ------------------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tables": self.tables.to_json(),
            "labels": None if self.labels is None else list(self.labels),
            "clipped": self.clipped,
            "lost_rates": self.lost_rates,
            "excess": self.excess.tolist(),
            "queue": self.queue.to_json(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over `state`."""
        labels = None if state["labels"] is None else checks.interval(tuple(state["labels"]))
        excess = np.asarray(state["excess"], dtype=np.float64)
        if excess.shape != self.excess.shape or not np.isfinite(excess).all() or (excess < 0).any():
            raise ValueError("excess must hold one number per cell")
        if self.setup.labels is not None and labels != self.setup.labels:
            raise ValueError("the range of labels is not that of the settings")
        self.tables.restore(state["tables"])
        self.labels, self.excess[:] = labels, excess
        self.clipped, self.lost_rates = int(state["clipped"]), int(state["lost_rates"])
        self.queue.restore(state["queue"], self.play_from_json)

    def reopen(self, plays: Iterable[Play]) -> None:
        """Exactly these outcomes are awaited."""
        self.queue.reopen([play.numbers for play in plays])

    def play_to_json(self, play: Play) -> Any:
        """Plain data."""
        return play.to_json()

    def play_from_json(self, data: Any) -> Play:
        """The play that `play_to_json` described."""
        return Play.from_json(data, self.tables.groups, self.tables.buckets, self.tables.copies)

    def _settled_at_once(self, play: Play, y: float, weight: float) -> bool:
        """The usual case without Python: the label lies in the range, and the range is that of the play."""
        active, numbers = play
        if (
            not self._rounds.replays
            or self.labels is None
            or not self.labels[0] <= y <= self.labels[1]
            or numbers.item(WIDTH) != self.tables.setting.item(LENGTH)
            or not self.queue.at_once(numbers)
        ):
            return False
        self._rounds.learn(active, numbers, y, weight)
        self.queue.paid_alone(numbers)
        return True

    # ---- inside ---------------------------------------------------------------------------------------------------------------
    def _values(self, numbers: Array, cut: float, y: float, shown: float) -> Array:
        lo, length = self.tables.setting[[LO, LENGTH]]
        points = np.empty(VALUES)
        points[0], points[ACTUAL] = numbers[PREDICTION], shown
        points[1], points[2:ACTUAL] = lo + length * numbers[GUIDE], lo + length * numbers[EXPERT : EXPERT + LEARNERS]
        labels = np.full(VALUES, cut)
        labels[ACTUAL] = y if self.setup.labels is None else cut
        values = np.asarray(self.setup.prop.identify(points, labels), dtype=np.float64)
        low, high = self.value_bounds
        if not (-low <= values[0] <= high):
            raise broken_promise(self.setup.prop, points[0], cut, values[0], (-low, high))
        return values

    @property
    def value_bounds(self) -> tuple[float, float]:
        """|V_min| and V_max that the bets count on, with a little room for rounding."""
        low, high = self.tables.setting[3:5].tolist()
        return low * (1 + 1e-9), high * (1 + 1e-9)

    def _at_best(self, y: float) -> float:
        """The prediction that would be right if the label were certain."""
        return y if self.tables.setting[KIND] else float(self.setup.prop.solve_points(np.array([y]))[0])

    def _draw(self, numbers: Array, draw: float) -> None:
        if numbers[SHARE] < 1.0:
            numbers[BUCKET] += draw >= numbers[SHARE]
            numbers[SHARE] = 1.0

    def _span(self, labels: tuple[float, float]) -> Any:
        self.labels = labels
        return span_of(self.setup.prop, labels)

    def _begin_range(self, active: Index, numbers: Array, y: float) -> None:
        """The first label decides on a range. Nothing is owed anywhere yet, so any bucket will do for what was published before it."""
        published, domain = float(numbers[PREDICTION]), self.setup.prop.label_domain
        lo, hi = first_range(y, published)
        labels = max(lo, domain.lo), min(hi, domain.hi)
        set_range(self.tables, self._span(labels))
        base = published if numbers[PREDICTION] != 0.0 else math.nan
        self._rounds.choose(active, base, numbers)
        numbers[PREDICTION] = published
        numbers[[FROM, WIDTH]] = self.tables.setting[[LO, LENGTH]]

    def _count_difference(self, play: Play, values: Array, weight: float, shown: float) -> None:
        """V of what was published and of the label as it came, where the bets were paid for something else."""
        for bucket, share in play.buckets:
            self.excess[play.active, bucket] += weight * share * abs(values[ACTUAL] - values[0])
            self.tables.level[play.active, bucket] += weight * share * (shown - play.prediction)

    def _outside(self, y: float) -> None:
        self.clipped += 1
        if self.setup.labels is not None:
            return
        assert self.labels is not None
        domain = self.setup.prop.label_domain
        lo, hi = grown_range(*self.labels, y)
        self.lost_rates += grow(self.tables, self._span((max(lo, domain.lo), min(hi, domain.hi))))

    def _pay(self, complete: list[delays.Told] | None) -> None:
        if complete is not None:
            delays.pay_batch(self.tables, complete, self.setup.batch)
