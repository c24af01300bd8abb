"""Monitor: false alarms, delays beside a CUSUM that knows group and shift, the date of the change, and updates per second.

    python benchmarks/monitor.py [streams]     (1,000 by default; some minutes)
    python benchmarks/monitor.py adwin [streams]   (needs river; NumPy and river alone will do)

5,000 rounds, 20 groups of share 0.2. In the two worlds with a change, after round 2,500 group 7's log-odds rise by 0.8, or the coverage
of its 90 % quantiles falls to 80 %. Delays are in rounds of that group. The CUSUM watches group 7 alone, for exactly this change, at a
threshold that it passes in streams without a change as often as asked: once as often as the monitor was measured to raise any alarm (but
at least in 1 of 1,000 streams), once in 5 of 100.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

ROUNDS, CHANGE, GROUPS, WATCHED = 5_000, 2_500, 20, 7
WORLDS = {"log-odds + 0.8": "mean", "coverage 90 -> 80 %": "quantile:0.9"}


def stream(world: str, seed: int, change: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups, predictions and outcomes."""
    rng = np.random.default_rng([seed, list(WORLDS).index(world)])
    member = rng.random((ROUNDS, GROUPS)) < 0.2
    off = change & member[:, WATCHED] & (np.arange(ROUNDS) >= CHANGE)
    if world.startswith("log-odds"):
        p = rng.beta(2.0, 3.0, ROUNDS)
        odds = p / (1 - p) * np.exp(0.8 * off)
        return member, p, (rng.random(ROUNDS) < odds / (1 + odds)).astype(float)
    scale = rng.uniform(1.0, 3.0, ROUNDS)  # predictions are the exact 90 % quantiles of exponential labels
    share = np.where(off, 0.8, 0.9)
    return member, scale * np.log(10.0), np.where(rng.random(ROUNDS) < share, 0.5, 1.5) * scale * np.log(10.0)


