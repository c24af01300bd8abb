"""Large shared data that not every machine has: tests that need it are skipped, with the reason, where it is absent."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest


def folder() -> Path:
    """The folder with `bench/workloads.py`: MULTIVALID_SHARED, or `shared` beside the repository."""
    return Path(os.environ.get("MULTIVALID_SHARED") or Path(__file__).resolve().parents[2] / "shared")


def workloads() -> ModuleType:
    """The module of shared workloads; skips the calling test where there is none."""
    path = folder() / "bench" / "workloads.py"
    if not path.exists():
        pytest.skip(f"needs {path}; set MULTIVALID_SHARED to the folder that holds bench/ and data/")
    spec = importlib.util.spec_from_file_location("shared_workloads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
