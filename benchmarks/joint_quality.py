"""(mean, variance) on the heteroscedastic rows of the quantile workload: how near is the fit to the true pair?

    python benchmarks/joint_quality.py [rows to fit] [rows to judge]

The label is the logistic of loc + scale·noise, where scale depends on fifty overlapping groups; the base model knows loc but has one
scale for everybody. The floor is what the true (mean, variance) of every row reaches on the same held-out rows: pure noise.
"""

import sys
import time

import numpy as np

import multivalid as mv


def logistic(z):
    return 1 / (1 + np.exp(-np.clip(z, -700, 700)))


def threshold_groups(rng, X, count):
    """Half one-feature thresholds, half two-feature intersections, sizes 2 %..60 % log-spaced."""
    groups = np.zeros((len(X), count), dtype=bool)
    for g, size in enumerate(np.exp(np.linspace(np.log(0.02), np.log(0.60), count))):
        if g % 2 == 0:
            j, sign = rng.integers(X.shape[1]), rng.choice([-1, 1])
            v = sign * X[:, j]
            groups[:, g] = v > np.quantile(v, 1 - size)
        else:
            j, k = rng.choice(X.shape[1], 2, replace=False)
            a, b = rng.choice([-1, 1], 2)
            va, vb = a * X[:, j], b * X[:, k]
            groups[:, g] = (va > np.quantile(va, 1 - size**0.5)) & (vb > np.quantile(vb, 1 - size**0.5))
    return groups


def workload(fit, test, count=50, seed=20232):
    """Labels, groups, base pair and true pair of every row; the first `fit` rows are to fit on."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((fit + test, 10))
    groups = threshold_groups(rng, X, count)
    w = rng.normal(0, 0.3, 10)
    effect = np.where(rng.random(count) < 0.4, rng.normal(0, 0.5, count), 0.0)
    loc, scale = X @ w, 0.5 * np.exp(groups @ effect - (groups @ effect).mean())
    y = logistic(loc + scale * rng.standard_normal(fit + test))
    base = moments(loc, np.full(fit + test, 1.3 * np.median(scale)))
    return {"y": y, "groups": groups, "base": base, "truth": moments(loc, scale)}


def moments(loc, scale):
    """Mean and variance of logistic(loc + scale·N) by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    first, second = np.zeros_like(loc), np.zeros_like(loc)
    for x, share in zip(nodes, weights / weights.sum(), strict=True):
        value = logistic(loc + scale * x)
        first, second = first + share * value, second + share * value**2
    return np.stack([first, np.maximum(second - first**2, 1e-12)], axis=1)


def run(fit=200_000, test=100_000):
    """Errors of both coordinates on the held-out rows, for the base, the fit and the truth."""
    made = workload(fit, test)
    rows, held = slice(0, fit), slice(fit, None)
    start = time.perf_counter()
    fitted = mv.multicalibrate(made["y"][rows], made["base"][rows], groups=made["groups"][rows], property="mean_variance")
    seconds = time.perf_counter() - start
    calibrated = fitted.predict(made["base"][held], groups=made["groups"][held])
    errors = {}
    for name, predictions in (("base", made["base"][held]), ("calibrated", calibrated), ("truth", made["truth"][held])):
        found = mv.audit(made["y"][held], predictions, groups=made["groups"][held], property="mean_variance")
        errors[name] = found.errors
    return errors, seconds


def main():
    sizes = [int(v) for v in sys.argv[1:3]] or [200_000, 100_000]
    errors, seconds = run(*sizes)
    for name, (first, second) in errors.items():
        print(f"{name:<11} max V-error {first:.3g} (mean), {second:.3g} (variance)")
    ratios = [errors["calibrated"][k] / errors["truth"][k] for k in (0, 1)]
    print(f"fit in {seconds:.1f} s; {ratios[0]:.2f} and {ratios[1]:.2f} times the floor")


if __name__ == "__main__":
    main()
