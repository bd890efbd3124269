"""With the same seed, a cloud and its agents as processes of their own, over TLS, go through the same x and mu, bit for
bit, as all parties in one process: in every round, in any order of arrival, on any number of threads."""
# labels: once

import os
import pathlib
import random
import unittest

import town
import trajectories
from parties import Parties

SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
LONG = os.environ.get("TACIT_LONG") == "1"


def promise(mechanism):
    return ["--mechanism", mechanism, "--epsilon", "1", *(["--delta", "0.01"] if mechanism == "gaussian" else [])]


# A thousand with data of their own in curved objectives; some have a constraint of their own.
CROWD = """\
data members = csv "members.csv"
agents m over members {
  state x in [0, 4]
  state y in [-1, 2]
  private minimize weight * (x - want)^2 + exp(y) - y * want
  private set x + y <= most
  gap 60
  slater x = 1;  slater y = 0
}
constraint total: sum(m: x) <= 1500
constraint both: sum(m: x + 2 * y) / 10 <= 140
constraint curved: sum(m: x^2) / 10 + m[17].y <= 400
privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency one 1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 1000 }
"""


# Boxes up to 400 times apart, within agents and between them: states are scaled.
WIDE = """\
agents a[i in 1..3] {
  state x in [0, 40]
  state y in [-1, 2]
  private minimize (x - 9 * i)^2 / 50 + exp(y) - 3 * y
  private set x + 4 * y <= 38
  gap 60
  slater x = 1;  slater y = 0
}
agent b {
  state z[2] in [0, 0.1]
  private minimize 30 * sumsq(z - [0.09, 0.02]) + abs(z[1] - z[2])
  gap 1
  slater z = 0.01
}
agent c {
  state t[2] in [[0, 0], [20, 1]]
  private minimize sumsq(t - [18, 1]) / 9 + t[1] * t[2] / 50
  private set norm(t - [8, 0.5]) <= 9
  gap 90
  slater t = [2, 0.5]
}
constraint one: sum(a: x / 10 + y) + 10 * b.z[1] <= 5
constraint two: (c.t[1] / 10 + c.t[2])^2 + 20 * b.z[2] + sum(a: y^2) <= 5
privacy { mechanism laplace; epsilon 1; adjacency one 0.1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 1000 }
"""


def members(count):
    chance = random.Random(5)
    return "weight,want,most\n" + "".join(
        f"{chance.uniform(0.5, 2):.6g},{chance.uniform(0, 4):.6g},{chance.uniform(2, 5):.6g}\n" for _ in range(count))


class SameBits(unittest.TestCase):
    def compare(self, parties, label, options, groups, **more):
        parties.options = options
        seed = more.pop("seed", 7)
        alone = trajectories.in_process(parties.problem, parties.folder, options, seed)
        made, summary = trajectories.over_network(parties, label, seed, groups, states=2, **more)
        self.assertIsNone(alone.difference(made))
        rounds = summary["rounds"]
        self.assertEqual((len(made.mu), len(made.x)), (rounds, (rounds + 1) * len(parties.names)))
        return made

    def test_ten_agents_of_the_paper(self):
        with Parties(SOURCE / "examples/paper.tacit") as parties:
            gateway = list(parties.names)[3:6]
            apart = [[name] for name in parties.names if name not in gateway]
            parties.issue(gateway, together="gateway")
            cases = [("published", "laplace", 1), ("published", "gaussian", 2), ("tacit", "laplace", 2), ("tacit", "gaussian", 1)]
            moved = ["--margin", "auto"]
            for i, (method, mechanism, threads, *more) in enumerate([*cases, ("tacit", "gaussian", 2, *moved)]):
                with self.subTest(method=method, mechanism=mechanism, threads=threads, more=more):
                    options = ["--method", method, "--rounds", 2000 if LONG else 200, *promise(mechanism), *more]
                    self.compare(parties, f"{method}.{mechanism}{len(more)}", options, [*apart, gateway], threads=threads, order=i,
                                 seed=7 + i, unsteady=i % 2 == 1)

    def test_generators_that_meet_a_demand_exactly(self):
        """The multiplier of the equality is negative in every round."""
        with Parties(town.problem(5, equal=True)) as parties:
            for method in ("published", "tacit"):
                options = ["--method", method, "--rounds", 150, "--mechanism", "laplace", "--epsilon", "5", "--adjacency",
                           "one:1", "--gamma-bar", "0.05", "--alpha-bar", "0.1", "--c1", "0.3", "--c2", "0.52"]
                options = options if method == "published" else options[:-8]
                made = self.compare(parties, method, options, [[name] for name in parties.names])
                self.assertLess(float(made.mu[150][0]), 0)

    def test_states_that_are_scaled(self):
        with Parties(WIDE) as parties:
            options = ["--rounds", 150, *promise("laplace")]
            self.compare(parties, "wide", options, [[name] for name in parties.names])

    def test_a_thousand_agents_behind_four_gateways(self):
        with Parties(CROWD, files={"members.csv": members(1000)}, issue=False) as parties:
            names = list(parties.names)
            self.assertEqual(len(names), 1000)
            random.Random(3).shuffle(names)
            groups = [names[i::4] for i in range(4)]
            for i, group in enumerate(groups):
                parties.issue(group, together=f"gateway{i}")
            cases = [("tacit", "gaussian", 2), ("published", "laplace", 1)]
            for i, (method, mechanism, threads) in enumerate(cases):
                with self.subTest(method=method, mechanism=mechanism):
                    options = ["--method", method, "--rounds", 500 if LONG else 60, *promise(mechanism)]
                    self.compare(parties, method, options, groups, threads=threads, order=i, unsteady=i == 0)

    @unittest.skipUnless(LONG, "long")
    def test_a_thousand_homes(self):
        with Parties(SOURCE / "examples/ev.tacit", issue=False) as parties:
            names = list(parties.names)
            groups = [names[i::4] for i in range(4)]
            for i, group in enumerate(groups):
                parties.issue(group, together=f"gateway{i}")
            parties.options = ["--rounds", 200]
            alone = trajectories.in_process(parties.problem, parties.folder, parties.options, 3)
            made, _ = trajectories.over_network(parties, "ev", 3, groups, states=24, threads=2)
            self.assertIsNone(alone.difference(made))


if __name__ == "__main__":
    unittest.main()
