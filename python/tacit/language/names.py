"""Names in expressions: parameters, states, columns, members, indices, and the sums that bind them.

What a name means depends on where it stands. A state is printed bare inside its own block and inside a sum over its
family, as ``agent.x`` or ``home[3].p`` elsewhere. Text that would mean something else is never printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .expressions import Expression
from .places import Place, here, refusal
from .printer import Definition, Scope, Writer, explain_hidden
from .shapes import Shape

if TYPE_CHECKING:
    from .blocks import Block


class Name(Expression):
    """A parameter, a state, a column or a member's number."""

    __slots__ = ("_definition", "_value")

    def __init__(self, definition: Definition, shape: Shape, value: Expression | None, place: Place | None) -> None:
        super().__init__(place, shape, 1)
        self._definition = definition
        self._value = value  # of a parameter, where it is an expression

    def _write(self, out: Writer, scope: Scope | None) -> None:
        definition = self._definition
        name = definition.name
        if out.sketch:
            out.put(name)
            return
        block = definition.block
        if definition.names is not out.names:
            raise refusal(f"'{name}' belongs to another model", self._place)
        if block is not None and not _is_inside(scope, block):
            out.put(f"{block._outside(name, self._place)}.{name}")
            return
        found = out.find(name, scope)
        if found is not definition:
            raise explain_hidden(name, definition, found, self._place)
        clash = out.names.get(name)
        if definition.kind == "column" and clash is not None and clash.kind == "parameter":
            raise refusal(
                f"'{name}' is a column and also a parameter; rename one",
                self._place,
                (clash.place, "the parameter was made here"),
            )
        out.put(name)

    def _constant(self) -> float | None:
        return None if self._value is None else self._value._constant()

    def _used(self) -> Name:
        """The same name, used at the caller's place."""
        return Name(self._definition, self._shape, self._value, here())


def _is_inside(scope: Scope | None, block: Block) -> bool:
    while scope is not None:
        if scope.block is block:
            return True
        scope = scope.outer
    return False


class MemberName(Expression):
    """A state, column or parameter of one member of a family: home[3].p."""

    __slots__ = ("_family", "_number", "_name")

    def __init__(self, family: Block, number: Expression, definition: Name) -> None:
        super().__init__(here(), definition._shape, number._depth + 1)
        self._family = family
        self._number = number
        self._name = definition._definition.name

    def _write(self, out: Writer, scope: Scope | None) -> None:
        if not out.sketch and self._family._model_names is not out.names:
            raise refusal(f"'{self._family.name}' belongs to another model", self._place)
        out.put(f"{self._family.name}[")
        out.node(self._number, scope)
        out.put(f"].{self._name}")


class Index(Expression):
    """A number that runs through a range: of a sum, or of a constraint. See :func:`tacit.index`."""

    __slots__ = ("name", "first", "last")

    def __init__(self, name: str, first: Expression, last: Expression) -> None:
        if re.fullmatch(r"array_\d+", name):
            raise refusal(f"an index cannot be called '{name}': long arrays are printed under such names")
        super().__init__(None, (), 1)
        self.name = name
        self.first = first
        self.last = last

    def _write(self, out: Writer, scope: Scope | None) -> None:
        at = scope
        while at is not None and at.binder is not self:
            at = at.outer
        if at is None and not out.sketch:
            name = self.name
            raise refusal(
                f"the index '{name}' has no range here: write over={name} in the constraint, in require, or in "
                f"tacit.sum(..., over={name})"
            )
        found = self if out.sketch else out.find(self.name, scope)
        if found is not self:
            raise explain_hidden(self.name, self, found, None)
        out.put(self.name)

    def _count(self) -> int | None:
        """How many numbers it runs through; None where Python cannot tell."""
        first, last = self.first._constant(), self.last._constant()
        return None if first is None or last is None else int(last - first) + 1

    def _write_range(self, out: Writer, scope: Scope | None) -> Scope:
        """`t in 1..24`; the scope in which the index is known."""
        out.put(f"{self.name} in ")
        out.node(self.first, scope)
        out.put("..")
        out.node(self.last, scope)
        return Scope(scope, self, None)


def indices(over: Index | Iterable[Index]) -> tuple[Index, ...]:
    """One index or several, as a tuple."""
    found = (over,) if isinstance(over, Index) else tuple(over)
    for one in found:
        if not isinstance(one, Index):
            raise TypeError(f"over has indices, made by tacit.index, not {type(one).__name__}")
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise refusal(f"two indices have the same name: {', '.join(names)}")
    return found


def write_ranges(out: Writer, indices: Sequence[Index], scope: Scope | None) -> Scope | None:
    """`i in 1..3, j in 1..2`; the scope in which all of them are known."""
    for i, index in enumerate(indices):
        out.put(", " if i else "")
        scope = index._write_range(out, scope)
    return scope


class IndexSum(Expression):
    """sum(i in 1..n: body)."""

    __slots__ = ("_indices", "_body")

    def __init__(self, indices: Sequence[Index], body: Expression) -> None:
        super().__init__(here(), body._shape, body._depth + 1)
        self._indices = indices
        self._body = body

    def _write(self, out: Writer, scope: Scope | None) -> None:
        out.put("sum(")
        inner = write_ranges(out, self._indices, scope)
        out.put(": ")
        out.node(self._body, inner)
        out.put(")")


class IndexVector(Expression):
    """[i in 1..n: body]: a vector of numbers, or a matrix of rows or with two indices."""

    __slots__ = ("_indices", "_body")

    def __init__(self, indices: Sequence[Index], body: Expression) -> None:
        lengths = tuple(index._count() for index in indices)
        super().__init__(here(), lengths + body._shape, body._depth + 1)
        self._indices = indices
        self._body = body

    def _write(self, out: Writer, scope: Scope | None) -> None:
        out.put("[")
        inner = write_ranges(out, self._indices, scope)
        out.put(": ")
        out.node(self._body, inner)
        out.put("]")


class Total(Expression):
    """sum(family: body)."""

    __slots__ = ("_block", "_body")

    def __init__(self, block: Block, body: Expression) -> None:
        super().__init__(here(), body._shape, body._depth + 1)
        self._block = block
        self._body = body

    def _write(self, out: Writer, scope: Scope | None) -> None:
        if not out.sketch and self._block._model_names is not out.names:
            raise refusal(f"'{self._block.name}' belongs to another model", self._place)
        out.put(f"sum({self._block._word(self._place)}: ")
        out.node(self._body, Scope(scope, None, self._block))
        out.put(")")
