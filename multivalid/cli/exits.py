"""How a command ends: one line that says what is wrong, and an exit code that a pipeline can act on."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from multivalid.cli import signals
from multivalid.errors import MultivalidError, PredicateError

FINE, FINDING, USAGE, BAD_DATA, OUR_FAULT, BROKEN_PIPE = 0, 1, 2, 3, 4, 141
CODES = """Exit codes: 0 fine; 1 a finding (--fail-above, --fail-if-off) or an alarm of monitor, and nothing else; 2 the command cannot be
understood or its output cannot be written; 3 the data or the model file cannot be used; 4 an error in multivalid itself; 130
interrupted (Ctrl-C), 143 terminated and 129 hung up, with nothing written; 141 whoever read the output stopped reading."""


class Stop(Exception):
    """End the command with a message and a code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def usage(message: str) -> Stop:
    """What was asked cannot be done."""
    return Stop(message, USAGE)


def bad_data(message: str) -> Stop:
    """What was given cannot be used."""
    return Stop(message, BAD_DATA)


def one_line(error: BaseException | str) -> str:
    """A message without line breaks, carets or engine internals.

    Examples
    --------
    >>> one_line("predicate, column 1: calls are not part.\\n    f(x)\\n    ^\\n  Hint: compare.")
    'predicate, column 1: calls are not part. f(x) Hint: compare.'
    """
    lines = (line.strip() for line in str(error).splitlines())
    return " ".join(line for line in lines if line and line != "^")


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Run a command; whatever goes wrong becomes one line on standard error and the right code."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        with signals.watching() as watch:
            try:
                command(*args, **options)
                watch.check()
                sys.stdout.flush()
            except BaseException as error:
                if watch.stopped:  # whatever the signal has become on its way here
                    raise SystemExit(watch.tell()) from None
                end(error)

    return run


def end(error: BaseException) -> NoReturn:
    """Say what happened, and leave with its code."""
    if isinstance(error, SystemExit):
        raise error
    message, code = explained(error)
    if code == BROKEN_PIPE:
        _drop_output()
        raise SystemExit(code)
    if code == OUR_FAULT:
        traceback.print_exception(error)
    fail(message, code)


def explained(error: BaseException) -> tuple[str, int]:
    """The sentence for an error, and the exit code."""
    match error:
        case Stop():
            return str(error), error.code
        case PredicateError():
            return str(error), USAGE
        case MultivalidError():
            return str(error), BAD_DATA
        case KeyboardInterrupt():
            return "interrupted; nothing was written.", 130
        case MemoryError():
            return "not enough memory; use fewer groups or levels, or a smaller --memory so that more goes to disk.", BAD_DATA
        case BrokenPipeError():
            return "the output was not read to its end.", BROKEN_PIPE
        case OSError():
            reason = (error.strerror or str(error)).lower()
            if error.filename is not None:
                return f"cannot use {error.filename}: {reason}.", BAD_DATA
            _drop_output()
            return f"the output cannot be written: {reason}.", USAGE
    if type(error).__module__.startswith(("duckdb", "_duckdb")):
        return one_line(str(error).partition("\n\n")[0])[:400], BAD_DATA
    return f"this is an error in multivalid, please report it: {type(error).__name__}: {error}", OUR_FAULT


def fail(message: str, code: int) -> NoReturn:
    """Say it and stop."""
    sys.stderr.write(f"multivalid: {one_line(message)}\n")
    raise SystemExit(code)


def _drop_output() -> None:
    """Python writes what is left in its buffer when it ends, and would fail again: let it go nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no file, as in a notebook
        return
