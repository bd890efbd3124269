#!/usr/bin/env python3
"""scale_ranks.py TACIT TACIT_MPI BUILD [PART...]: runs on two ranks against one rank and against two threads, as ratios, and
against what a model of a round's time expects of them; the memory and the time of ten times the agents. Parts: speed, size.
Prints a table; fails where a goal is missed. BUILD: the folder of bench_measure and bench_ranks.

Agents have two states under ten coupling constraints, as in script/bench. The time is that of the rounds alone, the least of
several turns, which contestants take one after another."""
import pathlib
import re
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


def words_of(problem, rounds, threads, count):
    words = ["run", problem, "--seed", "1", "--rounds", rounds, "--no-reference", "--threads", threads, "--trace",
             problem.with_suffix(".trace.csv")]
    return [str(word) for word in ([TACIT, *words] if count == 0 else ranks.command(count, MANY, *words))]


class Turns:
    """Seconds of a round, without the first two, in which memory is touched for the first time; count: ranks, 0 for plain
    tacit. The least of all turns, of long and of short runs apart: a disturbed short run must not make a round look fast."""

    def __init__(self, problem, rounds, threads, count):
        self.problem, self.rounds, self.threads, self.count = problem, rounds, threads, count
        self.long, self.short = [], []

    def turn(self):
        self.long.append(seconds_of_run(self.problem, self.rounds + 2, self.threads, self.count))
        self.short.append(seconds_of_run(self.problem, 2, self.threads, self.count))

    def seconds(self):
        return (min(self.long) - min(self.short)) / self.rounds


def seconds_of(turns, *contestants):
    """Contestants take turns."""
    for _ in range(turns):
        for contestant in contestants:
            contestant.turn()
    return [contestant.seconds() for contestant in contestants]


def seconds_of_run(problem, rounds, threads, count):
    done = subprocess.run(words_of(problem, rounds, threads, count), env=ranks.environment(OMPI_MCA_mpi_yield_when_idle="0"),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}\n{done.stderr}")
    trace = problem.with_suffix(".trace.csv").read_text()
    return float(re.search(r"# fact: seconds = (\S+)", trace).group(1))


def mebibytes_of(problem, rounds, count):
    """Of all ranks together."""
    words = [*ranks.command(count, MEASURE, MANY), *words_of(problem, rounds, 1, 0)[1:]]
    done = subprocess.run(words, env=ranks.environment(), capture_output=True, text=True, check=True)
    return sum(float(line.split()[1]) for line in done.stdout.splitlines() if len(line.split()) == 3)


def expected(alone, count):
    """The model of docs/scale.md: a round of 10^6 agents on so many ranks, from one of half as many and one of as many on one
    rank, and from what sums take."""
    half, whole = alone
    done = subprocess.run(ranks.command(count, SUMS), env=ranks.environment(OMPI_MCA_mpi_yield_when_idle="0"),
                          capture_output=True, text=True, check=True)
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
    problem = generate(folder, 1000000)
    kinds = {"one rank": (1, 1), "two ranks": (1, 2), "two threads": (2, 0)}
    least = dict(zip(kinds, seconds_of(3, *(Turns(problem, 100, threads, count) for threads, count in kinds.values()))))
    print("10^6 agents, a round: " + ", ".join(f"{kind} {least[kind] * 1e3:.2f} ms" for kind in kinds))
    judge("two ranks are so many times as fast as one", least["one rank"] / least["two ranks"], 1.8, True)
    judge("two ranks against two threads of one process", least["two threads"] / least["two ranks"], 0.9, True)
    half, = seconds_of(3, Turns(generate(folder, 500000), 100, 1, 1))
    judge("two ranks against what the model expects", least["two ranks"] / expected((half, least["one rank"]), 2), 1.15, False)


def compare_size(folder):
    small, large = generate(folder, 1000000), generate(folder, 10000000)
    times = seconds_of(3, Turns(small, 100, 1, 2), Turns(large, 10, 1, 2))
    memory = [mebibytes_of(problem, 2, 2) for problem in (small, large)]
    print(f"two ranks, a round: 10^6 agents {times[0] * 1e3:.2f} ms, 10^7 agents {times[1] * 1e3:.2f} ms; "
          f"memory {memory[0]:.0f} and {memory[1]:.0f} MiB in all")
    judge("a round of ten times the agents over ten times the time", times[1] / times[0] / 10, 1.1, False)
    judge("memory of an agent among 10^7 over that among 10^6", memory[1] / memory[0] / 10, 1.1, False)


with tempfile.TemporaryDirectory() as place:
    if "speed" in PARTS:
        compare_speed(pathlib.Path(place))
    if "size" in PARTS:
        compare_size(pathlib.Path(place))
sys.exit(0 if met else 1)
