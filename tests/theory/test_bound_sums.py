"""The recursions, first valid rounds and tails of `tacit bound`, computed anew with mpmath from the constants it prints.

The formulas here are those of docs/proofs/bound.md, written down once more and evaluated to 40 digits: what the command
prints must be an upper bound of them, and not much above."""
# labels: long once
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import mpmath
from mpmath import mpf

mpmath.mp.dps = 40
TACIT = os.environ["TACIT"]

TINY = """agent a {
  state x in [-1, 1]
  private minimize (x - 0.6)^2
}
constraint c: a.x <= 0.5
dual radius 1
privacy { mechanism laplace; epsilon 20; adjacency 1 }
schedule { alpha 0.5 k^-0.1; gamma 0.5 k^-0.6; rounds 2000 }
"""


class Form:
    """One of the two recursions, for one set of constants and one schedule."""

    def __init__(self, facts, mpf=mpmath.mpf):
        self.mpf = mpf
        constants, schedule = facts["constants"], facts["schedule"]
        self.lipschitz, self.curvature, self.slope = (mpf(constants[k]) for k in ("L_G", "L_H", "L_J"))
        self.reach, self.noise = mpf(constants["M_xi"]), mpf(constants["K_w"])
        self.trivial = mpf(constants["D_z"]) ** 2
        self.alpha, self.gamma = mpf(schedule["alpha_bar"]), mpf(schedule["gamma_bar"])
        self.c1, self.c2 = mpf(schedule["c1"]), mpf(schedule["c2"])

    def steps(self, k):
        return self.gamma * self.mpf(k) ** -self.c2, self.alpha * self.mpf(k) ** -self.c1

    def published_theta(self, k):
        g, a = self.steps(k)
        return 1 - 2 * g * a + (g * a) ** 2 + (g * self.lipschitz) ** 2 + 2 * g * g * a * self.lipschitz


class Published(Form):
    def rho(self, k):
        g, a = self.steps(k)
        before = self.alpha * self.mpf(k - 1) ** -self.c1
        return self.reach ** 2 * ((before - a) / a) ** 2 * (1 + g * a) / (g * a)

    def sigma(self, k):
        return self.published_theta(k) * self.rho(k) + self.steps(k)[0] ** 2 * self.noise

    def keeps(self, k):
        g, a = self.steps(k)
        return self.published_theta(k) * (1 + g * a)

    def after(self, v, k):
        return self.keeps(k) * v + self.sigma(k)


class Tight(Form):
    def theta(self, k):
        g, a = self.steps(k)
        m = 1 - g * a
        options = [self.published_theta(k)]
        if m >= 0:
            options.append(m ** 2 + (g * self.lipschitz) ** 2)
        if m > 0 and g * self.curvature < 2 * m:
            options.append(m ** 2 + (g * self.slope) ** 2 * 2 * m / (2 * m - g * self.curvature))
        return min(options)

    keeps = theta

    def drift(self, k):
        return self.reach * (1 - (1 - 1 / self.mpf(k)) ** self.c1)

    def sigma(self, k):
        return self.theta(k) * self.drift(k) ** 2 / (1 - self.theta(k)) + self.steps(k)[0] ** 2 * self.noise

    def after(self, v, k):
        return self.theta(k) * (v ** 0.5 + self.drift(k)) ** 2 + self.steps(k)[0] ** 2 * self.noise


def valid_from(form):
    """The first k >= 2 with 1 - tau_k <= 1; that it stays so is checked at later rounds."""
    low, high = 1, 2
    while form.keeps(high) > 1:
        low, high = high, 2 * high
        if high > 10 ** 200:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if form.keeps(middle) <= 1 else (middle, high)
    return high


def error(form, rounds, first):
    v = form.trivial
    for k in range(max(2, first or rounds + 1), rounds + 1):
        v = min(form.trivial, form.after(v, k))
    return v


def tail(form, first):
    """Terms one by one, then the rest by the integral of a smooth function: Euler and Maclaurin's first terms. What is
    beyond 10^33 is left out."""
    many = 500
    total = mpmath.fsum(form.sigma(k) for k in range(first, first + many))
    end = first + many
    edges = [mpf(end) * 8 ** e for e in range(0, 33)]
    rest = mpmath.fsum(mpmath.quad(form.sigma, [a, b], maxdegree=2) for a, b in zip(edges, edges[1:]))
    return total + rest + form.sigma(end) / 2


