"""The page of corrections shows no number that it does not compute: `test_docs` runs its blocks and compares what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "errata.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\d+\. .*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))


def test_all_sections_were_found() -> None:
    assert [int(title.split(".")[0]) for title in SECTIONS] == list(range(1, 15))


@pytest.mark.parametrize("title", [title for title, text in SECTIONS.items() if "*Number" in text])
def test_a_number_is_computed_where_it_is_told(title: str) -> None:
    assert re.search(r"^```python\n.*?^```\n```text\n.+?^```", SECTIONS[title], flags=re.DOTALL | re.MULTILINE), (
        f"{title} quotes only"
    )


@pytest.mark.parametrize(
    ("section", "told"),
    [("5", "0.0107"), ("8", "0.20"), ("9", "8.95"), ("9", "0.952"), ("10", "0.4225"), ("10", "0.201")],
)
def test_numbers_in_the_prose_are_those_printed(section: str, told: str) -> None:
    text = next(text for title, text in SECTIONS.items() if title.startswith(f"{section}."))
    printed = "\n".join(re.findall(r"^```text\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert told in prose
    assert told in printed
