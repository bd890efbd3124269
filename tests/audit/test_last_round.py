"""tacit audit with --feasible always: the last round is one more system. Seeds are fixed; with other seeds an honest plan would be
refuted with a probability below 1e-6 each. What is found of planted faults: mutants.py."""
# labels: not-asan not-clang
import json
import os
import pathlib
import subprocess
import unittest

TACIT = os.environ["TACIT"]
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"


def audit(name, *options):
    done = subprocess.run([TACIT, "audit", str(EXAMPLES / f"{name}.tacit"), "--json", "--rounds", "200", "--epsilon", "1", *map(str, options)],
                          capture_output=True, text=True, timeout=1200)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


class LastRound(unittest.TestCase):
    def test_honest_plans_pass_in_every_unit(self):
        for seed in (1, 2):
            for mechanism in ("laplace", "gaussian"):
                for name, unit in (("num", "one:0.1"), ("paper", "ensemble:1"), ("robots", "agent"), ("num", "agent:0.5"), ("dispatch", "one:1")):
                    with self.subTest(seed=seed, mechanism=mechanism, name=name, unit=unit):
                        _, answer = audit(name, "--seed", seed, "--samples", 2000, "--mechanism", mechanism, "--delta", 1e-3, "--adjacency",
                                          unit, "--feasible", "always")
                        self.assertFalse(answer["refuted"])
                        self.assertEqual(answer["faults"], [])
                        rounds, last = answer["systems"]
                        self.assertEqual((rounds["name"], last["name"]), ("the rounds", "the last round"))
                        for system in (rounds, last):
                            self.assertLessEqual(system["exact_epsilon"], system["claimed_epsilon"] * (1 + 1e-9))
                            self.assertGreater(system["exact_epsilon"], 0.4 * system["claimed_epsilon"])
                        self.assertTrue(0 < last["exact_delta_of_bounds"] <= last["delta_of_bounds"] <= 1e-3)
                        self.assertNotIn("delta_of_bounds", rounds)
                        verdicts = {point["name"]: point["verdict"] for point in answer["points"] if point["name"] != "samples"}
                        self.assertEqual(set(verdicts.values()), {"not_refuted"})
                        self.assertIn("last round", verdicts)

    def test_with_enough_samples_nothing_is_open(self):
        code, answer = audit("num", "--seed", 1, "--mechanism", "laplace", "--delta", 1e-3, "--adjacency", "one:0.1", "--feasible", "always")
        self.assertEqual((code, answer["verdict"]), (0, "not_refuted"))
        last = answer["systems"][1]
        self.assertEqual(last["samples"], 20000)
        self.assertTrue(0 < last["delta_seen"] < last["delta_of_bounds"])  # it does happen
        self.assertTrue(0 < last["lower_bound"] < last["claimed_epsilon"])

    def test_parts_of_the_price_are_those_of_the_plan(self):
        words = ("--mechanism", "laplace", "--delta", "1e-3", "--adjacency", "agent", "--feasible", "always:0.3")
        _, answer = audit("num", "--seed", 1, "--samples", 2000, *words)
        rounds, last = (system["claimed_epsilon"] for system in answer["systems"])
        self.assertAlmostEqual(last, 0.3, 3)
        self.assertAlmostEqual(rounds + last, 1, 3)

    def test_a_large_problem_has_fewer_samples_of_it_unless_asked(self):
        words = ("ev", "--seed", 1, "--mechanism", "laplace", "--delta", 1e-3, "--adjacency", "one:0.1", "--feasible", "always")
        code, answer = audit(*words)
        self.assertEqual((code, [system["samples"] for system in answer["systems"]]), (0, [20000, 2000]))
        _, answer = audit(*words, "--samples", 2100)
        self.assertEqual([system["samples"] for system in answer["systems"]], [2100, 2100])

    def test_too_little_time_is_inconclusive_about_it(self):
        code, answer = audit("ev", "--seed", 1, "--seconds", 0.1, "--mechanism", "laplace", "--delta", 1e-3, "--adjacency", "one:0.1", "--feasible",
                             "always")
        self.assertEqual((code, answer["verdict"]), (1, "inconclusive"))

    def test_plans_without_one_have_no_such_point(self):
        _, answer = audit("num", "--seed", 1, "--samples", 2000, "--mechanism", "laplace", "--adjacency", "one:0.1")
        self.assertEqual([system["name"] for system in answer["systems"]], ["everything"])
        self.assertNotIn("last round", [point["name"] for point in answer["points"]])

    def test_end_to_end_does_not_look_at_it_and_says_so(self):
        done = subprocess.run([TACIT, "audit", str(EXAMPLES / "num.tacit"), "--json", "--rounds", "100", "--epsilon", "1", "--delta", "1e-3",
                               "--mechanism", "laplace", "--adjacency", "one:1", "--feasible", "always", "--samples", "500", "--seed", "1",
                               "--end-to-end"], capture_output=True, text=True, timeout=1200)
        self.assertEqual(done.returncode, 1)
        self.assertIn("last round", json.loads(done.stdout)["end_to_end"]["untested"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
