"""Every round of the engine's method `tacit` against method_reference.py, which sees what the cloud is shown and must
agree on the rest: prices, steps, regularization, multipliers, states and answers."""
# labels: once

import os
import tempfile
import unittest

import numpy as np

import method_dump
import method_problems
import method_reference

ALL = os.environ.get("TACIT_LONG") is not None  # script/soak
ROUNDS = 500 if ALL else 120
TOLERANCE = 1e-9

# How much noise: enough that steps shrink and filters slow down, but multipliers still move.
BOUNDS = {"paper": 1, "network": 0.1, "robots": 0.5, "charging": 0.5, "bad_scales": 0.02, "unlike_widths": 0.02}


def placements(problem):
    return ["states"] + [name for name in ("forms", "outputs") if problem.is_affine(name)]


def dump_of(problem, rounds, mechanism, placement, bound=0.2, adjacency="ensemble", driver="small"):
    with tempfile.TemporaryDirectory() as folder:
        path = method_dump.write_problem(folder, problem.text, problem.files)
        return method_dump.run(path, rounds, mechanism, placement, adjacency, bound, driver=driver)


class EveryRound(unittest.TestCase):
    def go_through(self, name, mechanism, placement):
        problem = method_problems.ALL[name]()
        dump = dump_of(problem, ROUNDS, mechanism, placement, BOUNDS.get(name, 0.2))
        self.assertEqual(dump.placement, placement)
        self.check_facts(problem, dump)
        self.compare(problem, dump, f"{name}, {mechanism}, {placement}")

    def compare(self, problem, dump, name, most_stride=1.0):
        compared = method_dump.Comparison(problem, dump, most_stride)
        self.assertLess(compared.check_start(), TOLERANCE)
        for k, at in enumerate(dump.rounds, 1):
            away, what = compared.check_round(at)
            self.assertLess(away, TOLERANCE, f"{name}: {what} in round {k}")
        self.assertEqual(len(dump.rounds), ROUNDS)
        return compared

    def check_facts(self, problem, dump):
        """Scales are the root mean square of the gradient over the box; all else follows from them."""
        scale = dump.facts["row_scale"]
        np.testing.assert_allclose(dump.facts["weight"], method_reference.weights_of(scale), rtol=1e-12)
        rounds, length, radius = dump.facts["facts"]
        self.assertEqual(rounds, ROUNDS)
        self.assertAlmostEqual(length / method_reference.box_length_of(problem), 1, delta=1e-12)
        self.assertAlmostEqual(radius / method_reference.radius_of(problem, scale), 1, delta=1e-12)

    def test_multipliers_that_reach_their_radius(self):
        problem = method_problems.ALL["squares_of_sums"]()
        problem.text += "dual radius 0.3\n"
        dump = dump_of(problem, ROUNDS, "gaussian", "states")
        radius = dump.facts["facts"][2]
        self.assertAlmostEqual(radius / (0.3 * max(dump.facts["row_scale"])), 1, delta=1e-12)
        self.compare(problem, dump, "with a radius")
        sums = [at["mu"] @ dump.facts["row_scale"] for at in dump.rounds]
        self.assertAlmostEqual(max(sums), radius, delta=1e-9 * radius)

    def test_margins_that_follow_the_answer_and_longer_steps_of_short_rows(self):
        for name, placement in (("paper", "states"), ("robots", "forms"), ("bad_scales", "states"),
                                ("unlike_widths", "states")):
            problem = method_problems.ALL[name]()
            dump = dump_of(problem, ROUNDS, "laplace", placement, BOUNDS.get(name, 0.2), driver="follow")
            self.assertTrue(any(np.any(at["margin"] > 0) for at in dump.rounds))
            self.compare(problem, dump, name, most_stride=25.0)
            self.assertIn("point", dump.rounds[-1])

    def test_rows_that_say_the_same_share_the_answer(self):
        """Both have a price, in units that are 10^5 times apart, and nothing else is told otherwise than it is kept."""
        problem = method_problems.ALL["bad_scales"]()
        dump = dump_of(problem, ROUNDS, "gaussian", "states", BOUNDS["bad_scales"])
        compared = self.compare(problem, dump, "bad_scales")
        (rows, factors), = compared.run.cloud.multiples
        self.assertEqual(rows, [2, 3])
        np.testing.assert_allclose(factors, [1, 1e-5], rtol=1e-9)
        last = dump.rounds[-1]["answer_mu"]
        self.assertGreater(last[2], 0)
        self.assertAlmostEqual(last[3] / last[2], 1e-5, delta=1e-14)
        self.assertNotAlmostEqual(compared.run.cloud.average[3] / compared.run.cloud.average[2], 1e-5, delta=1e-3)

    def test_other_units_of_adjacency(self):
        for name, placement, adjacency in (("charging", "outputs", "agent"), ("robots", "forms", "one"),
                                           ("bent_bodies", "states", "one")):
            problem = method_problems.ALL[name]()
            self.compare(problem, dump_of(problem, ROUNDS, "gaussian", placement, adjacency=adjacency), name)

    def test_both_drivers_give_the_same_bits(self):
        for name, placement in (("bent_bodies", "states"), ("squares_of_sums", "forms"), ("charging", "outputs"),
                                ("unlike_widths", "states"), ("bad_scales", "forms")):
            problem = method_problems.ALL[name]()
            small, large = (dump_of(problem, 40, "laplace", placement, driver=d) for d in ("small", "large"))
            for a, b in zip(small.rounds, large.rounds):
                for word in ("gains", "columns", "scalars", "x", "mu", "answer_x", "answer_mu"):
                    self.assertEqual(a[word].tobytes(), b[word].tobytes(), f"{name}: {word}")


