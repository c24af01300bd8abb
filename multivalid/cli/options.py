"""Options that several commands share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
        help="For whom, repeatable: a predicate ('age >= 65'), a column, bins:COLUMN:NUMBER, cross:COLUMN,COLUMN.",
    ),
]  # fmt: skip
Prop = Annotated[str, typer.Option("--property", help="What is predicted: mean, quantile:0.9, expectile:0.8, …")]
Weight = Annotated[str | None, typer.Option("--weight", help="Column with weights.")]
Holdout = Annotated[
    str | None, typer.Option("--holdout", help="Rows to judge on: a share such as 0.3, a predicate, or a boolean column.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines and nothing else.")]
Fail = Annotated[float | None, typer.Option("--fail-above", help="End with code 1 when the worst group's error is above this.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write an HTML report here.")]
Memory = Annotated[str, typer.Option("--memory", help="Memory for the engine; what does not fit goes to disk.")]
Top = Annotated[int, typer.Option("--top", help="How many groups to show.", min=1)]
Seed = Annotated[int, typer.Option("--seed", help="Seed of random draws.")]
