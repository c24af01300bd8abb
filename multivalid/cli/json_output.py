"""What a machine reads: one line of JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import typer


def print_json(value: Any) -> None:
    """Print one line; letters beyond ASCII are escaped where the output could not hold them."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("_", "-")
    typer.echo(as_json(value, ascii_only=encoding not in ("utf-8", "utf8")))


def as_json(value: Any, ascii_only: bool = False) -> str:
    """One line of JSON.

    Examples
    --------
    >>> as_json({"error": np.float64("nan"), "rows": np.int64(3)})
    '{"error": null, "rows": 3}'
    """
    return json.dumps(plain(value), ensure_ascii=ascii_only, allow_nan=False)


def plain(value: Any) -> Any:
    """Anything the library returns as JSON values; NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
