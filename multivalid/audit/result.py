"""What an audit found: tables, verdicts and sentences, pages and figures. One class for every target."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multivalid.atoms.frames import from_columns
from multivalid.audit.coordinate import Columns, CoordinateAudit, Tabulated, audit_columns
from multivalid.audit.text import WIDEST, headlines, off_groups, unknown_lines, verdict_line, worst_table
from multivalid.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from multivalid.grid import Grid
    from multivalid.groups.family import FittedGroups
    from multivalid.properties import Target
    from multivalid.report.sources import Certified
    from multivalid.sources.open import Opened

SHARED = ("name", "rows", "weight")  # columns of a table that all coordinates have in common


class Cell(NamedTuple):
    """One (group, level): its rows, mean prediction, solved property, mean V with its standard error, its share of the error, and how
    surprising the mean is when predictions are right (z, a normal deviate)."""

    group: str
    level: float
    rows: int
    weight: float
    prediction: float
    value: float
    identification: float
    standard_error: float
    error: float
    z: float


class Audit:
    """What `audit` found.

    Attributes
    ----------
    error : float
        The largest V-error of any group: Σ over levels of share × (mean V)², V being the property's identification function, which
        averages to zero where predictions are right (for a mean, prediction − outcome).
    table : dict of arrays
        One row per group: name, rows, weight, error (V-form), gamma_error (the same with prediction − property in place of mean V),
        l1, linf, worst_level, debiased, chi2 with its degrees of freedom dof, p_value, p_adjusted (nan: the rows cannot tell),
        gap (mean V, in the label's units or as a share covered) with gap_low and gap_high (all intervals hold together with 95 %),
        rms (√(error/share of the rows) without what noise adds: how far off typically along the prediction) with rms_low and rms_high,
        detectable (the gap that would be found in four cases of five; nan where none would), prediction (mean), value (Γ of the
        group's labels).
    cells : dict of arrays
        One row per non-empty (group, level): group, level, rows, weight, prediction, value, identification (mean V), standard_error,
        error (p·v²), z (how surprising, as a normal deviate).
    off : list of str
        Names of the groups that are off beyond chance, worst first.
    verdict : str
        One line for a person.
    property, grid, groups
        What was audited, on which levels, for whom.
    score : float
        Mean score of the predictions.
    fingerprint : str or None
        SHA-256 of labels, predictions, weights and groups.

    Examples
    --------
    >>> from multivalid import audit
    >>> found = audit([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[])
    >>> found.error
    0.0625
    >>> found.worst(1)[0].identification
    -0.25
    """

    def __init__(self, source: Opened, target: Target, read: Tabulated) -> None:
        self.property, self.grids = target, read.grids
        self._source, self._read = source, read
        self.given: tuple[Any, ...] | None = None  # labels, predictions, data, weights and clusters, as `audit` was given them

    @cached_property
    def groups(self) -> FittedGroups:
        """Who was audited, with notes on what was left out, sampled or rounded."""
        laws = dict.fromkeys(one.note for one in self._read.laws if one is not None)
        return self._source.groups.noting([*self._source.notes, *laws])

    # ---- what chance allows one to say is worked out when it is first asked for -----------------------------------
    @cached_property
    def coordinates(self) -> tuple[CoordinateAudit, ...]:
        """What was found for each column of the predictions, on the levels of that column."""
        return audit_columns(self._source, self.property, self._read)

    @cached_property
    def table(self) -> Columns:
        """One row per group."""
        if len(self.coordinates) == 1:
            return self.coordinates[0].table
        table = {name: self.coordinates[0].table[name] for name in SHARED}
        for one, key in zip(self.coordinates, self.property.keys, strict=True):
            table |= {f"{key}_{name}": column for name, column in one.table.items() if name not in SHARED}
        return table

    @cached_property
    def cells(self) -> Columns:
        """One row per non-empty (group, level)."""
        return self.coordinates[0].cells

    @property
    def grid(self) -> Grid:
        """The levels of the (first) column of the predictions."""
        return self.grids[0]

    @property
    def error(self) -> float:
        """The largest V-error of any group, in any column; columns may have different units, see `errors`."""
        return max(self.errors)

    @property
    def errors(self) -> tuple[float, ...]:
        """The largest V-error of any group, for each column."""
        return tuple(float(one.table["error"].max()) for one in self.coordinates)

    @property
    def gamma_errors(self) -> tuple[float, ...]:
        """The largest Γ-error of any group, for each column."""
        return tuple(float(one.table["gamma_error"].max()) for one in self.coordinates)

    @property
    def off(self) -> list[str]:
        """Names of the groups that are off beyond chance, worst first."""
        return list(dict.fromkeys(name for one in self.coordinates for name in off_groups(one.table)))

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance, and for how many the rows cannot tell."""
        return verdict_line(self.table)

    @property
    def headlines(self) -> list[str]:
        """A sentence for each group that is off, worst first: how far, in the label's units, with its interval."""
        return [line for one in self.coordinates for line in headlines(one.table, one.units)]

    @property
    def holdout_bound(self) -> tuple[float, ...]:
        """An upper 95 % limit for the largest error of any group on the population, one per coordinate (asymptotic).

        For rows that played no part in making the predictions. The largest of the groups' own limits is one for the largest error: the
        group whose true error is largest does not depend on the rows.
        """
        return tuple(float(np.max(one.findings.limit)) for one in self.coordinates)

    @property
    def finite_bound(self) -> tuple[float, ...]:
        """Like `holdout_bound`, but resting on no approximation, and so several times larger (finite).

        For probabilities and quantiles, rows that are independent and count alike; nan for anything else, as then V has no known range.
        """
        return tuple(float(np.max(one.evidence.finite())) for one in self.coordinates)

    def worst(self, k: int = 10) -> list[Cell]:
        """The k cells that contribute most to the error, largest first."""
        order = np.argsort(-self.cells["error"], kind="stable")[:k]
        return [Cell(**{name: self.cells[name][i].item() for name in Cell._fields}) for i in order]

    def summary(self, k: int = 10, widest: int | None = WIDEST) -> str:
        """The verdict and the k worst groups, as text that fits a terminal; names have at most `widest` letters, any number with None."""
        (one,) = self.coordinates
        lines = [*self.headlines[:k], *unknown_lines(self.table, one.units)]
        return "\n".join([self.verdict, *lines, "", worst_table(self.table, one.units, k, widest), "", *self.groups.notes]).rstrip()

    def to_frame(self) -> Any:
        """The per-group table as a data frame of the kind that `data` was."""
        return from_columns(self.table, self._source.like)

    # ---- for people: see multivalid.report -----------------------------------------------------------------------
    @cached_property
    def score(self) -> float | None:
        """Mean score of the predictions (for a quantile its pinball loss, up to a part that no prediction changes)."""
        return self.coordinates[0].score

    @cached_property
    def fingerprint(self) -> str | None:
        """SHA-256 of labels, predictions, weights and groups: equal for equal data; None for rows that stayed in their engine."""
        return self._source.fingerprint()

    @property
    def fans(self) -> list[dict[str, Any]]:
        """Predicted and observed quantiles of the worst groups, where several quantiles are predicted; nothing here."""
        return []

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        before: Audit | None = None,
        certificate: Certified | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write one self-contained HTML page, and its numbers beside it as JSON.

        Parameters
        ----------
        path : path
            Ends in .html (page and JSON) or in .json (JSON only).
        before : Audit, optional
            Of other predictions for the same rows and groups, to compare with; with the same `grid=` errors compare too.
        certificate : Certificate, optional
            Of the calibration that made the predictions.
        title : str, optional
            Heading of the page.
        settings : mapping, optional
            What else a reader needs to repeat the numbers: file names, model versions.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> from multivalid import audit
        >>> audit([0, 0, 1, 1], [0.2, 0.2, 0.7, 0.7], groups=[]).report(folder / "report.html").name
        'report.html'
        >>> sorted(file.name for file in folder.iterdir())
        ['report.html', 'report.report.json']
        """
        from multivalid.report.page import write
        from multivalid.report.sources import story

        return write(story(self, before, certificate, title, self.groups.notes, settings or {}), path)

    def plot_reliability(self, group: str | None = None, *, coordinate: int = 0, ax: Any = None, **style: Any) -> Any:
        """Observed against predicted for a group (the worst when None) with a 95 % band, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.reliability(self._coordinate(coordinate), group, ax=ax, **style)

    def plot_heatmap(self, groups: list[str] | int = 24, *, coordinate: int = 0, ax: Any = None) -> Any:
        """Group × level of mean V in standard errors, for the worst or the named groups, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.heatmap(self._coordinate(coordinate), groups, ax=ax)

    def plot_groups(self, k: int = 15, *, coordinate: int = 0, ax: Any = None) -> Any:
        """The k largest errors as bars on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.groups(self._coordinate(coordinate), k, ax=ax)

    def _coordinate(self, which: int) -> CoordinateAudit:
        """For figures: what is audited, column by column."""
        if which not in range(len(self.coordinates)):
            known = " or ".join(f"{k} ({one.property!r})" for k, one in enumerate(self.coordinates))
            raise InputError(f"coordinate must be {known}, got {which!r}.")
        return self.coordinates[which]

    property: Any  # what is audited; last: it hides the decorator

    def _repr_html_(self) -> str:
        from multivalid.notebook import panel

        return panel(f"{type(self).__name__} of {self.property!r}", self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.property!r}: {self.verdict}>"
