"""What to promise: the keywords that plan, run, sweep, bound and audit share."""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, TypeVar

from ._binding import ffi, lib
from .call import Work, real, whole
from .data import text_of


class Promise(TypedDict, total=False):
    """What to promise. Each keyword replaces what the problem says.

    mechanism: the law of the noise: "laplace", "gaussian" or "none".
    epsilon, delta: the price that is allowed: ``P(S) <= e^epsilon P'(S) + delta`` for every event S. Gaussian noise needs
        a delta, an allowance: the factor is exceeded with a larger probability. A ln(2) of the paper is ``math.log(2)``.
    adjacency: what is hidden: "one:0.5" (changes of one agent's messages over the run: by 0.5 in total with Laplace
        noise, by 0.5 in root-sum-square with Gaussian noise), "ensemble:0.5" (of all agents together), "agent" (whatever
        one agent may do), "agent:0.5" (whatever keeps one agent's states within 0.5 in every round) or "data" (the private data that the problem protects). A number B alone means "one:B", in published calibration
        "ensemble:B".
    rounds: how many rounds there will be.
    method: "tacit", or "published" for the paper's steps.
    placement: where noise is added: "auto", "outputs", "states" or "forms".
    calibration: "tight" (epsilon is for everything that anyone sees) or "published" (for each released system).
    constants: "certified" Lipschitz constants, or those that the problem "declared".
    margin: keeps results away from the limits: a number, "auto", or "auto:0.99" for a probability.
    feasible: "always": one more round, after which all constraints hold with certainty; "always:0.3" gives it that share of
        the price. It needs a delta, with Laplace noise too.
    coalition: agents who put together what they see: "home[1],home[2]", or a list of such texts.
    alpha_bar, c1, gamma_bar, c2: regularization and step of the published method.
    most_holds: how often a late agent's state may be used again; 0: the cloud waits.
    rounds_per_day: for the price of hiding a day.
    seed: noise that can be repeated, for simulation only. NOT PRIVATE. Without it noise is fresh.
    ledger: a file in which runs are entered.
    budget: what all runs in the ledger may cost together: epsilon, or (epsilon, delta).
    """

    mechanism: str
    epsilon: float
    delta: float
    adjacency: str | float | tuple[str, float]
    rounds: float
    method: str
    placement: str
    calibration: str
    constants: str
    margin: str | float
    feasible: str
    coalition: str | Iterable[str]
    alpha_bar: float
    c1: float
    gamma_bar: float
    c2: float
    most_holds: int
    rounds_per_day: float
    seed: int
    ledger: str | os.PathLike[str]
    budget: float | str | tuple[float, float]


_WORDS = ("mechanism", "method", "placement", "calibration", "constants", "feasible")
_NUMBERS = ("epsilon", "delta", "rounds", "alpha_bar", "gamma_bar", "c1", "c2", "rounds_per_day")
_WORDS_OR_NUMBERS = ("adjacency", "margin")
PROMISE_KEYS = frozenset(Promise.__annotations__)
WORK_KEYS = frozenset(Work.__annotations__)

_KEYWORDS: dict[str, list[str]] = {}  # of each function that is documented below

Made = TypeVar("Made", bound=Callable[..., Any])


def _number_text(value: Any, what: str) -> str:
    if isinstance(value, tuple) and what == "adjacency" and len(value) == 2 and isinstance(value[0], str):
        return f"{value[0]}:{real(value[1], what)!r}"
    if isinstance(value, (bool, bytes)) or not (isinstance(value, str) or hasattr(value, "__float__")):
        like = "'one:0.5', 'ensemble:2', 'agent' or a number" if what == "adjacency" else "a number, 'auto' or 'auto:0.99'"
        raise TypeError(f"{what} is {like}, not {value!r}")
    return value if isinstance(value, str) else repr(real(value, what))


