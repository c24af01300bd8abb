"""What a model file may hold: each check returns the value that was read, or raises `ModelFileError` with its place and itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import ModelFileError
from multivalid.storage import is_number

T = TypeVar("T")
Array = NDArray[np.float64]
LARGEST_COUNT = 2**63 - 1


def number(value: Any, name: str) -> float:
    """A finite number; a whole number with more digits than a float can hold is refused too."""
    if not is_number(value):
        raise ModelFileError(f"{name} must be a finite number, got {shown(value)}.")
    return float(value)


def number_or_nan(value: Any, name: str) -> float:
    """A finite number, or null where there is no such number."""
    return float("nan") if value is None else number(value, name)


def whole(value: Any, name: str, largest: int = LARGEST_COUNT) -> int:
    """A whole number from 0 to `largest`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        limit = "" if largest == LARGEST_COUNT else f" from 0 to {largest}"
        raise ModelFileError(f"{name} must be a whole number{limit}, got {shown(value)}.")
    return value


def text(value: Any, name: str) -> str:
    """A piece of text."""
    if not isinstance(value, str):
        raise ModelFileError(f"{name} must be text, got {shown(value)}.")
    return value


def flag(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ModelFileError(f"{name} must be true or false, got {shown(value)}.")
    return value


def items(value: Any, name: str, size: int | None = None) -> list[Any]:
    """A list, of `size` items if that is given."""
    if not isinstance(value, list) or (size is not None and len(value) != size):
        raise ModelFileError(f"{name} must be a list{'' if size is None else f' of {size}'}, got {shown(value)}.")
    return value


def numbers(value: Any, name: str) -> Array:
    """A list of finite numbers as an array."""
    return np.array([number(item, name) for item in items(value, name)], dtype=np.float64)


def increasing(value: Any, name: str) -> Array:
    """A list of numbers, each above the one before."""
    found = numbers(value, name)
    if (np.diff(found) <= 0).any():
        raise ModelFileError(f"{name} must be increasing numbers, got {shown(value)}.")
    return found


def record(value: Any, name: str, known: Collection[str]) -> dict[str, Any]:
    """An object with exactly these fields."""
    if not isinstance(value, dict):
        raise ModelFileError(f"{name} must be an object, got {shown(value)}.")
    if set(value) != set(known):
        raise ModelFileError(f"{name}: fields {sorted(set(known) ^ set(value))} are missing or unknown.")
    return value


def optional(read: Callable[[Any, str], T]) -> Callable[[Any, str], T | None]:
    """The same check, with null for what is not there."""
    return lambda value, name: None if value is None else read(value, name)


def two(read: Callable[[Any, str], T]) -> Callable[[Any, str], tuple[T, T]]:
    """The same check for either coordinate of a pair."""

    def both(value: Any, name: str) -> tuple[T, T]:
        first, second = items(value, name, 2)
        return read(first, name), read(second, name)

    return both


def plain(value: Any) -> Any:
    """Numbers, arrays and tuples as JSON has them; NaN and infinities become null."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def shown(value: Any) -> str:
    """The beginning of a value, for a message."""
    kept = str(value) if not isinstance(value, int) or value.bit_length() < 1000 else "a number of hundreds of digits"
    return repr(kept[:40]) if isinstance(value, str) else kept[:80]
