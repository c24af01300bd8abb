"""One thread for BLAS while it pays, counted: the limit is a setting of the whole process, and several fits may run at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread inside; the first to come sets the limit, the last to go gives back what was there before.

    Each user setting and restoring the limit on its own would leave the process at one thread: a second fit would take the first
    one's limit for the state to restore.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = threadpool_limits(1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
                _limit = None
