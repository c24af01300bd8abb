"""One figure per family from results.md: `python figures.py results.md FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

COLORS = {"ours": "#0068a8", "base": "#999999"}
OTHER = "#ad5000"
FILES = {"Groups named": "versus_groups.png", "Columns only": "versus_columns.png", "Streams": "versus_streams.png",
         "Three quantiles": "versus_fans.png"}  # fmt: skip


def rows_of(text: str) -> dict[str, list[list[str]]]:
    """The rows of each chapter's table."""
    chapters: dict[str, list[list[str]]] = {}
    for part in text.split("\n## ")[0:]:
        title, _, body = part.removeprefix("## ").partition("\n")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("| ")]
        chapters[title.strip()] = rows[1:]
    return chapters


def draw(rows: list[list[str]], path: Path) -> None:
    """A panel per workload: the largest error of any group, on a logarithmic axis, with the score beside each bar."""
    from matplotlib.figure import Figure

    rows = [row for row in rows if row[2][:1].isdigit()]  # those that were measured
    workloads = list(dict.fromkeys(row[0] for row in rows))
    if not workloads:
        return
    figure = Figure(figsize=(3.6 * len(workloads), 3.2), layout="constrained", dpi=110)
    for axes, workload in zip(figure.subplots(1, len(workloads), squeeze=False)[0], workloads, strict=True):
        shown = [row for row in rows if row[0] == workload][::-1]
        values = [max(float(row[2]), 1e-6) for row in shown]
        axes.barh([row[1] for row in shown], values, color=[COLORS.get(row[1].split(",")[0], OTHER) for row in shown])
        axes.set(xscale="log", xlim=(min(values) / 2, max(values) * 30), title=workload, xlabel="largest error of any group")
        for place, (row, value) in enumerate(zip(shown, values, strict=True)):
            axes.text(value * 1.15, place, f"score {row[4]}", va="center", fontsize=8)
    figure.savefig(path)


if __name__ == "__main__":
    chapters = rows_of(Path(sys.argv[1]).read_text("utf-8"))
    for title, name in FILES.items():
        draw(chapters[title], Path(sys.argv[2]) / name)
