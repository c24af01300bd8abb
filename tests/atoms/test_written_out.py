"""Keys, stages, responses and what is seen of rows: each against loops."""

from __future__ import annotations

import math

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.atoms import keys, predict, response
from multivalid.atoms.frame_columns import Look, renamed
from multivalid.atoms.keys import Digits, look_up, packed_bits, place
from multivalid.atoms.partitions import _arrow_tables, batches
from multivalid.atoms.predict import stages
from multivalid.atoms.seen import Seen
from multivalid.batch.moves import Patch
from multivalid.batch.patches import replay
from multivalid.batch.predictor import LevelPredictor
from multivalid.errors import InputError
from multivalid.groups.membership import Membership
from multivalid.sources.rows import open_rows

RNG = np.random.default_rng


# ---- keys -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [0, 1, 2, 5, 8])
def test_trees_of_comparisons(count):
    edges, values = np.sort(RNG(count).random(count)), RNG(1).random(count + 1)
    x = np.concatenate([[-1.0, 2.0], edges, RNG(2).random(50)])
    frame = nw.from_native(pl.DataFrame({"x": x}).lazy())
    made = frame.with_columns(at=place(nw.col("x"), edges)).with_columns(value=look_up(nw.col("at"), values.tolist())).collect()
    assert made["at"].to_list() == [sum(edge < one for edge in edges) for one in x]
    assert made["value"].to_list() == [values[sum(edge < one for edge in edges)] for one in x]


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ((1 << 31, 1 << 31), [[0, 1]]),
        ((1 << 31, 1 << 31, 1), [[0, 1, 2]]),
        ((1 << 31, 1 << 31, 2), [[0, 1], [2]]),
        ((1 << 31, (1 << 31) + 1), [[0], [1]]),
        ((3, 7, 2, 1 << 60, 5), [[0, 1, 2], [3], [4]]),
        ((), [[]]),
    ],
)
def test_numbers_share_a_key_while_there_is_room(sizes, parts):
    assert Digits(sizes).split == parts
    assert keys.ROOM == 1 << 62


def test_numbers_come_back_from_their_keys():
    sizes = (3, 7, 1 << 58, 2, 50)
    numbers = [RNG(i).integers(0, size, 40) for i, size in enumerate(sizes)]
    numbers[2][0] = (1 << 58) - 1
    frame = nw.from_native(pl.DataFrame({f"n{i}": column for i, column in enumerate(numbers)}))
    packed = frame.select(*(key.alias(f"k{j}") for j, key in enumerate(Digits(sizes).pack([nw.col(f"n{i}") for i in range(5)]))))
    got = [packed[name].to_numpy() for name in packed.columns]
    for part, key in zip(Digits(sizes).split, got, strict=True):
        for row in range(40):
            value, factor = 0, 1
            for i in part:
                value, factor = value + int(numbers[i][row]) * factor, factor * sizes[i]
            assert key[row] == value
    for back, column in zip(Digits(sizes).unpack(got), numbers, strict=True):
        np.testing.assert_array_equal(back, column)


