"""Finds functions of the compiled library. Whoever calls one has a NumPy twin for the case that there is none."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from multivalid.kernels import build

SWITCH = "MULTIVALID_KERNELS"  # set to "numpy", nothing compiled is used


def available() -> bool:
    """Whether compiled loops are used: the library was built from the C files beside it and nobody asked for NumPy.

    Examples
    --------
    >>> with numpy_only():
    ...     available()
    False
    """
    return _allowed and os.environ.get(SWITCH, "") != "numpy" and _library() is not None


def function(name: str, arguments: Sequence[Any], result: Any = None) -> Any:
    """The function `name` of the library with its C types declared, or None where the NumPy twin is to be used.

    Examples
    --------
    >>> with numpy_only():
    ...     function("multivalid_replay", []) is None
    True
    """
    library = _library() if available() else None
    return None if library is None else _declared(library, name, tuple(arguments), result)


@contextlib.contextmanager
def numpy_only() -> Iterator[None]:
    """Inside, every loop runs as its NumPy twin; for tests and benchmarks."""
    global _allowed
    before, _allowed = _allowed, False
    try:
        yield
    finally:
        _allowed = before


_allowed = True


@cache
def _declared(library: ctypes.CDLL, name: str, arguments: tuple[Any, ...], result: Any) -> Any:
    # A pointer of its own: two callers that declare one name differently must not share it.
    return ctypes.CFUNCTYPE(result, *arguments)((name, library))


@cache
def _library() -> ctypes.CDLL | None:
    """The library, or None where there is none, or it is of another machine or of older sources."""
    try:
        library = ctypes.CDLL(str(build.LIBRARY))
        library.multivalid_fingerprint.restype = ctypes.c_char_p
        return library if library.multivalid_fingerprint().decode() == build.fingerprint() else None
    except (OSError, AttributeError):
        return None
