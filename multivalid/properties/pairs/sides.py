"""On which side the tail is: losses, of which the large ones hurt, or returns, of which the low ones do."""

from __future__ import annotations

import numpy as np

from multivalid.errors import InputError
from multivalid.properties.base import Array

ENOUGH = 12.0  # outcomes expected beyond value at risk, from which on none at all is no accident (6 in a million)


def check_sides(outcome: Array, value: Array, shortfall: Array, tau: float, *, losses: bool, most: float = 0.0) -> None:
    """Refuse forecasts that lie on the other side than `losses` says, or outcomes whose sign is turned.

    All three are given as losses. A shortfall below its value at risk is no forecast of anything; a share `most` of the rows may have it
    all the same where they are about to be repaired.
    """
    crossed = np.flatnonzero(shortfall < value)
    if crossed.size > most * value.size:
        raise InputError(
            f"expected shortfall lies beyond value at risk: {'es ≥ var for losses' if losses else 'es ≤ var for returns'}, but "
            f"{crossed.size} of {value.size} rows break this, the first at row {crossed[0]}; set {_other(losses, tau)}, or repair the "
            f"forecasts (multicalibrate accepts and repairs a few)."
        )
    expected = (1 - tau) * outcome.size
    beyond, turned = (int(np.count_nonzero(side > value)) for side in (outcome, -outcome))
    if expected >= ENOUGH and beyond == 0 and abs(turned - expected) <= 3 * np.sqrt(expected):
        raise InputError(
            f"the sign of the outcomes contradicts tau = {tau:g}: none of {outcome.size} lies beyond its value at risk, but with their "
            f"sign turned {turned} do, where {expected:.3g} are expected; give outcomes, var and es the same sign, and "
            f"losses={losses} only where they are {'losses' if losses else 'returns'}."
        )


def _other(losses: bool, tau: float) -> str:
    level = f" (tau is the confidence level: {1 - tau:g}, not {tau:g})" if tau < 0.5 else ""
    return f"losses=False if these are returns{level}" if losses else f"losses=True if these are losses{level}"
