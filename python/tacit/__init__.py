"""tacit: the best joint decision of many agents under shared constraints, without any of them showing what it does.

A problem comes from a file, from a text with arrays, or from objects:

>>> import tacit
>>> problem = tacit.Problem("examples/paper.tacit")
>>> problem.solve().x["a2"]
array([0., 0.])
>>> problem.run(rounds=1000, seed=1).final.x_error < 1
True

Problem has a function for each command: check, solve, plan, run, sweep, bound, audit, split. Model builds problems from
objects. Agent takes part in a run on a network. docs/python.md is the guide.
"""

from ._binding import ffi as _ffi
from ._binding import lib as _lib
from .errors import (
    BusyError,
    Diagnostic,
    Error,
    ProblemError,
    Status,
    TacitWarning,
    UsageError,
)
from .facts import Facts
from .problem import Family, Problem, Variable
from .results import Audit, Bound, Check, Ledger, Plan, Result, Solution, Split, States, ledger, report
from .runs import OneRun, Run, Sweep, Trace

__version__: str = _ffi.string(_lib.tacit_version()).decode()

__all__ = [
    "Audit",
    "Bound",
    "BusyError",
    "Check",
    "Diagnostic",
    "Error",
    "Facts",
    "Family",
    "Ledger",
    "OneRun",
    "Plan",
    "Problem",
    "ProblemError",
    "Result",
    "Run",
    "Solution",
    "Split",
    "States",
    "Status",
    "Sweep",
    "TacitWarning",
    "Trace",
    "UsageError",
    "Variable",
    "ledger",
    "report",
]
