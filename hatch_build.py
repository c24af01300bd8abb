"""Builds the compiled loops where there is a C compiler; without one the package is pure Python, and slower there.

Hatchling calls it when it makes a wheel, editable or not. After a change of a C file: `python hatch_build.py`.
"""

from __future__ import annotations

import runpy
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# By path: the package need not be importable where it is being built.
KERNELS = runpy.run_path(str(Path(__file__).parent / "multivalid" / "kernels" / "build.py"))


class CustomBuildHook(BuildHookInterface):
    """Called by hatchling before it makes a wheel, editable or not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        problem = KERNELS["build"]()
        if problem is not None:
            self.app.display_warning(f"No compiled loops ({problem}); the ones in Python do the same, slower.")
            return
        build_data["artifacts"].append(KERNELS["LIBRARY"].relative_to(self.root).as_posix())
        build_data["pure_python"] = False
        # Loaded by path rather than imported: any Python will do, on this kind of machine.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


if __name__ == "__main__":
    sys.exit(KERNELS["build"]())
