"""What comes out: check, solve, plan, bound, audit, split, ledger and report. runs.py has run and sweep."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ._binding import ffi, lib
from .call import Call, Work, perform, raise_status
from .data import text_of
from .errors import Error, Status
from .facts import Facts, did_you_mean, need
from .promise import split_keywords, takes_work

if TYPE_CHECKING:
    from .problem import Family, Problem

Array = np.ndarray[Any, np.dtype[np.float64]]


class _Numbers:
    """Numbers of the library as NumPy sees them: not copied, not writable, alive as long as the array is."""

    def __init__(self, call: Call, pointer: Any, shape: tuple[int, ...]) -> None:
        self._call = call
        self.__array_interface__ = {
            "data": (int(ffi.cast("uintptr_t", pointer)), True),
            "shape": shape,
            "typestr": np.dtype(np.float64).str,
            "version": 3,
        }


def shared(call: Call, pointer: Any, shape: tuple[int, ...]) -> Array:
    """An array over numbers that belong to a result."""
    if pointer == ffi.NULL or 0 in shape:
        return np.zeros(shape)
    return np.asarray(_Numbers(call, pointer, shape))


class ByConstraint(np.ndarray[Any, np.dtype[np.float64]]):
    """Numbers with one for each constraint: ``mu[3]``, ``mu["feeder[4]"]``, and ``mu["feeder"]`` for all of a name.

    What is computed from it is an array whose numbers have no names.
    """

    _names: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return np.asarray(self)[key]
        if not self._names:
            raise KeyError(f"this array has no names: it was computed; take mu[{key!r}] before")
        if key in self._names:
            return np.take(np.asarray(self), self._names.index(key), axis=-1)
        places = [j for j, name in enumerate(self._names) if name.startswith(f"{key}[")]
        if not places:
            raise KeyError(f"there is no constraint '{key}'{did_you_mean(key, (one.split('[')[0] for one in self._names))}")
        return np.take(np.asarray(self), places, axis=-1)

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def by_constraint(array: Array, problem: Problem) -> ByConstraint:
    """The array, with the names of the problem's constraints."""
    made = array.view(ByConstraint)
    made._names = problem.constraints
    return made


def text_or_none(pointer: Any) -> str | None:
    return None if pointer == ffi.NULL else str(ffi.string(pointer).decode())


def _value(struct: Any, name: str, kind: Any) -> Any:
    value = getattr(struct, name)
    if kind.kind == "struct":
        return Facts({one: _value(value, one, field.type) for one, field in kind.fields})
    if kind.kind == "pointer":
        return text_or_none(value)
    return bool(value) if kind.cname == "int" else value


@functools.cache
def _fields(type_name: str) -> list[tuple[str, Any]]:
    fields = [(name, field.type) for name, field in ffi.typeof(type_name).fields if name != "size"]
    return [(name, kind) for name, kind in fields if kind.kind != "pointer" or kind.item.cname == "char"]


def filled(call: Call, type_name: str, function: Any, *numbers: int) -> Any:
    """A struct of facts, filled by the library."""
    struct = ffi.new(type_name + " *")
    struct.size = ffi.sizeof(type_name)
    raise_status(function(call.result, *numbers, struct), ffi.NULL)
    return struct


def read(call: Call, type_name: str, function: Any, *numbers: int) -> Facts:
    """A struct of facts as a record: its texts and numbers, not its arrays."""
    struct = filled(call, type_name, function, *numbers)
    facts = Facts({name: _value(struct, name, kind) for name, kind in _fields(type_name)})
    for name in ("problem", "recommendation"):
        if facts.get(name):
            facts[name] = call.words(facts[name])
    return facts


