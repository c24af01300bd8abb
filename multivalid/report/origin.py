"""Where the numbers of a report come from: the frame, the columns, the day."""

from __future__ import annotations

import importlib
import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np


def origin(y_true: Any, y_pred: Any, data: Any, sample_weight: Any = None, cluster: Any = None) -> dict[str, str]:
    """What a reader needs to find the rows again: the kind of frame and the names of its columns; arrays have no names.

    Examples
    --------
    >>> import pandas as pd
    >>> origin("y", ["low", "high"], pd.DataFrame({"y": [1.0]}))
    {'data': 'pandas DataFrame', 'outcome': 'y', 'prediction': 'low, high'}
    >>> origin([0, 1], [0.5, 0.5], None)
    {'data': 'arrays'}
    """
    kind = type(data)
    made = {"data": "arrays" if data is None else f"{kind.__module__.split('.')[0].lstrip('_')} {kind.__name__}"}
    for name, value in (("outcome", y_true), ("prediction", y_pred), ("weight", sample_weight), ("cluster", cluster)):
        if isinstance(value, str):
            made[name] = value
        elif isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value):
            made[name] = ", ".join(value)
    return made


def made_with() -> dict[str, str]:
    """The day on which the page was written (UTC), and with which versions."""
    return {
        "written": datetime.now(UTC).date().isoformat(),
        "multivalid": importlib.import_module("multivalid").__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
