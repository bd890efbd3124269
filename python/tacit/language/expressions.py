"""Expressions: what Python's operators make of states, columns, parameters and arrays.

Operators mean what they mean in NumPy: ``*`` is element by element, ``@`` the product of matrices and the dot product
of vectors, ``**`` a power. ``<=``, ``>=`` and ``==`` make relations.

Whole numbers of Python count from 0 and slices are Python's: ``p[0]`` is the first element, ``p[0:2]`` the first two,
``p[-1]`` the last. An index of the language (:func:`tacit.index`, ``home.index``, a parameter or a column) is a number
of the language, from 1: ``p[t]`` and ``p[t + 1]`` are printed as they are written.

>>> import tacit
>>> m = tacit.Model()
>>> home = m.agent("home")
>>> p = home.state("p", 24, lower=0, upper=7.4)
>>> p[0] + 2 * p[-1] ** 2
<expression p[1] + 2 * p[24]^2>
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from ..data import numbers_of
from ..errors import UsageError
from .places import Place, here, refusal, refused_data
from .printer import (
    ADD,
    INLINE_NUMBERS,
    MULTIPLY,
    NEGATE,
    POSTFIX,
    POWER,
    Array,
    Arrays,
    Scope,
    Writer,
    number_text,
)
from .relations import Membership, Relation, SetShape
from .shapes import Shape, equal_shapes, shape_text

_DEEPEST = 200
_NOT_PYTHONS = "Python's own max and min compare in this way, too: for expressions they are tacit.max and tacit.min"
_UFUNCS: dict[str, Any] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "matmul": operator.matmul,
    "less_equal": operator.le,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "greater": operator.gt,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "negative": operator.neg,
    "positive": operator.pos,
    "square": lambda one: one**2,
    "absolute": abs,
}
_CALLS = ("exp", "log", "sqrt", "floor", "ceil", "maximum", "minimum")
_REDUCTIONS = {"add": "sum", "maximum": "max", "minimum": "min"}


class Expression:
    """A number, a vector or a matrix of a problem: made by operators and functions, and printed as the language."""

    __slots__ = ("_place", "_shape", "_depth")
    _level: ClassVar[int] = POSTFIX
    _place: Place | None
    __pandas_priority__: ClassVar[int] = 5000  # above Series and DataFrame: series * expression is the expression's

    def __init__(self, place: Place | None, shape: Shape, depth: int) -> None:
        if depth > _DEEPEST:
            raise refusal(f"this expression is nested more than {_DEEPEST} levels deep")
        self._place = place
        self._shape = shape
        self._depth = depth

    @property
    def shape(self) -> Shape:
        """() of a number, (n,) of a vector, (r, c) of a matrix. None is a length that is not known in Python."""
        return self._shape

    @property
    def ndim(self) -> int:
        """0 for a number, 1 for a vector, 2 for a matrix."""
        return len(self._shape)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """array + expression is the expression's, and so are those functions of NumPy that the language has."""
        name = ufunc.__name__
        parts = [as_expression(one) for one in inputs]
        if method == "__call__" and name in _UFUNCS:
            return _UFUNCS[name](*parts)
        if method == "__call__" and name in _CALLS:
            shape = parts[0]._shape if len(parts) == 1 else equal_shapes(name, parts[0]._shape, parts[1]._shape)
            return Call(name, parts, shape)
        if method == "reduce" and name in _REDUCTIONS and options.get("axis") is None:
            return Call(_REDUCTIONS[name], parts, ())
        raise TypeError(f"the language has no numpy.{name}; help(tacit.language.functions) lists what it has")

    @property
    def _typ(self) -> str:
        # Before 2.1, pandas leaves an operator of a Series to the right side only where that calls itself a frame.
        caller = sys._getframe(1).f_back
        while caller is not None and caller.f_code.co_name == "_instancecheck":
            caller = caller.f_back
        return "dataframe" if caller is not None and caller.f_code.co_name == "new_method" else "expression"

    def _write(self, out: Writer, scope: Scope | None) -> None:
        raise NotImplementedError

    def _constant(self) -> float | None:
        """The value of a number that Python can tell: for lengths, and for subscripts that count from the end."""
        return None

    def __repr__(self) -> str:
        out = Writer({}, Arrays(set()), lambda _: "given")
        out.sketch = True
        out.node(self, None)
        return f"<expression {out.text()}>"

    # ---- operators ----

    def __add__(self, other: Operand) -> Expression:
        return _binary("+", self, other)

    def __radd__(self, other: Operand) -> Expression:
        # Python's own sum() begins with 0.
        return self if isinstance(other, int) and other == 0 else _binary("+", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return _binary("-", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return _binary("-", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return _binary("*", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return _binary("*", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _binary("/", other, self)

    def __pow__(self, other: Operand) -> Expression:
        return _binary("^", self, other)

    def __rpow__(self, other: Operand) -> Expression:
        return _binary("^", other, self)

    def __matmul__(self, other: Operand) -> Expression:
        return _matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Expression:
        return _matmul(other, self)

    def __neg__(self) -> Expression:
        return Negate(self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return Call("abs", [self], self._shape)

    @property
    def T(self) -> Expression:
        """The matrix turned over."""
        if self.ndim != 2:
            raise refusal(f"transpose needs a matrix, but this is {shape_text(self._shape)}")
        return Call("transpose", [self], self._shape[::-1])

    # ---- relations ----

    def __le__(self, other: Operand) -> Relation:
        return Relation(self, "<=", as_expression(other))

    def __ge__(self, other: Operand) -> Relation:
        return Relation(self, ">=", as_expression(other))

    def __eq__(self, other: Operand) -> Relation:  # type: ignore[override]
        # Tools compare any objects: what can be no part of an expression is just not equal.
        if other is None or isinstance(other, str):
            return NotImplemented
        return Relation(self, "==", as_expression(other))

    def __ne__(self, other: Operand) -> bool:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return True
        raise TypeError("the language has no !=; a set and a constraint are made with <=, >= and ==")

    def __lt__(self, other: Operand) -> NoReturn:
        raise TypeError(f"a strict inequality describes an open set; write <=. {_NOT_PYTHONS}")

    def __gt__(self, other: Operand) -> NoReturn:
        raise TypeError(f"a strict inequality describes an open set; write >=. {_NOT_PYTHONS}")

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError("an expression has no truth value: its value is known only when the problem is solved")

    def __index__(self) -> NoReturn:
        raise TypeError("an expression selects from a parameter or from tacit.constant(array), not from a list")

    def isin(self, shape: SetShape) -> Membership:
        """That a state, or a part of one, lies in a box, simplex, ball, l1 ball or ellipsoid: for ``require``."""
        if not isinstance(shape, SetShape):
            raise TypeError(f"expected tacit.box, simplex, ball, ball1 or ellipsoid, not {type(shape).__name__}")
        return Membership(self, shape)

    # ---- all elements; np.sum(p) comes here too ----

    def sum(self, axis: None = None, **options: Any) -> Expression:
        """The sum of all elements, as ``tacit.sum``."""
        return self._reduced("sum", axis, options)

    def mean(self, axis: None = None, **options: Any) -> Expression:
        """The sum of all elements, divided by how many there are."""
        total = self._reduced("sum", axis, options)
        if None in self._shape:
            raise TypeError("this length is not known in Python; write tacit.sum(p) / tacit.length(p)")
        return total / math.prod(one for one in self._shape if one is not None)

    def max(self, axis: None = None, **options: Any) -> Expression:
        """The largest element, as ``tacit.max``."""
        return self._reduced("max", axis, options)

    def min(self, axis: None = None, **options: Any) -> Expression:
        """The smallest element, as ``tacit.min``."""
        return self._reduced("min", axis, options)

    def _reduced(self, name: str, axis: object, options: dict[str, Any]) -> Expression:
        given = [f"axis={axis}" for _ in (0,) if axis is not None] + [one for one in options if options[one] is not None]
        if given:
            raise TypeError(f"the language has no numpy.{name} with {given[0]}: {name}() is over all elements")
        return Call(name, [self], ())

    # ---- elements ----

    def __getitem__(self, key: Any) -> Expression:
        keys = key if isinstance(key, tuple) else (key,)
        if self.ndim == 0:
            raise TypeError("this is a number: it has no elements")
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices are given, but this is {shape_text(self._shape)}")
        items = [_subscript(one, self._shape[axis]) for axis, one in enumerate(keys)]
        while items and items[-1] is None:
            items.pop()
        if not items:
            return self
        return Subscript(self, [one if one is not None else _whole(self._shape[i]) for i, one in enumerate(items)])

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("this is a number: it has no length")
        if self._shape[0] is None:
            raise TypeError("this length is not known in Python; tacit.length(...) is its expression")
        return self._shape[0]

    def __iter__(self) -> Iterator[Expression]:
        return (self[i] for i in range(len(self)))


Operand: TypeAlias = Expression | float | Sequence[Any] | npt.NDArray[Any]


def as_expression(value: Operand) -> Expression:
    """A value as a part of an expression: a number, an array, or a list that may have expressions in it."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, (bool, np.bool_, str, bytes, dict, set)) or value is None:
        raise TypeError(f"expected a number, an array or an expression, not {type(value).__name__}: {value!r}")
    if isinstance(value, (Relation, Membership)):
        raise TypeError("a relation cannot be part of an expression")
    if getattr(value, "dtype", None) == object and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)) and _has_expression(value):
        return Vector([as_expression(one) for one in value])
    try:
        array = numbers_of(value, "this number" if isinstance(value, (int, float, np.number)) else "this array").copy()
    except (UsageError, OverflowError) as error:
        raise refused_data(str(error)) from None
    if array.ndim > 2 or array.size == 0:
        raise refused_data(f"this array has shape {array.shape}; the language has numbers, vectors and matrices, none empty")
    return Literal(array)


def parts_of(node: Expression) -> Iterator[Expression]:
    """The expressions that it is made of."""
    for kind in type(node).__mro__:
        for name in getattr(kind, "__slots__", ()):
            value = getattr(node, name, None)
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, Expression):
                    yield one


def _has_expression(values: Sequence[Any]) -> bool:
    return any(
        isinstance(one, Expression) or (isinstance(one, (list, tuple, np.ndarray)) and _has_expression(list(one)))
        for one in values
    )


def _binary(sign: str, left: Operand, right: Operand) -> Expression:
    a, b = as_expression(left), as_expression(right)
    if sign == "*" and max(a.ndim, b.ndim) == 2 and min(a.ndim, b.ndim) >= 1:
        raise refusal(
            f"* is element by element, which the language does not have for {shape_text(a._shape)} times "
            f"{shape_text(b._shape)}; write @ for the product of matrices"
        )
    return Binary(sign, a, b, a._shape if sign == "^" else equal_shapes(sign, a._shape, b._shape))


def _matmul(left: Operand, right: Operand) -> Expression:
    a, b = as_expression(left), as_expression(right)
    if a.ndim == 0 or b.ndim == 0:
        raise refusal("@ is a product of vectors and matrices; write * for a product with a number")
    inner, outer = a._shape[-1], b._shape[0]
    if inner is not None and outer is not None and inner != outer:
        raise refusal(f"the shapes do not fit: {shape_text(a._shape)} times {shape_text(b._shape)}")
    if b.ndim == 1:
        return Call("dot", [a, b], ()) if a.ndim == 1 else Binary("*", a, b, a._shape[:1])
    if a.ndim == 1:  # the language has no row vectors: v M is M'v
        return Binary("*", Call("transpose", [b], b._shape[::-1]), a, b._shape[1:])
    return Binary("*", a, b, (a._shape[0], b._shape[1]))


def _number(value: float) -> Literal:
    return Literal(np.array(float(value)))


def _subscript(key: Any, extent: int | None) -> Expression | Part | None:
    """One subscript as the language has it; None for all of the axis."""
    if isinstance(key, slice):
        return _slice(key, extent)
    if isinstance(key, Part):
        return key
    if isinstance(key, Expression):
        if key.ndim != 0:
            raise refusal(f"an index is a number, but this is {shape_text(key._shape)}")
        return key
    if isinstance(key, (bool, np.bool_)):
        raise TypeError("an index is a whole number, not a truth value")
    try:
        at = operator.index(key)
    except TypeError:
        raise TypeError(f"an index is a whole number, a slice or an expression, not {type(key).__name__}") from None
    if at < 0 and extent is None:
        raise IndexError("this length is not known in Python, so an index cannot count from the end")
    place = at + extent if at < 0 and extent is not None else at
    if place < 0 or (extent is not None and place >= extent):
        raise IndexError(f"the index {at} is outside of a length of {extent}; indices of Python count from 0")
    return _number(place + 1)


def _slice(key: slice, extent: int | None) -> Part | None:
    if any(isinstance(one, Expression) for one in (key.start, key.stop, key.step)):
        raise TypeError("a slice has whole numbers, from 0; write p[tacit.part(a, b)] for the elements a..b, from 1")
    if key.step not in (None, 1):
        raise TypeError("the language has no slices with steps")
    if key.start is None and key.stop is None:
        return None
    if extent is None:
        if key.stop is None or key.stop < 0 or (key.start is not None and key.start < 0):
            raise IndexError("this length is not known in Python, so a slice cannot count from the end")
        extent = operator.index(key.stop)
    first, last, _ = key.indices(extent)
    if first >= last:
        raise IndexError(f"the slice {key.start}:{key.stop} is empty; the language has no empty vectors")
    return Part(_number(first + 1), _number(last))


def _whole(extent: int | None) -> Part:
    if extent is None:
        raise IndexError("this length is not known in Python; write tacit.part(1, n) for all of it")
    return Part(_number(1), _number(extent))


class Literal(Expression):
    """Numbers as such. A long array is printed as a name, and handed over beside the text."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        super().__init__(here(), array.shape, 1)
        self._array = array

    @property
    def _level(self) -> int:  # type: ignore[override]
        return NEGATE if self._array.ndim == 0 and self._array < 0 else POSTFIX

    def _constant(self) -> float | None:
        return float(self._array) if self._array.ndim == 0 else None

    def _write(self, out: Writer, scope: Scope | None) -> None:
        array = self._array
        if array.ndim == 0:
            out.put(number_text(float(array)))
        elif array.size > INLINE_NUMBERS and out.sketch:
            out.put("[...]")
        elif array.size > INLINE_NUMBERS:
            assert self._place is not None
            name = out.arrays.name(array if 1 not in array.shape else array.ravel(), out.private, self._place)
            # A matrix of one row or column would be read as a vector.
            slim = array.ndim == 2 and 1 in array.shape
            out.put(name if not slim else f"[{name}]" if array.shape[0] == 1 else f"transpose([{name}])")
        else:
            self._write_list(out, array.tolist())

    def _write_list(self, out: Writer, values: list[Any]) -> None:
        out.put("[")
        for i, one in enumerate(values):
            if i > 0:
                out.put(",")
                out.pause()
            if isinstance(one, list):
                self._write_list(out, one)
            else:
                out.put(number_text(one))
        out.put("]")


def begins_with(node: Expression) -> Expression:
    """The part that the text of an expression begins with."""
    while isinstance(node, (Binary, Subscript)):
        node = node._left if isinstance(node, Binary) else node._base
    return node


class Vector(Expression):
    """A list of expressions: a vector of numbers, or a matrix of rows."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Expression]) -> None:
        shapes = items[0]._shape
        for one in items[1:]:
            if one.ndim != items[0].ndim or one.ndim == 2:
                raise refusal(
                    "the rows of a matrix are vectors of equal length: the first entry is "
                    f"{shape_text(shapes)}, this one {shape_text(one._shape)}",
                    one._place,
                )
        super().__init__(here(), (len(items), *shapes), 1 + max(one._depth for one in items))
        self._items = items

    def _write(self, out: Writer, scope: Scope | None) -> None:
        out.put("[")
        for i, one in enumerate(self._items):
            if i > 0:
                out.put(",")
                out.pause()
            out.node(one, scope)
        out.put("]")


class Binary(Expression):
    """left op right."""

    __slots__ = ("_op", "_left", "_right")

    def __init__(self, op: str, left: Expression, right: Expression, shape: Shape) -> None:
        self._op = op
        # A chain a + b + c is not nested, however long it is.
        flat = isinstance(left, Binary) and op != "^" and left._level >= self._level
        super().__init__(here(), shape, max(left._depth + (0 if flat else 1), right._depth + 1))
        self._left = left
        self._right = right

    @property
    def _level(self) -> int:  # type: ignore[override]
        return ADD if self._op in "+-" else MULTIPLY if self._op in "*/" else POWER

    def _constant(self) -> float | None:
        left, right = self._left._constant(), self._right._constant()
        if left is None or right is None or self._op not in "+-*":
            return None
        return left + right if self._op == "+" else left - right if self._op == "-" else left * right

    def _write(self, out: Writer, scope: Scope | None) -> None:
        if self._op == "^":
            out.node(self._left, scope, POSTFIX)
            out.put("^")
            out.node(self._right, scope, NEGATE)
            return
        chain = [self]
        left = self._left
        while isinstance(left, Binary) and left._op != "^" and left._level >= chain[-1]._level and not out.parentheses:
            chain.append(left)
            left = left._left
        start = out.length
        out.node(left, scope, chain[-1]._level)
        for step in reversed(chain):
            out.put(f" {step._op}")
            out.pause()
            out.node(step._right, scope, step._level + 1)
            if step is not self:
                out.mark(start, step._place)


class Negate(Expression):
    """-operand."""

    __slots__ = ("_operand",)
    _level = NEGATE

    def __init__(self, operand: Expression) -> None:
        super().__init__(here(), operand._shape, operand._depth + 1)
        self._operand = operand

    def _write(self, out: Writer, scope: Scope | None) -> None:
        out.put("-")
        out.node(self._operand, scope, POWER)


class Call(Expression):
    """A function of the language."""

    __slots__ = ("_name", "_arguments")

    def __init__(self, name: str, arguments: list[Expression], shape: Shape) -> None:
        super().__init__(here(), shape, 1 + max(one._depth for one in arguments))
        self._name = name
        self._arguments = arguments

    def _write(self, out: Writer, scope: Scope | None) -> None:
        out.put(f"{self._name}(")
        for i, one in enumerate(self._arguments):
            if i > 0:
                out.put(",")
                out.pause()
            out.node(one, scope)
        out.put(")")


class Part:
    """The elements first..last of a vector, numbers of the language: from 1, and the last one belongs to it."""

    __slots__ = ("first", "last")

    def __init__(self, first: Expression, last: Expression) -> None:
        self.first = first
        self.last = last


class Subscript(Expression):
    """base[items]."""

    __slots__ = ("_base", "_items")

    def __init__(self, base: Expression, items: list[Expression | Part]) -> None:
        shape: list[int | None] = []
        for one in items:
            if isinstance(one, Part):
                first, last = one.first._constant(), one.last._constant()
                shape.append(None if first is None or last is None else int(last - first) + 1)
        super().__init__(here(), (*shape, *base._shape[len(items) :]), base._depth + 1)
        self._base = base
        self._items = items

    def _write(self, out: Writer, scope: Scope | None) -> None:
        out.node(self._base, scope, POSTFIX)
        for i, one in enumerate(self._items):
            out.put(", " if i else "[")
            out.node(one.first if isinstance(one, Part) else one, scope)
            if isinstance(one, Part):
                out.put("..")
                out.node(one.last, scope)
        out.put("]")
