"""x and mu of every round, as texts with all digits (two numbers have the same bits where these are the same): of a run in
one process, of the cloud's trace, and of agents' traces. And runs over the network that are compared with the first."""

import os
import pathlib
import random
import signal
import subprocess
import threading
import time

from parties import PATIENCE

PROGRAM = pathlib.Path(os.environ.get("TACIT_BINARY_DIR", "build/dev"), "tacit_trajectory")


class Trajectory:
    """x[agent, k]: the state before round k; mu[k]: the multipliers after round k."""

    def __init__(self):
        self.x, self.mu = {}, {}

    def write_x(self, agent, k, numbers):
        before = self.x.setdefault((agent, k), numbers)
        assert before == numbers, f"two states of {agent} before round {k}: {before}, {numbers}"

    def difference(self, other):
        """None, or where the first one is."""
        for mine, theirs, what in ((self.mu, other.mu, "mu after round"), (self.x, other.x, "x of")):
            for key in sorted(set(mine) ^ set(theirs), key=str):
                return f"{what} {key} is in one of them alone ({len(mine)}, {len(theirs)})"
            wrong = [key for key in mine if mine[key] != theirs[key]]
            if wrong:
                first = min(wrong, key=lambda key: (key[1] if isinstance(key, tuple) else key, str(key)))
                return f"{what} {first}: {mine[first]} and {theirs[first]}, and {len(wrong) - 1} more"
        return None


def in_process(problem, folder, options, seed):
    """`tacit run` with every round written down."""
    path = pathlib.Path(folder, "trajectory.txt")
    done = subprocess.run([str(PROGRAM), "run", str(problem), *map(str, options), "--seed", str(seed), "--no-reference", "--json"],
                          env={**os.environ, "TACIT_TRAJECTORY": str(path)}, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    made, places = Trajectory(), {}
    with open(path) as file:
        for line in file:
            word, *rest = line.rstrip("\n").split("\t")
            if word == "coordinates":
                for i, name in enumerate(rest):
                    places.setdefault(name.rsplit(".", 1)[0], []).append(i)
                continue
            k, numbers = int(rest[0]), rest[1:]
            if word == "mu":
                made.mu[k] = numbers
            else:
                for agent, own in places.items():
                    made.write_x(agent, k, [numbers[i] for i in own])
    return made


def read_cloud(path, made):
    """Rounds of a cloud's trace follow each other, whatever has happened to it."""
    with open(path) as file:
        for line in file:
            if line[0].isdigit():
                k, _, _, *mu = line.rstrip("\n").split(",")
                assert int(k) == len(made.mu) + 1, f"round {k} follows {len(made.mu)} in {path}"
                made.mu[int(k)] = mu


def read_agents(path, states, made):
    """Of each agent `states` numbers. A row may stand there twice, with the same numbers."""
    with open(path) as file:
        for line in file:
            if not line.startswith("#"):
                k, rest = line.rstrip("\n").split(",", 1)
                agent, *numbers = rest.rsplit(",", states)
                made.write_x(agent, int(k), numbers)


class Unsteady:
    """Stops and continues processes at random, so that what they say comes in any order."""

    def __init__(self, processes, seed):
        self.processes, self.random, self.is_over = processes, random.Random(seed), False
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.is_over:
            process = self.random.choice(self.processes)
            process.signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0, 0.01))
            process.signal(signal.SIGCONT)
            time.sleep(self.random.uniform(0, 0.01))

    def close(self):
        self.is_over = True
        self.thread.join()
        for process in self.processes:
            process.signal(signal.SIGCONT)


def over_network(parties, label, seed, groups, states, threads=1, order=0, unsteady=False):
    """A run of its own (label) with one process for each group of agents, started in some order with pauses."""
    chance, made = random.Random(order), Trajectory()
    parties.agents.clear()
    parties.states = parties.folder / f"states.{label}"
    trace = parties.folder / f"cloud.{label}.csv"
    parties.start_cloud("--trace", trace, "--threads", threads, seed=seed, state=parties.folder / f"journal.{label}",
                        trace=False)
    groups = [list(group) for group in groups]
    chance.shuffle(groups)
    traces = []
    for group in groups:
        chance.shuffle(group)
        traces.append(parties.folder / f"agents.{label}.{len(traces)}.csv")
        parties.start_agent(*group, trace=False, more=["--trace", traces[-1]])
        time.sleep(chance.uniform(0, 0.02))
    rough = Unsteady(list(parties.agents.values()), order) if unsteady else None
    try:
        summary = parties.finish()
    finally:
        if rough is not None:
            rough.close()
    read_cloud(trace, made)
    for path in traces:
        read_agents(path, states, made)
    return made, summary
