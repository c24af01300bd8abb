"""Is what the library says about chance true? Each question on worlds whose truth is known, many draws each.

    python -m benchmarks.chance alarms [draws] [first seed]      how often right predictions are called off (5 % is asked for)
    python -m benchmarks.chance power [draws] [first seed]       how often the group that is off is found
    python -m benchmarks.chance intervals [draws] [first seed]   how often all intervals of the gap hold together (95 %)
    python -m benchmarks.chance limits [draws] [first seed]      how often rms_high of all groups and holdout_bound hold (95 %)
    python -m benchmarks.chance backtest [draws] [first seed]    how often right forecasts fail, and how often an ES a tenth too low does
    python -m benchmarks.chance untouched [fits] [first seed]    how often a fit changes predictions that are right
    python -m benchmarks.chance census                           holdout_bound of the census model on eight splits

400 draws by default, some minutes each; names of worlds, laws or kinds after the seed ask for those only. Worlds are those of
`chance_worlds.py` and, where the shared folder is there, those in it. Truths are those of the rows drawn; for `limits` also those of the
population, on the levels of the audit.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.stats import norm, t

import multivalid as mv
from benchmarks import shared
from benchmarks.chance_worlds import NULLS, OFF, RARE_OFF, Drawn, World, shared_worlds

DRAWS, SEED = 400, 20_000
LAWS = ("normal", "Student 3")
POPULATION = 400_000


def audit_of(d: Drawn) -> mv.Audit:
    return mv.audit(
        d["y"], d["f"], groups=d["groups"], property=d["property"], sample_weight=d["weights"], cluster=d.get("cluster")
    )


def adjusted(found: mv.Audit) -> np.ndarray:
    return np.concatenate([one.table["p_adjusted"] for one in found.coordinates])


def asked(names: Iterable[str]) -> list[str]:
    """Those that the command line names; all where it names none."""
    return [name for name in names if name in sys.argv[4:] or not sys.argv[4:]]


def chosen(worlds: dict[str, World]) -> dict[str, World]:
    return {name: worlds[name] for name in asked(worlds)}


def nulls() -> dict[str, World]:
    return chosen(shared_worlds()[0] | NULLS)


def off() -> dict[str, World]:
    return chosen(shared_worlds()[1] | OFF | RARE_OFF)


def each(
    worlds: dict[str, World], draws: int, seed: int, measure: Callable[[Drawn], tuple[float, ...]]
) -> Iterator[tuple[str, np.ndarray]]:
    """The mean of a measure over the draws of every world."""
    for name, world in worlds.items():
        yield name, np.mean([measure(world(np.random.default_rng(seed + i))) for i in range(draws)], axis=0)


# ---- tests -----------------------------------------------------------------------------------------------------------
def alarms(draws: int, seed: int) -> None:
    def measure(d: Drawn) -> tuple[float, ...]:
        p = adjusted(audit_of(d))
        return float(np.nanmin(np.append(p, 1.0)) <= 0.05), float(np.isnan(p).mean())

    print("right predictions: draws with any group called off; groups of which nothing can be told")
    for name, (share, unknown) in each(nulls(), draws, seed, measure):
        print(f"  {name:28s} {share:.3f}   {unknown:.2f}", flush=True)


def power(draws: int, seed: int) -> None:
    def measure(d: Drawn) -> tuple[float, ...]:
        return (float(adjusted(audit_of(d))[d["target"]] <= 0.05),)

    print("one group off: draws in which it is found")
    for name, (share,) in each(off(), draws, seed, measure):
        print(f"  {name:28s} {share:.3f}", flush=True)


# ---- intervals and limits ----------------------------------------------------------------------------------------
def masks_of(d: Drawn) -> list[np.ndarray]:
    return [np.ones(len(d["y"]), bool), *d["groups"]]


def intervals(draws: int, seed: int) -> None:
    def measure(d: Drawn) -> tuple[float, ...]:
        w = np.ones(len(d["y"])) if d["weights"] is None else d["weights"]
        truth = np.array([w[m] @ d["bias"][m] / w[m].sum() if m.any() else np.nan for m in masks_of(d)])
        kept = True
        for one in audit_of(d).coordinates:
            low, high = one.table["gap_low"], one.table["gap_high"]
            missed = (truth < low - 1e-12) | (truth > high + 1e-12)  # nan: nothing was said
            kept &= not missed.any()
        return (float(kept),)

    print("draws in which the intervals of all groups hold the truth")
    for name, (share,) in each(nulls() | off(), draws, seed, measure):
        print(f"  {name:28s} {share:.3f}", flush=True)


def errors_of(d: Drawn, grid: mv.Grid) -> tuple[np.ndarray, np.ndarray]:
    """Σ p·v² of every group on these levels when v is the true mean of V, and the groups' shares."""
    w = np.ones(len(d["y"])) if d["weights"] is None else d["weights"]
    level, out = grid.round(np.clip(d["f"], grid.points[0], grid.points[-1])), []
    for m in masks_of(d):
        mass = np.bincount(level[m], weights=w[m], minlength=len(grid))
        total = np.bincount(level[m], weights=(w * d["bias"])[m], minlength=len(grid))
        out.append((np.sum(total**2 / np.maximum(mass, 1e-300)) / w.sum(), mass.sum() / w.sum()))
    e, share = np.array(out).T
    return e, share


