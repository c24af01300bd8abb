"""The backtest: sizes under the null, power, signs, and refusals."""

import json
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, norm

import multivalid as mv
from multivalid.audit.severity_law import severity_tails
from multivalid.errors import InputError

TAU = 0.95
VAR = NormalDist().inv_cdf(TAU)
ES = NormalDist().pdf(VAR) / (1 - TAU)


def book(n=2000, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal(n), random.random(n) < 0.5


def test_counts_and_means_by_hand():
    y = np.array([0.0, 1.0, 2.0, 4.0])
    found = mv.backtest(y, np.full(4, 1.5), np.full(4, 2.0), tau=0.75, groups=[np.array([True, True, False, True])]).table
    assert found["exceedances"].tolist() == [2, 1]
    assert found["expected"].tolist() == [1.0, 0.75]
    assert found["var_mean"][0] == pytest.approx(0.5 - 0.75)
    assert found["es_mean"][0] == pytest.approx(2.0 - 1.5 - (0.5 + 2.5) / 4 / 0.25)
    v = np.array([[0.25, 0.25, -0.75, -0.75], [0.5, 0.5, 0.5 - 2, 0.5 - 10]])
    mean, moment = v.mean(axis=1), v @ v.T / 4
    assert found["wald"][0] == pytest.approx(4 * mean @ np.linalg.solve(moment, mean))


def weighted_book(n=160, seed=3):
    """Losses, forecasts that differ from row to row, weights with zeros and ties, a group."""
    random = np.random.default_rng(seed)
    y, var = random.gamma(2.0, size=n), random.choice([3.0, 4.5, 5.0], n)
    return y, var, var + random.choice([0.8, 1.1], n), random.integers(0, 4, n).astype(float), random.random(n) < 0.4


@pytest.mark.parametrize("lags", [0, 3])
def test_weights_against_the_formulas_written_out(lags):
    y, var, es, w, group = weighted_book()
    found = mv.backtest(y, var, es, tau=0.9, groups=[group], sample_weight=w, lags=lags).table
    for g, rows in enumerate([np.flatnonzero(w), np.flatnonzero(group & (w > 0))]):  # a row without weight is no day between others
        y_, var_, es_, w_ = y[rows], var[rows], es[rows], w[rows]
        total, n = w_.sum(), len(rows)
        v = np.array([(y_ <= var_) - 0.9, es_ - var_ - np.maximum(y_ - var_, 0) / 0.1])
        mean = np.array([sum(w_[i] * v[k, i] for i in range(n)) / total for k in (0, 1)])

        def covariance(terms, w_=w_, n=n, total=total):
            out = np.zeros((2, 2))
            for i in range(n):
                for j in range(max(0, i - lags), min(n, i + lags + 1)):
                    out += (1 - abs(i - j) / (lags + 1)) * w_[i] * w_[j] * np.outer(terms[:, i], terms[:, j]) / total**2
            return out

        about_zero, about_mean = covariance(v), covariance(v - mean[:, None])
        assert found["rows"][g] == (w_ > 0).sum()
        assert found["exceedances"][g] == pytest.approx(w_[y_ > var_].sum())
        assert found["expected"][g] == pytest.approx(0.1 * total)
        assert [found["var_mean"][g], found["es_mean"][g]] == pytest.approx(mean)
        assert [found["var_se"][g], found["es_se"][g]] == pytest.approx(np.sqrt(np.diag(about_mean)))
        assert found["wald"][g] == pytest.approx(mean @ np.linalg.solve(about_zero, mean))


def test_whole_weights_and_repeated_rows_agree_on_what_is_estimated():
    y, var, es, w, group = weighted_book()
    weighted = mv.backtest(y, var, es, tau=0.9, groups=[group], sample_weight=w).table
    again = np.repeat(np.arange(y.size), w.astype(int))
    repeated = mv.backtest(y[again], var[again], es[again], tau=0.9, groups=[group[again]]).table
    for name in ("exceedances", "expected", "var_mean", "es_mean"):
        np.testing.assert_allclose(weighted[name], repeated[name], rtol=1e-12)
    assert (weighted["wald"] < repeated["wald"]).all()  # rows seen twice would be more evidence; rows that count twice are not
    assert (weighted["var_se"] > repeated["var_se"]).all()


def test_weights_that_say_nothing():
    y, var, es, w, group = weighted_book()
    plain = mv.backtest(y, var, es, tau=0.9, groups=[group]).table
    seven = mv.backtest(y, var, es, tau=0.9, groups=[group], sample_weight=np.full(y.size, 7.0)).table
    for name in ("rows", "var_mean", "var_se", "es_mean", "es_se", "wald", "p_value", "one_sided", "p_adjusted"):
        np.testing.assert_allclose(seven[name], plain[name], rtol=1e-10)
    np.testing.assert_allclose(seven["exceedances"], 7 * plain["exceedances"])
    assert plain["exceedances"].dtype == np.int64
    kept = w > 0
    without = mv.backtest(y[kept], var[kept], es[kept], tau=0.9, groups=[group[kept]], sample_weight=w[kept]).table
    zeros = mv.backtest(y, var, es, tau=0.9, groups=[group], sample_weight=w).table
    for name in set(zeros) - {"name"}:
        np.testing.assert_allclose(zeros[name], without[name], rtol=1e-10)


def test_weights_come_from_columns_and_are_checked():
    y, var, es, w, group = weighted_book()
    frame = pd.DataFrame({"loss": y, "v": var, "e": es, "w": w, "desk": np.where(group, "rates", "credit")})
    named = mv.backtest("loss", "v", "e", tau=0.9, groups=["desk == 'rates'"], data=frame, sample_weight="w")
    given = mv.backtest(y, var, es, tau=0.9, groups=[group], sample_weight=w)
    np.testing.assert_array_equal(named.table["wald"], given.table["wald"])
    assert f" {given.table['exceedances'][0]:.1f} " in given.summary()
    with pytest.raises(InputError, match="sample_weight"):
        mv.backtest(y, var, es, tau=0.9, groups=[], sample_weight=-w)
    with pytest.raises(InputError, match="sample_weight"):
        mv.backtest(y, var, es, tau=0.9, groups=[], sample_weight=w[1:])
    empty = mv.backtest(y, var, es, tau=0.9, groups=[group, y > 1], sample_weight=np.where(group, 0.0, 1.0)).table
    assert empty["name"].tolist() == ["everyone", "group 2"]  # a group of rows without weight is not there
    assert empty["rows"].tolist() == [int((~group).sum()), int((~group & (y > 1)).sum())]


def test_size_under_the_null():
    rejected = [], []
    for seed in range(300):
        y, group = book(seed=seed)
        t = mv.backtest(y, np.full(y.size, VAR), np.full(y.size, ES), tau=TAU, groups=[group]).table
        rejected[0].append(t["p_value"][0] <= 0.05)
        rejected[1].append(t["one_sided"][0] <= 0.05)
    assert 0.01 <= np.mean(rejected[0]) <= 0.11
    assert 0.005 <= np.mean(rejected[1]) <= 0.10


def test_understated_risk_is_found_and_prudence_passes():
    y, group = book(5000)
    y = np.where(group, 1.4 * y, y)
    t = mv.backtest(y, np.full(y.size, VAR), np.full(y.size, ES), tau=TAU, groups=[group, ~group]).table
    assert t["one_sided_adjusted"][1] < 1e-6
    assert t["one_sided_adjusted"][2] > 0.05
    prudent = mv.backtest(y, np.full(y.size, 1.6 * VAR), np.full(y.size, 1.6 * ES), tau=TAU, groups=[group, ~group]).table
    assert (prudent["one_sided_adjusted"] > 0.5).all()
    assert prudent["p_adjusted"][2] < 1e-6


def test_returns_are_losses_turned_round():
    y, group = book()
    one = mv.backtest(y, np.full(y.size, VAR), np.full(y.size, ES), tau=TAU, groups=[group])
    other = mv.backtest(-y, np.full(y.size, -VAR), np.full(y.size, -ES), tau=TAU, groups=[group], losses=False)
    for name in one.table:
        np.testing.assert_array_equal(one.table[name], other.table[name])
    assert "(losses)" in one.summary()
    assert "(returns)" in other.summary()


def test_wrong_sign_is_refused_with_a_way_out():
    y, group = book(50)
    with pytest.raises(InputError, match="losses=False if these are returns"):
        mv.backtest(-y, np.full(50, -VAR), np.full(50, -ES), tau=TAU, groups=[group])
    with pytest.raises(InputError, match="losses=True if these are losses"):
        mv.backtest(y, np.full(50, VAR), np.full(50, ES), tau=TAU, groups=[group], losses=False)


@pytest.mark.parametrize("change", [{"tau": 1.0}, {"lags": -1}, {"correction": "none"}, {"var": np.ones(3)}, {"es": [np.nan] * 50}])
def test_bad_input(change):
    y, group = book(50)
    arguments = {"var": np.full(50, VAR), "es": np.full(50, ES), "tau": TAU, "groups": [group], **change}
    with pytest.raises(InputError, match=f"^{next(iter(change))} (must|has)"):
        mv.backtest(y, arguments.pop("var"), arguments.pop("es"), **arguments)


def test_frames_lags_and_corrections():
    y, group = book(400)
    frame = pd.DataFrame({"loss": y, "v": VAR, "e": ES, "desk": np.where(group, "rates", "credit")})
    found = mv.backtest("loss", "v", "e", tau=TAU, groups=["desk"], data=frame)
    assert list(found.to_frame()["name"]) == list(found.table["name"])
    assert "desk = rates" in found.summary()
    assert "2 of" not in repr(found)
    plain = mv.backtest(y, frame["v"], frame["e"], tau=TAU, groups=["desk"], data=frame, correction="holm", lags=5)
    assert (plain.table["one_sided"] <= 1).all()
    assert not np.array_equal(plain.table["var_se"], found.table["var_se"])
    # Hommel's rule for two tests never gives a larger p-value than Holm's.
    holm = mv.backtest(y, frame["v"], frame["e"], tau=TAU, groups=["desk"], data=frame, correction="holm")
    assert (found.table["one_sided"] <= holm.table["one_sided"]).all()


def test_nothing_varies():
    found = mv.backtest(np.zeros(30), np.ones(30), np.full(30, 2.0), tau=0.5, groups=[np.zeros(30, dtype=bool)]).table
    assert np.isfinite(found["p_value"]).all()
    assert found["p_value"][0] < 0.05


@pytest.mark.parametrize(("count", "rows", "tau"), [(0, 250, 0.99), (3, 250, 0.99), (12, 250, 0.975), (60, 1000, 0.95)])
def test_exceedances_have_the_binomial_law(count, rows, tau):
    y = np.zeros(rows)
    y[:count] = 3.0
    found = mv.backtest(y, np.ones(rows), np.full(rows, 2.0), tau=tau, groups=[]).table
    law = binom(rows, 1 - tau)
    low, high = law.cdf(count - 1) + law.pmf(count) / 2, law.sf(count) + law.pmf(count) / 2
    assert found["var_p"][0] == pytest.approx(min(1, 2 * min(low, high)), rel=1e-9)
    assert found["kupiec_p"][0] == pytest.approx(chi2.sf(found["kupiec"][0], 1))


def test_kupiec_and_christoffersen_by_hand():
    y = np.array([0.0, 2, 2, 0, 0, 2, 0, 0, 0, 0])
    found = mv.backtest(y, np.ones(10), np.full(10, 2.0), tau=0.9, groups=[]).table
    pof = 2 * (3 * np.log(0.3) + 7 * np.log(0.7) - 3 * np.log(0.1) - 7 * np.log(0.9))
    assert found["kupiec"][0] == pytest.approx(pof)
    # Nine pairs of days: six start quiet (two turn loud), three start loud (one stays loud).
    apart = 2 * np.log(2 / 6) + 4 * np.log(4 / 6) + np.log(1 / 3) + 2 * np.log(2 / 3)
    assert found["christoffersen"][0] == pytest.approx(2 * (apart - 3 * np.log(0.1) - 6 * np.log(0.9)))
    assert found["christoffersen_p"][0] == pytest.approx(chi2.sf(found["christoffersen"][0], 2))


@pytest.mark.parametrize("terms", [3, 12, 40, 150])
def test_the_law_of_severity_is_the_simulated_one(terms):
    rng = np.random.default_rng(terms)
    beyond = norm.isf(0.05 * (1 - rng.random((40_000, terms)))) - norm.isf(0.05)
    mean = norm.pdf(norm.isf(0.05)) / 0.05 - norm.isf(0.05)
    for draw, side in ((beyond / mean, 1), (2 * ((1 - rng.random((40_000, terms))) ** (-1 / 3) - 1), 0)):
        t = (draw.mean(axis=1) - 1) / draw.std(axis=1, ddof=1) * np.sqrt(terms)
        for level in (0.01, 0.05, 0.3):
            at = np.quantile(t, 1 - level if side else level)
            assert severity_tails(float(at), terms)[side] == pytest.approx(level, rel=0.12)


def test_too_few_exceedances_cannot_tell_of_severity():
    found = mv.backtest(np.zeros(250), np.ones(250), np.full(250, 2.0), tau=0.99, groups=[])
    assert np.isnan(found.table["es_p"][0])
    assert found.table["p_value"][0] == found.table["var_p"][0]
    assert "2.5 exceedances expected, 0 seen; severity cannot be tested." in found.summary()


@pytest.mark.parametrize("tau", [0.95, 0.99])
def test_size_at_one_year_of_days(tau):
    value = NormalDist().inv_cdf(tau)
    shortfall = NormalDist().pdf(value) / (1 - tau)
    rng = np.random.default_rng(11)
    two = one = 0
    for _ in range(200):
        t = mv.backtest(rng.standard_normal(250), np.full(250, value), np.full(250, shortfall), tau=tau, groups=[]).table
        two += t["p_adjusted"][0] <= 0.05
        one += t["one_sided_adjusted"][0] <= 0.05
    assert two <= 20
    assert one <= 20


def test_an_es_a_tenth_too_low_is_found():
    value = NormalDist().inv_cdf(0.975)
    shortfall = 0.9 * NormalDist().pdf(value) / 0.025
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(60):
        t = mv.backtest(rng.standard_normal(1000), np.full(1000, value), np.full(1000, shortfall), tau=0.975, groups=[]).table
        found += t["one_sided_adjusted"][0] <= 0.05
    assert found >= 54


def test_days_that_share_their_luck():
    rng = np.random.default_rng(13)
    alone = together = 0
    for _ in range(60):
        day = np.repeat(np.arange(250), 10)
        y = np.sqrt(0.6) * rng.standard_normal(250)[day] + np.sqrt(0.4) * rng.standard_normal(2500)
        arguments = {"tau": TAU, "groups": []}
        alone += mv.backtest(y, np.full(2500, VAR), np.full(2500, ES), **arguments).table["p_value"][0] <= 0.05
        t = mv.backtest(y, np.full(2500, VAR), np.full(2500, ES), **arguments, cluster=day).table
        together += t["p_value"][0] <= 0.05
    assert alone >= 12
    assert together <= 8


def test_bad_clusters_are_refused():
    y, group = book(50)
    for cluster, words in (([1, 2], "one value for each"), (["a"] * 49 + [None], "missing")):
        with pytest.raises(InputError, match=words):
            mv.backtest(y, np.full(50, VAR), np.full(50, ES), tau=TAU, groups=[group], cluster=cluster)
    with pytest.raises(InputError, match="lags and cluster"):
        mv.backtest(y, np.full(50, VAR), np.full(50, ES), tau=TAU, groups=[], cluster=np.arange(50), lags=2)


def test_signs_that_contradict_tau_are_refused():
    y, _ = book(200)
    with pytest.raises(InputError, match=r"5 % of the outcomes lie beyond var, but 9\d % do.*losses=False"):
        mv.backtest(y, np.full(200, -VAR), np.full(200, -1.0), tau=TAU, groups=[])


def test_page_and_figure(tmp_path):
    y, group = book(400)
    found = mv.backtest(y, np.full(400, VAR), np.full(400, ES), tau=TAU, groups=[group])
    page = found.report(tmp_path / "risk.html").read_text("utf-8")
    numbers = json.loads((tmp_path / "risk.report.json").read_text("utf-8"))
    assert found.verdict in page.replace("\N{NO-BREAK SPACE}", " ")
    assert [g["kupiec_p"] for g in sorted(numbers["groups"], key=lambda g: g["name"])] == pytest.approx(
        [found.table["kupiec_p"][i] for i in np.argsort(found.table["name"])]
    )
    assert "Christoffersen" in page
    ax = found.plot()
    assert len(ax.get_yticklabels()) == 2
    with pytest.raises(InputError, match="must end in"):
        found.report(tmp_path / "risk.pdf")


def claims(n, rate, seed):
    """Most policies have no claim; the others' are exponential with mean 1."""
    random = np.random.default_rng(seed)
    return np.where(random.random(n) < rate, random.exponential(size=n), 0.0)


def right_for_claims(rate):
    """VaR and ES of `claims` at TAU."""
    value = max(np.log(rate / (1 - TAU)), 0.0)
    return value, value + np.exp(-value) * rate / (1 - TAU)


@pytest.mark.parametrize("rate", [0.01, 0.04, 0.05, 0.2])
def test_outcomes_equal_to_var_are_no_mistake_of_the_forecast(rate):
    value, shortfall = right_for_claims(rate)
    n, wrong = 1000, []
    for seed in range(300):
        y = claims(n, rate, seed)
        t = mv.backtest(y, np.full(n, value), np.full(n, shortfall), tau=TAU, groups=[]).table
        wrong.append([t["p_value"][0] <= 0.05, t["one_sided"][0] <= 0.05])
    assert (np.mean(wrong, axis=0) <= 0.08).all()


def test_an_understated_es_is_found_where_var_is_a_tie():
    value, shortfall = right_for_claims(0.04)
    y = claims(50_000, 0.04, 0)
    forecast = {part: np.full(y.size, part * shortfall) for part in (0.8, 1.0, 1.3)}
    p = {part: mv.backtest(y, np.full(y.size, value), es, tau=TAU, groups=[]).table for part, es in forecast.items()}
    assert p[0.8]["one_sided"][0] < 1e-4
    assert p[1.0]["p_value"][0] > 0.05
    assert p[1.0]["severity"][0] == pytest.approx(1.0, abs=0.1)
    assert p[1.3]["one_sided"][0] > 0.5
    assert p[1.3]["p_value"][0] < 1e-3


def test_ties_count_only_as_far_as_the_tail_needs_them():
    y = np.array([0.0] * 17 + [1.0, 2.0, 3.0])
    t = mv.backtest(y, np.zeros(20), np.full(20, 1.5), tau=0.75, groups=[]).table  # five expected, three beyond
    assert t["exceedances"][0] == 3
    assert t["severity"][0] == pytest.approx((1 + 2 + 3) / 1.5 / 5)
    assert t["kupiec"][0] == 0.0
    assert np.isnan(t["christoffersen"][0])
    few = mv.backtest(y, np.full(20, 2.0), np.full(20, 2.5), tau=0.75, groups=[]).table  # one beyond, one equal, five expected
    assert few["severity"][0] == pytest.approx(1 / 0.5 / 2)
    low = binom.cdf(1, 20, 0.25) + binom.pmf(2, 20, 0.25) / 2
    assert few["var_p"][0] == pytest.approx(2 * low)


def test_no_exceedance_where_six_are_expected_is_luck_and_not_a_sign():
    rng = np.random.default_rng(3)
    loss = np.minimum(rng.normal(size=250), 1.9)  # a calm year of a symmetric book: nothing beyond 1.96
    assert mv.backtest(loss, np.full(250, 1.96), np.full(250, 2.34), tau=0.975, groups=[]).table["exceedances"][0] == 0
