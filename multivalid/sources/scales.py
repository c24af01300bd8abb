"""Labels and predictions on different scales: 1 and 2 for a probability, per cent for zeros and ones. A sentence says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from multivalid.properties import Mean
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.properties import Target


def scale_note(target: Target, totals: Totals, only_one_and_two: Callable[[], bool]) -> str:
    """What looks wrong, or nothing; the labels are asked only where their ends are 1 and 2.

    Examples
    --------
    >>> totals = Totals(4, 4.0, 4.0, lowest=3.0, highest=87.0, least=0.0, most=1.0, used_least=0.0, used_most=1.0, binary=True)
    >>> scale_note(Mean(), totals, lambda: False)
    'y_true is 0 or 1, but y_pred goes from 3 to 87: if these are per cent, divide them by 100'
    """
    if not isinstance(target, Mean):
        return ""
    if totals.binary and totals.lowest >= 0 and 1 < totals.highest <= 100:
        ends = f"{totals.lowest:g} to {totals.highest:g}"
        return f"y_true is 0 or 1, but y_pred goes from {ends}: if these are per cent, divide them by 100"
    if totals.lowest >= 0 and totals.highest <= 1 and (totals.least, totals.most) == (1.0, 2.0) and only_one_and_two():
        return "y_true is 1 or 2, but y_pred lies between 0 and 1: if 2 is the event that is predicted, pass positive=2"
    return ""