class Sums(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "tiny.tacit"
        self.path.write_text(TINY)

    def bound(self, *options):
        done = subprocess.run([TACIT, "bound", str(self.path), "--json", *options], capture_output=True, text=True,
                              timeout=1200)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def forms(self, facts, number=mpf):
        return ((facts, Tight(facts, number)), (facts["published"], Published(facts, number)))

    def above(self, printed, exact, slack):
        """An upper bound, and a good one."""
        self.assertGreaterEqual(mpf(printed), exact)
        self.assertLessEqual(mpf(printed), exact * (1 + mpf(slack)) + mpf(10) ** -300)

    SCHEDULES = [("0.5", "0.5", "0.1", "0.6"), ("1", "0.2", "0.3", "0.52"), ("0.1", "0.05", "0.2", "0.75"),
                 ("2", "0.01", "0.45", "0.501"), ("0.5", "3", "0.1", "0.6")]

    def test_the_error_after_t_rounds_is_that_of_the_recursion(self):
        cases = itertools.chain(itertools.product(self.SCHEDULES, (1, 2, 3, 40)), itertools.product(self.SCHEDULES[:1], (300,)))
        for (alpha, gamma, c1, c2), rounds in cases:
            facts = self.bound("--alpha-bar", alpha, "--gamma-bar", gamma, "--c1", c1, "--c2", c2, "--rounds",
                               str(rounds))
            for shown, form in self.forms(facts):
                exact = error(form, rounds, valid_from(form))
                with self.subTest(form=type(form).__name__, alpha=alpha, gamma=gamma, c1=c1, c2=c2, rounds=rounds):
                    self.above(shown["estimate"]["expected_squared_error"], exact, 1e-10)

    def test_blocks_of_rounds_lose_little(self):
        rounds = 200000  # beyond the rounds that are taken one by one
        for options in (("--epsilon", "2"), ("--mechanism", "none", "--c1", "0.3")):
            facts = self.bound("--rounds", str(rounds), *options)
            for shown, form in self.forms(facts, float):
                exact = error(form, rounds, int(shown["valid_from"]))
                with self.subTest(form=type(form).__name__, options=options):
                    self.above(shown["estimate"]["expected_squared_error"], exact * (1 - 1e-9), 1e-2)

    def test_the_first_valid_round_is_the_first_and_stays_valid(self):
        for alpha, gamma, c1, c2 in self.SCHEDULES + [("0.001", "1", "0.3", "0.4"), ("0.01", "5", "0.4", "0.42")]:
            facts = self.bound("--alpha-bar", alpha, "--gamma-bar", gamma, "--c1", c1, "--c2", c2)
            for shown, form in self.forms(facts):
                with self.subTest(form=type(form).__name__, alpha=alpha, gamma=gamma, c1=c1, c2=c2), \
                        mpmath.workdps(400):
                    exact = valid_from(form)
                    if exact < 2 ** 40:
                        self.assertEqual(shown["valid_from"], exact)
                    else:
                        self.above(shown["valid_from"], exact, 1e-6)
                    self.assertAlmostEqual(shown["valid_from_log10"], float(mpmath.log10(exact)), 5)
                    self.assertGreater(shown["valid_from"], 1)
                    for factor in (1, 2, 3, 10, 1000, 10 ** 6, 10 ** 12):
                        self.assertLessEqual(form.keeps(exact * factor), 1)
                        self.assertGreaterEqual(form.keeps(exact * factor), 0)

    def test_the_tail_is_an_upper_bound_within_a_thousandth(self):
        for alpha, gamma, c1, c2 in [("0.5", "0.5", "0.1", "0.6"), ("1", "0.2", "0.3", "0.55"),
                                     ("0.5", "0.1", "0.05", "0.75")]:
            facts = self.bound("--alpha-bar", alpha, "--gamma-bar", gamma, "--c1", c1, "--c2", c2, "--rounds", "3000")
            for shown, form in self.forms(facts):
                with self.subTest(form=type(form).__name__, c1=c1, c2=c2), mpmath.workdps(60):
                    self.assertLessEqual(shown["valid_from"], 3001)
                    exact = tail(form, 3001)
                    self.assertGreaterEqual(mpf(shown["estimate"]["tail"]), exact * (1 - mpf(10) ** -6))
                    self.assertLessEqual(mpf(shown["estimate"]["tail"]), exact * (1 + mpf(10) ** -3))

    def test_probabilities_are_those_of_markov_and_ville(self):
        facts = self.bound("--within", "0.7", "--rounds", "5000")
        for shown in (facts, facts["published"]):
            e = shown["estimate"]
            self.assertAlmostEqual(e["probability"], max(0, 1 - e["expected_squared_error"] / 0.49), 12)
            both = e["expected_squared_error"] + e["tail"]
            self.assertAlmostEqual(e["probability_forever"], max(0, 1 - both / 0.49), 12)
            self.assertAlmostEqual(e["radius"] ** 2 * 0.05, e["expected_squared_error"], 12)
            self.assertAlmostEqual(e["radius_forever"] ** 2 * 0.05, both, 12)

    def test_the_tight_form_is_never_above_the_published_one(self):
        for alpha, gamma, c1, c2 in self.SCHEDULES[:3]:
            for rounds in (1000, 10 ** 12):
                facts = self.bound("--alpha-bar", alpha, "--gamma-bar", gamma, "--c1", c1, "--c2", c2, "--rounds",
                                   str(rounds))
                published = facts["published"]
                self.assertLessEqual(facts["estimate"]["expected_squared_error"],
                                     published["estimate"]["expected_squared_error"] * (1 + 1e-12))
                self.assertLessEqual(facts["valid_from"], published["valid_from"])


if __name__ == "__main__":
    unittest.main()
