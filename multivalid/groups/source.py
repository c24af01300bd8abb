"""The text of a predicate as words in their places, and errors that point at them. One pass, whatever the text."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from multivalid.errors import PredicateError
from multivalid.groups.strings import unescape

MAX_LENGTH = 10_000
MAX_STORED = 32 * MAX_LENGTH  # a text of ours: spaces, escapes and written-out chains make it longer than what the user wrote

NAME, NUMBER, STRING, SIGN, END = "name", "number", "string", "sign", "end"
PLAIN_NAME = re.compile(r"[^\W\d]\w*")
WORDS = frozenset(("and", "or", "not", "in", "is", "None", "True", "False"))

_TOKEN = re.compile(
    r"""(?P<string>'(?:[^'\\\n\r]|\\[^\n\r])*'|"(?:[^"\\\n\r]|\\[^\n\r])*")"""
    r"""|(?P<quoted>`[^`\n\r]*`)|(?P<space>\s+)|(?P<name>[^\W\d]\w*)"""
    r"""|(?P<number>(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?)"""
    r"""|(?P<sign><=|>=|==|!=|:=|->|\*\*|//|<<|>>|\.\.\.|[-+*/<>=()\[\]{},.:;%&|^~@!])|(?P<other>.)""",
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


class Token(NamedTuple):
    """A word of the text: what it is, what it says, and at which character. Words of the language are signs, as + is."""

    kind: str
    text: str
    at: int


class Source:
    """One text, checked character by character."""

    def __init__(self, text: str, longest: int = MAX_LENGTH) -> None:
        if not isinstance(text, str):
            raise PredicateError(f'a predicate is a string such as "age >= 18", got {type(text).__name__}.')
        if len(text) > longest:
            raise PredicateError(
                f"a predicate may have at most {longest:,} characters, this one has {len(text):,}; "
                f"make a boolean column for it and name that column. It starts: {_printable(text[:60])}"
            )
        self.text = text

    def tokens(self) -> list[Token]:
        """All words, and one that marks the end."""
        found: list[Token] = []
        for match in _TOKEN.finditer(self.text):
            kind, piece, at = match.lastgroup or "", match.group(), match.start()
            if kind == "space":
                continue
            token = self._token(kind, piece, at)
            if found and SIGN not in (token.kind, found[-1].kind):
                raise self.error(
                    at, "there is nothing between this and the word before it", "join them with and, or, or a comparison"
                )
            found.append(token)
        if not found:
            raise self.error(0, "the predicate is empty", 'write a condition such as "age >= 18"')
        return [*found, Token(END, "", len(self.text))]

    def error(self, at: int, problem: str, hint: str) -> PredicateError:
        """The error at a character: what is wrong, the text with a caret below it, what to do."""
        start = max(0, at - 50)
        return PredicateError(
            f"predicate, column {at + 1}: {problem}.\n"
            f"    {_printable(self.text[start : at + 50])}\n"
            f"    {' ' * (at - start)}^\n"
            f"  Hint: {hint}."
        )

    def _token(self, kind: str, piece: str, at: int) -> Token:
        if kind == "string":
            self._check_characters(piece, at)
            return Token(STRING, self._unescape(piece, at), at)
        if kind == "quoted":
            self._check_characters(piece, at)
            if piece == "``":
                raise self.error(at, "this column name is empty", "write the name between the backticks")
            return Token(NAME, piece[1:-1], at)
        if kind == "name":
            return self._word(piece, at)
        if kind == "number":
            after = self.text[at + len(piece) : at + len(piece) + 1]
            if after.isalnum() or after in ("_", ".", "'", '"'):
                problem = "this number runs into the next word"
                raise self.error(at, problem, "put a space after it; whole numbers and decimals are written 12, 1.5, 1e-3")
        if kind == "other":
            if piece in _UNFINISHED:
                raise self.error(at, *_UNFINISHED[piece])
            if "\ud800" <= piece <= "\udfff" or not piece.isprintable():
                raise self.error(at, f"the character U+{ord(piece):04X} is not part of the language", "leave it out")
            raise self.error(at, f"the character {piece} is not part of the language", "write a column name with it in backticks")
        return Token(kind, piece, at)

    def _word(self, piece: str, at: int) -> Token:
        if piece in WORDS:
            return Token(SIGN, piece, at)
        if self.text[at + len(piece) : at + len(piece) + 1] in ("'", '"'):
            raise self.error(at, "letters before a string are not part of the language", "leave them out, or put a space")
        if not is_plain_name(piece):
            raise self.error(at, f"{piece} is a word of Python, not a plain name", "if it is a column, write it in backticks")
        return Token(NAME, piece, at)

    def _unescape(self, piece: str, at: int) -> str:
        try:
            return unescape(piece[1:-1])
        except ValueError as error:
            raise self.error(at, f"this string cannot be read: {error}", "write a backslash as two") from None

    def _check_characters(self, piece: str, at: int) -> None:
        if self.text[at : at + 3] in ("'''", '"""'):
            raise self.error(at, "triple quotes are not part of the language", "use single quotes")
        for offset, character in enumerate(piece):
            if character == "\0" or "\ud800" <= character <= "\udfff":
                problem = f"the character U+{ord(character):04X} cannot be part of a text"
                raise self.error(at + offset, problem, "leave it out")


def is_plain_name(name: str) -> bool:
    """Whether a column name may stand without backticks."""
    return PLAIN_NAME.fullmatch(name) is not None and name.isidentifier() and not keyword.iskeyword(name)


def _printable(text: str) -> str:
    # One character for one character, so that the caret stays where it belongs and any terminal can show the message.
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
