"""Labels as files have them: classes by name, and rows whose label is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multivalid.cli.exits import usage
from multivalid.groups.family import MISSING, Groups
from multivalid.sources.given import MISSING_ROWS, Given

_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL")


@dataclass(frozen=True)
class LabelOptions:
    """What was said about labels and about missing values: --positive, --missing-rows, --missing."""

    positive: str | None
    missing_rows: str = MISSING_ROWS[0]
    missing: str = MISSING[0]

    def __post_init__(self) -> None:
        for name, value, known in (("--missing-rows", self.missing_rows, MISSING_ROWS), ("--missing", self.missing, MISSING)):
            if value not in known:
                raise usage(f"{name} {value!r} must be {' or '.join(known)}.")

    def numeric(self, label: list[str]) -> list[str]:
        """The label among the columns that must hold numbers, unless it holds classes."""
        return label if self.positive is None else []

    def accept(self, rows: Any, label: str, items: list[Any]) -> tuple[Any, Groups]:
        """The rows with labels that are numbers and known, and the groups, with a note where rows were left out."""
        positive = None if self.positive is None else self._value(rows, label)
        given = Given(label, label, Groups(items, missing=self.missing), rows).accept(positive, self.missing_rows)
        return given.data, given.groups

    def _value(self, rows: Any, label: str) -> Any:
        """--positive as a value of the column: a number beside numbers, true or false beside booleans."""
        assert self.positive is not None
        kind = dict(zip(rows.columns, map(str, rows.types), strict=True)).get(label, "VARCHAR")
        if kind == "BOOLEAN" and self.positive.lower() in ("true", "false"):
            return self.positive.lower() == "true"
        if any(word in kind for word in _NUMBERS):
            try:
                return float(self.positive)
            except ValueError:
                raise usage(f"--positive {self.positive!r} cannot be a value of {label!r}, which holds numbers.") from None
        return self.positive
