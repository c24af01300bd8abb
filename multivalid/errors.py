"""The errors this library raises: always one of these, each naming the argument, the rule, the value got and a way out."""

from __future__ import annotations


class MultivalidError(Exception):
    """Root of every error the library raises on purpose.

    Examples
    --------
    >>> from multivalid import Quantile
    >>> try:
    ...     Quantile(90)
    ... except MultivalidError as error:
    ...     print(error)
    tau must be strictly between 0 and 1, got 90; for 90 % write 0.9.
    """


class InputError(MultivalidError, ValueError):
    """An argument breaks a rule: the message says which argument, the rule, the value got and what to do."""


class PredicateError(InputError):
    """A group predicate cannot be read; the message points at the column of the text that is wrong."""


class PropertyError(InputError):
    """A property breaks one of its laws (orientation, monotonicity, agreement of score and identification)."""


class ScopeError(InputError):
    """The request is impossible for this property; the message is the scope verdict and names the partner that works."""


class ModelFileError(InputError):
    """A saved model cannot be read: another version, a damaged file, or a value out of range."""


class NotFittedError(MultivalidError, AttributeError):
    """Something was asked of an object that has not been fitted."""
