#!/usr/bin/env python3
"""scale_ranks.py TACIT TACIT_MPI BUILD [PART...]: runs on two ranks against one rank and against two threads, as ratios, and
against what a model of a round's time expects of them; the memory and the time of ten times the agents. Parts: speed, size.
Prints a table; fails where a goal is missed. BUILD: the folder of bench_measure and bench_ranks.

Agents have two states under ten coupling constraints, as in script/bench. The time is that of the rounds alone. Contestants
take turns, and ratios are medians over the turns."""
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/ranks"))
import ranks  # noqa: E402

TACIT, MANY = sys.argv[1:3]
MEASURE, SUMS = (pathlib.Path(sys.argv[3]).resolve() / name for name in ("bench_measure", "bench_ranks"))
PARTS = sys.argv[4:] or ["speed", "size"]
CALLS, NUMBERS = 5, 22000  # of sums in a round of 10^6 agents under ten constraints
met = True


def generate(folder, agents):
    state, lines = 12345, ["want_1,want_2"]
    for _ in range(agents):
        state = state * 16807 % 2147483647
        one = state / 2147483647
        state = state * 16807 % 2147483647
        lines.append(f"{one:.6f},{state / 2147483647:.6f}")
    (folder / f"units{agents}.csv").write_text("\n".join(lines) + "\n")
    problem = folder / f"units{agents}.tacit"
    problem.write_text(f"""data units = csv "units{agents}.csv"
agents unit over units {{
  state x[2] in [0, 1]
  private minimize sumsq(x - want)
}}
constraint limit[j in 1..10]: sum(unit: x[1]^2 + j * x[2]) <= (0.1 + 0.3 * j) * {agents}
dual radius 100
privacy  {{ mechanism gaussian; epsilon 1; delta 1e-9; adjacency one 1 }}
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 100000 }}
""")
    return problem


def trace_of(problem, copy):
    return problem.with_suffix(f".{copy}.trace.csv")


def words_of(problem, rounds, threads, count, copy=0):
    words = ["run", problem, "--seed", "1", "--rounds", rounds, "--no-reference", "--threads", threads, "--trace",
             trace_of(problem, copy)]
    return [str(word) for word in ([(TACIT, MANY)[count], *words] if count < 2 else ranks.command(count, MANY, *words))]


def as_usual():
    """As mpirun does it by itself: each rank has a processor of its own, and waits awake. (Tests have more ranks than processors.)"""
    return ranks.environment(OMPI_MCA_mpi_yield_when_idle="0", OMPI_MCA_rmaps_base_oversubscribe="0",
                             OMPI_MCA_hwloc_base_binding_policy="core")


class Turns:
    """Seconds of a round, without the first two, in which memory is touched for the first time. count: ranks, 0 for plain tacit. One
    rank is started without mpirun, which would bind it to the first processor, where interrupts are. copies: plain processes that
    run at the same time and know nothing of each other, of which the slowest counts. Short runs vary little, and their median is
    taken off each long one: `turns` has a number for each turn."""

    def __init__(self, problem, rounds, threads, count, copies=1):
        self.problem, self.rounds, self.threads, self.count, self.copies = problem, rounds, threads, count, copies
        self.long, self.short = [], []

    def turn(self):
        self.long.append(self.run(self.rounds + 2))
        self.short.append(self.run(2))

    def run(self, rounds):
        jobs = [subprocess.Popen(words_of(self.problem, rounds, self.threads, self.count, copy), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True, env=as_usual())
                for copy in range(self.copies)]
        for job in jobs:
            _, errors = job.communicate()
            if job.returncode != 0:
                sys.exit(f"exit {job.returncode}\n{errors}")
        return max(float(re.search(r"# fact: seconds = (\S+)", trace_of(self.problem, copy).read_text()).group(1))
                   for copy in range(self.copies))

    def turns(self):
        return [(each - statistics.median(self.short)) / self.rounds for each in self.long]


