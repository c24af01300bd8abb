"""Text files: how they are laid out, and where they are wrong."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from multivalid.cli.engine_names import column, file_name, literal
from multivalid.cli.exits import bad_data, one_line, usage

DELIMITERS = {",": ",", ";": ";", "|": "|", "tab": "\t", "\t": "\t"}
DECIMALS = (".", ",")
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16", "latin-1": "iso8859-1"}  # and what Python calls them
LONGEST_HEADER = 1 << 20  # characters
THOUSANDS = re.compile(r"\s*[-+]?\d{1,3}(,\d{3})+(\.\d*)|\s*[-+]?\d{1,3}(,\d{3}){2,}\s*")
COMMA_NUMBER = re.compile(r"\s*[-+]?[\d.]*\d?,\d+\s*")


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out; the delimiter is that of the header when it is not given."""

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    null: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise usage(f"--delimiter {self.delimiter!r} must be one of ',', ';', '|' or tab.")
        if self.decimal not in DECIMALS:
            raise usage(f"--decimal {self.decimal!r} must be '.' or ','.")
        if self.codec not in ENCODINGS.values():
            raise usage(f"--encoding {self.encoding!r} must be one of {', '.join(ENCODINGS)}.")

    @property
    def codec(self) -> str | None:
        """The encoding as Python calls it, whichever of its names was given: UTF8, iso-8859-1; None where there is none."""
        try:
            return codecs.lookup(self.encoding).name
        except LookupError:
            return None

    @property
    def engine_encoding(self) -> str:
        """The encoding as the engine calls it."""
        return next(name for name, codec in ENCODINGS.items() if codec == self.codec)


def as_parquet(connection: Any, files: Sequence[str], layout: Layout, numbers: Sequence[str], target: Path) -> str:
    """Text is read once, checked to the last row, and kept as Parquet for the passes that follow."""
    delimiter = _header(files[0], layout)
    for name in files[1:]:
        _header(name, layout)
    listed = ", ".join(file_name(name) for name in files)
    read = (
        f"read_csv([{listed}], header=true, delim={literal(delimiter)}, decimal_separator={literal(layout.decimal)}, "
        f"encoding={literal(layout.engine_encoding)}, nullstr=[{', '.join(map(literal, ('', *layout.null)))}], null_padding=false)"
    )
    try:
        connection.execute(f"COPY (SELECT * FROM {read}) TO {literal(str(target))} (FORMAT parquet)")
    except Exception as error:
        raise bad_data(_problem(files[0], str(error), delimiter, layout)) from None
    for name in numbers:
        _check_numeric(connection, files[0] if len(files) == 1 else "the files", target, name)
    return str(target)


def _open(name: str, layout: Layout) -> IO[str]:
    """The text of a file; a mark of the encoding at its start is no part of it."""
    unzip = gzip.open if name.lower().endswith(".gz") else open
    return unzip(name, "rt", encoding="utf-8-sig" if layout.codec == "utf-8" else layout.codec, newline="")


def _header(name: str, layout: Layout) -> str:
    """The delimiter of a file, after its header was found to be one."""
    try:
        with _open(name, layout) as file:
            text = file.readline(LONGEST_HEADER)
    except UnicodeError:
        raise bad_data(_not_text(name, layout)) from None
    except OSError as error:  # not a gzip file
        raise bad_data(f"{name} cannot be read: {error}.") from None
    delimiter = DELIMITERS[layout.delimiter] if layout.delimiter else _guess(text, name)
    _check_names(name, next(csv.reader([text], delimiter=delimiter), []))
    return delimiter


def _check_names(name: str, fields: Sequence[str]) -> None:
    """Refuse names that stand for two columns; SQL, which reads the file, does not tell capitals from small letters."""
    seen: dict[str, str] = {}
    for field in fields:
        other = seen.get(field.lower())
        if other is not None:
            clash = "more than once" if other == field else f"and {other!r}, which differ in capital letters alone"
            raise bad_data(f"{name}: the header has the column {field!r} {clash}; rename one of them.")
        seen[field.lower()] = field


def _guess(header: str, name: str) -> str:
    """The delimiter that splits the header into most fields; a tab for .tsv, a comma when nothing does."""
    unquoted = re.sub(r'"[^"]*"', "", header)
    default = "\t" if name.lower().endswith((".tsv", ".tsv.gz")) else ","
    return max([default, ",", ";", "\t", "|"], key=unquoted.count)


def _not_text(name: str, layout: Layout) -> str:
    unzip = gzip.open if name.lower().endswith(".gz") else open
    with unzip(name, "rb") as file:
        marked = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    hint = "it begins like UTF-16: add --encoding utf-16" if marked else "for Western European text add --encoding latin-1"
    return f"{name} is not {layout.encoding.upper()} text; {hint}."


def _check_numeric(connection: Any, source: str, target: Path, name: str) -> None:
    """A column that a stray text has made a text column: say where."""
    table = f"read_parquet({literal(str(target))})"
    rows = connection.sql(f"SELECT * FROM {table}")
    kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
    if kinds.get(name) != "VARCHAR":
        return
    text_of = column(name)
    bad = f"{text_of} IS NOT NULL AND TRY_CAST({text_of} AS DOUBLE) IS NULL"
    found = connection.sql(
        f"SELECT row, text FROM (SELECT row_number() OVER () AS row, {text_of} AS text, {bad} AS bad FROM {table}) "
        f"WHERE bad ORDER BY 1 LIMIT 1"
    ).fetchall()
    if found:
        row, text = found[0]
        raise bad_data(f"{source}, line {row + 1}: column {name!r} holds {text[:40]!r}, which is not a number; {_remedy(text)}.")


def _remedy(text: str) -> str:
    """What to do about a text where a number should be."""
    if THOUSANDS.fullmatch(text):
        return "write numbers without marks between thousands"
    if COMMA_NUMBER.fullmatch(text):
        return "for decimal commas add --decimal ,"
    return f"if it stands for a missing value, add --null {shlex.quote(text[:40])}"


def _problem(name: str, message: str, delimiter: str, layout: Layout) -> str:
    """What is wrong with a file that the engine refused."""
    line = re.search(r"on Line: (\d+)", message)
    reason = re.search(
        r"(Expected Number of Columns: \d+ Found: \d+|Could not convert [^\n]*|Error when converting [^\n]*)", message
    )
    if line and reason:
        return f"{name}, line {line.group(1)}: {reason.group(1).strip().lower().rstrip('.')}."
    return _uneven_row(name, delimiter, layout) or f"{name} cannot be read as CSV: {one_line(message)[:250]}"


def _uneven_row(name: str, delimiter: str, layout: Layout) -> str | None:
    """The first row with more or fewer fields than the header; looked for only when the engine could make nothing of the file."""
    with _open(name, layout) as file:
        reader = csv.reader(file, delimiter=delimiter)
        try:
            head = len(next(reader, []))
            for row in reader:
                if row and len(row) != head:
                    return f"{name}, line {reader.line_num}: {len(row)} fields where the header has {head}."
        except UnicodeError:
            return _not_text(name, layout)
        except csv.Error:
            return None
    return None
