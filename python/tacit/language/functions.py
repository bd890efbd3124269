"""Functions of the problem language, for expressions.

They have the names of the language: ``tacit.sum``, ``tacit.norm``, ``tacit.huber`` and so on, and always make an
expression: ``tacit.sqrt(5)`` is printed as ``sqrt(5)``. docs/language.md says what each of them means.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .expressions import Call, Expression, Operand, Part, as_expression
from .names import Index, IndexSum, IndexVector, Total, indices
from .places import checked_name, refusal
from .relations import Relation, SetShape
from .shapes import equal_shapes, shape_text

if TYPE_CHECKING:
    from .blocks import Block

__all__ = [
    "ball",
    "ball1",
    "between",
    "box",
    "ceil",
    "constant",
    "dot",
    "ellipsoid",
    "exp",
    "floor",
    "huber",
    "index",
    "length",
    "ln",
    "log",
    "logsumexp",
    "maximum",
    "minimum",
    "norm",
    "norm1",
    "norm2",
    "norminf",
    "part",
    "pos",
    "quadform",
    "simplex",
    "sqrt",
    "sumsq",
    "total",
    "transpose",
    "vector",
]


def _each(name: str, *arguments: Operand) -> Expression:
    parts = [as_expression(one) for one in arguments]
    return Call(name, parts, parts[0].shape)


def _number(name: str, *arguments: Operand) -> Expression:
    if not arguments:
        raise TypeError(f"{name} takes at least one argument")
    return Call(name, [as_expression(one) for one in arguments], ())


def _together(name: str, arguments: tuple[Operand, ...]) -> Expression:
    if len(arguments) < 2:
        raise TypeError(f"{name} takes at least two arguments; the {name[:3]} of one vector is tacit.{name[:3]}")
    parts = [as_expression(one) for one in arguments]
    shape = parts[0].shape
    for one in parts[1:]:
        shape = equal_shapes(name, shape, one.shape)
    return Call(name, parts, shape)


# ---- indices and sums ----


def index(name: str, first: Operand, last: Operand | None = None) -> Index:
    """A number that runs from first to last, both included: ``t in 1..24``. With one bound, from 1 to it.

    It is a number of the language, which counts from 1. Use it as a subscript and in arithmetic, and say where it runs
    with ``over=``: in a constraint, or in a sum. It selects from states, columns, parameters and
    ``tacit.constant(array)``; an array of NumPy itself knows only whole numbers.

    >>> import tacit
    >>> m = tacit.Model()
    >>> home = m.family("home", count=10)
    >>> p = home.state("p", 24, lower=0, upper=7.4)
    >>> t = tacit.index("t", 1, 24)
    >>> feeder = m.constraint("feeder", tacit.total(home, p[t]) <= 80, over=t)
    >>> print(m)
    agents home[i in 1..10] {
      state p[24] in [0, 7.4]
    }
    <BLANKLINE>
    constraint feeder[t in 1..24]: sum(home: p[t]) <= 80
    """
    begin, end = (1, first) if last is None else (first, last)
    return Index(checked_name(name, "an index"), as_expression(begin), as_expression(end))


def part(first: Operand, last: Operand) -> Part:
    """The elements first..last of a vector, as numbers of the language: from 1, and with the last one.

    Python's slices, ``p[0:2]``, do the same with whole numbers from 0. This is for expressions: ``p[part(t, t + 1)]``.

    >>> constant([1, 2, 3])[part(2, 3)]
    <expression [1, 2, 3][2..3]>
    """
    return Part(as_expression(first), as_expression(last))


def constant(value: Operand) -> Expression:
    """A number or an array as an expression, so that an index can select from it: ``constant([3, 4])[t]``.

    >>> constant([3, 4])[0]
    <expression [3, 4][1]>
    """
    return as_expression(value)


def sum(value: Operand, over: Index | Iterable[Index] | None = None) -> Expression:
    """The sum of all elements; with ``over``, of the value for every index.

    >>> i = index("i", 1, 3)
    >>> sum([1, 2, 3]), sum(i**2, over=i)
    (<expression sum([1, 2, 3])>, <expression sum(i in 1..3: i^2)>)
    """
    if over is None:
        return _number("sum", value)
    found = indices(over)
    if not found:
        raise TypeError("over has no index")
    return IndexSum(found, as_expression(value))


def vector(value: Operand, over: Index | Iterable[Index]) -> Expression:
    """The vector of the value for every index, ``[t in 1..24: value]``; the matrix, with two indices or rows.

    Where the index is no part of the language, a list does as well: ``tacit.constant([p[i] - 1 for i in range(3)])``.

    >>> t = index("t", 1, 3)
    >>> vector(t**2, over=t), vector(t**2, over=t).shape
    (<expression [t in 1..3: t^2]>, (3,))
    """
    found = indices(over)
    body = as_expression(value)
    if not found or len(found) + body.ndim > 2:
        raise refusal("a vector has one index, of numbers; a matrix two indices of numbers, or one of rows")
    return IndexVector(found, body)


def total(family: Block, value: Operand) -> Expression:
    """The sum over all members of a family: ``sum(family: value)``.

    Inside, the member's states, public columns, public parameters and number can be used.

    >>> import tacit
    >>> node = tacit.Model().family("node", count=10)
    >>> x = node.state("x", lower=0, upper=node.index)
    >>> total(node, x**2)
    <expression sum(node: x^2)>
    """
    from .blocks import Block

    if not isinstance(family, Block):
        raise TypeError(f"total is over a family or an agent of a model, not {type(family).__name__}")
    return Total(family, as_expression(value))


# ---- vectors to numbers ----


def sumsq(value: Operand) -> Expression:
    """The sum of squares of all elements."""
    return _number("sumsq", value)


def norm(value: Operand) -> Expression:
    """The root of the sum of squares."""
    return _number("norm", value)


def norm2(value: Operand) -> Expression:
    """The same as norm."""
    return _number("norm2", value)


def norm1(value: Operand) -> Expression:
    """The sum of absolute values."""
    return _number("norm1", value)


def norminf(value: Operand) -> Expression:
    """The largest absolute value."""
    return _number("norminf", value)


def dot(left: Operand, right: Operand) -> Expression:
    """left'right; the same as left @ right.

    >>> dot([1, 2], [3, 4])
    <expression dot([1, 2], [3, 4])>
    """
    u, v = as_expression(left), as_expression(right)
    lengths = {u.shape, v.shape} - {(None,)}
    if u.ndim != 1 or v.ndim != 1 or len(lengths) > 1:
        raise refusal(
            f"dot needs two vectors of equal length: these are {shape_text(u.shape)} and {shape_text(v.shape)}"
        )
    return Call("dot", [u, v], ())


def quadform(value: Operand, matrix: Operand) -> Expression:
    """v'Qv, Q free of states."""
    return _number("quadform", value, matrix)