def turns_of(turns, *contestants):
    """Contestants take turns, so that each turn of one has a turn of another beside it: a machine may be a third faster in one
    minute than in the next."""
    for _ in range(turns):
        for contestant in contestants:
            contestant.turn()
    return [contestant.turns() for contestant in contestants]


def ratio(above, below):
    return statistics.median(a / b for a, b in zip(above, below))


def mebibytes_of(problem, rounds, count):
    """Of all ranks together."""
    words = [*ranks.command(count, MEASURE, MANY), *words_of(problem, rounds, 1, 0)[1:]]
    done = subprocess.run(words, env=ranks.environment(), capture_output=True, text=True, check=True)
    return sum(float(line.split()[1]) for line in done.stdout.splitlines() if len(line.split()) == 3)


def expected(alone, count):
    """The model of docs/scale.md: a round of 10^6 agents on so many ranks, from one of half as many and one of as many on one
    rank, and from what sums take."""
    half, whole = alone
    done = subprocess.run(ranks.command(count, SUMS), env=as_usual(), capture_output=True, text=True, check=True)
    sums = {int(line.split()[0]): float(line.split()[1]) for line in done.stdout.splitlines()}
    each, latency = 2e-6 * (whole - half), sums[1]
    number = (sums[10000] - latency) / 10000
    print(f"model: {each * 1e9:.2f} ns for an agent, {(whole - 1e6 * each) * 1e3:.3f} ms for a round, {latency * 1e6:.1f} us for "
          f"a sum over {count} ranks and {number * 1e9:.2f} ns for each of its numbers")
    return (whole - 1e6 * each) + 1e6 * each / count + CALLS * latency + NUMBERS * number


def judge(what, value, limit, least):
    global met
    good = value >= limit if least else value <= limit
    met = met and good
    print(f"{what}: {value:.3f} ({'at least' if least else 'at most'} {limit}){'' if good else '   MISSED'}", flush=True)


def compare_speed(folder):
    problem, halved = generate(folder, 1000000), generate(folder, 500000)
    one, two, threads, half, apart = turns_of(7, Turns(problem, 100, 1, 1), Turns(problem, 100, 1, 2), Turns(problem, 100, 2, 0),
                                              Turns(halved, 100, 1, 1), Turns(halved, 100, 1, 0, copies=2))
    print("10^6 agents, a round: " + ", ".join(f"{what} {statistics.median(turns) * 1e3:.2f} ms" for what, turns in (
        ("one rank", one), ("two ranks", two), ("two threads", threads), ("half of the agents twice, apart", apart))))
    print(f"two processes that share nothing, half of the agents each: {ratio(one, apart):.3f} times as fast as one; more than that "
          "this machine does not gain")
    judge("two ranks are so many times as fast as one", ratio(one, two), 1.8, True)
    judge("two ranks against two threads of one process", ratio(threads, two), 0.9, True)
    usual = [statistics.median(turns) for turns in (half, one)]
    judge("two ranks against what the model expects", statistics.median(two) / expected(usual, 2), 1.15, False)


def compare_size(folder):
    small, large = generate(folder, 1000000), generate(folder, 10000000)
    few, many = turns_of(3, Turns(small, 100, 1, 2), Turns(large, 10, 1, 2))
    memory = [mebibytes_of(problem, 2, 2) for problem in (small, large)]
    print(f"two ranks, a round: 10^6 agents {statistics.median(few) * 1e3:.2f} ms, 10^7 agents {statistics.median(many) * 1e3:.2f} ms; "
          f"memory {memory[0]:.0f} and {memory[1]:.0f} MiB in all")
    judge("a round of ten times the agents over ten times the time", ratio(many, few) / 10, 1.1, False)
    judge("memory of an agent among 10^7 over that among 10^6", memory[1] / memory[0] / 10, 1.1, False)


with tempfile.TemporaryDirectory() as place:
    if "speed" in PARTS:
        compare_speed(pathlib.Path(place))
    if "size" in PARTS:
        compare_size(pathlib.Path(place))
sys.exit(0 if met else 1)
