"""Labels of a lazy frame held against a property."""

from __future__ import annotations

import narwhals as nw
import numpy as np

from multivalid.atoms.names import LABEL
from multivalid.errors import InputError
from multivalid.groups.remote import Frame, fetch
from multivalid.properties import Property
from multivalid.properties.ops import expressions
from multivalid.properties.scale import check_size
from multivalid.sources.totals import Totals


def check_labels(prop: Property, frame: Frame, totals: Totals) -> None:
    """Refuse properties that the engine cannot add up, labels outside the property's domain, and numbers of no ordinary size."""
    check_size(np.array([totals.lowest, totals.highest]), "y_pred", small=False)
    prop.check_engine()
    domain = prop.label_domain
    if totals.least < domain.lo or totals.most > domain.hi:
        raise InputError(
            f"y_true must lie in [{domain.lo:g}, {domain.hi:g}] for {prop!r}, but it goes from {totals.least:g} to "
            f"{totals.most:g}; rescale the labels or choose another property."
        )
    check_size(np.array([totals.least, totals.most]), "y_true")
    denominator = prop.must_be_positive(expressions(), nw.col(LABEL))
    if denominator is not None:
        smallest = fetch(frame.select(denominator.min().alias("least")))["least"].item()
        if smallest <= 0:
            raise InputError(f"y_true must keep the denominator of {prop!r} positive, but it goes down to {smallest:g}.")
