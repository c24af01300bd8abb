"""Sums over (level × group), under the name that fits import them by."""

from multivalid.cells.tabulate import group_sums, tabulate

__all__ = ["group_sums", "tabulate"]
