"""tacit: the best joint decision of many agents under shared constraints, without any of them showing what it does.

A problem comes from a file, from a text with arrays, or from objects:

>>> import tacit
>>> problem = tacit.Problem("examples/paper.tacit")
>>> problem.solve().x["a3"].round(2)
array([-2.22,  2.22])
>>> problem.run(rounds=1000, seed=1).final.x_error < 1
True

Problem has a function for each command: check, solve, plan, run, sweep, bound, audit, split. Model builds problems from
objects. Agent takes part in a run on a network. docs/python.md is the guide.
"""

from ._binding import ffi as _ffi
from ._binding import lib as _lib
from . import results as _results
from . import runs as _runs
from . import session as _session
from .agent import Agent, AgentCondition, AgentError, AgentResult, run_agents, run_agents_async
from .errors import (
    BusyError,
    DataError,
    Diagnostic,
    Error,
    ProblemError,
    Status,
    TacitWarning,
    UsageError,
)
from .facts import Facts
from .language import blocks as _blocks
from .language import functions as _functions
from .language import names as _names
from .language import printer as _printer
from .language import relations as _relations
from .language.expressions import Expression
from .language.functions import (  # noqa: A004 - sum, min, max, abs and pow are of the language
    abs,
    ball,
    ball1,
    between,
    box,
    ceil,
    constant,
    dot,
    ellipsoid,
    exp,
    floor,
    huber,
    index,
    length,
    ln,
    log,
    logsumexp,
    max,
    maximum,
    min,
    minimum,
    norm,
    norm1,
    norm2,
    norminf,
    part,
    pos,
    pow,
    quadform,
    simplex,
    sqrt,
    sum,
    sumsq,
    total,
    transpose,
    vector,
)
from .language.model import Model
from .problem import Family, Problem, Variable
from .results import Advice, Audit, Bound, Check, Ledger, Plan, Result, Solution, Split, States, ledger, report
from .runs import OneRun, Run, Sweep, Trace

# Modules that need each other import types for type checkers alone. typing.get_type_hints asks for them when it runs.
for _module in (_results, _runs, _session, _blocks, _functions, _names, _printer, _relations):
    for _type in (Agent, _blocks.Block, Expression, Family, _names.Index, Model, Problem):
        vars(_module).setdefault(_type.__name__, _type)

__version__: str = _ffi.string(_lib.tacit_version()).decode()

# sum, min, max, abs and pow are not here: 'from tacit import *' must not hide Python's own.
__all__ = [
    "Advice",
    "Agent",
    "AgentCondition",
    "AgentError",
    "AgentResult",
    "Audit",
    "Bound",
    "BusyError",
    "Check",
    "DataError",
    "Diagnostic",
    "Error",
    "Expression",
    "Facts",
    "Family",
    "Ledger",
    "Model",
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
    "ledger",
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
    "report",
    "run_agents",
    "run_agents_async",
    "simplex",
    "sqrt",
    "sumsq",
    "total",
    "transpose",
    "vector",
]
