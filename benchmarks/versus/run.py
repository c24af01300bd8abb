"""Run the comparison: `python run.py [method …]`. Standard library only; every method has an environment of its own."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import venv
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
}
HOME = {"base": "ours", "ours_online": "ours", "aci": "ours"}  # methods that run in the environment of another
PACKAGE = {"ours": "multivalid", "isotonic": "scikit-learn"}
RUNS = {
    "mean": ("none", ("base", "ours", "isotonic", "lightgbm", "mcgrad", "multicalibration")),
    "quantile": ("0.9", ("base", "ours", "lightgbm", "mapie")),
    "flights": ("0.9", ("base", "ours", "lightgbm", "mapie")),
    "online": ("0.9", ("base", "ours_online", "aci")),
    "online flights": ("0.9", ("base", "ours_online", "aci")),
}
HEAD = "| workload | method | largest error (debiased) | groups off | mean score | CPU seconds |\n|---|---|---|---|---|---|"
NOT_RUN = """Not run: isotonic, MCGrad and multicalibration on quantiles (they predict means or probabilities); MAPIE on means (it
gives intervals and sets); any of them on streams (none takes outcomes one at a time for groups; MAPIE adapts a two-sided interval of
one series, for which aci stands)."""
ALONE = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # one thread each, so that CPU seconds compare
LIMIT = 27 * 60  # CPU seconds for one method on one workload


def python_of(method: str) -> str:
    """The interpreter of a method's environment, made on first use."""
    home = HOME.get(method, method)
    place = WORK / home
    interpreter = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True)
        subprocess.run(
            [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS[home]], check=True
        )
        (place / "ready").touch()
    return str(interpreter)


def main(chosen: list[str]) -> None:
    """Write results.md."""
    WORK.mkdir(parents=True, exist_ok=True)
    ours = python_of("ours")
    missing = [name for name in RUNS if not (WORK / f"{name}.npz").exists()]
    if missing:
        subprocess.run([ours, str(HERE / "workloads.py"), str(WORK), *missing], check=True)
    lines = [HEAD]
    for workload, (tau, methods) in RUNS.items():
        for method in methods:
            if method == "base" or HOME.get(method, method) in chosen:
                name = method.removesuffix("_online")
                lines.append(f"| {workload} | {name} | {measured(method, workload, tau, ours)} |")
                print(lines[-1], flush=True)
    (HERE / "results.md").write_text("\n".join([*lines, "", NOT_RUN, versions(chosen), ""]), encoding="utf-8")


def measured(method: str, workload: str, tau: str, ours: str) -> str:
    """One row, or why there is none."""
    source, answer = str(WORK / f"{workload}.npz"), str(WORK / f"{workload}-{method}.npz")
    command = [str(HERE / "methods.py"), method, source, tau, answer]
    try:
        subprocess.run([python_of(method), *command], check=True, env=ALONE, preexec_fn=limited)
    except subprocess.CalledProcessError as error:
        late = error.returncode == -signal.SIGXCPU
        return (
            f"did not finish in {LIMIT // 60} CPU minutes | | | " if late else f"did not run: exit code {error.returncode} | | | "
        )
    judged = subprocess.run([ours, str(HERE / "judge.py"), source, tau, answer], check=True, capture_output=True, text=True)
    return judged.stdout.strip()


def limited() -> None:
    """Called in the new process: CPU seconds do not depend on what else the machine does."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 60))


def versions(chosen: list[str]) -> str:
    """What was compared, one version each."""
    code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    found = []
    for method in chosen:
        package = PACKAGE.get(method, method)
        made = subprocess.run([python_of(method), "-c", code, package], capture_output=True, text=True, check=True)
        found.append(f"{package} {made.stdout.strip()}")
    return f"Versions: {', '.join(found)}."


if __name__ == "__main__":
    main(sys.argv[1:] or list(NEEDS))
