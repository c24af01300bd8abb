"""multivalid scope: what can be calibrated."""

from __future__ import annotations

from typing import Annotated

import typer

import multivalid as mv
from multivalid.cli import options
from multivalid.cli.exits import usage
from multivalid.cli.json_output import print_json


def scope(
    property: Annotated[str, typer.Argument(help="A property, such as quantile:0.9, variance, cvar:0.9.")],
    json: options.Json = False,
) -> None:
    """Can this property be calibrated alone, only with a partner, or not at all?

    Example: multivalid scope variance
    """
    try:
        verdict = mv.scope(property)
    except mv.MultivalidError as error:
        raise usage(str(error)) from None
    if json:
        print_json({name: getattr(verdict, name, None) for name in ("status", "reason", "partner", "hypotheses", "cite")})
    else:
        typer.echo(str(verdict))
