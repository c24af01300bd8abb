"""Three quantiles at once: workloads and methods. Base and answer have a column for each of 0.1, 0.5 and 0.9."""

from __future__ import annotations

import numpy as np

TAUS = (0.1, 0.5, 0.9)
Data = dict[str, np.ndarray]


def made_up() -> Data:
    """The groups of the workload `quantile`; the base has the noise's own quantiles and knows no group."""
    from workloads import made_up as single

    d = single(True, 4)
    noise = -np.log(-np.log(np.array(TAUS)))  # quantiles of the Gumbel law
    for part in ("fit", "check"):
        d[f"{part}_base"] = d[f"{part}_base"][:, None] - 2.25 + noise
    return d


def flights() -> Data:
    """The demo's boosted model, corrected on March to June, judged on July to December."""
    from multivalid import Groups
    from multivalid.demo import flights as data

    rows = data.load()
    model = data.Boosted(data.months(rows, data.MODEL_MONTHS))
    rows = rows[rows["month"] >= data.FIT_MONTHS[0]].reset_index(drop=True)
    early = (rows["month"] <= data.FIT_MONTHS[1]).to_numpy()
    family = Groups(["carrier", "origin", "hour"], min_size=300).fit(rows[early].reset_index(drop=True))
    masks, base = np.stack(list(family.masks(rows))[1:], axis=1), np.column_stack(list(model.predict(rows).values()))
    parts = (("fit", early), ("check", ~early))
    columns = (("y", rows["arr_delay"].to_numpy(float)), ("base", base), ("groups", masks))
    return {f"{part}_{name}": v[which] for part, which in parts for name, v in columns}


def ours_fan(d: Data, tau: float | None) -> np.ndarray:
    """multivalid, `Quantiles`."""
    import multivalid as mv

    fitted = mv.multicalibrate(d["fit_y"], d["fit_base"], groups=list(d["fit_groups"].T), property=mv.Quantiles(TAUS))
    return np.asarray(fitted.predict(d["check_base"], groups=list(d["check_groups"].T)))


def ours_singles(d: Data, tau: float | None) -> np.ndarray:
    """multivalid, one fit per quantile, sorted afterwards."""
    import multivalid as mv

    new, made = list(d["check_groups"].T), []
    for k, level in enumerate(TAUS):
        fitted = mv.multicalibrate(d["fit_y"], d["fit_base"][:, k], groups=list(d["fit_groups"].T), property=f"quantile:{level}")
        made.append(fitted.predict(d["check_base"][:, k], groups=new))
    return np.sort(np.column_stack(made), axis=1)


def lightgbm_fan(d: Data, tau: float | None) -> np.ndarray:
    """Three LightGBM models on base and groups, sorted afterwards."""
    from lightgbm import LGBMRegressor

    x, z = (np.column_stack([d[f"{part}_base"], d[f"{part}_groups"]]) for part in ("fit", "check"))
    made = [
        LGBMRegressor(objective="quantile", alpha=level, n_estimators=200, learning_rate=0.05, num_leaves=15, n_jobs=1, verbose=-1)
        .fit(x, d["fit_y"])
        .predict(z)
        for level in TAUS
    ]
    return np.sort(np.column_stack(made), axis=1)
