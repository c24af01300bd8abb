"""The text of a predicate: where its words stand, and errors that point at them."""

from __future__ import annotations

import ast
import re
import warnings

from multivalid.errors import PredicateError

MAX_LENGTH = 10_000

_TOKEN = re.compile(
    r"""(?P<string>'(?:[^'\\\n\r]|\\[^\n\r])*'|"(?:[^"\\\n\r]|\\[^\n\r])*")"""
    r"""|(?P<name>`[^`\n\r]*`)|(?P<space>\s)|(?P<other>.)""",
    re.DOTALL,
)
_UNFINISHED = {
    "'": ("this string is not closed", "end it with the same quote, on the same line"),
    '"': ("this string is not closed", "end it with the same quote, on the same line"),
    "`": ("this column name is not closed", "end it with a backtick"),
    "#": ("comments are not part of the language", "leave the comment out"),
    "\\": (
        "a backslash may only stand inside a string",
        "leave it out; a predicate may span several lines",
    ),
    "$": ("the character $ is not part of the language", "write a column name with special characters in backticks"),
}
_GRAMMAR = (
    "combine comparisons of columns and constants with and, or, not, in, is None and + - * /; "
    "a column name that is not a plain word goes in backticks"
)


class Source:
    """One text, checked character by character. Places are characters of the text as the user wrote it."""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise PredicateError(f'a predicate is a string such as "age >= 18", got {type(text).__name__}.')
        if len(text) > MAX_LENGTH:
            raise PredicateError(
                f"a predicate may have at most {MAX_LENGTH:,} characters, this one has {len(text):,}; "
                f"make a boolean column for it and name that column. It starts: {_printable(text[:60])}"
            )
        self.text = text
        self._quoted: dict[int, str] = {}
        line = self._scan()
        self._indent = len(line) - len(line.lstrip(" "))
        self._line = line.strip(" ")
        self._bytes = self._line.encode()

    def tree(self) -> ast.expr:
        """Python's reading of the text; it is only ever looked at, never compiled."""
        if not self._line:
            raise self.error(0, "the predicate is empty", 'write a condition such as "age >= 18"')
        try:
            # A warning of the parser (a stray escape such as '\d', or '1or') means the text is not what it seems.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return ast.parse(self._line, mode="eval").body
        except SyntaxError as error:
            at = self._indent + max((error.offset or 1) - 1, 0)
            raise self.error(at, f"this does not read as a condition ({error.msg})", _GRAMMAR) from None
        except (MemoryError, RecursionError):
            raise self.error(self._indent, "the predicate is nested too deeply", "split it up") from None
        except (ValueError, OverflowError, Warning) as error:
            raise self.error(self._indent, f"this cannot be read ({_printable(str(error))})", _GRAMMAR) from None

    def name(self, node: ast.Name) -> str:
        """The column name as the user wrote it: Python's parser would fold, say, a ligature into plain letters."""
        at = self.place(node)
        return self._quoted[at] if at in self._quoted else self._bytes[node.col_offset : node.end_col_offset].decode()

    def place(self, node: ast.expr) -> int:
        """The character of the text where a node starts (Python counts bytes)."""
        return self._indent + len(self._bytes[: node.col_offset].decode())

    def error(self, at: int | ast.expr, problem: str, hint: str) -> PredicateError:
        """The error at a character or a node: what is wrong, the text with a caret below it, what to do."""
        column = at if isinstance(at, int) else self.place(at)
        column = min(max(column, 0), len(self.text))
        start = max(0, column - 50)
        return PredicateError(
            f"predicate, column {column + 1}: {problem}.\n"
            f"    {_printable(self.text[start : column + 50])}\n"
            f"    {' ' * (column - start)}^\n"
            f"  Hint: {hint}."
        )

    def _scan(self) -> str:
        """The text for Python's parser, with every character in its place: one line, backticked names blanked out."""
        pieces = []
        for token in _TOKEN.finditer(self.text):
            kind, piece, at = token.lastgroup, token.group(), token.start()
            if kind == "name":
                self._quoted[at] = piece[1:-1]
                self._check_characters(piece, at)
                piece = "_" * len(piece)  # found again by its place, so it need not be unique
            elif kind == "space":
                piece = " "
            elif kind == "string":
                self._check_characters(piece, at)
            elif piece in _UNFINISHED:
                raise self.error(at, *_UNFINISHED[piece])
            elif not piece.isprintable():
                raise self.error(at, f"the character U+{ord(piece):04X} is not part of the language", "leave it out")
            pieces.append(piece)
        return "".join(pieces)

    def _check_characters(self, piece: str, at: int) -> None:
        if self.text[at : at + 3] in ("'''", '"""'):
            raise self.error(at, "triple quotes are not part of the language", "use single quotes")
        if piece == "``":
            raise self.error(at, "this column name is empty", "write the name between the backticks")
        for offset, character in enumerate(piece):
            if character == "\0" or "\ud800" <= character <= "\udfff":
                problem = f"the character U+{ord(character):04X} cannot be part of a text"
                raise self.error(at + offset, problem, "leave it out")


def _printable(text: str) -> str:
    # One character for one character, so that the caret stays where it belongs and any terminal can show the message.
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
