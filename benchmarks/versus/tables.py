"""Workloads of columns instead of groups, for methods that find groups themselves; the groups are known to the judge alone.

Columns are one matrix of numbers, categories as whole numbers; `names` and `categorical` say what is what. The census is read from
where benchmarks/shared.py says, and left out where it is absent. The incomes called "adult" come with the package xai on the index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

ROWS = 40_000
Data = dict[str, np.ndarray]


def made_up(quantile: bool, seed: int) -> Data:
    """Six numbers and four categories; the truth bends, and differs in three slices of two conditions; the base knows two columns."""
    rng = np.random.default_rng(seed)
    rows = 2 * ROWS
    numbers, kinds = rng.normal(size=(rows, 6)), (2, 4, 8, 15)
    codes = np.column_stack([rng.choice(k, rows, p=rng.dirichlet(np.full(k, 3.0))) for k in kinds])
    signal = 0.8 * numbers[:, 0] + 0.5 * numbers[:, 1]
    extra = (
        0.5 * np.tanh(2 * numbers[:, 2])
        + 0.6 * ((codes[:, 2] == 1) & (numbers[:, 3] > 0))
        - 0.7 * ((codes[:, 1] == 0) & (codes[:, 0] == 1))
    )
    if quantile:
        y = signal + extra + np.exp(0.4 * (numbers[:, 4] > 1)) * rng.gumbel(size=rows)
        base = signal + 2.25
    else:
        y = (rng.random(rows) < 1 / (1 + np.exp(-signal - extra))).astype(float)
        base = 1 / (1 + np.exp(-signal))
    halves = [numbers[:, j] > cut for j in range(6) for cut in (-0.7, 0.7)]
    groups = np.column_stack([*halves, *(codes[:, j] == v for j, k in enumerate(kinds) for v in range(k))])
    names = [*(f"x{j}" for j in range(6)), *(f"c{j}" for j in range(4))]
    return split(np.column_stack([numbers, codes]), names, 6, y, base, groups, np.arange(rows) < ROWS)


def flights() -> Data:
    """The demo's flights, from five columns; judged by carrier, airport and hour."""
    from multivalid import Groups
    from multivalid.demo import flights as data

    rows = data.load()
    model = data.Limit(data.months(rows, data.MODEL_MONTHS))
    rows = rows[rows["month"] >= data.FIT_MONTHS[0]].reset_index(drop=True)
    early = (rows["month"] <= data.FIT_MONTHS[1]).to_numpy()
    family = Groups(["carrier", "origin", "hour"], min_size=300).fit(rows[early].reset_index(drop=True))
    masks = np.stack(list(family.masks(rows))[1:], axis=1)
    codes = [rows[name].astype("category").cat.codes.to_numpy() for name in ("carrier", "origin")]
    x = np.column_stack([rows["hour"], rows["queue"], rows["distance"], *codes]).astype(float)
    names = ["hour", "queue", "distance", "carrier", "origin"]
    return split(x, names, 3, rows["arr_delay"].to_numpy(float), model.predict(rows), masks, early)


def census() -> Data:
    """Income above 50,000 from nine columns of the census; judged on 149 groups of them and their crossings."""
    import shared

    if shared.data("kdd_census_income.parquet") is None:
        return {}
    d = shared.workloads().census()
    frames = [d["frame_fit"].reset_index(drop=True), d["frame_test"].reset_index(drop=True)]
    names = list(frames[0].columns)
    values = {name: {v: i for i, v in enumerate(sorted(set(frames[0][name]) | set(frames[1][name])))} for name in names}
    made: Data = {"names": np.array(names), "categorical": np.ones(len(names), dtype=bool)}
    for part, old, frame in (("fit", "fit", frames[0]), ("check", "test", frames[1])):
        made[f"{part}_x"] = np.column_stack([frame[name].map(values[name]).to_numpy() for name in names]).astype(float)
        made |= {f"{part}_y": d[f"y_{old}"], f"{part}_base": d[f"base_{old}"], f"{part}_groups": d[f"g_{old}"]}
    return made


def adult() -> Data:
    """Income above 50,000 in 32,561 rows of 1994: a third for a plain model of three columns, one to correct it, one to judge it."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    with tempfile.TemporaryDirectory() as folder:
        fetch = ["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest", folder, "xai==0.3.0"]
        subprocess.run([sys.executable, *fetch], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("xai-*.whl"))).open("xai/data/census.csv") as file:
            rows = pd.read_csv(file, index_col=0, skipinitialspace=True).sample(frac=1.0, random_state=0, ignore_index=True)
    numbers = ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss"]
    texts = ["workclass", "education", "marital-status", "occupation", "relationship", "ethnicity", "gender"]
    y, known, third = (rows["loan"] == ">50K").to_numpy(float), rows[numbers[:3]].to_numpy(float), len(rows) // 3
    known = (known - known.mean(axis=0)) / known.std(axis=0)
    base = LogisticRegression().fit(known[:third], y[:third]).predict_proba(known)[:, 1]
    values = [
        (rows[name] == value).to_numpy() for name in texts for value, size in rows[name].value_counts().items() if size >= 500
    ]
    ages = [(rows["age"] >= cut).to_numpy() for cut in (25, 35, 45, 55, 65)]
    codes = [rows[name].astype("category").cat.codes.to_numpy() for name in texts]
    x = np.column_stack([rows[numbers].to_numpy(float), *codes])
    kept = slice(third, None)
    first = np.arange(len(rows) - third) < third
    return split(x[kept], [*numbers, *texts], len(numbers), y[kept], base[kept], np.column_stack([*values, *ages])[kept], first)


def split(
    x: np.ndarray, names: list[str], numbers: int, y: np.ndarray, base: np.ndarray, groups: np.ndarray, first: np.ndarray
) -> Data:
    """Rows to correct on and rows to judge on; the first `numbers` columns are numbers, the others categories."""
    made = {"names": np.array(names), "categorical": np.arange(len(names)) >= numbers}
    for part, rows in (("fit", first), ("check", ~first)):
        made |= {f"{part}_{name}": v[rows] for name, v in (("x", x), ("y", y), ("base", base), ("groups", groups))}
    return made
