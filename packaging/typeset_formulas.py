"""Formulas of the docs as MathML, made while the site is built: a page loads nothing for them when it is read."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', flags=re.DOTALL)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with each page."""

    def typeset(found: re.Match[str]) -> str:
        made: str = convert(html.unescape(found[2]).strip(), display="block" if found[1] == "div" else "inline")
        if "\\" in html.unescape(re.sub(r"<[^>]*>", "", made)):  # a command it does not know stays as it was written
            raise PluginError(f"{page.file.src_uri}: not understood in the formula {found[2]!r}")
        return made

    return FORMULA.sub(typeset, content)
