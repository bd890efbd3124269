"""kill -9 of the cloud, and of agents, at random moments of a run. Under a seed the run goes on to the bits of an
undisturbed one, and no agent is ever given two answers of a round."""
# labels: once

import itertools
import os
import random
import struct
import time
import unittest

import recorders
import town
import trajectories
import wire
from parties import Parties

LONG = os.environ.get("TACIT_LONG") == "1"
CHANCE = int(os.environ.get("TACIT_KILL_SEED", "1"))


def digits(numbers):
    return [f"{v:.17g}" for v in numbers]


class Disturbed:
    """A run of parties whose cloud always comes back at the same port, and goes on with the same trace."""

    def __init__(self, parties, label, seed, *more):
        self.parties, self.label, self.seed = parties, label, seed
        self.port, self.kills = recorders.free_port(), 0
        self.trace = parties.folder / f"cloud.{label}.csv"
        self.options = ["--listen", f"127.0.0.1:{self.port}", "--trace", self.trace, "--http", "off", "--threads", 1,
                        "--deadline", 30, *more]
        parties.states = parties.folder / f"states.{label}"
        parties.agents.clear()

    def start(self, ready=None):
        return self.parties.start_cloud(*self.options, seed=self.seed, state=self.parties.folder / f"journal.{self.label}",
                                        trace=False, ready=ready)

    def rounds(self):
        """How many whole lines the cloud has traced."""
        return self.trace.read_bytes().count(b"\n") - 3 if self.trace.exists() else 0

    def compare(self, test, made):
        alone = trajectories.in_process(self.parties.problem, self.parties.folder, self.parties.options, self.seed)
        trajectories.read_cloud(self.trace, made)
        test.assertIsNone(alone.difference(made))


