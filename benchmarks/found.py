"""Groups that nobody named: how well they are found and corrected, how often something is said where nothing is off, and what it costs.

    python -m benchmarks.found                       # every part (long)
    python -m benchmarks.found census planted        # some of them: see PARTS
    python -m benchmarks.found fresh --seeds 11 12   # other draws

Errors are the largest over the judged groups of Σ Pr[bin, G]·(mean V)², 20 bins, on rows held out; losses are of the same rows; seconds
are CPU. `census` needs the shared data, the others the shared workloads (see shared.py); `fresh` compares with LightGBM where it is
installed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

import multivalid as mv
from benchmarks import practical, shared

sys.path.insert(0, str(shared.HOME / "bench"))
W: Any = shared.workloads()
PROPERTIES = {"mean": mv.Mean(), "quantile": mv.Quantile(0.9)}
QUALITY: dict[str, Any] = {"mean": (W.mean_quality, "logloss"), "quantile": (W.quantile_quality, "pinball")}


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds."""
    start = time.process_time()
    made = call()
    return made, time.process_time() - start


def columns(x: Any) -> pd.DataFrame:
    """A matrix as a frame."""
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def corrected(d: Any, frames: Sequence[pd.DataFrame], prop: Any, **options: Any) -> tuple[Any, float, Any]:
    """Held-out predictions of a fit from columns alone, its seconds, and the calibration."""
    made, cpu = timed(
        lambda: mv.multicalibrate(
            d["y_fit"], d["base_fit"], groups=[], data=frames[0], features=list(frames[0].columns), property=prop, **options
        )
    )
    return made.predict(d["base_test"], data=frames[1]), cpu, made


def telling(made: Any) -> str:
    """The line of the note that says what was found."""
    return next((line for line in made.certificate.note.splitlines() if " columns" in line), "")


def census(seeds: Sequence[int]) -> None:
    """The census from nine columns and from all of them."""
    import found as worlds

    for every in (False, True):
        for seed in seeds or [7]:
            d = worlds.census_columns(every, seed=seed)
            final, cpu, made = corrected(d, (d["frame_fit"], d["frame_test"]), mv.Mean())
            q = W.mean_quality(final, d["y_test"], d["g_test"])
            print(
                f"census, {len(d['frame_fit'].columns)} columns, seed {seed}: {q['max_error']:.2e} / {q['logloss']:.4f} "
                f"({cpu:.1f} s)  {telling(made)}",
                flush=True,
            )


def from_x(seeds: Sequence[int], rows: int = 200_000) -> None:
    """`workloads.mean` and `workloads.quantile` from their ten columns."""
    for name, make in (("mean", W.mean), ("quantile", W.quantile)):
        for seed in seeds or [None]:
            d = make(rows, 100_000) if seed is None else make(rows, 100_000, seed=seed)
            final, cpu, made = corrected(d, [columns(d[f"X_{part}"]) for part in ("fit", "test")], PROPERTIES[name])
            quality, loss = QUALITY[name]
            q, floor = (quality(p, d["y_test"], d["g_test"]) for p in (final, d["truth_test"]))
            print(
                f"{name} from X, {rows:,} rows, seed {seed}: {q['max_error']:.2e} / {q[loss]:.5f} ({cpu:.1f} s), floor "
                f"{floor['max_error']:.2e} / {floor[loss]:.5f}  {telling(made)}",
                flush=True,
            )


def fresh(seeds: Sequence[int]) -> None:
    """Fresh draws of 20,000 rows, beside LightGBM that stops on a fifth of them."""
    from_x_seeds = seeds or [101, 102, 103]
    for name, make in (("mean", W.mean), ("quantile", W.quantile)):
        quality, loss = QUALITY[name]
        for seed in from_x_seeds:
            d = make(20_000, 100_000, seed=seed)
            frames = [columns(d[f"X_{part}"]) for part in ("fit", "test")]
            final, cpu, _ = corrected(d, frames, PROPERTIES[name])
            ours = quality(final, d["y_test"], d["g_test"])
            line = f"{name} 20,000 rows, seed {seed}: {ours['max_error']:.2e} / {ours[loss]:.5f} ({cpu:.1f} s)"
            other = boosted(d, frames, name)
            if other is not None:
                theirs = quality(other[0], d["y_test"], d["g_test"])
                ratio = ours[loss] / theirs[loss]
                line += f"; LightGBM {theirs['max_error']:.2e} / {theirs[loss]:.5f} ({other[1]:.1f} s), ours × {ratio:.4f}"
            print(line, flush=True)


