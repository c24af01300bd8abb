"""Where combinations of groups are too many to bring to the driver: rows are read in batches, and the answers are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.atoms import partitions, predict
from multivalid.errors import InputError
from multivalid.sources import bundling, engine, engine_laws, guesses
from tests.engines.conftest import collected, rows
from tests.engines.test_same_answers import EXACT, GROUPS, KEY, same_tables, without_collateral
from tests.reference.batch_naive import worst_error

Enter = Callable[[pd.DataFrame], Any]
TWINS = ["age >= 18 and site != 'b'", "site != 'b' and age > 17", "age > -5", "age > 500"]


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three thousand rows that look like many: nothing may be grouped, batches are small, tables to join with are too large."""
    for module, name, value in (
        (bundling, "SAFE_ROWS", 10), (bundling, "MOST_ENTRIES", 20), (partitions, "BATCH", 700), (predict, "MOST_PATTERNS", 20),
        (engine_laws, "SAFE_ROWS", 10), (engine_laws, "LABEL_BINS", 4096),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


@pytest.mark.usefixtures("crowded")
class TestOnEveryEngine:
    @pytest.mark.parametrize("weight", [None, "w"])
    @pytest.mark.parametrize("name", EXACT)
    def test_audit(self, engine: Enter, name: str, weight: str | None) -> None:
        frame = rows()
        expected = mv.audit("y", "p", groups=[*GROUPS, *TWINS], data=frame, property=name, sample_weight=weight)
        found = mv.audit("y", "p", groups=[*GROUPS, *TWINS], data=engine(frame), property=name, sample_weight=weight)
        same_tables(expected.table, found.table)
        same_tables(expected.cells, found.cells)
        assert set(expected.groups.notes) <= set(found.groups.notes)
        assert found.score == pytest.approx(expected.score, rel=1e-9)

    @pytest.mark.parametrize(("name", "m"), [("mean", 40), ("quantile:0.9", 30), ("expectile:0.75", 25), ("moment:2", 60)])
    def test_batched_fit(self, engine: Enter, name: str, m: int) -> None:
        frame = rows()
        frame["y"], frame["p"] = frame["y"] / 128, frame["p"] / 128  # sums of such numbers are exact
        options: dict[str, Any] = {"groups": GROUPS, "property": name, "sample_weight": "w", "mode": "theorem", "m": m}
        expected = mv.multicalibrate("y", "p", data=frame, holdout="held", batched=True, **options)
        data = engine(frame)
        found = mv.multicalibrate("y", "p", data=data, holdout="held", batched=True, **options)
        assert len(expected.patches) > 3
        assert found.patches == expected.patches
        assert found.groups == expected.groups
        first, second = expected.certificate.to_json(), found.certificate.to_json()
        first["note"], second["note"] = (without_collateral(one["note"]) for one in (first, second))
        np.testing.assert_allclose(second.pop("potential"), first.pop("potential"), rtol=1e-9)
        np.testing.assert_allclose(np.array(second.pop("blocked")), np.array(first.pop("blocked")), rtol=1e-9)
        for field, value in first.items():
            assert second[field] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), field
        ours = collected(found.predict("p", data=data, output="better")).sort_values(KEY)["better"]
        theirs = expected.predict("p", data=frame, output="better").sort_values(KEY)["better"]
        assert ours.tolist() == theirs.tolist()


@pytest.mark.usefixtures("crowded")
def test_the_certificate_is_true_of_the_rows() -> None:
    """Error and potential of a fit that never held the rows, from the rows and its predictions alone."""
    frame = rows()
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=pl.from_pandas(frame).lazy(), mode="theorem", m=40, batched=True)
    assert made.patches
    better = made.predict("p", data=frame)
    masks, level = np.stack(list(made.groups.masks(frame)), axis=1), made.grid.round(better)
    y, w = frame["y"].to_numpy(), np.ones(len(frame))
    assert made.certificate.error == pytest.approx(worst_error(made.property, made.grid.points, y, w, masks, level), rel=1e-9)
    assert made.certificate.error <= made.certificate.alpha
    assert made.certificate.potential[-1] == pytest.approx(made.property.score(better, y).mean(), rel=1e-9)
    drops = -np.diff(made.certificate.potential)
    assert drops.min() >= made.certificate.drop_bound * (1 - 1e-9)


@pytest.mark.usefixtures("crowded")
def test_one_by_one_is_refused_with_the_way_out() -> None:
    data = pl.from_pandas(rows()).lazy()
    with pytest.raises(
        InputError, match=r'about .* different combinations .* mode="theorem" with batched=True \(--mode theorem --batched\)'
    ):
        mv.multicalibrate("y", "p", groups=GROUPS, data=data, mode="theorem", m=40)


def test_a_wrong_guess_lets_no_more_in_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "SAFE_ROWS", 10)
    monkeypatch.setattr(bundling, "MOST_ENTRIES", 20)
    for module in (bundling, guesses):
        monkeypatch.setattr(module, "expected_distinct", lambda often, rows: 15.0)
    fetched: list[int] = []
    fetch = bundling.fetch
    monkeypatch.setattr(bundling, "fetch", lambda frame: (made := fetch(frame), fetched.append(len(made)))[0])
    with pytest.raises(InputError, match="over 20 different combinations"):
        mv.multicalibrate("y", "p", groups=GROUPS, data=pl.from_pandas(rows()).lazy(), mode="theorem", m=40)
    assert fetched
    assert max(fetched) == 21


def test_no_batch_is_larger_than_asked_and_none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "BATCH", 256)
    monkeypatch.setattr(engine, "fold", _watched(sizes := []))
    data = pl.from_pandas(rows(20_000)).lazy()
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=data, mode="theorem", m=40, batched=True)
    passes = int(made.certificate.note.split("Batched rounds: ")[1].split()[0])
    assert max(sizes) <= 512
    assert sum(sizes) == 20_000 * passes


def _watched(sizes: list[int]) -> Any:
    def fold(frame: Any, groups: Any, kernel: Any) -> Any:
        def watched(batch: Any) -> Any:
            sizes.append(len(batch))
            return kernel(batch)

        return partitions.fold(frame, groups, watched)

    return fold
