"""Where in the Python program an object was made, and errors that point there.

Every statement of a model and every expression remembers its place. A mistake is then shown with the line of Python
that made it, and a mark below the part that is meant.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from types import CodeType
from typing import Final

from ..errors import DataError, Diagnostic, ProblemError, Status

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LONGEST_NAME: Final = 200
_LONGEST_TEXT: Final = 4000


class Place:
    """A part of a line of Python. The columns are looked up only when somebody asks: most places are never shown."""

    __slots__ = ("_code", "_instruction", "file", "line")

    def __init__(self, code: CodeType, instruction: int, line: int) -> None:
        self._code = code
        self._instruction = instruction
        self.file = code.co_filename
        self.line = line

    def source(self) -> str:
        """The line; "" where Python does not keep it."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def columns(self) -> tuple[int, int]:
        """Where the part begins and ends in its line, from 0; (0, 0) where that is unknown."""
        source = self.source()
        for at, (first, last, begin, end) in enumerate(self._code.co_positions()):
            if at != self._instruction // 2:
                continue
            if first != self.line or begin is None or end is None or not source:
                break
            data = source.encode()
            stop = len(data) if last != first else end
            return len(data[:begin].decode(errors="replace")), len(data[:stop].decode(errors="replace"))
        return 0, 0

    def diagnostic(self, kind: str, message: str) -> Diagnostic:
        """A message about this place, with the line and a mark below the part."""
        source = self.source()
        begin, end = self.columns()
        if not source:
            return Diagnostic(self.file, self.line, 0, kind, message, "", "")
        if end <= begin:
            begin = len(source) - len(source.lstrip())
            end = len(source)
        caret = " " * begin + "^" + "~" * max(0, end - begin - 1)
        shown = "".join("\t" if c == "\t" else mark for c, mark in zip(source, caret)) if "\t" in source else caret
        return Diagnostic(self.file, self.line, begin + 1, kind, message, source, shown)


def here() -> Place:
    """The place of the caller: the first one outside of this package.

    >>> here().line
    1
    """
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    return Place(frame.f_code, frame.f_lasti, frame.f_lineno)


def refusal(message: str, place: Place | None = None, *notes: tuple[Place | None, str]) -> ProblemError:
    """The error for a mistake at a place (the caller's, unless given), with notes about other places."""
    found = [(place or here()).diagnostic("error", message)]
    found += [where.diagnostic("note", text) for where, text in notes if where is not None]
    return ProblemError("\n".join(str(one) for one in found), Status.BAD_PROBLEM, tuple(found))


def refused_data(message: str) -> DataError:
    """The same for data that are no finite numbers."""
    error = refusal(message)
    return DataError(str(error), Status.BAD_USAGE, error.diagnostics)


def checked_name(name: str, what: str) -> str:
    """A name of the language, or an error: a name can never bring other statements along.

    >>> checked_name("feeder_2", "a constraint")
    'feeder_2'
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of {what} is a text, not {type(name).__name__}")
    if not _NAME.match(name):
        raise refusal(
            f"{what} cannot be called {name!r}: a name is made of letters (a to z), digits and underscores, and does "
            "not begin with a digit"
        )
    if name == "in":
        raise refusal(f"{what} cannot be called 'in', the one reserved word of the language")
    if len(name) > _LONGEST_NAME:
        raise refusal(f"a name has at most {_LONGEST_NAME} characters, but this has {len(name)}")
    return name


def is_name(text: str) -> bool:
    """Whether a text can stand in the language without quotes."""
    return _NAME.match(text) is not None and text != "in" and len(text) <= _LONGEST_NAME


def quoted(text: str, what: str) -> str:
    """A text in quotes. What would end the quotes, or the line, is refused.

    >>> quoted("home[17]", "an agent")
    '"home[17]"'
    """
    if not isinstance(text, str):
        raise TypeError(f"the name of {what} is a text, not {type(text).__name__}")
    if not text:
        raise refusal(f"the name of {what} is empty")
    if any(c == '"' or c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029" for c in text):
        raise refusal(f"the name of {what} has quotes or control characters: {text!r}")
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        raise refusal(f"the name of {what} has a character that UTF-8 does not have: {text!r}") from None
    if length > _LONGEST_TEXT:
        raise refusal(f"the name of {what} has at most {_LONGEST_TEXT} bytes, but this has {length}")
    return f'"{text}"'
