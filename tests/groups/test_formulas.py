"""How many rows an engine draws, when it does, and how many edges a person may give."""

from __future__ import annotations

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.groups import lazy
from multivalid.groups.kept import MOST_GROUPS
from multivalid.groups.remote import draw


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_about_as_many_rows_are_drawn_as_were_asked_for(engine):
    frame = pl.DataFrame({"i": np.arange(20_000)})
    native = duckdb.from_arrow(frame.to_arrow()) if engine == "duckdb" else frame.lazy()
    drawn, at_random = draw(nw.from_native(native), 2_000, 20_000, 5)
    places = np.sort(drawn["i"].to_numpy())
    assert at_random
    assert 1_750 < len(drawn) < 2_250
    assert 9_000 < places.mean() < 11_000, "from everywhere"


def test_edges_of_many_values_come_from_a_sample_and_of_few_from_all_rows(monkeypatch):
    monkeypatch.setattr(lazy, "SAMPLE", 1_000)
    monkeypatch.setattr(lazy, "FEW_VALUES", 100)
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"many": rng.random(5_000), "few": rng.integers(0, 50, 5_000), "y": rng.random(5_000), "p": np.full(5_000, 0.5)}
    )
    for name, sampled in (("many", True), ("few", False)):
        there, here = (mv.audit("y", "p", data=data, groups=[mv.bins(name, 4)]).groups for data in (frame.lazy(), frame))
        assert any("edges come from a sample" in note for note in there.notes) == sampled
        assert (there.names == here.names) != sampled


def test_there_may_be_as_many_edges_as_groups_and_one_more():
    assert mv.bins("x", edges=range(MOST_GROUPS + 1)) is not None
    with pytest.raises(InputError, match="at least two increasing numbers"):
        mv.bins("x", edges=range(MOST_GROUPS + 2))
