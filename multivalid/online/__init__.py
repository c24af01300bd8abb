"""Calibration kept up online: one outcome at a time, against whatever comes."""

from multivalid.online import minimax
from multivalid.online.classic.reading import Alarm
from multivalid.online.durable import DurableMulticalibrator
from multivalid.online.durable_monitor import DurableMonitor
from multivalid.online.learner import OnlineMulticalibrator
from multivalid.online.monitor import GroupAlarm, Monitor
from multivalid.online.state import from_json, load
from multivalid.online.state_file import StorageError, copy_state
from multivalid.online.tickets import Ticket

__all__ = [
    "Alarm",
    "DurableMonitor",
    "DurableMulticalibrator",
    "GroupAlarm",
    "Monitor",
    "OnlineMulticalibrator",
    "StorageError",
    "Ticket",
    "copy_state",
    "from_json",
    "load",
    "minimax",
]
