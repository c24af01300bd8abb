"""The practical mode through the public call: edges, promises, and the truth of its certificate."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import practical_naive as naive
import pytest

import multivalid as mv
from multivalid.errors import ModelFileError

from .data import binary, masks

N = 3000


def skewed(seed: int = 0, rows: int = N) -> dict[str, Any]:
    """Positive labels with a heavy tail, larger for a group."""
    d = binary(rows, seed)
    rng = np.random.default_rng(seed + 100)
    d["y"] = rng.gamma(2.0, 3.0, rows) * np.where(d["groups"][:, 3], 2, 1)
    return d


PROPERTIES = [
    (mv.Mean(), 9.0), (mv.Quantile(0.9), 15.0), (mv.Quantile(0.1), 2.0), (mv.Expectile(0.8), 10.0), (mv.Huber(2.0), 8.0),
    (mv.LpQuantile(1.5, 0.7), 9.0), (mv.Entropic(0.05), 9.0), (mv.Moment(2), 100.0), (mv.EventProbability(5, 1e9), 0.5),
    (mv.Ratio(2, 1), 12.0),
    (mv.Property.from_score(lambda g, y: np.log(np.cosh(g - y)), range=(0, 200), name="log cosh"), 8.0),
    (mv.Property.from_identification(lambda g, y: (y <= g) - 1 / 3, range=(0, 200), name="lower third"), 4.0),
]  # fmt: skip


@pytest.mark.parametrize(("prop", "base"), PROPERTIES, ids=[repr(p) for p, _ in PROPERTIES])
def test_every_property_in_raw_units(prop: mv.Property, base: float) -> None:
    # A few of the largest labels decide these two: held-out rows must hold enough of them before anything is changed.
    rows = 5 * N if isinstance(prop, (mv.Entropic, mv.Ratio)) else N
    d = skewed(rows=rows)
    fitted = mv.multicalibrate(d["y"], np.full(rows, base), groups=masks(d["groups"]), property=prop)
    final = fitted.predict(np.full(rows, base), groups=masks(d["groups"]))
    assert np.isfinite(final).all()
    in_group, outside = final[d["groups"][:, 3]], final[~d["groups"][:, 3]]
    assert fitted.certificate.status == "converged"
    assert np.mean(prop.score(final, d["y"])) < np.mean(prop.score(np.full(rows, base), d["y"]))
    truth = [prop.solve(d["y"][part]) for part in (d["groups"][:, 3], ~d["groups"][:, 3])]
    np.testing.assert_allclose([np.median(in_group), np.median(outside)], truth, rtol=0.25)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e3, -1e3])
def test_units_do_not_matter(scale: float, offset: float) -> None:
    rng = np.random.default_rng(1)
    d = binary(N)
    x = rng.normal(0, 1, N)
    y = x + d["groups"] @ np.array([0.5, -0.5, 0.0, 1.0]) + rng.normal(0, 1, N)
    known = mv.multicalibrate(y - 5, x - 5, groups=masks(d["groups"])).predict(x - 5, groups=masks(d["groups"])) + 5
    fitted = mv.multicalibrate(scale * (y + offset), scale * (x + offset), groups=masks(d["groups"]))
    found = fitted.predict(scale * (x + offset), groups=masks(d["groups"])) / scale - offset
    assert np.abs(found - known).mean() < 0.03  # rounding decides between ridges that are equally good
    np.testing.assert_allclose(found, known, atol=0.1)


EDGES: dict[str, tuple[Any, Any]] = {
    "labels all 0": (np.zeros(N), None),
    "labels all 1": (np.ones(N), None),
    "labels all 7": (np.full(N, 7.0), None),
    "base all 0": (None, np.zeros(N)),
    "base all 1": (None, np.ones(N)),
    "base 0 or 1": (None, (np.arange(N) % 3 == 0).astype(float)),
    "base constant": (None, np.full(N, 0.5)),
    "base outside": (None, np.linspace(-3, 4, N)),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_give_finite_predictions_and_a_true_certificate(name: str) -> None:
    d = binary(N, seed=6)
    y = d["y"] if EDGES[name][0] is None else EDGES[name][0]
    base = d["base"] if EDGES[name][1] is None else EDGES[name][1]
    groups = [*masks(d["groups"]), d["groups"][:, 0], np.zeros(N, bool), np.ones(N, bool)]
    fitted = mv.multicalibrate(y, base, groups=groups)
    final = fitted.predict(base, groups=groups)
    assert np.isfinite(final).all()
    assert fitted.certificate.status == "converged"
    assert np.isfinite(fitted.predict([-1e12, 1e12], groups=[np.array([True, False])] * len(groups))).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 30, 99, 100, 101, 150])
@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.9)])
def test_few_rows(rows: int, prop: mv.Property) -> None:
    d = binary(rows, seed=rows)
    fitted = mv.multicalibrate(d["y"], d["base"], groups=masks(d["groups"]), property=prop)
    final = fitted.predict(d["base"], groups=masks(d["groups"]))
    assert np.isfinite(final).all()
    few = rows < 100
    assert ("too few" in fitted.certificate.summary()) == few
    assert ("held-out score gain" in fitted.certificate.summary()) != few
    if few:
        np.testing.assert_array_equal(final, d["base"])


def test_no_groups_at_all() -> None:
    d = binary(N)
    fitted = mv.multicalibrate(d["y"], d["base"], groups=[])
    assert np.mean((fitted.predict(d["base"]) - d["y"]) ** 2) < np.mean((d["base"] - d["y"]) ** 2)


def test_rows_without_weight_do_not_count_and_weights_do() -> None:
    d = binary(N, seed=9)
    rng = np.random.default_rng(0)
    junk = rng.random(N) < 0.3
    y = np.where(junk, 1.0, d["y"])
    w = np.where(junk, 0.0, d["weights"])
    groups, kept = masks(d["groups"]), ~junk
    with_zeros = mv.multicalibrate(y, d["base"], groups=groups, sample_weight=w).predict(d["base"], groups=groups)
    without = mv.multicalibrate(y[kept], d["base"][kept], groups=masks(d["groups"][kept]), sample_weight=w[kept])
    np.testing.assert_allclose(with_zeros, without.predict(d["base"], groups=groups), atol=0.02)  # the shuffle differs
    heavy = mv.multicalibrate(d["y"], d["base"], groups=groups, sample_weight=np.where(d["y"] > 0, 5.0, 1.0))
    assert heavy.predict(d["base"], groups=groups).mean() > with_zeros.mean() + 0.1
    scaled = mv.multicalibrate(y, d["base"], groups=groups, sample_weight=1e6 * w).predict(d["base"], groups=groups)
    np.testing.assert_allclose(scaled, with_zeros, rtol=1e-6)


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.8)])
@pytest.mark.parametrize("options", [{}, {"m": 5}, {"grid": mv.Grid.uniform(0, 1, 7)}, {"alpha": 0.01}, {"alpha": 1e-12}])
def test_the_certificate_is_true(prop: mv.Property, options: dict[str, Any]) -> None:
    d = binary(N, seed=11)
    y = np.clip(d["truth"] + np.random.default_rng(2).normal(0, 0.1, N), 0.01, 0.99)
    groups = masks(d["groups"])
    fitted = mv.multicalibrate(y, d["base"], groups=groups, property=prop, sample_weight=d["weights"], **options)
    final = fitted.predict(d["base"], groups=groups)
    level = fitted.grid.round(final)
    assert np.array_equal(level, fitted.levels)
    everyone = np.column_stack([np.ones(N), d["groups"]])
    error = naive.worst_error(prop.identify(final, y), level, everyone, d["weights"])
    certificate = fitted.certificate
    assert certificate.error == pytest.approx(error, rel=1e-9)
    off = mv.audit(y, final, groups=masks(d["groups"]), property=prop, grid=fitted.grid, sample_weight=d["weights"]).off
    best = naive.worst_error(prop.identify(np.full(N, prop.solve(y, d["weights"])), y), np.zeros(N, int), everyone, d["weights"])
    reached, vacuous = error <= certificate.alpha and not off, options.get("alpha", 0.0) > best  # one number for everybody would do
    assert (certificate.status == "vacuous") == (reached and vacuous)
    assert (certificate.status == "converged") == (reached and not vacuous)
    assert certificate.alpha == options.get("alpha", certificate.alpha)
    assert len(fitted.grid) <= options.get("m", 20)


def test_the_summary_says_what_alpha_is() -> None:
    d = binary(N)
    groups = masks(d["groups"])
    free = mv.multicalibrate(d["y"], d["base"], groups=groups).certificate
    assert "asked" not in free.summary()
    assert "On the rows fitted: " in free.summary()
    asked = mv.multicalibrate(d["y"], d["base"], groups=groups, alpha=1e-12).certificate.summary()
    assert "1e-12 asked" in asked
    assert "cannot be told from noise" in asked


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.9)])
def test_a_saved_model_predicts_the_same_bits(prop: mv.Property, tmp_path: Path) -> None:
    d = binary(N, seed=13)
    y = np.clip(d["truth"] + np.random.default_rng(2).normal(0, 0.2, N) * (1 + d["groups"][:, 3]), 0, 1)
    fitted = mv.multicalibrate(y, d["base"], groups=masks(d["groups"]), property=prop)
    fitted.save(tmp_path / "model.json")
    loaded = mv.load(tmp_path / "model.json")
    new = binary(500, seed=14)
    assert np.array_equal(
        fitted.predict(new["base"], groups=masks(new["groups"])), loaded.predict(new["base"], groups=masks(new["groups"]))
    )
    assert loaded.certificate.summary() == fitted.certificate.summary()


def test_ties_are_no_violation_and_a_certificate_with_cells_beyond_chance_can_be_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.clip(rng.normal(0.5, 0.6, N), 0, 1)  # a fifth of the labels are exactly 1: no prediction has coverage 0.9
    fitted = mv.multicalibrate(y, np.full(N, 0.7), groups=[], property=mv.Quantile(0.9))
    assert fitted.predict([0.7]).tolist() == [1.0]
    # ... but the labels below it are fewer and those up to it more than 0.9: it is a 0.9-quantile.
    assert fitted.certificate.status == "converged"
    few = mv.multicalibrate(np.ones(90), np.full(90, 0.2), groups=[])  # off beyond doubt, and too few rows to hold any out
    assert few.certificate.status == "blocked"
    assert len(few.certificate.blocked) == 1
    few.save(tmp_path / "model.json")
    assert "The one group is off beyond chance" in mv.load(tmp_path / "model.json").certificate.summary()


@pytest.mark.parametrize("field", ["grid", "link", "model", "rounds"])
def test_a_file_without_a_part_is_refused(field: str) -> None:
    d = binary(N)
    plain = json.loads(json.dumps(mv.multicalibrate(d["y"], d["base"], groups=masks(d["groups"])).to_json()))
    for broken in ({**plain["predictor"], field: "x"}, {k: v for k, v in plain["predictor"].items() if k != field}):
        with pytest.raises(ModelFileError):
            mv.Calibration.from_json({**plain, "predictor": broken})


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.9)])
def test_a_base_that_is_right_is_left_alone(prop: mv.Property) -> None:
    rises = []
    for seed in range(8):
        d, new = binary(N, seed=seed), binary(20_000, seed=seed + 50)
        noise = [np.random.default_rng(s).normal(0, 0.1, size) for s, size in ((seed + 900, N), (seed + 950, 20_000))]
        y, y_new, base, base_new = d["y"], new["y"], d["truth"], new["truth"]
        if isinstance(prop, mv.Quantile):
            y, y_new = d["truth"] + noise[0], new["truth"] + noise[1]
            base, base_new = base + 0.128155, base_new + 0.128155
        fitted = mv.multicalibrate(y, base, groups=masks(d["groups"]), property=prop)
        before, after = (np.mean(prop.score(p, y_new)) for p in (base_new, fitted.predict(base_new, groups=masks(new["groups"]))))
        rises.append(after / before - 1)
        if rises[-1] == 0:
            assert "nothing done" in fitted.certificate.summary()
    assert np.mean(np.array(rises) == 0) >= 0.8  # a t of two lets one in forty through
    assert max(rises) < 0.01


def test_no_more_updates_than_allowed() -> None:
    rng = np.random.default_rng(3)
    base = rng.random(30_000)
    group = rng.random(30_000) < 0.5
    truth = np.clip(base + 0.15 * np.sin(40 * base) * group, 0, 1)  # a wiggle that the smooth start cannot follow
    y = (rng.random(30_000) < truth).astype(float)
    free = mv.multicalibrate(y, base, groups=[group])
    assert len(free.patches) > 2
    few = mv.multicalibrate(y, base, groups=[group], max_updates=2)
    assert len(few.patches) <= 2
    assert few.certificate.status == ("budget" if len(few.patches) == 2 else "blocked")
    assert len(mv.multicalibrate(y, base, groups=[group], max_updates=0).patches) == 0


def test_progress_and_holdout() -> None:
    d = binary(N)
    seen: list[tuple[int, float, float]] = []
    fitted = mv.multicalibrate(
        d["y"], d["base"], groups=masks(d["groups"]), holdout=0.3, progress=lambda *numbers: seen.append(numbers)
    )
    assert len(seen) >= 3
    assert seen[-1][2] < seen[0][2]
    assert fitted.certificate.holdout_error is not None
    assert "On rows held out" in fitted.certificate.summary()


@pytest.mark.parametrize("at", ["held_out.fit_candidates", "candidates.Candidate.on_more_rows"])
def test_ctrl_c_raises_and_returns_what_is_done_if_asked(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"multivalid.practical.{at}", interrupt)
    d = binary(25_000)
    groups = masks(d["groups"])
    with pytest.raises(KeyboardInterrupt):
        mv.multicalibrate(d["y"], d["base"], groups=groups)
    fitted = mv.multicalibrate(d["y"], d["base"], groups=groups, on_interrupt="return")
    assert fitted.certificate.status == "budget"
    assert "Interrupted" in fitted.certificate.summary()
    untouched = np.array_equal(fitted.predict(d["base"], groups=groups), d["base"])
    assert untouched == (at == "held_out.fit_candidates")  # later, what held-out rows had confirmed is kept


@pytest.mark.parametrize("prop", ["quantile:0.9", "quantile_cvar:0.9"])
def test_one_number_for_everybody_is_no_slope(prop: str) -> None:
    """Predictions that are equal up to rounding tell nothing about their neighbours: these move along."""
    rng = np.random.default_rng(0)
    group = rng.random(4000) < 0.4
    y = np.where(group, 0.5, 1.5) * rng.standard_t(5, 4000)
    said = np.tile(np.atleast_1d(mv.properties.parse_any(prop).solve(y)), (4000, 1)).squeeze()
    fitted = mv.multicalibrate(y, said, groups=[group], property=prop)
    flags = [np.array([True, False])]
    at = fitted.predict(said[:2], groups=flags)
    for factor in (0.999, 1.001):
        np.testing.assert_allclose(fitted.predict(said[:2] * factor, groups=flags), at, atol=0.02)


@pytest.mark.parametrize(("prop", "said"), [("mean", [0.5]), ("mean_variance", [0.5, 0.25])])
def test_an_alpha_that_a_constant_reaches_is_vacuous(prop: str, said: list[float]) -> None:
    rng = np.random.default_rng(0)
    group = rng.random(3000) < 0.5
    y = (rng.random(3000) < np.where(group, 0.6, 0.4)).astype(float)
    base = np.tile(said, (3000, 1)).squeeze()
    loose = mv.multicalibrate(y, base, groups=[group], property=prop, alpha=0.5).certificate
    assert loose.status == "vacuous"
    assert "promises nothing" in loose.summary()
    tight = mv.multicalibrate(y, base, groups=[group], property=prop, alpha=0.004 if prop == "mean" else (0.004, 1e-12)).certificate
    assert tight.status != "vacuous"


def test_a_certificate_asked_for_later_speaks_of_the_rows_fitted() -> None:
    """What it rests on is summed at the fit: arrays that the caller changes afterwards change nothing, and a copy knows it too."""
    rng = np.random.default_rng(11)
    group, said = rng.random(3000) < 0.3, 0.2 + 0.6 * rng.random(3000)
    y = (rng.random(3000) < np.clip(said + 0.2 * group, 0, 1)).astype(float)
    at_once, copied = (mv.multicalibrate(*[a.copy() for a in (y, said)], groups=[group.copy()]) for _ in range(2))
    expected = at_once.certificate.to_json()
    labels, predictions, members = y.copy(), said.copy(), group.copy()
    later = mv.multicalibrate(labels, predictions, groups=[members])
    labels[:], predictions[:], members[:] = 1.0, 0.0, True
    assert later.certificate.to_json() == expected
    assert later.certificate is later.certificate
    assert copy.deepcopy(copied).certificate.to_json() == expected


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_quantiles_of_events_whose_labels_are_nowhere_near(tau: float) -> None:
    # All labels are 0 or 1 and no row lies within the window of the slope: there is no curvature to divide by.
    rng = np.random.default_rng(0)
    y, said, groups = (rng.random(100_000) < 0.05) * 1.0, rng.random(100_000), rng.random((4, 100_000)) < 0.3
    made = mv.multicalibrate(y, said, groups=list(groups), property=mv.Quantile(tau))
    assert (made.predict(said, groups=list(groups)) == 0).all()
    assert made.certificate.status == "converged"
