"""docs/cli.md is what --help says."""

from __future__ import annotations

from pathlib import Path

from multivalid.cli.reference import reference


def test_the_reference_is_current() -> None:
    path = Path(__file__).parents[2] / "docs" / "cli.md"
    assert path.read_text(encoding="utf-8") == reference(), "run: python -m multivalid.cli.reference > docs/cli.md"
