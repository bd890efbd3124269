"""`--feasible always` at the command: plans, runs and refusals."""
# labels: not-clang
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TACIT = os.environ["TACIT"]
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"
PROMISE = ("--epsilon", "1", "--delta", "1e-6", "--adjacency", "one:0.1", "--rounds", "200")


def tacit(*words):
    return subprocess.run([TACIT, *map(str, words)], capture_output=True, text=True, check=False)


def result(*words):
    done = tacit(*words, "--json")
    return json.loads(done.stdout)


class Feasible(unittest.TestCase):
    def test_constraints_hold_in_every_run(self):
        for name in ("num", "paper", "robots"):
            for mechanism in ("laplace", "gaussian"):
                with self.subTest(name=name, mechanism=mechanism):
                    made = result("run", EXAMPLES / f"{name}.tacit", *PROMISE, "--mechanism", mechanism, "--seeds", 20,
                                  "--feasible", "always")
                    for run in made["runs"]:
                        self.assertEqual(run["final"]["max_violation"], 0)
                        said = run["feasibility"]
                        self.assertTrue(said["certain"] and said["shown"])
                        self.assertEqual(said["probability"], 1)
                        self.assertTrue(0 <= said["move"] <= 1 and max(said["bounds"]) <= 0)

    def test_equalities_have_a_tolerance(self):
        made = result("run", EXAMPLES / "dispatch.tacit", *PROMISE, "--mechanism", "laplace", "--seeds", 20, "--feasible",
                      "always")
        for run in made["runs"]:
            self.assertTrue(run["feasibility"]["certain"])
            self.assertGreater(max(run["feasibility"]["bounds"]), 0)  # the equality's
            self.assertLessEqual(run["final"]["max_violation"], max(run["feasibility"]["bounds"]))

    def test_a_plan_prices_it(self):
        words = ("plan", EXAMPLES / "num.tacit", *PROMISE, "--mechanism", "gaussian")
        plain, made = result(*words), result(*words, "--feasible", "always")
        self.assertNotIn("last_round", plain)
        self.assertNotEqual(plain["hash"], made["hash"])
        last = made["last_round"]
        self.assertEqual(len(last["systems"]), 6)
        self.assertTrue(0 < last["delta"] < 1e-6 and 0 < last["share"] < 1)
        for system in last["systems"]:
            self.assertGreaterEqual(system["bound"], last["cut"] * system["scale"])
        everybody = [observer["epsilon"] for observer in made["observers"]]
        self.assertTrue(all(0.99 < epsilon <= 1 for epsilon in everybody))
        shared = result(*words, "--feasible", "always:0.2")["last_round"]
        self.assertEqual(shared["share"], 0.2)
        self.assertLess(shared["mu"], last["mu"])
        text = tacit(*words, "--feasible", "always").stdout
        self.assertIn("last round", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))
        self.assertTrue(any("last round" in line for line in tacit("run", *words[1:], "--seed", 1, "--feasible", "always",
                                                                   "--card").stdout.splitlines()))

    def test_words(self):
        words = ("run", EXAMPLES / "paper.tacit", *PROMISE, "--mechanism", "laplace", "--feasible", "always")
        text = " ".join(tacit(*words, "--seeds", 4).stdout.split())
        self.assertIn("4 of 4 results satisfy all constraints. What was released shows it, with certainty, of 4; of these 4 "
                      "do.", text)
        self.assertIn("states after 200 rounds, averaged and moved (", tacit(*words, "--seed", 1).stdout)

    def test_a_slater_point_on_a_limit_is_refused_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "edge.tacit"
            path.write_text("agents a[i in 1..3] {\n state x in [0, 6]\n private minimize x^2\n gap 40\n slater x = 1\n}\n"
                            "constraint wide: sum(a: x) <= 9\nconstraint edge: sum(a: x) <= 3\ndual radius 10\n")
            done = tacit("plan", path, *PROMISE, "--mechanism", "gaussian", "--feasible", "always")
            self.assertEqual(done.returncode, 2)
            self.assertIn("constraint edge strictly: declare one that", " ".join((done.stderr + done.stdout).split()))

    def test_laplace_noise_has_a_delta_then(self):
        made = result("plan", EXAMPLES / "num.tacit", *PROMISE, "--mechanism", "laplace", "--feasible", "always")
        self.assertEqual({observer["delta"] for observer in made["observers"]}, {1e-6})

    def test_units(self):
        for unit in ("ensemble:0.1", "agent", "agent:0.5"):
            made = result("run", EXAMPLES / "num.tacit", "--epsilon", 1, "--delta", "1e-6", "--rounds", 200, "--adjacency",
                          unit, "--mechanism", "gaussian", "--seed", 1, "--feasible", "always")
            self.assertTrue(made["feasibility"]["certain"], unit)
            self.assertEqual(made["final"]["max_violation"], 0)

    def test_budgets_count_it(self):
        """Each run costs its plan's epsilon and delta, bounds and all; sums are at the budget's delta."""
        for mechanism, allowed in (("laplace", 3), ("gaussian", 9)):
            with self.subTest(mechanism=mechanism), tempfile.TemporaryDirectory() as folder:
                words = (EXAMPLES / "num.tacit", *PROMISE, "--mechanism", mechanism, "--feasible", "always", "--ledger",
                         f"{folder}/spent")
                alone = result("plan", *words, "--budget", "1:1e-6")
                self.assertTrue(alone["within_budget"])
                self.assertFalse(result("plan", *words, "--budget", "1:1e-8")["within_budget"])
                self.assertFalse(result("plan", *words, "--budget", "0.98:1e-6")["within_budget"])
                budget = ("--budget", "3.2:5e-6")
                done = [tacit("run", *words, *budget).returncode for _ in range(allowed + 1)]
                self.assertEqual(done, [0] * allowed + [1])
                ledger = result("plan", *words)["ledger"]
                spent = ledger["spent"][0]
                self.assertTrue(spent["priced"] and spent["not_converted"] == 0)
                self.assertEqual(spent["runs"], allowed)
                self.assertTrue(0 < spent["delta_of_bounds"] <= spent["delta"] < 1)
                lines = pathlib.Path(folder, "spent").read_text().splitlines()
                self.assertTrue(all(line.startswith('{"tacit_ledger":4,') for line in lines))

    def test_refusals(self):
        paper, num = EXAMPLES / "paper.tacit", EXAMPLES / "num.tacit"
        with tempfile.TemporaryDirectory() as folder:
            for words, why in (
                (("plan", num, *PROMISE, "--feasible", "sometimes"), "always, or always:S"),
                (("plan", num, *PROMISE, "--feasible", "always:1"), "always, or always:S"),
                (("plan", num, "--epsilon", 1, "--adjacency", "one:1", "--mechanism", "laplace", "--feasible", "always"),
                 "needs a delta"),
                (("run", paper, *PROMISE, "--mechanism", "gaussian", "--method", "published", "--feasible", "always"),
                 "--method tacit"),
                (("run", num, "--mechanism", "none", "--rounds", 100, "--feasible", "always"), "--mechanism none"),
                (("plan", num, *PROMISE, "--mechanism", "laplace", "--feasible", "always", "--ledger",
                  f"{folder}/ledger", "--budget", 4), "runs with --feasible always cost a delta: write --budget 4:1e-6"),
                (("plan", num, *PROMISE, "--mechanism", "gaussian", "--feasible", "always", "--on-late", "hold",
                  "--most-holds", 1), "used again (--on-late hold)"),
                (("bound", num, *PROMISE, "--mechanism", "gaussian", "--feasible", "always"), "--feasible"),
            ):
                with self.subTest(words=words):
                    done = tacit(*words)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(why, " ".join((done.stderr + done.stdout).split()))


if __name__ == "__main__":
    unittest.main()
