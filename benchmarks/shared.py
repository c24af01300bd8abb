"""Where the shared workloads and data sets live: $MULTIVALID_SHARED, or `shared` beside the repository."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

HOME = Path(os.environ.get("MULTIVALID_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def data(name: str) -> Path | None:
    """The path of a data set; None, and a word about it, where it is absent."""
    path = HOME / "data" / name
    if path.exists():
        return path
    print(f"{name} is not in {HOME / 'data'}: left out (set MULTIVALID_SHARED to the folder that holds bench and data).")
    return None


def workloads() -> Any:
    """The module that makes the workloads and measures them."""
    path = HOME / "bench" / "workloads.py"
    if not path.exists():
        raise SystemExit(f"{path} is absent: set MULTIVALID_SHARED to the folder that holds bench and data.")
    spec = importlib.util.spec_from_file_location("shared_workloads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
