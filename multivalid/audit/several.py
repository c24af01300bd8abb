"""The audit of a target whose coordinates are judged one by one: several quantiles, several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit, Cell
from multivalid.audit.coordinate import chance_columns
from multivalid.audit.text import headlines, unknown_lines, worst_table
from multivalid.cells.chance import findings
from multivalid.cells.sentences import is_off, unknown
from multivalid.cells.short_names import WIDEST
from multivalid.sources.memory import MemorySource

if TYPE_CHECKING:
    from multivalid.properties import Target

SHARED = ("name", "rows", "weight")


class SeveralAudit(Audit):
    """What `audit` found for a target of several coordinates, each on the levels of its own prediction.

    Attributes
    ----------
    parts : tuple of Audit
        One per coordinate.
    table : dict of arrays
        One row per group: name, rows, weight, and the columns of `Audit.table` of each coordinate, which begin with its name. Tests
        and intervals share one 5 % over all groups of all coordinates.
    cells : dict of arrays
        The cells of all coordinates, with a column that says which.
    broken : int
        How many rows break the target's constraint: quantiles that cross, probabilities that do not sum to one.

    Examples
    --------
    >>> import multivalid as mv
    >>> found = mv.audit([1.0, 2.0, 3.0], [[1.0, 2.0]] * 3, groups=[], property=mv.Quantiles([0.3, 0.7]))
    >>> len(found.parts), found.error == max(part.error for part in found.parts)
    (2, True)
    """

    def __init__(self, source: MemorySource, target: Target, parts: Sequence[Audit]) -> None:
        self.property, self.parts, self._source = target, tuple(parts), source
        self.grids = tuple(part.grid for part in parts)
        self.broken = int(np.count_nonzero(target.breaks(source.columns)))
        self.groups = parts[0].groups.noting([target.broken(self.broken, len(source))])
        self.coordinates = tuple(part.coordinates[0] for part in parts)
        self._findings = findings([one.evidence for one in self.coordinates])
        for one, said in zip(self.coordinates, self._findings, strict=True):
            one.table.update(chance_columns(said, one.evidence))
        self.table = self._table()
        names = [np.full(part.cells["group"].size, key) for part, key in zip(parts, target.keys, strict=True)]
        self.cells = {"coordinate": np.concatenate(names)} | {
            name: np.concatenate([part.cells[name] for part in parts]) for name in parts[0].cells
        }

    def _table(self) -> dict[str, NDArray[Any]]:
        table = {name: self.parts[0].table[name] for name in SHARED}
        for part, key in zip(self.parts, self.property.keys, strict=True):
            table |= {f"{key}_{name}": column for name, column in part.table.items() if name not in SHARED}
        return table

    @property
    def error(self) -> float:
        """The largest V-error of any group and coordinate."""
        return max(part.error for part in self.parts)

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance in any column, the worst of them named with the column."""
        groups, columns = len(self.table["name"]), f"{len(self.parts)} columns"
        left = sum(unknown(part.table).size for part in self.parts)
        rest = f" For {left} of {groups * len(self.parts)} (group, column) the rows are too few to tell." if left else ""
        if not self.off:
            return f"None of {groups} groups is off beyond chance at 5 % in any of {columns}.{rest}"
        found = [
            (-part.table["rms"][i], f"{part.table['name'][i]} ({key})")
            for part, key in zip(self.parts, self.property.keys, strict=True)
            for i in np.flatnonzero(is_off(part.table))
        ]
        named = ", ".join(name for _, name in sorted(found)[:3]) + (", …" if len(found) > 3 else "")
        verb = "is" if len(self.off) == 1 else "are"
        return f"{len(self.off)} of {groups} groups {verb} off beyond chance at 5 % in at least one of {columns}: {named}.{rest}"

    @property
    def headlines(self) -> list[str]:
        """A sentence for each group and column that is off, worst first within a column."""
        told = zip(self.coordinates, self.property.keys, strict=True)
        return [f"{key}, {line}" for one, key in told for line in headlines(one.table, one.units)]

    @property
    def fans(self) -> list[dict[str, Any]]:
        """For the groups with the largest errors: predicted and observed quantiles along the prediction; none for classes."""
        from multivalid.report.fans import GROUPS, fan

        if self.property.coupled:
            return []
        source, target = self._source, self.property
        assert isinstance(source, MemorySource)  # rows with several columns were fetched when they were opened
        errors = np.max([part.table["error"] for part in self.parts], axis=0)
        made = []
        for g in np.argsort(-errors, kind="stable")[:GROUPS]:
            inside = source.membership.mask(int(g))
            if inside.any():
                rows = source.columns[inside], source.labels[inside], source.weights[inside]
                made.append(fan(str(self.table["name"][g]), target.keys, [one.predicted for one in target.coordinates], *rows))
        return made

    def worst(self, k: int = 10) -> list[Cell]:
        """The k cells of any column that contribute most to the error, largest first; `cells` says of which column each is."""
        order = np.argsort(-self.cells["error"], kind="stable")[:k]
        return [Cell(**{name: self.cells[name][i].item() for name in Cell._fields}) for i in order]

    def summary(self, k: int = 10, widest: int | None = WIDEST) -> str:
        """The verdict and the k worst groups of each column, as text that fits a terminal; `widest` as in `Audit`."""
        told = [
            "\n".join([key, *unknown_lines(one.table, one.units), worst_table(one.table, one.units, k, widest)])
            for one, key in zip(self.coordinates, self.property.keys, strict=True)
        ]
        return "\n\n".join(["\n".join([self.verdict, *self.headlines[:k]]), *told, "\n".join(self.groups.notes)]).rstrip()
