"""Run the comparison: `python run.py [environment or family …]`. Standard library only; every method has an environment of its own.

Without arguments everything is run. With names of environments (`ours`, `lightgbm`, …) or families (`named`, `columns`, `streams`,
`quantiles`, `slices`, `watches`) only these are; the other rows are those of runs before. Every row has the day on which it was
measured; what was never measured has no row.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import venv
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "versus"
NEEDS = {
    "ours": ["-e", f"{ROOT}[demo]"],
    "isotonic": ["scikit-learn"],
    "lightgbm": ["lightgbm", "scikit-learn"],
    "mcgrad": ["mcgrad"],
    "multicalibration": ["multicalibration", "numpy", "scikit-learn", "tqdm", "matplotlib"],
    "mapie": ["mapie[conditional]"],
    "sliceline": ["sliceline", "pandas"],
    "pysubgroup": ["pysubgroup", "pandas"],
    "river": ["river", "numpy"],
}
PACKAGE = {"ours": "multivalid", "isotonic": "scikit-learn"}
RIVALS = ("ACI", "DtACI", "SF-OGD", "conformal PID")
COLUMNS = ("base", "ours_columns", "lightgbm_columns")
FAN = ("base", "ours_fan", "ours_singles", "lightgbm_fan")
HOME = {**dict.fromkeys(("base", "ours_online", "ours_columns", "ours_fan", "ours_singles", "cusum", *RIVALS), "ours"),
        "lightgbm_columns": "lightgbm", "lightgbm_fan": "lightgbm", "mcgrad_columns": "mcgrad", "adwin": "river"}  # fmt: skip
SHOWN = {"ours_online": "ours", "ours_columns": "ours", "ours_fan": "ours", "ours_singles": "ours, one by one, sorted",
         "lightgbm_columns": "lightgbm", "lightgbm_fan": "lightgbm, sorted", "mcgrad_columns": "mcgrad"}  # fmt: skip
# Workloads by family: what they are judged for ("none" is the mean, "several" three quantiles) and who plays.
RUNS = {
    "Groups named": {
        "mean": ("none", ("base", "ours", "isotonic", "lightgbm", "mcgrad", "multicalibration")),
        "quantile": ("0.9", ("base", "ours", "lightgbm", "mapie")),
        "flights": ("0.9", ("base", "ours", "lightgbm", "mapie")),
    },
    "Columns only": {
        "columns mean": ("none", (*COLUMNS, "mcgrad_columns")),
        "columns census": ("none", (*COLUMNS, "mcgrad_columns")),
        "columns adult": ("none", (*COLUMNS, "mcgrad_columns")),
        "columns quantile": ("0.9", COLUMNS),
        "columns flights": ("0.9", COLUMNS),
    },
    "Streams": {"online": ("0.9", ("base", "ours_online", *RIVALS)), "online flights": ("0.9", ("base", "ours_online", *RIVALS))},
    "Three quantiles": {"three quantiles": ("several", FAN), "three quantiles flights": ("several", FAN)},
}
FAMILIES = {"named": "Groups named", "columns": "Columns only", "streams": "Streams", "quantiles": "Three quantiles"}
ASIDE = ("slices", "watches")  # families with tables of their own
HEAD = "| workload | method | largest error (debiased) | groups off | mean score | CPU seconds | measured |\n|---|---|---|---|---|---|---|"
SLICES = (
    "| planted slices | slices found | others reported, per run | speaks on null data | CPU seconds | measured |\n"
    "|---|---|---|---|---|---|"
)
WATCHES = (
    "| change in one group of 20 | method | any false alarm | median delay, rounds of the group | measured |\n|---|---|---|---|---|"
)
NOT_RUN = """Not run: isotonic, MCGrad and multicalibration on quantiles (they predict means or probabilities); MAPIE on means (it
gives intervals and sets); any of them on streams for groups (none takes outcomes one at a time for groups). sliceline and pysubgroup rank
slices and do not test them, so they always name some. The CUSUM knows which group will change and how. A method or a workload without a
row has not been measured yet. A row was measured with the code of its day, and judged by the test of that day."""
ALONE = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # one thread each, so that CPU seconds compare
LIMIT = 60 * int(os.environ.get("VERSUS_MINUTES", "15"))  # CPU seconds for one method on one workload


def python_of(method: str) -> str:
    """The interpreter of a method's environment, made on first use."""
    home = HOME.get(method, method)
    place = WORK / home
    interpreter = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True)
        install = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS[home]]
        subprocess.run(install, check=True)
        (place / "ready").touch()
    return str(interpreter)


