#!/usr/bin/env python3
"""scale_ranks.py TACIT_MPI BUILD [PART...]: runs on two ranks against one rank and against two threads, as ratios, and against
what a model of a round's time expects of them; the memory and the time of ten times the agents. Parts: speed, size. Prints a
table; fails where a goal is missed. BUILD: the folder of bench_measure, bench_ranks and bench_rounds.

Agents have two states under ten coupling constraints, as in script/bench. The time is that of the rounds alone."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/ranks"))
import ranks  # noqa: E402

MANY = sys.argv[1]
MEASURE, SUMS, ROUNDS = (pathlib.Path(sys.argv[2]).resolve() / name for name in ("bench_measure", "bench_ranks", "bench_rounds"))
PARTS = sys.argv[3:] or ["speed", "size"]
PROCESSORS = sorted(os.sched_getaffinity(0))
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


def as_usual(count):
    """As mpirun does it by itself: each rank has a processor of its own, and waits awake. (Tests have more ranks than processors.)"""
    return ranks.environment(OMPI_MCA_mpi_yield_when_idle="0", OMPI_MCA_rmaps_base_oversubscribe="0",
                             OMPI_MCA_hwloc_base_binding_policy="core" if count > 1 else "none")


class Job:
    """bench_rounds on so many ranks; one is started without mpirun."""

    def __init__(self, problem, threads, count, place):
        self.is_bound = threads == 1 and count == 1
        pipes = [f"{place}.{rank}" for rank in range(count)]
        for pipe in pipes:
            os.mkfifo(pipe)
        words = [ROUNDS, problem, threads, place]
        words = [str(word) for word in (words if count == 1 else ranks.command(count, *words))]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=as_usual(count))
        self.orders = [open(pipe, "w", encoding="ascii") for pipe in pipes]
        self.hear()

    def tell(self, rounds, turn):
        if self.is_bound:
            os.sched_setaffinity(self.process.pid, {PROCESSORS[turn % len(PROCESSORS)]})
        for orders in self.orders:
            orders.write(f"{rounds}\n")
            orders.flush()

    def hear(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit(f"bench_rounds: exit {self.process.wait()}")
        return line

    def end(self):
        for orders in self.orders:
            orders.close()
        self.process.wait()


class Contestant:
    """One job, or copies that run at the same time and know nothing of each other, of which the slowest counts. What has one thread is
    bound to one processor, as mpirun binds ranks, and to another one in the next turn."""

    def __init__(self, problem, rounds, threads=1, count=1, copies=1):
        place = problem.with_suffix(f".{threads}.{count}.{copies}")
        self.rounds, self.turns = rounds, []
        self.jobs = [Job(problem, threads, count, f"{place}.{copy}") for copy in range(copies)]

    def turn(self):
        for copy, job in enumerate(self.jobs):
            job.tell(self.rounds, len(self.turns) + copy)
        self.turns.append(max(float(job.hear()) for job in self.jobs))


def turns_of(turns, *contestants):
    """Seconds of a round of each contestant in each turn. All are loaded before the first turn, and turns are short: a virtual
    processor may be a third slower for seconds or minutes, and memory that is touched for the first time takes as long as many
    rounds."""
    for _ in range(turns):
        for contestant in contestants:
            contestant.turn()
    for contestant in contestants:
        for job in contestant.jobs:
            job.end()
    return [contestant.turns for contestant in contestants]


def ratio(above, below):
    return statistics.median(a / b for a, b in zip(above, below))


def mebibytes_of(problem, rounds, count):
    """Of all ranks together."""
    words = ranks.command(count, MEASURE, MANY, "run", problem, "--seed", 1, "--rounds", rounds, "--no-reference", "--threads", 1)
    done = subprocess.run(words, env=ranks.environment(), capture_output=True, text=True, check=True)
    return sum(float(line.split()[1]) for line in done.stdout.splitlines() if len(line.split()) == 3)


def expected(half, whole, count):
    """The model of docs/scale.md: a round of 10^6 agents on so many ranks, from rounds of half as many and of as many on one rank,
    and from what sums take."""
    done = subprocess.run(ranks.command(count, SUMS), env=as_usual(count), capture_output=True, text=True, check=True)
    sums = {int(line.split()[0]): float(line.split()[1]) for line in done.stdout.splitlines()}
    agent, latency = (half + whole) / 1.5e6, sums[1]
    number = (sums[10000] - latency) / 10000
    print(f"model: {agent * 1e9:.2f} ns for an agent, {latency * 1e6:.1f} us for a sum over {count} ranks and {number * 1e9:.2f} ns "
          "for each of its numbers")
    return 1e6 * agent / count + CALLS * latency + NUMBERS * number


def judge(what, value, limit, least):
    global met
    good = value >= limit if least else value <= limit
    met = met and good
    print(f"{what}: {value:.3f} ({'at least' if least else 'at most'} {limit}){'' if good else '   MISSED'}", flush=True)


def milliseconds(turns):
    return f"{statistics.median(turns) * 1e3:.2f} ms"


def compare_speed(folder):
    problem, halved = generate(folder, 1000000), generate(folder, 500000)
    one, two, threads, half, apart = turns_of(
        100, Contestant(problem, 8), Contestant(problem, 8, count=2), Contestant(problem, 8, threads=2), Contestant(halved, 8),
        Contestant(halved, 8, copies=2))
    print("10^6 agents, a round, medians of 100 turns: " + ", ".join(f"{what} {milliseconds(turns)}" for what, turns in (
        ("one rank", one), ("two ranks", two), ("two threads", threads), ("half of the agents twice, apart", apart))))
    print(f"two processes that share nothing, half of the agents each: {ratio(one, apart):.3f} times as fast as one")
    judge("two ranks are so many times as fast as one", ratio(one, two), 1.8, True)
    judge("two ranks against two threads of one process", ratio(threads, two), 0.9, True)
    model = expected(statistics.median(half), statistics.median(one), 2)
    judge("two ranks against what the model expects", statistics.median(two) / model, 1.15, False)


def compare_size(folder):
    small, large = generate(folder, 1000000), generate(folder, 10000000)
    few, many = turns_of(20, Contestant(small, 20, count=2), Contestant(large, 2, count=2))
    memory = [mebibytes_of(problem, 2, 2) for problem in (small, large)]
    print(f"two ranks, a round: 10^6 agents {milliseconds(few)}, 10^7 agents {milliseconds(many)}; memory {memory[0]:.0f} and "
          f"{memory[1]:.0f} MiB in all")
    judge("a round of ten times the agents over ten times the time", ratio(many, few) / 10, 1.1, False)
    judge("memory of an agent among 10^7 over that among 10^6", memory[1] / memory[0] / 10, 1.1, False)


with tempfile.TemporaryDirectory() as place:
    if "speed" in PARTS:
        compare_speed(pathlib.Path(place))
    if "size" in PARTS:
        compare_size(pathlib.Path(place))
sys.exit(0 if met else 1)