class Terms:
    """A ``tacit_promise``, and the texts that it points to."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.struct = ffi.new("tacit_promise *")
        lib.tacit_promise_default(self.struct, ffi.sizeof("tacit_promise"))
        self._kept: list[Any] = []
        for name, value in given.items():
            if value is not None:
                self._set(name, value)

    def _text(self, value: str, what: str) -> Any:
        self._kept.append(text_of(value, what))
        return self._kept[-1]

    def _set(self, name: str, value: Any) -> None:
        struct = self.struct
        if name in _WORDS:
            setattr(struct, name, self._text(value, name))
        elif name in _NUMBERS:
            setattr(struct, name, real(value, name))
        elif name in _WORDS_OR_NUMBERS:
            setattr(struct, name, self._text(_number_text(value, name), name))
        elif name == "coalition":
            groups = [value] if isinstance(value, str) else list(value)
            for group in groups:
                if isinstance(group, str) and "," not in group:
                    raise ValueError(f"a coalition has two agents or more in one text, such as 'a,b', not {group!r}")
            self._kept.append(ffi.new("char *[]", [self._text(group, name) for group in groups]))
            struct.coalitions = self._kept[-1]
            struct.coalition_count = len(groups)
        elif name == "most_holds":
            struct.most_holds = whole(value, name, 1000000)
        elif name == "seed":
            struct.seed = whole(value, name)
            struct.simulate = 1
        elif name == "ledger":
            struct.ledger = self._text(os.fspath(value), name)
        else:
            self._set_budget(value)

    def _set_budget(self, value: Any) -> None:
        parts: Any = value if isinstance(value, (tuple, list)) else (value,)
        if isinstance(value, str) and re.fullmatch(r"[0-9.]+(e-?[0-9]+)?(:[0-9.]+(e-?[0-9]+)?)?", value):
            parts = [float(part) for part in value.split(":")]
        if len(parts) not in (1, 2) or any(isinstance(part, str) for part in parts):
            raise ValueError(f"budget is epsilon or (epsilon, delta), such as 4 or (4, 1e-6), not {value!r}")
        numbers = [real(part, "budget") for part in parts]
        self.struct.budget_epsilon = numbers[0]
        if len(numbers) == 2:
            self.struct.budget_delta = numbers[1]


def split_keywords(function: str, given: dict[str, Any], keys: frozenset[str]) -> tuple[Terms, Work]:
    """Parts keywords into what to promise and how to work; refuses others by name."""
    work: Work = {}
    terms = {}
    for name, value in given.items():
        if name in WORK_KEYS:
            work[name] = value  # type: ignore[literal-required]
        elif name in keys:
            terms[name] = value
        else:
            known = _KEYWORDS[function]
            near = difflib.get_close_matches(name, known, 1)
            if not near and len(name) > 1:  # cut short, as in eps=
                near = sorted((one for one in known if one.startswith(name)), key=len)
            hint = f"; did you mean '{near[0]}'?" if near else f"; there are: {', '.join(known)}"
            raise TypeError(f"{function}() has no keyword '{name}'{hint}")
    return Terms(terms), work


def _documented(function: Made, *kinds: Any) -> Made:
    """Shows the keywords of ``kinds`` in the signature and below the docstring, for help()."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for kind in kinds
        for name in kind.__annotations__
        if name not in signature.parameters
    ]
    wrapped: Any = function
    wrapped.__signature__ = signature.replace(parameters=[*own, *more])
    _KEYWORDS[function.__name__] = [one for one in wrapped.__signature__.parameters if one != "self"]
    body = [inspect.cleandoc(function.__doc__ or "")]
    body += [inspect.cleandoc(kind.__doc__ or "") for kind in kinds]
    wrapped.__doc__ = "\n\n".join(body)
    return function


def takes_work(function: Made) -> Made:
    """Of a function with the keywords of Work."""
    return _documented(function, Work)


def takes_promise(function: Made) -> Made:
    """Of a function with the keywords of Promise and Work."""
    return _documented(function, Promise, Work)