def logsumexp(*values: Operand) -> Expression:
    """log(exp(u) + exp(v) + ...) of numbers and of all elements of vectors."""
    return _number("logsumexp", *values)


def min(*values: Operand) -> Expression:
    """The smallest of several numbers, or of the elements of one vector; ``minimum`` is element by element."""
    return _number("min", *values)


def max(*values: Operand) -> Expression:
    """The largest of several numbers, or of the elements of one vector; ``maximum`` is element by element."""
    return _number("max", *values)


def length(value: Operand) -> Expression:
    """How many elements a vector has, as an expression; ``len(v)`` is a number of Python."""
    return _number("length", value)


# ---- element by element ----


def exp(value: Operand) -> Expression:
    """Element by element."""
    return _each("exp", value)


def log(value: Operand) -> Expression:
    """The natural logarithm, element by element."""
    return _each("log", value)


def ln(value: Operand) -> Expression:
    """The same as log."""
    return _each("ln", value)


def sqrt(value: Operand) -> Expression:
    """The square root, element by element."""
    return _each("sqrt", value)


def pow(value: Operand, exponent: Operand) -> Expression:
    """value ** exponent, element by element; the exponent is a constant."""
    return _each("pow", value, exponent)


def huber(value: Operand, threshold: Operand) -> Expression:
    """u^2/2 where |u| <= d, and d(|u| - d/2) beyond; element by element."""
    parts = [as_expression(value), as_expression(threshold)]
    return Call("huber", parts, parts[0].shape or parts[1].shape)


def abs(value: Operand) -> Expression:
    """The absolute value, element by element."""
    return _each("abs", value)


def pos(value: Operand) -> Expression:
    """max(0, u), element by element: what lies above zero."""
    return _each("pos", value)


def maximum(*values: Operand) -> Expression:
    """The larger one, element by element; a number goes with every element.

    >>> maximum([1, 5, 2], 3)
    <expression maximum([1, 5, 2], 3)>
    """
    return _together("maximum", values)


def minimum(*values: Operand) -> Expression:
    """The smaller one, element by element; a number goes with every element."""
    return _together("minimum", values)


def floor(value: Operand) -> Expression:
    """The whole number below, of constants and data."""
    return _each("floor", value)


def ceil(value: Operand) -> Expression:
    """The whole number above, of constants and data."""
    return _each("ceil", value)


def transpose(matrix: Operand) -> Expression:
    """The matrix turned over; the same as matrix.T."""
    return as_expression(matrix).T


# ---- relations and sets ----


def between(low: Operand, value: Operand, high: Operand) -> Relation:
    """low <= value <= high: for ``require`` and ``constraint``. Python's own 0 <= p <= 5 cannot mean that.

    >>> import tacit
    >>> p = tacit.Model().agent("a").state("p", 3, lower=-5, upper=5)
    >>> between(-1, sum(p), 2)
    <relation -1 <= sum(p) <= 2>
    """
    return Relation(as_expression(low), "<=", as_expression(value), as_expression(high))


def box(lower: Operand, upper: Operand) -> SetShape:
    """Between two bounds: ``home.require(p.isin(tacit.box(0, 5)))``.

    >>> import tacit
    >>> a = tacit.Model().agent("a")
    >>> p = a.state("p", 3, lower=-5, upper=5)
    >>> a.require(p[0:2].isin(box(0, 4)), p.isin(ball([1, 0, 0], 2.5)))
    >>> print(a)
    agent a {
      state p[3] in [-5, 5]
      private set p[1..2] in [0, 4]
      private set p in ball([1, 0, 0], 2.5)
    }
    """
    return SetShape("", [as_expression(lower), as_expression(upper)])


def simplex(total: Operand) -> SetShape:
    """p >= 0 with sum(p) == total."""
    return SetShape("simplex", [as_expression(total)])


def ball(center: Operand, radius: Operand) -> SetShape:
    """Points within a distance of the centre."""
    return SetShape("ball", [as_expression(center), as_expression(radius)])


def ball1(center: Operand, radius: Operand) -> SetShape:
    """Points within an l1 distance of the centre."""
    return SetShape("ball1", [as_expression(center), as_expression(radius)])


def ellipsoid(center: Operand, matrix: Operand) -> SetShape:
    """Points with quadform(p - center, matrix) <= 1; the matrix is symmetric and positive definite."""
    return SetShape("ellipsoid", [as_expression(center), as_expression(matrix)])
