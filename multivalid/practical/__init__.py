"""The default mode: predictions at the noise floor on rows nobody has seen."""
