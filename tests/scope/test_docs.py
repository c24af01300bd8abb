"""The examples of the scope page run as printed."""

import doctest
from pathlib import Path

import pytest

import multivalid
import multivalid.properties
import multivalid.scope

PAGE = Path(__file__).parents[2] / "docs" / "scope.md"


@pytest.fixture
def top_level(monkeypatch):
    """The public names on the package itself, as a user has them."""
    import sys

    package = sys.modules["multivalid.scope"]  # the attribute multivalid.scope may already be the function
    for module in (multivalid.properties, package):
        for name in module.__all__:
            monkeypatch.setattr(multivalid, name, getattr(module, name), raising=False)


@pytest.mark.usefixtures("top_level")
def test_page():
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 25
    assert result.failed == 0
