"""`--feasible always` over the network: agents send their averages, the last answer moves them, and every result has the bits
of the same run in one process; also where the cloud is killed and comes back."""
# labels: once

import unittest

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
        for name, result in parties.results().items():
            self.assertEqual(result["x"][name], alone["x"][name])

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

    def restart(self, parties):
        parties.start_cloud("--listen", f"127.0.0.1:{parties.port}", seed=7)


def rounds_of(parties):
    path = parties.folder / f"cloud.{parties.starts}.csv"
    return sum(line[:1].isdigit() for line in path.read_text().splitlines()) if path.exists() else 0


if __name__ == "__main__":
    unittest.main()