class States(Mapping[str, Array]):
    """The states of all agents: ``x["home"]`` is members x states, ``x["home[17]"]`` one member, ``x["a1"]`` an agent.

    An array is read from the library when it is first asked for. It is read-only; ``x["home"].copy()`` is yours.
    """

    def __init__(self, problem: Problem, call: Call, run: int, missing: str) -> None:
        self._call, self._run, self._missing = call, run, missing
        self._families = problem.families
        self._read: dict[str, Array] = {}
        self._named: dict[str, dict[str, int]] = {}

    def _family(self, family: Family) -> Array:
        if family.name not in self._read:
            x = np.empty((family.members, family.states))
            room = ffi.cast("double *", x.ctypes.data)
            status = lib.tacit_result_x(self._call.result, self._run, family.number, room, x.size)
            if status == Status.BAD_USAGE:
                raise Error(self._missing)
            raise_status(status, ffi.NULL)
            x.setflags(write=False)
            self._read[family.name] = x
        return self._read[family.name]

    def __getitem__(self, name: str) -> Array:
        family = self._families.get(name)
        if family is not None:
            return self._family(family) if family.is_family else self._family(family).ravel()
        for one in self._families.values():
            if one.is_family and name in self._members(one):
                return self._family(one)[self._members(one)[name]]  # type: ignore[no-any-return]
        shown = ", ".join(list(self)[:8]) + (", ..." if len(self) > 8 else "")
        families = [one for one in self._families.values() if one.is_family and one.members]
        example = f"; members are called as in {self._call.members(families[0]._replace(members=1))[0]!r}" if families else ""
        raise KeyError(f"there is no agent or family '{name}'; there are: {shown}{example}")

    def _members(self, family: Family) -> dict[str, int]:
        if family.name not in self._named:
            self._named[family.name] = {name: i for i, name in enumerate(self._call.members(family))}
        return self._named[family.name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._families)

    def __len__(self) -> int:
        return len(self._families)

    def frame(self, family: str) -> Any:
        """A family's states as a DataFrame: a row for each member, a column for each state."""
        pandas = need("pandas", "frame()")
        facts = self._families[family]
        labels = [label for variable in facts.variables for label in variable.labels]
        return pandas.DataFrame(self._family(facts), index=self._call.members(facts), columns=labels)

    def __repr__(self) -> str:
        return f"<states of {', '.join(list(self)[:8])}{', ...' if len(self) > 8 else ''}>"


class Result:
    """What every result has. ``print(result)`` shows what the command prints; ``bool(result)`` is ``holds``."""

    _word = "result"

    def __init__(self, problem: Problem | None, call: Call) -> None:
        self.problem: Any = problem  #: the problem it was made from
        self._call = call

    @property
    def holds(self) -> bool:
        """True where the command would exit with 0: assumptions hold, the plan is private, the run came to its end."""
        return bool(lib.tacit_result_holds(self._call.result))

    @property
    def reason(self) -> str | None:
        """Why it does not hold, in a sentence. None where it does."""
        reason = text_or_none(lib.tacit_result_reason(self._call.result))
        return None if reason is None else self._call.words(reason)

    @property
    def interrupted(self) -> bool:
        """True where an interrupt ended the work: the result has what was done."""
        return bool(lib.tacit_result_interrupted(self._call.result))

    @property
    def warnings(self) -> list[str]:
        """What the library warns of, a text each. Each was also given to Python's ``warnings`` as a TacitWarning."""
        return self._call.warnings()

    @functools.cached_property
    def text(self) -> str:
        """What the command prints."""
        return self._call.text(lib.PY_TEXT)

    @functools.cached_property
    def json_text(self) -> str:
        """What the command prints with --json, byte for byte."""
        return self._call.text(lib.PY_JSON)

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """What the command prints with --json, as a dictionary."""
        return json.loads(self.json_text)  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return self.text.rstrip("\n")

    def _headline(self) -> str:
        return self.reason or "holds"

    def __repr__(self) -> str:
        return f"<tacit.{type(self).__name__}: {self._headline()}>"

    def _repr_html_(self) -> str:
        from . import notebook

        return notebook.result(self)


