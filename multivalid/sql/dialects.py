"""How four databases write the same thing: names, constants, missing values, and a chain of computed columns."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from multivalid.errors import InputError
from multivalid.sql.search import by_runs

EXACT_INTEGER = 1 << 53  # whole numbers up to here are the same in float64
SHORT_LIST = 3  # entries up to which comparisons are as fast as a list
SPARSE = 4  # a list may have this many places for each that holds something
SHORT = 15  # decimal digits that every reader of decimals turns into the nearest float64


class Dialect(ABC):
    """One database's way of writing; `chain` puts the stages of a computation together."""

    name: ClassVar[str]
    double: ClassVar[str] = "DOUBLE"
    quote_mark: ClassVar[str] = '"'

    def quote(self, name: str) -> str:
        """A column or table name, whatever characters it has."""
        if "\x00" in name or not name:
            raise InputError(f"{name!r} cannot be a name in SQL: it is empty or has a zero byte.")
        mark = self.quote_mark
        return mark + name.replace(mark, mark * 2) + mark

    def text(self, value: str) -> str:
        """A constant text."""
        if "\x00" in value:
            raise InputError(f"{value!r} cannot be a text in SQL: it has a zero byte.")
        return "'" + value.replace("'", "''") + "'"

    @abstractmethod
    def number(self, value: float) -> str:
        """A float64 constant, to the last bit."""

    def constant(self, value: int | float | str | bool) -> str:
        """A constant of a predicate, of its own kind."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        return self.text(value) if isinstance(value, str) else self.number(value)

    def as_double(self, expression: str) -> str:
        """A column as float64."""
        return f"CAST({expression} AS {self.double})"

    @abstractmethod
    def is_nan(self, column: str) -> str:
        """Whether a column of any type holds a float that is not a number, which counts as missing; never null."""

    def is_instant(self, column: str) -> str | None:
        """Whether a column of any type holds points in time, which are shown in the zone of the session; None where none does."""
        return None

    def ordered(self, text: str) -> str:
        """Text in the order of its code points, where the database has other orders."""
        return text

    @abstractmethod
    def date_part(self, part: str, column: str) -> str:
        """Year, month, weekday (1 is Monday) or hour of dates or times; an instant is read in UTC, not in the session's zone."""

    def exp(self, value: str) -> str:
        return f"EXP({value})"

    def log(self, value: str) -> str:
        return f"LN({value})"

    def values(self, name: str, columns: Sequence[str], rows: Sequence[str]) -> str:
        """A common table expression that holds constants."""
        return f"{name}({', '.join(columns)}) AS (VALUES {', '.join(rows)})"

    def look_up(self, place: str, table: Mapping[int, str], otherwise: str, size: int) -> str:
        """The table's text at a whole number from −1 to size − 1, `otherwise` where it has none."""
        return by_runs(place, table, otherwise)

    def text_place(self, chain: Chain, column: str, constants: Sequence[str]) -> str:
        """The place of a text among many constants in increasing order, −1 where it is none of them: by a join."""
        name = f"mv_v{len(chain.joins)}"
        chain.tables.append(self.values(name, ["k", "code"], [f"({c}, {k})" for k, c in enumerate(constants)]))
        chain.joins.append(f"LEFT JOIN {name} ON {column} = {name}.k")
        return f"COALESCE({name}.code, -1)"

    @abstractmethod
    def select(self, chain: Chain) -> str:
        """The whole statement."""


class Chain:
    """What a statement computes: stages of named columns, each made from the columns of the table and of the stages before it.

    Computed columns are called `mv_…`; a later stage may give a column of that name a new value.

    Attributes
    ----------
    table : str
        The table as the statement names it.
    tables : list of str
        Constant tables, as common table expressions.
    joins : list of str
        LEFT JOIN clauses of the first stage.
    stages : list of dicts, name → expression
        Columns of the table are written `src.name`, in the first stage only; computed ones by their own names.
    outputs : dict, name → expression
        What is handed out, beside all columns of the table.
    """

    def __init__(self, table: str) -> None:
        self.table = table
        self.tables: list[str] = []
        self.joins: list[str] = []
        self.stages: list[dict[str, str]] = []
        self.outputs: dict[str, str] = {}

    @property
    def source(self) -> str:
        """The table and what is joined to it."""
        return f"{self.table} AS src" + "".join(f"\n  {join}" for join in self.joins)

    def selected(self) -> list[list[str]]:
        """What each stage selects: its own columns, and those of earlier stages that later ones still use."""
        needed = _compute(self.outputs.values())
        lists: list[list[str]] = []
        for stage in reversed(self.stages):
            carried = sorted(needed - set(stage))
            lists.append([*carried, *(f"{expression} AS {name}" for name, expression in stage.items() if name in needed)])
            needed = set(carried) | _compute(expression for name, expression in stage.items() if name in needed)
        return lists[::-1]

    def listed_outputs(self) -> str:
        """The last lines of a statement."""
        return ",\n  ".join(f"{expression} AS {name}" for name, expression in self.outputs.items())