def steps(world: str, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Log-likelihood ratio of the change, round by round."""
    if world.startswith("log-odds"):
        odds = p / (1 - p) * np.exp(0.8)
        q = odds / (1 + odds)
        return np.where(y == 1, np.log(q / p), np.log((1 - q) / (1 - p)))
    return np.where(y <= p, np.log(0.8 / 0.9), np.log(2.0))


def cusum(values: np.ndarray) -> np.ndarray:
    """max over starts of the sum since, for each row of `values`."""
    total = np.cumsum(values, axis=-1)
    before = np.concatenate([np.zeros((*total.shape[:-1], 1)), total[..., :-1]], axis=-1)
    return total - np.minimum.accumulate(before, axis=-1)


def own_rounds(member: np.ndarray) -> np.ndarray:
    """Numbers of the rounds of the watched group."""
    return np.flatnonzero(member[:, WATCHED])


def peaks(world: str, streams: int) -> np.ndarray:
    """Largest CUSUM of the watched group in streams without a change."""
    found = []
    for seed in range(streams):
        member, p, y = stream(world, 10_000_000 + seed, change=False)
        own = own_rounds(member)
        found.append(cusum(steps(world, p[own], y[own])).max())
    return np.array(found)


def cusum_delays(world: str, threshold: float, streams: int) -> Iterator[float]:
    """Rounds of the group from the change to the alarm; streams with an earlier one do not count."""
    for seed in range(streams):
        member, p, y = stream(world, seed, change=True)
        own = own_rounds(member)
        over = np.flatnonzero(cusum(steps(world, p[own], y[own])) >= threshold)
        first = np.searchsorted(own, CHANGE)
        if not over.size or over[0] >= first:
            yield float(over[0] - first + 1) if over.size else np.inf


def monitored(world: str, seed: int, change: bool):
    """A monitor after the stream."""
    import multivalid as mv

    member, p, y = stream(world, seed, change)
    monitor = mv.Monitor(WORLDS[world], GROUPS)
    monitor.update_many(member, p, y)
    return monitor, own_rounds(member)


def false_alarms(world: str, streams: int) -> float:
    return float(np.mean([bool(monitored(world, 20_000_000 + seed, change=False)[0].alarms) for seed in range(streams)]))


def monitor_delays(world: str, streams: int) -> tuple[np.ndarray, np.ndarray]:
    """Delays, and by how many rounds of the group the date of the change was missed."""
    delays, missed = [], []
    for seed in range(streams):
        monitor, own = monitored(world, seed, change=True)
        first = np.searchsorted(own, CHANGE)
        mine = [alarm for alarm in monitor.alarms if alarm.group == monitor.groups[WATCHED + 1]]
        if not mine or mine[0].round > CHANGE:
            delays.append(float(np.searchsorted(own, mine[0].round) - first) if mine else np.inf)
            missed.append(abs(float(np.searchsorted(own, mine[0].since - 1) - first)) if mine else np.inf)
    return np.array(delays), np.array(missed)


def report(streams: int) -> None:
    changed = max(streams // 4, 20)
    for world in WORLDS:
        rate = false_alarms(world, streams)
        delays, missed = monitor_delays(world, changed)
        print(f"{world}: any false alarm in {100 * rate:.1f} % of {streams} streams")
        print(
            f"  monitor: median delay {np.median(delays):.0f}; date missed by {np.median(missed):.0f} (median), "
            f"within 100 in {100 * np.mean(missed <= 100):.0f} % of {len(missed)} streams; "
            f"{100 * np.mean(np.isinf(delays)):.0f} % not found by the end"
        )
        top = peaks(world, 4_000)
        for asked in sorted({max(rate, 0.001), 0.05}):
            threshold = float(np.quantile(top, 1 - asked))
            known = np.median(list(cusum_delays(world, threshold, changed)))
            print(f"  CUSUM at {100 * asked:.1f} % (threshold {threshold:.2f}): {known:.0f}, ratio {np.median(delays) / known:.2f}")


def speed(rows: int = 400_000) -> None:
    import multivalid as mv
    from multivalid.kernels import library

    rng = np.random.default_rng(0)
    member, p = rng.random((rows, GROUPS)) < 0.2, rng.beta(2.0, 3.0, rows)
    y = rng.random(rows) < p
    best = 0.0
    for _ in range(5):
        monitor, start = mv.Monitor("mean", GROUPS), time.process_time()
        monitor.update_many(member, p, y)
        best = max(best, rows / (time.process_time() - start))
    loop = "compiled" if library.available() else "NumPy"
    print(f"update_many, {GROUPS} groups: {best:,.0f} updates per second of processor time ({loop}, best of 5)")


def adwin_result(world: str, streams: int) -> tuple[float, float]:
    """Share of streams with a false alarm, and the median delay."""
    from river.drift import ADWIN

    false, delays = [], []
    for seed in range(streams):
        for change in (False, True):
            member, p, y = stream(world, 30_000_000 + seed, change)
            value = p - y if world.startswith("log-odds") else (y <= p) - 0.9
            raised = None
            for group in [WATCHED] if change else range(GROUPS):
                detector = ADWIN(delta=0.05 / GROUPS)
                for i, v in enumerate(value[member[:, group]].tolist(), 1):
                    detector.update(v)
                    if detector.drift_detected:
                        raised = i
                        break
            if change:
                first = int(np.searchsorted(own_rounds(member), CHANGE))
                delays.append(np.inf if raised is None else float(raised - first))
            else:
                false.append(raised is not None)
    return float(np.mean(false)), float(np.median([delay for delay in delays if delay > 0]))


def adwin(streams: int) -> None:
    for world in WORLDS:
        rate, delay = adwin_result(world, streams)
        print(f"{world}: ADWIN (delta 0.05/20 per group) false in {100 * rate:.1f} %, median delay {delay:.0f}")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["adwin"]:
        adwin(int(words[1]) if len(words) > 1 else 100)
    else:
        speed()
        report(int(words[0]) if words else 1_000)
