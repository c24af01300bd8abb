"""Escapes in a string, read as Python reads them."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^{}]*\}|[0-7]{1,3}|.)", re.DOTALL)
_SINGLE = {"\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unescape(text: str) -> str:
    """What stands between the quotes, with its escapes replaced; `ValueError` for one that Python does not know.

    Examples
    --------
    >>> unescape(r"it\\'s \\u00e9")
    "it's é"
    """
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    escape = match.group()[1:]
    if escape in _SINGLE:
        return _SINGLE[escape]
    if escape[0] in "01234567":
        number = int(escape, 8)
    elif escape[0] in "xuU" and len(escape) > 1:
        number = int(escape[1:], 16)
    elif escape[0] == "N" and len(escape) > 1:
        try:
            return unicodedata.lookup(escape[2:-1])
        except KeyError:
            raise ValueError(f"there is no character called {escape[2:-1]}") from None
    else:
        raise ValueError(f"\\{escape} is no escape")
    if number > (0xFF if escape[0] in "01234567" else 0x10FFFF):
        raise ValueError(f"\\{escape} is no character")
    return chr(number)
