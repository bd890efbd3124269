"""What Python adds: to one call, to a run, to loading arrays, to reading states. script/bench python runs it.

Arguments: the tacit command, and the folder of examples. Prints ratios and overheads of this one run; fails when one is
beyond its limit.
"""

import json
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


def best(work, number=1, repeat=7):
    """Seconds for one call: the least of several measurements."""
    return min(timeit.repeat(work, number=number, repeat=repeat)) / number


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
seeded = Terms({"epsilon": 2.0, "seed": 1})
options = ffi.new("tacit_run_options *")
lib.tacit_run_options_default(options, ffi.sizeof("tacit_run_options"))
options.rows_per_decade = 10
for name, whole, part, number in (
    ("solve()", small.solve, bare(lib.py_solve), 500),
    ("plan(epsilon=2)", lambda: small.plan(epsilon=2), bare(lib.py_plan, (terms.struct,)), 200),
    ("run(epsilon=2, seed=1)", lambda: small.run(epsilon=2, seed=1), bare(lib.py_run, (seeded.struct, options)), 20),
):
    overhead = 1e6 * (best(whole, number) - best(part, number))
    show(f"{name}: overhead of the call", overhead, "us", 50)


def by_command():
    done = subprocess.run(
        [command, "run", examples / "paper.tacit", "--seed", "1", "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)["times"]["run"]


paper = tacit.Problem(examples / "paper.tacit")
ratio = min(paper.run(seed=1).seconds for _ in range(5)) / min(by_command() for _ in range(5))
show("100,000 rounds of the paper's problem: p.run() over the command", ratio, "", 1.15)


def whole_by_command():
    subprocess.run([command, "run", examples / "paper.tacit", "--seed", "1", "--json"], capture_output=True, check=True)


def whole_by_python():
    tacit.Problem(examples / "paper.tacit").run(seed=1)


show("the same with loading, plan and reference", best(whole_by_python, repeat=5) / best(whole_by_command, repeat=5), "", 1.15)

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
copy = np.empty_like(columns["want"])
memory = best(lambda: np.copyto(copy, columns["want"]))


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
library = best(bare_load)
python = best(lambda: tacit.Problem(text=text, data={"units": columns}))
print(f"{'10^6 agents from arrays: copies of the numbers, in the library':<64} {library / memory:8.2f}")
show("10^6 agents from arrays: Python over the library alone", python / library, "", 1.1)
run = tacit.Problem(text=text, data={"units": columns}).run(rounds=3, seed=1, no_reference=True)


def read():
    """Only the states: the run stays."""
    assert tacit.results.States(run.problem, run._call, 0)["unit"].shape == (count, 2)


show("10^6 agents: reading x over one copy of it", best(read) / best(lambda: want.copy()), "", 2.5)
sys.exit(beyond)
