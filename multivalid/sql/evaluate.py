"""A model's formula written out as the stages of a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multivalid.evaluators import PairByPair
from multivalid.groups.nodes import Condition
from multivalid.sql.conditions import ConditionWriter
from multivalid.sql.dialects import Chain, Dialect
from multivalid.sql.expressions import Sql, SqlOps
from multivalid.sql.members import Members
from multivalid.sql.search import tree


class SqlEvaluator:
    """Rows of a table: results that are kept become columns of a stage of their own."""

    def __init__(self, dialect: Dialect, chain: Chain) -> None:
        self.dialect, self.chain, self.ops = dialect, chain, SqlOps(dialect)

    def place(self, value: Sql, edges: Sequence[float], *, inclusive: bool = False) -> Sql:
        written = [self.dialect.number(edge) for edge in edges]
        return self._sql(tree(value.text, written, [str(k) for k in range(len(edges) + 1)], strict=not inclusive))

    def look_up(self, place: Sql, values: Sequence[float]) -> Sql:
        leaves = [self.dialect.number(value) for value in values]
        return self._sql(self.dialect.look_up(place.text, dict(enumerate(leaves)), leaves[0], len(leaves)))

    def keep(self, name: str, value: Sql) -> Sql:
        self.chain.stages.append({f"mv_{name}": value.text})
        return self._sql(f"mv_{name}")

    def _sql(self, text: str) -> Sql:
        return Sql(self.dialect, text)


class SqlMembers(PairByPair):
    """Groups and conditions on columns as expressions of a formula; `inside` names columns that a model calls otherwise."""

    def __init__(self, members: Members, inside: Mapping[str, str]) -> None:
        self.members, self.inside = members, inside

    def total(self, values: Sequence[float]) -> Any:
        return Sql(self.members.dialect, self.members.total(values))

    def holds(self, group: int) -> Any:
        return Sql(self.members.dialect, self.members.holds(group))

    def answers(self, conditions: Sequence[Condition]) -> list[Any]:
        dialect, first = self.members.dialect, self.members.chain.stages[0]
        writer = ConditionWriter(dialect, lambda name: "src." + dialect.quote(self.inside.get(name, name)))
        named = {f"mv_s{k}": writer.write(condition) for k, condition in enumerate(conditions)}
        first.update(named)
        return [Sql(dialect, name) for name in named]
