"""Calibration kept up online: one outcome at a time, against whatever comes."""

from multivalid.online import minimax
from multivalid.online.durable import DurableMulticalibrator, StorageError, copy_state
from multivalid.online.learner import OnlineMulticalibrator
from multivalid.online.play import Ticket
from multivalid.online.reading import Alarm
from multivalid.online.state import from_json, load

__all__ = [
    "Alarm",
    "DurableMulticalibrator",
    "OnlineMulticalibrator",
    "StorageError",
    "Ticket",
    "copy_state",
    "from_json",
    "load",
    "minimax",
]
