"""`discover`: for whom are the predictions off, when nobody has named the groups?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.frames import from_columns
from multivalid.discover import sentences
from multivalid.discover.coordinates import Searched
from multivalid.errors import InputError
from multivalid.groups.remote import gather, lazy_frame
from multivalid.levels import SIGNIFICANCE
from multivalid.properties.target import Target
from multivalid.report.origin import origin
from multivalid.scope import require
from multivalid.sources.given import Given
from multivalid.threads import one_blas_thread

if TYPE_CHECKING:
    from pathlib import Path

MOST_CONDITIONS = 3


@dataclass(frozen=True)
class Discovery:
    """What `discover` found.

    Attributes
    ----------
    groups : list of str
        Conditions of the groups that are off beyond chance on rows that the search has not seen, the most telling first; ready for
        `groups=`.
    table : dict of arrays
        One row per group: name, rows and gap on the rows it was tested on (mean V; above zero: predictions too high), gap_low and
        gap_high (intervals that hold together with probability 95 %), p_adjusted (Holm over all candidates tested), found_gap (the
        gap on the rows searched, too large on average), and for several coordinates the coordinate.
    candidates : dict of arrays
        The same for every candidate that was tested, confirmed or not.
    notes : list of str
        Columns left out, samples drawn.
    smallest : float
        The gap in a tenth of the rows that would have been found nine times in ten.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from multivalid import discover
    >>> rng = np.random.default_rng(0)
    >>> data = pd.DataFrame({"city": rng.choice(["Rome", "Oslo"], 4000)})
    >>> found = discover(rng.random(4000) < 0.5, np.full(4000, 0.5), data=data)
    >>> found.groups, found.summary()[:59]
    ([], 'None found; a gap of 13 points in a tenth of the rows would')
    """

    target: Target
    candidates: dict[str, NDArray[Any]]
    coordinates: list[Searched]
    searched: int
    tested: int
    tried: float
    smallest: float
    beyond: int = 0
    notes: list[str] = field(default_factory=list)
    frame: nw.DataFrame[Any] | None = field(default=None, repr=False, compare=False)
    origin: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def table(self) -> dict[str, NDArray[Any]]:
        """The groups that were confirmed."""
        kept = np.flatnonzero(self.candidates["p_adjusted"] <= SIGNIFICANCE)
        return {name: column[kept] for name, column in self.candidates.items()}

    @property
    def groups(self) -> list[str]:
        """Their conditions, each once."""
        return list(dict.fromkeys(str(name) for name in self.table["name"]))

    def summary(self, k: int | None = None) -> str:
        """The groups found (at most k), one line each, or what would have been found; then notes."""
        return "\n".join([*self._lines(k), *self.notes])

    def _lines(self, k: int | None = None) -> list[str]:
        percent = self.coordinates[0].percent
        count = len(self.table["name"])
        if not count:
            return [sentences.nothing(self.smallest, percent, self.tested, self.searched)]
        lines = [sentences.heading(count, self.tested, self.searched, self.tried)]
        if self.beyond:
            lines.append(f"(gaps are what is left beyond the {self.beyond} groups named)")
        for i in range(count)[:k]:
            owner = self.coordinates[int(self.table["place"][i])]
            label = f"[{owner.coordinate.name}] " if len(self.coordinates) > 1 else ""
            lines.append(f"- {label}{sentences.line(self.table, i, owner.prop, owner.percent)}")
        return lines

    def to_frame(self) -> Any:
        """The table as a data frame of the kind that `data` was."""
        return from_columns({name: column for name, column in self.table.items() if name != "place"}, self.frame)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None, settings: Mapping[str, Any] | None = None) -> Path:
        """Write one self-contained HTML page, and its numbers beside it (NAME.report.json); only those when `path` ends in .json.

        `settings` is what else a reader needs to repeat the numbers: file names, model versions.
        """
        from multivalid.discover.page import write

        return write(self, path, title, settings or {})

    def _repr_html_(self) -> str:
        from multivalid.discover.page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        count = len(self.groups)
        return f"<Discovery of {self.target!r}: {count} group{'' if count == 1 else 's'} found on {self.tested:,} rows>"


def discover(
    y_true: Any,
    y_pred: Any,
    *,
    data: Any,
    features: Sequence[str] | None = None,
    property: str | Target = "mean",
    groups: Any = (),
    depth: int = 3,
    most: int = 20,
    test_share: float = 0.5,
    sample_weight: Any = None,
    cluster: Any = None,
    random_state: int = 0,
    positive: Any = None,
    missing_rows: str = "refuse",
) -> Discovery:
    """Find the groups for whom predictions are off, in columns of `data`, and test them on rows that the search has not seen.

    Parameters
    ----------
    y_true, y_pred : array-like, or the name of a column of `data`
        Outcomes and predictions; for a pair, predictions have two columns.
    data : data frame
        Where groups are looked for. A lazy frame is searched on a sample; its other rows are tested by the engine.
    features : list of str, optional
        Columns to look in: numbers, texts, booleans, dates, with or without missing values. All but label and weights when not given.
    property : Property, Pair or str
        What the predictions are of; where they have several columns, these are searched one by one.
    groups : list of items, Groups, or boolean array
        Groups that are known already: what is found is off beyond them.
    depth : {1, 2, 3}
        Most conditions in a group.
    most : int
        Most groups to test.
    test_share : float
        Share of the rows to test on.
    sample_weight : array-like or column name, optional
        How much a row counts.
    cluster : array-like or column name, optional
        Rows of one cluster (a day, a customer) share their luck; clusters are kept whole and are the unit of chance.
    random_state : int
        Seed of the split.
    positive : optional
        The label that counts as 1, such as ">50K" or True; every other one counts as 0.
    missing_rows : {"refuse", "drop"}
        What happens when a label is missing: an error that counts them, or these rows are left out, with a note that counts them.

    Returns
    -------
    Discovery

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> data = pd.DataFrame({"age": rng.integers(18, 90, 8000), "city": rng.choice(["Rome", "Oslo", "Bonn"], 8000)})
    >>> off = (data["age"] >= 60) & (data["city"] == "Oslo")
    >>> y = rng.random(8000) < np.where(off, 0.7, 0.4)
    >>> found = discover(y, np.full(8000, 0.4), data=data)
    >>> found.groups
    ["age >= 59 and city == 'Oslo'"]
    """
    from multivalid.discover.engine_halves import halves_in_engine
    from multivalid.discover.halves import Wanted, halves_in_memory
    from multivalid.discover.run import run

    target: Target = require(property)
    most, deepest, share = validate.count(most, "most"), _depth(depth), validate.fraction(test_share, "test_share")
    if data is None:
        raise InputError("data=None: groups are found in columns, so pass the frame that has them as data=.")
    known = list(groups) if isinstance(groups, tuple) else groups
    rows = Given(y_true, y_pred, known, data, sample_weight, {"cluster": cluster}).accept(positive, missing_rows)
    data = rows.data
    frame = lazy_frame(data)
    if frame is not None and len(target.coordinates) > 1:
        data, frame = gather(frame, "several coordinates are searched"), None
    wanted = Wanted(
        rows.y_true, rows.y_pred, features, rows.groups, target, rows.sample_weight, rows.others["cluster"], share, random_state
    )
    with one_blas_thread():  # the products are small: threads would spin more than they compute
        halves = halves_in_memory(wanted, data) if frame is None else halves_in_engine(wanted, frame)
        made = run(halves, wanted, depth=deepest, most=most)
    asked = {"most conditions": str(depth), "share of rows tested": f"{test_share:g}", "seed": str(random_state)}
    return replace(made, origin={**origin(y_true, y_pred, data, sample_weight, cluster), **asked})


def _depth(depth: Any) -> int:
    if validate.count(depth, "depth") > MOST_CONDITIONS:
        raise InputError(f"depth must be 1, 2 or {MOST_CONDITIONS}, got {depth}; more conditions are hard to read and to confirm.")
    return int(depth)
