"""What Python adds: to one call, to a run, to loading arrays, to reading states. script/bench python runs it.

Arguments: the tacit command, and the folder of examples. Prints ratios and overheads of this one run; fails when one is
beyond its limit.
"""

import pathlib
import subprocess
import sys
import timeit
import warnings

import numpy as np

import tacit
from tacit._binding import ffi, lib
from tacit.call import Call
from tacit.promise import Terms

command, examples = sys.argv[1], pathlib.Path(sys.argv[2])
warnings.simplefilter("ignore")
beyond = False


def pairs(one, other, count):
    """Seconds of both, in turns: so that what else the machine does falls on both."""
    seconds = np.array([(timeit.timeit(one, number=1), timeit.timeit(other, number=1)) for _ in range(count)])
    return seconds[:, 0], seconds[:, 1]


def more(one, other, count):
    """How many seconds more the first takes: the median over pairs."""
    first, second = pairs(one, other, count)
    return float(np.median(first - second))


def ratio(one, other, count):
    """How many times as long the first takes: the median over pairs."""
    first, second = pairs(one, other, count)
    return float(np.median(first / second))


def show(what, value, unit, limit):
    global beyond
    beyond = beyond or value > limit
    print(f"{what:<64} {value:8.2f} {unit} (limit {limit:g}){'  BEYOND' if value > limit else ''}")


def bare(function, arguments=()):
    """The library's function with nothing around it."""

    def work():
        call = Call(small._load)
        raised = []
        call.handle.raised = ffi.cast("void *", id(raised))
        assert function(call.handle, *arguments) == 0

    return work


small = tacit.Problem(
    text="""
agent a { state x in [0, 4]; private minimize (x - 3)^2 }
constraint c: a.x <= 2
dual radius 5
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { rounds 200 }
"""
)
terms = Terms({"epsilon": 2.0})
noiseless = Terms({"mechanism": "none"})  # short, so that what is around it can be seen
options = ffi.new("tacit_run_options *")
lib.tacit_run_options_default(options, ffi.sizeof("tacit_run_options"))
options.rows_per_decade = 10
for name, whole, part, count in (
    ("solve()", small.solve, bare(lib.py_solve), 2000),
    ("plan(epsilon=2)", lambda: small.plan(epsilon=2), bare(lib.py_plan, (terms.struct,)), 1000),
    ("run(...)", lambda: small.run(mechanism="none"), bare(lib.py_run, (noiseless.struct, options)), 1000),
):
    show(f"{name}: overhead of the call", 1e6 * more(whole, part, count), "us", 50)


def by_command():
    subprocess.run([command, "run", examples / "paper.tacit", "--seed", "1", "--json"], capture_output=True, check=True)


def by_python():
    tacit.Problem(examples / "paper.tacit").run(seed=1)


show("the paper's problem, 100,000 rounds: Python over the command", ratio(by_python, by_command, 15), "", 1.15)

# Loading and reading 10^6 agents of two states, against one copy of the same numbers.
count = 1000000
want = np.random.default_rng(1).random((count, 2))
text = """
data units = given
agents unit over units { state x[2] in [0, 1]; private minimize sumsq(x - want) }
constraint limit: sum(unit: x[1] + x[2]) <= 700000
dual radius 100
privacy { mechanism gaussian; epsilon 1; delta 1e-9; adjacency one 1 }
"""
columns = {"want": np.asfortranarray(want)}


def bare_load():
    """The library alone, from the same pointers."""
    load = ffi.gc(ffi.new("py_load *"), lib.py_load_free)
    source = ffi.new("tacit_source *")
    source.size = ffi.sizeof("tacit_source")
    source.text, source.length = encoded, len(encoded)
    source.tables, source.table_count = given.tables, 1
    assert lib.py_problem_make(load, source) == 0


encoded = ffi.from_buffer(text.encode())
given = tacit.data.Source({"units": columns})
python = ratio(lambda: tacit.Problem(text=text, data={"units": columns}), bare_load, 15)
show("10^6 agents from arrays: Python over the library alone", python, "", 1.1)
run = tacit.Problem(text=text, data={"units": columns}).run(rounds=3, seed=1, no_reference=True)


def read():
    """Only the states: the run stays."""
    assert tacit.results.States(run.problem, run._call, 0, '')["unit"].shape == (count, 2)


show("10^6 agents: reading x over one copy of it", ratio(read, want.copy, 31), "", 2.5)
sys.exit(beyond)
