"""Options that several commands share, each written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from multivalid.cli.csv_files import Layout
from multivalid.cli.reading import Data

Files = Annotated[
    list[str], typer.Argument(help="CSV or Parquet files, folders of them, or patterns in quotes.", metavar="DATA...")
]
Label = Annotated[str, typer.Option("--label", "-y", help="Column with the outcomes.")]
Prediction = Annotated[str, typer.Option("--prediction", "-p", help="Column with the model's predictions.")]
Predictions = Annotated[
    str, typer.Option("--prediction", "-p", help="Column with the model's predictions; for a pair two, with a comma between.")
]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--groups", "-g",
        help="For whom, repeatable: a predicate ('age >= 65'), a column, bins:COLUMN:NUMBER or with edges bins:COLUMN:18,25,45, "
        "of dates bins:COLUMN:month (year, weekday, hour), cross:COLUMN,COLUMN.",
    ),
]  # fmt: skip
Missing = Annotated[
    str, typer.Option("--missing", help="Rows without a value in a column of --groups: a group of their own, or ignore.")
]
Positive = Annotated[
    str | None, typer.Option("--positive", help="The label that counts as 1, such as '>50K'; all others count as 0.")
]
MissingRows = Annotated[
    str, typer.Option("--missing-rows", help="Rows without a label: refuse, or drop, which leaves them out and counts them.")
]
Prop = Annotated[str, typer.Option("--property", help="What is predicted: mean, quantile:0.9, expectile:0.8, …")]
Weight = Annotated[str | None, typer.Option("--weight", help="Column with weights.")]
Cluster = Annotated[str | None, typer.Option("--cluster", help="Column of clusters whose rows share their luck: days, customers.")]
Holdout = Annotated[
    str | None, typer.Option("--holdout", help="Rows to judge on: a share such as 0.3, a predicate, or a boolean column.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines and nothing else.")]
Fail = Annotated[
    float | None,
    typer.Option(
        "--fail-above",
        help="End with code 1 when a group is typically off by more than this, in the label's units, beyond chance "
        "(the lower 95 % limit of its rms).",
    ),
]
FailIfOff = Annotated[bool, typer.Option("--fail-if-off", help="End with code 1 when any group is off beyond chance.")]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write an HTML report here, and its numbers beside it to NAME.report.json.")
]
Top = Annotated[int, typer.Option("--top", help="How many groups to show.", min=1)]
Seed = Annotated[int, typer.Option("--seed", help="Seed of random draws.", min=0)]

Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Between the fields of a CSV file; that of its header if not given.")
]
Decimal = Annotated[str, typer.Option("--decimal", help="Decimal mark of a CSV file: a point or a comma.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Of a CSV file: utf-8, utf-16 or latin-1.")]
Null = Annotated[
    list[str] | None, typer.Option("--null", help="Text that stands for a missing value in a CSV file, such as NA; repeatable.")
]
Memory = Annotated[str, typer.Option("--memory", help="Memory for the engine; what does not fit goes to disk.")]


def _data(
    data: Files,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    null: Null = None,
    memory: Memory = "1GB",
) -> Data:
    return Data(data, Layout(delimiter, decimal, encoding, tuple(null or ())), memory)


def reads_data(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options that say what to read, in place of its parameter `data`."""
    own = inspect.signature(command).parameters
    reading = inspect.signature(_data).parameters
    parameters = [
        reading["data"],
        *(own[name] for name in own if name != "data"),
        *(reading[name] for name in reading if name != "data"),
    ]

    @wraps(command)
    def run(**given: Any) -> Any:
        source = _data(**{name: given.pop(name) for name in reading})
        return command(source, **given)

    hints = {**get_type_hints(command, include_extras=True), **get_type_hints(_data, include_extras=True)}
    run.__annotations__ = {parameter.name: hints[parameter.name] for parameter in parameters} | {"return": None}
    keywords = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name]) for parameter in parameters
    ]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return run
