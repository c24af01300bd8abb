"""Predictions that are right on average for every group you name."""

from multivalid.properties import Mean

__all__ = ["Mean"]
