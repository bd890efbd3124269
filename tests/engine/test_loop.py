"""The loop of the method `tacit`. Linearised (docs/proofs/method.md, section 4): the criterion in closed form against
roots, and whole loops whose parts do not commute against eigenvalues. With steps that are held (section 6): the identity,
and the bound in the mean against simulated loops. Fixed seeds."""
# labels: once

import csv
import os
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


def largest_kappa(lag, left=0.75):
    return (1 + np.sqrt(left * lag)) ** 2 / ((1 + lag) * (1 + 2 * lag))


class Held:
    """Minimise sum |x - a| / 2 + (x - c)^2 on [0, 1]^n with J x <= b, in loops with steps p, q and beta."""

    modulus = 2.0

    def __init__(self, random, n, m):
        self.J = random.uniform(-0.4, 1, (m, n))
        self.a, self.c = random.uniform(0, 1, n), random.uniform(0.5, 1.5, n)
        self.b = self.J @ np.full(n, 0.3) + random.uniform(0.05, 0.4, m)
        self.radius = 30.0

    def proximal(self, x, price, p):
        weight = 1 / p + self.modulus
        smooth = (x / p + self.modulus * self.c - price) / weight - self.a
        return np.clip(self.a + np.sign(smooth) * np.maximum(abs(smooth) - 0.5 / weight, 0), 0, 1)

    def project(self, mu):
        """Onto mu >= 0, sum <= radius."""
        low, high = 0.0, max(mu.max(), 0) + 1
        if np.maximum(mu, 0).sum() <= self.radius:
            return np.maximum(mu, 0)
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(mu - middle, 0).sum() > self.radius else (low, middle)
        return np.maximum(mu - high, 0)

    def run(self, p, q, beta, rounds, noise):
        """Every round: x, mu, and the subgradients that its steps have taken."""
        theta = 1 + 2 * (1 - beta) / beta
        x, y, mu = np.full(len(self.c), 0.9), np.full(len(self.c), 0.9), np.zeros(len(self.b))
        for k in range(rounds):
            y = y + beta * (x + noise[k] - y)
            wanted = mu + q * (self.J @ y - self.b)
            moved = self.project(wanted)
            led = moved + theta * (moved - mu)
            after = self.proximal(x, self.J.T @ led, p)
            slope, normal = -(after - x) / p - self.J.T @ led, (wanted - moved) / q
            x, mu = after, moved
            yield x, mu, slope, normal

    def bound(self, p, q, beta, noise_square, share):
        upper, lower = np.ones(len(self.c)), np.zeros(len(self.c))
        return bound(self.J, most_of(self.J, self.b, lower, upper), (np.sqrt(len(self.c)), self.radius * np.sqrt(2)), p, q, beta,
                     noise_square, share)


def most_of(J, b, lower, upper):
    """The largest |J x - b| over a box."""
    up, down = np.maximum(J, 0), np.minimum(J, 0)
    return np.linalg.norm(np.maximum(abs(up @ upper + down @ lower - b), abs(up @ lower + down @ upper - b)))


def bound(J, most, widths, p, q, beta, noise_square, share):
    """B share + C q W; share is c_K / sum c_k. The filter begins without noise. widths: D_x and D_mu."""
    lag, v = (1 - beta) / beta, beta / (2 - beta)
    gamma, norm, (wide, wide_mu) = (1 + lag) * (1 + 2 * lag), np.linalg.norm(J, 2), widths
    B = ((1 + beta + beta**2) * wide**2 / (2 * p) + wide_mu**2 / (2 * q) + 2 * norm * wide * wide_mu / beta
         + 2 * gamma * q * (most**2 + v * noise_square) + lag * wide_mu * (most + 2 * np.sqrt(v * noise_square)))
    return B * share + (2 - beta) * (1 + beta + 2 * beta * v) * q * noise_square


