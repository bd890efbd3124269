"""Relations and sets: what ``require`` and ``constraint`` take.

``<=``, ``>=`` and ``==`` between expressions make a relation, :func:`tacit.between` one with two bounds; ``p.isin(...)``
says that a state lies in a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .places import here
from .printer import Scope, Writer
from .shapes import equal_shapes

if TYPE_CHECKING:
    from .expressions import Expression


class Relation:
    """left <= right, >= or ==, or left <= right <= third: for ``require`` and ``constraint``."""

    __slots__ = ("left", "sign", "right", "third", "_place")

    def __init__(self, left: Expression, sign: str, right: Expression, third: Expression | None = None) -> None:
        equal_shapes("a relation", left.shape, right.shape)
        if third is not None:
            equal_shapes("a relation", right.shape, third.shape)
        self.left = left
        self.sign = sign
        self.right = right
        self.third = third
        self._place = here()

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a relation has no truth value. Python reads 0 <= p <= 5 as two relations: write tacit.between(0, p, 5)"
        )

    def __repr__(self) -> str:
        return f"<relation {f' {self.sign} '.join(repr(one)[12:-1] for one in self.sides())}>"

    def sides(self) -> list[Expression]:
        """Its two or three expressions, from left to right."""
        return [self.left, self.right] + ([] if self.third is None else [self.third])

    def _write(self, out: Writer, scope: Scope | None) -> None:
        start = out.length
        for i, one in enumerate(self.sides()):
            if i > 0:
                out.put(f" {self.sign}")
                out.pause()
            out.node(one, scope)
        out.mark(start, self._place)


class SetShape:
    """A set that a state can lie in: box, simplex, ball, ball1 or ellipsoid."""

    __slots__ = ("name", "arguments", "_place")

    def __init__(self, name: str, arguments: list[Expression]) -> None:
        self.name = name  #: "" for a box
        self.arguments = arguments
        self._place = here()

    def _write(self, out: Writer, scope: Scope | None) -> None:
        start = out.length
        out.put(f"{self.name}(" if self.name else "[")
        for i, one in enumerate(self.arguments):
            out.put(", " if i else "")
            out.node(one, scope)
        out.put(")" if self.name else "]")
        out.mark(start, self._place)


class Membership:
    """That a state lies in a set: for ``require``."""

    __slots__ = ("left", "shape", "_place")

    def __init__(self, left: Expression, shape: SetShape) -> None:
        self.left = left
        self.shape = shape
        self._place = here()

    def __bool__(self) -> NoReturn:
        raise TypeError("that a state lies in a set has no truth value; hand it to require")

    def _write(self, out: Writer, scope: Scope | None) -> None:
        start = out.length
        out.node(self.left, scope)
        out.put(" in ")
        self.shape._write(out, scope)
        out.mark(start, self._place)
