"""Expressions and statements as text of the problem language, and the way back from its errors to Python.

A writer keeps, for every part that it writes, where in the Python program that part was made. When the library refuses
the text, the smallest part around the mistake says which line of Python to show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import Diagnostic, ProblemError
from .places import Place, refusal

if TYPE_CHECKING:
    from .blocks import Block
    from .names import Index

Array = npt.NDArray[np.float64]

INLINE_NUMBERS: Final = 64  # an array with more of them is handed over as a matrix of its own
_WIDEST: Final = 110

# How tightly a part holds together, as in the table of docs/language.md. A part is put in parentheses where its
# surroundings hold tighter.
ADD, MULTIPLY, NEGATE, POWER, POSTFIX = 1, 2, 3, 4, 5


class Definition:
    """What a name means: a parameter, a state, a column, a member's number; data, an agent, a constraint."""

    __slots__ = ("name", "kind", "names", "block", "place")

    def __init__(
        self, name: str, kind: str, names: dict[str, Definition], block: Block | None, place: Place
    ) -> None:
        self.name = name
        self.kind = kind
        self.names = names  #: all that the model defines outside of blocks: tells one model from another
        self.block = block  #: None for what stands outside of blocks
        self.place = place

    def __repr__(self) -> str:
        return f"{self.kind} '{self.name}'"


class Scope(NamedTuple):
    """The surroundings of a part: an index or a block whose names are visible, inside other ones."""

    outer: Scope | None
    binder: Index | None
    block: Block | None


class Writable(Protocol):
    """What can be written: every expression."""

    _place: Place | None

    @property
    def _level(self) -> int: ...

    def _write(self, out: Writer, scope: Scope | None) -> None: ...


class Span(NamedTuple):
    """A part of the text, and the place in the Python program that made it."""

    start: int
    end: int
    place: Place


class Arrays:
    """Arrays that are too long for the text: it names them, and the program that loads it gives them."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._names: dict[tuple[Any, ...], str] = {}
        self.given: dict[str, Array] = {}
        self.new: list[tuple[str, bool, Place]] = []  # made since the last statement was written

    def name(self, array: Array, private: bool, place: Place) -> str:
        """The name for these numbers. Equal arrays share one, but never a private with a public use."""
        key = (private, array.shape, array.tobytes())
        if key not in self._names:
            number = len(self._names) + 1
            while f"array_{number}" in self._taken:
                number += 1
            name = f"array_{number}"
            self._taken.add(name)
            self._names[key] = name
            self.given[name] = array
            self.new.append((name, private, place))
        return self._names[key]


class Writer:
    """Collects text, and for each part of it the place that it comes from."""

    def __init__(
        self, names: dict[str, Definition], arrays: Arrays, source: Callable[[str], str], parentheses: bool = False
    ) -> None:
        self.names = names  #: what names mean outside of blocks
        self.arrays = arrays
        self.source = source  #: what stands right of `=` where numbers come from outside: given, or csv "FILE"
        self.spans: list[Span] = []
        self.private = False  #: whether the statement that is being written is private
        self.parentheses = parentheses  #: everywhere, not only where they are needed
        self.sketch = False  #: names as they are, wherever they stand: for repr()
        self.used: list[tuple[Block, str]] = []  #: names for what stands outside of these blocks
        self._pieces: list[str] = []
        self.length = 0
        self._line_start = 0

    def put(self, text: str) -> None:
        self._pieces.append(text)
        newline = text.rfind("\n")
        if newline >= 0:
            self._line_start = self.length + newline + 1
        self.length += len(text)

    def pause(self) -> None:
        """A space between two parts of a list or a sum; a new line where this one is long."""
        self.put("\n    " if self.length - self._line_start > _WIDEST else " ")

    def text(self) -> str:
        return "".join(self._pieces)

    def mark(self, start: int, place: Place | None) -> None:
        """All that was written since start comes from this place."""
        if place is not None:
            self.spans.append(Span(start, self.length, place))

    def node(self, node: Writable, scope: Scope | None, least: int = 0) -> None:
        """An expression, in parentheses where its surroundings hold tighter than it does."""
        start = self.length
        enclosed = node._level < (POSTFIX if self.parentheses and least > 0 else least)
        if enclosed:
            self.put("(")
        node._write(self, scope)
        if enclosed:
            self.put(")")
        self.mark(start, node._place)

    def append(self, other: Writer) -> None:
        """What another writer has written."""
        self.spans += [Span(self.length + one.start, self.length + one.end, one.place) for one in other.spans]
        self.put(other.text())

    def find(self, name: str, scope: Scope | None) -> object:
        """What a bare name means in a scope: an index, a definition, or None. As in src/model/elaborate/names.c."""
        inside: list[Block] = []
        while scope is not None:
            if scope.binder is not None and scope.binder.name == name:
                return scope.binder
            if scope.block is not None:
                if name in scope.block._names:
                    return scope.block._names[name]
                inside.append(scope.block)
            scope = scope.outer
        self.used += [(block, name) for block in inside]
        return self.names.get(name)


def number_text(value: float) -> str:
    """A number as the language writes it; reading it gives the same double.

    >>> number_text(7.4), number_text(3.0), number_text(-1e-7)
    ('7.4', '3', '-1e-7')
    """
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e-0", "e-").replace("e+", "e")


class Printed(NamedTuple):
    """A whole problem as text, with what a program must give to it, and the places of its parts."""

    text: str
    given: dict[str, Any]
    spans: list[Span]

    def place(self, line: int, column: int, width: int) -> Place:
        """The place in the Python program that made this part of the text: of the smallest part around it."""
        lines = self.text.split("\n")
        start = sum(len(one) + 1 for one in lines[: line - 1]) + max(column - 1, 0)
        end = start + max(width, 1)
        around = [one for one in self.spans if one.start <= start and end <= one.end]
        around = around or [one for one in self.spans if one.start <= start <= one.end] or self.spans
        return min(around, key=lambda one: one.end - one.start).place

    def translated(self, error: ProblemError, file: str) -> ProblemError:
        """The same mistakes, each at its line of Python, and below it the line of the language."""
        found: list[Diagnostic] = []
        shown: list[str] = []
        for one in error.diagnostics:
            if one.file != file or one.line > self.text.count("\n") + 1:
                found.append(one)
                shown.append(str(one))
                continue
            at = self.place(one.line, one.column, len(one.caret.strip())).diagnostic(one.kind, one.message)
            found.append(at)
            shown.append(str(at))
            if one.source:
                shown.append(f"  in the language:\n    {one.source.strip()}")
                shown.append("    " + one.caret[len(one.source) - len(one.source.lstrip()) :])
        if not found:
            return error
        return ProblemError("\n".join(shown), error.status, tuple(found))


def explain_hidden(name: str, wanted: object, found: object, place: Place | None) -> ProblemError:
    """The error for a name that would mean something else in the place where it is used."""
    what = f"the index '{name}'" if not isinstance(found, Definition) else f"the {found!r}"
    where = found.place if isinstance(found, Definition) else None
    return refusal(
        f"'{name}' cannot be used here: the text would mean {what}, which has the same name; rename one of them",
        place,
        (where, f"the {found!r} was made here"),
        (wanted.place if isinstance(wanted, Definition) else None, f"this '{name}' is meant"),
    )
