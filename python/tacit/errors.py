"""What is raised: errors with their status, and for problems the file, line, column and caret of each mistake."""

from __future__ import annotations

import enum
import re
from typing import Any, NamedTuple


class Status(enum.IntEnum):
    """Why something could not be done: ``tacit_status`` of the C library."""

    OK = 0
    NO_MEMORY = 1
    TOO_LARGE = 2
    BAD_PROBLEM = 3
    BAD_USAGE = 4
    CANNOT_READ = 5
    CANNOT_WRITE = 6
    INTERRUPTED = 7
    INTERNAL = 8
    NO_RANDOM = 9
    BAD_ARITHMETIC = 10
    BUSY = 11
    CALLBACK_FAILED = 12


class Diagnostic(NamedTuple):
    """One mistake in a problem, or a note that belongs to the mistake before it."""

    file: str
    line: int
    column: int
    kind: str  #: "error" or "note"
    message: str
    source: str  #: the line itself; "" where there is none
    caret: str  #: "^~~~" below the part that is meant, indented to stand there; "" where there is none

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
        lines = [f"{place}: {self.kind}: {self.message}"]
        lines += [f"    {text}" for text in (self.source, self.caret) if text]
        return "\n".join(lines)


class Error(Exception):
    """Something could not be done. ``status`` says why, and the text says it in words."""

    status: Status

    def __init__(self, message: str, status: Status = Status.BAD_USAGE) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.status)


class ProblemError(Error, ValueError):
    """A problem has mistakes. The text shows them all; ``file``, ``line``, ``column`` and ``caret`` are of the first.

    >>> import tacit
    >>> try:
    ...     tacit.Problem(text="param speed = 3\\nparam time = 2 * sped\\nagent a { state x in [0, time] }")
    ... except tacit.ProblemError as error:
    ...     print(error.file, error.line, error.column)
    ...     print(error.caret)
    problem 2 18
    param time = 2 * sped
                     ^~~~
    """

    diagnostics: tuple[Diagnostic, ...]
    result: Any = None  #: of ``solve``: the numbers, which are no solution

    def __init__(
        self, message: str, status: Status = Status.BAD_PROBLEM, diagnostics: tuple[Diagnostic, ...] | None = None
    ) -> None:
        super().__init__(message, status)
        self.diagnostics = read_diagnostics(message) if diagnostics is None else diagnostics

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.status, self.diagnostics)

    @property
    def file(self) -> str | None:
        """The file of the first mistake; None where the text names none."""
        return self.diagnostics[0].file if self.diagnostics else None

    @property
    def line(self) -> int | None:
        """The line of the first mistake, from 1."""
        return self.diagnostics[0].line if self.diagnostics else None

    @property
    def column(self) -> int | None:
        """The column of the first mistake, from 1."""
        return self.diagnostics[0].column if self.diagnostics else None

    @property
    def caret(self) -> str:
        """The line of the first mistake, and below it a mark under the part that is meant."""
        if not self.diagnostics or not self.diagnostics[0].source:
            return ""
        return f"{self.diagnostics[0].source}\n{self.diagnostics[0].caret}"


class UsageError(Error, ValueError):
    """An argument is wrong, or names no file."""


class DataError(ProblemError, UsageError):
    """Data of a model are no finite numbers, or do not go together: a UsageError that shows a line of the program."""


class BusyError(Error, RuntimeError):
    """The problem is at work: in another thread, or in the call whose callback this is."""


def interrupted(result: Any = None) -> KeyboardInterrupt:
    """Ctrl-C ended the work. The exception's ``result`` has what was done until then; None where that says nothing.

    It is a plain KeyboardInterrupt: only that lets Python end a script as Ctrl-C should.
    """
    stop: Any = KeyboardInterrupt("interrupted")
    stop.result = result
    return stop  # type: ignore[no-any-return]


class TacitWarning(UserWarning):
    """What the library warns of; the text is the line that the command prints. Raised as an error it has the result."""

    result: Any = None


_HEAD = re.compile(r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?P<kind>error|note): (?P<message>.*)$")


def read_diagnostics(message: str) -> tuple[Diagnostic, ...]:
    """The mistakes in a message of the library: a head, and where there is one the line with its caret.

    >>> read_diagnostics("a.tacit:1:9: error: no\\n    param a = b\\n            ^\\n")[0].column
    9
    """
    found = []
    lines = message.splitlines()
    for i, line in enumerate(lines):
        head = _HEAD.match(line)
        if head is None:
            continue
        shown = [text[4:] for text in lines[i + 1 : i + 3] if text.startswith("    ")]
        source, caret = shown if len(shown) == 2 else ("", "")
        found.append(
            Diagnostic(
                head["file"], int(head["line"]), int(head["column"]), head["kind"], head["message"], source, caret
            )
        )
    return tuple(found)


_CLASSES: dict[Status, type[Error]] = {
    Status.BAD_PROBLEM: ProblemError,
    Status.BAD_USAGE: UsageError,
    Status.BUSY: BusyError,
}


def error_of(status: int, message: str) -> Error:
    """The exception for a status of the library."""
    known = Status(status)
    return _CLASSES.get(known, Error)(message.rstrip("\n"), known)
