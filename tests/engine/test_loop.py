"""Stability of the linearised loop of the method `tacit` (docs/proofs/method.md, section 4): the criterion in closed form
against roots, and whole loops whose parts do not commute against eigenvalues. Fixed seeds."""
# labels: once

import unittest

import numpy as np


def mode(s, window, kappa, eta):
    """The characteristic polynomial of a mode, highest power first. window: 1 - beta."""
    base = np.polymul(np.polymul([1, -s], [1, -1]), [1, -window])
    lead = s * kappa * np.array([2, -(1 + window), 0])
    bend = s * eta * (1 - window) * np.array([1, -1, 0])
    return np.polyadd(base, np.polyadd(lead, bend))


def largest_root(polynomial):
    return max(abs(np.roots(polynomial)))


def loop(jacobian, objective, bend, steps, beta, theta):
    """One round as a matrix: (x, y, mu) to (x, y, mu), y as it was before the round. steps: primal, and dual by row."""
    m, n = jacobian.shape
    primal, dual = steps
    identity, zero = np.eye(n), np.zeros
    filtered = np.hstack([beta * identity, (1 - beta) * identity, zero((n, m))])
    change = dual[:, None] * jacobian @ filtered
    moved = np.hstack([zero((m, n)), zero((m, n)), np.eye(m)]) + change
    led = moved + theta * change
    price = jacobian.T @ led + bend @ filtered
    state = np.hstack([identity, zero((n, n)), zero((n, m))])
    proximal = np.linalg.solve(identity + primal * objective, state - primal * price)
    return np.vstack([proximal, filtered, moved])


def positive(random, n, rank, size):
    a = random.standard_normal((n, rank))
    return size * a @ a.T / rank


def strides(jacobian, most):
    reach = abs(jacobian).sum(axis=1)
    return np.minimum(most, reach.max() / reach)


class Modes(unittest.TestCase):
    def test_every_window_is_stable_within_the_steps(self):
        random = np.random.default_rng(1)
        for _ in range(4000):
            s = random.uniform(0, 1) ** random.choice([0.1, 1, 3])
            window = random.uniform(0, 1) ** random.choice([0.1, 1, 3])
            eta = random.uniform(0, 0.9)
            kappa = random.uniform(1e-3, 1) * (0.81 - 0.9 * eta + 1e-6)
            self.assertLess(largest_root(mode(s, window, kappa, eta)), 1, (s, window, kappa, eta))

    def test_the_criterion_without_bends_is_sharp(self):
        random = np.random.default_rng(2)
        for _ in range(1000):
            s, window = random.uniform(0.05, 1), random.uniform(0, 0.99)
            most = 2 * (1 + s) * (1 + window) / (s * (3 + window))
            most = min(most, (1 + s) * (1 + window) * (1 - s * window) / (s * (1 + window - 2 * s * window)))
            self.assertLess(largest_root(mode(s, window, most * 0.999, 0)), 1)
            self.assertGreater(largest_root(mode(s, window, most * 1.001, 0)), 1)

    def test_too_little_lead_is_unstable_with_linear_agents(self):
        for beta in (0.9, 0.5, 1 / 3, 0.1, 0.02):
            for kappa in (1e-3, 0.1, 0.8):
                base = np.polymul(np.polymul([1, -1], [1, -1]), [1, -(1 - beta)])
                for share, stable in ((0.95, False), (1.05, True)):
                    lead = share * (1 - beta)  # beta theta
                    if kappa * (beta + lead) + kappa * lead > 2 * (2 - beta):
                        continue
                    polynomial = np.polyadd(base, kappa * np.array([beta + lead, -lead, 0]))
                    self.assertEqual(largest_root(polynomial) < 1, stable, (beta, kappa, share))


class Loops(unittest.TestCase):
    def test_longer_steps_of_short_rows_keep_the_norm(self):
        random = np.random.default_rng(4)
        for _ in range(300):
            m, n = random.integers(1, 8, 2)
            jacobian = random.standard_normal((m, n)) * 10 ** random.uniform(-2, 2, (m, 1))
            stride = strides(jacobian, random.choice([1, 25, 1e6]))
            bound = np.sqrt(abs(jacobian).sum(axis=0).max() * abs(jacobian).sum(axis=1).max())
            self.assertLessEqual(np.linalg.norm(np.sqrt(stride)[:, None] * jacobian, 2), bound * (1 + 1e-12))

    def test_loops_whose_parts_do_not_commute_are_stable(self):
        random = np.random.default_rng(3)
        for _ in range(400):
            n, m = random.integers(1, 7), random.integers(1, 5)
            jacobian = random.standard_normal((m, n)) * 10 ** random.uniform(-1, 1, (1, n))
            jacobian *= 10 ** random.uniform(-2, 2, (m, 1)) if random.random() < 0.5 else 1
            objective = positive(random, n, random.integers(1, n + 1), 10 ** random.uniform(-3, 3))
            bend = positive(random, n, random.integers(1, n + 1), random.choice([0, 0.01, 1, 100]))
            omega, decay = 10 ** random.uniform(-3, 3), random.uniform(0.01, 1)
            beta = max(decay / 3, random.choice([0, 0.1, 0.5, 1]))
            size = np.sqrt(abs(jacobian).sum(axis=0).max() * abs(jacobian).sum(axis=1).max())
            largest = abs(bend).sum(axis=0).max()
            steps = decay * 0.9 / (size * omega + largest), decay * 0.9 * omega / size * strides(jacobian, random.choice([1, 25]))
            matrix = loop(jacobian, objective, bend, steps, beta, 1 + 2 * (1 - beta) / beta)
            values = np.linalg.eigvals(matrix)
            # what no constraint sees stays where it is: its eigenvalues 1 are no loop
            self.assertLess(max(abs(values)), 1 + 1e-9)
            at_one = abs(values - 1) < 1e-9
            self.assertLessEqual(max(abs(values[~at_one]), default=0), 1)


if __name__ == "__main__":
    unittest.main()
