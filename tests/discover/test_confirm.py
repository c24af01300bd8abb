"""What the other rows say of slices, against row by row: V less its projection on the groups before, then the tests of cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import multivalid as mv
from multivalid.cells import tilt
from multivalid.cells.clusters import ClusterTest, cluster_sums
from multivalid.cells.residual import NoiseTest
from multivalid.cells.two_valued import CoinTest
from multivalid.discover import run
from multivalid.discover.confirm import LEVELS, Atoms, confirm
from multivalid.discover.coordinates import coordinates
from multivalid.discover.evidence import from_rows, level_edges

ROWS = 900


class World:
    """Skewed V with a trend, weights in two sizes, three slices that overlap, one named group; predictions in 20 levels."""

    def __init__(self, prop, events=False, named=1, clusters=0, seed=0):
        rng = np.random.default_rng(seed)
        self.prediction = rng.beta(2, 3, ROWS)
        column = rng.integers(0, 6, ROWS)
        wave = 0.12 * np.sin(column + 1)
        self.cluster = rng.integers(0, clusters, ROWS) if clusters else None
        shared = 0.1 * rng.normal(size=clusters)[self.cluster] if clusters else 0.0
        noise = rng.gamma(0.5, 0.4, ROWS) - 0.2
        self.label = (
            (rng.random(ROWS) < np.clip(self.prediction + wave, 0, 1)) * 1.0 if events else self.prediction + wave + noise + shared
        )
        self.weight = rng.choice([0.5, 1.0, 2.2], ROWS)
        self.weight /= self.weight.mean()
        self.found = [column < 2, (column > 0) & (column < 4), (column == 3) | (rng.random(ROWS) < 0.2), np.zeros(ROWS, dtype=bool)]
        self.named = [(column == 5) | (column == 0), rng.random(ROWS) < 0.4][:named]
        (self.searched,) = coordinates(prop, events)
        self.v = prop.identify(self.prediction, self.label)
        edges = level_edges(self.prediction)
        assert np.array_equal(edges, np.unique(np.quantile(self.prediction, [k / 20 for k in range(1, 20)])))
        sums, level = from_rows([self.searched], [self.v], [self.prediction], self.label, self.weight, [edges])
        self.sums, self.level = sums[0], level[0]

    @property
    def atoms(self):
        return Atoms([self.sums], [self.level], self.found, self.named, self.cluster)

    def confirm(self, scale=1.0, owner=(0, 0, 0, 0)):
        return confirm(self.atoms, [self.searched.law], owner, [scale])

    def left(self, others):
        """V less what its weighted regression on the others says."""
        if not others:
            return self.v
        design, root = np.stack(others, axis=1).astype(float), np.sqrt(self.weight)
        return self.v - design @ np.linalg.lstsq(design * root[:, None], self.v * root, rcond=None)[0]

    def table(self, v, masks):
        x, old = self.weight * v, self.weight * self.v
        columns = dict(self.sums) | {"v": x, "x2": x**2, "w2v": self.weight * x, "x3": old**3, "x4": old**4}
        inside = [np.ones(ROWS, dtype=bool), *masks]
        return {
            name: np.array([[column[mask & (self.level == k)].sum() for mask in inside] for k in range(LEVELS)])
            for name, column in columns.items()
        }

    def clusters(self, v, masks):
        x = self.weight * v
        sums = cluster_sums(self.cluster, np.zeros(ROWS, dtype=int), masks, x, self.weight)
        return ClusterTest(
            sums, np.array([self.weight[mask].sum() for mask in masks]), np.array([(x[mask] ** 2).sum() for mask in masks])
        )

    def off(self, mask, others, exact):
        v = self.left(others)
        if self.cluster is not None:
            return self.clusters(v, [mask]).gap()[0]
        return (CoinTest if exact and not others else NoiseTest)(self.table(v, [mask])).gap()[1]


def by_holm(p, tests):
    out, largest = np.full(len(p), np.nan), 0.0
    for k, i in enumerate(sorted((i for i in range(len(p)) if p[i] == p[i]), key=lambda i: p[i])):
        largest = max(largest, p[i] * (tests - k))
        out[i] = min(largest, 1.0)
    return out


@pytest.mark.parametrize(
    ("events", "named", "clusters"),
    [(False, 0, 0), (False, 1, 0), (False, 2, 0), (True, 0, 0), (True, 1, 0), (False, 0, 60), (False, 2, 60)],
)
def test_p_values_and_limits_row_by_row(events, named, clusters):
    world = World(mv.Mean(), events, named, clusters, seed=named + clusters)
    found, three = world.confirm(scale=7.0), world.found[:3]
    p = [
        max(world.off(mask, world.named, events), world.off(mask, [*world.named, *three[:k]], events))
        for k, mask in enumerate(three)
    ]
    assert min(p) < 0.2, "the case must be there"
    assert found.p_adjusted == pytest.approx(by_holm([*p, np.nan], 4), rel=1e-6, nan_ok=True)
    assert found.rows.tolist() == [mask.sum() for mask in world.found]
    v, level = world.left(world.named), 0.05 / 4 / 2
    if events and not named:
        low, high = tilt.gap_limits(world.table(v, three), level)
        middle, low, high = [np.average(world.v[mask], weights=world.weight[mask]) for mask in three], low[1:], high[1:]
    else:
        weight = np.array([world.weight[mask].sum() for mask in three])
        variance = NoiseTest(world.table(v, three)).centred_variance[1:]
        if clusters:
            variance = np.maximum(variance, world.clusters(v, three).centred())
        middle = np.array([world.weight[mask] @ v[mask] for mask in three]) / weight
        half = norm.ppf(1 - level) * np.sqrt(variance) / weight
        low, high = middle - half, middle + half
    for column, wanted in ((found.gap, middle), (found.low, low), (found.high, high)):
        assert column[:3] == pytest.approx(7 * np.array(wanted), rel=1e-6, abs=1e-9)
        assert np.isnan(column[3]), "no row to test on"


@pytest.mark.parametrize("clusters", [0, 12])
def test_atoms_of_several_rows_say_what_their_rows_say(clusters):
    world = World(mv.Mean(), named=2, clusters=clusters, seed=3)
    rows = world.confirm()
    keys = np.stack([world.level, *world.found, *world.named, *([] if world.cluster is None else [world.cluster])], axis=1)
    kept, place = np.unique(keys, axis=0, return_inverse=True)
    assert len(kept) < ROWS - 50
    flags = [column.astype(bool) for column in kept[:, 1:7].T]
    atoms = Atoms(
        [{name: np.bincount(place.ravel(), column) for name, column in world.sums.items()}], [kept[:, 0]], flags[:4], flags[4:],
        kept[:, 7] if clusters else None,
    )  # fmt: skip
    found = confirm(atoms, [world.searched.law], [0] * 4, [1.0])
    for name in ("rows", "gap", "low", "high", "p_adjusted"):
        assert getattr(found, name) == pytest.approx(getattr(rows, name), rel=1e-9, nan_ok=True), name


def test_too_few_clusters_tell_nothing():
    world = World(mv.Mean(), clusters=4)
    found = world.confirm()
    assert np.isnan(found.p_adjusted).all()
    assert np.isfinite(found.gap[:3]).all()
    assert np.isnan([*found.low, *found.high]).all()


def test_slices_are_tested_on_their_own_coordinate():
    worlds = [World(mv.Mean(), seed=1), World(mv.Mean(), seed=2)]
    masks = [worlds[0].found[0], worlds[1].found[1], worlds[0].found[2]]
    atoms = Atoms([one.sums for one in worlds], [one.level for one in worlds], masks, [])
    both = confirm(atoms, [one.searched.law for one in worlds], [0, 1, 0], [2.0, 3.0])
    wanted = [
        np.average(worlds[k].v[mask], weights=worlds[k].weight[mask]) * scale
        for k, mask, scale in zip((0, 1, 0), masks, (2, 3, 2), strict=True)
    ]
    assert both.gap == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("prop", "events", "low", "high"),
    [
        (mv.Quantile(0.3), False, lambda p: -0.3, lambda p: 0.7),
        (mv.Mean(), True, lambda p: p - 1, lambda p: p),
        (mv.Mean(), False, None, None),
    ],
)
def test_v_has_two_values_for_quantiles_and_events(prop, events, low, high):
    (one,) = coordinates(prop, events)
    prediction, weight = np.array([0.25, 0.5, 0.75]), np.array([1.0, 2.0, 0.5])
    label = np.array([0.5, 0.5, 0.0]) if not events else np.array([1.0, 0.0, 0.75])
    row = one.row(weight, prop.identify(prediction, label), prediction, label, np.asarray)
    assert one.percent == (low is not None)
    if low is None:
        assert row.low is row.high is None
        return
    assert row.low == pytest.approx(np.array([low(p) for p in prediction]))
    assert row.high == pytest.approx(np.array([high(p) for p in prediction]))
    if not events:
        assert row.tied.tolist() == [False, True, False]


def test_the_smallest_gap_by_hand():
    """Of 10 % of the rows: price and 95 % power in the part searched, 5 % two-sided and 95 % power in the part tested."""
    for price, sizes in ((9.0, (4000, 4000)), (9.0, (4000, 400)), (1.0, (4000, 4000)), (16.0, (400, 40_000))):
        search = (price**0.5 + 1.64) * (10 / sizes[0]) ** 0.5
        test = (1.96 + 1.64) * (10 / sizes[1]) ** 0.5
        assert run._smallest(price, 0.4, sizes) == pytest.approx(0.4 * max(search, test))


def test_v_is_taken_in_units_of_its_own_spread_unless_its_law_is_known():
    (mean,), (event,) = coordinates(mv.Mean(), False), coordinates(mv.Mean(), True)
    v = np.array([3.0, -4.0, 0.0, 5.0])
    assert run._scales([mean, event, mean, mean], [v, v, 0 * v, np.full(4, np.inf)]) == [pytest.approx(50**0.5 / 2), 1.0, 1.0, 1.0]
