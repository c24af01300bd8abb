"""The layers of ARCHITECTURE.md: each part imports only those below it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def contract() -> list[str]:
    """Every part in the contract; a line may hold two that are on one floor."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [part.strip() for line in lines for part in line.split(":")]


def test_the_contract_is_kept():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 kept, 0 broken" in done.stdout


def test_the_contract_covers_every_part():
    parts = {f"multivalid.{path.stem}" for path in (ROOT / "multivalid").iterdir() if path.is_dir() or path.suffix == ".py"}
    free = {"multivalid.__init__", "multivalid.__pycache__", "multivalid.py"}
    assert parts - free - set(contract()) == set()


def test_other_libraries_are_used_in_few_places():
    """narwhals where frames are read, scikit-learn in `estimators/`, nothing heavy anywhere else."""
    allowed = {
        "narwhals": ("atoms/", "discover/", "fit_found.py", "groups/", "practical/", "sources/",
                     "lazy_names.py", "scope/certificate.py", "online/members.py", "properties/expressions.py"),
        "sklearn": ("estimators/", "demo/"),
        "pandas": ("groups/remote.py", "groups/kinds.py", "groups/frames.py", "demo/"),
        "polars": ("groups/remote.py", "sources/grouping.py"),
        "pyarrow": ("atoms/partitions.py", "sources/", "groups/remote.py", "groups/frames.py", "cli/"),
        "duckdb": ("atoms/", "sources/", "report/", "cli/"),
        "matplotlib": ("report/", "cli/", "demo/", "scope/picture.py"), "jinja2": ("report/", "cli/"),
        "typer": ("cli/",), "rich": ("cli/",),
    }  # fmt: skip
    package = ROOT / "multivalid"
    for path in package.rglob("*.py"):
        found = re.findall(
            r"^ *(?:import|from) (\w+)", re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL), re.M
        )
        for name in set(found) & set(allowed):
            place = path.relative_to(package).as_posix()
            assert place.startswith(allowed[name]), f"{place} imports {name}"
