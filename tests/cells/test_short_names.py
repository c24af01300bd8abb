"""Names in a table stay apart, however they are cut; what is piped is not cut at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import multivalid as mv
from multivalid.cells.short_names import short_names


@given(st.lists(st.text("ab =&[)", max_size=60), max_size=8, unique=True), st.integers(20, 40))
def test_names_stay_apart(names: list[str], most: int) -> None:
    cut = short_names(names, most)
    assert len(set(cut)) == len(names)
    assert cut == names or all(len(name) <= most for name in cut)
    assert short_names(names, None) == names


@pytest.mark.parametrize("ending", ["[18, 25)", "[25, 45)"])
def test_a_summary_keeps_what_differs(ending: str) -> None:
    rng = np.random.default_rng(0)
    start = "occupation = a long description of the work & age in "
    groups = {f"{start}{one}": rng.random(400) < 0.5 for one in ("[18, 25)", "[25, 45)")}
    found = mv.audit((rng.random(400) < 0.5).astype(float), np.full(400, 0.5), groups=groups)
    assert ending in found.summary().split("95 % interval")[1]
    assert f"{start}{ending}" in found.summary(widest=None).split("95 % interval")[1]
