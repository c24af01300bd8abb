"""Groups that nobody named: found in columns, tested on other rows, told in words."""