class Check(Result):
    """The assumptions, with their proofs, and the constants that noise is scaled by."""

    @functools.cached_property
    def _facts(self) -> Facts:
        return read(self._call, "tacit_check_facts", lib.tacit_result_check)

    @property
    def assumptions(self) -> Facts:
        """Assumptions 1 to 4: "holds", "fails", "unproved" or "elsewhere"."""
        return Facts({name: self._facts[name] for name in ("objectives", "sets", "constraints", "slater")})

    @property
    def convex(self) -> str:
        """Whether every objective is convex, as every method asks: "holds", "fails", "unproved" or "elsewhere"."""
        return str(self._facts.convex)

    @property
    def smooth(self) -> str:
        """Whether every objective is continuously differentiable, as the published method asks."""
        return str(self._facts.smooth)

    @property
    def lipschitz(self) -> Facts:
        """Proved brackets of the constants of g, in the 1-norm and the 2-norm: ``lipschitz.l1.upper``."""
        return Facts(l1=self._facts.constraint_1, l2=self._facts.constraint_2)

    @property
    def slater_margin(self) -> float:
        """Proved: some point has all g_j <= -margin."""
        return float(self._facts.slater_margin)

    @property
    def dual_radius(self) -> float:
        """R, the bound on the sum of all multipliers; NaN for none."""
        return float(self._facts.dual_radius)

    @functools.cached_property
    def agents(self) -> list[Facts]:
        """Brackets for each agent; for each family where there are many."""
        rows = range(self._facts.agents)
        return [read(self._call, "tacit_check_agent", lib.tacit_result_check_agent, row) for row in rows]


class Solution(Result):
    """The exact solution, without privacy."""

    @functools.cached_property
    def _facts(self) -> Facts:
        return read(self._call, "tacit_solution", lib.tacit_result_solution)

    @property
    def outcome(self) -> str:
        """ "solved", "inaccurate", "infeasible_suspected" or "interrupted"."""
        return str(self._facts.outcome)

    @property
    def objective(self) -> float:
        """The sum of all objectives."""
        return float(self._facts.objective)

    @property
    def residual(self) -> float:
        """How far the saddle point conditions are from holding."""
        return float(self._facts.residual)

    @property
    def max_violation(self) -> float:
        """The largest constraint value above 0, or |g| of an equality."""
        return float(self._facts.max_violation)

    @property
    def norm_x(self) -> float:
        """|x|, in the 2-norm."""
        return float(self._facts.norm_x)

    @property
    def norm_mu(self) -> float:
        """|mu|, in the 2-norm."""
        return float(self._facts.norm_mu)

    @property
    def is_convex(self) -> bool:
        """Convexity is proved; otherwise the point is only stationary."""
        return bool(self._facts.is_convex)

    @functools.cached_property
    def x(self) -> States:
        """The states by agent and family: ``solution.x["home"]`` is members x states."""
        return States(self.problem, self._call, 0, f"there is no solution: {self.reason}")

    @functools.cached_property
    def mu(self) -> ByConstraint:
        """The multipliers, in the order of ``problem.constraints``, and by name: ``mu["feeder[3]"]``. Read-only."""
        facts = filled(self._call, "tacit_solution", lib.tacit_result_solution)
        return by_constraint(shared(self._call, facts.mu, (facts.constraints,)), self.problem)

    def frame(self) -> Any:
        """The multipliers as a Series by constraint. The states of a family are ``solution.x.frame("home")``."""
        return need("pandas", "frame()").Series(self.mu, index=self.problem.constraints, name="mu")

    def _headline(self) -> str:
        return f"{self.outcome}, objective {self.objective:.6g}"


