"""`--feasible always` with a journal in a database and a cloud that stands by: the active one is killed just before the last
round, and just after it. Results have the bits of an undisturbed run, and no round is released twice."""
# labels: long once

import unittest

import cluster
import recorders
import town
from parties import Parties
from test_last_round import TOWN

ROUNDS = 12
TICK = 0.4  # seconds: long enough to look and kill between two rounds


class LastStandby(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster()
        cls.key = cls.cluster.make_key()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def start(self, parties, address, port, number):
        return parties.start_cloud("--listen", f"127.0.0.1:{port}", "--log", "json", "--journal", address, "--journal-key", self.key,
                                   "--lease", 1, "--standby", "--tick", TICK, seed=7, state=parties.folder / f"machine.{number}",
                                   ready=None, name=f"cloud.{number}")

    def released(self, parties, number):
        path = parties.folder / f"cloud.{number}.csv"
        lines = path.read_text().splitlines() if path.exists() else []
        return {int(line.split(",")[0]): line for line in lines if line[:1].isdigit() and "," in line}

    def kill_after(self, k, name):
        """The cloud that serves dies when round k is answered; the other one ends the run."""
        problem = TOWN.replace("rounds 60", f"rounds {ROUNDS}")
        with Parties(problem, options=["--feasible", "always"]) as parties:
            port, address = recorders.free_port(), self.cluster.new(name)
            first = self.start(parties, address, port, 1)
            town.await_event(first, "listening")
            second = self.start(parties, address, port, 2)
            town.await_event(second, "standby")
            for agent in parties.names:
                parties.start_agent(agent, port=port)
            Parties.wait_for(lambda: k in self.released(parties, 1), what=f"round {k}")
            first.kill()
            before = self.released(parties, 1)
            self.assertEqual(max(before), k)
            self.assertEqual(second.wait(), 0, second.err[-2000:])
            for agent in parties.agents.values():
                self.assertEqual(agent.wait(), 0, agent.err)
            alone, summary = parties.in_process(seed=7), second.json()
            self.assertEqual((summary["rounds"], summary["epoch"]), (ROUNDS + 1, 2))
            self.assertEqual(summary["feasibility"], alone["feasibility"])
            self.assertTrue(summary["feasibility"]["certain"])
            for agent, result in parties.results().items():
                self.assertEqual(result["x"][agent], alone["x"][agent])
            after = self.released(parties, 2)
            self.assertEqual(sorted(after), list(range(k, ROUNDS + 2)))  # round k is read from the journal, and is what it was
            self.assertEqual(after[k], before[k])

    def test_killed_before_the_last_round(self):
        self.kill_after(ROUNDS, "before")

    def test_killed_after_the_last_round(self):
        self.kill_after(ROUNDS + 1, "after")


if __name__ == "__main__":
    cluster.main()
