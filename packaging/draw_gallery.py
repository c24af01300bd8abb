"""Draw the pictures of docs/gallery.md: run its blocks in docs/img. `python packaging/draw_gallery.py`."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run the page's blocks in one namespace, where its pictures belong."""
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    os.chdir(ROOT / "docs" / "img")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, "gallery.md", "exec"), names)  # noqa: S102 - our own page


if __name__ == "__main__":
    main()
