"""Every sentence and number that a monitor says, where it could be false."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv


def shifted(rounds: int = 3000, change: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group 1 of 3 (the second) has its log-odds raised by 1 after `change`."""
    rng = np.random.default_rng(seed)
    member, p = rng.random((rounds, 3)) < 0.3, rng.beta(2, 3, rounds)
    late = (np.arange(rounds) >= change) & member[:, 1]
    odds = p / (1 - p) * np.exp(1.0 * late)
    return member, p, rng.random(rounds) < odds / (1 + odds)


@pytest.fixture(scope="module")
def alarmed() -> mv.Monitor:
    member, p, y = shifted()
    monitor = mv.Monitor("mean", 3, period="month")
    monitor.update_many(member, p, y, time=np.datetime64("2024-01-01") + np.arange(3000) * np.timedelta64(1, "h"))
    return monitor


def test_the_alarm_is_raised_for_the_group_after_the_change(alarmed: mv.Monitor) -> None:
    first = alarmed.alarms[0]
    assert first.group == alarmed.groups[2]
    assert first.says == "predictions too low"
    assert 1500 < first.round < 2600
    assert abs(first.since - 1500) < 300
    assert first.time == np.datetime64("2024-01-01") + (first.round - 1) * np.timedelta64(1, "h")
    assert first.since_time == np.datetime64("2024-01-01") + (first.since - 1) * np.timedelta64(1, "h")


def test_rounds_of_an_alarm_count_from_one() -> None:
    member, p, y = shifted()
    whole = mv.Monitor("mean", 3)
    whole.update_many(member, p, y)
    first = whole.alarms[0].round
    before, at = mv.Monitor("mean", 3), mv.Monitor("mean", 3)
    before.update_many(member[: first - 1], p[: first - 1], y[: first - 1])
    at.update_many(member[:first], p[:first], y[:first])
    assert not before.alarms
    assert [alarm.round for alarm in at.alarms] == [first]
    assert at.table()["evidence"].max() >= 4 / 0.05 > before.table()["peak"].max()


def test_summary_says_so(alarmed: mv.Monitor) -> None:
    text = alarmed.summary()
    first = alarmed.alarms[0]
    day = str(first.time.astype("datetime64[D]"))
    assert text.splitlines()[0] == "monitor of Mean(): 3,000 rounds, 4 groups"
    assert f"ALARM {first.group}: predictions too low; raised at round {first.round:,} ({day}" in text
    assert "(an estimate)" in text
    quiet = mv.Monitor("mean", 1, delta=0.02, tolerance=0.1)
    assert "at most 0.02" in quiet.summary()
    assert "tolerance 0.1" in quiet.summary()
    assert "ALARM" not in quiet.summary()


def test_printed_it_says_how_far_it_is(alarmed: mv.Monitor) -> None:
    count = len(alarmed.alarms)
    assert repr(alarmed) == f"<Monitor of Mean(): 3,000 rounds, 4 groups, {count} alarm{'' if count == 1 else 's'}>"
    assert repr(mv.Monitor("quantile:0.9", 2)) == "<Monitor of Quantile(tau=0.9): 0 rounds, 3 groups, no alarms>"
    learner = mv.OnlineMulticalibrator("mean", 2, labels=(0, 1))
    learner.learn_one([True, False], 1.0)
    assert repr(learner) == "<OnlineMulticalibrator of Mean(), sharp: 1 rounds, 3 groups, 20 buckets>"


def test_table_counts_rows_and_gaps(alarmed: mv.Monitor) -> None:
    member, p, y = shifted()
    everyone = np.column_stack([np.ones(3000, bool), member])
    table = alarmed.table()
    assert table["rows"].tolist() == everyone.sum(axis=0).tolist()
    np.testing.assert_allclose(table["gap"], [(p - y)[g].mean() for g in everyone.T], rtol=1e-10)
    window = alarmed.table(last=200)
    np.testing.assert_allclose(window["gap"], [(p - y)[-200:][g[-200:]].mean() for g in everyone.T], rtol=1e-10)
    assert window["rows"].tolist() == everyone[-200:].sum(axis=0).tolist()
    assert (table["alarm_round"][table["alarm"]] > 0).all()
    assert (table["since"][~table["alarm"]] == 0).all()
    assert (table["peak"] >= table["evidence"]).all()


def test_periods(alarmed: mv.Monitor) -> None:
    member, p, y = shifted()
    months = (np.datetime64("2024-01-01") + np.arange(3000) * np.timedelta64(1, "h")).astype("datetime64[M]")
    table = alarmed.table(by_period=True)
    for month in np.unique(months):
        own = table["period"] == month
        inside = months == month
        assert table["rows"][own].tolist() == [inside.sum(), *(inside[:, None] & member).sum(axis=0)]
        np.testing.assert_allclose(table["gap"][own][2], (p - y)[inside & member[:, 1]].mean(), rtol=1e-10)


def test_predictions_that_no_label_can_bear_out_are_counted(tmp_path: Path) -> None:
    monitor = mv.Monitor("mean", 1, labels=(0, 1))
    monitor.update([True], 1.2, 1)
    monitor.update_many(np.ones((3, 1), dtype=bool), [-0.5, 0.5, 1.0], [0, 1, 1])
    assert "2 predictions outside (0, 1) judged as the nearer end of it" in monitor.summary()
    monitor.save(tmp_path / "watch.json")
    again = mv.load(tmp_path / "watch.json")
    again.update([True], 7.0, 1)
    assert "3 predictions outside (0, 1)" in again.summary()
    again.report(tmp_path / "page.html")
    assert "3 predictions outside (0, 1) judged" in json.loads((tmp_path / "page.report.json").read_text())["verdict"]
    unbounded = mv.Monitor("quantile:0.9", 1)
    unbounded.update([True], -1e9, 0.0)
    assert "outside" not in unbounded.summary()


