"""What one way to correct from columns comes to: rules, what they and the named groups do, trees, and what comes after them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from multivalid.discover.bins import Codes
from multivalid.discover.forest import add_trees
from multivalid.discover.grow import Node
from multivalid.practical.candidates import Candidate, up_to
from multivalid.practical.columns import several
from multivalid.practical.rules import Rule
from multivalid.properties.base import Array

Trees: TypeAlias = list[Node]


@dataclass(frozen=True)
class Plan:
    """Rules, what they and the named groups do, trees on top, and what the groups still ask for after those (`last`).

    `grown` are the trees that the rules were nodes of.
    """

    rules: list[Rule]
    start: Candidate
    trees: Trees = field(default_factory=list)
    grown: Trees = field(default_factory=list)
    last: Candidate | None = None

    @property
    def untouched(self) -> bool:
        """Whether the input stays as it is."""
        return self.start.name == "input" and not self.trees

    def with_last(self, stage: str, asked: list[Candidate]) -> Plan:
        """With what its groups still ask for at its end, up to a stage."""
        return replace(self, last=up_to(stage, asked))

    @property
    def size(self) -> str:
        """How many rules and trees."""
        parts = [several(len(self.rules), "rule")] if self.rules else []
        return " and ".join([*parts, several(len(self.trees), "tree")] if self.trees else parts)

    def add_trees(self, codes: Codes, out: Array) -> None:
        """Add what the trees say of rows with these codes."""
        add_trees(self.trees, codes, out)
