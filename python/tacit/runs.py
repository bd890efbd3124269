"""What run and sweep make: one run or many, their rounds, and what privacy costs."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._binding import ffi, lib
from .call import Call, raise_status
from .data import text_of
from .errors import Error, Status
from .facts import Facts, facts_of, need
from .results import Array, ByConstraint, Plan, Result, States, by_constraint, filled, read, shared, text_or_none

if TYPE_CHECKING:
    from .problem import Problem

NAMES = ("x_error", "mu_error", "objective", "max_violation")


class Trace:
    """The kept rounds of one run, as arrays with an element or a row for each round. All are true values, never released.

    k: the rounds. x_error, mu_error: distances to the exact solution. objective, max_violation. g, mu: rounds x
    constraints, and ``mu["feeder[3]"]`` rounds. x: the states by family, rounds x members x states, where they were kept (``row_states=True``).
    """

    def __init__(self, problem: Problem, call: Call, run: int, rows: int) -> None:
        self.k = np.empty(rows, dtype=np.int64)
        self.x_error, self.mu_error, self.objective, self.max_violation = (np.empty(rows) for _ in NAMES)
        count = len(problem.constraints)
        self.g, self.mu = (by_constraint(np.empty((rows, count)), problem) for _ in range(2))
        kept = []
        row = ffi.new("tacit_row *")
        for i in range(rows):
            row.size = ffi.sizeof("tacit_row")
            raise_status(lib.tacit_result_row(call.result, run, i, row), ffi.NULL)
            self.k[i] = row.k
            for name in NAMES:
                getattr(self, name)[i] = getattr(row, name)
            self.g[i] = shared(call, row.g, (count,))
            self.mu[i] = shared(call, row.mu, (count,))
            if row.states:
                kept.append(shared(call, row.x, (row.states,)))
        self._problem, self._kept = problem, kept

    @property
    def x(self) -> Mapping[str, Array]:
        """The states of every kept round: ``trace.x["home"]`` is rounds x members x states."""
        if not self._kept:
            raise Error("the states of the rounds were not kept: run(..., row_states=True) keeps them")
        whole, found, first = np.array(self._kept), {}, 0
        for name, family in self._problem.families.items():
            count = family.members * family.states
            part = whole[:, first : first + count]
            shape = (family.members, family.states) if family.is_family else (family.states,)
            found[name] = part.reshape(len(whole), *shape)
            first += count
        return found

    def __len__(self) -> int:
        return len(self.k)


class OneRun:
    """One run: ``run.runs[0]``, and the run itself where there is only one."""

    def __init__(self, problem: Problem, call: Call, number: int) -> None:
        self._problem, self._call, self._number = problem, call, number
        self._facts = filled(call, "tacit_run_facts", lib.tacit_result_run, number)

    @property
    def seed(self) -> int | None:
        """Its seed; None where the noise is fresh."""
        return int(self._facts.seed) if self._facts.is_seeded else None

    @property
    def epsilon(self) -> float:
        """Of a sweep: which."""
        return float(self._facts.epsilon)

    @property
    def outcome(self) -> str:
        """ "done", "diverged" or "interrupted"."""
        return str(text_or_none(self._facts.outcome))

    @property
    def reason(self) -> str | None:
        """Why it is not done; None where it is."""
        reason = text_or_none(self._facts.reason)
        return None if reason is None else self._call.words(reason)

    @property
    def rounds(self) -> int:
        """How many rounds were made."""
        return int(self._facts.rounds)

    @property
    def seconds(self) -> float:
        """How long they took."""
        return float(self._facts.seconds)

    @functools.cached_property
    def mu(self) -> ByConstraint:
        """The multipliers, in the order of ``problem.constraints``, and by name: ``mu["feeder[3]"]``. Read-only."""
        return by_constraint(shared(self._call, self._facts.mu, (self._facts.constraints,)), self._problem)

    @functools.cached_property
    def x(self) -> States:
        """The states by agent and family, where they were kept."""
        missing = "the states of this run were not kept: run(..., states=True) keeps those of every seed"
        return States(self._problem, self._call, self._number, missing)

    @property
    def feasible(self) -> Facts:
        """What released data alone show: with ``probability`` all g_j <= ``bounds[j]``, and of equalities |g_j|.

        ``shown``: no bound of an inequality is above 0. ``certain``: the bounds hold whatever the noise was
        (``feasible="always"``). ``move``: the part of the way to the Slater point that the result was moved; NaN where
        none was to be.
        """
        facts = self._facts
        return Facts(
            probability=float(facts.feasible_probability),
            shown=bool(facts.feasible_shown),
            certain=bool(facts.feasible_certain),
            move=float(facts.feasible_move),
            bounds=by_constraint(shared(self._call, facts.feasible_bounds, (facts.constraints,)), self._problem),
        )

    @property
    def feasibility(self) -> str | None:
        """What released data alone show, in words; None where they show nothing.

        "feeder[19] over by at most 33 of 2,020; all others hold, with probability 0.95"
        """
        return text_or_none(self._facts.feasibility)

    @property
    def true_feasibility(self) -> str | None:
        """Which constraints hold in truth, in words. Never released."""
        return text_or_none(self._facts.true_feasibility)

    @functools.cached_property
    def trace(self) -> Trace:
        """The kept rounds."""
        return Trace(self._problem, self._call, self._number, self._facts.rows)

    @property
    def final(self) -> Facts:
        """The last kept round: k, x_error, mu_error, objective, max_violation. True values, never released."""
        if self._facts.rows == 0:
            raise Error("this run kept no round")
        row = filled(self._call, "tacit_row", lib.tacit_result_row, self._number, self._facts.rows - 1)
        return Facts(k=int(row.k), **{name: float(getattr(row, name)) for name in NAMES})

    def __repr__(self) -> str:
        seed = "" if self.seed is None else f"seed {self.seed}, "
        return f"<tacit.OneRun: {seed}{self.outcome} after {self.rounds:,} rounds>"


class _Runs(Result):
    """What run and sweep share: their runs, and files about them."""

    @functools.cached_property
    def runs(self) -> list[OneRun]:
        """Every run that was begun."""
        return [OneRun(self.problem, self._call, i) for i in range(lib.tacit_result_runs(self._call.result))]

    @functools.cached_property
    def _comparison(self) -> Facts:
        return read(self._call, "tacit_comparison", lib.tacit_result_comparison)

    def _measures(self, name: str) -> Facts | None:
        facts = self._comparison[name]
        left_out = ("is_known", "mu_error") if name != "noise_free" else ("is_known",)  # a baseline has no prices
        return Facts({key: value for key, value in facts.items() if key not in left_out}) if facts.is_known else None

    @property
    def baseline(self) -> Facts | None:
        """Doing nothing: zero prices, where every agent ignores the constraints. None with ``no_reference``.

        x_error, objective, max_violation, and worst, the name of the constraint that is violated most. Never released.
        """
        return self._measures("baseline")

    @property
    def slater_baseline(self) -> Facts | None:
        """Everybody at its Slater point; None where the problem has none."""
        return self._measures("slater_baseline")

    @property
    def noise_free(self) -> Facts | None:
        """The same run without noise: x_error, mu_error, objective, max_violation, and whether it has converged.

        What it misses is the method's own error; the rest is noise. None with ``no_reference``.
        """
        facts = self._measures("noise_free")
        return None if facts is None else Facts(facts, converged=self._comparison.is_converged)

    def _write(self, is_report: int, path: str | os.PathLike[str], command: str | None) -> None:
        texts = text_of(os.fspath(path), "path"), ffi.NULL if command is None else text_of(command, "command")
        self._call.write(is_report, *texts)

    def write_trace(self, path: str | os.PathLike[str], *, command: str | None = None) -> None:
        """Writes the kept rounds as a trace (docs/trace.md), which ``tacit.report`` and ``tacit report`` read.

        command: how to repeat it, for readers. An existing trace is replaced, but no other file.
        """
        self._write(0, path, command)

    def write_report(self, path: str | os.PathLike[str], *, command: str | None = None) -> None:
        """Writes an HTML page with plots, tables and the guarantee card. An existing page is replaced, but no other file."""
        self._write(1, path, command)


class Run(_Runs):
    """A private run, or many simulated ones."""

    @functools.cached_property
    def plan(self) -> Plan:
        """The plan that it was made by. It has what a Plan has, but for text and JSON, which are the run's."""
        return Plan(self.problem, self._call)

    def _one(self) -> OneRun:
        if not self.runs:
            raise Error(f"there was no run: {self.reason}", Status.BAD_PROBLEM)
        return self.runs[0]

    @property
    def outcome(self) -> str:
        """ "done", "diverged" or "interrupted"; of many runs, what the command says."""
        return self._one().outcome if len(self.runs) < 2 else str(self.json["outcome"])

    @property
    def rounds(self) -> int:
        """How many rounds were made."""
        return self._one().rounds

    @property
    def seconds(self) -> float:
        """How long they took; of many runs, all of them."""
        return self._one().seconds if len(self.runs) < 2 else float(self.json["seconds"])

    @property
    def x(self) -> States:
        """The states by agent and family; of many runs those of the first."""
        return self._one().x

    @property
    def mu(self) -> ByConstraint:
        """The multipliers; of many runs those of the first. Read-only."""
        return self._one().mu

    @property
    def trace(self) -> Trace:
        """The kept rounds; of many runs those of the first."""
        return self._one().trace

    @property
    def feasible(self) -> Facts:
        """What released data alone show of the constraints at the result; of many runs at that of the first."""
        return self._one().feasible

    @property
    def feasibility(self) -> str | None:
        """The same in words; None where released data show nothing."""
        return self._one().feasibility

    @property
    def true_feasibility(self) -> str | None:
        """Which constraints hold in truth, in words; of many runs at the result of the first. Never released."""
        return self._one().true_feasibility

    @property
    def verdict(self) -> str | None:
        """Is it better than doing nothing? A sentence; None where there is no solution to compare with."""
        verdict: str | None = self._comparison.verdict
        return verdict

    @property
    def no_better_than_nothing(self) -> bool | None:
        """Whether a baseline is as good, in distance and in violation; None where there is nothing to compare with.

        A result must be better by a tenth in one of the two. Of many runs half of them or more decide.
        """
        return bool(self._comparison.no_better_than_nothing) if self._comparison.is_judged else None

    @functools.cached_property
    def final(self) -> Facts:
        """The end: k, x_error, mu_error, objective, max_violation; of many runs the medians. True values."""
        if len(self.runs) < 2:
            return self._one().final
        return facts_of(self.json["final"])  # type: ignore[no-any-return]

    @functools.cached_property
    def summary(self) -> Facts:
        """Of runs made with ``seeds``: min, q10, median, q90 and max of each figure: ``summary.x_error.median``."""
        if "summary" not in self.json:
            raise Error("there is a summary of many runs only: run(seeds=20)")
        return facts_of(self.json["summary"])  # type: ignore[no-any-return]

    def frame(self) -> Any:
        """The kept rounds as a DataFrame: k, errors, objective, violation, and the seed where there are several runs."""
        pandas = need("pandas", "frame()")
        parts = []
        for one in self.runs:
            columns: dict[str, Any] = {"k": one.trace.k, **{name: getattr(one.trace, name) for name in NAMES}}
            parts.append(pandas.DataFrame(columns if len(self.runs) == 1 else {"seed": one.seed, **columns}))
        return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=["k", *NAMES])

    def plot(self, what: str = "errors", ax: Any = None, *, label: str | None = None) -> Any:
        """Draws "errors" (with bands, where there are many runs), "constraints" or "multipliers". Returns the axes.

        ax: axes to draw into; new ones unless given. label: its name in the legend, where several share the axes.
        """
        from . import plots

        return plots.run(self, what, ax, label=label)

    def compare(self) -> Any:
        """A DataFrame: the result, the run without noise, and the baselines; objective, errors and violation of each."""
        pandas = need("pandas", "compare()")
        rows = {
            "result": self.final,
            "noise_free": self.noise_free,
            "zero_prices": self.baseline,
            "slater_point": self.slater_baseline,
        }
        known = {name: [row.get(key, np.nan) for key in NAMES] for name, row in rows.items() if row is not None}
        return pandas.DataFrame.from_dict(known, orient="index", columns=list(NAMES))

    def _headline(self) -> str:
        if not self.runs:
            return f"no run: {self.reason}"
        many = f"{len(self.runs)} runs, " if len(self.runs) > 1 else ""
        return f"{many}{self.outcome} after {self.rounds:,} rounds; {self.plan.headline}"


