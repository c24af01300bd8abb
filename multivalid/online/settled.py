"""What an interrupt may cut short: memory that is only trusted once a call has ended, and read from its file again otherwise.

An exception can come between any two steps (Ctrl-C, a signal, no memory). So a call first says that memory is unsettled, then writes to
the file, then changes memory, and last says that it is settled. If it does not come that far, the file decides: what was committed
happened, anything else did not, and memory is read from it, at once and, should even that be interrupted, before the next use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from multivalid.errors import MultivalidError


class Settled:
    """Mixed into a class whose state lives in a file."""

    _settled = False
    _committed = False  # whether the call under way has committed something

    def _reload(self) -> None:
        """Read memory from the file; the last step of a class that mixes this in is `self._settled = True`."""
        raise NotImplementedError

    def _roll_back(self) -> None:
        """Undo what was begun in the file and not committed."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Before any use: if an earlier call was cut short, read the file again."""
        if not self._settled:
            self._roll_back()
            self._reload()

    def _safely(self, change: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call something that changes file and memory."""
        self._settle()
        try:
            self._settled = self._committed = False
            result = change(*arguments, **options)
            self._settled = True
            return result
        except BaseException as error:
            self._after(error)
            raise

    def _after(self, error: BaseException) -> None:
        self._roll_back()
        if isinstance(error, MultivalidError) and not self._committed:
            self._settled = True  # the library's own errors come before anything has changed
        else:
            self._reload()


def in_one_piece(*names: str) -> Callable[[type[Any]], type[Any]]:
    """A class decorator: the methods named either happen, in file and memory, or do not."""

    def wrap(kind: type[Any]) -> type[Any]:
        for name in names:
            setattr(kind, name, _change(getattr(kind, name)))
        return kind

    return wrap


def settled_first(*names: str) -> Callable[[type[Any]], type[Any]]:
    """A class decorator: the methods and properties named are only answered from settled memory."""

    def wrap(kind: type[Any]) -> type[Any]:
        for name in names:
            setattr(kind, name, _read(getattr(kind, name)))
        return kind

    return wrap


def _change(member: Any) -> Any:
    @functools.wraps(member)
    def change(self: Any, *arguments: Any, **options: Any) -> Any:
        return self._safely(member, self, *arguments, **options)

    return change


def _read(member: Any) -> Any:
    if isinstance(member, property):
        get = member.fget
        assert get is not None
        return property(_read(get), doc=member.__doc__)

    @functools.wraps(member)
    def read(self: Any, *arguments: Any, **options: Any) -> Any:
        self._settle()
        return member(self, *arguments, **options)

    return read
