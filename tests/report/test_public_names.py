"""Every public name says what it is and shows an example that the doctests run; so does what a user calls on it to see results."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import multivalid as mv
from multivalid import estimators, online

NAMES = {name: getattr(mv, name) for name in mv.__all__}
NAMES |= {f"estimators.{name}": getattr(estimators, name) for name in estimators.__all__}
NAMES |= {f"online.{name}": getattr(online, name) for name in online.__all__ if not inspect.ismodule(getattr(online, name))}
VERBS = [
    *(f"{kind}.report" for kind in ("Audit", "PairAudit", "Calibration", "JointCalibration")),
    "Calibration.predict", "Calibration.audit", "Calibration.save", "JointCalibration.predict",
]  # fmt: skip


def has_example(thing: Any) -> bool:
    return ">>>" in (inspect.getdoc(thing) or "")


@pytest.mark.parametrize("name", NAMES)
def test_documented_with_an_example(name: str) -> None:
    thing = NAMES[name]
    assert len((inspect.getdoc(thing) or "").splitlines()[0]) > 10
    own = [member for member in vars(thing).values() if callable(member)] if inspect.isclass(thing) else []
    assert any(has_example(one) for one in (thing, *own)), f"{name} has no example"


@pytest.mark.parametrize("name", VERBS)
def test_verbs_have_examples_of_their_own(name: str) -> None:
    kind, verb = name.split(".")
    assert has_example(getattr(NAMES[kind], verb))


@pytest.mark.parametrize("name", [name for name, thing in NAMES.items() if inspect.isclass(thing)])
def test_methods_say_what_they_do(name: str) -> None:
    silent = [
        member for member, thing in vars(NAMES[name]).items()
        if not member.startswith("_") and (inspect.isfunction(thing) or isinstance(thing, property)) and not inspect.getdoc(thing)
    ]  # fmt: skip
    assert silent == []