class Sweep(_Runs):
    """Many epsilons and many seeds."""

    @functools.cached_property
    def points(self) -> list[Facts]:
        """For each epsilon: penalty, its error, bias and spread, and medians of errors, objective and violation."""
        rows = range(lib.tacit_result_points(self._call.result))
        return [read(self._call, "tacit_sweep_point", lib.tacit_result_point, row) for row in rows]

    @functools.cached_property
    def _slope(self) -> tuple[float, float, float]:
        into = [ffi.new("double *") for _ in range(3)]
        raise_status(lib.tacit_result_slope(self._call.result, *into), ffi.NULL)
        return into[0][0], into[1][0], into[2][0]

    @property
    def slope(self) -> float:
        """The slope of log penalty against log epsilon; NaN where there is none."""
        return self._slope[0]

    @property
    def slope_interval(self) -> tuple[float, float]:
        """Its 95 % interval."""
        return self._slope[1:]

    def frame(self) -> Any:
        """The points as a DataFrame, with the 10 % and 90 % quantiles of each error over the seeds."""
        pandas = need("pandas", "frame()")
        rows = []
        for point, printed in zip(self.points, self.json["points"]):
            row = dict(point)
            for name, quantiles in (printed.get("quantiles") or {}).items():
                if quantiles:
                    row |= {f"{name}_q10": quantiles["q10"], f"{name}_q90": quantiles["q90"]}
            rows.append(row)
        return pandas.DataFrame(rows)

    def plot(self, what: str = "x_error", ax: Any = None, *, label: str | None = None) -> Any:
        """Draws a figure ("x_error", "mu_error", "penalty", "max_violation") against epsilon. Returns the axes.

        ax: axes to draw into; new ones unless given. label: its name in the legend, where several share the axes.
        """
        from . import plots

        return plots.sweep(self, what, ax, label=label)

    def _headline(self) -> str:
        return f"{len(self.points)} epsilons, slope {self.slope:.2f}"
