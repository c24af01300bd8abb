"""Ctrl-C, SIGTERM, SIGHUP: a command that is stopped leaves nothing behind, wherever it was, inside a query of the engine too."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

# Ctrl-C, the end of a job, the end of a terminal (which Windows does not have).
STOPPING = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__)


class Watch:
    """Which signal has come, which queries run, which folders are there, and whether the command may still be stopped."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.connections: list[Any] = []
        self._folders: list[tempfile.TemporaryDirectory[str]] = []
        self._deferred = 0
        self._told = False
        self._finished = False

    @property
    def stopped(self) -> bool:
        """Whether a signal came in time."""
        return self.received is not None

    def check(self) -> None:
        """Stop here if a signal has come, whoever may have swallowed it since."""
        if self.stopped:
            raise KeyboardInterrupt

    def tell(self) -> int:
        """Say once that the command was stopped, whoever answers the signal first, and give the code to end with."""
        if not self._told:
            self._told = True
            sys.stderr.write("multivalid: interrupted; nothing was written.\n")
        return 128 + (self.received or signal.SIGINT)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Steps that are done as a whole (making or removing a folder): a signal waits until they are over."""
        self._deferred += 1
        try:
            yield
        finally:
            self._deferred -= 1

    def folder(self, prefix: str, beside: Path | None = None) -> tempfile.TemporaryDirectory[str]:
        """A new folder that is gone when the program ends, however it ends."""
        with self.deferred():
            made = tempfile.TemporaryDirectory(prefix=prefix, dir=beside)
            self._folders.append(made)
        self.check()
        return made

    def remove(self, folder: tempfile.TemporaryDirectory[str]) -> None:
        """Remove a folder and what is in it."""
        with self.deferred():
            folder.cleanup()
            self._folders.remove(folder)

    def clear(self) -> None:
        """Remove the folders that are still there: a second signal may have come while they were being removed."""
        for folder in self._folders:
            with suppress(OSError):
                folder.cleanup()

    def finish(self) -> None:
        """The results are in place: there is nothing left to stop, by a signal to come or one that came while they were put there."""
        self._finished = True
        self.received = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Python runs this in the main thread, between two instructions."""
        if self._finished:
            return
        self.received = number
        if not self._deferred:
            raise KeyboardInterrupt

    def interrupt_queries(self) -> None:
        """Make running queries end."""
        for connection in list(self.connections):
            connection.interrupt()


current = Watch()
_watching = False


@contextmanager
def watching(to_the_end: bool = False) -> Iterator[Watch]:
    """Handle signals while a command runs; outside the main thread there is nothing to handle.

    A program that watches `to_the_end` hears no signal afterwards: how it ends is settled, and Python takes a while to go.
    """
    global current, _watching
    if _watching:  # a command inside the program that already does
        current.check()
        yield current
        return
    current = Watch()
    if threading.current_thread() is not threading.main_thread():
        yield current
        return
    # Who starts a job with a signal ignored, as a shell does behind an ampersand, means it to be.
    before = {number: was for number in STOPPING if (was := signal.getsignal(number)) is not signal.SIG_IGN}
    with _woken(current):
        for number in before:
            signal.signal(number, current.handle)
        _watching = True
        try:
            yield current
        finally:
            _watching = False
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if to_the_end else handler)


@contextmanager
def _woken(watch: Watch) -> Iterator[None]:
    """A second thread that hears of signals at once: while the engine computes, the main thread does not come round to it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def listen() -> None:
        with suppress(OSError):
            while number := os.read(reading, 1):
                if number[0] in STOPPING:
                    watch.interrupt_queries()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)  # ends the listener: it reads the end of the pipe
        listener.join()
        os.close(reading)
