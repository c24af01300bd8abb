"""Every Python block of the README and of the pages in docs/ runs, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def run_session(text: str, names: dict[str, Any], page: str) -> None:
    """A block of `>>>` lines, checked as a doctest."""
    test = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
    out = io.StringIO()
    options = doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=options).run(test, out=out.write, clear_globs=False)
    names.update(test.globs)
    assert result.attempted > 0
    assert result.failed == 0, out.getvalue()


def run_page(page: Path) -> int:
    """Run the blocks of a page in one namespace; a block of plain `text` after code is what the code prints."""
    names: dict[str, Any] = {"__name__": "__page__"}
    printed, runs = "", 0
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            runs += 1
            if text.lstrip().startswith(">>>"):
                run_session(text, names, page.name)
                continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(page), "exec"), names)  # noqa: S102 - our own page
            printed = out.getvalue()
        elif kind == "console":
            run_commands(text, page.name)
        elif kind == "text":
            assert printed.strip() == text.strip(), f"{page.name} prints:\n{printed}"
    return runs


def run_commands(text: str, page: str) -> None:
    """Lines after `$` are run, and print what stands below them; `[1]` there is the code that a command ends with, unless it is 0."""
    for part in text.split("$ multivalid ")[1:]:
        line, _, below = part.partition("\n")
        out, code = io.StringIO(), 0
        with contextlib.redirect_stdout(out):
            try:
                from multivalid.cli.app import run

                run(shlex.split(line))
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 0
        told = [row.rstrip() for row in out.getvalue().splitlines()] + ([f"[{code}]"] if code else [])
        shown = [row.rstrip() for row in below.splitlines()]
        assert [row for row in told if row] == [row for row in shown if row], f"{page}: {line} prints:\n" + "\n".join(told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a page may write files
    blocks = page.read_text(encoding="utf-8").count("```python")
    assert run_page(page) == blocks


def test_pages_that_must_have_code():
    least = {
        "README": 2,
        "docs/properties": 5,
        "docs/groups": 7,
        "docs/practical": 3,
        "docs/online": 6,
        "docs/scope": 8,
        "docs/joint": 2,
    }
    for name, blocks in least.items():
        assert (ROOT / f"{name}.md").read_text(encoding="utf-8").count("```python") >= blocks


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md"]:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


NAMED_TEST = re.compile(r"`(tests/[\w/.]+)(?:::(\w+))?`|`(test_\w+)`")


@pytest.mark.parametrize(
    "page", [ROOT / "docs" / f"{name}.md" for name in ("theory", "paper_map", "errata", "online")], ids=lambda page: page.stem
)
def test_tests_that_a_page_names_are_there(page):
    """A name by itself stands in the file that was named last."""
    file, named = "", 0
    for path, test, alone in NAMED_TEST.findall(page.read_text(encoding="utf-8")):
        file, named = path or file, named + 1
        assert (ROOT / file).exists(), f"{page.name} names {file}"
        if test or alone:
            assert f"def {test or alone}(" in (ROOT / file).read_text(encoding="utf-8"), (
                f"{page.name} names {file}::{test or alone}"
            )
    assert named or page.stem in ("errata", "online")


def test_every_theorem_has_assumptions_a_reason_and_a_test():
    chapters = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").split("\n## ")
    theorems = [chapter for chapter in chapters if chapter[0].isdigit()]
    assert len(theorems) >= 8
    for chapter in theorems:
        title = chapter.partition("\n")[0]
        assert "**Assume**" in chapter, title
        assert "**Theorem.**" in chapter or "**Statements.**" in chapter, title
        assert "*Proof" in chapter or "*Why.*" in chapter, title
        assert "*Tests.*" in chapter, title
        assert "`tests/" in chapter, title


def test_every_page_is_in_the_site():
    listed = set(re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").glob("**/*.md")}


def test_every_public_name_is_in_the_reference():
    import multivalid as mv

    # `audit`, `scope` and `discover` are functions that share the name of their package, so the page has to name the function's own place.
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(
        re.findall(r"^::: multivalid\.(?:audit\.audit\.|scope\.decide\.|discover\.discovery\.)?(\w+)$", page, flags=re.MULTILINE)
    )
    assert set(mv.__all__) <= listed, f"missing: {sorted(set(mv.__all__) - listed)}"
    assert listed <= set(mv.__all__), f"not public: {sorted(listed - set(mv.__all__))}"


def test_the_comparison_is_the_one_that_was_measured():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [
        line
        for line in (ROOT / "benchmarks" / "versus" / "results.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    assert len(rows) > 10
    assert [row for row in rows if row not in readme] == [], "run make versus and make numbers"


def test_every_number_of_the_readme_has_a_command_that_is_there():
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("numbers_of_the_readme", ROOT / "benchmarks" / "readme_numbers.py")
    assert spec is not None
    assert spec.loader is not None
    numbers = module_from_spec(spec)
    spec.loader.exec_module(numbers)
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- numbers -->")[1].split("<!-- /numbers -->")[0]
    told = {line.split("|")[1].strip(): line.split("|")[3].strip(" `") for line in table.strip().splitlines()[2:]}
    known = {what: command for _, command, rows in numbers.SOURCES.values() for what, _, _ in rows}
    assert told
    assert told == {what: known.get(what) for what in told}
    for arguments, _, _ in numbers.SOURCES.values():
        assert arguments[0] == "-m" or (ROOT / arguments[0]).exists()


def test_no_script_hides_a_module_of_the_standard_library():
    """A script's folder comes first on its path: benchmarks/numbers.py broke every other one."""
    scripts = [path for folder in ("benchmarks", "benchmarks/versus", "examples") for path in (ROOT / folder).glob("*.py")]
    assert scripts
    assert not {path.stem for path in scripts} & sys.stdlib_module_names


def test_formulas_are_typeset_before_anybody_reads_them():
    """MathML in the page itself: no script, no font, no network. What is not understood ends the build."""
    pytest.importorskip("latex2mathml")
    from importlib.util import module_from_spec, spec_from_file_location
    from types import SimpleNamespace

    from mkdocs.exceptions import PluginError

    spec = spec_from_file_location("typeset_formulas", ROOT / "packaging" / "typeset_formulas.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    page = SimpleNamespace(file=SimpleNamespace(src_uri="x.md"))
    made = module.on_page_content(r'<p>a <span class="arithmatex">\(v^2 &lt; 1\)</span> b <code>\(c\)</code></p>', page=page)
    assert "<msup><mi>v</mi><mn>2</mn></msup>" in made
    assert "arithmatex" not in made
    assert r"<code>\(c\)</code>" in made
    with pytest.raises(PluginError, match="unheardof"):
        module.on_page_content(r'<div class="arithmatex">\[\unheardof{x}\]</div>', page=page)
