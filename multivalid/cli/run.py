"""The main jobs: audit, fit, apply."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import multivalid as mv
from multivalid.cli import show
from multivalid.cli.exits import FINDING, usage
from multivalid.cli.files import HELD, check_output, store, write
from multivalid.cli.words import as_json, group_item, property_named

MODES = ("practical", "theorem", "paper")
CALIBRATED = "mv_calibrated"


@dataclass(frozen=True)
class Settings:
    """What a fit is asked to do."""

    label: str
    prediction: str
    groups: list[str] | None
    target: str
    weight: str | None
    holdout: str | None
    mode: str
    alpha: float | None
    levels: int | None
    seed: int
    batched: bool = False

    @property
    def share(self) -> float | None:
        """The share of rows to hold out, when that is how it was said."""
        try:
            share = float(self.holdout) if self.holdout is not None else None
        except ValueError:
            return None
        if share is not None and not 0 < share < 1:
            raise usage(f"--holdout {self.holdout} must be between 0 and 1.")
        return share


def audit(
    data: list[str],
    label: str,
    prediction: str,
    groups: list[str] | None,
    property: str,
    weight: str | None,
    fail_above: float | None,
    report: Path | None,
    top: int,
    json: bool,
    memory: str,
) -> None:
    """Audit files and print the worst groups."""
    prop, items = property_named(property), [group_item(text) for text in groups or []]
    check_output(report, ".html", ".json")
    with store(memory) as files, show.busy("auditing …", json):
        rows = files.open(data, numbers=[label, prediction, weight])
        found = mv.audit(label, prediction, groups=items, data=rows, property=prop, sample_weight=weight)
        written = write_report(found, report)
    if json:
        typer.echo(as_json({"error": found.error, "verdict": found.verdict, "groups": found.table, "notes": found.groups.notes}))
    else:
        out = show.console()
        out.print(f"{property} of {label}, predicted by {prediction}: {found.table['rows'][0]:,} rows", markup=False)
        out.print(found.verdict, markup=False, soft_wrap=True)
        out.print(show.audit_table(found, top))
        for note in [*found.groups.notes, *written]:
            out.print(note, markup=False, soft_wrap=True)
    gate(found.error, fail_above)


def fit(
    data: list[str],
    settings: Settings,
    model: Path | None,
    fail_above: float | None,
    report: Path | None,
    top: int,
    json: bool,
    memory: str,
) -> None:
    """Fit on files, say what was reached, write the model."""
    prop, items = property_named(settings.target), [group_item(text) for text in settings.groups or []]
    if settings.mode not in MODES:
        raise usage(f"--mode {settings.mode!r} must be one of {', '.join(MODES)}.")
    if settings.batched and settings.mode != "theorem":
        raise usage(f"--batched goes with --mode theorem, got --mode {settings.mode}.")
    check_output(model, ".json")
    check_output(report, ".html", ".json")
    if model is not None and report is not None and report.with_suffix(".json").resolve() == model.resolve():
        raise usage(
            f"--report {report} writes its numbers to {report.with_suffix('.json')}, which is the model; rename one of them."
        )
    numbers = [settings.label, settings.prediction, settings.weight]
    with store(memory) as files, show.busy("fitting …", json):
        rows = files.open(data, numbers=numbers, share=settings.share, seed=settings.seed)
        holdout = HELD if settings.share is not None else settings.holdout
        made = mv.multicalibrate(
            settings.label, settings.prediction, groups=items, data=rows, property=prop, sample_weight=settings.weight,
            mode=settings.mode, alpha=settings.alpha, m=settings.levels, holdout=holdout, batched=settings.batched,
            random_state=settings.seed,
        )  # fmt: skip
        compared = _compared(made, rows, holdout, settings, json) if holdout is not None else None
        if model is not None:
            made.save(model)
        written = [f"Model: {model}"] if model else []
        if report is not None:
            written += write_report(made, report, settings, rows if holdout is None else _held(rows, holdout))
    if json:
        typer.echo(as_json(_as_data(made, compared)))
    else:
        _say(made, compared, settings, top, written)
    certificate = made.certificate
    gate(certificate.error if certificate.holdout_error is None else certificate.holdout_error, fail_above)


def apply(data: list[str], model: Path, prediction: str, output: Path, column: str, json: bool, memory: str) -> None:
    """Add a column of calibrated predictions and write the rows."""
    check_output(output, ".csv", ".parquet", ".pq")
    made = mv.load(model)
    with store(memory) as files, show.busy("applying …", json):
        rows = files.open(data, numbers=[prediction])
        if column in rows.columns:
            raise usage(f"--column {column!r} is already a column of the data; choose another name.")
        count = rows.count("*").fetchall()[0][0]
        write(made.predict(prediction, data=rows, output=column), output)
    typer.echo(as_json({"rows": count, "output": str(output)}) if json else f"{count:,} rows with {column!r} written to {output}")


def gate(error: float, limit: float | None) -> None:
    """End with code 1 when the error is above the limit."""
    if limit is not None and error > limit:
        typer.echo(f"multivalid: the worst group's error {error:.3g} is above --fail-above {limit:g}.", err=True)
        raise SystemExit(FINDING)


def write_report(made: Any, path: Path | None, settings: Settings | None = None, rows: Any = None) -> list[str]:
    """Ask an audit or a calibration for its page."""
    if path is None:
        return []
    if not hasattr(made, "report"):
        raise usage("reports are not part of this installation.")
    if settings is None:
        made.report(path)
    else:
        made.report(path, settings.label, settings.prediction, data=rows, sample_weight=settings.weight)
    return [f"Report: {path}"]


def _held(rows: Any, holdout: str) -> Any:
    from multivalid.groups.lazy import where
    from multivalid.groups.remote import lazy_frame

    frame = lazy_frame(rows)
    assert frame is not None
    return frame.filter(where(holdout, frame)).to_native()


def _compared(made: Any, rows: Any, holdout: str, settings: Settings, values: bool) -> tuple[Any, Any]:
    """Audits of the rows held out, before and after, at the levels that the model is judged on; `values` of groups cost a pass each."""
    from multivalid.atoms.opening import lazy_rows
    from multivalid.audit.lazy import audit_lazy
    from multivalid.groups.remote import lazy_frame

    held, audits = _held(rows, holdout), []
    after = made.predict(settings.prediction, data=held, output=CALIBRATED)
    for data, prediction in ((held, settings.prediction), (after, CALIBRATED)):
        frame = lazy_frame(data)
        assert frame is not None
        stays = lazy_rows(settings.label, prediction, groups=made.groups, frame=frame, sample_weight=settings.weight)
        audits.append(audit_lazy(stays, made.property, made.grid, beyond=True, values=values))
    return audits[0], audits[1]


def _as_data(made: Any, compared: tuple[Any, Any] | None) -> dict[str, Any]:
    certificate = made.certificate.to_json()
    certificate.pop("potential")
    answer = {"property": made.property.spec, "groups": list(made.groups.names), "patches": len(made.patches)}
    answer |= {"certificate": certificate, "notes": made.groups.notes}
    if compared:
        answer["held_out"] = {"before": compared[0].table, "after": compared[1].table}
    return answer


def _say(made: Any, compared: tuple[Any, Any] | None, settings: Settings, top: int, written: list[str]) -> None:
    out = show.console()
    title = f"multivalid {settings.target} of {settings.label} for {len(made.groups)} groups ({settings.mode} mode)"
    out.print(title, markup=False, style="bold")
    if compared:
        before, after = compared
        times = f", {before.error / after.error:.1f} times less" if 0 < after.error < before.error else ""
        out.print(f"Worst group error on {before.table['rows'][0]:,} rows held out: {before.error:.3g} → {after.error:.3g}{times}.")
        out.print(show.before_after(before, after, made.property, top))
    for line in [*made.certificate.summary().splitlines(), *made.groups.notes, *written]:
        out.print(line, markup=False, soft_wrap=True)
