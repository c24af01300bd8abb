"""The audit of a target whose coordinates are judged one by one: several quantiles, several classes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.audit.coordinate import Columns, CoordinateAudit, Tabulated
from multivalid.audit.result import Audit
from multivalid.audit.text import unknown_lines, worst_table
from multivalid.cells.sentences import headline, is_off, unknown, worst_first
from multivalid.cells.short_names import WIDEST
from multivalid.sources.engine import EngineSource
from multivalid.sources.memory import MemorySource

if TYPE_CHECKING:
    from multivalid.properties import Target
    from multivalid.sources.open import Opened


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

    def __init__(self, source: Opened, target: Target, read: Tabulated) -> None:
        super().__init__(source, target, read)
        assert not isinstance(source, EngineSource)  # it has one column
        self.broken = source.broken(target)
        self.groups = self.groups.noting([target.broken(self.broken, len(source))])

    @cached_property
    def parts(self) -> tuple[Audit, ...]:
        """Each column as an audit of its own, with tests and intervals that hold for all columns together."""
        made = []
        for k, one in enumerate(self.coordinates):
            grids, sums, laws = self._read
            part = Audit(self._source.column(k), one.property, Tabulated((grids[k],), (sums[k],), (laws[k],)))
            part.coordinates = (one,)
            made.append(part)
        return tuple(made)

    @cached_property
    def cells(self) -> Columns:
        """The cells of all columns, and which column each is of."""
        found = [one.cells for one in self.coordinates]
        names = [np.full(cells["group"].size, key) for cells, key in zip(found, self.property.keys, strict=True)]
        columns = {name: np.concatenate([cells[name] for cells in found]) for name in found[0]}
        return {"coordinate": np.concatenate(names)} | columns

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance in any column, the worst of them named with the column."""
        groups, columns = len(self.table["name"]), f"{len(self.grids)} columns"
        left = sum(unknown(one.table).size for one in self.coordinates)
        rest = f" For {left} of {groups * len(self.grids)} (group, column) the rows cannot tell." if left else ""
        if not self.off:
            return f"None of {groups} groups is off beyond chance at 5 % in any of {columns}.{rest}"
        found = [f"{one.table['name'][i]} ({key})" for one, key, i in self._worst_first()]
        named = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        verb = "is" if len(self.off) == 1 else "are"
        return f"{len(self.off)} of {groups} groups {verb} off beyond chance at 5 % in at least one of {columns}: {named}.{rest}"

    @property
    def headlines(self) -> list[str]:
        """A sentence for each group and column that is off, worst first, as in the verdict."""
        return [f"{key}, {headline(one.table, one.units, i)}" for one, key, i in self._worst_first()]

    def _worst_first(self) -> list[tuple[CoordinateAudit, str, int]]:
        """Column, its name and the group's place, for all that are off, by how far off they are typically."""
        named = zip(self.coordinates, self.property.keys, strict=True)
        found = [(one, key, int(i)) for one, key in named for i in worst_first(one.table) if is_off(one.table)[i]]
        return sorted(found, key=lambda at: -float(at[0].table["rms"][at[2]]))

    @property
    def fans(self) -> list[dict[str, Any]]:
        """For the groups with the largest errors: predicted and observed quantiles along the prediction; none for classes,
        nor for rows that stay in an engine."""
        from multivalid.report.fans import GROUPS, fan

        source, target = self._source, self.property
        if target.coupled or not isinstance(source, MemorySource):
            return []
        errors = np.max([one.table["error"] for one in self.coordinates], axis=0)
        made = []
        for g in np.argsort(-errors, kind="stable")[:GROUPS]:
            inside = source.membership.mask(int(g))
            if inside.any():
                rows = source.columns[inside], source.labels[inside], source.weights[inside]
                made.append(fan(str(self.table["name"][g]), target.keys, [one.predicted for one in target.coordinates], *rows))
        return made

    def summary(self, k: int = 10, widest: int | None = WIDEST) -> str:
        """The verdict and the k worst groups of each column, as text that fits a terminal; `widest` as in `Audit`."""
        columns = [
            "\n".join([key, *unknown_lines(one.table, one.units), worst_table(one.table, one.units, k, widest)])
            for one, key in zip(self.coordinates, self.property.keys, strict=True)
        ]
        return "\n\n".join(["\n".join([self.verdict, *self.headlines[:k]]), *columns, "\n".join(self.groups.notes)]).rstrip()
