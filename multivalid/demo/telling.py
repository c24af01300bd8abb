"""Lines of the story: a heading, a text, numbers before and after."""

from __future__ import annotations

from multivalid.report.sentences import change_text, number

WIDTH = 110


def say(heading: str, text: str) -> None:
    """A paragraph of the story, wrapped."""
    from textwrap import wrap

    for i, line in enumerate(wrap(text, WIDTH) or [""]):
        print(f"{'' if i else heading:<18} {line}", flush=True)


def line(text: str) -> None:
    """One line as it is, indented below the paragraph."""
    print(f"{'':<20} {text}", flush=True)


def table(*rows: tuple[str, float, float]) -> None:
    """Before and after, aligned."""
    for label, first, last in rows:
        change = f"  ({change_text(first, last)})" if first else ""
        line(f"{label:<46} {number(first):>9} → {number(last):<9}{change}")
