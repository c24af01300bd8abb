"""How a result shows itself at the end of a notebook's cell: a heading and the words of its summary."""

from __future__ import annotations

from html import escape


def panel(heading: str, text: str) -> str:
    """A fragment of HTML, every character of names and numbers as it is.

    Examples
    --------
    >>> panel("Audit", "age < 30: too low")
    '<div class="multivalid"><p><strong>Audit</strong></p><pre>age &lt; 30: too low</pre></div>'
    """
    return f'<div class="multivalid"><p><strong>{escape(heading)}</strong></p><pre>{escape(text)}</pre></div>'
