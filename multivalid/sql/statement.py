"""One SELECT that adds a model's predictions to a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from multivalid.atoms.names import PREDICTION
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups
from multivalid.sql.dialects import Chain, dialect_of
from multivalid.sql.evaluate import SqlEvaluator, SqlMembers
from multivalid.sql.expressions import Sql, written
from multivalid.sql.members import Members


class Formula(Protocol):
    """A predictor that can be written out."""

    def predicted(self, by: Any, predictions: Sequence[Any], members: Any) -> list[Any]:
        """Calibrated predictions of rows of any kind."""


def statement(
    predictor: Formula, groups: FittedGroups, table: str, predictions: Sequence[str], outputs: Sequence[str], dialect: str
) -> str:
    """The statement; `predictions` are columns of the table, `outputs` what the calibrated ones are called."""
    way = dialect_of(dialect)
    if not isinstance(table, str) or not table:
        raise InputError(f"table must be the name of a table, got {table!r}.")
    chain = Chain(".".join(way.quote(part) for part in table.split(".")))
    members = Members(groups, way, chain)
    by = SqlEvaluator(way, chain)
    given = []
    for k, name in enumerate(predictions):
        chain.stages[0][f"mv_p{k}"] = way.as_double("src." + way.quote(name))
        given.append(Sql(way, f"mv_p{k}"))
    values = predictor.predicted(by, given, SqlMembers(members, dict(zip([PREDICTION], predictions, strict=False))))
    # A row without a prediction stays without one, whatever the comparisons along the way made of it.
    missing = " OR ".join(f"mv_p{k} IS NULL OR {_nan(way.name, f'mv_p{k}')}" for k in range(len(given)))
    for name, value in zip(outputs, values, strict=True):
        chain.outputs[way.quote(name)] = f"CASE WHEN {missing} THEN NULL ELSE {written(way, value)} END"
    return way.select(chain)


def _nan(dialect: str, value: str) -> str:
    return {"postgres": f"{value} = 'NaN'::float8", "sqlite": "FALSE"}.get(dialect, f"isnan({value})")