def _compute(expressions: Iterable[str]) -> set[str]:
    return {name for expression in expressions for name in _COMPUTED.findall(expression)}


_COMPUTED = re.compile(r"(?<![\w.`\"'])mv_[a-z]+\d*(?![\w.`\"'])")


class RowCarrier(Dialect):
    """A database where a row of the table can travel whole through the stages, to be taken apart at the end.

    Nothing then has to be known of the table's other columns, and no computed column is left among them.
    """

    whole_row: ClassVar[str]
    unfolded: ClassVar[str] = "mv_row.*"
    hint: ClassVar[str] = ""

    def select(self, chain: Chain) -> str:
        layers = list(chain.tables)
        for k, columns in enumerate(chain.selected()):
            listed = ",\n    ".join([f"{self.whole_row} AS mv_row" if k == 0 else "mv_row", *columns])
            source = chain.source if k == 0 else f"mv_stage{k - 1}"
            layers.append(f"mv_stage{k} AS {self.hint}(\n  SELECT\n    {listed}\n  FROM {source})")
        last = f"mv_stage{len(chain.stages) - 1}"
        return "WITH " + ",\n".join(layers) + f"\nSELECT\n  {self.unfolded},\n  {chain.listed_outputs()}\nFROM {last}"


class DuckDB(RowCarrier):
    name = "duckdb"
    whole_row = "src"

    def number(self, value: float) -> str:
        return _with_exponent(value)  # without an exponent it would be a decimal

    def date_part(self, part: str, column: str) -> str:
        # Nanoseconds are rounded to the nearest microsecond, which may lie in the next hour.
        over = f"CASE WHEN typeof({column}) = 'TIMESTAMP_NS' AND CAST({column} AS TIMESTAMP) > {column} THEN 1 ELSE 0 END"
        return f"{'isodow' if part == 'weekday' else part}(make_timestamp(epoch_us({column}) - {over}))"

    def look_up(self, place: str, table: Mapping[int, str], otherwise: str, size: int) -> str:
        # An element of a constant list costs one step, where a row would pass log₂ of the size comparisons.
        if size <= SHORT_LIST or size > SPARSE * len(table):
            return super().look_up(place, table, otherwise, size)
        listed = ", ".join(table.get(k, otherwise) for k in range(-1, size))
        return f"([{listed}])[CAST({place} AS INTEGER) + 2]"

    def text_place(self, chain: Chain, column: str, constants: Sequence[str]) -> str:
        # The constants of an enumeration are hashed. A join would not do: an aggregate over the statement would be pushed below it,
        # and planned for minutes.
        return f"COALESCE(CAST(enum_code(TRY_CAST(CAST({column} AS VARCHAR) AS ENUM ({', '.join(constants)}))) AS INTEGER), -1)"

    def is_nan(self, column: str) -> str:
        return f"(typeof({column}) IN ('DOUBLE', 'FLOAT') AND isnan(TRY_CAST({column} AS DOUBLE)))"

    def is_instant(self, column: str) -> str:
        return f"typeof({column}) = 'TIMESTAMP WITH TIME ZONE'"


class Spark(RowCarrier):
    name = "spark"
    quote_mark = "`"
    whole_row = "struct(src.*)"

    def text(self, value: str) -> str:
        return "'" + super().text(value)[1:-1].replace("''", "'").replace("\\", "\\\\").replace("'", "\\'") + "'"

    def number(self, value: float) -> str:
        return _with_exponent(value) + "D"

    def is_nan(self, column: str) -> str:
        return f"(typeof({column}) IN ('double', 'float') AND COALESCE(isnan(try_cast({column} AS DOUBLE)), FALSE))"

    def is_instant(self, column: str) -> str:
        return f"typeof({column}) = 'timestamp'"

    def date_part(self, part: str, column: str) -> str:
        function = "1 + weekday" if part == "weekday" else part
        shifted = f"to_utc_timestamp({column}, current_timezone())"
        return f"CASE WHEN typeof({column}) = 'timestamp' THEN {function}({shifted}) ELSE {function}({column}) END"

    def values(self, name: str, columns: Sequence[str], rows: Sequence[str]) -> str:
        return f"{name} AS (SELECT * FROM VALUES {', '.join(rows)} AS t({', '.join(columns)}))"