class Plan(Result):
    """How much noise keeps the promise, and what every observer learns."""

    @functools.cached_property
    def _facts(self) -> Facts:
        return read(self._call, "tacit_plan_facts", lib.tacit_result_plan)

    @property
    def private(self) -> bool:
        """The promise holds, and hides more than nothing."""
        return bool(self._facts.is_private)

    @property
    def impossible(self) -> str | None:
        """Why no plan can be made; None where there is one."""
        return None if self._facts.problem is None else str(self._facts.problem)

    @property
    def headline(self) -> str | None:
        """The first line of the guarantee card."""
        return None if self._facts.headline is None else str(self._facts.headline)

    @property
    def facts(self) -> Facts:
        """Mechanism, method, placement, calibration, adjacency, norm, hidden_every_round, epsilon, delta, rounds, entries, hash,
        over_budget.

        norm is "total" (Laplace noise) or "root-sum-square" (Gaussian noise): how the B of "one:B" and "ensemble:B" is
        measured. hidden_every_round is what is hidden of a change that persists in all T rounds: B/T or B/sqrt(T).
        """
        return self._facts

    @property
    def hash(self) -> str | None:
        """64 hexadecimal digits that name this plan: agents can pin them."""
        return None if self._facts.hash is None else str(self._facts.hash)

    @functools.cached_property
    def observers(self) -> list[Facts]:
        """What each observer learns at most over the whole run: who, about, epsilon, delta."""
        rows = range(self._facts.observers)
        return [read(self._call, "tacit_observer", lib.tacit_result_observer, row) for row in rows]

    @functools.cached_property
    def channels(self) -> list[Facts]:
        """Released numbers that share a scale of noise: name, entries, sensitivity, scale, variance."""
        rows = range(self._facts.channels)
        return [read(self._call, "tacit_channel", lib.tacit_result_channel, row) for row in rows]

    @functools.cached_property
    def constraints(self) -> list[Facts]:
        """How accurate a run will be, by constraint: name, limit, doubt (one standard deviation of what averaged noise
        leaves, in the constraint's units), most_doubt, local_doubt, range, room, is_useless; is_unreached (too few rounds
        to settle), missing (how far over the limit on the average), rounds_needed. NaN where nothing is known.
        """
        if self.impossible is not None:
            return []
        rows = range(len(self.problem.constraints))
        return [read(self._call, "tacit_doubt", lib.tacit_result_doubt, row) for row in rows]

    def certificate(self) -> dict[str, Any]:
        """What the plan rests on, for others to check: docs/certificate.md."""
        return json.loads(self._call.text(lib.PY_CERTIFICATE))  # type: ignore[no-any-return]

    def frame(self) -> Any:
        """The observers as a DataFrame."""
        return need("pandas", "frame()").DataFrame(self.observers, columns=["who", "about", "epsilon", "delta"])

    def plot(self, ax: Any = None, *, what: str | None = None) -> Any:
        """Draws what each observer pays ("prices"), and below it the doubt in each constraint ("doubts").

        ax: axes to draw into, the prices unless told otherwise. what: one of the two alone. Returns the axes.
        """
        from . import plots

        return plots.plan(self, ax, what)

    def _headline(self) -> str:
        return self.headline or self.reason or "no plan"


class Advice(Result):
    """Which promise leaves a tolerable doubt in the constraints."""

    @functools.cached_property
    def facts(self) -> Facts:
        """reaches, recommendation, mechanism, adjacency, norm, hidden_every_round, epsilon, delta, doubt, constraint, rounds, enough_rounds,
        agents_needed; is_unreached, missing and rounds_needed as in ``Plan.constraints``.
        """
        return read(self._call, "tacit_advice", lib.tacit_result_advice)

    @property
    def reaches(self) -> bool:
        """Something can be recommended."""
        return bool(self.facts.reaches)

    @property
    def recommendation(self) -> str:
        """One sentence."""
        return str(self.facts.recommendation or self.facts.problem)

    @functools.cached_property
    def constraints(self) -> list[Facts]:
        """The doubt that the promise of file and options leaves in each constraint, as ``Plan.constraints``."""
        if self.facts.problem is not None:
            return []
        rows = range(len(self.problem.constraints))
        return [read(self._call, "tacit_doubt", lib.tacit_result_doubt, row) for row in rows]

    @functools.cached_property
    def table(self) -> list[Facts]:
        """The doubt in the worst constraint by adjacency, norm, mechanism and epsilon: limit, doubt, missing, reaches,
        is_useless, is_unreached.

        Rows of different norms are different promises.
        """
        rows = range(self.facts.points)
        return [read(self._call, "tacit_advice_point", lib.tacit_result_advice_point, row) for row in rows]

    def frame(self) -> Any:
        """The table as a DataFrame."""
        columns = ["adjacency", "mechanism", "epsilon", "constraint", "limit", "doubt", "reaches", "is_useless", "norm", "missing"]
        return need("pandas", "frame()").DataFrame(self.table, columns=columns)

    def plot(self, ax: Any = None) -> Any:
        """Draws the doubt against epsilon, a line for each adjacency and mechanism. Returns the axes."""
        from . import plots

        return plots.advice(self, ax)

    def _headline(self) -> str:
        return self.recommendation


