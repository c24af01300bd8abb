"""The layers of ARCHITECTURE.md: each part imports only those below it."""

from __future__ import annotations

import ast
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


def test_the_architecture_lists_the_same_parts_in_the_same_order():
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("## Layers")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    told = [name.strip("/").removesuffix(".py") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert [f"multivalid.{name}" for name in reversed(told)] == contract()


# What people call, or what puts a whole command or learner together: these may know many parts.
ENTRY_POINTS = {
    "__init__.py", "properties/__init__.py", "audit/audit.py", "audit/backtest.py", "calibration.py", "discover/discovery.py", "fit.py",
    "online/learner.py", "online/monitor.py", "cli/app.py", "cli/fit.py",
}  # fmt: skip
MOST_IMPORTS = 12


def own_imports(path: Path, modules: set[str]) -> set[str]:
    """The modules of ours that a file names, wherever in it: at its head, in a function, or for types alone."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "multivalid":
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (whole & modules) | ({node.module} if whole - modules else set())
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.split(".")[0] == "multivalid"}
    return found


def test_no_module_but_the_entry_points_knows_more_than_twelve_of_ours():
    package = ROOT / "multivalid"
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    modules = {"multivalid." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    counts = {name: len(own_imports(path, modules)) for name, path in files.items() if name not in ENTRY_POINTS}
    assert set(files) >= ENTRY_POINTS
    assert {name: count for name, count in counts.items() if count > MOST_IMPORTS} == {}


def test_other_libraries_are_used_in_few_places():
    """narwhals where frames are read, scikit-learn in `estimators/`, nothing heavy anywhere else."""
    allowed = {
        "narwhals": ("atoms/", "discover/", "fit_with_columns.py", "fit_rows.py", "groups/", "practical/", "sources/",
                     "lazy_names.py", "scope/certificate.py", "online/members.py", "properties/expressions.py"),
        "sklearn": ("estimators/", "demo/"),
        "pandas": ("groups/remote.py", "groups/kinds.py", "groups/frames.py", "demo/"),
        "polars": ("groups/remote.py", "sources/grouping.py"),
        "pyarrow": ("atoms/partitions.py", "sources/", "groups/remote.py", "groups/frames.py", "cli/"),
        "duckdb": ("atoms/", "sources/", "groups/remote.py", "report/", "cli/"),
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
