"""Formulas of rows as steps of plain arithmetic, for a compiled loop."""
