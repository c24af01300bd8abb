"""Renew the numbers in README.md: each is taken from what its command prints, and the comparison from versus/results.md.

    python benchmarks/readme_numbers.py                 all of them; run it when the machine does nothing else
    python benchmarks/readme_numbers.py demo audit      some; the other rows stay as they are
    python benchmarks/readme_numbers.py versus          the comparison alone

`make numbers` calls it. A row whose command prints something else than expected is an error, not an old number.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
HEAD = "| what | number | command |\n|---|---|---|"
PYTHON = sys.executable
# Name: what is run, the command as a reader would type it, and per row of the table: text, pattern over the output, how it is shown.
SOURCES: dict[str, tuple[list[str], str, list[tuple[str, str, str]]]] = {
    "demo": (
        ["-m", "multivalid.demo", "demo-output"], "make demo",
        [
            ("demo, boosted model, July to December: groups off beyond chance", r"groups off beyond chance +(\S+) → (\S+)", "{} → {}"),
            ("the same, largest error of any group", r"largest error of any group +(\S+) → (\S+)", "{} → {}"),
            ("the same, mean score", r"mean score \(pinball loss up to a constant\) +(\S+) → (\S+)", "{} → {}"),
            ("demo, three limits: rows in which they cross, after", r"after +kept by .*; limits cross in (\S+) of (\S+) rows", "{} of {}"),
            ("demo, plain model, flight by flight: mean score",
             r"8\. Online[\s\S]*?mean score \(pinball loss up to a constant\) +(\S+) → (\S+)", "{} → {}"),
            ("demo, value at risk with expected shortfall: largest errors, minutes²",
             r"of the limit, minutes² +(\S+) → (\S+)[\s\S]*of the tail mean, minutes² +(\S+) → (\S+)", "{} → {}, {} → {}"),
            ("time of the whole demo", r"Done +in (\d+) s", "{} s"),
        ],
    ),
    "audit": (
        ["benchmarks/audit.py"], "python benchmarks/audit.py",
        [("audit of 10⁶ rows × 100 groups against one plain NumPy pass", r"ratio ([\d.]+)", "{} of its time")],
    ),
    "columns": (
        ["benchmarks/columns.py"], "python benchmarks/columns.py",
        [("audit of 3·10⁶ rows, 600 groups of three columns, against plain `bincount`s (pandas) and one GROUPING SETS query (DuckDB)",
          r"pandas[\s\S]*?ratio ([\d.]+)[\s\S]*duckdb[\s\S]*?ratio ([\d.]+)", "{} ×, {} ×")],
    ),
    "batch": (
        ["benchmarks/batch.py"], "python benchmarks/batch.py",
        [("fit in theorem mode, 10⁶ rows × 100 groups × 50 levels, against a plain NumPy loop",
          r"mean: \d+ updates.*?: (\d+) ×; (\d+) µs[\s\S]*?quantile.*?: (\d+) ×; (\d+) µs",
          "mean {} × ({} µs per update), quantile {} × ({} µs)")],
    ),
    "predict": (
        ["benchmarks/predict.py"], "python benchmarks/predict.py",
        [("predict, 10⁷ rows × 100 groups, 500 patches, against boolean masks",
          r"NumPy alone: ([\d.]+) s, naive [\s\S]*?: (\d+) ×[\s\S]*compiled: ([\d.]+) s, naive [\s\S]*?: (\d+) ×",
          "{2} s, {3} ×; with NumPy alone {0} s, {1} ×")],
    ),
    "joint": (
        ["benchmarks/joint.py"], "python benchmarks/joint.py",
        [("pairs, 10⁶ rows, 101 groups, 50 × 50 levels, against plain NumPy",
          r"multivalid: ([\d.]+) s wall[\s\S]*ratio (\d+)× wall", "{} s, {} ×")],
    ),
    "one_request": (
        ["benchmarks/one_request.py"], "python benchmarks/one_request.py",
        [
            ("one request, 44 groups of 6 columns, against a data frame of one row",
             r"predict_one ([\d.]+) µs.*: ([\d,]+) ×", "{} µs, {} ×"),
            ("cold process: import, load, first answer", r"cold process.*: ([\d.]+) CPU s", "{} CPU s"),
        ],
    ),
}  # fmt: skip


def rows_of(name: str) -> dict[str, str]:
    """The rows of one command, from a run of it."""
    arguments, command, rows = SOURCES[name]
    print(f"running: {command}", flush=True)
    output = subprocess.run([PYTHON, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    made = {}
    for what, pattern, shown in rows:
        found = re.search(pattern, output)
        if found is None:
            raise SystemExit(f"{command} does not print {pattern!r} any more:\n{output}")
        made[what] = f"| {what} | {shown.format(*found.groups())} | `{command}` |"
    return made


def between(text: str, mark: str, inside: str) -> str:
    """`text` with what stands between two comments replaced."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    head, rest = text.split(start)
    return f"{head}{start}\n{inside}\n{end}{rest.split(end)[1]}"


def main(chosen: list[str]) -> None:
    """Rewrite the tables of README.md."""
    text = README.read_text("utf-8")
    old = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}
    table = [HEAD]
    for name, (_, _, rows) in SOURCES.items():
        made = rows_of(name) if name in chosen else {}
        table += [made.get(what) or old[what] for what, _, _ in rows if what in made or what in old]
    text = between(text, "numbers", "\n".join(table))
    results = (ROOT / "benchmarks" / "versus" / "results.md").read_text("utf-8").replace("## ", "**").strip()
    versus = "\n".join(line + "**" if line.startswith("**") else line for line in results.splitlines())
    README.write_text(between(text, "versus", versus), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SOURCES))
