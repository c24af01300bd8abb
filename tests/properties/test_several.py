"""Targets of several columns: quantiles that must not cross, classes that must sum to one."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.properties.ops import NUMPY, expressions
from multivalid.properties.parse import parse, parse_any, spec_of
from multivalid.properties.target import Target

FAN = mv.Quantiles([0.1, 0.5, 0.9])
KINDS = mv.Classes(["a", "b", "c"])


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("quantiles:0.1,0.5,0.9", FAN), ("quantiles: 0.1, 0.5, 0.9", FAN), ("classes:a,b,c", KINDS), ("classes: a, b, c", KINDS),
        ("classes:0,1,2", mv.Classes([0, 1, 2])), ("classes:-1,1", mv.Classes([-1, 1])), ("classes:01,1x", mv.Classes(["01", "1x"])),
    ],
)  # fmt: skip
def test_text_and_target_say_the_same(text: str, target: Target) -> None:
    assert parse_any(text) == target
    assert parse_any(spec_of(target)) == target
    assert hash(parse_any(text)) == hash(target)
    assert eval(repr(target), {"Quantiles": mv.Quantiles, "Classes": mv.Classes}) == target  # noqa: S307


@pytest.mark.parametrize("names", [["a,b", "c"], ["a:b", "c"], [" a", "b"], ["1", "2"]])
def test_classes_that_a_text_cannot_hold_have_none(names: list[str]) -> None:
    """Better no text than one that reads back to other classes."""
    assert mv.Classes(names).spec is None


def test_order_and_kind_matter() -> None:
    assert mv.Quantiles([0.1, 0.9]) != mv.Quantiles([0.1, 0.8])
    assert mv.Classes(["a", "b"]) != mv.Classes(["b", "a"])
    assert mv.Quantiles(np.array([0.25, 0.75])) == mv.Quantiles((0.25, 0.75))


def test_each_column_is_the_single_property() -> None:
    rng = np.random.default_rng(4)
    labels, predictions = rng.exponential(3, 200).round(1), rng.exponential(3, (200, 3)).round(1)
    for j, tau in enumerate(FAN.taus):
        np.testing.assert_array_equal(
            FAN.residuals(predictions, labels)[:, j], mv.Quantile(tau).identify(predictions[:, j], labels)
        )
        np.testing.assert_array_equal(FAN.scores(predictions, labels)[:, j], mv.Quantile(tau).score(predictions[:, j], labels))
    weights = rng.integers(0, 4, 200).astype(float)
    assert FAN.solve(labels, weights).tolist() == [mv.Quantile(tau).solve(labels, weights) for tau in FAN.taus]


def test_residuals_of_classes_are_probability_less_indicator() -> None:
    rng = np.random.default_rng(5)
    labels, table = rng.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1]), rng.dirichlet([3, 2, 1], 300)
    indicator = np.stack([labels == name for name in "abc"], axis=1)
    np.testing.assert_allclose(KINDS.residuals(table, labels), table - indicator, atol=1e-15)
    np.testing.assert_allclose(KINDS.residuals(table, labels).sum(axis=1), 0, atol=1e-15)
    np.testing.assert_allclose(KINDS.solve(labels), indicator.mean(axis=0))
    np.testing.assert_allclose(KINDS.log_loss(table, labels), -np.log((table * indicator).sum(axis=1)))
    weights = rng.integers(1, 5, 300) * 1e150
    np.testing.assert_allclose(KINDS.solve(labels, weights), (weights / 1e150) @ indicator / (weights / 1e150).sum())


def test_sorting_never_raises_the_summed_loss_of_a_row() -> None:
    rng = np.random.default_rng(6)
    predictions, labels = rng.normal(0, 2, (5000, 3)), rng.normal(0, 2, 5000)
    before, after = FAN.scores(predictions, labels).sum(axis=1), FAN.scores(FAN.mend(predictions), labels).sum(axis=1)
    assert (after <= before + 1e-12).all()
    assert (after < before - 1e-3).mean() > 0.2
    assert not FAN.breaks(FAN.mend(predictions)).any()


def test_what_keeps_the_constraint_is_not_changed() -> None:
    kept = np.array([[1.0, 1.0, 2.0], [-3.0, 0.0, 0.0]])
    np.testing.assert_array_equal(FAN.mend(kept), kept)
    assert FAN.breaks(np.array([[1.0, 2.0, 1.5], [1.0, 1.0, 1.0], [3.0, 2.0, 1.0]])).tolist() == [True, False, True]
    table = np.array([[0.25, 0.25, 0.5], [0.3, 0.3, 0.3], [0.0, 0.0, 0.0], [0.9, 0.2, -0.1]])
    assert KINDS.breaks(table).tolist() == [False, True, True, True]
    mended = KINDS.mend(table)
    np.testing.assert_allclose(mended.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_array_equal(mended[0], table[0])
    assert not KINDS.breaks(mended).any()


@pytest.mark.parametrize("kind", [np.array, list, lambda v: np.array(v, dtype=object)])
def test_labels_of_classes_as_they_come(kind) -> None:
    assert KINDS.check_labels(kind(["c", "a", "b", "a"])).tolist() == [2, 0, 1, 0]
    assert mv.Classes([1, 2]).check_labels(kind([2, 1, 2])).tolist() == [1, 0, 1]
    assert mv.Classes([1, 2]).check_labels(np.array([2.0, 1.0])).tolist() == [1, 0]


def test_a_label_code_is_the_same_in_an_engine() -> None:
    import polars as pl

    frame = pl.LazyFrame({"y": ["b", "c", "x", "a"]})
    import narwhals as nw

    found = nw.from_native(frame).select(KINDS.label_code(expressions(), nw.col("y")).alias("code")).collect()["code"].to_list()
    assert found == [1.0, 2.0, -1.0, 0.0]
    assert KINDS.label_code(NUMPY, np.array(["b", "c", "x", "a"])).tolist() == found


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mv.Quantiles([0.5, 0.1]), r"taus must increase, got 0\.1 after 0\.5"),
        (lambda: mv.Quantiles([0.5, 0.5]), "taus must increase"),
        (lambda: mv.Quantiles([0.5]), r"use Quantile\(tau\)"),
        (lambda: mv.Quantiles([]), "at least two"),
        (lambda: mv.Quantiles(0.5), "must be a list"),
        (lambda: mv.Quantiles("0.1,0.5"), "must be a list"),
        (lambda: mv.Quantiles([0.1, 1.0]), r"taus\[1\] must be strictly between 0 and 1"),
        (lambda: mv.Quantiles([0.1, float("nan")]), "finite"),
        (lambda: mv.Quantiles([10, 90]), "write 0.1"),
        (lambda: mv.Classes(["a"]), "at least two"),
        (lambda: mv.Classes(["a", "a"]), "distinct"),
        (lambda: mv.Classes(["a", 1]), "all text or all whole"),
        (lambda: mv.Classes("abc"), "must be a list"),
        (lambda: mv.Classes([0.5, 1.5]), "text or a whole number"),
        (lambda: mv.Classes([True, False]), "text or a whole number"),
        (lambda: KINDS.check_labels(["a", "d", "b"]), r"first at row 1 \('d'\)"),
        (lambda: KINDS.check_labels([["a"]]), "one column"),
        (lambda: KINDS.check_labels(["a", None]), "one of the classes"),
        (lambda: mv.Classes([0, 1]).check_labels([0.0, 0.5]), "one of the classes"),
        (lambda: mv.Classes([0, 1]).check_labels([0.0, float("nan")]), "one of the classes"),
        (lambda: KINDS.check_predictions([[0.5, 0.6, -0.1]]), r"between 0 and 1.*class 'c' \(-0\.1\)"),
        (lambda: KINDS.check_predictions([[50, 30, 20]]), "not scores or per cent"),
        (lambda: KINDS.check_predictions([[0.0, 0.0, 0.0]]), "probability 0 to every class"),
        (lambda: KINDS.check_predictions([[0.5, 0.5]]), "must have 3 columns"),
        (lambda: FAN.check_predictions([0.5, 0.5, 0.7]), "must have 3 columns"),
        (lambda: FAN.check_predictions([[1.0, float("nan"), 2.0]]), "missing or infinite"),
        (lambda: parse_any("quantiles:0.1,x"), "cannot be read"),
        (lambda: parse_any("quantiles:0.9,0.1"), "must increase"),
        (lambda: parse_any("quantiles"), "quantiles:0.1,0.5,0.9"),
        (lambda: parse("quantiles:0.1,0.9"), "2 columns"),
        (lambda: parse_any("classes:a,,b"), "not empty"),
    ],
)  # fmt: skip
def test_hostile_input(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_scope_answers() -> None:
    for target in (FAN, KINDS):
        verdict = mv.scope(target)
        assert verdict.status == "alone"
        assert f"{len(target.coordinates)} columns" in verdict.reason
        assert mv.scope(target.spec).reason == verdict.reason
        verdict.to_dict()


def test_every_target_has_coordinates() -> None:
    """The protocol that audits and fits rely on: names, readings, one column of V per coordinate."""
    labels = np.array([0.2, 0.9, 0.4])
    for target in (mv.Mean(), mv.Ratio(2, 1), mv.MeanVariance(), mv.QuantileIQR(), FAN):
        k = len(target.coordinates)
        predictions = np.linspace(0.1, 0.7, 3 * k).reshape(3, k)
        assert target.residuals(predictions, labels).shape == (3, k)
        assert target.scores(predictions, labels).shape == (3, k)
        assert [c.column for c in target.coordinates] == list(range(k))
        assert len({c.name for c in target.coordinates}) == k
        assert target.joint == isinstance(target, mv.Pair)
        assert all(c.reading.axis for c in target.coordinates)
