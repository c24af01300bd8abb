"""What a saved model knows: how far the predictions reached that it was fitted on, and what its property meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from tests.inputs.frames import ENGINES


def world(rows: int = 800) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    p = rng.uniform(20, 50, rows)
    return pl.DataFrame({"g": rng.choice(["a", "b"], rows), "p": p, "y": p + rng.normal(size=rows)})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ["practical", "theorem"])
def test_predictions_beyond_the_fitted_range_are_counted(engine: Any, mode: str, tmp_path: Path) -> None:
    frame = world()
    fitted = mv.multicalibrate("y", "p", groups=["g"], data=engine(frame), mode=mode, m=20)
    low, high = frame["p"].min(), frame["p"].max()
    assert fitted.seen == ((low, high),)
    fitted.save(tmp_path / "m.json")
    far = frame.with_columns(p=pl.when(pl.int_range(pl.len()) < 7).then(pl.col("p") + 40).otherwise("p"))
    for model in (fitted, mv.load(tmp_path / "m.json")):
        assert "outside" not in model.audit("y", "p", data=engine(frame)).summary()
        said = model.audit("y", "p", data=engine(far)).summary()
        assert f"7 of 800 predictions lie outside {low:.6g} to {high:.6g}, the range that the model was fitted on" in said
    model.report(tmp_path / "r.html", "y", "p", data=engine(far))
    assert "7 of 800 predictions lie outside" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_every_column_has_its_range(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    said = np.column_stack([np.full(300, -1.0), rng.uniform(1, 2, 300)])
    fitted = mv.multicalibrate(y, said, groups=[], property="quantiles:0.2,0.8", mode="theorem", m=10)
    fitted.save(tmp_path / "m.json")
    assert mv.load(tmp_path / "m.json").seen == fitted.seen
    assert len(fitted.seen or ()) == 2
    assert "1 of 1 predictions lies outside" in fitted.audit([0.0], [[-1.0, 3.0]]).summary()


@pytest.mark.parametrize("damage", ["x", [[1]], [[2, 1]], [[0, float("inf")]], [[0, 1], [0, 1]], [[True, 2]]])
def test_a_damaged_range_is_refused(damage: Any) -> None:
    content = mv.multicalibrate([0, 1, 0, 1], [0.5] * 4, groups=[], mode="theorem", m=4).to_json()
    with pytest.raises(ModelFileError, match="range must be"):
        mv.Calibration.from_json({**content, "range": damage})


def test_files_without_the_new_fields_load() -> None:
    content = mv.multicalibrate([0, 1, 0, 1], [0.5] * 4, groups=[], mode="theorem", m=4).to_json()
    assert mv.Calibration.from_json({key: value for key, value in content.items() if key != "range"}).seen is None


def test_a_name_with_another_meaning_is_noticed(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    y = rng.random(400)
    third = mv.register("a share of mine", mv.Property.from_identification(lambda g, y: (y <= g) - 1 / 3))
    mv.multicalibrate(y, np.full(400, 0.4), groups=[], property=third, mode="theorem", m=10).save(tmp_path / "m.json")
    mv.register("a share of mine", mv.Property.from_identification(lambda g, y: (y <= g) - 1 / 3))
    assert mv.load(tmp_path / "m.json").predict([0.4]).shape == (1,)
    mv.register("a share of mine", mv.Property.from_identification(lambda g, y: (y <= g) - 2 / 3))
    with pytest.raises(ModelFileError, match="'a share of mine' is registered as something else than when the model was saved"):
        mv.load(tmp_path / "m.json")


def test_a_pair_with_another_meaning_is_noticed(tmp_path: Path) -> None:
    y = np.random.default_rng(1).random(400)
    said = np.column_stack([np.full(400, 0.5), np.full(400, 0.25)])
    pair = mv.register("spread of mine", mv.Pair.from_target(mv.Quantile(0.5), lambda g, y: abs(y - g), range=(0, 1)))
    mv.multicalibrate(y, said, groups=[], property=pair, mode="theorem", m=10).save(tmp_path / "m.json")
    mv.load(tmp_path / "m.json")
    mv.register("spread of mine", mv.Pair.from_target(mv.Quantile(0.5), lambda g, y: (y - g) ** 2, range=(0, 1)))
    with pytest.raises(ModelFileError, match="registered as something else"):
        mv.load(tmp_path / "m.json")


def test_audit_of_a_model_takes_names_and_missing_labels() -> None:
    frame = world().with_columns(rich=pl.when(pl.col("y") > 35).then(pl.lit(">35")).otherwise(pl.lit("<=35")), q=pl.col("p") / 100)
    frame = frame.with_columns(gaps=pl.when(pl.int_range(pl.len()) > 4).then("rich"))
    fitted = mv.multicalibrate("rich", "q", groups=["g"], data=frame, positive=">35", mode="theorem", m=10)
    zeros = frame.with_columns(rich=(pl.col("rich") == ">35").cast(float))
    for engine in ENGINES:
        named = fitted.audit("rich", "q", data=engine(frame), positive=">35")
        assert named.error == pytest.approx(fitted.audit("rich", "q", data=engine(zeros)).error, abs=1e-12)
        with pytest.raises(InputError, match=r'5 missing.*missing_rows="drop"'):
            fitted.audit("gaps", "q", data=engine(frame), positive=">35")
        found = fitted.audit("gaps", "q", data=engine(frame), positive=">35", missing_rows="drop")
        assert "5 rows have no label and are left out" in found.summary()


def test_boolean_arrays_are_cut_with_the_labels() -> None:
    rng = np.random.default_rng(2)
    flag = rng.random(200) < 0.5
    y = (rng.random(200) < 0.5).astype(float)
    fitted = mv.multicalibrate(y, np.full(200, 0.5), groups=[flag], mode="theorem", m=10)
    gaps = np.where(np.arange(200) < 3, np.nan, y)
    found = fitted.audit(gaps, np.full(200, 0.5), groups=[flag], missing_rows="drop")
    assert found.error == fitted.audit(y[3:], np.full(197, 0.5), groups=[flag[3:]]).error


def test_a_model_file_is_plain_json(tmp_path: Path) -> None:
    mv.multicalibrate("y", "p", groups=["g"], data=world(), mode="theorem", m=10).save(tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))["range"][0][0] > 19