class Kill(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(CHANCE)

    # ---- the cloud, and agents that write everything down ----

    def kill_cloud_until_done(self, run, agents, kills):
        """Kills at the start of a process and among rounds, in turn. Among rounds: an agent has seen that process's epoch.
        Returns the cloud's last exit code."""
        def epochs():
            return len({epoch for agent in agents for epoch in agent.epochs})
        began = time.monotonic()
        cloud = run.start(ready=True)
        startup, seen = time.monotonic() - began, 0
        while not all(agent.is_done() for agent in agents):
            if run.kills < kills:
                if run.kills % 2 == 0:
                    time.sleep(self.chance.uniform(0, 1.5 * startup))
                else:
                    Parties.wait_for(lambda: epochs() > seen or not cloud.is_running() or any(a.failure for a in agents),
                                     what="an agent at the new cloud")
                    time.sleep(self.chance.expovariate(1 / 0.04))
            else:
                Parties.wait_for(lambda: not cloud.is_running() or all(a.failure or a.is_done() for a in agents), what="the end")
            failed = [agent.failure or agent.refused for agent in agents if agent.failure or agent.refused]
            self.assertEqual(failed, [])
            if all(agent.is_done() for agent in agents):
                break
            self.assertIn(cloud.child.poll(), (None, 0), cloud.err[-2000:])
            cloud.kill()
            seen, run.kills = epochs(), run.kills + 1
            cloud = run.start()
        return cloud.wait()  # for 45 s more, if it does not know that agents that left have had all

    def record(self, parties, label, seed, kills):
        book, run = wire.Book(), Disturbed(parties, label, seed, "--durability", "power" if label % 2 else "process")
        agents = [recorders.Recorder(names, run.port, parties.key_folders[names[0]], book, seed=f"{seed}/{i}", deaths=0.01)
                  for i, names in enumerate((list(parties.names)[:4], *([name] for name in list(parties.names)[4:])))]
        for agent in agents:
            agent.start()
        try:
            self.assertEqual(self.kill_cloud_until_done(run, agents, kills), 0)
        finally:
            for agent in agents:
                agent.stop()
        made, rounds = trajectories.Trajectory(), agents[0].rounds
        for agent in agents:
            for (name, k), x in agent.x.items():
                made.write_x(name, k, digits(x))
        if seed is not None:
            run.compare(self, made)
        self.assertEqual(len(book.answers), rounds * len(parties.names))  # and Book.write has seen all that came again
        self.expect_traced(run, book, rounds)
        return run.kills, book.repeats, len({epoch for agent in agents for epoch in agent.epochs})

    def expect_traced(self, run, book, rounds):
        """What the cloud says that it released is what every agent was given."""
        traced = [line.split(",")[:3] for line in run.trace.read_text().splitlines() if line[0].isdigit()]
        self.assertEqual([int(k) for k, _, _ in traced], list(range(1, rounds + 1)))
        for (name, k), body in book.answers.items():
            self.assertEqual(digits(struct.unpack_from("<2d", body)), traced[k - 1][1:], (name, k))

    def kill_again_and_again(self, wanted, seeds, equal=False):
        kills, repeats, runs = 0, 0, 0
        with Parties(town.problem(6, equal), options=town.options(700)) as parties:
            parties.issue(list(parties.names)[:4], together="gateway")
            while kills < wanted:
                runs += 1
                more, again, epochs = self.record(parties, runs, next(seeds), wanted - kills)
                kills, repeats = kills + more, repeats + again
                self.assertGreater(epochs, more // 5)
        self.assertGreater(repeats, wanted // 10)
        print(f"{kills} kills of the cloud in {runs} runs, {repeats} answers came again", flush=True)

    def test_killed_at_any_moment_the_cloud_ends_with_the_same_bits(self):
        self.kill_again_and_again(300 if LONG else 30, itertools.count(1))

    def test_and_so_it_does_with_an_equality(self):
        self.kill_again_and_again(100 if LONG else 10, itertools.count(1), equal=True)

    def test_killed_at_any_moment_the_cloud_never_answers_a_round_twice_though_its_noise_is_new(self):
        self.kill_again_and_again(300 if LONG else 30, itertools.repeat(None))

    def test_killed_while_it_makes_its_journal_it_makes_it_the_next_time(self):
        with Parties(town.problem(2), options=town.options(50)) as parties:
            began = time.monotonic()
            parties.start_cloud("--http", "off", state=parties.folder / "first").kill()
            startup = time.monotonic() - began
            for trial in range(100 if LONG else 10):
                state = parties.folder / f"state.{trial}"
                cloud = parties.start_cloud("--http", "off", state=state, ready=None)
                time.sleep(self.chance.uniform(0.1, 1.1) * startup)
                cloud.kill()
                cloud = parties.start_cloud("--http", "off", state=state)
                self.assertEqual(cloud.stop(), 0)

    # ---- everybody, with agents of the command ----

    def test_killed_agents_and_clouds_end_with_the_same_bits(self):
        wanted = 150 if LONG else 24
        with Parties(town.problem(4), options=town.options(60 * wanted)) as parties:
            run, (*names, last) = Disturbed(parties, "all", 5), parties.names
            parties.port, parties.http_port = run.port, 0
            gate = recorders.Gate(0)
            pacer = recorders.Recorder([last], run.port, parties.key_folders[last], wire.Book(), move=gate)
            cloud = run.start()
            pacer.start()
            self.addCleanup(pacer.stop)
            self.addCleanup(setattr, gate, "until", 60 * wanted)
            for name in names:
                parties.start_agent(name, port=run.port)
            while run.kills < wanted:
                before = run.rounds()
                gate.until = before + 50  # a run must not end before its kills
                Parties.wait_for(lambda: pacer.failure or run.rounds() > before + 3, what="rounds")
                self.assertIsNone(pacer.failure)
                time.sleep(self.chance.expovariate(1 / 0.01))
                for victim in self.chance.sample([None, *names, *names], self.chance.choice((1, 1, 2, 3))):
                    run.kills += 1
                    if victim is None:
                        cloud.kill()
                        cloud = run.start()
                    else:
                        parties.agents[victim].kill()
                        parties.start_agent(victim, port=run.port)
            gate.until = 60 * wanted
            parties.finish()
            made = trajectories.Trajectory()
            for (name, k), x in pacer.x.items():
                made.write_x(name, k, digits(x))
            for name in names:
                trajectories.read_agents(parties.trace_of(name), 2, made)
            run.compare(self, made)
            print(f"{run.kills} kills of cloud and agents", flush=True)


if __name__ == "__main__":
    unittest.main()
