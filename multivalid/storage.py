"""Models on disk: one JSON file with a kind, a version and a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

from multivalid.errors import InputError, ModelFileError

LARGEST = 1 << 30  # bytes


def write_json(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write `content` with its checksum to a temporary name beside `path`, then rename: never a half-written file."""
    body = json.dumps({**content, "checksum": checksum(content)}, ensure_ascii=False, allow_nan=False, indent=1)
    write_text(path, body + "\n")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text to a temporary name beside `path`, then rename."""
    from pathlib import Path  # a program that only reads need not wait for it

    target = Path(os.path.realpath(path))  # through a link: the file it points to changes, the link stays
    temporary = target.parent / f".{target.name[:100]}.{os.urandom(8).hex()}.tmp"
    try:
        try:
            # New, and readable for whom the user's other files are: asking for that mode would set it for all threads for a moment.
            with open(temporary, "x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                os.chmod(temporary, target.stat().st_mode & 0o777)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}.") from None


def refuse_model(path: str | os.PathLike[str]) -> None:
    """Refuse to put something else where a model lies."""
    if os.path.exists(path) and os.fspath(path).lower().endswith(".json"):
        try:
            read_json(path)
        except ModelFileError:
            return
        raise InputError(f"{os.fspath(path)} holds a saved model, which a report would overwrite; choose another name.")


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_json` wrote; anything else is a `ModelFileError` with the reason."""
    source = os.fspath(path)
    try:
        if os.stat(source).st_size > LARGEST:
            raise ModelFileError(f"{source} is larger than a model can be ({LARGEST:,} bytes).")
        with open(source, "rb") as file:
            body = file.read()
    except OSError as error:
        raise ModelFileError(f"cannot read {source}: {error.strerror or error}.") from None
    return decode(body, str(source))


def decode(body: bytes, source: str) -> dict[str, Any]:
    """The content of a model file, its checksum compared and taken off."""
    try:
        content = json.loads(body.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_no_duplicates)
    except UnicodeDecodeError:
        raise ModelFileError(f"{source} is not a model: it is not UTF-8 text.") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{source} is not a model: {error}.") from None
    if not isinstance(content, dict) or "checksum" not in content:
        raise ModelFileError(f"{source} is not a model: the checksum is missing.")
    stored = content.pop("checksum")
    if stored != checksum(content):
        raise ModelFileError(f"{source} is damaged or was edited: its checksum does not match.")
    return content


def is_number(value: Any) -> bool:
    """Whether a value read from JSON is a number that fits a float (a whole number may have any number of digits)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def checksum(content: dict[str, Any]) -> str:
    """SHA-256 of the content in a canonical form."""
    try:
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not a model: {error}.") from None
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field stands twice")
    return made