def mechanisms(name, placement):
    """All of them in long tests; otherwise one for each problem and placement, and all for the paper's."""
    if ALL or (name, placement) == ("paper", "states"):
        return ("laplace", "gaussian", "none")
    if placement == "outputs" or name == "nothing_active":
        return ("none",)
    return ("gaussian",) if placement == "states" else ("laplace",)


def add_tests():
    for name, make in method_problems.ALL.items():
        for placement in placements(make()):
            for mechanism in mechanisms(name, placement):

                def test(self, name=name, mechanism=mechanism, placement=placement):
                    self.go_through(name, mechanism, placement)

                setattr(EveryRound, f"test_{name}_{mechanism}_{placement}", test)


class Derivatives(unittest.TestCase):
    """The reference's own: against differences."""

    def test_are_those_of_the_values(self):
        for make in method_problems.ALL.values():
            problem = make()
            random = np.random.default_rng(3)
            x = problem.lower + (problem.upper - problem.lower) * random.uniform(0.2, 0.8, problem.n)
            z, gradient, hessian = problem.inputs(x)
            value, first, second = problem.outer(z)
            along = random.normal(size=problem.n) * (problem.upper - problem.lower)
            step = 1e-6
            above, below = problem.inputs(x + step * along), problem.inputs(x - step * along)
            np.testing.assert_allclose((above[0] - below[0]) / (2 * step), gradient @ along, rtol=1e-5, atol=1e-5)
            for s, h in enumerate(hessian):
                curve = (above[1][s] - below[1][s]) / (2 * step)
                np.testing.assert_allclose(curve, 0 * along if h is None else h @ along, rtol=1e-4, atol=1e-5)
            dz = gradient @ along
            above, below = problem.outer(z + step * dz), problem.outer(z - step * dz)
            np.testing.assert_allclose((above[0] - below[0]) / (2 * step), first @ dz, rtol=1e-5, atol=1e-4)
            for j, h in enumerate(second):
                curve = (above[1][j] - below[1][j]) / (2 * step)
                np.testing.assert_allclose(curve, 0 * dz if h is None else h @ dz, rtol=1e-4, atol=1e-4)


class Scales(unittest.TestCase):
    def test_are_root_mean_squares_of_gradients(self):
        expected = {"paper": np.sqrt(np.array([2400, 2400, 2400, 803, 406, 1600]) / 3), "charging": 6**0.5 * np.ones(24)}
        for name, scale in expected.items():
            problem = method_problems.ALL[name]()
            with tempfile.TemporaryDirectory() as folder:
                path = method_dump.write_problem(folder, problem.text, problem.files)
                dump = method_dump.run(path, 1, "laplace", "states")
                np.testing.assert_allclose(dump.facts["row_scale"], scale, rtol=1e-3)  # by quadrature


add_tests()

if __name__ == "__main__":
    unittest.main()
