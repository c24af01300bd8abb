"""Value at risk and expected shortfall of motor claims, before and after calibration; writes docs/img/joint_norauto.png.

    python benchmarks/joint_norauto.py

Data: cas_norauto.parquet (183,999 Norwegian motor policies; 95 % have no claim, the largest costs 700,000 kroner), looked for in
$MULTIVALID_SHARED/data or ../shared/data. The base model is a Tweedie regression for the mean claim cost, with value at risk and
expected shortfall at 95 % by the textbook rule mean + z·σ, one σ for everybody. It is fitted on half of the policies, and so is the
calibration; everything below is measured on the other half.
"""

import os
import sys
from pathlib import Path
from statistics import NormalDist

import numpy as np

import multivalid as mv

TAU = 0.95
GROUPS = ["Male", "Young", "DistLimit", "GeoRegion", "exposure"]
CROSSED = [("Young", "GeoRegion"), ("DistLimit", "exposure")]
PAIR = mv.QuantileCVaR(TAU)
ROOT = Path(__file__).parent.parent


def data_file():
    """Where the data is; None when it is not there."""
    places = [Path(os.environ[name]) for name in ("MULTIVALID_SHARED",) if name in os.environ] + [ROOT.parent / "shared"]
    return next(
        (place / "data" / "cas_norauto.parquet" for place in places if (place / "data" / "cas_norauto.parquet").exists()), None
    )


def policies(path, seed=0):
    """The table in random order, with exposure cut into classes."""
    import pandas as pd

    frame = pd.read_parquet(path).sample(frac=1, random_state=seed).reset_index(drop=True)
    frame["exposure"] = pd.cut(frame["Expo"], [0, 0.2, 0.35, 0.6, 0.99, 1.01, 2, 100]).astype(str)
    for name in ("Male", "Young"):
        frame[name] = frame[name].astype(str)
    return frame


def base_predictions(frame, fitting):
    """mean + z·σ for both coordinates."""
    from sklearn.linear_model import TweedieRegressor
    from sklearn.preprocessing import OneHotEncoder

    y, exposure = frame["ClaimAmount"].to_numpy(float), frame["Expo"].to_numpy()
    X = OneHotEncoder(sparse_output=False, drop="first").fit_transform(frame[["Male", "Young", "DistLimit", "GeoRegion"]])
    unit = y[fitting].mean()
    model = TweedieRegressor(power=1.5, alpha=1e-6, link="log", max_iter=2000)
    model.fit(X[fitting], y[fitting] / exposure[fitting] / unit, sample_weight=exposure[fitting])
    mean = unit * model.predict(X) * exposure
    sigma = np.sqrt(np.mean((y[fitting] - mean[fitting]) ** 2))
    z = NormalDist().inv_cdf(TAU)
    return np.stack([mean + z * sigma, mean + NormalDist().pdf(z) / (1 - TAU) * sigma], axis=1)


def run(path):
    """Audits, joint losses and predictions on the half not used."""
    frame = policies(path)
    y = frame["ClaimAmount"].to_numpy(float)
    fitting = np.arange(len(frame)) < len(frame) // 2
    said = base_predictions(frame, fitting)
    groups = [*GROUPS, *(mv.cross(*names) for names in CROSSED)]
    fitted = mv.multicalibrate(y[fitting], said[fitting], groups=groups, data=frame[fitting], property=PAIR)
    held = frame[~fitting]
    calibrated = fitted.predict(said[~fitting], data=held)
    out = {"fitted": fitted, "frame": held, "labels": y[~fitting]}
    for name, predictions in (("base", said[~fitting]), ("calibrated", calibrated)):
        out[name] = {
            "predictions": predictions,
            "audit": mv.audit(y[~fitting], predictions, groups=fitted.groups, data=held, property=PAIR),
            "loss": float(mv.joint_score(PAIR, predictions[:, 0], predictions[:, 1], y[~fitting]).mean()),
            "backtest": mv.backtest(y[~fitting], predictions[:, 0], predictions[:, 1], tau=TAU, groups=fitted.groups, data=held),
        }
    return out


def joint_error(audit):
    """Worst group, both conditions of the definition together: both are squared kroner in Γ-form."""
    return float((audit.table["first_gamma_error"] + audit.table["second_gamma_error"]).max())


def picture(found, path):
    """Predicted against actual, by group, for both coordinates."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.0), layout="constrained")
    for axis, coordinate, title in zip(axes, ("first", "second"), ("value at risk 95 %", "expected shortfall 95 %"), strict=True):
        top = 0.0
        for name, colour in (("base", "#b0b0b0"), ("calibrated", "#1764ab")):
            table = found[name]["audit"].table
            big = table["rows"] >= 500
            x, said = table[f"{coordinate}_value"][big] / 1000, table[f"{coordinate}_prediction"][big] / 1000
            axis.scatter(x, said, s=np.sqrt(table["rows"][big]) / 4, color=colour, alpha=0.8, label=name, linewidths=0)
            top = max(top, x.max(), said.max())
        axis.plot([0, top], [0, top], color="black", linewidth=0.8)
        axis.set(title=title, xlabel="actual, thousand kroner", ylabel="mean prediction, thousand kroner")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=80)


def main():
    path = data_file()
    if path is None:
        sys.exit("cas_norauto.parquet is not there: set MULTIVALID_SHARED to the folder that holds data/cas_norauto.parquet.")
    found = run(path)
    print(found["fitted"].certificate)
    for name in ("base", "calibrated"):
        audit = found[name]["audit"]
        print(f"\n{name}: joint error of the worst group {joint_error(audit):.4g} kr², joint loss {found[name]['loss']:.4f}")
        (v0, v1), (gamma0, gamma1) = audit.errors, audit.gamma_errors
        print(f"  V-form {v0:.3g} and {v1:.3g} kr²; Γ-form {gamma0:.3g} and {gamma1:.3g} kr²")
        print(found[name]["backtest"].summary(5))
    fall = 1 - joint_error(found["calibrated"]["audit"]) / joint_error(found["base"]["audit"])
    change = found["calibrated"]["loss"] - found["base"]["loss"]
    print(f"\nworst-group joint error falls by {fall:.0%}; joint loss changes by {change:+.4f}")
    target = ROOT / "docs" / "img" / "joint_norauto.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    picture(found, target)
    print(f"picture: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
