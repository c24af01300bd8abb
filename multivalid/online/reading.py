"""Reading a learner's state: the alarm, a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from multivalid.online.classic.engine import ClassicEngine
from multivalid.online.classic.reading import Alarm

if TYPE_CHECKING:
    from multivalid.online.learner import OnlineMulticalibrator


def alarm_of(engine: Any) -> Alarm:
    """The alarm of a learner."""
    if isinstance(engine, ClassicEngine):
        return engine.alarm
    return Alarm(False, float("nan"), None, False, "nothing to watch: the sharp algorithm assumes nothing of the labels.")


def summary_of(learner: OnlineMulticalibrator) -> str:
    """A few lines for a terminal."""
    engine, table = learner._engine, learner.table()
    worst = int(table["error"].argmax())
    lines = [
        f"online multicalibration of {learner.property!r}, {engine.headline()}",
        f"  error  {learner.error():.3g}  (worst group: {table['name'][worst]}, {table['rows'][worst]:,} rows)",
        f"  bound  {learner.bound():.3g}",
    ]
    if learner.outstanding:
        lines.append(f"  {len(learner.outstanding):,} outcomes still to come")
    return "\n".join([*lines, *(f"  {note}" for note in engine.notes())])