def boosted(d: Any, frames: Sequence[pd.DataFrame], name: str) -> tuple[Any, float] | None:
    """LightGBM with early stopping on columns and base; None where it is not installed."""
    try:
        import lightgbm
    except ImportError:
        return None
    link = lambda p: np.log(np.clip(p, 1e-9, 1 - 1e-9) / np.clip(1 - p, 1e-9, 1 - 1e-9))  # noqa: E731
    inside, outside = (f.assign(base=link(d[f"base_{part}"])) for f, part in zip(frames, ("fit", "test"), strict=True))
    kind = {"objective": "binary"} if name == "mean" else {"objective": "quantile", "alpha": 0.9}
    cut = len(inside) * 4 // 5
    parts = [lightgbm.Dataset(inside[a:b], d["y_fit"][a:b], free_raw_data=False) for a, b in ((0, cut), (cut, len(inside)))]
    settings = {**kind, "verbose": -1, "num_threads": 1, "learning_rate": 0.05, "seed": 0}

    def fit() -> Any:
        stop = lightgbm.early_stopping(50, verbose=False)
        return lightgbm.train(settings, parts[0], 2000, valid_sets=[parts[1]], callbacks=[stop])

    model, cpu = timed(fit)
    return model.predict(outside), cpu


def flights(seeds: Sequence[int]) -> None:
    """The demo's plain limit, corrected from four columns with days as blocks, judged on July to December."""
    from multivalid.demo import flights as demo
    from multivalid.demo.correct import CROSSINGS, NAMED, SMALLEST

    every = demo.load()
    early, middle, late = (demo.months(every, span) for span in (demo.MODEL_MONTHS, demo.FIT_MONTHS, demo.CHECK_MONTHS))
    limit = demo.Limit(early)
    base = [limit.predict(part) for part in (middle, late)]
    judged = mv.Groups([*NAMED, *(mv.cross(*pair) for pair in CROSSINGS)], min_size=SMALLEST).fit(late)
    for seed in seeds or [0]:
        made, cpu = timed(
            lambda seed=seed: mv.multicalibrate(
                middle["arr_delay"], base[0], groups=[], data=middle, features=["carrier", "origin", "hour", "queue"],
                blocks=middle["date"], property=mv.Quantile(demo.TAU), random_state=seed,
            )
        )  # fmt: skip
        final = made.predict(base[1], data=late)
        rest = late["arr_delay"].to_numpy() - final
        pinball = float(np.mean(np.maximum(demo.TAU * rest, (demo.TAU - 1) * rest)))
        table = mv.audit(late["arr_delay"], final, groups=judged, data=late, property=mv.Quantile(demo.TAU)).table
        print(f"flights, seed {seed}: {table['debiased'].max():.2e} / {pinball:.3f} ({cpu:.1f} s)  {telling(made)}", flush=True)


