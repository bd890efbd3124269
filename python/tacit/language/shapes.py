"""Shapes of expressions, as far as Python knows them."""

from __future__ import annotations

from typing import TypeAlias

from .places import refusal

Shape: TypeAlias = tuple[int | None, ...]  # () a number, (n,) a vector, (r, c) a matrix; None: not known in Python


def shape_text(shape: Shape) -> str:
    """A shape in words.

    >>> shape_text(()), shape_text((2,)), shape_text((2, 3))
    ('a number', 'a vector of 2', 'a 2 x 3 matrix')
    """
    if not shape:
        return "a number"
    known = ["?" if one is None else str(one) for one in shape]
    return f"a vector of {known[0]}" if len(shape) == 1 else f"a {known[0]} x {known[1]} matrix"


def equal_shapes(what: str, left: Shape, right: Shape) -> Shape:
    """The shape of an operation element by element. A number goes with every element.

    >>> equal_shapes("+", (3,), ())
    (3,)
    """
    if not left or not right:
        return left or right
    if len(left) != len(right) or any(a is not None and b is not None and a != b for a, b in zip(left, right)):
        raise refusal(
            f"{what} needs equal shapes: the left side is {shape_text(left)}, the right side {shape_text(right)}"
        )
    return tuple(a if a is not None else b for a, b in zip(left, right))
