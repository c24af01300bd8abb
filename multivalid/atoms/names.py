"""The columns that a frame has under our names while it is worked on."""

from __future__ import annotations

LABEL, PREDICTION, WEIGHT, CLUSTER = "__mv_label", "__mv_prediction", "__mv_weight", "__mv_cluster"
HELD = "__mv_held"  # whether a row is kept out of a fit
BEFORE = "__mv_before"  # the predictions that others were made of
