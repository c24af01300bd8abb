"""A year of real flights, from a model to a report: `python -m multivalid.demo`."""
