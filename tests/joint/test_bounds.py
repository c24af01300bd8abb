"""Constants of the theorems, by hand."""

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.joint.bounds import second_error_bound, update_bound


def test_cvar_constants_by_hand():
    found = mv.cvar_constants(0.5, 100, least_density=0.01, most_density=4.0)
    assert found.alpha_first == pytest.approx(4 * 16 / 100)
    assert found.alpha_stage == pytest.approx(4 * 4 / 100)
    assert found.alpha_second == pytest.approx(8 * (16 + 1) / (100 * 0.25))
    assert found.anti_lipschitz == 100.0
    assert found.alpha_second_printed == pytest.approx(2 * ((1 / 0.01) ** 2 * 0.64 + 0.16))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": 1.0}, "tau must be strictly between 0 and 1"),
        ({"m": 0}, "m must be a whole number of at least 1"),
        ({"least_density": 0.0}, "least_density must be positive"),
        ({"least_density": 3.0}, "least_density must not exceed most_density"),
    ],
)
def test_cvar_constants_refuse(change, message):
    with pytest.raises(InputError, match=message):
        mv.cvar_constants(**{"tau": 0.5, "m": 10, "least_density": 1.0, "most_density": 2.0, **change})


def far_median(gap, labels=2000):
    """Labels of density 4 up to .0275, .01 on a gap of this length, 4 again up to all but .01 of the rest; 11 % lie before the gap."""
    start, share = 0.0275, 0.11 + 0.01 * gap
    length = (1 - share - 0.01 * (1 - start - gap)) / (4 - 0.01)  # of the second dense part; what is left has density .01
    ends = np.cumsum([0, start, gap, length, 1 - start - gap - length])
    masses = np.cumsum([0, 0.11, 0.01 * gap, 4 * length, 0.01 * (1 - start - gap - length)])
    return np.interp((np.arange(labels) + 0.5) / labels, masses / masses[-1], ends)


def test_an_output_that_stops_but_breaks_the_constant_as_printed():
    # τ = ½, m = 100, densities from .01 to 4; one first level for 25 laws that differ in the second. The median of each is far off.
    bounds = mv.cvar_constants(0.5, 100, least_density=0.01, most_density=4.0)
    printed = 8 / 100 * ((0.01 * 4) ** 2 + 1)  # M₁ taken for L_a
    grids = mv.Grid(np.unique([0.0, 0.0275, 1.0])), mv.Grid.uniform(0, 2, 100)
    laws = [far_median(gap) for gap in np.linspace(0.35, 0.72, 25)]
    pair, first = mv.QuantileCVaR(0.5), 0.0275
    second = [grids[1].points[grids[1].round([pair.target(first, y).mean()])[0]] for y in laws]
    assert len(set(second)) == 25  # one cell each
    for y, level in zip(laws, second, strict=True):
        v = pair.first.identify(first, y).mean(), pair.identify_second(first, level, y).mean()
        assert v[0] ** 2 / 25 < bounds.alpha_first / 100  # neither stage would move the cell
        assert v[1] ** 2 / 25 < bounds.alpha_stage / 100
    said = np.column_stack([np.full(25 * 2000, first), np.repeat(second, 2000)])
    error = mv.audit(np.concatenate(laws), said, groups=[], property=pair, grid=grids).errors[1]
    assert printed < 0.148 < error
    assert error <= bounds.alpha_second < bounds.alpha_second_printed


def test_bound_names_its_argument():
    bayes = second_error_bound(mv.QuantileCVaR(0.9).facts(0, 2), 0.01, 0.02)
    assert bayes.value == pytest.approx(2 * ((2 / 0.1) ** 2 * 0.01 + 0.02))
    assert "Bayes" in bayes.reason
    known = second_error_bound(mv.MeanMoment(4).facts(), 0.01, 0.02)
    assert known.value == pytest.approx(2 * (16 * 0.01 + 0.02))
    assert "L_a" in known.reason
    unknown = second_error_bound(mv.QuantileIQR().facts(), 0.01, 0.02)
    assert unknown.value is None
    assert "L_c and L_a" in unknown.reason
    sharper = second_error_bound(mv.QuantileCVaR(0.9).facts(0, 2), 0.01, 0.02, anti=0.5)
    assert sharper.value == pytest.approx(2 * ((9 * 0.5) ** 2 * 0.01 + 0.02))


