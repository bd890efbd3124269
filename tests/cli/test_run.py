"""`tacit run` as a person or a script meets it: what is printed and when, outcomes, files, and that runs repeat."""
# labels: not-clang
import fcntl
import json
import math
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import numpy

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
EXAMPLES = sorted((SOURCE / "examples").glob("*.tacit"))
PAPER = str(SOURCE / "examples/paper.tacit")
EV = str(SOURCE / "examples/ev.tacit")

PAIR = """agent left {
  state x in [0, 4]
  private minimize (x - 3)^2
}
agent right {
  state x in [0, 4]
  private minimize (x - 3)^2
}
constraint shared: left.x + right.x <= 4
"""
RADIUS = "dual radius 10\n"
PRIVACY = "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\n"
SCHEDULE = "schedule { alpha 0.001; gamma 0.05 k^-0.51; rounds 400 }\n"
WHOLE = PAIR + RADIUS + PRIVACY + SCHEDULE


def tacit(*arguments, **options):
    return subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=1200, **options)


def run(*arguments, code=0):
    done = tacit("run", *arguments, "--json")
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} of {arguments}: {done.stderr}{done.stdout[:500]}")
    return json.loads(done.stdout)


def without_times(answer):
    """All that must not depend on the clock, on threads, or on how the command was typed."""
    if isinstance(answer, dict):
        return {k: without_times(v) for k, v in answer.items() if k not in ("seconds", "times", "threads")}
    return [without_times(v) for v in answer] if isinstance(answer, list) else answer


