"""What the tests of models share: a small model, and errors that must point at a line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import tacit


def small() -> tuple[tacit.Model, Any, Any]:
    m = tacit.Model()
    home = m.family("home", {"need": [4.0, 2.5], "cap": [3.0, 7.4], "pref": [[3, 1], [0, 2.5]]}, public=["cap"])
    p = home.state("p", 2, lower=0, upper=home.cap)
    return m, home, p


def refused(call: Callable[[], object], *words: str, line: int | None = None) -> tacit.ProblemError:
    """The error that a function raises: at the line of it that ends with `# here`, unless told otherwise."""
    with pytest.raises(tacit.ProblemError) as caught:
        call()
    lines, first = inspect.getsourcelines(call)
    marked = [first + i for i, text in enumerate(lines) if text.rstrip().endswith("# here")]
    assert caught.value.file == inspect.getsourcefile(call)
    assert caught.value.line == (line or (marked or [first])[0])
    for word in words:
        assert word in str(caught.value)
    return caught.value


def text_of(expression: object) -> str:
    return repr(expression).split(" ", 1)[1][:-1]
