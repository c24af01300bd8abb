"""Groups by the calendar in SQL: the rows that they have everywhere else, in any zone of the session."""

from __future__ import annotations

from typing import Any

import pytest

import multivalid as mv

from ..inputs.test_dates import world


def test_parts_of_dates_and_times(database: Any) -> None:
    frame = world(300).with_row_index("row")
    groups = [mv.bins("t", "hour"), mv.bins("t", "weekday"), mv.bins("d", "month"), mv.cross(mv.bins("t", "year"), "hour(t) >= 12")]
    fitted = mv.multicalibrate("y", "p", groups=groups, data=frame, mode="theorem", m=20)
    texts = {name: [None if when is None else str(when) for when in frame[name].to_list()] for name in ("t", "d")}
    columns = {"row": frame["row"].to_list(), "p": frame["p"].to_list(), **texts}
    database.load("given", columns, {"row": "int", "p": "float", "t": "time", "d": "date"})
    made = database.query(f"SELECT calibrated FROM ({fitted.to_sql('given', 'p', dialect=database.dialect)}) AS made ORDER BY row")
    assert [float(line[0]) for line in made] == pytest.approx(fitted.predict("p", data=frame), abs=1e-9)


def test_instants_are_read_in_utc(postgres: Any) -> None:
    frame = world(300).with_row_index("row")
    fitted = mv.multicalibrate(
        "y", "p", groups=[mv.bins("z", "hour"), mv.bins("z", "month"), "z >= '2024-06-01'"], data=frame, mode="theorem", m=20
    )
    texts = [None if when is None else when.isoformat() for when in frame["z"].to_list()]
    columns = {"row": frame["row"].to_list(), "p": frame["p"].to_list(), "z": texts}
    postgres.load("given", columns, {"row": "int", "p": "float", "z": "instant"})
    statement = fitted.to_sql("given", "p", dialect="postgres")
    made = postgres.query(f"SET TimeZone = 'Asia/Tokyo';\nSELECT calibrated FROM ({statement}) AS made ORDER BY row")
    assert [float(line[0]) for line in made] == pytest.approx(fitted.predict("p", data=frame), abs=1e-9)