class Written(unittest.TestCase):
    """Problems written for one test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)
        self.whole = self.problem(WHOLE)

    def problem(self, text, name="problem.tacit"):
        path = self.here / name
        path.write_text(text)
        return str(path)

    def refused(self, code, message, *arguments):
        done = tacit("run", *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(message, " ".join(done.stderr.split()))


def published_steps(rounds):
    """The states after each round of WHOLE by the published recursion, without noise."""
    x, mu = numpy.zeros(2), 0.0
    yield x, mu
    for k in range(1, rounds + 1):
        gamma, alpha = 0.05 * k ** -0.51, 0.001
        direction = 2 * (x - 3) + mu + alpha * x
        excess = x.sum() - 4
        x = numpy.clip(x - gamma * direction, 0, 4)
        mu = min(max(mu + gamma * (excess - alpha * mu), 0), 10)
        yield x, mu


class Methods(Written):
    METHODS = ("published", "tacit")

    def test_each_gives_the_keys_of_the_contract(self):
        for method in self.METHODS:
            answer = run(PAPER, "--rounds", "300", "--seeds", "2", "--method", method)
            self.assertEqual((answer["method"], answer["plan"]["method"], answer["margin"]), (method, method, None))
            self.assertLessEqual({"rounds", "seconds", "final", "checkpoints", "x", "mu", "plan", "runs", "summary"},
                                 set(answer))
            text = " ".join(tacit("run", self.whole, "--method", method, "--rounds", "5").stdout.split())
            self.assertIn(f"laplace noise, {method} method", text)

    def test_the_published_one_is_the_recursion_of_the_paper(self):
        answer = run(self.whole, "--method", "published", "--mechanism", "none", "--rounds", "200")
        rows = {row["k"]: row for row in answer["checkpoints"]}
        for k, (x, mu) in enumerate(published_steps(200)):
            if k in rows:
                self.assertAlmostEqual(rows[k]["x_error"], numpy.linalg.norm(x - 2), places=5)
                self.assertAlmostEqual(rows[k]["mu_error"], abs(mu - 2), places=5)
        self.assertGreater(len(rows), 5)

    def test_the_answer_of_tacit_is_an_average(self):
        published, tacit_run = (run(self.whole, "--method", method, "--seed", "3") for method in self.METHODS)
        self.assertNotEqual(published["mu"], tacit_run["mu"])
        text = {method: tacit("run", self.whole, "--method", method).stdout for method in self.METHODS}
        self.assertIn("states after 400 rounds, averaged over them", text["tacit"])
        self.assertNotIn("averaged", text["published"])

    def test_tacit_comes_nearer_at_the_same_price(self):
        finals = {}
        for method in self.METHODS:
            answer = run(PAPER, "--rounds", "2000", "--seeds", "4", "--method", method)
            finals[method] = answer["final"]
            self.assertAlmostEqual(max(o["epsilon"] for o in answer["plan"]["observers"]), 0.6931471805599453, places=9)
        for error in ("x_error", "mu_error"):
            self.assertLess(4 * finals["tacit"][error], finals["published"][error])

    def test_tacit_needs_no_steps_in_the_file(self):
        path = self.problem(PAIR + RADIUS + PRIVACY)
        self.assertEqual(run(path, "--method", "tacit", "--rounds", "7")["rounds"], 7)
        self.refused(2, "--rounds", path, "--method", "tacit")
        self.refused(2, "--gamma-bar would change nothing: method tacit sets its steps itself", path, "--rounds", "7", "--gamma-bar",
                     "0.1")
        self.refused(2, "--gamma-bar", path, "--method", "published", "--rounds", "7")

    def test_where_it_is_not_expected_to_do_well_it_says_so(self):
        answer = run(self.whole, "--method", "tacit", "--rounds", "5")
        self.assertGreater(len(answer["warnings"]), 0)
        done = tacit("run", self.whole, "--method", "tacit", "--rounds", "5")
        self.assertIn("warning: " + answer["warnings"][0], " ".join(done.stdout.split()))
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_a_margin_moves_the_answer_away_from_the_limit(self):
        free = ("--method", "tacit", "--mechanism", "none", "--rounds", "2000")
        for amount in (0.0, 0.25):
            answer = run(self.whole, *free, "--margin", str(amount))
            self.assertAlmostEqual(answer["g"][0], -amount, delta=2e-3)
        self.assertEqual(answer["margin"], {"kind": "given", "amount": 0.25})
        self.assertIn("margin 0.25", " ".join(tacit("run", self.whole, *free, "--margin", "0.25").stdout.split()))
        trace = self.here / "margin.csv"
        run(self.whole, "--method", "tacit", "--margin", "0.25", "--trace", str(trace))
        self.assertIn("# fact: margin = 0.25\n", trace.read_text())

    def test_feasibility_is_judged_from_what_was_released(self):
        common = ("--method", "tacit", "--rounds", "2000")
        answer = run(self.whole, *common, "--seeds", "20", "--margin", "auto")
        self.assertEqual(answer["margin"], {"kind": "auto", "probability": 0.95, "moves": False})
        judged = [one["feasibility"] for one in answer["runs"]]
        self.assertTrue(all(j["probability"] == 0.95 and j["exact"] and j["shown"] == (max(j["bounds"]) <= 0)
                            for j in judged))
        wrong = [one["seed"] for one, j in zip(answer["runs"], judged)
                 if one["final"]["max_violation"] > max(0, *j["bounds"])]
        self.assertLessEqual(len(wrong), 4)  # more than 4 of 20 at 0.05 each: 0.3 %
        self.assertGreater(sum(j["shown"] for j in judged), 10)
        text = " ".join(tacit("run", self.whole, *common, "--seeds", "2").stdout.split())
        self.assertRegex(text, r"\d of 2 results satisfy all constraints. What was released shows it, with probability 0.95")
        self.assertIn("What was released shows: ", tacit("run", self.whole, *common).stdout)
        self.assertIsNone(run(self.whole, "--method", "published", "--seed", "1")["feasibility"])

    def test_a_result_is_moved_towards_the_slater_point(self):
        words = ("--mechanism", "gaussian", "--adjacency", "agent", "--rounds", "100", "--seed", "2", "--no-reference")
        answer = run(EV, *words, "--margin", "auto")
        self.assertEqual(answer["margin"], {"kind": "auto", "probability": 0.95, "moves": True})
        found = answer["feasibility"]
        self.assertTrue(0 < found["move"] <= 1 and found["shown"] and max(found["bounds"]) <= 0)
        self.assertEqual(answer["final"]["max_violation"], 0)
        self.assertIn(f"for that the result was moved {100 * found['move']:.3g} % of the way to the declared Slater point",
                      " ".join(tacit("run", EV, *words, "--margin", "auto").stdout.split()))
        self.assertIsNone(run(EV, *words)["feasibility"]["move"])

    def test_margins_that_make_no_sense_are_refused(self):
        self.refused(2, "a margin goes with method tacit", self.whole, "--method", "published", "--margin", "0.1")
        self.refused(2, "margin wants", self.whole, "--method", "tacit", "--margin", "wide")
        self.refused(2, "margin wants", self.whole, "--method", "tacit", "--margin", "-1")
        self.refused(2, "margin wants", self.whole, "--method", "tacit", "--margin", "auto:2")
        roomy = WHOLE.replace("^2\n", "^2\n  gap 9; slater x = 1\n").replace(RADIUS, "")
        self.assertEqual(run(self.problem(roomy), "--method", "tacit", "--margin", "1.9")["outcome"], "done")
        self.refused(2, "leaves no room in constraint shared", self.problem(roomy), "--method", "tacit", "--margin", "2")

    def test_methods_and_options_that_do_not_go_together_are_refused(self):
        self.refused(2, "--method tacit goes with --calibration tight", self.whole, "--method", "tacit", "--calibration",
                     "published")
        self.refused(2, "--method tacit", self.whole, "--method", "published", "--placement", "forms")

    def test_a_trace_says_by_which_method_it_was_made(self):
        for method, label in (("published", "laplace, tight"), ("tacit", "laplace, tacit")):
            trace = self.here / "trace.csv"
            run(self.whole, "--method", method, "--trace", str(trace))
            lines = trace.read_text().splitlines()
            self.assertIn(f"# fact: method = {method}", lines)
            self.assertIn(f"# label: {label}", lines)
            self.assertEqual(any(line.startswith("# fact: gamma") for line in lines), method == "published")

    def test_threads_change_nothing(self):
        for arguments in ((self.whole, "--seeds", "3"), (EV, "--rounds", "15", "--seed", "2", "--no-reference")):
            one, two = (without_times(run(*arguments, "--method", "tacit", "--threads", n)) for n in ("1", "3"))
            self.assertEqual(one, two)


class Answers(Written):
    def test_every_example_gives_the_keys_of_the_contract(self):
        for example in EXAMPLES:
            answer = run(str(example), "--rounds", "20")
            self.assertEqual((answer["outcome"], answer["reason"], answer["rounds"]), ("done", None, 20))
            self.assertIs(answer["guarantee"]["private"], True)
            self.assertEqual(answer["label"], "simulation: not released")
            for key in ("x_error", "mu_error", "objective", "max_violation"):
                self.assertIsInstance(answer["final"][key], (int, float))
            ks = [c["k"] for c in answer["checkpoints"]]
            self.assertEqual(ks, [0, 1, 2, 5, 10, 20])
            self.assertEqual(answer["checkpoints"][-1], answer["final"])
            self.assertEqual(len(answer["mu"]), len(answer["constraints"]))
            self.assertEqual(answer["plan"]["rounds"], 20)
            self.assertLessEqual({"systems", "observers", "unit", "placement", "private"}, set(answer["plan"]))
            self.assertIn("promise", answer["card"])
            self.assertEqual(set(answer["times"]), {"load", "analyse", "solve", "run", "compare"})
            self.assertEqual(answer["times"]["run"], answer["seconds"])

    def test_errors_are_distances_to_what_solve_finds(self):
        solution = json.loads(tacit("solve", PAPER, "--json").stdout)
        answer = run(PAPER, "--rounds", "300", "--seed", "1")
        x = numpy.concatenate([numpy.subtract(answer["x"][a], solution["x"][a]) for a in solution["x"]])
        self.assertAlmostEqual(numpy.linalg.norm(x), answer["final"]["x_error"], places=6)
        mu = numpy.subtract(answer["mu"], solution["mu"])
        self.assertAlmostEqual(numpy.linalg.norm(mu), answer["final"]["mu_error"], places=6)

    def test_objective_and_violation_are_those_of_the_states(self):
        for seed in range(1, 6):
            answer = run(self.whole, "--seed", str(seed), "--epsilon", "0.05")
            (left,), (right,) = answer["x"]["left"], answer["x"]["right"]
            self.assertAlmostEqual(answer["final"]["objective"], (left - 3) ** 2 + (right - 3) ** 2, places=9)
            self.assertAlmostEqual(answer["g"][0], left + right - 4, places=9)
            self.assertAlmostEqual(answer["final"]["max_violation"], max(0, left + right - 4), places=9)

    def test_without_noise_it_converges(self):
        answer = run(self.whole, "--mechanism", "none", "--rounds", "20000")
        self.assertLess(answer["final"]["x_error"], 5e-3)
        self.assertLess(answer["final"]["mu_error"], 5e-3)
        self.assertIs(answer["guarantee"]["private"], False)

    def test_without_a_reference_there_are_no_errors(self):
        answer = run(self.whole, "--no-reference")
        self.assertIsNone(answer["final"]["x_error"])
        self.assertIsNone(answer["reference"])
        self.assertEqual(answer["times"]["solve"], 0)
        self.assertIsInstance(answer["final"]["objective"], float)

    def test_a_problem_without_constraints_runs(self):
        path = self.problem("agent a { state x in [0, 4]; private minimize (x - 3)^2 }\n" + SCHEDULE)
        answer = run(path, "--mechanism", "none", "--rounds", "2000")
        self.assertLess(answer["final"]["x_error"], 1e-2)
        self.assertEqual(answer["mu"], [])

    def test_text_fits_and_labels_what_is_not_released(self):
        for arguments in ((PAPER,), (PAPER, "--seeds", "3"), (EV, "--no-reference")):
            done = tacit("run", *arguments, "--rounds", "60")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
            for heading in re.findall(r"^(?:checkpoints|compared|states|constraints:|after \d).*$", done.stdout, re.MULTILINE):
                self.assertIn("simulation: not released", heading)
            self.assertIn("GUARANTEE", done.stdout)
        self.assertIn("... and 990 more; --full shows all", done.stdout)
        self.assertNotIn("--full", tacit("run", EV, "--rounds", "5", "--full", "--no-reference").stdout)

    def test_the_table_has_its_documented_columns(self):
        text = tacit("run", PAPER, "--rounds", "100").stdout
        lines = text.split("not released)\n")[1].splitlines()
        self.assertEqual(re.split(r"\s{2,}", lines[0].strip()),
                         ["round", "x error", "mu error", "objective", "max violation"])
        rows = [line.split() for line in lines[1:lines.index("")]]
        self.assertEqual([int(r[0]) for r in rows], [0, 1, 2, 5, 10, 20, 50, 100])
        self.assertTrue(all(len(r) == 5 for r in rows))


DISPATCH = """agents gen[i in 1..5] {
  state p in [0, 10]
  private minimize (0.1 + i / 50) * p^2 + p
  gap 60;  slater p = 5 within 2
}
constraint balance: sum(gen: p) == 25
constraint line: gen[1].p + gen[2].p <= 16
""" + PRIVACY + SCHEDULE


class Equalities(Written):
    def setUp(self):
        super().setUp()
        self.dispatch = self.problem(DISPATCH, "dispatch.tacit")

    def test_both_methods_find_the_price_of_the_demand(self):
        for method, rounds in (("tacit", "4000"), ("published", "400000")):
            answer = run(self.dispatch, "--method", method, "--mechanism", "none", "--rounds", rounds)
            self.assertEqual((answer["constraints"], answer["equalities"]), (["balance", "line"], ["balance"]))
            self.assertEqual(answer["plan"]["equalities"], ["balance"])
            self.assertEqual(answer["dual_radius"]["origin"], "gaps")
            self.assertTrue(300 / (5 * 2) <= answer["dual_radius"]["value"] <= 300 / (16 - 14))
            self.assertLess(answer["mu"][0], -2)
            self.assertLess(answer["final"]["x_error"], 0.02)
            self.assertEqual(answer["final"]["max_violation"], max(0, abs(answer["g"][0]), answer["g"][1]))

    def test_the_verdict_gives_a_tolerance(self):
        answer = run(self.dispatch, "--seed", "1", "--margin", "auto:0.9")
        found = answer["feasibility"]
        self.assertEqual((found["probability"], found["exact"], found["shown"]), (0.9, True, found["bounds"][1] <= 0))
        self.assertGreater(found["bounds"][0], 0)
        text = " ".join(tacit("run", self.dispatch, "--seed", "1", "--margin", "auto:0.9").stdout.split())
        self.assertIn("and values g <= 0 or g == 0", text)
        self.assertRegex(text, r"balance -[0-9.]+ [-0-9.e]+ == 0")
        self.assertIn(f"What was released shows: balance off by at most {found['bounds'][0]:.3g} of ", text)
        self.assertIn(", with probability 0.9.", text)
        self.assertEqual(found["sentence"] in text, True)

    def test_of_many_runs_as_many_as_stated_are_within_it(self):
        text = " ".join(tacit("run", self.dispatch, "--seeds", "20").stdout.split())
        kept = re.search(r"(\d+) of 20 results keep every equality to within the tolerance that what was released gives it, with "
                         r"probability 0.95", text)
        self.assertGreaterEqual(int(kept[1]), 14)  # fewer: one choice of seeds in 10^4
        alone = self.problem(DISPATCH.replace("constraint line: gen[1].p + gen[2].p <= 16\n", ""), "alone.tacit")
        text = " ".join(tacit("run", alone, "--seed", "1").stdout.split())
        self.assertRegex(text, r"What was released shows: balance off by at most [0-9.e-]+ of [0-9]+, with probability 0.95\.")

    def test_a_trace_and_its_page_say_which_rows_are_equalities(self):
        trace, page = self.here / "t.csv", self.here / "t.html"
        self.assertEqual(tacit("run", self.dispatch, "--seeds", "3", "--trace", str(trace), "--report", str(page)).returncode, 0)
        self.assertIn("# equality: balance\n", trace.read_text())
        again = self.here / "again.html"
        self.assertEqual(tacit("report", str(trace), "-o", str(again)).returncode, 0)
        for html in (page.read_text(), again.read_text()):
            self.assertIn("an equality</td>", html)
            self.assertIn("of equalities at zero", html)


class Many(Written):
    def test_quantiles_are_those_of_numpy(self):
        answer = run(self.whole, "--seeds", "9", "--seed", "4")
        self.assertEqual([r["seed"] for r in answer["runs"]], list(range(4, 13)))
        self.assertIs(answer["guarantee"]["private"], False)
        for key in ("x_error", "mu_error", "objective", "max_violation"):
            for summary, values in ((answer["summary"], [r["final"][key] for r in answer["runs"]]),
                                    (answer["summary"]["half"], [next(c[key] for c in r["checkpoints"] if c["k"] == 200)
                                                                 for r in answer["runs"]])):
                expected = numpy.quantile(values, [0, 0.1, 0.5, 0.9, 1])
                found = [summary[key][q] for q in ("min", "q10", "median", "q90", "max")]
                numpy.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
        self.assertEqual(answer["summary"]["half"]["k"], 200)
        self.assertEqual(answer["final"]["x_error"], answer["summary"]["x_error"]["median"])

    def test_medians_are_marked_as_such(self):
        many, one = run(self.whole, "--seeds", "3"), run(self.whole, "--seed", "1")
        self.assertEqual({c["of"] for c in [many["final"], *many["checkpoints"]]}, {"medians"})
        for row in (one["final"], many["runs"][0]["final"], *one["checkpoints"]):
            self.assertNotIn("of", row)

    def test_one_of_many_is_the_run_by_itself(self):
        many = run(self.whole, "--seeds", "3")
        for one in many["runs"]:
            alone = run(self.whole, "--seed", str(one["seed"]))
            self.assertEqual(one["final"], alone["final"])
            self.assertEqual(one["checkpoints"], alone["checkpoints"])
            self.assertEqual(one["mu"], alone["mu"])
        self.assertNotEqual(many["runs"][0]["final"], many["runs"][1]["final"])

    def test_states_of_every_seed_on_request(self):
        plain, many = run(self.whole, "--seeds", "3"), run(self.whole, "--seeds", "3", "--states")
        for one in many["runs"]:
            alone = run(self.whole, "--seed", str(one["seed"]))
            self.assertEqual((one.pop("x"), one.pop("g")), (alone["x"], alone["g"]))
        self.assertEqual(without_times(plain), without_times(many))

    def test_runs_repeat_on_any_number_of_threads(self):
        cases = ((self.whole, "--seeds", "5"), (PAPER, "--rounds", "200", "--seeds", "3"),
                 (EV, "--rounds", "15", "--seed", "2", "--no-reference"),
                 (EV, "--rounds", "5", "--seed", "2", "--no-reference", "--placement", "outputs"))
        for arguments in cases:
            answers = [without_times(run(*arguments, "--threads", n)) for n in ("1", "2", "3")]
            self.assertEqual(answers[0], answers[1])
            self.assertEqual(answers[0], answers[2])

    def test_fresh_noise_is_never_the_same(self):
        self.assertNotEqual(run(self.whole)["mu"], run(self.whole)["mu"])


class Warnings(Written):
    def test_a_run_that_noise_keeps_from_the_solution_says_so(self):
        for arguments in (("--epsilon", "1e-4"), ("--gamma-bar", "1e300")):
            for seeds in ("--seed", "--seeds"):
                answer = run(self.whole, *arguments, seeds, "3", "--method", "published")
                self.assertEqual(sum("hardly approached the solution" in w for w in answer["warnings"]), 1)
        text = tacit("run", self.whole, "--epsilon", "1e-4", "--seed", "3", "--method", "published").stdout
        self.assertIn("hardly approached the solution", " ".join(text.split()))

    def test_a_run_that_approaches_it_does_not(self):
        self.assertEqual(run(self.whole, "--epsilon", "100", "--seed", "3")["warnings"], [])
        [warning] = run(self.whole, "--mechanism", "none", "--rounds", "1", "--method", "published")["warnings"]
        self.assertIn("NOT CONVERGED", warning)  # which is the method's, and not of noise


class Words(Written):
    """Which constraints hold, as a person reads it once."""

    ROWS = """agents home[i in 1..4] {
  state p in [0, 2000]
  private minimize (p - 1000 * i)^2
}
constraint most: sum(home: p) <= 2020
constraint least: home[1].p >= 3000
constraint exactly: home[1].p - home[2].p == 7
constraint bare: home[3].p - home[4].p <= 0
constraint easy: home[1].p + home[2].p <= 1e6
constraint easier: home[1].p <= 1e6
dual radius 1e9
schedule { rounds 3 }
"""

    def words(self, g):
        """Of the rows above, in plain Python: the three largest, and how many others."""
        limits = {"most": "2,020", "least": "3,000", "exactly": "7", "bare": None, "easy": "1,000,000", "easier": "1,000,000"}
        verbs = {"least": "short", "exactly": "off"}
        amounts = [(abs(v) if name == "exactly" else v, name) for name, v in zip(limits, g)]
        broken = sorted(((a, n) for a, n in amounts if a > 1e-3), reverse=True)
        said = [f"{n} {verbs.get(n, 'over')} by {f'{a:,.0f}' if a >= 1000 else f'{a:.3g}'}"
                + (f" of {limits[n]}" if limits[n] else "") for a, n in broken]
        rest = len(g) - len(broken)
        end = "" if rest == 0 else "; the other one holds" if rest == 1 else "; all others hold"
        if not said:
            return f"all {len(g)} constraints hold"
        if len(said) > 3:
            others = len(said) - 3
            return ", ".join(said[:3]) + f" and {others} other{'s' if others > 1 else ''} by less" + end
        return (", ".join(said[:-1]) + " and " if len(said) > 1 else "") + said[-1] + end

    def test_they_name_rows_amounts_and_limits(self):
        seen = set()
        for rounds in ("1", "2", "3", "50"):
            answer = run(self.problem(self.ROWS), "--mechanism", "none", "--rounds", rounds, code=1)
            self.assertEqual(answer["true_feasibility"], self.words(answer["g"]))
            seen |= set(re.findall(r"over|short|off|of 2,020|of 3,000", answer["true_feasibility"]))
        self.assertLessEqual({"short", "over", "off"}, seen)

    def test_one_row_is_called_by_its_name(self):
        self.assertEqual(run(self.whole, "--mechanism", "none", "--rounds", "1")["true_feasibility"], "shared holds")

    def test_what_was_released_says_at_most_and_how_sure(self):
        answer = run(self.whole, "--seed", "1")
        [bound], sentence = answer["feasibility"]["bounds"], answer["feasibility"]["sentence"]
        self.assertEqual(sentence, f"shared over by at most {bound:.3g} of 4, with probability 0.95" if bound > 0
                         else "shared holds, with probability 0.95")


class Refusals(Written):
    def test_seeds_that_are_no_exact_numbers(self):
        last = ("--seed", "9007199254740992")
        self.refused(2, "begin lower", self.whole, *last, "--seeds", "3")
        self.assertEqual(run(self.whole, *last, "--seeds", "1")["runs"][0]["seed"], 2 ** 53)

    def test_options_that_make_no_sense(self):
        self.refused(2, "--budget wants --ledger FILE", self.whole, "--budget", "1")
        self.refused(2, "--budget wants a positive number", self.whole, "--budget", "-1", "--ledger", "x")
        self.refused(2, "--trace-all wants --trace FILE.csv", self.whole, "--trace-all")
        self.refused(2, "from 1 to 1000000", self.whole, "--seeds", "0")

    def test_a_schedule_with_something_missing_says_what(self):
        path = self.problem(PAIR + RADIUS + PRIVACY)
        published = ("--method", "published")
        step = ("--gamma-bar", "0.1", "--c2", "0.5", "--rounds", "7")
        alpha = ("--alpha-bar", "0.1", "--c1", "0.2", "--rounds", "7")
        self.refused(2, "the step is not known: add 'gamma' to the schedule in the file, or --gamma-bar and --c2", path, *published,
                     *alpha)
        self.refused(2, "the decay of the regularization is not known: add 'alpha' to the schedule in the file, or --c1", path,
                     *published, *step, "--alpha-bar", "0.1")
        steps = (*published, "--gamma-bar", "0.1", "--c2", "0.5", "--alpha-bar", "0.1", "--c1", "0.2")
        self.refused(2, "the number of rounds is not known", path, *steps)
        self.assertEqual(run(path, *steps, "--rounds", "7")["rounds"], 7)

    def test_a_problem_without_a_point_is_named_as_such(self):
        """Not by what follows from it, a radius that cannot be."""
        options = ("--rounds", "100", "--epsilon", "1", "--adjacency", "one:1")
        for promised in "", " gap 3; slater x = 1;":
            path = self.problem(f"agent a {{ state x in [1, 2];{promised} private minimize x }}\nconstraint c: a.x <= 0\n")
            done = tacit("run", path, *options)
            said = " ".join((done.stdout + done.stderr).split())
            self.assertIn(": No point of X satisfies constraint c: at the nearest one c is missed by 1.", said)
            self.assertNotIn("add 'dual radius", said)
            self.assertNotEqual(done.returncode, 0)

    def test_an_equality_with_protected_data_gets_a_remedy_that_works(self):
        text = ("agent a {{ state x[3] in [0, 2]; private param n = 2.5; private set sum(x) == n; private minimize sumsq(x)\n"
                "range n in [1, 3]; protect n by 0.5{} }}\nconstraint c: a.x <= 1\n{}")
        options = ("--rounds", "100", "--epsilon", "1", "--mechanism", "laplace", "--adjacency", "data")
        said = " ".join(tacit("plan", self.problem(text.format("; slater x = 0.8; gap 9", "")), *options).stderr.split())
        self.assertIn("leave 'slater' and 'gap' out and write 'dual radius R'", said)
        for cannot in "narrow the ranges", "move the point":
            self.assertNotIn(cannot, said)
        self.assertEqual(tacit("plan", self.problem(text.format("", "dual radius 9")), *options).returncode, 0)

    def test_all_that_is_missing_is_named_at_once(self):
        lines = ["the number of rounds: add 'schedule { rounds 1000 }' to the file, or --rounds 1000",
                 "what to promise: add 'privacy { mechanism laplace; epsilon 1; adjacency one 1 }' to the file, or --epsilon 1 and "
                 "--adjacency one:1; --mechanism none makes no noise",
                 "the step: add 'gamma 0.01 k^-0.52' to the schedule in the file, or --gamma-bar and --c2",
                 "the regularization: add 'alpha 0.1 k^-0.3' to the schedule in the file, or --alpha-bar and --c1",
                 "a public dual radius, which keeps the multipliers bounded: add 'dual radius R' to the file, or 'gap' and 'slater' to "
                 "every agent, chosen from what everybody may know"]

        def missing(options, *numbers):
            done = tacit("run", self.problem(PAIR), *options)
            expected = [f"{len(numbers)} things are missing:", *("  " + lines[i] for i in numbers)]
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(done.stderr.splitlines(), ["tacit run: " + line for line in expected])

        missing((), 0, 1, 4)
        equal = self.problem(PAIR.replace("right.x <= 4", "right.x == 4"))
        self.refused(2, "or 'gap' and 'slater ... within r' to every agent", equal)
        missing(("--rounds", "1e2"), 1, 4)
        missing(("--mechanism", "none"), 0, 4)
        missing(("--method", "published"), 0, 1, 2, 3, 4)
        missing(("--method", "published", "--rounds", "9", "--alpha-bar", "1", "--c1", "0"), 1, 2, 4)
        self.refused(2, "epsilon: add it to the privacy block", self.problem(PAIR), "--mechanism", "gaussian", "--rounds", "9")
        self.refused(2, "the delta of Gaussian noise: add 'delta 1e-6'", self.problem(PAIR), "--mechanism", "gaussian")
        self.refused(2, "the unit of privacy: say what is to be hidden", self.problem(PAIR), "--epsilon", "1")

    def test_an_option_that_would_change_nothing_is_refused(self):
        for option, value in (("--delta", "1e-6"), ("--c1", "0.1"), ("--c2", "0.1"), ("--alpha-bar", "1"), ("--gamma-bar", "1")):
            self.refused(2, f"{option} would change nothing: ", self.whole, option, value)
        self.refused(2, "--delta would change nothing: Laplace noise keeps epsilon with delta 0; leave it out, or take --mechanism "
                        "gaussian", self.whole, "--delta", "0.1")
        self.refused(2, "--c1 and --c2 would change nothing: method tacit sets its steps itself; leave them out, or take --method "
                        "published", self.whole, "--c1", "0.1", "--c2", "0.1")
        self.refused(2, "--epsilon, --delta and --adjacency would change nothing: --mechanism none makes no noise", self.whole,
                     "--mechanism", "none", "--epsilon", "1", "--delta", "0.1", "--adjacency", "one:1")
        silent = self.problem(PAIR + RADIUS + "privacy { mechanism none }\n" + SCHEDULE)
        self.refused(2, "--epsilon would change nothing: the file's mechanism is none", silent, "--epsilon", "1")
        self.refused(2, "a margin goes with method tacit", self.whole, "--method", "published", "--margin", "0.1")
        self.refused(2, "--tolerance would change nothing", self.whole, "--no-reference", "--tolerance", "1e-6")
        done = tacit("run", self.whole, "--json", "--card")
        self.assertEqual((done.returncode, "--card would change nothing" in json.loads(done.stdout)["error"]), (2, True))
        # A file serves several commands: it may say more than one of them uses.
        richer = self.problem(PAIR + RADIUS + PRIVACY.replace("}", "; delta 0.1 }") + SCHEDULE)
        self.assertEqual(run(richer, "--rounds", "9")["rounds"], 9)

    def test_a_part_of_a_problem_is_no_problem(self):
        parts = self.here / "parts"
        self.assertEqual(tacit("split", PAPER, "-o", str(parts)).returncode, 0)
        self.refused(2, "run wants the whole problem", str(parts / "cloud.tacit"))

    def test_what_to_promise_must_be_said(self):
        path = self.problem(PAIR + RADIUS + SCHEDULE)
        done = tacit("run", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("tacit run: ", done.stderr)
        self.assertEqual(done.stderr, tacit("plan", path).stderr.replace("tacit plan", "tacit run"))

    def test_a_private_dual_radius_is_used_but_not_private(self):
        path = self.problem(PAIR + PRIVACY + SCHEDULE)
        done = tacit("run", path, "--json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("computed from private data, which no cloud could do", done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["dual_radius"]["origin"], "private")
        self.assertIs(answer["guarantee"]["private"], False)
        self.assertTrue(any("dual radius" in r for r in answer["card"]["void_reasons"]))

    def test_an_empty_set_is_an_answer(self):
        text = "agent a { state x[2] in [0, 1]; private minimize sum(x); private set sum(x) >= 3 }\n"
        path = self.problem(text + "constraint c: a.x[1] <= 0.5\ndual radius 1\n" + PRIVACY + SCHEDULE)
        answer = run(path, code=1)
        self.assertEqual((answer["outcome"], answer["rounds"]), ("refused", 0))
        self.assertIn("The set of a is empty", answer["reason"])
        done = tacit("sweep", path, "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["reason"]), (1, answer["reason"]))

    def test_what_is_not_convex_runs_with_a_warning(self):
        done = tacit("run", self.problem(WHOLE.replace("minimize (x", "minimize -(x")), "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["outcome"]), (1, "done"))
        self.assertIn("the objectives are not proved to be convex and smooth: `tacit check", done.stderr)

    def test_without_any_dual_radius_nothing_runs(self):
        text = "agent a { state x in [0, 4]; private minimize x }\nconstraint c: a.x <= -1\n"
        self.refused(2, "there is no dual radius", self.problem(text + PRIVACY + SCHEDULE))

    def test_a_slater_point_that_will_not_do_is_named(self):
        promises = PAIR.replace("^2\n", "^2\n%s  gap 9; slater x = %s\n") + PRIVACY + SCHEDULE
        for set_, point, fault in (("", "3", "does not satisfy constraint shared strictly: g = 2 there"),
                                   ("  private set x <= 1\n", "1.5", "lies outside its own set")):
            path = self.problem(promises % (set_, point, set_, point))
            answer = run(path, code=1)
            self.assertEqual((answer["outcome"], answer["rounds"]), ("refused", 0))
            self.assertIn(fault, answer["reason"])
            self.assertNotIn("add 'dual radius", answer["reason"])
            done = tacit("sweep", path, "--json")
            self.assertEqual((done.returncode, json.loads(done.stdout)["reason"]), (1, answer["reason"]))

    def test_a_dual_radius_that_excludes_the_solution_is_warned_of(self):
        done = tacit("run", self.problem(PAIR + "dual radius 0.5\n" + PRIVACY + SCHEDULE), "--json")
        self.assertEqual(done.returncode, 0)
        self.assertIn("sum to 2, more than the dual radius of 0.5", done.stderr)
        self.assertEqual(1, sum("the solution's multipliers sum to 2, more than the dual radius of 0.5" in w
                                for w in json.loads(done.stdout)["warnings"]))

    def test_one_is_not_called_many(self):
        free = ("--method", "tacit", "--mechanism", "none", "--rounds", "1")
        text = " ".join(tacit("run", self.whole, *free).stdout.split())
        self.assertIn("1 round is too few", text)
        self.assertNotIn("1 rounds", text)
        slack = "agent a { state x in [0, 4]; private minimize x^2 }\nconstraint c: a.x <= 5\ndual radius 1\n"
        text = tacit("run", self.problem(slack + PRIVACY + SCHEDULE), *free).stdout
        self.assertIn("the only one holds without a price", text)

    def test_a_run_that_diverges_says_where_and_shows_what_there_was(self):
        done = tacit("run", self.whole, "--gamma-bar", "1e308", "--c2", "0", "--alpha-bar", "1e308", "--method",
                     "published", "--json")
        answer = json.loads(done.stdout)
        self.assertEqual((done.returncode, answer["outcome"]), (1, "diverged"))
        self.assertRegex(answer["reason"], r"round \d+")
        self.assertTrue(all(math.isfinite(v) for x in answer["x"].values() for v in x))
        self.assertEqual(answer["final"]["k"], answer["rounds"])


class Ledgers(Written):
    def test_a_run_is_entered_and_an_empty_budget_refuses_the_next(self):
        ledger = str(self.here / "spent")
        first = run(self.whole, "--ledger", ledger, "--budget", "1.5")
        self.assertIs(first["recorded"], True)
        lines = pathlib.Path(ledger).read_text().splitlines()
        self.assertEqual(len(lines), 1)
        second = run(self.whole, "--ledger", ledger, "--budget", "1.5", code=1)
        self.assertEqual((second["outcome"], second["rounds"], second["final"]), ("refused", 0, None))
        self.assertEqual(second["reason"], "the budget of epsilon 1.5 does not allow it: with the 1 run in the ledger it "
                                           "would come to 2 in the unit one:1")
        self.assertIs(second["guarantee"]["private"], False)
        self.assertNotIn("card", second)
        self.assertEqual(pathlib.Path(ledger).read_text().splitlines(), lines)
        third = tacit("run", self.whole, "--ledger", ledger, "--budget", "ln(20)")
        self.assertEqual(third.returncode, 0)
        self.assertEqual(len(pathlib.Path(ledger).read_text().splitlines()), 2)
        self.assertIn("Ledger: 2 runs so far", third.stdout)

    def test_what_was_refused_is_said_in_words(self):
        done = tacit("run", self.whole, "--ledger", str(self.here / "spent"), "--budget", "0.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Refused, and nothing was run: the budget of epsilon 0.1 is too small: this run alone costs 1 "
                      "in the unit one:1, and the ledger has no run yet", " ".join(done.stdout.split()))
        self.assertNotIn("GUARANTEE", done.stdout)
        self.assertFalse((self.here / "spent").exists())

    def test_a_simulation_costs_nothing(self):
        ledger = str(self.here / "spent")
        for seed in (("--seed", "1"), ("--seeds", "2")):
            done = tacit("run", self.whole, "--ledger", ledger, *seed)
            self.assertEqual(done.returncode, 0)
            self.assertIn("nothing is entered in the ledger", done.stderr)
            self.assertIn("simulated runs are not entered", done.stdout)
            self.assertNotIn("would add", done.stdout)
        self.assertFalse(os.path.exists(ledger))

    def test_a_run_without_a_guarantee_fits_no_budget(self):
        path = self.problem(PAIR + PRIVACY + SCHEDULE)
        answer = run(path, "--ledger", str(self.here / "spent"), "--budget", "100", code=1)
        self.assertIn("no budget allows it", answer["reason"])


class Files(Written):
    def rows(self, path):
        lines = [l for l in pathlib.Path(path).read_text().splitlines() if not l.startswith("#")]
        names = lines[0].split(",")
        return [dict(zip(names, line.split(","))) for line in lines[1:]]

    def test_a_trace_has_the_numbers_of_the_run(self):
        trace = str(self.here / "t.csv")
        answer = run(self.whole, "--seed", "3", "--trace", trace)
        rows = {int(r["k"]): r for r in self.rows(trace)}
        self.assertGreater(len(rows), 2 * len(answer["checkpoints"]))
        for checkpoint in answer["checkpoints"]:
            for key in ("x_error", "mu_error", "objective", "max_violation"):
                self.assertEqual(float(rows[checkpoint["k"]][key]), checkpoint[key])
        self.assertEqual(float(rows[400]["mu[shared]"]), answer["mu"][0])
        self.assertEqual(float(rows[400]["g[shared]"]), answer["g"][0])

    def test_the_object_in_a_file_is_that_of_json(self):
        """Whole or not at all; no other file is overwritten, and text stays on standard output."""
        path = self.here / "result.json"
        answer = run(self.whole, "--seed", "3")
        for _ in range(2):
            done = tacit("run", self.whole, "--seed", "3", "--output", str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(without_times(json.loads(path.read_text())), without_times(answer))
            self.assertIn("Guarantee", done.stdout)
        self.assertEqual(path.stat().st_mode & 0o077, 0)
        self.assertEqual([other.name for other in self.here.glob("result.json*")], ["result.json"])
        text = "mine\n"
        path.write_text(text)
        self.refused(2, "--output would write over this file, which is not a JSON object", self.whole, "--output", str(path))
        self.assertEqual(path.read_text(), text)
        self.refused(2, "--trace and --output would write the same file", self.whole, "--output", "new", "--trace", "new")

    def test_a_trace_of_all_has_every_round_and_changes_nothing(self):
        trace = str(self.here / "t.csv")
        answer = run(self.whole, "--seeds", "2", "--trace", trace, "--trace-all")
        rows = self.rows(trace)
        self.assertEqual([(r["seed"], int(r["k"])) for r in rows],
                         [(s, k) for s in ("1", "2") for k in range(401)])
        self.assertEqual(without_times(answer), without_times(run(self.whole, "--seeds", "2")))

    def test_a_trace_has_states_on_request(self):
        trace, page = str(self.here / "t.csv"), self.here / "p.html"
        plain = run(self.whole, "--seeds", "2", "--trace", trace)
        without = self.rows(trace)
        answer = run(self.whole, "--seeds", "2", "--trace", trace, "--states")
        rows = self.rows(trace)
        states = ["x[left.x]", "x[right.x]"]
        self.assertEqual(list(rows[0])[-2:], states)
        self.assertEqual([{k: v for k, v in row.items() if k not in states} for row in rows], without)
        for seed in (0, 1):
            last = [row for row in rows if row["seed"] == str(seed + 1)][-1]
            self.assertEqual([float(last[name]) for name in states], sum(answer["runs"][seed]["x"].values(), []))
        self.assertEqual(plain["x"], answer["x"])
        done = tacit("report", trace, "-o", str(page))
        self.assertEqual((done.returncode, done.stdout), (0, f"{page}: 1 trace of runs\n"), done.stderr)

    def test_states_that_nobody_would_see_are_refused(self):
        for arguments in ((), ("--json",), ("--seeds", "2"), ("--report", "r.html")):
            done = tacit("run", self.whole, "--states", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--states goes with --trace FILE.csv", done.stderr)
        done = tacit("run", self.whole, "--seeds", "1000000", "--states", "--trace-all", "--trace",
                     str(self.here / "t.csv"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("GiB, and at most 2 are kept", done.stderr)

    def test_a_report_has_the_command_that_repeats_it(self):
        page = self.here / "r.html"
        done = tacit("run", self.whole, "--seeds", "3", "--report", str(page))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"tacit run {self.whole} --seeds 3", page.read_text())

    def test_a_file_that_cannot_be_written_is_found_before_anything_is_spent(self):
        for option, name in (("--trace", "t.csv"), ("--report", "r.html")):
            done = tacit("run", self.whole, "--ledger", str(self.here / "spent"), option, str(self.here / "none" / name))
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(f"none/{name}: error: cannot write: No such file", done.stderr)
        self.assertFalse((self.here / "spent").exists())


class Overwriting(Written):
    """No file of the user's is written over, and what cannot be written is found before anything is spent."""

    def kept(self, path, message, *arguments, code=2):
        before = pathlib.Path(path).read_bytes()
        done = tacit(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(pathlib.Path(path).read_bytes(), before)

    def test_inputs_are_not_written_over_by_whatever_name(self):
        again = self.here / "again.tacit"
        os.link(self.whole, again)
        for option in ("--trace", "--report"):
            for name in (self.whole, str(self.here / "." / "problem.tacit"), str(again)):
                for command in ("run", "sweep"):
                    self.kept(self.whole, "would write over the problem", command, self.whole, option, name)
        ledger = str(self.here / "spent")
        self.refused(2, "would write over the ledger", self.whole, "--ledger", ledger, "--trace", ledger)
        self.assertFalse(os.path.exists(ledger))
        run(self.whole, "--ledger", ledger)
        self.kept(ledger, "would write over the ledger", "run", self.whole, "--ledger", ledger, "--trace", ledger)

    def test_two_outputs_are_two_files(self):
        path = str(self.here / "out")
        self.refused(2, "the same file", self.whole, "--trace", path, "--report", str(self.here) + "/./out")
        self.assertFalse(os.path.exists(path))

    def test_only_a_trace_makes_way_for_a_trace_and_a_page_for_a_page(self):
        trace, page, data = self.here / "t.csv", self.here / "r.html", self.here / "data.csv"
        data.write_text("a,b\n1,2\n")
        for name in (trace, page):
            name.write_text("")
        for _ in range(2):
            self.assertEqual(tacit("run", self.whole, "--trace", trace, "--report", page).returncode, 0)
        ledger = self.here / "spent"
        for option, path, kind in (("--trace", data, "not a trace"), ("--report", data, "not an HTML page"),
                                   ("--trace", page, "not a trace"), ("--report", trace, "not an HTML page")):
            self.kept(path, kind, "run", self.whole, "--ledger", ledger, option, path)
        self.assertFalse(ledger.exists())

    def test_a_report_keeps_what_it_reads(self):
        trace = self.here / "t.csv"
        run(self.whole, "--trace", str(trace))
        self.kept(trace, "would write over a trace to be read", "report", trace, "-o", trace)
        self.kept(self.whole, "not an HTML page", "report", trace, "-o", self.whole)
        self.kept(trace, "not to standard output", "report", trace, "-o", "-")

    def test_a_report_says_what_it_wrote(self):
        trace, page = str(self.here / "t.csv"), str(self.here / "r.html")
        run(self.whole, "--trace", trace)
        done = tacit("report", trace, "-o", page)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{page}: 1 trace of runs\n", ""))

    def test_what_is_no_plain_file_is_refused_before_the_ledger_is_charged(self):
        pipe, link = self.here / "pipe", self.here / "link"
        os.mkfifo(pipe)
        os.symlink("/nowhere", link)
        for path in (self.here, pipe, link, "/dev/full"):
            for option in ("--trace", "--report"):
                done = tacit("run", self.whole, "--ledger", self.here / "spent", option, path)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"{path}: ", done.stderr)
        self.assertFalse((self.here / "spent").exists())

    @unittest.skipIf(os.geteuid() == 0, "everything may be written by root")
    def test_a_file_that_may_not_be_written_stays(self):
        trace = self.here / "t.csv"
        run(self.whole, "--trace", str(trace))
        trace.chmod(0o444)
        self.kept(trace, "Permission denied", "run", self.whole, "--trace", trace, code=3)


