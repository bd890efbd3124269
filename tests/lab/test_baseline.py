"""What runs and sweeps are compared with: doing nothing, computed here by direct minimisation of every agent's objective; the
Slater point; and the same run without noise."""
# labels: once
import csv
import json
import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
from scipy.optimize import minimize

TACIT = os.environ["TACIT"]
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"

PAIR = """agent left  { state x in [0, 4]; private minimize (x - 3)^2; gap 10; slater x = 1 }
agent right { state x in [0, 4]; private minimize (x - 3)^2; gap 10; slater x = 1 }
constraint shared: left.x + right.x <= LIMIT
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { rounds 400 }
"""


def answer_of(command, *arguments):
    done = subprocess.run([TACIT, command, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=1200)
    if done.returncode not in (0, 1) or not done.stdout:
        raise AssertionError(f"exit code {done.returncode} of {arguments}: {done.stderr}")
    return json.loads(done.stdout)


def table(name):
    with open(EXAMPLES / name, newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], rows[1:]


def numbers(name, *columns):
    head, rows = table(name)
    return [numpy.array([float(row[head.index(column)]) for row in rows]) for column in columns]


def least(objective, bounds, start, constraints=()):
    found = minimize(objective, start, bounds=bounds, constraints=constraints, tol=1e-13,
                     options={"maxiter": 2000})
    return found.x


# ---- every agent alone: f, g and states of each example, in plain NumPy ----

def paper():
    shifts = [(None, (-5, 5)), (2, (0, 0)), (2, (-7, 7)), (None, (-8, -8)), (4, (-3, -3)), (None, (-10, -10)), (None, (10, 10)),
              (2, (-7, 0)), (None, (-6, 0)), (4, (0, 8))]

    def cost(x, shift):
        power, by = shift
        return sum(x) + sum(by) if power is None else numpy.linalg.norm(x - numpy.array(by)) ** power

    x = []
    for shift in shifts:
        # A fourth power is flat at its minimum: the square has the same one.
        flat = (2, shift[1]) if shift[0] == 4 else shift
        x.append(least(lambda v: cost(v, flat), [(-10, 10)] * 2, [1.0, 1.0]))
    n = [v @ v for v in x]
    g = [n[0] + n[1] + n[2] - 10, n[3] + n[4] + n[5] - 50, n[6] + n[7] + n[8] - 50,
         x[0][0] ** 2 + x[4][0] + x[9][0] ** 2 - 50, x[3][1] ** 2 + x[6][0] + x[8][1] - 20, n[7] + n[5] - 30]
    return sum(cost(v, s) for v, s in zip(x, shifts)), max(0, *g), numpy.concatenate(x)


def ev():
    need, weight = numbers("homes.csv", "need", "weight")
    pref = numpy.stack(numbers("homes.csv", *(f"pref_{t}" for t in range(1, 25))), axis=1)
    low, high = numpy.zeros(len(need)), numpy.full(len(need), 7.4)
    for _ in range(200):  # p = clip(pref + lambda): the smallest lambda >= 0 that serves the need
        middle = (low + high) / 2
        enough = numpy.clip(pref + middle[:, None], 0, 7.4).sum(axis=1) >= need
        low, high = numpy.where(enough, low, middle), numpy.where(enough, middle, high)
    served = pref.sum(axis=1) >= need
    p = numpy.where(served[:, None], pref, numpy.clip(pref + high[:, None], 0, 7.4))
    household = numpy.array([820, 800, 780, 760, 780, 840, 920, 980, 1000, 960, 900, 820, 720, 640, 600, 580, 560, 580, 640, 760,
                             840, 860, 840, 820])
    return (weight * ((p - pref) ** 2).sum(axis=1)).sum(), max(0, *(p.sum(axis=0) - 3000 + household)), p.ravel()


def num():
    [weight] = numbers("num_flows.csv", "weight")
    with open(EXAMPLES / "num_routes.csv", newline="") as file:
        route = numpy.array([[float(v) for v in row] for row in csv.reader(file)])
    rate = numpy.array([least(lambda r, w=w: -w * math.log(r[0]), [(0.1, 10)], [1.0])[0] for w in weight])
    return -(weight * numpy.log(rate)).sum(), max(0, *(route @ rate - [10, 12, 8, 15, 10, 9])), rate


def robots():
    columns = numbers("robots_plans.csv", "goal_1", "goal_2", "base_1", "base_2", "reach")
    pos = []
    for a, b, c, d, reach in zip(*columns):
        inside = {"type": "ineq", "fun": lambda p, c=c, d=d, reach=reach: reach**2 - (p[0] - c) ** 2 - (p[1] - d) ** 2}
        pos.append(least(lambda p, a=a, b=b: (p[0] - a) ** 2 + (p[1] - b) ** 2, [(-10, 10)] * 2, [c, d], (inside,)))
    pos, goal = numpy.array(pos), numpy.stack(columns[:2], axis=1)
    chain = ((pos[:-1] - pos[1:]) ** 2).sum(axis=1) - 9
    camera = ((pos.mean(axis=0) - [1, 0.5]) ** 2).sum() - 0.36
    return ((pos - goal) ** 2).sum(), max(0, camera, *chain), pos.ravel()


def dispatch():
    a, b = numbers("dispatch_units.csv", "a", "b")
    p = numpy.array([least(lambda p, a=a, b=b: a * p[0] ** 2 + b * p[0], [(0, 2)], [1.0])[0] for a, b in zip(a, b)])
    ptdf = numpy.array([[1, 1, 1, 1, -1, -1, -1, 0, 0, 0], [1, 1, 1, 1, 2, 2, 2, 0, 0, 0], [2, 2, 2, 2, 1, 1, 1, 0, 0, 0]]) / 3
    flow = numpy.abs(ptdf @ p - numpy.array([-1, 8, 7]) / 3) - [1.5, 1.6, 2.2]
    return (a * p**2 + b * p).sum(), max(0, abs(p.sum() - 10), *flow), p


def lasso():
    a = numpy.stack(numbers("lasso_clinics.csv", *(f"a_{k}" for k in range(1, 25))), axis=1).reshape(-1, 6, 4)
    y = numpy.stack(numbers("lasso_clinics.csv", *(f"y_{r}" for r in range(1, 7))), axis=1)
    w = []
    for rows, outcome in zip(a, y):
        # w = u - v with u, v >= 0: then the 1-norm is smooth
        split = least(lambda s, rows=rows, outcome=outcome: ((rows @ (s[:4] - s[4:]) - outcome) ** 2).sum() + 0.4 * s.sum(),
                      [(0, 1)] * 8, [0.1] * 8)
        w.append(split[:4] - split[4:])
    w = numpy.array(w)
    cost = ((numpy.einsum("irk,ik->ir", a, w) - y) ** 2).sum() + 0.4 * numpy.abs(w).sum()
    return cost, max(0, abs(w[:, 0].mean()) - 0.3, abs(w[:, 2].mean()) - 0.15), w.ravel()


def flat(x):
    """The states of an answer, agent after agent."""
    return numpy.concatenate([numpy.ravel(v) for v in x.values()])


class Judged(unittest.TestCase):
    def judged(self, name, alone, rounds=20):
        path = EXAMPLES / f"{name}.tacit"
        answer = answer_of("run", path, "--seed", "1", "--rounds", rounds)
        cost, violation, x = alone()
        solution = flat(answer_of("solve", path)["x"])
        found = answer["baseline"]
        numpy.testing.assert_allclose(found["objective"], cost, rtol=1e-6, atol=1e-6)
        numpy.testing.assert_allclose(found["max_violation"], violation, rtol=1e-5, atol=1e-6)
        numpy.testing.assert_allclose(found["x_error"], numpy.linalg.norm(x - solution), rtol=1e-5)
        quiet = answer_of("run", path, "--mechanism", "none", "--rounds", rounds)
        for key in ("x_error", "mu_error", "objective", "max_violation"):
            self.assertEqual(answer["noise_free"][key], quiet["final"][key])
            self.assertEqual(quiet["noise_free"][key], quiet["final"][key])
        self.assertEqual(quiet["baseline"], found)
        slater = answer["slater_baseline"]
        self.assertEqual((slater["max_violation"], slater["worst"]), (0, None))
        self.assertGreaterEqual(slater["objective"], answer["reference"]["objective"] - 1e-9)


class Examples(Judged):
    def test_paper(self):
        self.judged("paper", paper)

    def test_num(self):
        self.judged("num", num)

    def test_robots(self):
        self.judged("robots", robots)

    def test_dispatch(self):
        self.judged("dispatch", dispatch)

    def test_lasso(self):
        self.judged("lasso", lasso)


class Verdicts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)

    def pair(self, limit, **changes):
        text = PAIR.replace("LIMIT", str(limit))
        for old, new in changes.items():
            text = text.replace(old, new)
        path = self.here / "pair.tacit"
        path.write_text(text)
        return path

    def first_line(self, *arguments):
        done = subprocess.run([TACIT, "run", *map(str, arguments)], capture_output=True, text=True, timeout=1200)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        return done.stdout.splitlines()[0], " ".join(done.stdout.split())

    def expected(self, final, baselines):
        """By the definition: no better by a tenth in either measure."""
        return any(0.9 * b["x_error"] <= final["x_error"] and 0.9 * b["max_violation"] <= final["max_violation"]
                   for b in baselines)

    def test_a_run_that_noise_drowns_says_so_first(self):
        path = self.pair(2.5)
        answer = answer_of("run", path, "--seed", "2", "--epsilon", "0.001")
        self.assertIs(answer["no_better_than_nothing"], True)
        self.assertIn(answer["verdict"], answer["warnings"])
        first, text = self.first_line(path, "--seed", "2", "--epsilon", "0.001")
        self.assertTrue(first.startswith("NO BETTER THAN DOING NOTHING"), first)
        self.assertIn("zero prices", text)
        good = answer_of("run", path, "--seed", "2", "--epsilon", "50")
        self.assertIs(good["no_better_than_nothing"], False)
        first, text = self.first_line(path, "--seed", "2", "--epsilon", "50")
        self.assertTrue(first.startswith("Better than doing nothing"), first)

    def test_of_many_runs_half_decide(self):
        path = self.pair(2.5)
        verdicts = set()
        for epsilon in ("0.01", "0.1", "0.3", "1", "10"):
            answer = answer_of("run", path, "--seeds", "9", "--epsilon", epsilon)
            baselines = [answer["baseline"], answer["slater_baseline"]]
            lost = [[self.expected(one["final"], [b]) for one in answer["runs"]] for b in baselines]
            self.assertIs(answer["no_better_than_nothing"], any(2 * sum(each) >= 9 for each in lost))
            verdicts.add(answer["no_better_than_nothing"])
            self.assertEqual(answer["baseline"]["max_violation"], 3.5)
        self.assertEqual(verdicts, {True, False})

    def test_where_nothing_binds_nothing_has_to_be_done(self):
        answer = answer_of("run", self.pair(8), "--seed", "1")
        self.assertIs(answer["no_better_than_nothing"], True)
        self.assertIn("every constraint already holds", answer["verdict"])
        self.assertAlmostEqual(answer["baseline"]["x_error"], 0, places=6)
        self.assertIsNone(answer["baseline"]["worst"])

    def test_without_a_slater_point_or_a_reference_there_is_less(self):
        path = self.pair(4, **{"gap 10; slater x = 1": "", "privacy {": "dual radius 10\nprivacy {"})
        answer = answer_of("run", path, "--seed", "1")
        self.assertIsNone(answer["slater_baseline"])
        self.assertEqual(answer["baseline"]["worst"], "shared")
        bare = answer_of("run", path, "--seed", "1", "--no-reference")
        for key in ("baseline", "slater_baseline", "noise_free", "verdict", "no_better_than_nothing", "converged"):
            self.assertIn(key, bare)
            self.assertIsNone(bare[key], key)
        self.assertEqual((bare["x"], bare["mu"]), (answer["x"], answer["mu"]))

    def test_seconds_are_those_of_the_run_alone(self):
        answer = answer_of("run", EXAMPLES / "paper.tacit", "--seed", "1", "--rounds", "3000")
        self.assertEqual(answer["seconds"], answer["times"]["run"])
        self.assertGreater(answer["times"]["compare"], 0)

    def test_the_methods_own_error_is_never_silent(self):
        paper_file = EXAMPLES / "paper.tacit"
        for method in ("tacit", "published"):
            few = answer_of("run", paper_file, "--mechanism", "none", "--rounds", "50", "--method", method)
            self.assertIs(few["converged"], False)
            self.assertTrue(any("NOT CONVERGED" in w and "--rounds" in w for w in few["warnings"]), few["warnings"])
            first, _ = self.first_line(paper_file, "--mechanism", "none", "--rounds", "50", "--method", method)
            self.assertTrue(first.startswith("NOT CONVERGED"), first)
            unseen = answer_of("run", paper_file, "--mechanism", "none", "--rounds", "50", "--method", method, "--no-reference")
            self.assertIs(unseen["converged"], False)
            self.assertGreater(unseen["noise_free"]["relative_residual"], unseen["noise_free"]["tolerance"])
        for path, rounds in ((self.pair(4), "20000"), (EXAMPLES / "num.tacit", "20000"), (EXAMPLES / "robots.tacit", "20000")):
            many = answer_of("run", path, "--mechanism", "none", "--rounds", rounds)
            self.assertIs(many["converged"], True)
            self.assertFalse(any("NOT CONVERGED" in w for w in many["warnings"]))
            x0 = many["reference"]
            share = max(many["final"]["x_error"] / x0["norm_x"], many["final"]["mu_error"] / x0["norm_mu"])
            self.assertLess(share, 1e-3)
            self.assertIs(answer_of("run", path, "--mechanism", "none", "--rounds", rounds, "--no-reference")["converged"], True)
        noisy = answer_of("run", paper_file, "--seed", "1", "--rounds", "50")
        self.assertIs(noisy["converged"], False)
        self.assertIs(noisy["noise_free"]["converged"], False)

    def test_a_sweep_says_where_results_are_worthless_and_where_privacy_is_free(self):
        answer = answer_of("sweep", EXAMPLES / "robots.tacit", "--rounds", "1000", "--seeds", "5", "--epsilons",
                           "0.001,0.1,10,1e5")
        quiet = answer["noise_free"]["x_error"]
        baselines = [answer["baseline"], answer["slater_baseline"]]
        for point in answer["points"]:
            self.assertIs(point["privacy_is_free"], math.sqrt(point["penalty_x"]) <= quiet)
        self.assertEqual([p["no_better_than_nothing"] for p in answer["points"]], [True, False, False, False])
        self.assertEqual([p["privacy_is_free"] for p in answer["points"]], [False, False, False, True])
        self.assertTrue(self.expected(answer["points"][0], baselines))
        self.assertFalse(any(self.expected(point, baselines) for point in answer["points"][1:]))
        self.assertIn("Worthless at epsilon 0.001:", answer["worth"][0])
        self.assertIn("More privacy is free at epsilon 1e+05:", answer["worth"][1])
        self.assertEqual(answer["without_noise"]["x_error"], quiet)

    def test_the_greater_part_of_the_error_is_named(self):
        path = EXAMPLES / "robots.tacit"
        self.assertIn("mostly noise", answer_of("run", path, "--seed", "1", "--rounds", "3000")["error_parts"])
        self.assertIn("the method's own",
                      answer_of("run", path, "--seed", "1", "--rounds", "30", "--epsilon", "1e6")["error_parts"])


if __name__ == "__main__":
    unittest.main()
