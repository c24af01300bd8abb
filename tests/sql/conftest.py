"""Databases for the tests of SQL; PostgreSQL's are skipped, with the reason, where there is no server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .databases import Duck, Lite, Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    try:
        server = Postgres()
    except (FileNotFoundError, KeyError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    yield server
    server.stop()


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def database(request: pytest.FixtureRequest) -> Any:
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return Duck() if request.param == "duckdb" else Lite()
