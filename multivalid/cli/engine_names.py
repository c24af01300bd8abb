"""Names and texts for the engine."""

from __future__ import annotations

from collections.abc import Sequence


def unused(name: str, taken: Sequence[str]) -> str:
    """A name that is not among those taken, whatever the case of its letters.

    Examples
    --------
    >>> unused("file", ["a"]), unused("file", ["FILE", "file_"])
    ('file', 'file__')
    """
    known = {other.lower() for other in taken}
    while name.lower() in known:
        name += "_"
    return name


def file_name(name: str) -> str:
    """A string of SQL with the name of a file, which the engine does not take for a pattern.

    Examples
    --------
    >>> file_name("x[1]*.csv")
    "'x[[]1][*].csv'"
    """
    return literal("".join(f"[{character}]" if character in "*?[" else character for character in name))


def literal(text: str) -> str:
    """A string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def column(name: str) -> str:
    """The name of a column in SQL.

    Examples
    --------
    >>> print(column('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'
