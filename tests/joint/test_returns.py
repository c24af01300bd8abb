"""Value at risk and expected shortfall of returns: the mirror image of losses, in audits, fits and files; wrong sides are refused."""

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError

PAIR = "quantile_cvar:0.9"


def book(n=2500, seed=0):
    """Losses with two spreads, and the forecast that one spread gives for both."""
    random = np.random.default_rng(seed)
    calm = random.random(n) < 0.4
    y = np.where(calm, 0.5, 1.5) * random.standard_t(5, n) + 0.1
    return y, np.tile(mv.QuantileCVaR(0.9).solve(y), (n, 1)), calm


def test_an_audit_of_returns_is_that_of_losses_turned_round():
    y, said, calm = book()
    of_losses = mv.audit(y, said, groups=[calm], property=PAIR)
    of_returns = mv.audit(-y, -said, groups=[calm], property=PAIR, losses=False)
    assert of_returns.off == of_losses.off
    for name in ("first_p_value", "second_p_value", "first_error", "second_error", "second_rms"):
        np.testing.assert_allclose(
            of_returns.table[name], of_losses.table[name], rtol=1e-9, atol=1e-6
        )  # a label equal to its quantile counts on one side
    np.testing.assert_allclose(of_returns.table["second_gap"], -of_losses.table["second_gap"], rtol=1e-9)
    np.testing.assert_allclose(of_returns.table["second_gap_low"], -of_losses.table["second_gap_high"], rtol=1e-9)
    direct = mv.audit(-y, -said, groups=[calm], property="lower_quantile_cvar:0.9")
    np.testing.assert_array_equal(direct.table["second_gap"], of_returns.table["second_gap"])


@pytest.mark.parametrize("mode", ["practical", "theorem"])
def test_a_fit_of_returns_is_that_of_losses_turned_round(mode, tmp_path):
    y, said, calm = book()
    grid = (mv.Grid.uniform(-40, 40, 400), mv.Grid.uniform(-800, 800, 800)) if mode == "theorem" else None
    options = {"groups": [calm], "property": PAIR, "mode": mode, "grid": grid}
    of_losses, of_returns = mv.multicalibrate(y, said, **options), mv.multicalibrate(-y, -said, losses=False, **options)
    new, flags = np.tile(said[:1], (2, 1)), [np.array([True, False])]
    want, got = of_losses.predict(new, groups=flags), of_returns.predict(-new, groups=flags)
    np.testing.assert_allclose(got, -want, rtol=0.05, atol=0.25 if mode == "theorem" else 0.05)
    if mode == "practical":
        assert (got[:, 1] <= got[:, 0]).all()
        fresh, _, quiet = book(4000, 1)
        judged = of_returns.predict(np.tile(-said[:1], (4000, 1)), groups=[quiet])
        assert (mv.backtest(-fresh, *judged.T, tau=0.9, groups=[quiet], losses=False).table["p_adjusted"] > 1e-3).all()
    assert of_returns.property == mv.LowerQuantileCVaR(0.9)
    of_returns.save(tmp_path / "model.json")
    np.testing.assert_array_equal(mv.load(tmp_path / "model.json").predict(-new, groups=flags), got)
    assert of_returns.predict_one((-new[0]).tolist(), [True]) == tuple(got[0])


def test_returns_in_sql_agree():
    duckdb = pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    y, said, calm = book()
    frame = pd.DataFrame({"y": -y, "v": -said[:, 0], "e": -said[:, 1], "calm": calm.astype(int)})
    fitted = mv.multicalibrate("y", ["v", "e"], groups=["calm == 1"], data=frame, property=PAIR, losses=False)
    want = fitted.predict(["v", "e"], data=frame)
    con = duckdb.connect()
    con.register("book", frame)
    got = con.execute(fitted.to_sql("book", ["v", "e"])).df()
    for k, name in enumerate(("calibrated_first", "calibrated_second")):
        np.testing.assert_allclose(np.sort(got[name]), np.sort(want[:, k]), rtol=1e-12)


def test_the_joint_score_of_returns_is_that_of_losses():
    y, said, _ = book(200)
    for scale in (None, 2.0):
        losses = mv.joint_score(mv.QuantileCVaR(0.9), said[:, 0], said[:, 1], y, scale=scale)
        returns = mv.joint_score(mv.LowerQuantileCVaR(0.9), -said[:, 0], -said[:, 1], -y, scale=scale)
        np.testing.assert_allclose(returns, losses, rtol=1e-12)
    with pytest.raises(InputError, match="must be negative"):
        mv.joint_score(mv.LowerQuantileCVaR(0.9), 0.0, 1.0, 0.5)


@pytest.mark.parametrize("call", [mv.audit, mv.multicalibrate])
def test_the_wrong_side_is_refused_with_a_way_out(call):
    y, said, calm = book(500)
    with pytest.raises(InputError, match="set losses=False if these are returns"):
        call(-y, -said, groups=[calm], property=PAIR)
    with pytest.raises(InputError, match="set losses=True if these are losses"):
        call(y, said, groups=[calm], property=PAIR, losses=False)
    with pytest.raises(InputError, match=r"confidence level: 0\.9, not 0\.1"):
        call(-y, -said, groups=[calm], property="quantile_cvar:0.1")
    with pytest.raises(InputError, match="losses=False is for value at risk"):
        call(y, y, groups=[calm], property="mean", losses=False)


@pytest.mark.parametrize("call", [mv.audit, mv.multicalibrate])
def test_outcomes_of_the_wrong_sign_are_refused(call):
    claims = np.random.default_rng(0).lognormal(size=1000)
    said = np.tile(mv.QuantileCVaR(0.9).solve(claims), (1000, 1))
    with pytest.raises(InputError, match="sign of the outcomes contradicts tau"):
        call(-claims, said, groups=[], property=PAIR)
    with pytest.raises(InputError, match="sign of the outcomes contradicts tau"):
        mv.backtest(-claims, *said.T, tau=0.9, groups=[])
    call(claims, said, groups=[], property=PAIR)
    call(claims, 3 * said, groups=[], property=PAIR)  # prudent is not turned


def test_a_few_crossed_rows_are_a_model_to_repair():
    y, said, calm = book(500)
    said[:20] = said[:20, ::-1]
    for call in (mv.audit, lambda y, f, **more: mv.backtest(y, *f.T, tau=0.9, groups=more["groups"])):
        with pytest.raises(InputError, match=r"20 of 500 rows break this, the first at row 0"):
            call(y, said, groups=[calm], property=PAIR)
    assert np.isfinite(mv.multicalibrate(y, said, groups=[calm], property=PAIR).predict(said, groups=[calm])).all()
