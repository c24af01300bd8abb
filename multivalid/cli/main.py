"""Entry point: finds out whether the optional packages are there before anything else."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Run the command line, or say in one line how to install it."""
    missing = [name for name in ("typer", "rich", "duckdb") if importlib.util.find_spec(name) is None]
    if missing:
        sys.stderr.write(f"multivalid: the command line needs {', '.join(missing)}: pip install 'multivalid[cli]'\n")
        raise SystemExit(2)
    from multivalid.cli.app import app

    app()


if __name__ == "__main__":
    main()