class Mean(unittest.TestCase):
    def test_the_identity_and_what_it_leaves(self):
        random = np.random.default_rng(5)
        for _ in range(2000):
            n, m = random.integers(1, 5, 2)
            beta = random.uniform(0.01, 1)
            h = (1 - beta) / beta
            theta, gamma, s = 1 + 2 * h, (1 + h) * (1 + 2 * h), 1 / (1 + np.sqrt(0.75 * h))
            K = random.standard_normal((m, n))
            K *= np.sqrt(largest_kappa(h) * random.choice([0.01, 0.5, 1])) / np.linalg.norm(K, 2)
            X, X1, before, e, e_before = random.standard_normal((5, n))
            M, M1, M_before = random.standard_normal((3, m))
            y = (1 - beta) * before + beta * X
            y1 = (1 - beta) * y + beta * X1
            step, step1, delta, delta1 = M - M_before, M1 - M, y - before, y1 - y
            slope1 = -(X1 - X) - K.T @ (M1 + theta * step1)
            normal, normal1 = -step + K @ (before + e_before), -step1 + K @ (y + e)
            phi = slope1 @ X1 + normal1 @ M1 + (h + gamma) * normal1 @ step1 - gamma * normal @ step1

            def V(X, M, y, step, delta):
                return (X @ X / 2 + M @ M / 2 + (1 + h) * M @ K @ y + gamma * step @ step / 2 + s * gamma * step @ K @ delta
                        + (1 + h) * delta @ delta / 2)

            turn, bend = step1 - step, delta1 - delta
            R = (0.5 + h) * step1 @ step1 + (1 - s) * gamma * step1 @ K @ bend + h * (1 + h) * bend @ bend / 2
            S = gamma * turn @ turn / 2 - s * gamma * turn @ K @ delta + delta @ delta / 2
            xi = K @ e @ M1 + h * (K @ e) @ step1 + gamma * (K @ (e - e_before)) @ step1
            other = V(X, M, y, step, delta) - V(X1, M1, y1, step1, delta1) - R - S + xi
            self.assertLess(abs(phi - other), 1e-9 * (1 + gamma) * (1 + abs(phi)))
            self.assertGreaterEqual(R, (0.5 + h) / 4 * step1 @ step1 - 1e-9 * gamma)
            self.assertGreaterEqual(S, -1e-9 * gamma)

    def test_where_the_condition_holds_for_every_jacobian(self):
        for d, holds in ((0.27, True), (0.28, False), (0.1, True), (0.01, True), (1, False)):
            self.assertEqual(0.81 * d**2 <= largest_kappa(3 / d - 1), holds, d)
        self.assertGreater(largest_kappa(2), 0.40 * 0.81)

    def test_simulated_loops_are_within_the_bound(self):
        random, closest = np.random.default_rng(6), 0
        for trial in range(4):
            problem = Held(random, *random.integers(2, 5, 2))
            beta, deviation, rounds = (1, 0.3, 0.1, 0.03)[trial], random.choice([0.02, 0.3]), 1500
            kappa = 0.9 * largest_kappa((1 - beta) / beta) / np.linalg.norm(problem.J, 2) ** 2
            balance = 5.0
            p, q = np.sqrt(kappa) / balance, np.sqrt(kappa) * balance
            still = np.zeros((15000, len(problem.c)))
            for x_best, mu_best, _, _ in problem.run(p, q, beta, len(still), still):
                pass
            slope_best, normal_best = -problem.J.T @ mu_best, problem.J @ x_best - problem.b
            self.assertLess(max(normal_best.max(), abs(mu_best @ normal_best)), 1e-6)
            weights, found = np.arange(1.0, rounds + 1) * np.arange(2.0, rounds + 2), []
            for _ in range(4):
                noise = deviation * random.standard_normal((rounds, len(problem.c)))
                total = 0
                for k, (x, mu, slope, normal) in enumerate(problem.run(p, q, beta, rounds, noise)):
                    gap = (slope - slope_best) @ (x - x_best) + (normal - normal_best) @ (mu - mu_best)
                    self.assertGreaterEqual(gap, problem.modulus * (x - x_best) @ (x - x_best) - 1e-5)
                    total += weights[k] * gap
                found.append(total / weights.sum())
            noise_square = deviation**2 * (problem.J**2).sum()
            bound = problem.bound(p, q, beta, noise_square, weights[-1] / weights.sum())
            self.assertLess(np.mean(found), bound)
            closest = max(closest, np.mean(found) / bound)
        self.assertGreater(closest, 1e-3)  # the bound is large, but not without relation to what it bounds

    def test_what_it_says_of_the_network_with_the_best_steps(self):
        """The numbers of docs/proofs/method.md: examples/num.tacit as planned, and steps that nobody knows beforehand."""
        with open(os.path.join(os.environ.get("TACIT_SOURCE_DIR", "."), "examples/num_routes.csv"), encoding="utf-8") as file:
            J = np.array([[float(v) for v in row] for row in csv.reader(file)]) / 2  # S_j = 2
        b, n = np.array([10, 12, 8, 15, 10, 9]) / 2, J.shape[1]
        radius, variance, least_curvature = 100 / 3, 2 * 0.1**2, 0.4 / 10**2  # R'; Laplace 0.1; weight / rate^2
        wide = 9.9 * np.sqrt(n)
        most, noise_square, norm = most_of(J, b, np.full(n, 0.1), np.full(n, 10.0)), variance * (J**2).sum(), np.linalg.norm(J, 2)

        def least(rounds, wide_mu):
            found = np.inf
            for d in np.geomspace(1e-3, 1, 60):
                root = np.sqrt(min(0.81 * d**2, largest_kappa(3 / d - 1))) / norm
                for omega in np.geomspace(1e-3, 10, 80):
                    found = min(found, bound(J, most, (wide, wide_mu), root / omega, root * omega, d / 3, noise_square, 3.4 / rounds))
            return found

        for rounds, gap, distance in ((2000, 54, 116), (100000, 1.1, 17)):
            found = least(rounds, np.sqrt(2) * radius)
            self.assertAlmostEqual(found / gap, 1, delta=0.05)
            self.assertAlmostEqual(np.sqrt(found / least_curvature) / distance, 1, delta=0.05)


if __name__ == "__main__":
    unittest.main()
