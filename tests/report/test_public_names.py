"""Every public name says what it is and shows an example that the doctests run."""

from __future__ import annotations

import inspect

import pytest

import multivalid as mv


@pytest.mark.parametrize("name", mv.__all__)
def test_documented_with_an_example(name: str) -> None:
    thing = getattr(mv, name)
    text = inspect.getdoc(thing) or ""
    assert len(text.splitlines()[0]) > 10
    own = [member for member in vars(thing).values() if callable(member)] if inspect.isclass(thing) else []
    assert any(">>>" in (inspect.getdoc(one) or "") for one in (thing, *own)), f"{name} has no example"
