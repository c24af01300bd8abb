"""The search for slices against masks of rows and plain loops: every candidate, its rank, its price, and how it is worded."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from multivalid.discover import search as module
from multivalid.discover.bins import Categories, Ordered
from multivalid.discover.literals import literals
from multivalid.discover.search import CHANCE, Search, _different, recentre

ROWS = 2400
BINS = [
    Ordered("a", "number", tuple(float(k) for k in range(1, 12))),
    Categories("c", "text", ("u", "v", "w", "x")),
    Ordered("b", "number", (0.0,)),
    Categories("d", "text", ("p", "q")),
]


def made(seed=0, depth=3, effect=0.6):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, one.size, ROWS) for one in BINS], axis=1).astype(np.uint8)
    values = rng.standard_t(4, ROWS) + effect * ((codes[:, 0] > 7) & (codes[:, 1] == 2)) - 0.3 * (codes[:, 3] == 0)
    found = Search(BINS, codes, values, depth)
    found.squares, found.mean_square = found.residual**2, float(np.mean(found.residual**2))
    return found


class Slow:
    """The same by masks."""

    def __init__(self, search):
        self.search, self.v = search, search.residual
        self.sets = [[np.flatnonzero(row).tolist() for row in one.sets] for one in search.conditions]
        self.least = max(30, int(0.005 * ROWS))

    def mask(self, terms):
        return np.array([all(row[c] in self.sets[c][k] for c, k in terms) for row in self.search.codes.tolist()])

    def rank(self, mask):
        inside = self.v[mask]
        if inside.size < self.least:
            return -math.inf
        return inside.sum() ** 2 / max((inside**2).sum(), inside.size * np.mean(self.v**2))

    def price(self, length):
        counts = [len(one) for one in self.sets]
        pairs = sum(x * y for x, y in itertools.combinations(counts, 2))
        return 2 * math.log([sum(counts), pairs, pairs * sum(counts) / 3][length - 1])

    def best_of(self, column, others):
        """Best rank of one more condition on a column."""
        inside = self.mask(others)
        column_codes = self.search.codes[:, column]
        ranks = [self.rank(inside & np.isin(column_codes, codes)) for codes in self.sets[column]]
        return max(zip(ranks, range(len(ranks)), strict=True), key=lambda one: (one[0], -one[1]))


def wanted_sets(bins, codes):
    """Every condition that is tried on a column, as sets of codes."""
    size, often = bins.size, np.bincount(codes, minlength=bins.size)
    present = range(size - 1)
    sets = [{size - 1}]
    if bins.ordered:
        edges = size - 2
        sets += [{k for k in present if k > edge} for edge in range(edges)] + [
            {k for k in present if k <= edge} for edge in range(edges)
        ]
        coarse = sorted({int(k * (edges - 1) / (min(edges, 8) - 1)) for k in range(min(edges, 8))}) if edges > 1 else [0]
        sets += [{k for k in present if a < k <= b} for a, b in itertools.combinations(coarse, 2)]
        sets += [{k} for k in present if often[k] >= 0.05 * often.sum()]
    else:
        sets += [{k} for k in range(size - 2)]
        if size > 4:
            sets += [set(present) - {k} for k in range(size - 2)]
    return sets


@pytest.mark.parametrize("seed", range(3))
def test_conditions_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    few = [Categories("f", "text", ("u",)), Ordered("w", "number", tuple(map(float, range(30)))), Ordered("o", "number", ())]
    for bins in [*BINS, *few]:
        share = rng.dirichlet(np.ones(bins.size) * 0.6)
        codes = rng.choice(bins.size, 1000, p=share).astype(np.uint8)
        least = 40
        wanted = {frozenset(one) for one in wanted_sets(bins, codes) if least <= np.isin(codes, list(one)).sum() <= 1000 - least}
        got = [frozenset(np.flatnonzero(row).tolist()) for row in literals(0, bins, codes, least).sets]
        assert len(got) == len(set(got))
        assert set(got) == wanted


@pytest.mark.parametrize("rows", [1000, 6000, 6400, 20_000])
def test_a_slice_has_thirty_rows_and_half_a_percent(rows):
    codes = np.zeros((rows, 4), dtype=np.uint8)
    assert Search(BINS, codes, np.ones(rows)).least == max(30, rows * 5 // 1000)


def test_ranks_and_prices_by_hand():
    search = made()
    slow = Slow(search)
    rng = np.random.default_rng(1)
    for share in (0.3, 0.05, 0.014, 0.0125, 0.01):
        mask = rng.random(ROWS) < share
        assert search._score_of(mask) == pytest.approx(slow.rank(mask))
    alike = np.argsort(np.abs(search.residual - 0.5))[:60]
    mask = np.isin(np.arange(ROWS), alike)
    assert search._score_of(mask) == pytest.approx(slow.rank(mask))
    assert slow.rank(mask) < 60 * 0.3, "rows that all agree do not rank by their own small spread"
    assert [search.price(length) for length in (1, 2, 3)] == pytest.approx([slow.price(length) for length in (1, 2, 3)])
    search.tried = [0.0, 0.5, 2.0]
    assert [search.price(length) for length in (1, 2)] == [0.0, 0.0]


def test_the_best_of_every_column_and_of_every_pair():
    search = made(2)
    slow = Slow(search)
    singles = search._singles()
    assert [terms[0][0] for _, terms in singles] == [0, 1, 2, 3]
    for score, ((column, which),) in singles:
        assert (score, which) == (pytest.approx(slow.best_of(column, [])[0]), slow.best_of(column, [])[1])
    pairs = search._pairs()
    assert sorted((f, g) for _, ((f, _), (g, _)) in pairs) == [(f, g) for f in range(4) for g in range(f)]
    for score, ((f, i), (g, j)) in pairs:
        by_first = [slow.best_of(g, [(f, k)])[0] for k in range(len(slow.sets[f]))]
        assert score == pytest.approx(max(by_first))
        assert slow.rank(slow.mask([(f, i), (g, j)])) == pytest.approx(score)


def test_a_third_condition_is_the_best_of_each_other_column():
    search = made(3)
    slow = Slow(search)
    terms = search._pairs()[0][1]
    longer = search._longer(terms)
    new = [{c for c, _ in one} - {c for c, _ in terms} for _, one in longer]
    assert new == [{c} for c in range(4) if c not in dict(terms)]
    for score, three in longer:
        (new,) = set(three) - set(terms)
        assert list(three) == sorted(three, reverse=True)
        assert (score, new[1]) == (pytest.approx(slow.best_of(new[0], terms)[0]), slow.best_of(new[0], terms)[1])
    search.depth = 2
    assert search._longer(terms) == []


def refined(slow, search, terms):
    """Each condition in turn replaced by the best of its column, or left out where what it adds is less than what it costs."""
    current = list(terms)
    for _ in range(2):
        for term in list(current):
            others = [one for one in current if one != term]
            without = slow.rank(slow.mask(others)) - slow.price(len(others)) if others else -math.inf
            score, which = slow.best_of(term[0], others)
            current = others if without >= score - slow.price(len(current)) else [*others, (term[0], which)]
    return tuple(sorted((opened(slow, term, [one for one in current if one != term]) for term in current), reverse=True))


def opened(slow, term, others):
    """An interval of an ordered column told by one end, where the other adds less than `CHANCE`."""
    column, which = term
    last = BINS[column].size - 2
    mine = set(slow.sets[column][which])
    if not BINS[column].ordered or mine & {0, last, last + 1}:
        return term
    inside = slow.mask(others)
    rank = {k: slow.rank(inside & np.isin(slow.search.codes[:, column], codes)) for k, codes in enumerate(slow.sets[column])}
    wider = [k for k, codes in enumerate(slow.sets[column]) if mine <= set(codes) and {0, last} & set(codes)]
    best = max(wider, key=lambda k: (rank[k], -k), default=None)
    return (column, best) if best is not None and rank[best] >= rank[which] - CHANCE else term


@pytest.mark.parametrize("seed", range(6))
def test_conditions_are_refined_and_opened_as_loops_do(seed):
    search = made(seed, effect=0.3 * (seed % 3))
    slow = Slow(search)
    rng = np.random.default_rng(seed)
    changed = 0
    for _ in range(4):
        columns = rng.permutation(4)[: rng.integers(1, 4)]
        terms = tuple((int(c), int(rng.integers(len(slow.sets[c])))) for c in columns)
        found = search._refine(terms)
        assert found == refined(slow, search, terms)
        changed += found != tuple(sorted(terms, reverse=True))
    assert changed


def test_intervals_are_opened_where_the_other_end_adds_nothing():
    """Off from code 5 to 7, or from 5 on: only the first needs both ends."""
    rng = np.random.default_rng(4)
    kept = []
    for last in (7, 11):
        codes = np.stack([rng.integers(0, one.size, ROWS) for one in BINS], axis=1).astype(np.uint8)
        search = Search(BINS, codes, rng.normal(size=ROWS) + 1.5 * ((codes[:, 0] > 4) & (codes[:, 0] <= last)), 1)
        search.squares, search.mean_square = search.residual**2, float(np.mean(search.residual**2))
        slow = Slow(search)
        for which, codes_of in enumerate(slow.sets[0]):
            term = (0, which)
            assert search._open_ended(term, []) == opened(slow, term, []), codes_of
            kept.append(search._open_ended(term, []) == term)
    assert 0 < sum(kept) < len(kept)


def test_the_first_slice_is_the_best_of_all_candidates_net_of_price():
    """Two conditions at most: every candidate is tried, so the first slice is at least as good as the best, up to its wording."""
    for seed in range(2):
        search = made(seed, depth=2, effect=0.9)
        slow = Slow(search)
        pairs = [
            (slow.best_of(g, [(f, k)])[0], 2) for f, g in itertools.combinations(range(4), 2) for k in range(len(slow.sets[f]))
        ]
        best = max(score - slow.price(length) for score, length in [(slow.best_of(c, [])[0], 1) for c in range(4)] + pairs)
        found = search.next()
        assert found is not None
        assert best - CHANCE * len(found.terms) <= found.score
        assert found.score == pytest.approx(slow.rank(slow.mask(found.terms)) - slow.price(len(found.terms)))
        assert np.array_equal(found.mask, slow.mask(found.terms))


@pytest.mark.parametrize(("depth", "most"), [(1, 1), (2, 2), (3, 5)])
def test_no_slice_is_longer_or_found_more_often_than_asked(depth, most):
    search = made(1, depth, effect=1.5)
    found = search.run(most)
    assert 1 <= len(found) <= most
    assert max(len(one.terms) for one in found) <= depth
    assert len({one.terms for one in found}) == len(found)
    assert all(one.score > 0 for one in found)
    assert all(abs(search.residual[one.mask].mean()) < 0.05 for one in found)


def test_chance_alone_makes_no_slice():
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, one.size, ROWS) for one in BINS], axis=1).astype(np.uint8)
    assert sum(len(Search(BINS, codes, rng.normal(size=ROWS), 3).run(2)) for _ in range(10)) <= 1
    assert Search(BINS, codes, np.zeros(ROWS), 3).run(2) == []


def test_pairs_whose_last_score_was_low_are_not_looked_at_again(monkeypatch):
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 2)
    search = made(5)
    first = {(f, g): score for score, ((f, _), (g, _)) in search._pairs()}
    assert search.last_scores == first
    ranked = sorted(search.pairs, key=lambda pair: -first[pair])
    assert first[ranked[2]] < first[ranked[0]] / 2, "the case must be there"
    again = [(f, g) for _, ((f, _), (g, _)) in search._pairs()]
    assert again == ranked[:2]
    search.last_scores[ranked[2]] = first[ranked[0]] / 2
    assert len(search._pairs()) == 4


def test_no_condition_is_in_the_beam_more_than_four_times():
    ranked = [(9.0 - k, ((0, 0), (1, k))) for k in range(6)] + [(1.0, ((2, 0),)), (-np.inf, ((3, 0),))]
    assert _different(ranked) == [*ranked[:4], ranked[6]]


def test_recentred_values_by_loops():
    rng = np.random.default_rng(3)
    values, masks = rng.normal(size=200), [rng.random(200) < share for share in (0.5, 0.4, 0.0, 0.2)]
    wanted = values.tolist()
    for _ in range(3):
        for mask in masks:
            rows = np.flatnonzero(mask).tolist()
            mean = sum(wanted[i] for i in rows) / max(len(rows), 1)
            for i in rows:
                wanted[i] -= mean
    assert recentre(values, masks) == pytest.approx(np.array(wanted))
