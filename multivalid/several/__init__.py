"""Predictions of several columns under one constraint: quantiles that never cross, probabilities that sum to one."""
