"""Several threads at once leave the process as they found it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_info, threadpool_limits

from multivalid.threads import one_blas_thread


def blas() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_limits_are_counted() -> None:
    """Three overlapping users, the first gone before the last: each on its own would have left one thread."""
    with threadpool_limits(2, user_api="blas"):
        before, meet = blas(), threading.Barrier(3)

        def work(k: int) -> None:
            with one_blas_thread():
                meet.wait()

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, range(3)))
        assert blas() == before
