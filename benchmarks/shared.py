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


def module(name: str) -> Any:
    """A module of the shared folder; None, and a word about it, where it is absent."""
    path = HOME / "bench" / f"{name}.py"
    if not path.exists():
        print(f"{path} is absent: left out (set MULTIVALID_SHARED to the folder that holds bench and data).")
        return None
    spec = importlib.util.spec_from_file_location(f"shared_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def workloads() -> Any:
    """The module that makes the workloads and measures them."""
    made = module("workloads")
    if made is None:
        raise SystemExit("The shared workloads are needed here.")
    return made
