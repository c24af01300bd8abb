"""Rows in an engine, under the names that fits import them by."""

from multivalid.sources.bundling import Crowded, Grouped, expected_distinct
from multivalid.sources.engine import EngineSource as LazyRows

__all__ = ["Crowded", "Grouped", "LazyRows", "expected_distinct"]
