"""The unit data on a network: agents keep to the distances of their files, say nothing that depends on protected data, and
come to the same bits as in one process."""
import re
import unittest

from parties import Parties

NEEDS = [3, 7.5, 12, 0.5, 9, 20]  # the last is outside of its range

PROBLEM = """
data homes = csv "homes.csv"
agents home over homes {
  state p[4] in [0, 5]
  private set sum(p) >= need
  private minimize weight * sumsq(p - pref)
  range need in [0, 12], weight in [0.5, 2], pref in [0, 5]
  protect need by 1, pref by 0.1
  slater p = 3
}
agent shop {
  state q in [0, 40]
  private param wish = 33
  range wish in [0, 40]
  protect wish by 2
  private minimize (q - wish)^2
  slater q = 1
}
constraint line[t in 1..4]: sum(home: p[t]) + shop.q / 4 <= 22
privacy  { mechanism gaussian; epsilon 5; delta 1e-6; adjacency data }
schedule { rounds 60 }
"""


def homes(needs):
    return "need,weight,pref\n".replace("pref", ",".join(f"pref_{t}" for t in range(1, 5))) + "".join(
        f"{need},{0.5 + 0.2 * k},{k % 5},{(k + 1) % 5},1,2\n" for k, need in enumerate(needs))


class Data(unittest.TestCase):
    def parties(self, needs=None, text=PROBLEM):
        return Parties(text, files={"homes.csv": homes(needs or NEEDS)})

    def test_a_network_has_the_bits_of_one_process_and_owners_alone_hear_of_their_data(self):
        with self.parties() as parties:
            parties.start_cloud(seed=4)
            parties.start_agents()
            parties.finish()
            found = {name: x for result in parties.results().values() for name, x in result["x"].items()}
            self.assertEqual(found, parties.in_process(seed=4)["x"])
            for name, agent in parties.agents.items():
                self.assertEqual("outside" in agent.err, name == "home[6]", agent.err)
            self.assertNotIn("outside", parties.cloud.err)

    def test_data_that_are_moved_to_the_same_edge_are_the_same_data(self):
        results = []
        for last in (12, 20):
            with self.parties(NEEDS[:-1] + [last]) as parties:
                results.append((parties.in_process(seed=4)["x"], (parties.parts / "cloud.tacit").read_text()))
        self.assertEqual(results[0], results[1])

    def test_the_cloud_file_and_its_plan_do_not_depend_on_private_data(self):
        made = []
        for needs in (NEEDS, [1, 2, 3, 4, 5, 6]):
            with self.parties(needs) as parties:
                made.append(((parties.parts / "cloud.tacit").read_text(), (parties.parts / "plan.hash").read_text()))
        self.assertEqual(made[0], made[1])
        self.assertIn("distance need {", made[0][0])

    def test_an_agent_does_not_start_where_its_file_promises_too_small_a_distance(self):
        with self.parties() as parties:
            path = parties.names["home[2]"]
            text = path.read_text()
            smaller = re.sub(r"(distance need \{ l1) \S+; l2 \S+ \}", r"\1 0.9; l2 0.9 }", text)
            self.assertNotEqual(text, smaller)
            path.write_text(smaller)
            parties.start_cloud()
            agent = parties.start_agent("home[2]")
            self.assertEqual(agent.wait(), 2)
            self.assertIn("the distance of need in this file, 0.9, is not proved", agent.err)
            self.assertTrue(parties.cloud.is_running())

    def test_whatever_its_need_an_agent_says_yes_to_the_slater_point(self):
        """The point leaves no room for the largest need: 12 of 12. Its neighbour in the sum is refused from the public file."""
        for needs in (NEEDS, [12] * 6, [0] * 6):
            with self.parties(needs) as parties:
                parties.start_cloud("--rounds", 3)
                parties.start_agents()
                parties.finish()
        with self.assertRaisesRegex(AssertionError, "not proved to lie in"):
            with self.parties([1, 2, 3, 4, 5, 6], PROBLEM.replace("slater p = 3", "slater p = 2.9")) as parties:
                parties.tacit("plan", parties.problem)

    def test_whose_set_may_not_hold_the_point_tells_its_owner_and_does_not_come(self):
        """Its file has another set than the one that the plan was made from: to say yes or no would tell of its data."""
        with self.parties() as parties:
            path = parties.names["home[2]"]
            path.write_text(path.read_text().replace("  private minimize", "  private set p[1] + need / 4 <= 5\n  private minimize", 1))
            parties.start_cloud()
            agent = parties.start_agent("home[2]")
            self.assertEqual(agent.wait(), 2)
            self.assertIn("is not proved to lie in 'private set p[1] + need / 4 <= 5' for all data in the ranges", " ".join(agent.err.split()))
            self.assertTrue(parties.cloud.is_running())
            for word in ("home[2]", "connection", "refused"):
                self.assertNotIn(word, parties.cloud.err)


if __name__ == "__main__":
    unittest.main()
