"""Laws of what is written: text is understood, and groups are counted, alike by everything that reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from tests.laws.conftest import Enter

# The same property or pair under two names.
SAME = {1: ("quantile_mix:0.9:1", "quantile:0.9"), 2: ("quantile_cvar:0.90", "quantile_cvar:0.9")}


def rows(n: int = 300, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    site = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    y = np.round(rng.gamma(2.0, 1.0, n) + (site == "b"), 1)
    return pd.DataFrame({"y": y, "p": np.round(3 + 0.5 * rng.random(n), 2), "q": 5 + 0.5 * rng.random(n), "site": site})


def columns(coordinates: int) -> str | list[str]:
    return "p" if coordinates == 1 else ["p", "q"]


def test_text_means_the_same_wherever_rows_live(place: Enter, coordinates: int) -> None:
    data, (name, plain) = rows(), SAME[coordinates]
    audits = [mv.audit("y", columns(coordinates), data=place(data), groups=["site"], property=text) for text in (name, plain)]
    assert audits[0].property == audits[1].property
    np.testing.assert_array_equal(audits[0].errors, audits[1].errors)
    fits = [
        mv.multicalibrate("y", columns(coordinates), data=place(data), groups=["site"], property=text, mode="theorem", m=6)
        for text in (name, plain)
    ]
    assert list(fits[0].patches) == list(fits[1].patches)


def test_text_means_the_same_online_and_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from multivalid.cli.app import app

    name, plain = SAME[1]
    assert mv.OnlineMulticalibrator(name, 1).property == mv.Quantile(0.9)
    assert mv.Monitor(name, 1).property == mv.Quantile(0.9)
    assert mv.metrics.mean_score([1, 2, 5], [2, 2, 2], property=name) == mv.metrics.mean_score([1, 2, 5], [2, 2, 2], property=plain)
    rows().to_csv(tmp_path / "rows.csv", index=False)
    common = ["audit", str(tmp_path / "rows.csv"), "--label", "y", "--prediction", "p", "--group", "site", "--property"]
    said = [CliRunner().invoke(app, [*common, text]) for text in (name, plain)]
    assert said[0].output == said[1].output
    assert "groups" in said[0].output


def test_boolean_groups_count_from_one(coordinates: int) -> None:
    data = rows()
    masks = np.stack([data["site"] == "b", data["y"] > 2], axis=1)
    expected = ("everyone", "group 1", "group 2")
    said = data[["p", "q"][:coordinates]].to_numpy().reshape(len(data), -1)
    said = said[:, 0] if coordinates == 1 else said
    assert tuple(mv.audit(data["y"], said, groups=masks, property=SAME[coordinates][1]).groups.names) == expected
    made = mv.multicalibrate(data["y"], said, groups=masks, property=SAME[coordinates][1], mode="theorem", m=6)
    assert tuple(made.groups.names) == expected


@pytest.mark.parametrize("groups", [2, [[True, False], [False, True]]], ids=["a number", "arrays"])
def test_boolean_groups_count_from_one_online(groups: object) -> None:
    expected = ["everyone", "group 1", "group 2"]
    for made in (mv.OnlineMulticalibrator("mean", 2), mv.Monitor("mean", 2)):
        assert list(made.table()["name"] if "name" in made.table() else made.table()["group"])[:3] == expected
