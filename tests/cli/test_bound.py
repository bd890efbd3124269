"""`tacit bound` as a person or a script meets it: what it says where it is vacuous, exit codes, JSON."""
# labels: long not-asan not-clang
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
EXAMPLES = sorted((SOURCE / "examples").glob("*.tacit"))
PAPER = str(SOURCE / "examples/paper.tacit")
EV = str(SOURCE / "examples/ev.tacit")

TINY = """agent a {
  state x in [-1, 1]
  private minimize (x - 0.6)^2
}
constraint c: a.x <= 0.5
dual radius 1
privacy { mechanism laplace; epsilon 20; adjacency 1 }
schedule { alpha 0.5 k^-0.1; gamma 0.5 k^-0.6; rounds 2000 }
"""


def tacit(*arguments):
    return subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=1200)


class Bound(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tiny = self.problem(TINY)

    def problem(self, text, name="tiny.tacit"):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return str(path)

    def bound(self, *arguments, code):
        done = tacit("bound", *arguments, "--json")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def refused(self, words, *arguments):
        done = tacit("bound", *arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_it_is_about_the_published_method(self):
        self.refused("the theorem is about the published method", self.tiny, "--method", "tacit")
        self.refused("docs/proofs/method.md, section 6", self.tiny, "--method", "tacit")
        self.refused("the margin", self.tiny, "--margin", "0.1")
        self.assertEqual(tacit("bound", self.tiny).stdout, tacit("bound", self.tiny, "--method", "published").stdout)

    def test_where_an_assumption_fails_nothing_is_known_of_xi(self):
        for name, text in (("not convex", TINY.replace("c: a.x <=", "c: -a.x^2 <=")),
                           ("infeasible", TINY.replace("<= 0.5", "<= -2"))):
            with self.subTest(name):
                path = self.problem(text, "bad.tacit")
                done = tacit("bound", path)
                self.assertEqual(done.returncode, 1)
                self.assertIn("theorem does not apply", " ".join(done.stdout.split()))
                self.assertNotIn("of optimal", done.stdout)
                self.assertNotIn("tends to", done.stdout)
                facts = self.bound(path, code=1)
                self.assertEqual((facts["applies"], facts["gap"], facts["vacuous"]), (False, None, True))

    def test_a_radius_that_leaves_the_solution_out_is_warned_of(self):
        small, large = (self.problem(TINY.replace("dual radius 1", f"dual radius {radius}"), f"r{radius}.tacit")
                        for radius in ("0.1", "0.3"))  # the multiplier is 0.2
        done = tacit("bound", small)
        self.assertIn("more than the dual radius of 0.1", done.stderr)
        self.assertIn("does not tend to the solution", " ".join(done.stdout.split()))
        self.assertNotIn("of optimal", done.stdout)
        facts = json.loads(tacit("bound", small, "--json").stdout)
        self.assertEqual((facts["outside_dual_radius"], facts["gap"]), (True, None))
        done = tacit("bound", large)
        self.assertEqual(done.stderr, "")
        self.assertIn("of optimal", " ".join(done.stdout.split()))
        self.assertIs(json.loads(tacit("bound", large, "--json").stdout)["outside_dual_radius"], False)

    def test_the_papers_example_is_vacuous_and_its_first_valid_round_is_astronomical(self):
        for options in ((), ("--calibration", "published"), ("--mechanism", "gaussian"), ("--mechanism", "none")):
            facts = self.bound(PAPER, *options, code=1)
            with self.subTest(options=options):
                self.assertTrue(facts["vacuous"] and facts["published"]["vacuous"])
                self.assertTrue(all(c["holds"] for c in facts["conditions"]))
                self.assertEqual(len(facts["conditions"]), 4)
                # (0.1 L_G^2)^(1/0.22), and half of it with L_J, up to terms that have died out by then
                constants = facts["constants"]
                self.assertAlmostEqual(facts["published"]["valid_from_log10"],
                                       math.log10(0.1 * constants["L_G"] ** 2) / 0.22, 2)
                self.assertAlmostEqual(facts["valid_from_log10"],
                                       math.log10(0.05 * constants["L_J"] ** 2) / 0.22, 2)
                self.assertEqual(facts["estimate"]["probability"], 0)

    def test_vacuous_is_the_first_word_where_it_is_so_and_absent_where_it_is_not(self):
        text = tacit("bound", PAPER).stdout
        self.assertTrue(text.startswith("vacuous: "), text)
        self.assertIn("10^10.1", text.splitlines()[1])
        text = tacit("bound", self.tiny).stdout
        self.assertTrue(text.startswith("After 2000 rounds"), text)
        self.assertNotIn("vacuous", text)

    def test_a_bound_that_says_something_answers_yes(self):
        facts = self.bound(self.tiny, code=0)
        self.assertFalse(facts["vacuous"])
        self.assertIsNone(facts["because"])
        self.assertLess(facts["estimate"]["expected_squared_error"], 0.01 * facts["constants"]["D_z"] ** 2)

    def test_a_condition_that_fails_is_named_and_answers_no(self):
        facts = self.bound(self.tiny, "--c1", "0.5", "--c2", "0.6", code=1)
        self.assertEqual([c["holds"] for c in facts["conditions"]], [False, True, True, False])
        self.assertEqual(facts["conditions"][3]["inequality"], "c1 + c2 < 1 or c1 = 0")
        self.assertIsNone(facts["estimate"]["radius_forever"])
        text = tacit("bound", self.tiny, "--c1", "0.5", "--c2", "0.6").stdout
        self.assertEqual(text.count("FAILS"), 3)  # two conditions and the sum
        facts = self.bound(self.tiny, "--c1", "0", code=1)  # approaches a fixed regularised problem, provably
        self.assertEqual([c["holds"] for c in facts["conditions"]], [True, True, False, True])
        self.assertFalse(facts["vacuous"])
        self.assertIn("But a condition for convergence FAILS", " ".join(tacit("bound", self.tiny, "--c1", "0").stdout.split()))
        self.assertEqual([c["holds"] for c in self.bound(self.tiny, "--c1", "0.6", "--c2", "0.3", code=1)["conditions"]],
                         [True, False, True, True])

    def test_noise_that_the_theorem_does_not_cover_is_refused(self):
        curved = self.problem(TINY.replace("a.x <= 0.5", "exp(a.x) <= 2"), "curved.tacit")
        done = tacit("bound", curved, "--placement", "states")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("its noise is on outputs", done.stderr)
        self.assertTrue(self.bound(curved, code=0)["applies"])

    def test_a_schedule_without_steps_is_refused(self):
        bare = self.problem(TINY.replace("alpha 0.5 k^-0.1; gamma 0.5 k^-0.6; ", ""), "bare.tacit")
        self.refused("the published method, which takes its steps from there", bare)

    def test_the_columns_of_the_table_stand_below_each_other(self):
        lines = tacit("bound", self.tiny).stdout.split("the bound ")[1].split("\n\n")[0].splitlines()
        self.assertEqual(len({len(line) for line in lines[1:]}), 1, lines)

    def test_every_example_gets_an_answer_that_fits_eighty_columns(self):
        for example in EXAMPLES:
            if example.name == "lasso.tacit":  # see the next test
                continue
            done = tacit("bound", str(example), *(("--adjacency", "agent") if example.name == "ev.tacit" else ()))
            with self.subTest(example=example.name):
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertEqual([l for l in done.stdout.splitlines() if len(l) > 80], [])

    def test_what_goes_with_the_other_method_sends_nobody_there(self):
        """`bound` refuses method tacit, so it must not ask for it."""
        for options in ((str(EV),), (self.tiny, "--placement", "states"), (self.tiny, "--feasible", "always")):
            done = tacit("bound", *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn("the theorem is about the published method", " ".join(done.stderr.split()))
            self.assertNotIn("goes with --method tacit", done.stderr)

    def test_objectives_with_kinks_are_refused(self):
        lasso = next(example for example in EXAMPLES if example.name == "lasso.tacit")
        steps = ["--gamma-bar", "0.01", "--c2", "0.52", "--alpha-bar", "0.1", "--c1", "0.3"]
        self.refused("Assumption 1", str(lasso), *steps)

    def test_what_hides_a_whole_agent_says_nothing_of_longer_runs(self):
        self.assertIsNone(self.bound(EV, "--adjacency", "agent", code=1)["informative_from"])

    def test_wrong_use_is_refused(self):
        self.refused("wants", self.tiny, "--epsilon", "zero")
        bare = self.problem(TINY.replace("schedule { alpha 0.5 k^-0.1; gamma 0.5 k^-0.6; rounds 2000 }\n", ""), "bare.tacit")
        self.refused("the step: add", bare)
        tacit("split", self.tiny, "-o", self.folder.name + "/parts")
        cloud = next(pathlib.Path(self.folder.name, "parts").glob("cloud*"))
        self.refused("whole problem", str(cloud))


if __name__ == "__main__":
    unittest.main()
