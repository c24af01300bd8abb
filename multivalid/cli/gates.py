"""What a pipeline stops at: a finding ends a command with code 1, after everything was printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from multivalid.cli.exits import FINDING


def error_above(error: float, limit: float | None) -> None:
    """End with code 1 when the error is above the limit."""
    if limit is not None and error > limit:
        found(f"the worst group's error {error:.3g} is above --fail-above {limit:g}.")


def any_off(groups: Sequence[str], asked: bool) -> None:
    """End with code 1 when groups are off, if that was asked for."""
    if asked and groups:
        found(f"{len(groups)} group{' is' if len(groups) == 1 else 's are'} off beyond chance (--fail-if-off).")


def found(message: str) -> None:
    """Say what was found, and end with code 1."""
    sys.stdout.flush()  # an output that cannot be written is not a finding
    sys.stderr.write(f"multivalid: {message}\n")
    raise SystemExit(FINDING)
