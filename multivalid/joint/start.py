"""Where Algorithm 3 starts: the atoms of the rows, in the places that their predictions round to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.response import response
from multivalid.atoms.table import AtomTable, build
from multivalid.joint.plan import JointPlan
from multivalid.joint.sides import ConditionalSide, FirstSide, LabelRows, Side, TargetSide
from multivalid.joint.state import JointState
from multivalid.properties import Pair
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

Index = NDArray[np.intp]


def start_places(predictions: Array, plan: JointPlan) -> Index:
    """Both predictions rounded to their grids, as one number."""
    first, second = plan.grids
    return np.asarray(first.round(predictions[:, 0]) * len(second) + second.round(predictions[:, 1]))


def joint_state(rows: Rows, pair: Pair, plan: JointPlan) -> tuple[JointState, Index]:
    """Atoms of the rows, (combination of groups, level⁰, level¹), in their start places; and the atom of every row."""
    first, second = plan.grids
    answer = response(pair.first, first, rows.labels)
    bins, moments = answer.encode(rows.labels)
    place = start_places(rows.predictions, plan)
    table, row_atom = build(rows.membership.by_row(), place, bins, moments * rows.weights[:, None], rows.membership.groups)
    sides = FirstSide(table, answer, first, len(second)), _second_side(rows, pair, table, row_atom, plan)
    return JointState(table, sides), row_atom


def _second_side(rows: Rows, pair: Pair, table: AtomTable, row_atom: Index, plan: JointPlan) -> Side:
    by_atom = LabelRows(rows.labels, rows.weights, row_atom, len(table))
    if pair.has_target:
        return TargetSide(pair, by_atom, table.weight, *plan.grids)
    return ConditionalSide(pair, by_atom, *plan.grids)
