"""After a fit: who was not named and got worse."""

from __future__ import annotations

import numpy as np
import pandas as pd

import multivalid as mv
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


def test_nobody_got_worse_and_no_frame():
    data = offended()
    good = mv.multicalibrate("y", "p", groups=["sex", "priors > 4"], data=data, holdout=0.5)
    assert "further off than before" in good.certificate.note
    assert "Not named" not in good.certificate.note
    blind = mv.multicalibrate(data["y"], data["p"], groups=[(data["sex"] == "m").to_numpy()], holdout=0.5)
    assert NO_FRAME in blind.certificate.note
    assert mv.multicalibrate("y", "p", groups=["sex"], data=data).certificate.note.count("further off") == 0


def test_estimators_take_features():
    from sklearn.linear_model import LogisticRegression

    from multivalid.estimators import MulticalibratedClassifier

    data = offended(4000)
    X = pd.DataFrame({"sex": (data["sex"] == "m").astype(float), "priors": data["priors"]})
    model = MulticalibratedClassifier(LogisticRegression(), features=["priors", "sex"]).fit(X, data["y"])
    assert np.isfinite(model.predict_proba(X)).all()
    made = model.calibrations_[0] if isinstance(model.calibrations_, list) else model.calibrations_
    assert "columns" in made.certificate.note
