"""Do the times of answers tell two adjacent worlds apart? For script/soak.

In each round a coin decides which of two states one agent sends, the two ends of its box; another agent sends the round's
last state, always the same one, and times how long its answer takes over loopback. A rank test (Mann and Whitney) compares
the times of the two worlds. Since the coin is thrown anew in each round, its verdict does not depend on how fast or how
busy the machine is: where times do not depend on the world, it sees a difference with a probability of SIGNIFICANCE. The
cloud must show none; a build of it with a delay planted in one world must show one.

    answer_times.py [ROUNDS]       10,000 by default
"""

import math
import os
import pathlib
import random
import sys
import time

import parties
import town
import wire
from parties import Parties

SIGNIFICANCE = 1e-6
AGENTS = 6
PLANTED = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "tacit_planted_delay"


def rank_test(first, second):
    """The two-sided probability of ranks as far apart as these, by the normal law, ties counted."""
    both = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    count, ranks, ties, at = len(both), 0.0, 0.0, 0
    while at < count:
        end = at
        while end < count and both[end][0] == both[at][0]:
            end += 1
        ranks += sum(which == 0 for _, which in both[at:end]) * (at + 1 + end) / 2
        ties += (end - at) ** 3 - (end - at)
        at = end
    n, m = len(first), len(second)
    mean, variance = n * (n + m + 1) / 2, n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1)))
    z = (ranks - mean) / math.sqrt(variance)
    return z, math.erfc(abs(z) / math.sqrt(2))


def join(p, names):
    agent = town.python_agent(names)
    agent.open(p.port)
    agent.enrol()
    return agent


def states(agent, k, x):
    exponent = agent.enrolled[0].exponent
    units = [round(v * 2.0 ** -exponent) for v in x]
    return b"".join(wire.state(slot, k, units) for slot in range(len(agent.names)))


def take_answers(agent, k):
    for _ in agent.names:
        message = agent.link.receive(30)
        if (message.type, message.round) != (wire.ANSWER, k):
            raise AssertionError(f"no answer of round {k}: {message!r}")


def measure(program, rounds, chance):
    """The times of answers, in nanoseconds, by world."""
    times = ([], [])
    usual, parties.TACIT = parties.TACIT, str(program)
    try:
        with Parties(town.problem(AGENTS), options=[*town.options(rounds), "--durability", "process"], tls=False) as p:
            p.start_cloud("--log-level", "warning", trace=False)
            names = list(p.names)
            one, rest = join(p, names[:1]), join(p, names[1:])
            for k in range(1, rounds + 1):
                world = chance.randrange(2)
                mine, last = states(one, k, [(town.LOW, town.HIGH)[world]] * town.STATES), states(rest, k, [1.0] * town.STATES)
                one.link.send(mine)
                time.sleep(0.0005)  # that state has been taken
                began = time.perf_counter_ns()
                rest.link.send(last)
                first = rest.link.receive(30)
                took = time.perf_counter_ns() - began
                if (first.type, first.round) != (wire.ANSWER, k):
                    raise AssertionError(f"no answer of round {k}: {first!r}")
                for _ in names[2:]:
                    rest.link.receive(30)
                take_answers(one, k)
                if k > rounds // 20:  # the first ones warm caches up
                    times[world].append(took)
            one.link.send(wire.leave())
            rest.link.send(wire.leave())
            p.cloud.stop()
    finally:
        parties.TACIT = usual
    return times


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    seed = int(os.environ.get("TACIT_TIMES_SEED", "1"))
    wrong = 0
    for name, program, expected in (("the cloud", parties.TACIT, False), ("a planted delay", PLANTED, True)):
        times = measure(program, rounds, random.Random(seed))
        z, probability = rank_test(*times)
        seen = probability < SIGNIFICANCE
        medians = [sorted(t)[len(t) // 2] / 1000 for t in times]
        print(f"{name}: {len(times[0])} and {len(times[1])} answers, medians {medians[0]:.1f} and {medians[1]:.1f} microseconds, "
              f"z = {z:.2f}: {'a difference' if seen else 'no difference'} at significance {SIGNIFICANCE:g}", flush=True)
        wrong += seen != expected
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
