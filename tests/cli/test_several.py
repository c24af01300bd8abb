"""Several columns on the command line: audit, fit, report and apply, each what the library does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from tests.cli.conftest import Terminal
from tests.several.worlds import KINDS, fan, kinds

FAN = ["--label", "y", "--prediction", "q10,q50,q90", "--property", "quantiles:0.1,0.5,0.9", "--groups", "wide"]
CLASSES = ["--label", "kind", "--prediction", "p0,p1,p2,p3", "--property", f"classes:{','.join(KINDS)}", "--groups", "g == 1"]


@pytest.fixture
def world(folder: Path) -> pd.DataFrame:
    y, said, _, groups = fan(1500)
    frame = pd.DataFrame({"y": y, "q10": said[:, 0], "q50": said[:, 1], "q90": said[:, 2], "wide": groups[:, 0].astype(int)})
    frame.to_csv(folder / "fan.csv", index=False)
    return frame


def test_audit_counts_crossings(terminal: Terminal, world: pd.DataFrame) -> None:
    found = terminal.json("audit", "fan.csv", *FAN)
    expected = mv.audit("y", ["q10", "q50", "q90"], groups=["wide"], data=world, property="quantiles:0.1,0.5,0.9")
    assert found["verdict"] == expected.verdict
    assert any("rows the quantiles cross" in note for note in found["notes"])
    assert "quantile 0.9" in terminal("audit", "fan.csv", *FAN)
    assert "has 3 columns" in terminal("audit", "fan.csv", *FAN[:3], "q10,q50", *FAN[4:], code=2)


def test_fit_apply_and_report(terminal: Terminal, world: pd.DataFrame, folder: Path) -> None:
    told = terminal("fit", "fan.csv", *FAN, "--holdout", "0.3", "--model", "m.json", "--report", "fit.html")
    assert "quantile 0.1" in told
    assert "Worst group error" in told
    names = ["calibrated_quantile_0.1", "calibrated_quantile_0.5", "calibrated_quantile_0.9"]
    terminal("apply", "fan.csv", "--model", "m.json", "--prediction", "q10,q50,q90", "--output", "out.csv")
    out = pd.read_csv(folder / "out.csv")[names].to_numpy()
    assert (np.diff(out, axis=1) >= 0).all()
    columns = ["q10", "q50", "q90"]
    np.testing.assert_allclose(out, mv.load(folder / "m.json").predict(columns, data=world), rtol=1e-9, atol=1e-9)
    terminal("apply", "fan.csv", "--model", "m.json", "--prediction", "q10,q50,q90", "--output", "o.csv", "--column", "a, b, c")
    assert {"a", "b", "c"} <= set(pd.read_csv(folder / "o.csv").columns)
    terminal("report", "fan.csv", *FAN, "--output", "page.html", "--model", "m.json")
    assert len(json.loads((folder / "page.report.json").read_text())["coordinates"]) == 3


def test_classes_named_by_text(terminal: Terminal, folder: Path) -> None:
    names, said, _, groups, _ = kinds(1500)
    frame = pd.DataFrame({"kind": names, **{f"p{k}": said[:, k] for k in range(4)}, "g": groups[:, 2].astype(int)})
    frame.to_csv(folder / "kinds.csv", index=False)
    found = terminal.json("fit", "kinds.csv", *CLASSES, "--holdout", "0.3", "--model", "k.json")
    loss = found["certificate"]["holdout_loss"]
    assert loss[1] < loss[0]
    assert mv.load(folder / "k.json").property == mv.Classes(KINDS)
