"""A time limit that holds even against a function that never returns."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run(work: Callable[[threading.Event], None], seconds: float | None) -> bool:
    """Run work(stop) for at most `seconds` and say whether it finished; without a limit it runs in this thread.

    The work runs in a daemon thread, which is asked to stop by the event and otherwise abandoned: Python cannot end a thread that
    does not listen, but a daemon thread keeps neither the caller nor the interpreter's exit waiting. Only code that never lets go
    of the interpreter lock (a C loop that holds it) can break the limit.

    Examples
    --------
    >>> import time
    >>> run(lambda stop: None, 1.0), run(lambda stop: time.sleep(60), 0.05)
    (True, False)
    """
    stop = threading.Event()
    if seconds is None:
        work(stop)
        return True
    worker = threading.Thread(target=work, args=(stop,), name="multivalid-search", daemon=True)
    worker.start()
    worker.join(seconds)
    stop.set()
    return not worker.is_alive()