@pytest.mark.parametrize("groups", [0, 7, 63, 64, 70])
def test_bits_of_every_group(groups):
    flags = [RNG(g).integers(0, 2, 9) for g in range(groups)]
    bits = packed_bits(flags, 9)
    assert bits.shape == (9, (groups + 64) // 64 * 8)
    for row in range(9):
        wanted = [1, *(int(flag[row]) for flag in flags)]
        got = [(int(bits[row, g // 8]) >> (g % 8)) & 1 for g in range(bits.shape[1] * 8)]
        assert got == wanted + [0] * (len(got) - len(wanted))


# ---- patches in an engine ---------------------------------------------------------------------------------------------
def test_patches_in_as_few_steps_as_their_order_allows():
    for seed in range(60):
        patches = [tuple(int(v) for v in RNG(seed + 1000 * i).integers(0, [3, 4, 4])) for i in range(9)]
        made = stages(patches)
        order = iter(patches)
        for before, step in zip([None, *made], made, strict=False):
            reached = set()
            for source, (group, target) in step.items():
                assert (group, source, target) == next(order)
                assert source not in reached, "a level is left before others arrive in it"
                reached.add(target)
            if before is not None:
                first = next(iter(step))
                assert first in before or first in {target for _, target in before.values()}, "it had to wait"
        assert next(order, None) is None


@pytest.mark.parametrize("most", [0, 1_000_000])
def test_predictions_of_a_lazy_frame(most, monkeypatch):
    """By a join with all combinations that occur, or patch by patch."""
    monkeypatch.setattr(predict, "MOST_PATTERNS", most)
    rng = RNG(4)
    data = pl.DataFrame({"p": rng.random(300), "a": rng.integers(0, 3, 300), "b": rng.integers(0, 4, 300), "y": rng.random(300)})
    grid = mv.Grid(np.sort(rng.random(7)))
    groups = mv.Groups(["a == 1", "b >= 2"]).fit(data)
    patches = [Patch(int(g), int(s), int(t)) for g, s, t in zip(*rng.integers(0, [[3], [7], [7]], (3, 30)), strict=True)]
    frame = nw.from_native(data.lazy()).with_columns(nw.col("p").alias(predict.PREDICTION))
    made = LevelPredictor(grid, patches).on_frame(frame, groups, "out").collect()
    dense = np.stack([data["a"].to_numpy() == 1, data["b"].to_numpy() >= 2], axis=1)
    level = np.array([int(np.argmin(np.abs(grid.points - p))) for p in data["p"]])
    for group, source, target in patches:
        inside = np.ones(300, dtype=bool) if group == 0 else dense[:, group - 1]
        level = np.where((level == source) & inside, target, level)
    back = made.to_native().sort("p")["out"].to_numpy()
    np.testing.assert_array_equal(back, grid.points[level][np.argsort(data["p"].to_numpy(), kind="stable")])
    np.testing.assert_array_equal(replay(patches, grid.round(data["p"].to_numpy()), 7, Membership.from_dense(dense)), level)


@pytest.mark.parametrize("rows", [100, 37, 10])
def test_rows_in_batches(rows):
    frame = nw.from_native(pl.DataFrame({"i": np.arange(100)}).lazy())
    parts = [batch["i"].to_list() for batch in batches(frame, rows)]
    assert sorted(i for part in parts for i in part) == list(range(100))
    assert max(map(len, parts)) <= rows
    small = [pl.DataFrame({"i": np.arange(k * 10, k * 10 + 10)}).to_arrow().to_batches()[0] for k in range(7)]
    joined = [table.num_rows for table in _arrow_tables(small, 33)]
    assert joined == [30, 30, 10], "nine tenths of so many are enough"
    assert [table.num_rows for table in _arrow_tables(small, 34)] == [40, 30]


# ---- responses --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prop", [mv.Expectile(0.8), mv.Huber(0.2), mv.Quantile(0.3), mv.Mean(), mv.LpQuantile(3, 0.7)], ids=repr)
@pytest.mark.parametrize("largest", [0, 1 << 18])
def test_answers_from_sums_over_bins(prop, largest, monkeypatch):
    """With the matrix for all levels at once, and without."""
    monkeypatch.setattr(response, "LARGEST_OPERATOR", largest)
    grid, y, w = mv.Grid([1.1, 1.2, 1.5, 1.9]), 1 + RNG(0).random(70).round(1), RNG(1).choice([0.5, 2.0], 70)
    answer = response.response(prop, grid, y)
    assert (answer.operator is None) == (largest == 0)
    bins, moments = answer.encode(y)
    assert bins.tolist() == [sum(edge < label for edge in answer.edges) for label in y]
    sums = np.zeros((answer.bins, answer.width))
    np.add.at(sums, bins, moments * w[:, None])
    v, s = answer.on_grid(sums)
    for j, point in enumerate(grid.points):
        assert v[j] == pytest.approx(w @ prop.identify(point, y), abs=1e-11)
        assert s[j] + w @ answer.score_constant(y) == pytest.approx(w @ prop.score(point, y), abs=1e-11)
        marks, coefficients = answer.marks(j)
        running = np.concatenate([np.zeros((1, answer.width)), np.cumsum(sums, axis=0)])
        pieces = [(running[b] - running[a]) @ c for a, b, c in zip(marks, marks[1:], coefficients, strict=False)]
        assert sum(pieces) == pytest.approx(v[j], abs=1e-11)
        np.testing.assert_allclose(answer.identify(bins, moments, j), prop.identify(point, y), atol=1e-12)
    exact = 2 * answer.levels * answer.bins * answer.width
    for room, fits in ((exact, True), (exact - 1, False)):
        monkeypatch.setattr(response, "LARGEST_OPERATOR", room)
        assert (response.response(prop, grid, y).operator is not None) == fits


def test_values_of_labels_without_moments():
    prop, grid, y = mv.LpQuantile(1.5, 0.3), mv.Grid([0.2, 0.7]), np.array([0.1, 0.5, 0.5, 0.9])
    answer = response.response(prop, grid, y)
    assert (answer.bins, answer.width) == (3, 1)
    sums = np.array([[2.0], [0.0], [3.0]])
    for largest in (0, 5, 6):
        response.LARGEST_TABLE, before = largest, response.LARGEST_TABLE
        try:
            v, s = answer.on_grid(sums)
        finally:
            response.LARGEST_TABLE = before
        for j, point in enumerate(grid.points):
            assert v[j] == pytest.approx(2 * prop.identify(point, 0.1) + 3 * prop.identify(point, 0.9))
            assert s[j] == pytest.approx(2 * prop.score(point, 0.1) + 3 * prop.score(point, 0.9))


# ---- what is seen of rows ---------------------------------------------------------------------------------------------
def seen_by_hand(y, p, w):
    used = y[w > 0]
    ends = (used.min(), used.max()) if used.size else (math.nan, math.nan)
    others = sum(label not in (0.0, 1.0) for label in y)
    return (
        y.size, w.sum(), (w**2).sum(), p.min(), p.max(), y.min(), y.max(), *ends, min(others, 1), sum(w <= 0), 0, 0, 0, sum(w < 0)
    )  # fmt: skip


@pytest.mark.parametrize("events", [True, False])
def test_what_is_seen_of_columns(events):
    rng = RNG(5)
    y, p, w = rng.integers(0, 2 if events else 4, 50).astype(float), rng.random(50), rng.choice([0.0, 0.5, 3.0], 50)
    w[y == y.max()] *= 0.0 if not events else 1.0
    wanted, found = seen_by_hand(y, p, w), Seen.of(y, p, w)
    assert [min(v, 1) if k == 9 else v for k, v in enumerate(found)] == pytest.approx(list(wanted))
    parts = Seen.of(y[:13], p[:13], w[:13]).plus(Seen.of(y[13:], p[13:], w[13:]))
    assert [min(v, 1) if k == 9 else v for k, v in enumerate(parts)] == pytest.approx(list(wanted))
    assert Seen().plus(found)[3:9] == found[3:9]
    plain = Seen.of(y, p)
    assert plain[:3] == (50, 50, 50)
    assert plain[7:9] == (y.min(), y.max())
    totals = found.totals()
    assert (totals.rows, totals.binary) == (50, events)
    assert totals.weight == pytest.approx(w.sum())
    frame = renamed(nw.from_native(pl.DataFrame({"y": y, "p": p, "w": w}).lazy()), "y", "p", "w")
    there = Look.at(frame, [], plain=False).seen()
    assert [min(v, 1) if k == 9 else v for k, v in enumerate(there)] == pytest.approx(list(wanted))


def test_missing_and_negative_values_are_counted():
    y, p, w = np.array([0.0, np.nan, 1.0, 1.0]), np.array([np.inf, 0.5, np.nan, 0.1]), np.array([1.0, -2.0, np.nan, -1.0])
    found = Seen.of(y, p, w)
    assert (found.no_label, found.no_prediction, found.no_weight, found.negative) == (1, 2, 1, 2)
    frame = renamed(nw.from_native(pl.DataFrame({"y": y, "p": p, "w": w}).lazy()), "y", "p", "w")
    there = Look.at(frame, [], plain=False).seen()
    assert (there.no_label, there.no_prediction, there.no_weight, there.negative) == (1, 2, 1, 2)
    with pytest.raises(InputError, match="y_true='y' has 1 missing"):
        found.check("y", "p", "w")
    with pytest.raises(InputError, match="2 negative values"):
        Seen.of(np.zeros(3), np.zeros(3), np.array([1.0, -1.0, -2.0])).check("y", "p", "w")
    with pytest.raises(InputError, match="zero for every row"):
        Seen.of(np.zeros(3), np.zeros(3), np.zeros(3)).check("y", "p", "w")


def test_rows_of_a_frame_and_of_arrays_have_the_same_totals():
    rng = RNG(6)
    y, p, w = rng.random(40), rng.random(40), rng.choice([0.0, 1.0, 2.5], 40)
    rows = open_rows(y, p, groups=[], sample_weight=w)
    assert rows.totals.effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert rows.totals.weight == pytest.approx(w.sum())


@pytest.mark.parametrize("keys", [[], ["k"]])
def test_where_every_weight_is_one_less_is_asked(keys):
    y, p = np.array([0.0, 1.0, 1.0, 3.0]), np.array([0.7, -2.0, 0.1, 0.2])
    frame = renamed(nw.from_native(pl.DataFrame({"y": y, "p": p, "k": ["a", "b", "a", "b"]}).lazy()), "y", "p", None)
    found = Look.at(frame, keys, plain=True)
    assert found.seen() == Look.at(frame, keys, plain=False).seen() == Seen(4, 4, 4, -2, 0.7, 0, 3, 0, 3, 1)
    if keys:
        assert sorted(found.counted(keys).rows()) == [("a", 2), ("b", 2)]
