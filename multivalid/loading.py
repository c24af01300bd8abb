"""`load`: the model that a file holds, whatever kind it is of."""

from __future__ import annotations

import os
from importlib import import_module
from operator import attrgetter
from typing import Any

from multivalid.errors import ModelFileError
from multivalid.storage import read_json

# Where each kind is read; only the part that a file needs is imported.
READERS = {
    "multivalid.calibration": ("multivalid.calibration", "Calibration.from_json"),
    "multivalid.joint_calibration": ("multivalid.several_calibration", "JointCalibration.from_json"),
    "multivalid.several_calibration": ("multivalid.several_calibration", "SeveralCalibration.from_json"),
    "multivalid.monitor": ("multivalid.online.monitor_state", "from_json"),
    "multivalid.online": ("multivalid.online.state", "from_json"),
}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; a damaged, edited or foreign file is refused with the reason.

    Returns
    -------
    Calibration, JointCalibration, SeveralCalibration, OnlineMulticalibrator or Monitor, whichever was saved

    Examples
    --------
    >>> load("no such file")
    Traceback (most recent call last):
    multivalid.errors.ModelFileError: cannot read no such file: No such file or directory.
    """
    content = read_json(path)
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in READERS:
        raise ModelFileError(f"{path} holds a {kind!r}, not one of {', '.join(READERS)}.")
    module, reader = READERS[kind]
    return attrgetter(reader)(import_module(module))(content)
