"""Learners of the earlier algorithms: B unless a test says otherwise."""

from __future__ import annotations

from typing import Any

from multivalid.online import OnlineMulticalibrator


def classic(property: Any, groups: Any, *, algorithm: str = "B", **options: Any) -> OnlineMulticalibrator:
    return OnlineMulticalibrator(property, groups, algorithm=algorithm, **options)
