"""How a command ends: one line that says what is wrong, and an exit code that a pipeline can act on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from multivalid.errors import MultivalidError, PredicateError

FINE, FINDING, USAGE, BAD_DATA = 0, 1, 2, 3
CODES = """Exit codes: 0 fine; 1 a finding above --fail-above; 2 the command cannot be understood or its output cannot be written;
3 the data or the model file cannot be used."""


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
    """Run a command; whatever goes wrong on purpose becomes one line on standard error and the right code."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
        except Stop as stop:
            fail(str(stop), stop.code)
        except PredicateError as error:
            fail(one_line(error), USAGE)
        except MultivalidError as error:
            fail(one_line(error), BAD_DATA)
        except KeyboardInterrupt:
            fail("interrupted.", 130)
        except MemoryError:
            fail("not enough memory; use fewer groups or levels, or a smaller --memory so that more goes to disk.", BAD_DATA)
        except Exception as error:
            if type(error).__module__.startswith(("duckdb", "_duckdb")):
                fail(one_line(str(error).partition("\n\n")[0])[:400], BAD_DATA)
            raise

    return run


def fail(message: str, code: int) -> NoReturn:
    """Say it and stop."""
    sys.stderr.write(f"multivalid: {one_line(message)}\n")
    raise SystemExit(code)
