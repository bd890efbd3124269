"""The thread of the cloud's loop draws no noise and makes no key: in a build of the command that counts who does. The bits
are those of the run in one process, restarts and a restore included."""

import os
import pathlib
import unittest

import parties
import town
from parties import Parties

WATCHED = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "tacit_watched"
ROUNDS = 40


class Draws(unittest.TestCase):
    def setUp(self):
        self.usual = parties.TACIT
        self.addCleanup(setattr, parties, "TACIT", self.usual)

    def start(self, p, seed, *more):
        """A cloud that counts; agents are the usual ones."""
        self.counts = p.folder / f"counts.{p.starts}"
        os.environ["TACIT_WATCHED"] = str(self.counts)
        parties.TACIT = str(WATCHED)
        try:
            p.start_cloud(*more, seed=seed, trace=False)
        finally:
            parties.TACIT = self.usual
            del os.environ["TACIT_WATCHED"]

    def check(self, least):
        by_loop, others = map(int, self.counts.read_text().split())
        self.assertEqual(by_loop, 0)
        self.assertGreaterEqual(others, least)

    def run_one(self, options, method="tacit"):
        with Parties(town.problem(4), options=[*options, "--rounds", ROUNDS, "--method", method]) as p:
            self.start(p, town.SEED)
            p.start_agents()
            summary = p.finish()
            if method == "tacit":
                town.same_bits(self, p, summary)
            self.check(2 * ROUNDS)

    def test_the_loop_draws_nothing(self):
        self.run_one(["--mechanism", "gaussian", "--epsilon", 2, "--delta", "1e-5", "--adjacency", "one:1"])

    def test_nor_with_noise_on_outputs(self):
        self.run_one(["--mechanism", "laplace", "--epsilon", 2, "--adjacency", "one:1", "--placement", "outputs", "--alpha-bar", 0.1,
                      "--c1", 0.3, "--gamma-bar", 0.05, "--c2", 0.52], "published")

    def test_nor_with_fresh_keys_and_after_a_restart(self):
        with Parties(town.problem(3), options=town.options(ROUNDS)) as p:
            self.start(p, None, "--tick", "0.05")
            p.start_agents()
            Parties.wait_for(lambda: town.round_of(p) >= 5, what="five rounds")
            p.cloud.stop()
            first = int(self.counts.read_text().split()[0])
            self.assertEqual(first, 0)
            self.start(p, None, "--listen", f"127.0.0.1:{p.port}")
            p.finish()
            self.assertEqual(int(self.counts.read_text().split()[0]), 0)

    def test_the_count_counts(self):
        """`run` draws on its own thread: the same build sees it."""
        with Parties(town.problem(3), issue=False) as p:
            counts = p.folder / "counts"
            os.environ["TACIT_WATCHED"] = str(counts)
            parties.TACIT = str(WATCHED)
            try:
                p.tacit("run", p.problem, *town.options(10), "--seed", "1", "--json", "--no-reference", code=None)
            finally:
                parties.TACIT = self.usual
                del os.environ["TACIT_WATCHED"]
            self.assertGreaterEqual(int(counts.read_text().split()[0]), 10)


if __name__ == "__main__":
    unittest.main()
