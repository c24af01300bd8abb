"""Open pages in Chromium as on a phone, a desk and paper: `python packaging/look_at_pages.py FOLDER PAGE_OR_FOLDER …`.

Prints what is wrong (a word in the console, a request to the network, a page or a block of code that scrolls sideways, a formula left as
text, what axe-core finds serious) and puts a picture of each view into FOLDER, for somebody to look at. Ends with 1 if something is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.report.browser import AXE, VIEWS, Browser, missing

# What the site's own scripts would fetch is not fetched from disk; everything else with an address counts.
REQUESTS = "return performance.getEntriesByType('resource').map(e => e.name).filter(n => n.startsWith('http'))"
WIDE = "return document.documentElement.scrollWidth > window.innerWidth"
# Code that does not fit: the reader would have to scroll, and paper would cut it.
CODE = """
return Array.from(document.querySelectorAll('pre, pre > code')).filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.textContent.trim().slice(0, 60));
"""
FORMULAS = r"""
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
while (walker.nextNode()) {
  const node = walker.currentNode;
  const shown = !node.parentElement.closest('pre, code, script, annotation');
  if (shown && /\\(frac|sum|sqrt|le\b|ge\b|Gamma|gamma|lambda)|\$[^$]+\$/.test(node.data))
    found.push(node.data.trim().slice(0, 60));
}
return found;
"""


def wrong(browser: Browser, page: Path, view: str, picture: Path) -> list[str]:
    """What is wrong with a page in one view; a picture of it."""
    browser.open(page, **VIEWS[view])
    found = [f"console: {line}" for line in browser.console()]
    found += [f"request: {name}" for name in browser.run(REQUESTS)]
    found += ["the page scrolls sideways"] if browser.run(WIDE) else []
    found += [f"code scrolls sideways: {text!r}" for text in browser.run(CODE)]
    found += [f"formula as text: {text!r}" for text in browser.run(FORMULAS)]
    found += [f"axe: {rule} ({how}) {where}" for rule, how, where in browser.serious()]
    browser.screenshot(picture)
    return found


def pages_of(place: Path) -> list[Path]:
    """The pages of a folder; 404.html is for servers, and names its parts from the root of one."""
    return sorted(page for page in place.rglob("*.html") if page.name != "404.html") if place.is_dir() else [place]


def main(folder: Path, places: list[Path]) -> int:
    """Print a line per page and view."""
    if (why := missing()) is not None:
        sys.exit(why)
    if not AXE.exists():
        sys.exit("axe-core is not there; `make browser` fetches it")
    folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    with Browser() as browser:
        for place in places:
            for page in pages_of(place):
                for view in VIEWS:
                    name = page.relative_to(place).as_posix() if place.is_dir() else page.name
                    picture = folder / f"{name.removesuffix('.html').replace('/', '-')}-{view.replace(', ', '-')}.png"
                    found = wrong(browser, page, view, picture)
                    bad += bool(found)
                    print(f"{name}, {view}: {'; '.join(found) or 'well'}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(one) for one in sys.argv[2:]]))
