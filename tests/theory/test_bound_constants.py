"""The constants of `tacit bound` against samples: none may exceed what is certified, and the best come near it.

The paper's problem is written down here once more, as functions; slopes of G are sampled over X x M, and second moments of
the noise are measured from draws. Contraction is tried on random matrices of the form that the proof speaks of."""
# labels: long not-asan not-clang
import json
import math
import os
import pathlib
import subprocess
import unittest

import numpy as np

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PAPER = str(SOURCE / "examples/paper.tacit")

# sum of squares of these coordinates, and these coordinates themselves, less a constant (x_{i,c} is 2 (i-1) + c-1)
SQUARES = [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14, 15, 16, 17], [0, 18], [7], [14, 15, 10, 11]]
LINEAR = [[], [], [], [8], [12, 17], []]
LIMITS = [10, 50, 50, 50, 20, 30]


def constraints(x):
    return np.array([sum(x[c] ** 2 for c in s) + sum(x[c] for c in l) - b for s, l, b in zip(SQUARES, LINEAR, LIMITS)])


def jacobian(x):
    j = np.zeros((6, 20))
    for row in range(6):
        for c in SQUARES[row]:
            j[row, c] += 2 * x[c]
        for c in LINEAR[row]:
            j[row, c] += 1
    return j


def objective_gradient(x):
    gradient = np.ones(20)
    for agent, target, power in ((2, (0, 0), 2), (3, (-7, 7), 2), (5, (-3, -3), 4), (8, (-7, 0), 2), (10, (0, 8), 4)):
        at = slice(2 * agent - 2, 2 * agent)
        away = x[at] - np.array(target)
        gradient[at] = power * np.dot(away, away) ** (power / 2 - 1) * away
    return gradient


def direction(x, mu):
    return np.concatenate((objective_gradient(x) + jacobian(x).T @ mu, -constraints(x)))


def report(command, *arguments):
    done = subprocess.run([TACIT, command, *arguments, "--json"], capture_output=True, text=True, timeout=1200)
    if done.returncode not in (0, 1):
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Slopes(unittest.TestCase):
    def setUp(self):
        self.facts = report("bound", PAPER, "--calibration", "published")
        self.constants = self.facts["constants"]

    def multipliers(self, random):
        """Of M: inside, on its face, or at a vertex."""
        kind, radius = random.integers(3), self.constants["R"]
        if kind == 0:
            return radius * np.eye(6)[random.integers(6)]
        weights = random.dirichlet(np.ones(6))
        return radius * weights * (1 if kind == 1 else random.random())

    def test_no_pair_of_points_has_a_steeper_g_and_some_come_near(self):
        random, steepest, radius = np.random.default_rng(1), 0, self.constants["R"]
        for _ in range(20000):
            x = random.choice([-10.0, 10.0], 20) if random.random() < 0.5 else random.uniform(-10, 10, 20)
            mu = self.multipliers(random)
            size = 10.0 ** random.uniform(-6, 1)
            y = np.clip(x + size * random.standard_normal(20) * (random.random(20) < 0.2), -10, 10)
            nu = self.multipliers(random) if random.random() < 0.3 else mu
            away = math.hypot(np.linalg.norm(y - x), np.linalg.norm(nu - mu))
            if away > 0:
                steepest = max(steepest, np.linalg.norm(direction(y, nu) - direction(x, mu)) / away)
        self.assertLessEqual(steepest, self.constants["L_G"])
        # the steepest agent alone, at the corner farthest from its target
        x, y = np.zeros(20), np.zeros(20)
        x[18:], y[18:] = (10, -10), (10 - 1e-6 * 10 / 20.59, -10 + 1e-6 * 18 / 20.59)
        mu = radius * np.eye(6)[3]
        slope = np.linalg.norm(direction(y, mu) - direction(x, mu)) / np.linalg.norm(y - x)
        self.assertLessEqual(slope, self.constants["L_G"])
        self.assertGreater(slope, 0.8 * self.constants["L_G"])

    def test_parts_of_it_are_those_computed_by_hand(self):
        # f: 12 r^2 at the corner (10, -10) of a10, r^2 = 100 + 324; g: every Hessian is 2 on its squares
        self.assertAlmostEqual(self.constants["L_f"], 12 * 424, 6)
        self.assertAlmostEqual(self.constants["L_g"], 2, 9)
        self.assertAlmostEqual(self.constants["L_H"], 12 * 424 + 2 * self.constants["R"], 6)
        corner = max(np.linalg.norm(jacobian(np.array(signs) * 10.0), 2)
                     for signs in ([1] * 20, [-1] * 20))
        self.assertLessEqual(corner, self.constants["L_J"])
        self.assertGreater(corner, 0.95 * self.constants["L_J"])
        self.assertAlmostEqual(self.constants["M_xi"], math.hypot(math.sqrt(2000), self.constants["R"]), 9)
        self.assertAlmostEqual(self.constants["D_z"], math.sqrt(8000 + 2 * self.constants["R"] ** 2), 9)


class Noise(unittest.TestCase):
    def test_on_outputs_it_is_the_sum_of_the_plans_variances(self):
        for options in (("--calibration", "published"),
                        ("--calibration", "published", "--mechanism", "gaussian"),
                        ("--placement", "outputs")):
            constants = report("bound", PAPER, *options)["constants"]
            plan = report("plan", PAPER, "--method", "published", *options)
            rows, g = np.zeros(6), 0
            for system in plan["systems"]:
                if system["name"].startswith("g"):
                    g += system["entries"] * system["variance"]
                elif "published" in options:
                    rows += system["entries"] / 6 * system["variance"]
                else:
                    rows[int(system["name"][3]) - 1] += system["entries"] * system["variance"]
            with self.subTest(options=options):
                self.assertAlmostEqual(constants["K_w_constraints"] / g, 1, 6)
                self.assertAlmostEqual(constants["K_w_prices"] / (constants["R"] ** 2 * max(rows)), 1, 6)


class Contraction(unittest.TestCase):
    def test_no_matrix_of_that_form_expands_more_than_the_split_bound(self):
        random, tightest = np.random.default_rng(3), 0
        for _ in range(4000):
            n, m = random.integers(1, 5), random.integers(1, 4)
            factor = random.standard_normal((n, random.integers(1, n + 1)))
            hessian = factor @ factor.T
            top = 10 ** random.uniform(-2, 2)
            hessian *= top / np.linalg.norm(hessian, 2)
            slope = 10 ** random.uniform(-2, 2)
            coupling = random.standard_normal((m, n))
            coupling *= slope / np.linalg.norm(coupling, 2)
            whole = np.block([[hessian, coupling.T], [-coupling, np.zeros((m, m))]])
            alpha = 10 ** random.uniform(-3, 1)
            gamma = random.uniform(0, 1) * min(1 / alpha, 2 / (top + 2 * alpha))
            left = 1 - gamma * alpha
            bound = left ** 2 + (gamma * slope) ** 2 * 2 * left / (2 * left - gamma * top)
            size = np.linalg.norm(left * np.eye(n + m) - gamma * whole, 2) ** 2
            self.assertLessEqual(size, bound * (1 + 1e-12))
            tightest = max(tightest, size / bound)
        self.assertGreater(tightest, 0.99)


if __name__ == "__main__":
    unittest.main()
