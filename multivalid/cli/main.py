"""Entry point: finds out whether the optional packages are there before anything else."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from typing import NoReturn

from multivalid.cli import signals


def main() -> None:
    """Run the command line, or say in one line how to install it."""
    try:
        # From the start: Python drops an interrupt that falls into some steps of an import.
        with signals.watching(to_the_end=True):
            _run()
    except BaseException:
        watch = signals.current
        watch.clear()
        if not watch.stopped:
            raise
        _leave(watch.tell())


def _leave(code: int) -> NoReturn:
    """End with this code: Python would end by the signal itself where an import was interrupted, whoever caught that since."""
    sys.stderr.flush()
    os._exit(code)


def _run() -> None:
    missing = [name for name in ("typer", "rich", "duckdb") if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(f"multivalid: the command line needs {', '.join(missing)}: pip install 'multivalid[cli]'\n")
        raise SystemExit(2)
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is shown escaped; it is no reason to fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from multivalid.cli.app import run

    run()


if __name__ == "__main__":
    main()
