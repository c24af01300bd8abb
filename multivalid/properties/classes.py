"""The probabilities of several classes, which must sum to one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, or_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Property
from multivalid.properties.moment import EventProbability
from multivalid.properties.ops import Ops
from multivalid.properties.target import Keep, OwnColumn, Target, as_it_is

LEAST = 1e-7  # a probability below this loses no more than this one: one row must not outweigh all others
SUM_SLACK = 1e-6  # shares that sum to one within this are taken as they are: float32 models are off by as much


@dataclass(frozen=True, init=False)
class Classes(Target):
    """The probability of each of two or more classes; a prediction has one column per class, in the order given, and sums to one.

    V of class j is its predicted probability less 1[label is class j]. Labels are the classes themselves (text, or whole numbers);
    `check_labels` turns them into the codes 0, 1, 2, … with which V and S are evaluated. `mend` divides each row by its sum.

    Examples
    --------
    >>> import numpy as np
    >>> kinds = Classes(["a", "b", "c"])
    >>> kinds.residuals([[0.2, 0.5, 0.3]], ["b"])
    array([[ 0.2, -0.5,  0.3]])
    >>> kinds.breaks(np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.4]]))
    array([False,  True])
    >>> kinds.mend(np.array([[1.0, 2.0, 1.0]]))
    array([[0.25, 0.5 , 0.25]])
    """

    classes: tuple[Hashable, ...]

    names_labels = True
    coupled = True

    def __init__(self, classes: Iterable[Hashable]) -> None:
        if isinstance(classes, (str, bytes)) or not np.iterable(classes):
            raise InputError(f'classes must be a list such as ["a", "b", "c"], got {classes!r}.')
        names = tuple(_class_name(value, i) for i, value in enumerate(classes))
        if len(names) < 2:
            raise InputError(f"classes must name at least two classes, got {list(names)!r}.")
        if len({type(name) for name in names}) > 1:
            raise InputError(f"classes must be all text or all whole numbers, got {list(names)!r}.")
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise InputError(f"classes must be distinct, but {twice!r} comes twice.")
        object.__setattr__(self, "classes", names)

    def __repr__(self) -> str:
        return f"Classes([{', '.join(map(repr, self.classes))}])"

    @property
    def properties(self) -> tuple[Property, ...]:
        """One event per column: that the code of the label is the column's number."""
        return tuple(EventProbability(code, code) for code in range(len(self.classes)))

    @property
    def coordinates(self) -> tuple[OwnColumn, ...]:
        return tuple(OwnColumn(prop, i, str(self.classes[i])) for i, prop in enumerate(self.properties))

    @property
    def spec(self) -> str | None:
        """Text that `parse_any` reads back; None where a class could not be told from the text around it."""
        names = [str(name) for name in self.classes]
        plain = all(name and name == name.strip() and not set(name) & set(",:") for name in names)
        back = plain and tuple(map(read_class, names)) == self.classes
        return f"classes:{','.join(names)}" if back else None

    @property
    def why_no_spec(self) -> str:
        return (
            f"{self!r} has class names that a model file cannot hold (with a comma, a colon, or spaces at an end, or text "
            f"that reads as a number); rename the classes before the fit."
        )

    def check_labels(self, values: Any, name: str = "y_true") -> Array:
        """The code of each label, its place among the classes; a label that is no class is an error.

        Examples
        --------
        >>> Classes(["a", "b"]).check_labels(["b", "a", "b"])
        array([1., 0., 1.])
        """
        labels = np.asarray(values)
        if labels.ndim != 1 or labels.size == 0:
            raise InputError(f"{name} must be one column with at least one row, got an array of shape {labels.shape}.")
        codes: dict[Any, float] = {known: float(code) for code, known in enumerate(self.classes)}
        values = labels.tolist()
        code_of = {value: codes.get(_plain(value), -1.0) for value in set(values)}
        found = np.array([code_of[value] for value in values])
        unknown = np.flatnonzero(found < 0)
        if unknown.size:
            value = values[unknown[0]]
            raise InputError(
                f"{name} must hold one of the classes {', '.join(map(repr, self.classes))}: {unknown.size} rows do not, the first at "
                f"row {unknown[0]} ({value!r:.60}); add it to the classes, or leave those rows out."
            )
        return found

    def label_code(self, ops: Ops, label: Any) -> Any:
        code = ops.filled(-1.0, label)
        for number, known in enumerate(self.classes):
            code = ops.where(label == known, float(number), code)
        return code

    def check_predictions(self, predictions: Any, name: str = "y_pred") -> Array:
        """Probabilities as (rows, classes); below 0, above 1 or all 0 is an error, a sum other than one is counted by `breaks`."""
        table = super().check_predictions(predictions, name)
        bad = np.argwhere((table < 0) | (table > 1))
        if bad.size:
            row, column = (int(at) for at in bad[0])
            raise InputError(
                f"{name} must hold probabilities between 0 and 1: {len(bad)} do not, the first at row {row} for class "
                f"{self.classes[column]!r} ({table[row, column]:g}); pass predict_proba, not scores or per cent."
            )
        empty = np.flatnonzero(~(table > 0).any(axis=1))
        if empty.size:
            raise InputError(f"{name} gives probability 0 to every class in {empty.size} rows, the first at row {empty[0]}.")
        return table

    def check_ends(self, ends: Sequence[tuple[float, float]], name: str = "y_pred") -> None:
        for known, (low, high) in zip(self.classes, ends, strict=True):
            if low < 0 or high > 1:
                raise InputError(
                    f"{name} must hold probabilities between 0 and 1, but those of class {known!r} go from {low:g} to {high:g}; pass "
                    f"predict_proba, not scores or per cent."
                )

    def solve(self, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """The share of each class among the labels."""
        codes = self.check_labels(labels, "labels")
        weights = validate.weights(sample_weight, codes.size)
        weights = weights / weights.max()
        totals = np.bincount(codes.astype(np.intp), weights=weights, minlength=len(self.classes))
        return np.asarray(totals / totals.sum())

    def log_loss(self, predictions: ArrayLike, labels: ArrayLike) -> Array:
        """−log of the probability given to the label's class, row by row; infinite where that is 0."""
        table, codes = self.check_predictions(predictions), self.check_labels(labels)
        validate.same_length(codes, len(table), "labels", "predictions")
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(table[np.arange(len(table)), codes.astype(np.intp)]))

    def losses(self, predictions: Array, codes: Array) -> Array:
        """The log loss of codes that `check_labels` has seen, at most that of a probability of 1e-7."""
        chosen = np.asarray(predictions)[np.arange(codes.size), codes.astype(np.intp)]
        return np.asarray(-np.log(np.maximum(chosen, LEAST)))

    def broken(self, rows: int, among: int) -> str:
        return f"In {rows:,} of {among:,} rows the probabilities of the classes do not sum to one." if rows else ""

    def breaking(self, ops: Ops, columns: Sequence[Any]) -> Any:
        outside = reduce(or_, ((column < 0) | (column > 1) for column in columns))
        return outside | (ops.absolute(reduce(add, columns) - 1) > SUM_SLACK)

    def constrained(self, ops: Ops, columns: Sequence[Any], keep: Keep = as_it_is) -> list[Any]:
        """Each class divided by the sum of all; even shares where nothing was said of any class."""
        inside = [ops.maximum(column, 0.0) for column in columns]
        total = keep(len(inside), sum(inside[1:], inside[0]))
        return [
            ops.where(total > 0, column / ops.where(total > 0, total, 1.0), ops.filled(1 / len(inside), total)) for column in inside
        ]


def read_class(text: str) -> Hashable:
    """A class in a text such as "classes:0,1,2": a whole number where it reads as one, else the text itself."""
    return int(text) if text.lstrip("-").isdecimal() and str(int(text)) == text else text


def _class_name(value: Any, place: int) -> Hashable:
    plain = _plain(value)
    if isinstance(plain, bool) or not isinstance(plain, (str, int)) or isinstance(value, float) or plain == "":
        raise InputError(f"classes[{place}] must be text or a whole number, and not empty, got {value!r}.")
    return plain


def _plain(value: Any) -> Any:
    """A NumPy number or text as a Python one; 2.0 is 2, as columns with missing values turn whole numbers into floats."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