class Postgres(RowCarrier):
    name = "postgres"
    double = "double precision"
    whole_row = "src"
    unfolded = "(mv_row).*"
    # The planner would else copy the expressions of a stage to every place that uses them, and from stage to stage they multiply.
    hint = "MATERIALIZED "

    def number(self, value: float) -> str:
        return f"'{value!r}'::float8"

    def is_nan(self, column: str) -> str:
        floats = "('double precision'::regtype, 'real'::regtype)"
        return f"(pg_typeof({column}) IN {floats} AND CAST({column} AS text) = 'NaN')"

    def is_instant(self, column: str) -> str:
        return f"pg_typeof({column}) = 'timestamptz'::regtype"

    def ordered(self, text: str) -> str:
        return f'{text} COLLATE "C"'

    def date_part(self, part: str, column: str) -> str:
        # Seconds since 1970 are those of UTC for an instant, and of the clock on the wall for a time without a zone.
        when = f"(TIMESTAMP 'epoch' + EXTRACT(EPOCH FROM {column}) * INTERVAL '1 second')"
        return f"CAST(EXTRACT({'ISODOW' if part == 'weekday' else part.upper()} FROM {when}) AS bigint)"


class SQLite(Dialect):
    name = "sqlite"
    double = "REAL"

    def number(self, value: float) -> str:
        return exact(value)

    def is_nan(self, column: str) -> str:
        return "FALSE"  # stored as null

    def date_part(self, part: str, column: str) -> str:
        if part == "weekday":
            return f"((CAST(strftime('%w', {column}) AS INTEGER) + 6) % 7 + 1)"  # Sunday is 0 here
        letter = {"year": "Y", "month": "m", "hour": "H"}[part]
        return f"CAST(strftime('%{letter}', {column}) AS INTEGER)"

    def select(self, chain: Chain) -> str:
        """The stages for one row of the table at a time: here rows cannot travel whole, nor columns be left out."""
        head = "WITH " + ",\n".join(chain.tables) + "\n" if chain.tables else ""
        outputs = [f"({self._stages(chain)}\n  SELECT {made} FROM mv_stage{len(chain.stages) - 1}) AS {name}"
                   for name, made in chain.outputs.items()]  # fmt: skip
        return head + "SELECT\n  " + ",\n  ".join(["src.*", *outputs]) + f"\nFROM {chain.source}"

    def _stages(self, chain: Chain) -> str:
        layers = []
        for k, columns in enumerate(chain.selected()):
            source = f" FROM mv_stage{k - 1}" if k else ""
            # OFFSET keeps SQLite from copying the expressions of a stage to every place that uses them.
            layers.append(f"mv_stage{k} AS (SELECT {', '.join(columns) or '1'}{source} LIMIT 1 OFFSET 0)")
        return "WITH " + ",\n    ".join(layers)


DIALECTS: dict[str, Dialect] = {one.name: one for one in (DuckDB(), SQLite(), Postgres(), Spark())}


def dialect_of(name: str) -> Dialect:
    """The dialect of that name."""
    if name not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}, got {name!r}.")
    return DIALECTS[name]


def _with_exponent(value: float) -> str:
    text = repr(float(value))
    return text if "e" in text else text + "e0"


def exact(value: float) -> str:
    """A float64 from whole numbers and powers of two, where a reader of decimals may be off in the last bit.

    Examples
    --------
    >>> exact(0.25), exact(0.1 + 0.2)
    ('0.25', '(1351079888211149 / 4503599627370496.0)')
    """
    text = repr(float(value))
    digits = text.lower().split("e")[0].replace(".", "").replace("-", "").strip("0")
    if value == 0 or (len(digits) <= SHORT and 1e-7 <= abs(value) <= 1e22):
        return text
    top, bottom = float(value).as_integer_ratio()
    factors = ""
    while bottom > 1:
        step = min(bottom, EXACT_INTEGER)
        factors, bottom = f"{factors} / {step}.0", bottom // step
    while abs(top) > EXACT_INTEGER:
        step = min(top & -top, EXACT_INTEGER)  # the powers of two in it
        factors, top = f"{factors} * {step}.0", top // step
    return f"({top}{factors})"
