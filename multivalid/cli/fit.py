"""multivalid fit: predictions made right for every group."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import multivalid as mv
from multivalid.cli import gates, options, tables
from multivalid.cli.arguments import fitted_named, group_items, label_numbers, limit, option, prediction_columns
from multivalid.cli.discover import column_names
from multivalid.cli.exits import usage
from multivalid.cli.json_output import print_json
from multivalid.cli.labels import LabelOptions
from multivalid.cli.reading import Data, Store
from multivalid.cli.writing import check_apart, check_output, check_report, outputs
from multivalid.grid import MOST_LEVELS
from multivalid.validate import fraction
from multivalid.validate import positive as above_zero

MODES = ("practical", "theorem", "paper")


Features = Annotated[
    str | None,
    typer.Option("--features", help="Columns in which further groups may be found and corrected, with commas between."),
]


def fit(
    data: Data,
    label: options.Label,
    prediction: options.Predictions,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Write the fitted model here (JSON).")] = None,
    groups: options.Groups = None,
    missing: options.Missing = "group",
    positive: options.Positive = None,
    missing_rows: options.MissingRows = "refuse",
    features: Features = None,
    property: options.Prop = "mean",
    weight: options.Weight = None,
    holdout: options.Holdout = None,
    mode: Annotated[str, typer.Option("--mode", help="practical, theorem or paper.")] = "practical",
    alpha: Annotated[float | None, typer.Option("--alpha", help="Error to reach.")] = None,
    levels: Annotated[int | None, typer.Option("--levels", help="Number of levels.", min=1, max=MOST_LEVELS)] = None,
    batched: Annotated[
        bool,
        typer.Option(
            "--batched",
            help="With --mode theorem: rounds of updates, each a pass over the rows; for groups with too many combinations.",
        ),
    ] = False,
    fail_above: options.Fail = None,
    fail_if_off: options.FailIfOff = False,
    report: options.Report = None,
    top: options.Top = 8,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Make the predictions right for every group, and say what is guaranteed.

    Example: multivalid fit flights.csv --label delay --prediction p --groups origin --property quantile:0.9 --holdout 0.3 --model m.json
    """
    prop, items, most = fitted_named(property), group_items(groups), limit(fail_above)
    labels = LabelOptions(positive, missing_rows, missing)
    columns = prediction_columns(prediction, prop)
    predicted = columns if len(columns) > 1 else columns[0]
    if mode not in MODES:
        raise usage(f"--mode {mode!r} must be one of {', '.join(MODES)}.")
    if batched and mode != "theorem":
        raise usage(f"--batched goes with --mode theorem, got --mode {mode}.")
    error = None if alpha is None else option(above_zero, alpha, "--alpha")
    share = _share(holdout)
    check_output(model, ".json")
    check_report(report)
    check_apart(report, "--model", model)
    with (
        data.open(numbers=[*labels.numeric(label_numbers(label, prop)), *columns, weight]) as store,
        tables.busy("fitting …", json),
        outputs() as out,
    ):
        rows, held = _rows(store, holdout, share, seed)
        rows, asked_groups = labels.accept(rows, label, items)
        made = mv.multicalibrate(
            label, predicted, groups=asked_groups, data=rows, property=prop, sample_weight=weight, mode=mode, alpha=error, m=levels,
            holdout=held, batched=batched, random_state=seed, features=column_names(features),
        )  # fmt: skip
        judged = rows if held is None else _held_out(rows, held)
        compared = None if held is None else _compare(made, judged, label, predicted, weight, json)
        # Gates judge held-out rows where there are any.
        asked = (
            None
            if most is None and not fail_if_off
            else compared[1]
            if compared
            else made.audit(label, predicted, data=judged, sample_weight=weight)
        )
        if model is not None:
            made.save(out.place(model))
        if report is not None:
            made.report(out.place(report), label, predicted, data=judged, sample_weight=weight, settings=data.settings)
    if json:
        print_json(_as_data(made, compared))
    else:
        title = f"multivalid {property} of {label} for {len(made.groups)} groups ({mode} mode)"
        _print(made, compared, title, top, [f"{what}: {path}" for what, path in (("Model", model), ("Report", report)) if path])
    if asked is not None:
        gates.error_above(asked, most)
        gates.any_off(asked.off, fail_if_off)


def _share(holdout: str | None) -> float | None:
    """The share of rows to hold out, when that is how it was said."""
    try:
        share = None if holdout is None else float(holdout)
    except ValueError:
        return None
    return None if share is None else option(fraction, share, "--holdout")


def _rows(store: Store, holdout: str | None, share: float | None, seed: int) -> tuple[Any, str | None]:
    """The rows, and the condition that holds on those to judge on."""
    return (store.rows, holdout) if share is None else store.marked(share, seed)


def _held_out(rows: Any, holdout: str) -> Any:
    from multivalid.groups.remote import lazy_frame
    from multivalid.sources.marks import where

    frame = lazy_frame(rows)
    assert frame is not None
    return frame.filter(where(holdout, frame)).to_native()


def _compare(made: Any, held: Any, label: str, prediction: Any, weight: str | None, values: bool) -> tuple[Any, Any]:
    """Audits of the rows held out, before and after, at the same levels: those of the fit, or anew where `values` are wanted too."""
    from multivalid.audit.audit import audit_source
    from multivalid.calibration_report import compare_held_out
    from multivalid.sources.open import open_source

    known = None if values else compare_held_out(made)
    if known is not None:
        return known
    after = made.audit(label, prediction, data=held, sample_weight=weight)
    levels = after.grids if len(after.grids) > 1 else after.grids[0]
    source = open_source(label, prediction, groups=made.groups, target=made.property, data=held, sample_weight=weight)
    return audit_source(source, made.property, levels, beyond=True), after


def _as_data(made: Any, compared: tuple[Any, Any] | None) -> dict[str, Any]:
    certificate = made.certificate.to_json()
    certificate.pop("potential")
    answer = {"property": made.property.spec, "groups": list(made.groups.names), "patches": len(made.patches)}
    answer |= {"certificate": certificate, "notes": made.groups.notes}
    if compared:
        answer["held_out"] = {"before": compared[0].table, "after": compared[1].table}
    return answer


def _print(made: Any, compared: tuple[Any, Any] | None, title: str, top: int, written: list[str]) -> None:
    out = tables.console()
    out.print(title, markup=False, style="bold", soft_wrap=True)
    if compared:
        before, after = compared
        times = f", {before.error / after.error:.1f} times less" if 0 < after.error < before.error else ""
        rows = f"{before.table['rows'][0]:,} rows held out"
        tables.lines([f"Worst group error on {rows}: {before.error:.3g} → {after.error:.3g}{times}."])
        for one, other, key in zip(before.coordinates, after.coordinates, made.property.keys, strict=True):
            tables.lines([key] if key else [])
            out.print(tables.before_after(one, other, one.property, top))
    tables.lines([*made.certificate.summary().splitlines(), *made.groups.notes, *written])
