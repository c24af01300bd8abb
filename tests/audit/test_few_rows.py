"""So few rows that nothing can be told: what is said then is plain, and on every surface the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

import multivalid as mv

ONE = {
    "event": ([1.0], [0.9], "mean"),
    "quantile": ([100.0], [90.0], "quantile:0.9"),
    "amount": ([100.0], [90.0], "mean"),
}


@pytest.mark.parametrize("kind", ONE)
def test_one_row_tells_nothing(kind, tmp_path):
    pytest.importorskip("jinja2")
    y, said, prop = ONE[kind]
    found = mv.audit(y, said, groups=[], property=prop)
    assert found.verdict == "These rows cannot tell whether any group is off."
    assert np.isnan(found.table["detectable"]).all()
    line = "So few rows can tell nothing: everyone. No gap would be found in four cases of five, however large."
    assert line in found.summary()
    assert "points would be found" not in found.summary()
    page = found.report(tmp_path / "r.html")
    told = json.loads((tmp_path / "r.report.json").read_text("utf-8"))
    assert told["verdict"] == found.verdict
    assert told["too_few_rows"] == [line]
    assert told["groups"][0]["now"]["detectable"] is None
    assert found.verdict in page.read_text("utf-8")


def test_a_gap_that_is_called_detectable_is_possible():
    """No gap of an event is larger than its mean prediction or what is left of 1."""
    rng = np.random.default_rng(3)
    for n in (2, 3, 5, 8, 20, 200):
        f = rng.uniform(0.02, 0.98, n)
        found = mv.audit((rng.random(n) < f) * 1.0, f, groups=[]).table
        assert not found["detectable"][0] > max(f.mean(), 1 - f.mean())
    assert found["detectable"][0] > 0


def test_groups_that_cannot_tell_are_named_by_what_they_lack():
    rng = np.random.default_rng(4)
    n = 3000
    f = rng.uniform(0.2, 0.4, n)
    y = (rng.random(n) < f) * 1.0
    groups = mv.Groups({"one": np.arange(n) == 7, "calm": np.arange(n) < 1000})
    amount = mv.audit(np.where(np.arange(n) < 1000, 0.0, 50 * y), 50 * f, groups=groups)
    text = amount.summary()
    assert "So few rows can tell nothing: one." in text  # one row
    assert "Cannot tell for calm:" in text  # a thousand, all on one side of the predictions
    assert "For 2 the rows cannot tell." in amount.verdict
