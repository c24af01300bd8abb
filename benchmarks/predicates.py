"""Reading a predicate takes time in proportion to its length, for texts that are read and for texts that are refused."""

from __future__ import annotations

import contextlib
import time

from multivalid.errors import PredicateError
from multivalid.groups.predicate import parse

PIECES = ("x > 1 and ", "x in [1, 2, 3] or ", "x / (", "not ", "(", "x < ", "x + ", "`a b` == 'c' and ", "hour(t) > 1 and ", "-")
LENGTHS = (1_250, 2_500, 5_000, 10_000)


def seconds(text: str) -> float:
    """CPU seconds, the best of fifteen."""
    best = float("inf")
    for _ in range(15):
        start = time.process_time()
        with contextlib.suppress(PredicateError):
            parse(text)
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    print(f"{'text of':24}" + "".join(f"{length:>10,}" for length in LENGTHS) + "   ms; last: 10,000 against 1,250 characters")
    for piece in PIECES:
        texts = [piece * ((length - 6) // len(piece)) + " x > 1" for length in LENGTHS]  # whole pieces: read or refused alike
        took = [seconds(text) for text in texts]
        print(f"{piece!r:24}" + "".join(f"{1e3 * one:10.2f}" for one in took) + f"{took[-1] / took[0]:10.1f} times")


if __name__ == "__main__":
    main()
