"""The page on the practical mode: its code runs and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "practical.md"


def test_the_examples_print_what_the_page_says() -> None:
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert sum(kind == "python" for kind, _ in blocks) >= 3
    names: dict[str, Any] = {}
    printed = ""
    for kind, text in blocks:
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(PAGE), "exec"), names)  # noqa: S102 - our own page
            printed = out.getvalue()
        elif kind == "text":
            assert printed == text
