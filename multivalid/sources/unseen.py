"""Predictions that a model has not been fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from multivalid.sources.open import Source


def noting_unseen(source: Source, ends: Sequence[tuple[float, float]]) -> Source:
    """The same rows, with a note that counts the predictions outside the ends of those that a model was fitted on."""
    outside = source.count_outside(ends)
    if not outside:
        return source
    ranges = ", ".join(f"{low:.6g} to {high:.6g}" for low, high in ends)
    verb = "lies" if outside == 1 else "lie"
    note = f"{outside:,} of {len(source):,} predictions {verb} outside {ranges}, the range that the model was fitted on"
    return replace(source, groups=source.groups.noting([note]))
