"""Records of facts: dictionaries whose keys are attributes too."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class Facts(dict[str, Any]):
    """A record: ``facts.x_error`` and ``facts["x_error"]`` are the same.

    >>> Facts(k=10, x_error=0.5).x_error
    0.5
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}' here; there are: {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"Facts({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def facts_of(value: Any) -> Any:
    """What ``json.loads`` gives, with every object as Facts."""
    if isinstance(value, dict):
        return Facts({name: facts_of(one) for name, one in value.items()})
    if isinstance(value, list):
        return [facts_of(one) for one in value]
    return value


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name.

    >>> did_you_mean("wieght", ["need", "weight"])
    "; did you mean 'weight'?"
    """
    near = difflib.get_close_matches(wanted, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def need(package: str, what: str) -> Any:
    """An optional package, or an ImportError that says what it is for and how to get it."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        if error.name is not None and error.name.split(".")[0] != name:
            raise
        raise ImportError(
            f"{what} needs {name}, which is not installed: apt install python3-{name}, or pip install {name}", name=name
        ) from None