class Pipes(Written):
    def test_a_reader_that_leaves_costs_neither_trace_nor_ledger(self):
        trace, ledger = self.here / "t.csv", self.here / "spent"
        process = subprocess.Popen([TACIT, "run", self.whole, "--rounds", "200000", "--trace", trace, "--ledger", ledger],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(timeout=1200), errors), (3, "tacit: standard output cannot be written\n"))
        self.assertIn("\n,200000,", trace.read_text())
        self.assertEqual(len(ledger.read_text().splitlines()), 1)


class Interrupts(Written):
    def started(self, *arguments, **options):
        process = subprocess.Popen([TACIT, "run", self.whole, "--rounds", "1000000000000", *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.kill)
        return process

    def test_rows_come_as_it_goes_on_a_terminal_and_an_interrupt_shows_what_there_is(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([TACIT, "run", self.whole, "--rounds", "1000000000000"], stdout=theirs,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        os.close(theirs)
        seen = ""
        while not re.search(r"^ +1000 ", seen, re.MULTILINE):
            seen += os.read(ours, 4096).decode()
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        rest = ""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # Linux says so where the other side is gone
                break
            if not piece:
                break
            rest += piece.decode()
        os.close(ours)
        _, errors = process.communicate(timeout=1200)
        self.assertEqual(process.returncode, 3)
        self.assertIn("tacit run: interrupted: this is how far it came", errors)
        self.assertIn("states after ", rest)
        self.assertIn("interrupted: stopped on request", rest)
        self.assertIn("GUARANTEE", rest)

    def after_a_while(self, *arguments, by=signal.SIGINT):
        """What a run has printed that was interrupted after 1, 2, 4, ... s: a busy machine may do nothing in the first."""
        for seconds in (2**n for n in range(9)):
            process = self.started(*arguments)
            time.sleep(seconds)
            self.assertIsNone(process.poll())
            process.send_signal(by)
            output, errors = process.communicate(timeout=1200)
            if process.returncode == -by or output == "":  # it had not begun
                continue
            self.assertEqual(process.returncode, 3, errors)
            yield output
        self.fail("it did nothing in four minutes")

    def interrupted(self, *arguments, enough, by=signal.SIGINT):
        outputs = map(json.loads, self.after_a_while("--json", *arguments, by=by))
        return next(answer for answer in outputs if enough(answer))

    def test_an_interrupted_run_is_whole_json(self):
        answer = self.interrupted(enough=lambda answer: answer["rounds"] > 100)
        self.assertEqual((answer["outcome"], answer["reason"]), ("interrupted", "stopped on request"))
        self.assertEqual(answer["final"]["k"], answer["rounds"])
        self.assertEqual(set(answer["x"]), {"left", "right"})

    def test_terminating_is_interrupting(self):
        answer = self.interrupted(by=signal.SIGTERM, enough=lambda answer: answer["rounds"] > 100)
        self.assertEqual((answer["outcome"], answer["reason"]), ("interrupted", "stopped on request"))

    def test_what_is_not_convex_is_said_before_the_rounds(self):
        path = self.problem(WHOLE.replace("minimize (x", "minimize -(x"))
        for command in (["run", path, "--json"], ["sweep", path, "--seeds", "1000000"]):
            process = subprocess.Popen([TACIT, *command, "--rounds", "1000000000"], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            self.assertIn("the objectives are not proved to be convex and smooth", process.stderr.readline())
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=1200)
            self.assertEqual(process.returncode, 3)
            self.assertIn("interrupted", errors)  # there may be no answer yet
            self.assertNotIn("convex", errors)

    def test_many_runs_stop_together(self):
        answer = self.interrupted("--seeds", "5", "--threads", "2", enough=lambda answer: len(answer["runs"]) == 2)
        self.assertEqual(answer["outcome"], "interrupted")
        self.assertEqual(answer["reason"], "0 of 5 runs were done")
        self.assertEqual([(r["seed"], r["outcome"]) for r in answer["runs"]], [(1, "interrupted"), (2, "interrupted")])
        self.assertEqual((answer["not_begun"], answer["final"], answer["checkpoints"]), (3, None, []))

    def test_runs_that_were_not_begun_cost_nothing(self):
        trace, page = self.here / "t.csv", self.here / "r.html"
        for output in self.after_a_while("--rounds", "2000", "--seeds", "1000000", "--trace", trace, "--report", page):
            done = int(re.search(r"^interrupted: (\d+) of 1000000 runs were done$", output, re.MULTILINE)[1])
            if done > 0:
                break
        rows = [l for l in trace.read_text().splitlines() if not l.startswith("#")]
        self.assertEqual(len({l.split(",")[0] for l in rows if l.split(",")[1] == "2000"}), done)
        self.assertIn(" of 1000000 runs were not begun", page.read_text())

    def test_no_tables_where_no_run_was_finished(self):
        output = next(self.after_a_while("--seeds", "5"))
        self.assertIn("\nNo run was finished.\n", output)
        self.assertNotIn("median", output)


class Progress(Written):
    def on_a_terminal(self, *arguments, columns=80):
        """Standard error as a terminal sees it, and standard output."""
        above, below = pty.openpty()
        fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.addCleanup(os.close, above)
        process = subprocess.Popen([TACIT, "run", self.whole, "--rounds", "1000000000000", *arguments],
                                   stdout=subprocess.PIPE, stderr=below, text=True)
        self.addCleanup(process.kill)
        os.close(below)
        shown = ""
        while "rounds/s" not in shown:
            shown += os.read(above, 4096).decode()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=1200)
        try:
            while select.select([above], [], [], 0.2)[0]:
                shown += os.read(above, 4096).decode()
        except OSError:  # the other end is closed
            pass
        return shown, output

    def test_a_terminal_sees_a_bar_with_pace_and_time_left(self):
        for arguments in ((), ("--seeds", "2", "--json")):
            shown, output = self.on_a_terminal(*arguments)
            self.assertRegex(shown, r"\r\x1b\[K[\d,]+ rounds/s, [\w ]+ left \[[#-]{20}\] +\d+ %")
            self.assertNotIn("rounds/s, ", output)
            for line in re.split(r"\r\x1b\[K|\r\n", shown):
                self.assertLessEqual(len(line), 80)
            self.assertTrue(shown.rstrip().endswith("how far it came"))

    def test_the_bar_is_cut_to_a_narrow_terminal(self):
        shown, _ = self.on_a_terminal("--seeds", "2", "--json", columns=30)
        lines = [l for l in re.split(r"\r\x1b\[K|\r\n", shown) if "rounds/s" in l]
        self.assertEqual({len(l) for l in lines}, {29})

    def test_nothing_is_shown_to_a_pipe(self):
        self.assertEqual(tacit("run", self.whole, "--rounds", "100000").stderr, "")


if __name__ == "__main__":
    unittest.main()