def limits(draws: int, seed: int) -> None:
    print("draws in which rms_high of all groups holds the rows' truth, the population's; holdout_bound likewise; bound/largest E")
    for name, world in off().items():
        population = world(np.random.default_rng(seed - 1), POPULATION)
        found = []
        for i in range(draws):
            d = world(np.random.default_rng(seed + i))
            said = audit_of(d)
            line = []
            for e, share in (errors_of(d, said.grid), errors_of(population, said.grid)):
                line += [(np.sqrt(e / share) <= said.table["rms_high"]).all(), e.max() <= said.holdout_bound[0]]
            found.append([*line, said.holdout_bound[0] / max(e.max(), 1e-300)])
        own, own_bound, rms, bound, times = np.mean(found, axis=0)
        print(f"  {name:28s} {own:.3f} {rms:.3f}   {own_bound:.3f} {bound:.3f}   {times:.1f}", flush=True)


# ---- risk ----------------------------------------------------------------------------------------------------------
def tail_of(law: str, tau: float) -> tuple[float, float]:
    """VaR and ES of a normal law, or of Student's with three degrees of freedom."""
    if law == "normal":
        q = norm.ppf(tau)
        return q, norm.pdf(q) / (1 - tau)
    q = t.ppf(tau, 3)
    return q, t.pdf(q, 3) * (3 + q * q) / 2 / (1 - tau)


def forecasts(law: str, n: int, tau: float, groups: int, seed: int, factor: float = 1.0) -> mv.Backtest:
    rng = np.random.default_rng([seed, n, groups, round(1000 * tau), law == "normal"])
    spread, desk = np.exp(rng.normal(0, 0.3, n)), rng.integers(0, groups, n)
    loss = spread * (rng.normal(size=n) if law == "normal" else rng.standard_t(3, n))
    var, es = tail_of(law, tau)
    desks = [desk == k for k in range(groups)] if groups > 1 else []
    return mv.backtest(loss, spread * var, spread * max(factor * es, var), tau=tau, groups=desks)


def backtest(draws: int, seed: int) -> None:
    print("right forecasts: draws in which any group fails (two-sided, one-sided)")
    for law in asked(LAWS):
        for n in (250, 1000, 5000):
            for tau in (0.95, 0.975, 0.99):
                for groups in (1, 10):
                    found = [forecasts(law, n, tau, groups, seed + i).table for i in range(draws)]
                    both, under = (
                        np.mean([np.nanmin(np.append(one[p], 1.0)) <= 0.05 for one in found])
                        for p in ("p_adjusted", "one_sided_adjusted")
                    )
                    print(f"  {law:10s} n = {n:5d}  tau = {tau:<5g}  {groups:2d} groups   {both:.3f}  {under:.3f}", flush=True)
    print("ES a tenth too low, n = 1,000, tau = 0.975: draws in which it is found (one-sided)")
    for law in asked(LAWS):
        found = [forecasts(law, 1000, 0.975, 1, seed + i, 0.9).table["one_sided_adjusted"][0] <= 0.05 for i in range(draws)]
        print(f"  {law:10s} {np.mean(found):.3f}", flush=True)


# ---- fits ------------------------------------------------------------------------------------------------------------
def right_base(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions that are right."""
    if kind == "rare events":
        f = 1 / (1 + np.exp(-rng.normal(-4, 1, n)))
        return (rng.random(n) < f) * 1.0, f
    if kind == "constant rate":
        return (rng.random(n) < 0.02) * 1.0, np.full(n, 0.02)
    f = np.exp(rng.normal(0, 0.5, n))
    return f * np.exp(2 * rng.normal(size=n) - 2), f


def untouched(fits: int, seed: int) -> None:
    print("predictions are right: fits that change them")
    kinds, sizes = ("rare events", "constant rate", "lognormal 2"), (100, 150, 200, 300, 500)
    total = 0
    for kind in asked(kinds):
        for n in sizes:
            changed = 0
            for i in range(fits // (len(kinds) * len(sizes)) + 1):
                rng = np.random.default_rng([seed + i, n, kinds.index(kind)])
                y, f = right_base(kind, n, rng)
                groups = [rng.random(n) < 0.3 for _ in range(6)]
                fitted = mv.multicalibrate(y, f, groups=groups)
                changed += bool((fitted.predict(f, groups=groups) != f).any())
                total += 1
            print(f"  {kind:14s} n = {n:3d}   {changed} of {i + 1}", flush=True)
    print(f"  {total} fits")


def census(splits: int, seed: int) -> None:
    """Needs the shared folder."""
    work = shared.workloads()
    path = shared.data("kdd_census_income.parquet")
    if path is None:
        return
    print("census, holdout=0.3: the bound, the largest error without noise, the plain one of the rows held out; CPU seconds")
    for split in (7, *range(1, splits)):
        d = work.census(path, seed=split)
        start = time.process_time()
        fitted = mv.multicalibrate(d["y_fit"], d["base_fit"], groups=d["g_fit"], holdout=0.3, random_state=seed + split)
        said = fitted.certificate
        print(
            f"  split {split}   {said.holdout_bound:.2e}   {said.holdout_debiased:.2e}   {said.holdout_error:.2e}   "
            f"{time.process_time() - start:.1f}", flush=True,
        )  # fmt: skip


def main() -> None:
    questions: dict[str, Callable[[int, int], None]] = {
        "alarms": alarms, "power": power, "intervals": intervals, "limits": limits, "backtest": backtest, "untouched": untouched,
        "census": census,
    }  # fmt: skip
    question = (sys.argv[1:2] or [""])[0]
    if question not in questions:
        raise SystemExit(__doc__)
    usual = {"untouched": 1000, "census": 8}.get(question, DRAWS)
    draws, seed = (int(sys.argv[k]) if len(sys.argv) > k else default for k, default in ((2, usual), (3, SEED)))
    start = time.process_time()
    questions[question](draws, seed)
    print(f"{time.process_time() - start:.0f} CPU seconds")


if __name__ == "__main__":
    main()
