"""Rows that share their luck: a fit holds out whole clusters, so that luck does not confirm itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import multivalid as mv
from multivalid.errors import InputError
from multivalid.practical import held_out
from multivalid.practical.data import shuffle, unit_numbers


def lucky(seed: int, clusters: int = 60, size: int = 40, rho: float = 0.5) -> dict[str, Any]:
    """Right probabilities; all rows of a cluster are lucky together, and groups are made of whole clusters."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    f = rng.uniform(0.2, 0.8, cluster.size)
    luck = norm.cdf(np.sqrt(rho) * rng.normal(size=clusters)[cluster] + np.sqrt(1 - rho) * rng.normal(size=cluster.size))
    groups = [(rng.random(clusters) < 0.3)[cluster] for _ in range(6)]
    return {"y": (luck < f).astype(float), "f": f, "groups": groups, "cluster": cluster}


def test_luck_that_is_shared_confirms_nothing():
    changed = {False: 0, True: 0}
    for seed in range(12):
        d = lucky(seed)
        for known in changed:
            fitted = mv.multicalibrate(d["y"], d["f"], groups=d["groups"], cluster=d["cluster"] if known else None)
            changed[known] += bool((fitted.predict(d["f"], groups=d["groups"]) != d["f"]).any())
    assert changed[False] >= 9  # rows of the same cluster in both parts: luck is taken for a group's own rate
    assert changed[True] <= 3


def test_the_certificate_counts_clusters_too():
    d = lucky(3)
    alone = mv.multicalibrate(d["y"], d["f"], groups=d["groups"], max_updates=0, holdout=0.3)
    whole = mv.multicalibrate(d["y"], d["f"], groups=d["groups"], max_updates=0, holdout=0.3, cluster=d["cluster"])
    assert alone.certificate.holdout_error is not None
    assert whole.certificate.holdout_bound > alone.certificate.holdout_bound


def test_rows_held_out_are_whole_clusters(monkeypatch: pytest.MonkeyPatch):
    d = lucky(1)
    seen = []
    splits = held_out._splits

    def watched(rows: Any) -> Any:
        for out, testing, fitting in splits(rows):
            seen.append((set(testing.cluster), set(fitting.cluster)))
            assert len(testing) + len(fitting) == len(rows)
            yield out, testing, fitting

    monkeypatch.setattr(held_out, "_splits", watched)
    mv.multicalibrate(d["y"], d["f"], groups=d["groups"], cluster=d["cluster"])
    assert len(seen) == held_out.FOLDS
    assert all(not testing & fitting for testing, fitting in seen)
    assert set().union(*(testing for testing, _ in seen)) == set(range(60))


def test_a_shuffle_keeps_clusters_together_and_loses_nobody():
    cluster = np.random.default_rng(0).integers(0, 9, 200)
    order = shuffle(np.arange(200), cluster, np.random.default_rng(1))
    assert sorted(order) == list(range(200))
    assert unit_numbers(200, cluster[order])[-1] == 8
    assert not np.array_equal(order, shuffle(np.arange(200), cluster, np.random.default_rng(2)))


def test_pairs_and_quantiles_take_clusters():
    d = lucky(5)
    y = d["y"] + d["f"]
    for prop in (mv.MeanVariance(), mv.Quantiles([0.3, 0.7])):
        said = np.tile(prop.solve(y) if prop.joint else np.quantile(y, [0.3, 0.7]), (y.size, 1))
        made = mv.multicalibrate(y, said, groups=d["groups"], property=prop, cluster=d["cluster"])
        assert np.isfinite(made.predict(said, groups=d["groups"])).all()


def test_what_a_fit_cannot_do_with_clusters_is_refused():
    pl = pytest.importorskip("polars")
    d = lucky(0, 10)
    frame = pl.DataFrame({"y": d["y"], "f": d["f"], "day": d["cluster"]})
    with pytest.raises(InputError, match="cluster needs rows in memory"):
        mv.multicalibrate("y", "f", groups=[], data=frame.lazy(), cluster="day")
    with pytest.raises(InputError, match="give one of them"):
        mv.multicalibrate("y", "f", groups=[], data=frame, cluster="day", time="day", features=["f"])
    few = mv.multicalibrate(d["y"], d["f"], groups=[d["f"] > 0.5], cluster=d["cluster"] % 3)
    assert "fewer than 5 clusters" in few.certificate.note
