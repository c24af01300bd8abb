"""Loops in C, all in one small library; each has a NumPy twin of the same answers beside its caller, used where there is no library."""
