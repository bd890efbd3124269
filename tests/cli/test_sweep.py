"""`tacit sweep` as a person or a script meets it. Its statistics are compared with NumPy's and SciPy's, its penalties
with runs made one by one."""
# labels: not-asan not-clang
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import numpy
import scipy.stats

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PAPER = str(SOURCE / "examples/paper.tacit")

# Affine constraints far from any bound: deviations are linear in the noise, so the law holds exactly.
LINEAR = """agent left  { state x in [-100, 100]; private minimize (x - 3)^2 }
agent right { state x in [-100, 100]; private minimize (x - 3)^2 }
constraint shared: left.x + right.x <= -60
dual radius 1000
start shared = 66
privacy { mechanism laplace; epsilon 8; adjacency one 1 }
schedule { alpha 0.001; gamma 0.01 k^-0.51; rounds 300 }
"""


def tacit(*arguments, **options):
    return subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=1200, **options)


def answer_of(command, *arguments, code=0):
    done = tacit(command, *arguments, "--json")
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} of {arguments}: {done.stderr}{done.stdout[:500]}")
    return json.loads(done.stdout)


def sweep(*arguments, code=0):
    """By the published method, whose law is what is tested here."""
    return answer_of("sweep", *arguments, "--method", "published", code=code)


def without_times(answer):
    return {k: v for k, v in answer.items() if k not in ("seconds", "times", "threads")}


class Written(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)
        self.linear = self.problem(LINEAR)

    def problem(self, text, name="problem.tacit"):
        path = self.here / name
        path.write_text(text)
        return str(path)


