"""Choices and units of the practical fit: which link, which size of V, how many rules."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import multivalid as mv
from multivalid.practical.data import Matching, Outcomes
from multivalid.practical.from_columns.folds import ONE_SPLIT
from multivalid.practical.from_columns.ways import FEWEST_RULES, Ways
from multivalid.practical.link import OwnUnits, choose_link

SHARES = np.array([0.0, 0.2, 0.9, 1.0])


@pytest.mark.parametrize(("said", "kind"), [([0.1, 0.9], "logit"), ([-0.1, 0.9], "identity"), ([0.1, 1.1], "identity")])
def test_one_prediction_outside_of_its_range_is_enough_to_leave_log_odds(said, kind):
    assert choose_link(mv.Mean(), SHARES, np.array(said)).kind == kind


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_sums_are_taken_of_ordinary_numbers_whatever_the_unit_of_labels(size):
    loss = Matching(mv.Mean(), OwnUnits(0.0, size))
    found = loss.identify(np.array([-1.0, 0.5]), Outcomes(np.array([1.0, 0.0]) * size, np.array([1.0, 3.0])))
    assert 0.1 < np.abs(found).max() < 10
    assert found * loss.unit == pytest.approx(np.array([-2.0, 1.5]) * size)


@pytest.mark.parametrize(("rows", "tried"), [(ONE_SPLIT - 1, [None, 10]), (ONE_SPLIT, [None])])
def test_where_rows_are_few_a_quarter_of_the_rules_is_tried_too(rows, tried, monkeypatch):
    ways, counts = object.__new__(Ways), []
    ways.problem = SimpleNamespace(every=range(rows))
    ways.parts = [SimpleNamespace(rules=lambda plan, number=number: [None] * number) for number in (40, 17)]
    monkeypatch.setattr(
        ways,
        "_some_rules",
        lambda trees, chosen, count: counts.append(count) or SimpleNamespace(gain=np.array([float(count or 0)])),
    )
    best = ways.rules(SimpleNamespace(plans=[None, None]))
    assert counts == tried
    assert best.gain[0] == float(tried[-1] or 0), "the one that gains most"
    assert FEWEST_RULES < 10
