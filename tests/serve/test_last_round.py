"""`--feasible always` over the network: agents send their averages, the last answer moves them, and every result has the bits
of the same run in one process; also where the cloud is killed and comes back."""
# labels: once

import shutil
import unittest

import wire
from parties import Parties

ROUNDS = 60

TOWN = """\
agent a { state x[2] in [0, 4]; private minimize sumsq(x - 3); gap 60; slater x = 0.5 }
agent b { state y in [0, 4]; private minimize (y - 3)^2; gap 60; slater y = 0.5 }
agent c { state z in [0, 4]; private minimize (z - 2)^2; private set z <= 3; gap 60; slater z = 0.5 }
constraint sum: sum(a.x) + b.y + c.z <= 6
constraint curved: sumsq(a.x) + b.y^2 <= 12
privacy { mechanism laplace; epsilon 4; delta 1e-4; adjacency one 0.1 }
schedule { rounds 60 }
"""


class LastRound(unittest.TestCase):
    def check(self, parties, seed):
        """Every agent's result is that of the run in one process, and so is what the cloud says."""
        summary = parties.finish()
        alone = parties.in_process(seed=seed)
        self.assertEqual(summary["rounds"], ROUNDS + 1)
        self.assertEqual(summary["feasibility"], alone["feasibility"])
        self.assertTrue(summary["feasibility"]["certain"] and summary["feasibility"]["shown"])
        self.assertFalse(summary["ledger"]["spent"][0]["priced"])  # its noise has a seed
        for name, result in parties.results().items():
            self.assertEqual(result["x"][name], alone["x"][name])
            self.assertTrue(result["agents"][0]["certain"])

    def test_same_bits(self):
        for more in ([], ["--mechanism", "gaussian"], ["--adjacency", "agent"], ["--margin", "auto"]):
            with self.subTest(more=more), Parties(TOWN, options=["--feasible", "always", *more]) as parties:
                parties.start_cloud(seed=7)
                parties.start_agents()
                self.check(parties, 7)

    def test_a_cloud_that_dies(self):
        """kill -9 among the rounds; tests/engine/test_last.c has the restarts just before and after the last one."""
        with Parties(TOWN, options=["--feasible", "always"]) as parties:
            parties.start_cloud(seed=7)
            parties.start_agents()
            parties.wait_for(lambda: rounds_of(parties) >= 2 or not parties.cloud.is_running(), what="some rounds")
            parties.cloud.kill()
            self.restart(parties)
            self.check(parties, 7)

    def test_an_agent_without_an_average_of_all_rounds_sends_none(self):
        """How little a state moves the average is a part of the promise: not that of an agent that lost its file, nor of one whose
        file is an older copy."""
        for older in (False, True):
            with self.subTest(older=older), Parties(TOWN, options=["--feasible", "always"]) as parties:
                parties.start_cloud(seed=7)
                parties.start_agents("ac", trace=False)
                pacer = wire.RawAgent("b", start=1.0, highest=2)
                pacer.open(parties.port, parties.key_folders["b"])
                pacer.enrol()
                pacer.run(10)
                copy = parties.folder / "older"
                if older:
                    parties.agents["a"].kill()
                    shutil.copytree(parties.states / "a", copy)
                    parties.start_agent("a", trace=False)
                    pacer.run(20)
                parties.agents["a"].kill()
                shutil.rmtree(parties.states / "a")
                if older:
                    shutil.copytree(copy, parties.states / "a")
                agent = parties.start_agent("a", trace=False)
                pacer.run(ROUNDS)
                pacer.send_state()  # the last: the cloud waits for agent a, and releases nothing
                with self.assertRaises(TimeoutError):
                    pacer.link.receive(1)
                self.assertEqual(agent.wait(), 2)
                self.assertRegex(agent.err, r"a does not know what the cloud used of it up to round \d+, so it has no average of all rounds")
                pacer.close()

    def test_an_answer_that_is_sent_again_says_again_that_the_state_was_moved(self):
        """Otherwise an agent whose connection broke would send an average of states that the cloud did not have."""
        with Parties(TOWN, options=["--feasible", "always"]) as parties:
            parties.start_cloud(seed=7)
            parties.start_agents("ac", trace=False)
            pacer = wire.RawAgent("b", start=1.0, highest=2)
            pacer.open(parties.port, parties.key_folders["b"])
            pacer.enrol()
            pacer.run(3)
            for k, units, flags in ((4, [1 << 62], wire.CLAMPED), (5, None, 0)):
                pacer.send_state(units=units)
                self.assertEqual(pacer.link.expect(wire.ANSWER).flags, flags)
                pacer.send_state(units=[0])  # asked for on the same connection; the state itself is not read
                again = pacer.link.expect(wire.ANSWER)
                self.assertEqual((again.round, again.flags), (k, flags))
                pacer.open(parties.port, parties.key_folders["b"])  # the answer was lost
                pacer.enrolled = {}
                pacer.enrol()
                again = pacer.take(pacer.link.expect(wire.ANSWER))
                self.assertEqual((again.round, again.flags), (k, flags))
            pacer.close()

    def test_a_last_round_that_cannot_come_is_given_up(self):
        """With --last-deadline the run ends: nothing more is released, results are averages, and nobody calls them certain."""
        with Parties(TOWN, options=["--feasible", "always", "--margin", "auto"]) as parties:
            parties.start_cloud(seed=7)
            parties.start_agents("ac", trace=False)
            pacer = wire.RawAgent("b", start=1.0, highest=2)
            pacer.open(parties.port, parties.key_folders["b"])
            pacer.enrol()
            pacer.run(10)
            parties.agents["a"].kill()
            shutil.rmtree(parties.states / "a")
            lost = parties.start_agent("a", trace=False)
            pacer.run(ROUNDS)
            self.assertEqual(lost.wait(), 2)
            pacer.send_state()
            with self.assertRaises(TimeoutError):
                pacer.link.receive(1)
            parties.cloud.kill()  # the operator decides: the same command, with a deadline
            pacer.close()
            cloud = parties.start_cloud("--listen", f"127.0.0.1:{parties.port}", "--last-deadline", 45, "--log", "json", seed=7)
            agent = parties.agents["c"]
            self.assertEqual(agent.wait(), 0, agent.err)
            kept = agent.json()
            self.assertIn("the run ended without its last round", kept["reason"])
            self.assertEqual([one["certain"] for one in kept["agents"]], [False])
            again = wire.RawAgent("b", start=1.0, highest=2)  # it missed the end, and is told
            again.open(parties.port, parties.key_folders["b"])
            again.enrol(answered=ROUNDS)
            end = again.link.expect(wire.END)
            self.assertEqual((end.round, end.reason), (ROUNDS, 1))
            again.close()
            cloud.stop()
            self.expect_given_up(cloud)
            with self.subTest("after a restart"):
                cloud = parties.start_cloud("--listen", f"127.0.0.1:{parties.port}", seed=7)
                told = parties.start_agent("c", trace=False)
                self.assertEqual(told.wait(), 0, told.err)
                self.assertEqual(told.json()["x"], kept["x"])
                self.assertFalse(told.json()["agents"][0]["certain"])
                cloud.stop()
                self.expect_given_up(cloud)

    def expect_given_up(self, cloud):
        self.assertEqual(cloud.wait(), 1, cloud.err)
        summary = cloud.json()
        self.assertEqual((summary["outcome"], summary["rounds"]), ("done", ROUNDS))
        self.assertFalse(summary["feasibility"]["certain"])
        self.assertIsNone(summary["feasibility"]["move"])
        self.assertIn("The last round was given up", summary["reason"])

    def test_a_deadline_that_is_kept_changes_nothing(self):
        with Parties(TOWN, options=["--feasible", "always"]) as parties:
            parties.start_cloud("--last-deadline", 60, seed=7)
            parties.start_agents()
            self.check(parties, 7)

    def test_a_deadline_without_a_last_round_is_refused(self):
        with Parties(TOWN) as parties:
            cloud = parties.start_cloud("--last-deadline", 60, ready=False)
            self.assertEqual(cloud.wait(), 2)
            self.assertIn("--last-deadline goes with --feasible always", cloud.err)

    def test_its_price_is_entered(self):
        with Parties(TOWN, options=["--feasible", "always", "--budget", "4:1e-4"]) as parties:
            parties.start_cloud()
            parties.start_agents()
            spent = parties.finish()["ledger"]["spent"][0]
            self.assertTrue(spent["priced"] and 3.9 < spent["epsilon"] <= 4 and 0 < spent["delta_of_bounds"] <= 1e-4)

    def restart(self, parties):
        parties.start_cloud("--listen", f"127.0.0.1:{parties.port}", seed=7)


def rounds_of(parties):
    path = parties.folder / f"cloud.{parties.starts}.csv"
    return sum(line[:1].isdigit() for line in path.read_text().splitlines()) if path.exists() else 0


if __name__ == "__main__":
    unittest.main()
