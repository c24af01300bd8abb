"""Reading a predicate takes time in proportion to its length, for texts that are read and for texts that are refused."""

from __future__ import annotations

import contextlib
import time

from multivalid.errors import PredicateError
from multivalid.groups.predicate import parse

PIECES = ("x > 1 and ", "x in [1, 2, 3] or ", "x / (", "not ", "(", "x < ", "x + ", "`a b` == 'c' and ", "hour(t) > 1 and ", "-")
LENGTHS = (1_000, 2_000, 5_000, 10_000)


def repeated(piece: str, length: int) -> str:
    """Whole pieces, so that texts of all lengths are read or refused alike."""
    return piece * ((length - 6) // len(piece)) + " x > 1"


def texts(length: int) -> dict[str, str]:
    """Texts that are nasty in one way each."""
    items = (length - 10) // 6
    many = {f"{piece!r} again and again": repeated(piece, length) for piece in PIECES}
    return many | {
        "a list of numbers": f"x in [{', '.join(str(1000 + k % 9000) for k in range(items))}]",
        "a list of texts": f"x in [{', '.join(repr(f'{k:02x}'[-2:]) for k in range(items))}]",
        "a list that is not closed": f"x in [{', '.join(str(1000 + k % 9000) for k in range(items))}",
        "parentheses in pairs": " and ".join(["((x > 1))"] * ((length + 5) // 14)),
        "one string": f"x == '{'a' * (length - 8)}'",
        "a string that is not closed": f"x == '{'a' * (length - 7)}",
        "one name": f"{'a' * (length - 4)} > 1",
        "one number": f"x > {'1' * (length - 4)}",
        "spaces": f"x >{' ' * (length - 4)}1",
        "escapes in a string": "x == '" + "\\u0061" * ((length - 7) // 6) + "'",
    }


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
    print(f"{'text':34}" + "".join(f"{length:>9,}" for length in LENGTHS) + "   characters: ms; and the last against the first")
    rows = [texts(length) for length in LENGTHS]
    for name in rows[0]:
        took = [seconds(row[name]) for row in rows]
        print(f"{name:34}" + "".join(f"{1e3 * one:9.3f}" for one in took) + f"{took[-1] / took[0]:8.1f} times")


if __name__ == "__main__":
    main()