def test_bayes_excess_inequality_on_random_laws():
    random = np.random.default_rng(0)
    for pair in (mv.QuantileCVaR(0.8), mv.MeanVariance(), mv.ExpectileVariantile(0.3), mv.BayesPair(mv.Huber(0.3))):
        facts = pair.facts()
        for _ in range(200):
            y, guess = random.random(random.integers(1, 8)), random.random()
            excess = pair.solve_second(guess, y) - pair.solve(y)[1]
            v = abs(pair.first.identify(guess, y).mean())
            assert -1e-12 <= excess <= facts.bayes_scale * facts.first.range.length * v + 1e-12


def test_update_bound():
    assert update_bound(0, 5) == 5
    assert update_bound(2, 5) == 17


def test_a_grid_beyond_the_labels_makes_the_promise_weaker():
    """D is how far a first prediction can be from the truth, and a user's grid may go beyond the labels."""
    random = np.random.default_rng(0)
    y, group = random.random(400), random.random(400) < 0.4
    said = np.column_stack([random.uniform(-3, 4, 400), random.random(400)])
    made = []
    for lo, hi in ((0, 1), (-3, 4)):
        grids = mv.Grid.uniform(lo, hi, 40), mv.Grid.uniform(0, 17, 60)
        inside = np.clip(said, [lo, 0], [hi, 17])
        made.append(mv.multicalibrate(y, inside, groups=[group], property="mean_variance", mode="theorem", grid=grids).certificate)
    near, far = made
    first = [grid * 2 * 4 for grid in (1 / 40**2, (7 / 40) ** 2)]
    assert near.alpha[0] == pytest.approx(first[0])
    assert far.alpha[0] == pytest.approx(first[1])
    # The target (y − γ⁰)² is twice the score, and predictions can be 39/40 of the grid's length from the truth.
    assert far.alpha[1] >= 2 * ((2 * 7 * 39 / 40) ** 2 * far.alpha[0] + far.stage_alpha) * (1 - 1e-9)
    assert far.alpha[1] <= 2 * ((2 * 7) ** 2 * far.alpha[0] + far.stage_alpha) * (1 + 1e-9)
    for one in made:
        assert one.status in ("converged", "vacuous", "blocked")
        assert one.error[1] <= one.alpha[1]


def test_the_check_of_the_promise_is_made_in_theorem_mode_too():
    from dataclasses import replace

    from multivalid.joint import theorem
    from multivalid.joint.bounds import SecondBound
    from multivalid.joint.plan import make_plan
    from tests.joint.problems import problem

    pair, rows, levels = problem(3)
    plan = make_plan(rows, pair, mode="theorem", grid=None, m=levels, alpha=None, lipschitz=None)
    honest = theorem.fit(rows, pair, plan)
    if honest.certificate.error[1] > 0:
        broken = replace(plan, second=SecondBound(honest.certificate.error[1] / 2, "wrong on purpose"))
        assert theorem.fit(rows, pair, broken).certificate.status in ("uncalibrated", "blocked")


def test_rows_held_out_bound_the_errors_of_a_pair():
    random = np.random.default_rng(1)
    y, group = random.random(4000), random.random(4000) < 0.4
    said = np.column_stack([np.full(4000, 0.5), np.full(4000, 1 / 12)])
    for mode in ("theorem", "practical"):
        made = mv.multicalibrate(y, said, groups=[group], property="mean_variance", mode=mode, m=10, holdout=0.5)
        bound = made.certificate.holdout_bound
        assert bound is not None
        assert all(b >= e for b, e in zip(bound, made.certificate.holdout_error, strict=True))
        assert "on the population with probability 95 %" in made.certificate.summary()
