"""A problem: loaded from a file, a text or a Model, and what can be done with it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, Unpack

import numpy as np

from ._binding import ffi, lib
from .call import Call, Work, above_zero, new_load, perform, positive, raise_status, real, warn
from .data import Source, text_of
from .errors import ProblemError, Status, UsageError, interrupted
from .promise import PROMISE_KEYS, Promise, split_keywords, takes_promise, takes_work
from .results import Advice, Audit, Bound, Check, Plan, Result, Solution, Split
from .runs import Run, Sweep


Made = TypeVar("Made", bound=Result)


class Options(Promise, Work, total=False):
    """The keywords of Promise and Work."""


class Variable(NamedTuple):
    """One ``state`` line: components ``first`` to ``first + length - 1`` of a member's state."""

    name: str
    first: int
    length: int
    is_scalar: bool

    @property
    def labels(self) -> list[str]:
        """"p[1]", "p[2]", ...: the names of its components in the language."""
        return [self.name] if self.is_scalar else [f"{self.name}[{i + 1}]" for i in range(self.length)]


class Family(NamedTuple):
    """Agents that were declared together; an ``agent`` block is a family of one."""

    number: int
    name: str
    members: int
    first_agent: int
    states: int
    variables: tuple[Variable, ...]
    is_family: bool


