"""Certificates: recomputed from scratch, handed on in every form, honest about what they rule out."""

import json

import numpy as np
import pytest

from multivalid.errors import InputError
from multivalid.properties import CVaR, Law, Mean, Variance
from multivalid.scope import Counterexample, bernoulli_certificate, certify, scope

COIN = certify(Variance(), Law.point(0), Law.point(1))


def test_variance_example():
    example = COIN.two_point()
    assert example.true_prediction == (0, 0)
    assert example.gap == 0.25
    # Exactly t²/2 / (1 + √½)² with t = ¼, which is 0.010723; the best multiple of 0.001 has 0.0108.
    assert example.tied_error() == pytest.approx(0.0625 * 0.5 / (1 + np.sqrt(0.5)) ** 2, abs=1e-15)
    assert example.tied_error() == pytest.approx(0.010723, abs=5e-7)
    assert min(example.check(v, v).error for v in np.arange(251) / 1000) == pytest.approx(0.0108, abs=5e-5)
    assert example.split_error(1e-3) == pytest.approx(5e-7, rel=1e-12)


@pytest.mark.parametrize("found", [COIN, bernoulli_certificate(CVaR(0.9), 0.05, 0.3)])
def test_no_tied_prediction_does_better_and_a_split_costs_at_most_epsilon_squared(found):
    example = found.two_point()
    best = example.tied_error()
    assert best > 0
    assert all(example.check(v, v).error >= best - 1e-15 for v in np.linspace(-1, 2, 601))
    assert all(example.split_error(e) <= e**2 for e in (1e-2, 1e-3, 1e-5))
    assert not example.check(found.value, found.value).holds
    assert "no way out" in " ".join(example.summary().split())


def test_a_constant_is_calibrated_without_groups():
    example = COIN.two_point()
    assert example.world.check(Variance(), [0.25, 0.25]).holds


def test_verify_recomputes():
    assert COIN.verify()
    assert COIN.verify(lambda values, weights: weights @ values**2 - (weights @ values) ** 2)
    assert not COIN.verify(Mean())
    for change in ({"value": 0.1}, {"mixture_value": 0.3}, {"weight": 0.4}, {"first": Law.of([0, 1])}):
        fields = {name: getattr(COIN, name) for name in ("first", "second", "weight", "value", "mixture_value", "functional")}
        assert not Counterexample(**(fields | change)).verify()
    assert not COIN.verify(lambda values, weights: "text")


def test_json_round_trip():
    again = Counterexample.from_json(COIN.to_json())
    assert again == COIN
    assert again.verify()
    data = json.loads(COIN.to_json())
    assert data["spec"] == "variance"
    assert data["first"] == {"values": [0.0], "weights": [1.0]}


def test_json_of_a_users_function_needs_the_function():
    def spread(values, weights):
        return values.max() - values.min()

    text = scope(spread).certificate.to_json()
    with pytest.raises(InputError, match=r"functional= is needed.*spread"):
        Counterexample.from_json(text)
    assert Counterexample.from_json(text, spread).verify()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "3", '{"format": "x"}', '{"format": "x", "version": 1}', COIN.to_json().replace("0.25", '"a"')]
)
def test_damaged_json_is_an_input_error(text):
    with pytest.raises(InputError):
        Counterexample.from_json(text)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames(backend):
    frame = bernoulli_certificate(CVaR(0.9), 0.05).to_frame(backend)
    assert type(frame).__module__.split(".")[0] == backend
    assert list(frame.columns if backend != "pyarrow" else frame.column_names)[:3] == ["feature", "label", "probability"]
    columns = bernoulli_certificate(CVaR(0.9), 0.05).columns()
    assert sum(columns["probability"]) == pytest.approx(1)
    assert columns["feature"] == ["x1", "x2", "x2"]
    with pytest.raises(InputError, match="backend"):
        COIN.to_frame("nothing")


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_picture(tmp_path, kind):
    path = COIN.draw(tmp_path / f"coin.{kind}")
    assert path.stat().st_size > 1000
    assert [p.name for p in tmp_path.iterdir()] == [f"coin.{kind}"]


def test_picture_of_another_kind_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match=r"\.png"):
        COIN.draw(tmp_path / "coin.txt")
    with pytest.raises(OSError, match="missing"):
        COIN.draw(tmp_path / "missing" / "coin.png")
    assert not list(tmp_path.iterdir())


def test_laws_that_prove_nothing_are_refused():
    with pytest.raises(InputError, match="prove nothing"):
        certify(Mean(), Law.point(0.5), Law.bernoulli(0.5))
    with pytest.raises(InputError, match="weight"):
        certify(Variance(), Law.point(0), Law.point(1), 1.0)


def test_law():
    law = Law.of([3, 1, 3, 2], [1, 2, 1, 0])
    assert law == Law((1.0, 3.0), (0.5, 0.5))
    assert law.mix(Law.point(1), 0.5) == Law((1.0, 3.0), (0.75, 0.25))
    assert str(Law.point(2)) == "surely 2"
    for bad in (lambda: Law.of([]), lambda: Law.of([np.nan]), lambda: Law.bernoulli(1.5), lambda: law.mix(law, -0.1)):
        with pytest.raises(InputError):
            bad()
