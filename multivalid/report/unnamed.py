"""Groups that nobody named: those that a fit found, and who got worse without having been named."""

from __future__ import annotations

from typing import Any

from multivalid.cells.sentences import UNNAMED
from multivalid.report.sources import Certified, Story


def about_unnamed(found: Certified | None) -> list[str]:
    """What the certificate says of groups that nobody named, without the words that all these lines start with."""
    lines = [] if found is None else found.note.splitlines()
    texts = [line.removeprefix(UNNAMED).lstrip(": ") for line in lines if line.startswith(UNNAMED)]
    return [line[0].upper() + line[1:] for line in texts if line]


def unnamed(story: Story) -> dict[str, Any] | None:
    """The section's content: sentences, and the names of the groups that were found; None where there is nothing to say."""
    said = about_unnamed(story.certificate)
    return {"said": said, "groups": list(story.found)} if said or story.found else None
