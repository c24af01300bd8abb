"""Edges of the buckets: quantiles of the guide so far, renewed after 64, 128, 256, … rounds.

They come from a sample of 1,024 guides in which every round has the same chance to be; who is replaced is a fixed function of the
number of the round, so that a learner is a function of its stream.
"""

from __future__ import annotations

import numpy as np

from multivalid.online.sharp.tables import GUIDES, KEPT, USED, Tables

FIRST = 64
MASK = (1 << 64) - 1


def keep_guide(t: Tables, guide: float) -> None:
    """Take the guide of a round into the sample, and renew the edges when it is time."""
    seen = int(t.running.item(GUIDES))
    slot = seen if seen < KEPT else scramble(seen) % (seen + 1)
    if slot < KEPT:
        t.kept[slot] = guide
    seen += 1
    t.running[GUIDES] = seen
    if seen >= FIRST and seen & (seen - 1) == 0:
        renew(t, min(seen, KEPT))


def renew(t: Tables, size: int) -> None:
    """Edges at the m-quantiles of the sample; equal ones count once, and then fewer buckets are in use."""
    ordered = np.sort(t.kept[:size])
    wanted = np.unique(ordered[np.arange(1, t.buckets) * size // t.buckets])
    inside = wanted[(wanted > 0) & (wanted < 1)]
    t.edge[: inside.size] = inside
    t.running[USED] = inside.size + 1


def scramble(x: int) -> int:
    """SplitMix64: the same number for the same round on every machine."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)
