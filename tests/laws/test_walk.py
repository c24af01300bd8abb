"""How far a call walks through the house: functions of ours that it touches, and steps from folder to folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import multivalid as mv

HOME = Path(mv.__file__).parent


def walk(call: Callable[[], Any]) -> tuple[set[str], set[tuple[str, str]]]:
    """Functions touched, and pairs of folders where one calls into the other."""
    touched: set[str] = set()
    crossings: set[tuple[str, str]] = set()

    def folder(frame: FrameType | None) -> str | None:
        if frame is None or not frame.f_code.co_filename.startswith(str(HOME)):
            return None
        parts = Path(frame.f_code.co_filename).relative_to(HOME).parts
        return parts[0] if len(parts) > 1 else "."

    def notice(frame: FrameType, event: str, _: Any) -> None:
        here = folder(frame)
        if event != "call" or here is None or frame.f_code.co_name.startswith("<"):
            return
        touched.add(f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}")
        before = folder(frame.f_back)
        if before not in (None, here):
            crossings.add((before, here))

    sys.setprofile(notice)
    try:
        call()
    finally:
        sys.setprofile(None)
    return touched, crossings


def counted(call: Callable[[], Any]) -> tuple[set[str], set[tuple[str, str]]]:
    """The walk of a second call: what is imported late is not counted."""
    call()
    return walk(call)


def test_an_audit_of_a_frame() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"y": rng.random(200) < 0.4, "p": rng.random(200), "site": rng.choice(["a", "b"], 200)})
    touched, crossings = counted(lambda: mv.audit("y", "p", data=data, groups=["site"]))
    assert 40 < len(touched) <= AUDIT.functions, sorted(touched)
    assert 5 < len(crossings) <= AUDIT.crossings, sorted(crossings)


def test_a_practical_fit() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"p": rng.random(2000), "site": rng.choice(["a", "b"], 2000)})
    data["y"] = (rng.random(2000) < np.clip(data["p"] + np.where(data["site"] == "a", 0.2, -0.1), 0, 1)).astype(float)
    touched, crossings = counted(lambda: mv.multicalibrate("y", "p", data=data, groups=["site"]))
    assert 100 < len(touched) <= FIT.functions, sorted(touched)
    assert 10 < len(crossings) <= FIT.crossings, sorted(crossings)


class Most(NamedTuple):
    """How far a call may walk."""

    functions: int
    crossings: int


# Where the walks stand. Raise these only for a reason that is worth a longer way for everybody who reads.
AUDIT = Most(functions=110, crossings=11)
FIT = Most(functions=170, crossings=18)
