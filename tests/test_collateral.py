"""After a fit: who was not named and got worse."""

from __future__ import annotations

import numpy as np
import pandas as pd

import multivalid as mv
from multivalid import collateral
from multivalid.collateral import NO_FRAME


def offended(rows=9000, seed=0):
    """The base knows priors and not sex; sexes differ in priors, so a correction by sex alone breaks what was right for many priors."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    priors = rng.poisson(np.where(sex == "m", 3.0, 1.0))
    truth = np.where(priors > 4, 0.7, 0.3)
    base = np.where(priors > 4, 0.7, np.where(sex == "m", 0.15, 0.3))
    return pd.DataFrame({"sex": sex, "priors": priors, "p": base, "y": (rng.random(rows) < truth).astype(float)})


def test_a_group_that_got_worse_is_named():
    data = offended()
    # One level: everybody of a sex is moved by the same amount, those whose predictions were right too.
    made = mv.multicalibrate("y", "p", groups=["sex"], data=data, holdout=0.5, mode="theorem", m=1)
    assert "Groups that nobody named: further off than before on the rows held out" in made.certificate.note
    assert "priors" in made.certificate.note
    assert "features=" in made.certificate.note


def arrested(rows=12_000, seed=0):
    """The score is right for people with many prior arrests and too high for the others, in the same range of scores."""
    rng = np.random.default_rng(seed)
    race, sex = rng.choice(["A", "B", "C"], rows, p=[0.5, 0.35, 0.15]), rng.choice(["f", "m"], rows, p=[0.2, 0.8])
    age = rng.integers(18, 70, rows)
    priors = rng.poisson(np.exp(0.4 + 0.5 * (race == "A") + 0.4 * (sex == "m") - 0.01 * (age - 35)))
    base = 1 / (1 + np.exp(-rng.normal(np.where(priors > 4, 0.6, 0.3), 0.5)))
    y = rng.random(rows) < base - np.where(priors > 4, 0.0, 0.15)
    return pd.DataFrame({"race": race, "sex": sex, "age": age, "priors": priors, "p": base, "y": y.astype(float)})


def test_the_default_fit_for_race_sex_and_age_says_who_paid_for_it(tmp_path):
    data = arrested()
    made = mv.multicalibrate("y", "p", groups=["race", "sex", mv.bins("age", 3)], data=data, holdout=0.4)
    many = data["priors"] > 4
    after = made.predict("p", data=data)[many].mean()
    assert abs(data["p"][many].mean() - data["y"][many].mean()) < 0.02 < 0.08 < data["y"][many].mean() - after
    told = next(line for line in made.certificate.note.splitlines() if "further off than before" in line)
    assert "priors >= 5: predicted too low by 1" in told  # eleven points, one-sided: nobody asked for an upper end
    assert "Name them in groups=, or pass features=" in told
    page = made.report(tmp_path / "report.html").read_text()
    assert "priors &gt;= 5: predicted too low" in page


def test_nobody_got_worse_and_no_frame():
    data = offended()
    good = mv.multicalibrate("y", "p", groups=["sex", "priors > 4"], data=data, holdout=0.5)
    assert "further off than before" in good.certificate.note
    assert "Not named" not in good.certificate.note
    blind = mv.multicalibrate(data["y"], data["p"], groups=[(data["sex"] == "m").to_numpy()], holdout=0.5)
    assert NO_FRAME in blind.certificate.note
    assert mv.multicalibrate("y", "p", groups=["sex"], data=data).certificate.note.count("further off") == 0


def test_named_groups_are_known_to_the_search(monkeypatch):
    """Every named group, the first one too; everyone is none of them."""
    seen = []
    monkeypatch.setattr(
        collateral, "discover", lambda *rows, **options: seen.append(options["groups"]) or mv.discover(*rows, **options)
    )
    data = offended()
    mv.multicalibrate("y", "p", groups=["sex"], data=data, holdout=0.5, random_state=3)
    assert seen[0].shape[1] == 2
    assert (seen[0].sum(axis=1) == 1).all()  # women or men


def test_pairs_are_not_searched():
    data = offended(2000)
    made = mv.multicalibrate("y", ["p", "v"], groups=["sex"], data=data.assign(v=0.2), property="mean_variance", holdout=0.5)
    assert "nobody named" not in made.certificate.note


def test_estimators_take_features():
    from sklearn.linear_model import LogisticRegression

    from multivalid.estimators import MulticalibratedClassifier

    data = offended(4000)
    X = pd.DataFrame({"sex": (data["sex"] == "m").astype(float), "priors": data["priors"]})
    model = MulticalibratedClassifier(LogisticRegression(), features=["priors", "sex"]).fit(X, data["y"])
    assert np.isfinite(model.predict_proba(X)).all()
    made = model.calibrations_[0] if isinstance(model.calibrations_, list) else model.calibrations_
    assert "columns" in made.certificate.note


def test_who_got_worse_by_hand():
    from types import SimpleNamespace

    import narwhals as nw

    kind = np.array(["a", "a", "b", "b", "c", "c"])
    y, w = np.zeros(6), np.array([1.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    before, after = np.array([0.4, 0.0, -0.3, -0.3, 0.2, 0.2]), np.array([-0.4, -0.08, 0.3, 0.3, 0.21, 0.2])
    frame = nw.from_native(pd.DataFrame({"kind": kind}))
    told = collateral._worse(
        SimpleNamespace(property=mv.Mean()), [f"kind == '{one}'" for one in "abc"], frame, (before, after), y, w, percent=False
    )
    assert told == [
        "kind == 'a': predicted too low by 0.16 on average, before by 0.1",
        "kind == 'c': predicted too high by 0.205 on average, before by 0.2",
    ]
    in_points = collateral._worse(SimpleNamespace(property=mv.Mean()), ["kind == 'a'"], frame, (before, after), y, w, percent=True)
    assert in_points == ["kind == 'a': predicted too low by 16 points on average, before by 10 points"]
    assert collateral._worse(SimpleNamespace(property=mv.Mean()), [], frame, (before, after), y, w, percent=True) == []


def fit_with(held, **columns):
    data = offended(600)
    out = np.arange(600) < held
    return mv.multicalibrate("y", "p", groups=["sex"], data=data.assign(**columns), holdout=out).certificate.note


def test_of_few_rows_none_is_looked_for():
    assert "199 rows held out with 2 further columns are too few" in fit_with(199)
    assert "too few" not in fit_with(200)
    assert "none was found in 2 columns" in fit_with(200)
    assert "none was found in 3 columns" in fit_with(200, site="x", __own=1.0)


def test_five_groups_are_named(monkeypatch):
    for count in (5, 6):
        names = [f"group {i}" for i in range(count)]
        monkeypatch.setattr(collateral, "_worse", lambda *_, names=names: names)
        assert f"held out: {'; '.join(names[:5])}{'; …' if count > 5 else ''}. Name" in fit_with(300)
