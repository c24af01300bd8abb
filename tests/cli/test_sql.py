"""multivalid sql: the statement on standard output or in a file, and errors that say what to do."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import multivalid as mv
from multivalid.cli.app import app


@pytest.fixture
def model(tmp_path: Path) -> Path:
    data = pd.DataFrame({"site": ["a", "b"] * 200, "p": [0.5] * 400, "y": [0.0, 1.0] * 200})
    path = tmp_path / "m.json"
    mv.multicalibrate("y", "p", groups=["site"], data=data, mode="theorem", m=10).save(path)
    return path


def test_what_it_prints_predicts(model: Path) -> None:
    done = CliRunner().invoke(app, ["sql", str(model), "--table", "scores", "--prediction", "p", "--column", "better"])
    assert done.exit_code == 0
    connection = duckdb.connect()
    connection.execute("CREATE TABLE scores AS SELECT * FROM (VALUES ('a', 0.5), ('b', 0.5), (NULL, 0.5)) AS t(site, p)")
    found = connection.sql(done.stdout).df().set_index("site")["better"]
    expected = mv.load(model).predict([0.5, 0.5, 0.5], data=pd.DataFrame({"site": ["a", "b", None]}))
    np.testing.assert_allclose(found.loc[["a", "b"]], expected[:2])


def test_into_a_file(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.sql"
    assert CliRunner().invoke(app, ["sql", str(model), "-t", "s", "-p", "p", "--dialect", "sqlite", "-o", str(out)]).exit_code == 0
    assert out.read_text().startswith("SELECT")


def test_an_unknown_dialect_is_a_usage_error(model: Path) -> None:
    done = CliRunner().invoke(app, ["sql", str(model), "--table", "scores", "--prediction", "p", "--dialect", "oracle"])
    assert done.exit_code == 2
    assert "duckdb, sqlite, postgres, spark" in done.output
