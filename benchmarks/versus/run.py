"""Run the comparison: `python run.py [method …]`. Standard library only; every method has an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "versus"
NEEDS = {
    "ours": [f"{ROOT}[demo]"],
    "isotonic": ["scikit-learn"],
    "lightgbm": ["lightgbm", "scikit-learn"],
    "mcgrad": ["mcgrad"],
    "multicalibration": ["multicalibration", "numpy", "scikit-learn", "tqdm", "matplotlib"],
}
TAU = {"mean": "none", "quantile": "0.9", "flights": "0.9"}
MEANS_ONLY = ("isotonic", "mcgrad", "multicalibration")
HEAD = "| workload | method | largest error (debiased) | groups off | mean score | CPU seconds |\n|---|---|---|---|---|---|"


def python_of(method: str) -> str:
    """The interpreter of a method's environment, made on first use."""
    place = WORK / ("ours" if method == "base" else method)
    interpreter = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True)
        needs = NEEDS["ours" if method == "base" else method]
        subprocess.run([str(interpreter), "-m", "pip", "install", "--quiet", *needs], check=True)
        (place / "ready").touch()
    return str(interpreter)


def main(chosen: list[str]) -> None:
    """Write results.md."""
    WORK.mkdir(parents=True, exist_ok=True)
    ours = python_of("ours")
    missing = [name for name in TAU if not (WORK / f"{name}.npz").exists()]
    if missing:
        subprocess.run([ours, str(HERE / "workloads.py"), str(WORK), *missing], check=True)
    lines = [HEAD]
    for workload, tau in TAU.items():
        for method in ["base", *chosen]:
            if tau != "none" and method in MEANS_ONLY:
                continue
            lines.append(f"| {workload} | {method} | {measured(method, workload, tau, ours)} |")
            print(lines[-1], flush=True)
    (HERE / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def measured(method: str, workload: str, tau: str, ours: str) -> str:
    """One row, or why there is none."""
    source, answer = str(WORK / f"{workload}.npz"), str(WORK / f"{workload}-{method}.npz")
    try:
        subprocess.run([python_of(method), str(HERE / "methods.py"), method, source, tau, answer], check=True, timeout=1800)
    except (subprocess.SubprocessError, OSError) as error:
        return f"did not run: {type(error).__name__} | | | "
    return subprocess.run(
        [ours, str(HERE / "judge.py"), source, tau, answer], check=True, capture_output=True, text=True
    ).stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1:] or list(NEEDS))