class Bound(Result):
    """What is proved about a run's error before it is made."""

    @functools.cached_property
    def plan(self) -> Facts:
        """The plan that it is about, as ``Plan.facts``."""
        return read(self._call, "tacit_plan_facts", lib.tacit_result_plan)

    @functools.cached_property
    def facts(self) -> Facts:
        """error, published_error, radius, within, probability, diameter, valid_from, because."""
        if self.plan.problem is not None:
            raise Error(str(self.plan.problem), Status.BAD_PROBLEM)
        return read(self._call, "tacit_bound_facts", lib.tacit_result_bound)

    @property
    def says_something(self) -> bool:
        """False where the bound is vacuous; ``facts.because`` says why."""
        return bool(self.facts.says_something)

    def _headline(self) -> str:
        if self.plan.problem is not None:
            return str(self.plan.problem)
        return f"within {self.facts.radius:.4g} with probability 0.95" if self.says_something else "vacuous"


class Audit(Result):
    """Whether the plan's guarantee was refuted."""

    @functools.cached_property
    def facts(self) -> Facts:
        """verdict, because, confidence, seconds."""
        return read(self._call, "tacit_audit_facts", lib.tacit_result_audit)

    @property
    def verdict(self) -> str:
        """ "not_refuted", "refuted" or "inconclusive"."""
        return str(self.facts.verdict)

    @property
    def refuted(self) -> bool:
        """The guarantee does not hold."""
        return self.verdict == "refuted"

    @functools.cached_property
    def systems(self) -> list[Facts]:
        """What is claimed for released numbers, and what was seen: claimed_epsilon, lower_bound, verdict."""
        rows = range(self.facts.systems)
        return [read(self._call, "tacit_audit_system", lib.tacit_result_audit_system, row) for row in rows]

    @functools.cached_property
    def points(self) -> list[Facts]:
        """What was tested: name, verdict, why."""
        rows = range(self.facts.points)
        return [read(self._call, "tacit_audit_point", lib.tacit_result_audit_point, row) for row in rows]

    @functools.cached_property
    def faults(self) -> list[Facts]:
        """Contradictions that are not bounds on epsilon: kind, text."""
        rows = range(self.facts.faults)
        return [read(self._call, "tacit_audit_fault", lib.tacit_result_audit_fault, row) for row in rows]

    def _headline(self) -> str:
        return self.verdict.replace("_", " ")


class Split(Result):
    """The parties' files."""

    @functools.cached_property
    def parts(self) -> dict[str, str]:
        """The files by name, such as "cloud.tacit" and "agents/home.17.tacit"; empty where they were written."""
        found = {}
        for number in range(lib.tacit_result_parts(self._call.result)):
            part = filled(self._call, "tacit_part", lib.tacit_result_part, number)
            found[ffi.string(part.name).decode()] = bytes(ffi.buffer(part.text, part.length)).decode()
        return found

    def _headline(self) -> str:
        return self.reason or (f"{len(self.parts)} files" if self.parts else "written")


class Ledger(Result):
    """What the same agents' data have cost over several runs."""

    @functools.cached_property
    def entries(self) -> list[Facts]:
        """The runs: run, time, problem, plan, mechanism, adjacency, epsilon, delta, rounds."""
        rows = range(lib.tacit_result_entries(self._call.result))
        return [read(self._call, "tacit_ledger_entry", lib.tacit_result_entry, row) for row in rows]

    def frame(self) -> Any:
        """The entries as a DataFrame."""
        return need("pandas", "frame()").DataFrame(self.entries)

    def _headline(self) -> str:
        return f"{len(self.entries)} runs"


def ledger(path: str | os.PathLike[str]) -> Ledger:
    """Reads a ledger. A missing file is an empty one.

    >>> import tacit
    >>> tacit.ledger("no-such-ledger").entries
    []
    """
    arguments = (text_of(os.fspath(path), "path"),)
    return perform(ffi.NULL, lib.py_ledger, arguments, {}, functools.partial(Ledger, None))


@takes_work
def report(
    traces: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    **work: Unpack[Work],
) -> Result:
    """Writes one HTML page about trace files, which ``run.write_trace`` and ``tacit run --trace`` write."""
    _, work = split_keywords("report", dict(work), frozenset())
    listed = [traces] if isinstance(traces, (str, os.PathLike)) else list(traces)
    texts = [text_of(os.fspath(one), "traces") for one in listed]
    name = ffi.NULL if title is None else text_of(title, "title")
    arguments = (ffi.new("char *[]", texts), len(texts), text_of(os.fspath(path), "path"), name)
    return perform(ffi.NULL, lib.py_report, arguments, work, functools.partial(Result, None))


