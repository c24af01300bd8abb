"""Σ weight·feature·feature' over rows: matrix products for features of every kind, counts of pairs of codes for coded groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from multivalid.practical.blocks import add_products
from multivalid.practical.data import LinkRows
from multivalid.practical.model import Model
from multivalid.properties.base import Array


class Products(NamedTuple):
    """The table (coefficients × coefficients), and Σ feature² without weights."""

    table: Array
    mass: Array


def products(model: Model, rows: LinkRows, span: slice, weigh: Callable[[Array, slice], Array]) -> Products:
    """Over the rows of `span`; `weigh` gives nonnegative weights from η and the rows of a chunk."""
    size, blocks, (first, last) = model.flat.values.size, rows.blocks, model.flat.cuts[1:3]
    at, codes, buffer = model.dense_at(blocks.line_at), blocks.coded and blocks.codes_of(span), None
    lines, mass = size - sum(block.size for block in codes), np.zeros(size)
    dense, crossed = np.zeros((lines, lines)), np.zeros((lines, last - first))
    pulls, weights = np.ones(span.stop - span.start), np.empty(span.stop - span.start)
    for part in rows.chunks(span):
        here, inside = blocks.part(part), slice(part.start - span.start, part.stop - span.start)
        eta, index, buffer = model.evaluate(rows.base[part], here, buffer)
        pull = model.chain(index, buffer)
        if pull is not None:
            pulls[inside] = pull
        weights[inside] = weigh(eta, part)
        mass[at] += np.einsum("ij,ij->i", buffer, buffer)
        root = np.sqrt(weights[inside])
        buffer *= root.astype(np.float32)
        dense += buffer @ buffer.T  # a matrix times itself: NumPy does half the work
        for block in here.coded:
            crossed[:, block.groups] += block.sums_of_lines(buffer * (root * pulls[inside]).astype(np.float32))
    if not codes:
        return Products(dense, mass)
    at, out = np.arange(size)[at], np.zeros((size, size))
    out[np.ix_(at, at)] = dense
    squares = pulls**2
    for block in codes:
        places = np.arange(first, last)[block.groups]
        out[np.ix_(at, places)] = crossed[:, block.groups]
        out[np.ix_(places, at)] = crossed[:, block.groups].T
        mass[first:last][block.groups] = block.sums(squares)
    add_products(out[first:last, first:last], codes, weights * squares)
    return Products(out, mass)