def main(chosen: list[str]) -> None:
    """Write results.md and the figures."""
    WORK.mkdir(parents=True, exist_ok=True)
    rows = Rows(HERE / "rows.json", chosen)
    ours = python_of("ours")
    wanted = [name for family, runs in RUNS.items() if rows.asked(family) for name in runs]
    missing = [name for name in wanted if not (WORK / f"{name}.npz").exists()]
    if missing:
        subprocess.run([ours, str(HERE / "workloads.py"), str(WORK), *missing], check=True)
    parts = []
    for family, runs in RUNS.items():
        lines = [HEAD]
        for workload, (tau, methods) in runs.items():
            there = family if (WORK / f"{workload}.npz").exists() else "no data"  # the census may be absent
            for method in methods:
                text = rows.of(there, f"{workload}/{method}", method, lambda: measured(method, workload, tau, ours))  # noqa: B023
                lines += [
                    f"| {workload.removeprefix('columns ')} | {SHOWN.get(method, method)} | {line} |" for line in text.splitlines()
                ]
        parts.append(chapter(family, lines))
    found = [SLICES]
    for m in ("ours", "sliceline", "pysubgroup"):
        found += [f"| {m} | {line} |" for line in rows.of("slices", f"slices/{m}", m, lambda: printed(m, "slices.py")).splitlines()]  # noqa: B023
    parts.append(chapter("Slices nobody named", found))
    watched = []
    for m in ("ours", "cusum", "adwin"):
        for line in rows.of("watches", f"watch/{m}", m, lambda: printed(m, "watches.py")).splitlines():  # noqa: B023
            world, numbers = line.split(" | ", 1)
            watched.append(f"| {world} | {m} | {numbers.replace(' inf ', ' not in half of the streams ')} |")
    parts.append(chapter("Predictions watched", [WATCHES, *sorted(watched)]))
    text = "\n\n".join([*parts, NOT_RUN, rows.versions()]) + "\n"
    (HERE / "results.md").write_text(text, encoding="utf-8")
    subprocess.run([ours, str(HERE / "figures.py"), str(HERE / "results.md"), str(ROOT / "docs" / "img")], check=True)


def chapter(title: str, lines: list[str]) -> str:
    """A table under its title, or that there is none."""
    return f"## {title}\n\n" + ("\n".join(lines) if len(lines) > 1 else "Not measured yet.")


class Rows:
    """Rows that were measured, kept between runs."""

    def __init__(self, path: Path, chosen: list[str]) -> None:
        self.path = path
        self.homes = [name for name in chosen if name in NEEDS] or list(NEEDS)
        self.families = [FAMILIES.get(name, name) for name in chosen if name not in NEEDS] or [*FAMILIES.values(), *ASIDE]
        self.kept: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}

    def asked(self, family: str) -> bool:
        """Whether the family is to be run now."""
        return family in self.families

    def of(self, family: str, key: str, method: str, measure) -> str:
        """The row with its day, measured now if its family and its environment were chosen; empty where nothing is known."""
        if self.asked(family) and HOME.get(method, method) in self.homes:
            self.kept[key] = "\n".join(f"{line} | {date.today().isoformat()}" for line in measure().splitlines())
            self.path.write_text(json.dumps(self.kept, indent=1), encoding="utf-8")
            print(f"{key}: {self.kept[key]}", flush=True)
        return self.kept.get(key, "")

    def versions(self) -> str:
        """What was compared, one version each; of environments that are gone, the version that was measured."""
        code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
        for method in (name for name in NEEDS if (WORK / name / "ready").exists()):
            package = PACKAGE.get(method, method)
            made = subprocess.run([python_of(method), "-c", code, package], capture_output=True, text=True, check=True)
            self.kept[f"version/{package}"] = made.stdout.strip()
        self.path.write_text(json.dumps(self.kept, indent=1), encoding="utf-8")
        known = {key.removeprefix("version/"): text for key, text in self.kept.items() if key.startswith("version/")}
        return f"Versions: {', '.join(f'{package} {text}' for package, text in known.items())}."


def measured(method: str, workload: str, tau: str, ours: str) -> str:
    """One row, or why there is none."""
    source, answer = str(WORK / f"{workload}.npz"), str(WORK / f"{workload}-{method}.npz")
    command = [str(HERE / "methods.py"), method, source, tau, answer]
    try:
        subprocess.run([python_of(method), *command], check=True, env=ALONE, preexec_fn=limited)
    except subprocess.CalledProcessError as error:
        return f"{why(error)} | | | "
    judged = subprocess.run([ours, str(HERE / "judge.py"), source, tau, answer], check=True, capture_output=True, text=True)
    return judged.stdout.strip()


def printed(method: str, script: str) -> str:
    """What a script prints for a method."""
    try:
        command = [python_of(method), str(HERE / script), method]
        return subprocess.run(command, check=True, env=ALONE, preexec_fn=limited, capture_output=True, text=True).stdout.strip()
    except subprocess.CalledProcessError as error:
        return f"{why(error)} | | "


def why(error: subprocess.CalledProcessError) -> str:
    """Why a method has no numbers."""
    late = error.returncode == -signal.SIGXCPU
    return f"did not finish in {LIMIT // 60} CPU minutes" if late else f"did not run: exit code {error.returncode}"


def limited() -> None:
    """Called in the new process: CPU seconds do not depend on what else the machine does."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 60))


if __name__ == "__main__":
    unknown = [name for name in sys.argv[1:] if name not in (*NEEDS, *FAMILIES, *ASIDE)]
    if unknown:
        sys.exit(
            f"{', '.join(unknown)}: neither an environment ({', '.join(NEEDS)}) nor a family ({', '.join((*FAMILIES, *ASIDE))})"
        )
    main(sys.argv[1:])
