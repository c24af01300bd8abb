"""The shifts of cells after the start, round by round: what a saved model holds of them, and how rows are moved by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multivalid import json_checks as read
from multivalid.evaluators import Arrays, DenseMembers, Evaluator, Members, pieces

if TYPE_CHECKING:
    from multivalid.groups.membership import Membership
    from multivalid.properties.base import Array


class Shift(NamedTuple):
    """Rows of `group` in level `level` of round `round` move by `amount` on the link scale."""

    round: int
    group: int
    level: int
    amount: float


@dataclass(frozen=True)
class ShiftRound:
    """One round: edges of the levels on the link scale, and the shifts made in it, in order."""

    edges: Array
    shifts: list[tuple[int, int, float]]

    def shifted(self, by: Evaluator, eta: Any, members: Members) -> Any:
        """η after the shifts of rows of any kind; they add up, so their order does not matter."""
        level = by.keep("level", by.place(eta, self._plain_edges))
        for group, table in self._tables:
            eta = eta + by.ops.where(members.holds(group), by.look_up(level, table), 0.0)
        return eta

    def apply(self, eta: Array, membership: Membership) -> Array:
        """The same for arrays."""
        out = np.empty_like(eta)
        for rows in pieces(eta.size):
            out[rows] = self.shifted(Arrays(), eta[rows], DenseMembers(membership, rows.start, rows.stop))
        return out

    @cached_property
    def _plain_edges(self) -> list[float]:
        return [float(edge) for edge in self.edges]

    @cached_property
    def _tables(self) -> list[tuple[int, list[float]]]:
        """Per group, its shift at every level."""
        tables: dict[int, list[float]] = {}
        for group, level, amount in sorted(self.shifts):
            tables.setdefault(group, [0.0] * (self.edges.size + 1))[level] += amount
        return list(tables.items())

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"edges": self.edges.tolist(), "shifts": [list(shift) for shift in self.shifts]}

    @classmethod
    def from_json(cls, data: Any, groups: int) -> ShiftRound:
        """The round that `to_json` described, every index checked."""
        found = read.record(data, "a round of shifts", ("edges", "shifts"))
        edges = read.increasing(found["edges"], "the edges of levels")
        return cls(edges, [_shift(one, groups, edges.size + 1) for one in read.items(found["shifts"], "shifts")])


def _shift(value: Any, groups: int, levels: int) -> tuple[int, int, float]:
    group, level, amount = read.items(value, "a shift [group, level, amount]", 3)
    return read.whole(group, "group", groups - 1), read.whole(level, "level", levels - 1), read.number(amount, "amount")
