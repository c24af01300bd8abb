"""Rows of a lazy frame to keep out of a fit: those that a condition names, or a share of all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import narwhals as nw

from multivalid import validate
from multivalid.atoms.frame_columns import Look
from multivalid.atoms.names import CLUSTER, HELD, LABEL, PREDICTION, WEIGHT
from multivalid.errors import InputError
from multivalid.groups.remote import Frame
from multivalid.sources.marks import where
from multivalid.sources.sides import Draws, Side
from multivalid.sources.stored import stored

if TYPE_CHECKING:
    from multivalid.sources.engine_rows import EngineRows
    from multivalid.sources.totals import Totals

Rows = TypeVar("Rows", bound="EngineRows")


def held_out(rows: Rows, holdout: Any, seed: int = 0) -> tuple[Rows, Rows | None]:
    """Rows to fit and rows to judge on; `holdout` is a predicate, a boolean column, or a share."""
    if holdout is None:
        return rows, None
    marked, folder = rows.frame, None
    if rows.marked is not None and rows.marked.holdout == holdout:  # when the rows were opened
        totals = rows.marked.fitted, rows.marked.held
    else:
        if isinstance(holdout, str):
            marked = marked.with_columns(where(holdout, rows.frame).alias(HELD))
        else:
            marked = drawn(marked, validate.fraction(holdout, "holdout"), seed, [*rows.groups.columns] or [LABEL])
            marked, folder = stored(marked, _needed(rows), len(rows))
        look = Look.at(marked, [HELD], plain=rows.plain)
        totals = look.seen(False).totals(), look.seen(True).totals()
    both = rows if marked is rows.frame else replace(rows, frame=marked, copies={})  # copies are of other sides
    draws = Draws(marked, totals[0].rows + totals[1].rows, folder)
    return (
        _part(both, Side(draws, held=False), totals[0], f"holdout={holdout!r} leaves no rows to fit"),
        _part(both, Side(draws, held=True), totals[1], f"holdout={holdout!r} leaves no rows held out"),
    )


def _part(rows: Rows, side: Side, totals: Totals, nobody: str) -> Rows:
    """The rows to fit, or those held out, whose totals are known."""
    if totals.weight == 0:
        raise InputError(f"{nobody}; there are {len(rows)} rows.")
    copies = {side.held: rows.copies[side.held]} if side.held in rows.copies else {}
    return replace(
        rows, frame=rows.frame.filter(side.condition), totals=totals, marked=None, side=side, remembered={}, copies=copies
    )


def _needed(rows: EngineRows) -> list[str]:
    """The columns that a fit and an audit look at."""
    keys = () if rows.lines is None else rows.lines.keys
    others = [CLUSTER] if rows.cluster is not None else []
    return list(dict.fromkeys([LABEL, PREDICTION, WEIGHT, *rows.groups.columns, *keys, *others, HELD]))


def drawn(frame: Frame, share: float, seed: int, apart: list[str]) -> Frame:
    """The frame with a boolean column for a share of its rows, the same rows on every engine and in every query.

    Rows have no numbers here, and no engine promises to hand them out twice in the same order. So a row is known by what is in it:
    label, prediction and weight, and among rows that agree in these its place in the order of the columns `apart`. Rows that agree
    in those too can take each other's place without any sum noticing. All of it is arithmetic that engines do alike.
    """
    if frame.implementation.is_dask():
        raise InputError(
            f"holdout={share:g}: Dask cannot number rows within equal ones, so it cannot draw a share that every query sees alike; name a "
            f'boolean column, or give a predicate such as "day >= 300", for the rows to hold out.'
        )
    known = [LABEL, PREDICTION, WEIGHT]
    place = nw.col(LABEL).cum_count().over(*known, order_by=apart).cast(nw.Float64)
    return frame.with_columns((_uniform([*(nw.col(name) for name in known), place], seed) < share).alias(HELD))


# Square roots of primes: multiples of them fill the unit interval evenly.
_ROOTS = (1.4142135623730951, 1.7320508075688772, 2.23606797749979, 2.6457513110645907, 3.3166247903554)


def _uniform(values: list[nw.Expr], seed: int) -> nw.Expr:
    """A number in [0, 1) that looks random, from the values alone."""
    mixed = nw.lit((seed * _ROOTS[-1]) % 1.0, dtype=nw.Float64)
    for value, root in zip(values, _ROOTS, strict=False):
        mixed = _fraction(_fraction(value * root) * 8191.0 + mixed * 131.0)
    for factor in (7919.0, 104729.0):
        mixed = _fraction((mixed + 0.37) * (mixed + 1.61) * factor)
    return mixed


def _fraction(value: nw.Expr) -> nw.Expr:
    return value - value.floor()
