"""A lazy frame opened, under the name that fits import it by."""

from functools import partial

from multivalid.sources.engine_opening import open_engine

lazy_rows = partial(open_engine, weightless=True)

__all__ = ["lazy_rows"]
