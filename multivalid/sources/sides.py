"""The rows to fit and those held out: which they are, and a sample of both that is drawn by one look at all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw

from multivalid.atoms.names import HELD
from multivalid.groups.remote import Frame, draw
from multivalid.sources.stored import Folder
from multivalid.sources.totals import Totals

MOST_BESIDE = 3  # rows of both kinds that may come for one that is wanted


class Marked(NamedTuple):
    """Which rows are held out, and the totals of the others and of these."""

    holdout: str
    fitted: Totals
    held: Totals


@dataclass
class Draws:
    """Of a frame that says of each row whether it is held out, drawn when first asked for; `folder` is where its rows are, if in one."""

    frame: Frame
    rows: int
    folder: Folder | None = None
    _drawn: tuple[nw.DataFrame[Any], bool] | None = None

    def draw(self, columns: Sequence[str], rows: int, of: int, held: bool, seed: int) -> tuple[nw.DataFrame[Any], bool] | None:
        """About `rows` of one kind, of which there are `of`, and whether they were drawn at random; None where too many others would come.

        A second call gets what the first has drawn.
        """
        if self._drawn is None:
            wanted = self.rows if rows >= of else round(rows * self.rows / of)
            if wanted > MOST_BESIDE * rows:
                return None
            self._drawn = draw(self.frame.select(*columns, HELD), wanted, self.rows, seed)
        lines, at_random = self._drawn
        return lines.filter(nw.col(HELD) if held else ~nw.col(HELD)), at_random


class Side(NamedTuple):
    """The rows to fit, or those held out."""

    draws: Draws
    held: bool

    @property
    def condition(self) -> nw.Expr:
        """Which rows these are."""
        return nw.col(HELD) if self.held else ~nw.col(HELD)
