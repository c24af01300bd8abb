"""How far off, in the mass-multiplied form: empty cells count zero and nothing is divided by the size of a group.

For a cell (group G, level γ) with mass p = Pr[f = γ, x ∈ G] and mean identification v:

* V-error of G: Σ p·v²  (at most α is α-approximate multicalibration in V-form);
* Γ-error of G: Σ p·(γ − Γ)², Γ solved on the cell's labels (the definition in terms of the property itself);
* ℓ1: Σ p·|v|, at most √(μ(G)·V-error);  ℓ∞: the largest p·|v|.
"""

from __future__ import annotations

import numpy as np

from multivalid.properties.base import Array


def l2(mass: Array, mean: Array) -> Array:
    """Σ p·v² over the levels (axis 0)."""
    return np.asarray((mass * mean**2).sum(axis=0))


def l1(mass: Array, mean: Array) -> Array:
    """Σ p·|v| over the levels."""
    return np.asarray((mass * np.abs(mean)).sum(axis=0))


def linf(mass: Array, mean: Array) -> Array:
    """The largest p·|v| over the levels."""
    return np.asarray((mass * np.abs(mean)).max(axis=0))
