"""The reference page of the command line, made from --help: python -m multivalid.cli.reference > docs/cli.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from multivalid.cli.exits import CODES


def leaves(command: Any, path: tuple[str, ...] = ("multivalid",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from leaves(child, (*path, name))


def reference() -> str:
    """The page as Markdown."""
    from typer.main import get_command

    from multivalid.cli.app import app

    intro = (
        "# Command line\n\n`pip install '.[cli]'` in a copy of the source installs the command. Data are CSV or Parquet files, folders of "
        "them,\nor patterns in quotes; they are read through DuckDB and need not fit into memory (`--memory` limits what is kept there). "
        f"A CSV file is\nread to its last row before anything is done with it.\n\n{CODES}\n\n`multivalid --install-completion` completes "
        "commands and options in your shell."
    )
    return "\n\n".join([intro, *(_section(path, command) for path, command in leaves(get_command(app)))]) + "\n"


def _section(path: tuple[str, ...], command: Any) -> str:
    text, _, example = (command.help or "").partition("Example: ")
    lines = ["| option | meaning | default |", "|---|---|---|"]
    for parameter in command.params:
        if "--help" in parameter.opts:
            continue
        names = (
            ", ".join(f"`{name}`" for name in parameter.opts if name.startswith("-"))
            or f"`{parameter.metavar or parameter.name.upper()}`"
        )
        empty = parameter.default is None or parameter.default is False or parameter.default == ()
        default = "required" if parameter.required else "" if empty else f"`{parameter.default}`"
        lines.append(f"| {names} | {(parameter.help or '').replace('|', '/')} | {default} |")
    shown = "\n".join(lines)
    return f"## `{' '.join(path)}`\n\n{' '.join(text.split())}\n\n```sh\n{' '.join(example.split())}\n```\n\n{shown}"


if __name__ == "__main__":
    sys.stdout.write(reference())