class Methods(Written):
    def test_the_method_is_said_and_has_facts_of_its_own_for_each_epsilon(self):
        for method in ("published", "tacit"):
            arguments = (PAPER, "--method", method, "--rounds", "300", "--seeds", "3", "--epsilons", "1,4")
            answer = answer_of("sweep", *arguments)
            self.assertEqual(answer["method"], method)
            self.assertEqual([p["completed"] for p in answer["points"]], [3, 3])
            self.assertGreater(answer["points"][0]["penalty"], answer["points"][1]["penalty"])
            text = tacit("sweep", *arguments).stdout
            self.assertIn(f"by the {method} method\n", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_a_run_of_the_sweep_is_the_run_of_that_seed(self):
        point = answer_of("sweep", PAPER, "--method", "tacit", "--rounds", "50", "--seeds", "2", "--epsilons", "1")["points"][0]
        for one in point["runs"]:
            done = tacit("run", PAPER, "--method", "tacit", "--rounds", "50", "--epsilon", "1", "--seed", str(one["seed"]),
                         "--json")
            self.assertEqual(json.loads(done.stdout)["final"]["x_error"], one["x_error"])

    def test_warnings_stand_once(self):
        warnings = answer_of("sweep", PAPER, "--method", "tacit", "--rounds", "50", "--seeds", "1", "--epsilons", "1,2")["warnings"]
        self.assertEqual(len(warnings), len(set(warnings)))
        self.assertGreater(len(warnings), 0)


class Statistics(Written):
    @classmethod
    def setUpClass(cls):
        cls.paper = sweep(PAPER, "--calibration", "published", "--rounds", "400", "--seeds", "20",
                          "--epsilons", "0.2,ln(2),2,6")

    def test_the_keys_of_the_contract_are_there(self):
        self.assertEqual([p["epsilon"] for p in self.paper["points"]], [0.2, math.log(2), 2, 6])
        for point in self.paper["points"]:
            self.assertLessEqual({"x_error", "mu_error", "penalty"}, set(point))
        self.assertIsInstance(self.paper["slope"], float)
        self.assertIs(self.paper["private"], False)
        self.assertEqual(self.paper["label"], "simulation: not released")

    def test_quantiles_are_those_of_numpy(self):
        for point in self.paper["points"]:
            for key in ("x_error", "mu_error", "penalty"):
                values = [r[key] for r in point["runs"]]
                found = [point["quantiles"][key][q] for q in ("min", "q10", "median", "q90", "max")]
                numpy.testing.assert_allclose(found, numpy.quantile(values, [0, 0.1, 0.5, 0.9, 1]), rtol=1e-12)
            for key in ("x_error", "mu_error"):
                self.assertEqual(point[key], point["quantiles"][key]["median"])

    def test_penalties_are_means_and_part_into_bias_and_spread(self):
        for point in self.paper["points"]:
            values = [r["penalty"] for r in point["runs"]]
            self.assertAlmostEqual(point["penalty"] / numpy.mean(values), 1, places=12)
            self.assertAlmostEqual(point["penalty_error"] / scipy.stats.sem(values), 1, places=12)
            self.assertAlmostEqual((point["bias"] + point["spread"]) / point["penalty"], 1, places=12)
            self.assertAlmostEqual((point["penalty_x"] + point["penalty_mu"]) / point["penalty"], 1, places=12)

    def test_the_excess_is_above_the_run_without_noise(self):
        quiet = self.paper["without_noise"]
        for point in self.paper["points"]:
            squares = [r["x_error"] ** 2 + r["mu_error"] ** 2 for r in point["runs"]]
            expected = numpy.mean(squares) - quiet["x_error"] ** 2 - quiet["mu_error"] ** 2
            self.assertAlmostEqual(point["excess"], expected, delta=1e-9 * numpy.mean(squares))

    def fit(self, points):
        x = numpy.log([p["epsilon"] for p in points])
        samples = [numpy.array([r["penalty"] for r in p["runs"]]) for p in points]
        y = [numpy.log(s.mean()) for s in samples]
        root_weight = [s.mean() / scipy.stats.sem(s) for s in samples]
        return x, samples, root_weight, numpy.polyfit(x, y, 1, w=root_weight)

    def test_the_slope_is_that_of_numpy(self):
        _, _, _, (slope, intercept) = self.fit(self.paper["points"])
        self.assertAlmostEqual(self.paper["slope"], slope, places=9)
        self.assertAlmostEqual(self.paper["intercept"], intercept, places=9)
        for local, pair in zip(self.paper["local_slopes"], zip(self.paper["points"], self.paper["points"][1:])):
            self.assertAlmostEqual(local["slope"], self.fit(pair)[3][0], places=9)

    def interval(self, points, confidence):
        """An independent bootstrap, read at percentiles that make it as wide as Student's."""
        x, samples, root_weight, _ = self.fit(points)
        n = len(samples[0])
        generator = numpy.random.default_rng(1)
        y = [numpy.log(generator.choice(s, (20000, n)).mean(axis=1)) for s in samples]
        slopes = numpy.polyfit(x, numpy.array(y), 1, w=root_weight)[0]
        t = scipy.stats.t.ppf((1 + confidence) / 2, n - 1)
        tail = scipy.stats.norm.sf(t * math.sqrt(n / (n - 1)))
        return numpy.quantile(slopes, [tail, 1 - tail])

    def test_intervals_are_those_of_an_independent_bootstrap(self):
        # Two sets of 10,000 and 20,000 resamples differ by less than 0.05 of the width at 95 %, and by less than 0.15
        # further out, in all of a thousand trials.
        straight = sweep(self.linear, "--seeds", "30")
        found, expected = straight["slope_interval"], self.interval(straight["points"], 0.95)
        numpy.testing.assert_allclose(found, expected, atol=0.1 * (expected[1] - expected[0]))
        for local, pair in zip(self.paper["local_slopes"], zip(self.paper["points"], self.paper["points"][1:])):
            expected = self.interval(pair, 1 - 0.05 / 3)
            numpy.testing.assert_allclose(local["interval"], expected, atol=0.2 * (expected[1] - expected[0]))

    def test_a_penalty_is_the_squared_distance_from_the_run_without_noise(self):
        common = (PAPER, "--calibration", "published", "--rounds", "400")
        quiet = answer_of("run", *common, "--mechanism", "none")
        for point in self.paper["points"][1:3]:
            for one in point["runs"][:2]:
                noisy = answer_of("run", *common, "--epsilon", repr(point["epsilon"]), "--seed", str(one["seed"]))
                distance = sum((a - b) ** 2 for name in quiet["x"] for a, b in zip(noisy["x"][name], quiet["x"][name]))
                distance += sum((a - b) ** 2 for a, b in zip(noisy["mu"], quiet["mu"]))
                self.assertAlmostEqual(one["penalty"] / distance, 1, places=9)
                self.assertEqual(one["x_error"], noisy["final"]["x_error"])


class Verdicts(Written):
    def test_the_law_is_found_where_nothing_binds(self):
        answer = sweep(self.linear, "--seeds", "30")
        low, high = answer["slope_interval"]
        self.assertLess(low, -2)
        self.assertGreater(high, -2)
        self.assertLess(high - low, 0.5)
        self.assertTrue(all(s["verdict"] == "agrees" for s in answer["local_slopes"]))
        self.assertIn("in agreement with the claim of epsilon^-2", answer["verdict"][0])
        self.assertIs(answer["agreement"]["holds"], True)
        self.assertEqual((answer["agreement"]["from"], answer["agreement"]["to"]),
                         (answer["points"][0]["epsilon"], answer["points"][-1]["epsilon"]))

    def test_bounded_sets_are_seen_to_bend_it(self):
        answer = sweep(self.linear, "--from", "2e-6", "--to", "2e-5", "--points", "3")
        self.assertGreater(answer["slope"], -1)
        self.assertTrue(all(s["verdict"] == "flatter" for s in answer["local_slopes"]))
        self.assertIn("not in agreement", answer["verdict"][0])
        self.assertIn("projections cut large noise off", answer["verdict"][1])
        self.assertIsNone(answer["agreement"])

    def test_one_seed_gives_a_slope_and_no_interval(self):
        answer = sweep(self.linear, "--seeds", "1", "--points", "3")
        self.assertIsInstance(answer["slope"], float)
        self.assertEqual(answer["slope_interval"], [None, None])
        self.assertIn("ask for more seeds", answer["verdict"][0])
        self.assertTrue(any("ask for 10 or more" in s for s in sweep(self.linear, "--seeds", "3")["verdict"]))

    def test_an_average_that_agrees_is_not_agreement_everywhere(self):
        answer = sweep(self.linear, "--epsilons", "2e-6,2e-4,2e-2,2", "--seeds", "30")
        verdicts = [s["verdict"] for s in answer["local_slopes"]]
        self.assertEqual(verdicts[0], "flatter")
        self.assertIn("agrees", verdicts)
        self.assertIsInstance(answer["slope"], float)
        self.assertIsNone(answer["slope_interval"])
        self.assertIn("no interval: the points are not on a line", answer["verdict"][0])

    def test_points_that_are_not_on_a_line_have_a_slope_without_an_interval_in_traces_too(self):
        trace = pathlib.Path(self.folder.name) / "sweep.csv"
        command = ("sweep", self.linear, "--method", "published", "--epsilons", "2e-6,2e-4,2e-2,2", "--seeds", "30", "--trace", str(trace))
        done = tacit(*command)
        self.assertIn("no interval: the points are not on a line", " ".join(done.stdout.split()))
        head = [line for line in trace.read_text().splitlines() if line.startswith("#")]
        self.assertTrue(any("slope" in line for line in head))
        self.assertFalse(any("slope_low" in line or "slope_high" in line for line in head))


class Command(Written):
    def test_the_grid_stands_around_the_epsilon_of_the_file(self):
        answer = sweep(self.linear, "--seeds", "2")
        self.assertEqual([p["epsilon"] for p in answer["points"]], list(8 * 2.0 ** numpy.arange(-3, 4)))
        answer = sweep(self.linear, "--seeds", "2", "--epsilon", "4", "--points", "2")
        self.assertEqual([p["epsilon"] for p in answer["points"]], [0.5, 32])
        answer = sweep(self.linear, "--seeds", "2", "--epsilons", "3,1,ln(2),3")
        self.assertEqual([p["epsilon"] for p in answer["points"]], [math.log(2), 1, 3])

    def test_grids_have_the_numbers_one_expects(self):
        for epsilon in ("ln(2)", "4", "0.3"):
            answer = sweep(self.linear, "--seeds", "1", "--rounds", "5", "--epsilon", epsilon)
            middle = math.log(2) if epsilon == "ln(2)" else float(epsilon)
            self.assertEqual([p["epsilon"] for p in answer["points"]], [middle * 2.0 ** e for e in range(-3, 4)])
        answer = sweep(self.linear, "--seeds", "1", "--rounds", "5", "--from", "0.01", "--to", "100", "--points", "5")
        self.assertEqual([p["epsilon"] for p in answer["points"]], [0.01, 0.1, 1, 10, 100])

    def test_an_epsilon_named_twice_is_run_once_and_said(self):
        done = tacit("sweep", self.linear, "--seeds", "2", "--epsilons", "2,1,2")
        self.assertEqual(done.returncode, 0)
        self.assertIn("more than once: each is run once", done.stderr)

    def test_bias_is_the_same_number_in_words_and_in_json(self):
        arguments = (self.linear, "--seeds", "3", "--epsilons", "1,2,4,8")
        text = tacit("sweep", *arguments, "--method", "published").stdout
        lines = text[text.index("of it bias"):].splitlines()[1:5]
        for line, point in zip(lines, sweep(*arguments)["points"]):
            self.assertAlmostEqual(float(line.split()[3]) / point["bias"], 1, places=2)

    def test_nothing_depends_on_threads(self):
        answers = [sweep(self.linear, "--seeds", "4", "--threads", n) for n in ("1", "2", "3")]
        self.assertEqual(without_times(answers[0]), without_times(answers[1]))
        self.assertEqual(without_times(answers[0]), without_times(answers[2]))

    def refused(self, message, *arguments):
        done = tacit("sweep", *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(message, " ".join(done.stderr.split()))

    def test_epsilons_that_make_no_sense(self):
        for wrong in ("1,,2", "0", "1,x", "ln(0.5)", ""):
            self.refused("--epsilons wants positive numbers", self.linear, "--epsilons", wrong)
        self.refused("not both", self.linear, "--epsilons", "1,2", "--from", "1")
        self.refused("--from must be less than --to", self.linear, "--from", "2", "--to", "1")
        self.refused("--to wants a positive number", self.linear, "--to", "-3")
        self.refused("begin lower", self.linear, "--seed", "9007199254740992", "--seeds", "2")
        self.refused("10,000,000 runs", self.linear, "--points", "1000", "--seeds", "1000000")
        self.refused("nothing to sweep", self.linear, "--mechanism", "none")
        self.refused("there is no option --coalition", self.linear, "--coalition", "a,b")
        self.refused("--tolerance would change nothing", self.linear, "--no-reference", "--tolerance", "1e-6")
        for all_given in (("--epsilons", "1,2"), ("--from", "1", "--to", "2")):
            self.refused("--epsilon would change nothing: it is the middle of a grid", self.linear, "--epsilon", "1", *all_given)
        nothing = self.problem(LINEAR.replace("epsilon 8;", ""))
        self.refused("around which epsilon?", nothing)
        self.assertEqual(sweep(nothing, "--epsilons", "1,2", "--seeds", "2")["outcome"], "done")

    def test_methods_and_options_that_do_not_go_together(self):
        self.refused("--method wants published or tacit, not 'best'", PAPER, "--method", "best")
        self.refused("margin wants a number from 0, auto, or auto:P", PAPER, "--margin", "wide")
        self.refused("a margin goes with method tacit", PAPER, "--margin", "1", "--method", "published")
        self.refused("a margin of 1e+09 leaves no room in constraint g1", PAPER, "--margin", "1e9")
        self.refused("--method tacit goes with --calibration tight", PAPER, "--calibration", "published", "--method", "tacit")
        self.refused("forms goes with --method tacit", PAPER, "--placement", "forms", "--method", "published")
        self.refused("--method tacit measures states or linear forms of them", PAPER, "--placement", "outputs")
        curved = self.problem(LINEAR.replace("constraint", "agents b[i in 1..2] { state x in [0, 1]; private minimize x }\n"
                                             "constraint bent: sum(b: x^2) <= 1\nconstraint", 1))
        self.refused("a sum over 'b' in constraint 'bent' adds up terms that are not affine", curved, "--placement", "forms")

    def test_text_fits_eighty_columns_and_says_what_it_is(self):
        done = tacit("sweep", PAPER, "--rounds", "50", "--seeds", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertIn("simulation: not released; NOT PRIVATE", done.stdout)
        self.assertEqual(tacit("sweep", PAPER, "--rounds", "50", "--seeds", "3", "--no-reference").returncode, 0)

    def test_a_trace_names_the_margin(self):
        trace = self.here / "margin.csv"
        answer_of("sweep", self.linear, "--method", "tacit", "--seeds", "2", "--margin", "auto", "--trace", str(trace))
        self.assertIn("# fact: margin = auto, for 0.95", trace.read_text())

    def test_files_are_written(self):
        trace, page = self.here / "s.csv", self.here / "s.html"
        answer = sweep(self.linear, "--seeds", "3", "--trace", str(trace), "--report", str(page))
        rows = [l for l in trace.read_text().splitlines() if not l.startswith("#")]
        self.assertEqual(rows[0], "epsilon,seed,x_error,mu_error,objective,max_violation,penalty")
        self.assertEqual(len(rows), 1 + 7 * 3)
        expected = {(p["epsilon"], r["seed"]): r["penalty"] for p in answer["points"] for r in p["runs"]}
        for row in rows[1:]:
            cells = row.split(",")
            self.assertEqual(float(cells[6]), expected[float(cells[0]), int(cells[1])])
        self.assertIn(f"tacit sweep {self.linear} --seeds 3", page.read_text())

    def test_an_interrupt_leaves_what_is_done(self):
        done, seconds = [0], 1
        while min(done) < 2:  # a busy machine may need longer
            seconds *= 2
            process = subprocess.Popen([TACIT, "sweep", self.linear, "--seeds", "100000", "--json", "--rounds", "3000"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            time.sleep(seconds)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=1200)
            if process.returncode == -signal.SIGINT or output == "":  # it had not begun
                continue
            self.assertEqual(process.returncode, 3, errors)
            answer = json.loads(output)
            done = [p["completed"] for p in answer["points"]]
        self.assertEqual(answer["outcome"], "interrupted")
        self.assertRegex(answer["reason"], r"^\d+ of 700000 runs were done$")
        self.assertLess(max(len(p["runs"]) for p in answer["points"]), 100000)
        self.assertLessEqual(max(done) - min(done), 3)
        self.assertIn("were stopped and are left out", answer["verdict"][-1])


if __name__ == "__main__":
    unittest.main()
