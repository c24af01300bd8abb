"""A user's function of labels, or a power given as a whole number, called with its result checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid.errors import InputError, PropertyError
from multivalid.properties.base import Array, Interval
from multivalid.properties.ops import NUMPY, Ops, numpy_only

MESH = 4097


@dataclass(frozen=True)
class Function:
    """`body` applied to an array: a power when it is an int, otherwise the user's function with its answer checked."""

    body: Callable[[Array], Array] | int
    name: str

    def __call__(self, ops: Ops, label: Any) -> Any:
        if isinstance(self.body, int):
            return ops.power(label, self.body) if self.body else ops.filled(1.0, label)
        if ops is not NUMPY:
            raise numpy_only(f"{self.name}={name_of(self.body)}, a Python function,")
        return checked(self.body, self.name, label)

    def range(self, lo: float, hi: float) -> Interval:
        """Smallest and largest value on a fine mesh of [lo, hi], ends and zero included."""
        mesh = np.linspace(lo, hi, MESH)
        values = self(NUMPY, np.append(mesh, np.clip(0.0, lo, hi)))
        return Interval(float(values.min()), float(values.max()))


def checked(body: Callable[..., Any], name: str, *arguments: Array) -> Array:
    """Call a user's vectorised function; anything but finite numbers of the right shape is a `PropertyError`."""
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(body(*arguments), dtype=np.float64)
    except Exception as error:  # a user's function may raise anything; it becomes the library's error with the cause kept
        raise PropertyError(f"{name} raised {type(error).__name__}: {error}; it must accept NumPy arrays.") from error
    shape = np.broadcast_shapes(*(a.shape for a in arguments))
    if values.shape != shape:
        if values.shape != ():
            raise PropertyError(f"{name} must return one number per label: expected shape {shape}, got {values.shape}.")
        values = np.broadcast_to(values, shape)
    if not np.isfinite(values).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        where = ", ".join(f"{np.broadcast_to(a, shape)[at]:g}" for a in arguments)
        raise PropertyError(f"{name}({where}) is {values[at]}; it must be finite on the labels it is given.")
    return values


def power_or_function(body: object, name: str) -> None:
    """Refuse anything but a callable or a non-negative whole number."""
    whole = isinstance(body, int) and not isinstance(body, bool) and body >= 0
    if not (callable(body) or whole):
        raise InputError(f"{name} must be a function of the labels or a whole number (a power), got {body!r}.")


def name_of(body: object) -> str:
    """The name a function goes by in a `repr`."""
    if isinstance(body, int):
        return repr(body)
    return str(getattr(body, "__name__", None) or repr(body))
