"""Formulas of the docs as MathML, made while the site is built: a page loads nothing for them when it is read."""

from __future__ import annotations

import contextlib
import html
import itertools
import re
import unicodedata
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

# Browsers know one alphabet per font, not MathML's names of alphabets: these letters stand in Unicode by themselves.
ALPHABETS = {"script": "SCRIPT", "double-struck": "DOUBLE-STRUCK"}
LETTER = re.compile(r'<mi mathvariant="(script|double-struck)">([A-Z])</mi>')
BAR = "<mo>&#x0007C;</mo>"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', flags=re.DOTALL)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with each page."""

    def typeset(found: re.Match[str]) -> str:
        made: str = convert(html.unescape(found[2]).strip(), display="block" if found[1] == "div" else "inline")
        if "\\" in html.unescape(re.sub(r"<[^>]*>", "", made)):  # a command it does not know stays as it was written
            raise PluginError(f"{page.file.src_uri}: not understood in the formula {found[2]!r}")
        made = fenced(LETTER.sub(lettered, made))
        if found[1] == "span":
            return made
        # Wider than a telephone it scrolls, so the keyboard must reach it.
        return f'<div class="formula" tabindex="0" role="group" aria-label="formula">{made}</div>'

    return FORMULA.sub(typeset, content)


def lettered(found: re.Match[str]) -> str:
    """A letter of another alphabet as the sign that Unicode has for it."""
    for name in (f"MATHEMATICAL {ALPHABETS[found[1]]} CAPITAL {found[2]}", f"{ALPHABETS[found[1]]} CAPITAL {found[2]}"):
        with contextlib.suppress(KeyError):
            return f'<mi mathvariant="normal">{unicodedata.lookup(name)}</mi>'
    return found[0]


def fenced(made: str) -> str:
    """Bars in pairs stand close around what they enclose; a browser takes a bare bar for a relation."""
    forms = itertools.cycle(("prefix", "postfix"))
    return re.sub(BAR, lambda _: f'<mo form="{next(forms)}" stretchy="false" lspace="0" rspace="0">|</mo>', made)
