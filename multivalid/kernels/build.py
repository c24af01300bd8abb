"""Compiles every C file of this folder into one library. Called by `hatch_build.py`; needs nothing but the standard library."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "kernels.so"
# No -ffast-math and no fused multiply-add: every machine gives the answers of the NumPy twins. Nobody reads errno.
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC")


def fingerprint() -> str:
    """Changes with any change of the C files."""
    digest = hashlib.sha256()
    for source in sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")]):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def build(library: Path = LIBRARY) -> str | None:
    """Make the library; the reason when it cannot be made, in which case one that is there already stays."""
    partial = library.with_suffix(f".{os.getpid()}.partial")
    sources = [str(source) for source in sorted(FOLDER.glob("*.c"))]
    made_of = f'-DMULTIVALID_FINGERPRINT="{fingerprint()}"'
    try:
        command = [os.environ.get("CC", "cc"), *FLAGS, made_of, "-o", str(partial), *sources, "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        partial.replace(library)
    except subprocess.CalledProcessError as error:
        return f"{error}\n{error.stderr}"
    except OSError as error:
        return str(error)
    finally:
        partial.unlink(missing_ok=True)
    return None