class Problem:
    """A problem that agents and a cloud solve together.

    From a file, or from a text with arrays and frames in the place of data files:

    >>> import tacit
    >>> text = '''
    ... data homes = given
    ... agents home over homes {
    ...   state p in [0, 5]
    ...   private minimize (p - wish)^2
    ... }
    ... constraint line: sum(home: p) <= 4
    ... '''
    >>> problem = tacit.Problem(text=text, data={"homes": {"wish": [3.0, 4.0]}})
    >>> problem
    <tacit.Problem 'problem': 2 agents, 2 states, 1 constraint>
    >>> problem.solve().x["home"]
    array([[1.5],
           [2.5]])

    path: the problem file; data files are looked for beside it.
    text: the problem itself, instead of a file; path then only gives messages a name, and data files a folder.
    data: by name, what takes the place of ``data NAME = given`` (a DataFrame, a dictionary of columns or a structured
        array) and of ``param NAME = given`` (a number, a vector or a matrix), or of a csv file of that name. A column
        has a number for each member, or a row of numbers (members x components). A text column ``name`` gives members
        their names. Numbers are copied: changing an array later does not change the problem.

    One problem is for one thread at a time: a second one gets BusyError. Different problems are independent.
    """

    _in_model = False  # whether objects describe it, which messages then name

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        text: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        if path is None and text is None:
            raise TypeError("a problem comes from a file, Problem('ev.tacit'), or from a text, Problem(text=...)")
        if isinstance(path, str) and "\n" in path:
            raise UsageError("a path has no line breaks; a problem's text is Problem(text=...)")
        source = ffi.new("tacit_source *")
        given = Source(data)
        source.size = ffi.sizeof("tacit_source")
        kept = []
        if path is not None:
            kept.append(text_of(os.fspath(path), "path"))
            source.path = kept[-1]
        if text is not None:
            if not isinstance(text, str):
                raise TypeError(f"text is a text, not {type(text).__name__}; a file is Problem(path)")
            kept.append(ffi.from_buffer(text.encode()))
            source.text = kept[-1]
            source.length = len(kept[-1])
        source.tables, source.table_count = given.tables, len(given.tables)
        source.matrices, source.matrix_count = given.matrices, len(given.matrices)
        raised: list[BaseException] = []
        self._load = new_load()
        self._load.raised = ffi.cast("void *", id(raised))
        status = lib.py_problem_make(self._load, source)
        self._load.raised = ffi.NULL
        if raised:
            raise interrupted() if type(raised[0]) is KeyboardInterrupt else raised[0]
        if status == Status.BAD_PROBLEM and self._load.message != ffi.NULL:
            given.explain(ffi.string(self._load.message).decode(errors="replace"))
        raise_status(status, self._load.message)
        self.name = "problem" if path is None else os.fspath(path)

    # ---- what it says of itself ----

    @property
    def agents(self) -> int:
        """N, how many agents there are."""
        held = Call(self._load)
        return int(lib.tacit_problem_agents(held.problem))

    @property
    def states(self) -> int:
        """n, how many states all agents have together."""
        held = Call(self._load)
        return int(lib.tacit_problem_states(held.problem))

    @functools.cached_property
    def constraints(self) -> tuple[str, ...]:
        """The names of the constraints, one for each multiplier: "feeder[1]", "feeder[2]", ..."""
        held = Call(self._load)
        problem = held.problem
        count = lib.tacit_problem_constraints(problem)
        return tuple(ffi.string(lib.tacit_problem_constraint_name(problem, j)).decode() for j in range(count))

    @functools.cached_property
    def equalities(self) -> tuple[str, ...]:
        """Those of the constraints that are equalities: E == F, whose multiplier may have either sign."""
        held = Call(self._load)
        is_equality = lib.tacit_problem_constraint_is_equality
        return tuple(name for j, name in enumerate(self.constraints) if is_equality(held.problem, j))

    @functools.cached_property
    def families(self) -> dict[str, Family]:
        """The families by name, in the order of the file; an ``agent`` block is a family of one."""
        held = Call(self._load)
        problem = held.problem
        found = {}
        facts = ffi.new("tacit_family *")
        for number in range(lib.tacit_problem_families(problem)):
            facts.size = ffi.sizeof("tacit_family")
            raise_status(lib.tacit_problem_family(problem, number, facts), ffi.NULL)
            name = ffi.string(facts.name).decode()
            variables = tuple(self._variable(problem, number, i) for i in range(facts.variables))
            found[name] = Family(
                number, name, facts.members, facts.first_agent, facts.states, variables, bool(facts.is_family)
            )
        return found

    @staticmethod
    def _variable(problem: Any, family: int, number: int) -> Variable:
        facts = ffi.new("tacit_variable *")
        facts.size = ffi.sizeof("tacit_variable")
        raise_status(lib.tacit_problem_variable(problem, family, number, facts), ffi.NULL)
        return Variable(ffi.string(facts.name).decode(), facts.first, facts.length, bool(facts.is_scalar))

    def members(self, family: str) -> list[str]:
        """The names of a family's agents: "home[1]", "home[2]", ..., or those that its data give."""
        if family not in self.families:
            raise KeyError(f"there is no family '{family}'; there are: {', '.join(list(self.families)[:8])}")
        return Call(self._load).members(self.families[family])

    def __repr__(self) -> str:
        if self.is_closed:
            return f"<tacit.Problem {self.name!r}: closed>"

        def count(number: int, word: str) -> str:
            return f"{number:,} {word}" + ("" if number == 1 else "s")

        parts = count(self.agents, "agent"), count(self.states, "state"), count(len(self.constraints), "constraint")
        return f"<tacit.Problem {self.name!r}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        from . import notebook

        return notebook.problem(self)

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return bool(lib.py_call_problem(Call(self._load).handle) == ffi.NULL)

    def close(self) -> None:
        """Gives the problem up now, not when it is collected. Results that were made from it stay valid."""
        if not self.is_closed:
            _ = self.families, self.constraints  # for results, which go on showing them
        lib.py_load_close(self._load)

    def __enter__(self) -> Problem:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a problem cannot be pickled: give the other process its path, or its text and data")

    # ---- what can be done with it ----

    def _perform(self, function: Any, kind: type[Made], arguments: tuple[Any, ...], work: Work) -> Made:
        return perform(self._load, function, arguments, work, functools.partial(kind, self), self._in_model)

    @takes_work
    def check(self, *, method: str | None = None, **work: Unpack[Work]) -> Check:
        """Proves the assumptions of the method, and brackets the constants that noise is scaled by.

        method: the one that will run; "published" asks for objectives without kinks, too. "tacit" unless given.

        >>> import tacit
        >>> checked = tacit.Problem("examples/paper.tacit").check()
        >>> checked.holds, checked.assumptions.slater
        (True, 'holds')
        """
        _, work = split_keywords("check", dict(work), frozenset())
        word = ffi.NULL if method is None else text_of(method, "method")

        def begin(call: Any) -> int:
            call.options.method = word
            return int(lib.py_check(call))

        return self._perform(begin, Check, (), work)

    @takes_work
    def solve(self, *, check: bool = True, **work: Unpack[Work]) -> Solution:
        """Finds the exact solution, without privacy: the saddle point of least norm.

        check: raise a ProblemError where there is none, since constraints cannot hold together or an objective is not
            convex. False gives the numbers that were found all the same; the exception's ``result`` has them, too.

        >>> import tacit
        >>> solution = tacit.Problem("examples/paper.tacit").solve()
        >>> round(solution.objective, 3), solution.x["a10"].round(2)
        (6.156, array([0., 8.]))
        """
        _, work = split_keywords("solve", dict(work), frozenset())
        solution = self._perform(lib.py_solve, Solution, (), work)
        if check and not solution.holds:
            error = ProblemError(f"{solution.reason or solution.outcome}\nsolve(check=False) gives the numbers all the same")
            error.result = solution
            raise error
        return solution

    @takes_promise
    def plan(self, **options: Unpack[Options]) -> Plan:
        """Says how much noise keeps the promise, and what every observer learns.

        >>> import tacit
        >>> plan = tacit.Problem("examples/ev.tacit").plan(epsilon=2)
        >>> plan.private, plan.observers[0].epsilon <= 2
        (True, True)
        """
        terms, work = split_keywords("plan", dict(options), PROMISE_KEYS)
        return self._perform(lib.py_plan, Plan, (terms.struct,), work)

    @takes_promise
    def advise(
        self, *, doubt: float | str | None = None, constraint: str | None = None, **options: Unpack[Options]
    ) -> Advice:
        """Says which promise leaves a tolerable doubt in the constraints, and what others would leave.

        >>> import tacit
        >>> advice = tacit.Problem("examples/ev.tacit").advise(doubt="5%", rounds=2000)
        >>> advice.reaches, advice.facts.mechanism, advice.facts.epsilon
        (True, 'gaussian', 0.4)

        doubt: what is tolerable, one standard deviation: a number in the constraints' units, or a part of each limit as
            "5%", which it is unless given.
        constraint: ask about this one alone, "feeder[3]", or about all of a name, "feeder".

        ``epsilon`` is one that must not be exceeded, ``mechanism`` the only one to be looked at.
        """
        terms, work = split_keywords("advise", dict(options), PROMISE_KEYS)
        choice = ffi.new("tacit_advise_options *")
        lib.tacit_advise_options_default(choice, ffi.sizeof("tacit_advise_options"))
        kept = []
        if doubt is not None:
            kept.append(text_of(doubt if isinstance(doubt, str) else repr(above_zero(doubt, "doubt")), "doubt"))
            choice.doubt = kept[-1]
        if constraint is not None:
            kept.append(text_of(constraint, "constraint"))
            choice.constraint = kept[-1]
        return self._perform(lib.py_advise, Advice, (terms.struct, choice), work)

    @takes_promise
    def run(
        self,
        *,
        seeds: int | None = None,
        no_reference: bool = False,
        states: bool = False,
        rows_per_decade: int | None = None,
        row_states: bool = False,
        **options: Unpack[Options],
    ) -> Run:
        """Runs the private algorithm, all parties in this process.

        >>> import tacit
        >>> problem = tacit.Problem("examples/paper.tacit")
        >>> run = problem.run(rounds=1000, seed=1)
        >>> run.final.x_error < 1
        True
        >>> runs = problem.run(rounds=1000, seeds=10)
        >>> runs.summary.x_error.median < 1
        True

        Ctrl-C raises KeyboardInterrupt; the exception's ``result`` is the run until then.

        seeds: simulate so many runs, from ``seed`` (1 unless given) on, and summarise them. NOT PRIVATE, as any seed.
        no_reference: find no reference solution, where that takes too long. Then there are no errors.
        states: keep the states of every seed, not only of the first.
        rows_per_decade: rounds to keep in every power of ten: 10 unless given; -1 keeps every round.
        row_states: keep the states of every kept round: ``run.trace.x["home"]``.
        """
        terms, work = split_keywords("run", dict(options), PROMISE_KEYS)
        choice = ffi.new("tacit_run_options *")
        lib.tacit_run_options_default(choice, ffi.sizeof("tacit_run_options"))
        if seeds is not None:
            choice.seeds = positive(seeds, "seeds")
        choice.no_reference = bool(no_reference)
        choice.keep_states = bool(states)
        choice.keep_row_states = bool(row_states)
        if rows_per_decade is None:
            choice.rows_per_decade = 10
        elif rows_per_decade == -1:
            choice.rows_per_decade = -1
        else:
            choice.rows_per_decade = positive(rows_per_decade, "rows_per_decade", 1000000)
        result = self._perform(lib.py_run, Run, (terms.struct, choice), work)
        if lib.tacit_result_runs(result._call.result) == 0:
            warn([f"nothing was run: {result.reason}"])
        return result

    @takes_promise
    def sweep(
        self,
        *,
        epsilons: Sequence[float] | np.ndarray[Any, Any] | None = None,
        start: float | None = None,
        stop: float | None = None,
        points: int | None = None,
        seeds: int | None = None,
        no_reference: bool = False,
        **options: Unpack[Options],
    ) -> Sweep:
        """Runs many epsilons and many seeds: what privacy costs.

        >>> import tacit
        >>> sweep = tacit.Problem("examples/paper.tacit").sweep(epsilons=[0.5, 1, 2], seeds=5, rounds=500)
        >>> [point.epsilon for point in sweep.points]
        [0.5, 1.0, 2.0]

        epsilons: the prices to try. Otherwise a grid with equal ratios from ``start`` to ``stop`` (an eighth and
            eight times the problem's epsilon) of ``points`` (7) prices.
        seeds: runs for each of them; 20 unless given.
        no_reference: find no reference solution, where that takes too long. Then there are no errors.
        """
        terms, work = split_keywords("sweep", dict(options), PROMISE_KEYS)
        choice = ffi.new("tacit_sweep_options *")
        lib.tacit_sweep_options_default(choice, ffi.sizeof("tacit_sweep_options"))
        if epsilons is not None:
            listed = [real(one, "epsilons") for one in epsilons]
            kept = ffi.new("double[]", listed)
            choice.epsilons, choice.epsilon_count = kept, len(listed)
            if not listed:
                raise ValueError("epsilons is empty")
        if start is not None:
            setattr(choice, "from", real(start, "start"))
        if stop is not None:
            choice.to = real(stop, "stop")
        if points is not None:
            choice.points = positive(points, "points")
        if seeds is not None:
            choice.seeds = positive(seeds, "seeds")
        choice.no_reference = bool(no_reference)
        return self._perform(lib.py_sweep, Sweep, (terms.struct, choice), work)

    @takes_promise
    def bound(self, *, within: float | None = None, **options: Unpack[Options]) -> Bound:
        """Says what is proved about a run's error before it is made, or that nothing is.

        >>> import tacit
        >>> tacit.Problem("examples/paper.tacit").bound().says_something
        False

        within: a distance; the bound says with which probability it is kept. A tenth of the diameter unless given.
        """
        terms, work = split_keywords("bound", dict(options), PROMISE_KEYS)
        distance = float("nan") if within is None else real(within, "within")
        return self._perform(lib.py_bound, Bound, (terms.struct, distance), work)

    @takes_promise
    def audit(
        self,
        *,
        samples: int | None = None,
        seconds: float | None = None,
        confidence: float | None = None,
        **options: Unpack[Options],
    ) -> Audit:
        """Tries to refute the plan's guarantee from samples of the real release.

        >>> import tacit
        >>> tacit.Problem("examples/num.tacit").audit(samples=2000, seed=1).verdict
        'not_refuted'

        samples: releases of each of two inputs, for each system. Unless given: 20,000, or as
            many as it takes to notice half the noise, where that is a matter of seconds.
        seconds: stop sampling after about so many seconds.
        confidence: the probability with which all bounds hold together; 0.999999 unless given.
        """
        terms, work = split_keywords("audit", dict(options), PROMISE_KEYS)
        choice = ffi.new("tacit_audit_options *")
        lib.tacit_audit_options_default(choice, ffi.sizeof("tacit_audit_options"))
        if samples is not None:
            choice.samples = positive(samples, "samples")
        if seconds is not None:
            choice.seconds = above_zero(seconds, "seconds")
        if confidence is not None:
            choice.confidence = above_zero(confidence, "confidence")
        return self._perform(lib.py_audit, Audit, (terms.struct, choice), work)

    @takes_work
    def split(
        self, directory: str | os.PathLike[str] | None = None, *, replace: bool = False, **work: Unpack[Work]
    ) -> Split:
        """Cuts the problem into the cloud's file and one for each agent.

        >>> import tacit
        >>> parts = tacit.Problem("examples/paper.tacit").split().parts
        >>> sorted(parts)[:3]
        ['agents/a1.tacit', 'agents/a10.tacit', 'agents/a2.tacit']

        directory: where to write them. Unless given they are only in ``parts``, by name.
        replace: replace what an earlier split wrote there.
        """
        _, work = split_keywords("split", dict(work), frozenset())
        folder = ffi.NULL if directory is None else text_of(os.fspath(directory), "directory")
        return self._perform(lib.py_split, Split, (folder, int(replace)), work)
