"""Models of every kind with every part, not fitted but drawn, on rows that have everything databases disagree about."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

import multivalid as mv
from multivalid.batch.algorithm import Patch
from multivalid.batch.predictor import LevelPredictor
from multivalid.joint.algorithm import JointPatch
from multivalid.joint.link_predictor import PairLinkPredictor, PairPass
from multivalid.joint.predictor import PairLevelPredictor
from multivalid.joint.rank_scale import RankScale
from multivalid.joint.reduction import Form
from multivalid.practical.link import KINDS as LINKS
from multivalid.practical.model import Model
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shifts import ShiftRound

HOSTILE = 'we"ird `na;me'
KINDS = {"row": "int", "p": "float", "q": "float", "site": "text", HOSTILE: "text", "age": "int", "x": "float", "flag": "bool"}
PLACES = ["it's", 'say "x"', "ünï", "日本", "\\", "a;b--", "", "%"]


def rows(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Missing values of every kind, both zeros, huge and tiny numbers, values that no group has seen."""

    def holes(values: list[Any], share: float = 0.1) -> list[Any]:
        return [None if rng.random() < share else value for value in values]

    x = rng.choice([-0.0, 0.0, 0.5, 1e-300, -3.25, 1e6, math.inf, -math.inf], n) + np.where(
        rng.random(n) < 0.5, rng.normal(size=n), 0.0
    )
    return pd.DataFrame(
        {
            "row": np.arange(n),
            "p": rng.random(n).round(2),
            "q": (0.5 + rng.random(n)).round(2),
            "site": pd.Series(holes([f"s{k}" for k in rng.integers(0, 14, n)]), dtype=object),
            HOSTILE: pd.Series(holes([str(place) for place in rng.choice(PLACES, n)]), dtype=object),
            "age": rng.integers(0, 90, n),
            "x": holes(x.tolist()),
            "flag": pd.Series(holes((rng.random(n) < 0.4).tolist()), dtype=object),
        }
    ).astype({"x": float, "flag": "boolean"})


def groups(data: pd.DataFrame) -> mv.FittedGroups:
    items = [
        "site",
        HOSTILE,
        mv.bins("age", 5),
        "x > 0",
        "x in [0, 0.5]",
        "flag",
        "age / x > 20",
        "x is None",
        mv.cross(HOSTILE, mv.bins("age", 2)),
        "site != 's3'",
    ]
    return mv.Groups(items).fit(data.iloc[: len(data) // 2])


def link_predictor(rng: np.random.Generator, count: int, kind: str, stretched: bool = False) -> LinkPredictor:
    model = Model.new(rng.normal(size=50), count)
    model = model.moved(rng.normal(0, 0.4, model.flat.values.size)).with_bends(rng.normal(size=100))
    pairs = np.stack([rng.integers(0, count, 3), np.append(rng.integers(0, count, 2), count)])
    model = model.with_products(pairs).with_twists()
    model = model.moved(rng.normal(0, 0.2, model.flat.values.size))
    rounds = []
    for _ in range(2):
        cells = zip(
            rng.integers(0, count + 1, 6).tolist(), rng.integers(0, 5, 6).tolist(), rng.normal(0, 0.3, 6).tolist(), strict=True
        )
        rounds.append(ShiftRound(np.sort(rng.normal(size=4)), list(cells)))
    return LinkPredictor(mv.Grid([0.0, 1.0]), LINKS[kind](0.0 if kind != "identity" else 0.3, 1.0, stretched), model, rounds)


def level_predictor(rng: np.random.Generator, count: int, patches: int = 60) -> LevelPredictor:
    grid = mv.Grid.uniform(0, 1, 12)
    return LevelPredictor(grid, [Patch(int(rng.integers(0, count + 1)), *map(int, rng.integers(0, 12, 2))) for _ in range(patches)])


def pair_level_predictor(rng: np.random.Generator, count: int) -> PairLevelPredictor:
    grids = mv.Grid.uniform(0, 1, 6), mv.Grid.uniform(0, 2, 5)
    drawn = []
    for side in rng.integers(0, 2, 40).tolist():
        group, first, second, target = (int(rng.integers(0, top)) for top in (count + 1, 6, 5, (6, 5)[side]))
        drawn.append(JointPatch(side, group, first, second, target))
    return PairLevelPredictor(grids, drawn)


def pair_link_predictor(rng: np.random.Generator, count: int, square: bool) -> PairLinkPredictor:
    labels = rng.exponential(size=200).round(1)
    edges = np.array([0.3, 0.8]), np.array([0.4, 0.9, 1.2])
    passes = [
        PairPass(
            RankScale.of(labels, rng.random(200)) if k == 0 else None,
            link_predictor(rng, count + 3, "logit"),
            link_predictor(rng, 4, "identity"),
            link_predictor(rng, count + 4, "log"),
            *edges,
        )
        for k in range(2)
    ]
    return PairLinkPredictor((mv.Grid([0.0, 1.0]), mv.Grid([0.0, 1.0])), Form(square, not square), passes)
