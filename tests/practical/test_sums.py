"""What a fit of group shifts sums up, in double precision over the whole feature matrix: slopes, curvature, ridge, tests of more terms."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import ModelFileError
from multivalid.groups.membership import Membership
from multivalid.practical import newton, solve, start
from multivalid.practical.data import CHUNK, LinkRows, Matching, folds
from multivalid.practical.link import LogOdds, OwnUnits
from multivalid.practical.model import Model
from multivalid.practical.newton import FOLDS, RIDGES, choose_ridge, hessian, sweep

ROWS = 5 * CHUNK + 700


def rows_of(seed=0, count=ROWS, groups=5, weighted=True):
    rng = np.random.default_rng(seed)
    members = rng.random((count, groups)) < np.linspace(0.1, 0.6, groups)
    base, weights = rng.gamma(2.0, 0.6, count) - 1.5, rng.choice([0.4, 1.0, 2.5], count) if weighted else np.ones(count)
    truth = base + members @ np.linspace(-0.9, 0.8, groups) + 0.9 * (members[:, 0] & members[:, 4])
    labels = (rng.random(count) < 1 / (1 + np.exp(-truth))).astype(float)
    return LinkRows(labels, weights / weights.mean(), base, Membership.from_dense(members))


def model_of(rows, rich=True):
    rng = np.random.default_rng(5)
    model = Model.new(rows.base, rows.membership.groups - 1)
    model = model.moved(rng.normal(0, 0.4, model.flat.values.size))
    if not rich:
        return model
    model = model.with_bends(rng.normal(0, 1, 500)).with_products(np.array([[0, 1], [2, 5]])).with_twists()
    return model.moved(rng.normal(0, 0.2, model.flat.values.size))


def features_of(model, rows, span=slice(None)):
    """η and the derivative of η in every coefficient (rows × coefficients); their formula is tested by itself."""
    eta, index, found = model.evaluate(rows.base, rows.blocks.part(slice(0, len(rows))))
    model.chain(index, found)
    return eta[span], found.T.astype(float)[span]


LOSS = Matching(mv.Mean(), LogOdds())


def chance(eta):
    return 1 / (1 + np.exp(-eta))


@pytest.mark.parametrize("rich", [False, True])
def test_slopes_and_curvature_fold_by_fold(rich):
    rows = rows_of()
    model = model_of(rows, rich)
    eta, x = features_of(model, rows)
    wv, curve = rows.weights * (chance(eta) - rows.labels), rows.weights * chance(eta) * (1 - chance(eta))
    found = sweep(model, rows, LOSS)
    np.testing.assert_allclose(found[0], eta, atol=1e-5)
    np.testing.assert_allclose(found[1], wv, atol=1e-5)
    spans = folds(ROWS, FOLDS)
    assert all(span.stop - span.start >= 700 for span in spans)
    np.testing.assert_allclose(found[2], [x[span].T @ wv[span] for span in spans], rtol=1e-4, atol=2e-3)
    parts, damping = hessian(model, rows, LOSS)
    exact = np.array([x[span].T @ (x[span] * curve[span, None]) for span in spans])
    np.testing.assert_allclose(parts, exact, rtol=2e-4, atol=2e-3)
    np.testing.assert_allclose(damping, np.diag(exact.sum(axis=0)) + curve.mean() * (x**2).sum(axis=0), rtol=1e-4)


@pytest.mark.parametrize(("name", "value"), [("HESSIAN_ROWS", 2 * CHUNK), ("MOST_FOLDED", 3)])
def test_folds_may_share_the_curvature_of_some_rows(name, value, monkeypatch):
    monkeypatch.setattr(newton, name, value)
    rows = rows_of()
    model = model_of(rows)
    count = value if name == "HESSIAN_ROWS" else ROWS
    eta, x = features_of(model, rows, slice(0, count))
    curve = rows.weights[:count] * chance(eta) * (1 - chance(eta))
    parts, damping = hessian(model, rows, LOSS)
    exact = x.T @ (x * curve[:, None]) * (ROWS / count)
    assert parts.shape[0] == FOLDS
    for part in parts:
        np.testing.assert_allclose(part, exact / FOLDS, rtol=2e-4, atol=2e-3)
    np.testing.assert_allclose(damping, np.diag(exact) + exact[0, 0] / count * (x**2).sum(axis=0), rtol=1e-4)


def ridge_by_loops(model, gradient, parts, noise):
    """Leave out a fold, step where the others want to go, and see what the fold loses: to second order."""
    risk = []
    for ridge in RIDGES * noise * 4 / 5:
        total = 0.0
        for k in range(5):
            others = [j for j in range(5) if j != k]
            line = ridge * model.flat.penalty
            step = np.linalg.solve(
                sum(parts[j] for j in others) + np.diag(line), -sum(gradient[j] for j in others) - line * model.flat.values
            )
            total += gradient[k] @ step + step @ parts[k] @ step / 2
        risk.append(total)
    return RIDGES[int(np.argmin(risk))] * noise


@pytest.mark.parametrize("shared", [False, True])
def test_the_ridge_is_that_of_least_loss_left_out(shared):
    model = model_of(rows_of(count=800), rich=False)
    size, chosen = model.flat.values.size, set()
    rng = np.random.default_rng(0)
    for signal in (0.0, 0.2, 0.5, 1.0, 2.0, 4.0):
        for noise in (0.5, 3.0):
            roots = rng.normal(size=(5, size, 3 * size)) * np.linspace(0.3, 2, size)[:, None]
            parts = roots @ roots.transpose(0, 2, 1) * 4
            if shared:
                parts = np.broadcast_to(parts[0], parts.shape)
            truth = signal * rng.normal(size=size) * 0.3
            gradient = np.array([part @ truth + np.linalg.cholesky(part) @ rng.normal(size=size) * noise**0.5 for part in parts])
            found = choose_ridge(model, gradient, parts, noise)
            assert found == pytest.approx(ridge_by_loops(model, gradient, parts, noise))
            chosen.add(round(float(found / noise), 6))
    assert len(chosen) >= 4, "the case must be there"


@pytest.mark.parametrize("few", [False, True])
def test_equations_are_steadied_by_a_millionth_of_the_mean_diagonal(few, monkeypatch):
    rng = np.random.default_rng(2)
    root = rng.normal(size=(12, 5))
    matrix, ridge, right = root @ root.T, np.linspace(0.0, 2e-5, 12), rng.normal(size=(12, 2))
    exact = np.linalg.solve(matrix + np.diag(ridge + 1e-6 * np.trace(matrix) / 12), right)
    if few:
        monkeypatch.setattr(solve, "MOST_DIRECT", 5)
    found = solve.solve(matrix, ridge, right, np.arange(12) < 3 if few else None)
    np.testing.assert_allclose(found, exact, rtol=1e-3 if few else 1e-8)


def statistic_by_hand(model, added, rows, count):
    """χ² of a score test with the other coefficients profiled out, its variance the mean of two estimates."""
    eta, x = features_of(model, rows)
    wv, curve = rows.weights * (chance(eta) - rows.labels), rows.weights * chance(eta) * (1 - chance(eta))
    some = slice(0, count)
    scale = len(rows) / count
    information = x[some].T @ (x[some] * curve[some, None]) * scale
    new = np.arange(x.shape[1])[added]
    old = np.setdiff1d(np.arange(x.shape[1]), new)
    inner = information[np.ix_(old, old)]
    inner = inner + np.eye(old.size) * 1e-6 * np.trace(inner) / old.size
    clean = x[:, new] - x[:, old] @ np.linalg.solve(inner, information[np.ix_(old, new)])
    score = clean.T @ wv
    by_curve = (wv @ wv) / information[0, 0] * scale * clean[some].T @ (clean[some] * curve[some, None])
    by_v = clean[some].T @ (clean[some] * wv[some, None] ** 2) * scale
    chi2 = score @ np.linalg.solve((by_curve + by_v) / 2 * (np.eye(new.size) * 1e-3 + 1), score)
    return (chi2 - new.size) / (2 * new.size) ** 0.5


@pytest.mark.parametrize("count", [ROWS, 3 * CHUNK])
@pytest.mark.parametrize("name", ["bend", "twist"])
def test_the_statistic_of_more_terms_is_a_score_test(name, count, monkeypatch):
    monkeypatch.setattr(newton, "HESSIAN_ROWS", count)
    rows = rows_of(3)
    model = newton.fit(Model.new(rows.base, 5), rows, LOSS, 5.0, warm=True).model
    richer = model.with_bends(start.summed_shifts(model, rows), knots=3) if name == "bend" else model.with_twists()
    added = slice(*(richer.flat.cuts[:2] if name == "bend" else richer.flat.cuts[3:]))
    assert added.stop - added.start >= 3
    found = start.statistic(richer, added, rows, LOSS)
    # Products of the shares are taken in single precision.
    assert found == pytest.approx(statistic_by_hand(richer, added, rows, count), rel=0.02, abs=0.02)


def screened_by_loops(model, rows, wv, used, most):
    """Pairs of features by |Σ V·product| over its root mean square, the prior of 25 rows beside it; those beyond chance."""
    z_base = (rows.base - model.center) / model.scale
    lines = [*(rows.membership.mask(g).astype(float) for g in range(1, rows.membership.groups)), z_base]
    pairs = [(i, j) for i in range(len(lines)) for j in range(i + 1, len(lines))]
    limit, ranked = -NormalDist().inv_cdf(0.025 / len(pairs)), []
    for i, j in pairs:
        product = lines[i] * lines[j]
        square = float(np.sum((wv * product)[:used] ** 2)) * len(rows) / used + 25 * float(np.mean(wv**2))
        z = abs(float(wv @ product)) / square**0.5
        if z > limit:
            ranked.append((z, i, j))
    return [[i, j] for _, i, j in sorted(ranked, reverse=True)[:most]]


@pytest.mark.parametrize(("most", "used"), [(32, ROWS), (3, ROWS), (32, 2 * CHUNK)])
def test_products_are_screened_by_loops(most, used, monkeypatch):
    monkeypatch.setattr(start, "MOST_PRODUCTS", most)
    monkeypatch.setattr(start, "SCREEN_VARIANCE_ROWS", used - 100 if used < ROWS else ROWS)
    rows = rows_of(4)
    model = Model.new(rows.base, 5)
    wv = rows.weights * (chance(rows.base) - rows.labels)
    found = start.screen(model, rows, wv).T.tolist()
    assert found == screened_by_loops(model, rows, wv, used, most)
    assert len(found) > 2
    assert any(j == 5 for _, j in found) or most == 3, "a product with the base too"


@pytest.mark.parametrize(("tests", "level"), [(1, 0.05), (20, 0.05), (3, 0.01), (0, 0.05)])
def test_the_limit_of_chance_is_bonferronis(tests, level):
    assert start.chance_limit(tests, level) == pytest.approx(-NormalDist().inv_cdf(level / 2 / max(tests, 1)))


@pytest.mark.parametrize("knots", [4, 2])
def test_a_new_model_has_hinges_at_quantiles_and_says_nothing(knots):
    base = np.random.default_rng(0).gamma(2, 3, 501)
    model = Model.new(base, 3, knots)
    at = [np.quantile(base, k / (knots + 1)) for k in range(1, knots + 1)]
    assert (model.center, model.scale) == (pytest.approx(base.mean()), pytest.approx(base.std()))
    assert model.knots == pytest.approx((np.array(at) - base.mean()) / base.std())
    assert [part.size for part in (model.curve, model.shifts, model.bends)] == [2 + knots, 3, 0]
    assert not model.flat.values.any()
    assert model.flat.penalty.tolist() == [0.0, 0.01, *[1.0] * (knots + 3)]
    assert model.flat.few.tolist() == [True] * (2 + knots) + [False] * 3
    assert Model.new(np.full(9, 1e6) + 1e-7 * np.arange(9), 1).scale == 1.0, "equal up to rounding"
    assert Model.new(1e6 + 1e-4 * np.arange(9), 1).scale == pytest.approx(1e-4 * np.arange(9).std(), rel=1e-3)
    index = np.random.default_rng(1).normal(size=400)
    assert model.with_bends(index).bend_knots == pytest.approx(np.array([np.quantile(index, k / 9) for k in range(1, 9)]))
    assert model.with_bends(index).with_twists().twists.size == 9 * (1 + knots)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_window_is_the_smallest_in_which_enough_labels_lie(share):
    rng = np.random.default_rng(1)
    labels, eta = rng.normal(size=2000), rng.normal(size=2000) * 0.3
    rows = LinkRows(labels, rng.choice([0.5, 1.5], 2000), eta, Membership.from_dense(np.zeros((2000, 1), dtype=bool)))
    loss = Matching(mv.Quantile(0.3), OwnUnits(0.0, 1.0))
    loss.widen(eta, rows, share)
    inside = [float(np.mean(np.abs(labels - eta) <= 1e-3 * 2.0**k)) for k in range(14)]
    first = next(k for k in range(14) if inside[k] >= share)
    assert loss.window == pytest.approx(1e-3 * 2.0**first)
    assert 0 < first < 13
    jumps = (labels <= eta + loss.window).astype(float) - (labels <= eta - loss.window)
    np.testing.assert_allclose(loss.slope(eta, rows), rows.weights * jumps / (2 * loss.window))
    loss.widen(eta, rows, 1.5)
    assert loss.window == pytest.approx(1e-3 * 2.0**13), "the widest, where even that is too small"


def test_only_the_first_ten_thousand_rows_settle_the_window():
    count = 12_000
    labels = np.where(np.arange(count) < 10_000, 0.0, 50.0)
    rows = LinkRows(labels, np.ones(count), np.zeros(count), Membership.from_dense(np.zeros((count, 1), dtype=bool)))
    loss = Matching(mv.Quantile(0.5), OwnUnits(0.0, 1.0))
    loss.widen(np.zeros(count), rows, 0.99)
    assert loss.window == 1e-3


@pytest.mark.parametrize("rows", [100, CHUNK, 5 * CHUNK, 5 * CHUNK + 1, 23 * CHUNK + 5])
def test_folds_are_whole_chunks_in_order(rows):
    found = folds(rows, 5)
    chunks = -(-rows // CHUNK)
    place = [k * CHUNK * 5 // rows for k in range(chunks)]
    wanted = [[k for k in range(chunks) if place[k] == fold] for fold in range(5)]
    for span, mine in zip(found, wanted, strict=True):
        assert list(range(span.start, span.stop)) == [i for k in mine for i in range(k * CHUNK, min((k + 1) * CHUNK, rows))]


def test_summed_shifts_of_every_row():
    rows = rows_of(1, count=2500)
    model = model_of(rows)
    dense = np.stack([rows.membership.mask(g) for g in range(1, rows.membership.groups)], axis=1)
    np.testing.assert_allclose(start.summed_shifts(model, rows), dense @ model.shifts, atol=1e-5)


@pytest.mark.parametrize("rich", [False, True])
def test_a_model_comes_back_from_a_file_and_every_vector_has_its_length(rich):
    model = model_of(rows_of(count=900), rich)
    data = model.to_json()
    again = Model.from_json(data, 5)
    np.testing.assert_array_equal(again.flat.values, model.flat.values)
    np.testing.assert_array_equal(again.pairs, model.pairs)
    assert (again.center, again.scale) == (model.center, model.scale)
    for name in ("knots", "curve", "shifts", "bend_knots", "bends", "products", "twists"):
        with pytest.raises(ModelFileError, match=r"do not fit together|must"):
            Model.from_json(data | {name: [*data[name], 1e6]}, 5)


def test_a_sample_tells_that_a_step_goes_too_far(monkeypatch):
    """The slope at the end, from a sample: that at the start and what V changes on the way, scaled up, with the ridge."""
    monkeypatch.setattr(newton, "HESSIAN_ROWS", 2 * CHUNK)
    rows = rows_of(2)
    search = newton._Search(Model.new(rows.base, 5), rows, LOSS, 3.0, warm=True, tuned=True)
    search.curvature()
    step = search.direction()
    told = set()
    for factor in np.linspace(0.5, 4, 15):
        size, before = factor * step, search.identification
        moved, after, _ = sweep(search.model.moved(size), rows, LOSS)
        some = slice(0, 2 * CHUNK)
        rise = (after - before)[some] @ (moved - search.eta)[some] * ROWS / (2 * CHUNK) + 3.0 * size @ (search.penalty * size)
        start_slope = search.slope @ size
        assert search._overshoots(size) == (start_slope + rise > 0.5 * abs(start_slope))
        told.add(search._overshoots(size))
    assert told == {False, True}