def truth(seeds: Sequence[int], runs: int = 100) -> None:
    """How often the truth as base is changed."""
    for rows in (2_000, 20_000):
        for name, make in (("mean", W.mean), ("quantile", W.quantile)):
            changed = 0
            for seed in seeds or range(runs // 2):
                d = make(rows, 1_000, seed=5_000 + seed)
                frames = [columns(d[f"X_{part}"]) for part in ("fit", "test")]
                final, _, _ = corrected(d | {"base_fit": d["truth_fit"], "base_test": d["truth_test"]}, frames, PROPERTIES[name])
                changed += not np.array_equal(final, d["truth_test"])
            print(f"truth of {name} as base, {rows:,} rows: changed in {changed} of {len(seeds or range(runs // 2))}", flush=True)


def others(seeds: Sequence[int]) -> None:
    """Expectile and Huber: error from columns, over the error with the groups named."""
    for name in ("expectile", "huber"):
        task = practical.TASKS[name]
        for seed in seeds or [None]:
            d = task.make(seed)
            frames = [columns(d[f"X_{part}"]) for part in ("fit", "test")]
            final, cpu, _ = corrected(d, frames, task.prop)
            found = task.quality(final, d["y_test"], d["g_test"])["max_error"]
            named = practical.run(task, seed)["max_error"]
            print(f"{task.name}, seed {seed}: {found:.2e} ({cpu:.1f} s), named {named:.2e}: {found / named:.2f} ×", flush=True)


def planted(seeds: Sequence[int]) -> None:
    """Recall and precision of planted slices."""
    import found as worlds

    settings = [(20_000, 0.8, False, 20), (20_000, 0.8, True, 20), (100_000, 0.4, False, 10)]
    for rows, shift, quantile, count in settings:
        scores, seconds = [], []
        for seed in seeds or range(count):
            w = worlds.planted(rows, delta=shift, seed=seed, quantile=quantile)
            target = mv.Quantile(0.9) if quantile else mv.Mean()
            made, cpu = timed(lambda w=w, target=target: mv.discover(w["y"], w["f"], data=w["frame"], property=target))
            masks = list(mv.Groups(made.groups).fit(w["frame"]).masks(w["frame"]))[1:] if made.groups else []
            scores.append(worlds.recall_precision(masks, w["slices"]))
            seconds.append(cpu)
        recall, precision = np.nanmean(np.array(scores), axis=0)
        kind = "quantile" if quantile else "mean"
        print(
            f"planted, {kind}, {rows:,} rows, shift {shift}: recall {recall:.2f}, precision {precision:.2f}, "
            f"{np.mean(seconds[1:] or seconds):.2f} s each (largest {max(seconds[1:] or seconds):.2f})",
            flush=True,
        )


def null(seeds: Sequence[int], runs: int = 400) -> None:
    """How often anything is reported where every prediction is right."""
    import chance
    import found as worlds

    def fraud(seed: int) -> Any:
        return chance.NULLS["fraud"](np.random.default_rng(seed))

    def claims(seed: int) -> Any:
        return chance.NULLS["claims"](np.random.default_rng(seed))

    makers: dict[str, Callable[[int], Any]] = {
        "mean": lambda seed: worlds.planted(5_000, k=0, delta=0.0, seed=seed) | {"property": "mean"},
        "quantile": lambda seed: worlds.planted(5_000, k=0, delta=0.0, seed=seed, quantile=True) | {"property": "quantile:0.9"},
        "fraud": fraud,
        "claims": claims,
    }
    for name, make in makers.items():
        said = 0
        for seed in seeds or range(runs):
            w = make(seed)
            frame = w["frame"] if "frame" in w else worlds.columns(np.random.default_rng(10_000 + seed), len(w["y"]))
            said += bool(mv.discover(w["y"], w["f"], data=frame, property=w["property"], random_state=seed).groups)
        total = len(seeds or range(runs))
        print(f"nothing off, {name}: something reported in {said} of {total} ({said / total:.1%})", flush=True)


def wide(seeds: Sequence[int]) -> None:
    """`discover` on 140,000 rows of forty columns."""
    import found as worlds

    for seed in seeds or [7]:
        d = worlds.census_columns(True, seed=seed)
        made, cpu = timed(lambda d=d: mv.discover(d["y_fit"], d["base_fit"], data=d["frame_fit"]))
        print(
            f"discover, 140,000 rows of {len(d['frame_fit'].columns)} columns: {len(made.groups)} groups in {cpu:.1f} s", flush=True
        )


def damaged(seeds: Sequence[int], count: int = 200_000) -> None:
    """Texts of a saved model of trees, each changed in one place: refused, or the change says the same. Forged ones too.

    A file has a checksum, so that what changes a tree is refused. Whoever forges the checksum gets trees that predict numbers, or is
    refused by what is checked of each tree.
    """
    from multivalid.errors import ModelFileError
    from multivalid.practical.forest import Forest
    from multivalid.storage import checksum, decode

    forest = _small_forest()
    content = forest.to_json()
    text = json.dumps({**content, "checksum": checksum(content)})
    draw = random.Random(next(iter(seeds), 0))
    outcome = {"refused": 0, "says the same": 0, "forged: refused": 0, "forged: other trees": 0}
    for _ in range(count):
        at, new = draw.randrange(len(text)), draw.choice('0123456789-.eE[]{},:"tfnul \\')
        changed = text[:at] + new + text[at + draw.randrange(3) :]
        try:
            assert decode(changed.encode(), "file") == content
            outcome["says the same"] += 1
        except ModelFileError:
            outcome["refused"] += 1
        try:
            forged = json.loads(changed)
            made = Forest.from_json({key: value for key, value in forged.items() if key != "checksum"})
        except (json.JSONDecodeError, AttributeError):
            continue  # not JSON, or no record at all
        except ModelFileError:
            outcome["forged: refused"] += 1
        else:
            outcome["forged: other trees"] += 1
            assert np.isfinite(made.sums(np.zeros((1, len(made.bins)), dtype=np.uint8))).all()
    print(f"{count:,} damaged texts of trees: {outcome}", flush=True)


def _small_forest() -> Any:
    """The first trees of a fit on columns of three kinds."""
    from multivalid.practical.forest import Forest

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=4000).round(1), "c": rng.choice(list("uvwxyz"), 4000), "b": rng.random(4000) < 0.5})
    truth = 1 / (1 + np.exp(-frame["a"] - (frame["c"] == "u") * frame["b"]))
    y, base = (rng.random(4000) < truth) * 1.0, np.full(4000, 0.5) + 0.01 * rng.random(4000).round(1)
    made = mv.multicalibrate(y, base, groups=[], data=frame, features=["a", "c", "b"])
    assert made.predictor.forest is not None
    return Forest.of(made.predictor.forest.bins, made.predictor.forest.trees[:5])


PARTS: dict[str, Callable[[Sequence[int]], None]] = {
    "census": census, "from_x": from_x, "fresh": fresh, "flights": flights, "truth": truth, "others": others, "planted": planted,
    "null": null, "wide": wide, "damaged": damaged,
}  # fmt: skip


def main() -> None:
    """Print the lines of each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all of them when not given")
    parser.add_argument("--seeds", type=int, nargs="*", default=[])
    arguments = parser.parse_args()
    for name in arguments.parts or PARTS:
        PARTS[name](arguments.seeds)


if __name__ == "__main__":
    main()