def test_an_empty_group_has_no_gap_and_no_evidence() -> None:
    monitor = mv.Monitor("mean", 1)
    monitor.update_many(np.zeros((50, 1), bool), np.full(50, 0.5), np.ones(50))
    table = monitor.table()
    assert np.isnan(table["gap"][1])
    assert table["evidence"][1] == table["peak"][1] == 1.0
    assert table["rows"].tolist() == [50, 0]


@pytest.mark.parametrize(
    ("p", "truth", "says"),
    [
        ([0.1, 0.9], [0.3, 0.7], "predictions too extreme"),
        ([0.4, 0.6], [0.1, 0.9], "predictions too moderate"),
        ([0.5, 0.5], [0.3, 0.3], "predictions too high"),
        ([0.5, 0.5], [0.7, 0.7], "predictions too low"),
    ],
)
def test_what_the_richest_bet_says_is_what_is_wrong(p: list[float], truth: list[float], says: str) -> None:
    rng = np.random.default_rng(0)
    which = rng.integers(0, 2, 4000)
    monitor = mv.Monitor("mean", 0, buckets=2)
    monitor.update_many(np.zeros((4000, 0), bool), np.array(p)[which], rng.random(4000) < np.array(truth)[which])
    assert monitor.alarms[0].says == says


def test_trouble_in_one_bucket_is_named() -> None:
    rng = np.random.default_rng(1)
    p = rng.uniform(0, 1, 40_000)
    truth = np.where((p >= 0.4) & (p < 0.5), p - 0.3, p)
    monitor = mv.Monitor("mean", 0, buckets=np.arange(1, 10) / 10)
    monitor.update_many(np.zeros((40_000, 0), bool), p, rng.random(40_000) < truth)
    assert monitor.alarms[0].says == "predictions too high where they are in [0.4, 0.5)"


def test_ends_of_buckets_in_words() -> None:
    bounded, open_ended = mv.Monitor("mean", 0, buckets=[0.3])._watches[0], mv.Monitor("quantile:0.5", 0, buckets=[3.0])._watches[0]
    families = [family * bounded.bets.bets for family in range(4)]
    assert [open_ended.says(bet) for bet in families[2:]] == [
        "predictions too high where they are below 3", "predictions too high where they are at least 3",
    ]  # fmt: skip
    assert bounded.says(families[3] + 8) == "predictions too low where they are in [0.3, 1)"


def test_frames_dicts_and_booleans_are_the_same_rows() -> None:
    member, p, y = shifted(600)
    frame = pd.DataFrame(
        {"a": member[:, 0].astype(int), "p": p, "y": y.astype(float), "t": pd.date_range("2024", periods=600, tz="UTC")}
    )
    monitors = [mv.Monitor("mean", ["a == 1"]) for _ in range(3)]
    monitors[0].update_many(frame, "p", "y", "t")
    monitors[1].update_many(pl.from_pandas(frame), "p", "y", time="t")
    for row in frame.to_dict("records"):
        monitors[2].update(row, row["p"], row["y"], row["t"])
    texts = [json.dumps(monitor.to_json()) for monitor in monitors]
    assert texts[0] == texts[1] == texts[2]


def test_saved_and_loaded_goes_on_exactly(tmp_path: Path, alarmed: mv.Monitor) -> None:
    alarmed.save(tmp_path / "m.json")
    twin = mv.load(tmp_path / "m.json")
    assert isinstance(twin, mv.Monitor)
    assert twin.alarms == alarmed.alarms
    member, p, y = shifted(seed=1)
    half, whole = mv.Monitor("mean", 3), mv.Monitor("mean", 3)
    whole.update_many(member, p, y)
    for cut in (100, 1700):  # before and after there are buckets
        half = mv.Monitor("mean", 3)
        half.update_many(member[:cut], p[:cut], y[:cut])
        half.save(tmp_path / "half.json")
        half = mv.load(tmp_path / "half.json")
        half.update_many(member[cut:], p[cut:], y[cut:])
        assert json.dumps(half.to_json()) == json.dumps(whole.to_json())


def test_page_shows_the_evidence_of_each_alarm(tmp_path: Path, alarmed: mv.Monitor) -> None:
    pytest.importorskip("jinja2", reason="pages need jinja2")
    alarmed.report(tmp_path / "watch.html")
    page, content = (tmp_path / "watch.html").read_text("utf-8"), json.loads((tmp_path / "watch.report.json").read_text("utf-8"))
    assert page.count("<svg") == len(alarmed.alarms) == len(content["alarms"])
    for alarm, shown in zip(alarmed.alarms, content["alarms"], strict=True):
        assert shown["sentence"] in page
        logs = [value for at, value in shown["trace"] if at >= alarm.round]
        assert shown["trace"][-1][1] == pytest.approx(np.log10(alarm.evidence), abs=0.5)
        assert max(logs) >= np.log10(content["threshold"]) - 0.5
    assert content["threshold"] == pytest.approx(80.0)
    assert "No alarm" not in page
    quiet = mv.Monitor("mean", ["name == '<b>'"])
    quiet.update_many(pd.DataFrame({"name": ["<b>"]}), [0.5], [1.0])
    quiet.report(tmp_path / "quiet.html")
    page = (tmp_path / "quiet.html").read_text("utf-8")
    assert "No alarm in 2 groups, 1 rounds" in page
    assert "<b>" not in page
