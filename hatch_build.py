"""Builds the compiled twin of the replay loop where there is a C compiler; without one the package is pure Python, and slower there."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("multivalid", "batch", "_replay.c")
LIBRARY = SOURCE.with_suffix(".so")


class CustomBuildHook(BuildHookInterface):
    """Called by hatchling before it makes a wheel, editable or not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if self.target_name != "wheel" or not self._compile(root / SOURCE, root / LIBRARY):
            return
        build_data["artifacts"].append(LIBRARY.as_posix())
        build_data["pure_python"] = False
        # Loaded by path rather than imported: any Python will do, on this kind of machine.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

    def _compile(self, source: Path, library: Path) -> bool:
        partial = library.with_suffix(".partial")
        command = [os.environ.get("CC", "cc"), "-O3", "-shared", "-fPIC", "-o", str(partial), str(source)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"No compiled replay loop ({error}); the one in Python does the same, slower.")
            return False
        partial.replace(library)
        return True
