"""Random convex problems, solved by the command and, independently, by scipy.

Each problem is made twice: as a text for the command, and as Python functions. Checked are the optimality conditions of
the command's answer (multipliers of the agents' own sets found anew by non-negative least squares), its objective
against scipy's SLSQP from several starts, its point where the objective is strictly convex, and its multipliers where
the active gradients are independent."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from scipy.optimize import minimize, nnls

TACIT = os.environ.get("TACIT", "build/dev/tacit")


def number(value):
    return repr(float(value))


def vector(values):
    return "[" + ", ".join(number(v) for v in values) + "]"


def matrix(rows):
    return "[" + ", ".join(vector(row) for row in rows) + "]"


class Rows:
    """Local constraints h(x) <= 0 or == 0 of the whole vector, as (function, gradient, is_equality)."""

    def __init__(self):
        self.list = []

    def linear(self, indices, normal, bound, equality=False):
        def value(x):
            return normal @ x[indices] - bound

        def gradient(x):
            out = np.zeros(len(x))
            out[indices] = normal
            return out

        self.list.append((value, gradient, equality))

    def quadratic(self, indices, center, form, radius):
        def value(x):
            d = x[indices] - center
            return d @ form @ d - radius

        def gradient(x):
            out = np.zeros(len(x))
            out[indices] = 2 * form @ (x[indices] - center)
            return out

        self.list.append((value, gradient, False))


class Problem:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.text = ""
        self.files = {}
        self.names = []  # (agent, dimension)
        self.terms = []  # objective terms of x
        self.lower, self.upper, self.inner = [], [], []
        self.rows = Rows()
        self.constraints = []
        self.strict = True

    def block(self, dim, lower, upper):
        first = len(self.inner)
        inner = self.random.uniform(lower + 0.25 * (upper - lower), upper - 0.25 * (upper - lower), dim)
        self.inner += list(inner)
        self.lower += [lower] * dim
        self.upper += [upper] * dim
        return np.arange(first, first + dim), inner

    def objective(self, kind, at, dim):
        random = self.random
        if kind == "quadratic":
            root = random.normal(size=(dim, dim))
            form, goal = root @ root.T + 0.5 * np.eye(dim), random.uniform(-3, 3, dim)
            self.terms.append(lambda x: (x[at] - goal) @ form @ (x[at] - goal))
            return f"quadform(x - {vector(goal)}, {matrix(form)})"
        if kind == "log":
            weight = random.uniform(0.5, 2, dim)
            self.terms.append(lambda x: -np.sum(weight * np.log(x[at] + 3.5)))
            return " - ".join(["0"] + [f"{number(w)} * log(x[{c + 1}] + 3.5)" for c, w in enumerate(weight)])
        if kind == "exp":
            slope, goal = random.uniform(0.3, 1, dim), random.uniform(0.5, 2, dim)
            self.terms.append(lambda x: np.sum(np.exp(slope * x[at]) - goal * x[at]))
            parts = [f"exp({number(s)} * x[{c + 1}]) - {number(g)} * x[{c + 1}]"
                     for c, (s, g) in enumerate(zip(slope, goal))]
            return " + ".join(parts)
        if kind == "quartic":
            goal = random.uniform(-2, 2, dim)
            self.strict = False
            self.terms.append(lambda x: np.sum((x[at] - goal) ** 2) ** 2)
            return f"sumsq(x - {vector(goal)})^2"
        if kind == "logsumexp":
            goal = random.uniform(-1, 1, dim)
            self.terms.append(lambda x: np.log(np.sum(np.exp(x[at] - goal))) + 0.5 * np.sum(x[at] ** 2))
            return f"logsumexp(x - {vector(goal)}) + 0.5 * sumsq(x)"
        if kind == "huber":
            goal = random.uniform(-3, 3, dim)
            self.strict = False

            def huber(x):
                d = x[at] - goal
                size = np.where(d.real >= 0, d, -d)
                return np.sum(np.where(np.abs(d.real) <= 1, d * d / 2, size - 0.5))

            self.terms.append(huber)
            return " + ".join(f"huber(x[{c + 1}] - {number(g)}, 1)" for c, g in enumerate(goal))
        slope = random.normal(size=dim)
        self.strict = False
        self.terms.append(lambda x: slope @ x[at])
        return f"dot({vector(slope)}, x)"

    def set(self, kind, at, inner):
        random, dim = self.random, len(at)
        center = inner + random.uniform(-0.5, 0.5, dim)
        if kind == "halfspace":
            normal = random.normal(size=dim)
            bound = normal @ inner + 0.2
            self.rows.linear(at, normal, bound)
            return f"private set dot({vector(normal)}, x) <= {number(bound)}\n"
        if kind == "equality":
            bound = float(np.sum(inner))
            self.rows.linear(at, np.ones(dim), bound, True)
            return f"private set sum(x) == {number(bound)}\n"
        if kind == "ball":
            radius = np.linalg.norm(inner - center) + 0.4
            self.rows.quadratic(at, center, np.eye(dim), radius**2)
            return f"private set norm(x - {vector(center)}) <= {number(radius)}\n"
        if kind == "ball1":
            radius = np.sum(np.abs(inner - center)) + 0.4
            for signs in range(2**dim):
                sign = np.array([1.0 if signs >> c & 1 else -1.0 for c in range(dim)])
                self.rows.linear(at, sign, radius + sign @ center)
            return f"private set norm1(x - {vector(center)}) <= {number(radius)}\n"
        if kind == "ellipsoid":
            root = random.normal(size=(dim, dim))
            form = root @ root.T + 0.5 * np.eye(dim)
            radius = (inner - center) @ form @ (inner - center) + 0.4
            self.rows.quadratic(at, center, form, radius)
            return f"private set quadform(x - {vector(center)}, {matrix(form)}) <= {number(radius)}\n"
        if kind == "simplex":
            self.rows.linear(at, np.ones(dim), 2.0, True)
            for c in range(dim):
                self.rows.linear(at[c : c + 1], np.array([-1.0]), 0.0)
            share = random.uniform(0.2, 1, dim)
            for c in range(dim):
                self.inner[at[c]] = 2 * share[c] / share.sum()
            return "private set x in simplex(2)\n"
        return ""

    def agent(self, objective, sets=(), dim=2):
        name = f"a{len(self.names) + 1}"
        at, inner = self.block(dim, -3.0, 3.0)
        text = f"agent {name} {{\nstate x[{dim}] in [-3, 3]\n"
        for kind in sets:
            text += self.set(kind, at, inner)
        text += f"private minimize {self.objective(objective, at, dim)}\n}}\n"
        self.text += text
        self.names.append((name, at))

    def family(self, count):
        goal, need = self.random.uniform(-2, 2, (count, 2)), np.zeros(count)
        ats = []
        for k in range(count):
            at, inner = self.block(2, -3.0, 3.0)
            ats.append(at)
            need[k] = inner.sum() - 0.3
            self.rows.linear(at, -np.ones(2), -need[k])
            self.names.append((f"home[{k + 1}]", at))
            self.terms.append(lambda x, at=at, k=k: np.sum((x[at] - goal[k]) ** 2) + np.exp(0.5 * x[at[0]]))
        rows = ["need,goal_1,goal_2"] + [f"{need[k]!r},{goal[k, 0]!r},{goal[k, 1]!r}" for k in range(count)]
        self.files["homes.csv"] = "\n".join(rows) + "\n"
        self.text += """data homes = csv "homes.csv"
agents home over homes {
  state x[2] in [-3, 3]
  private set sum(x) >= need
  private minimize sumsq(x - goal) + exp(0.5 * x[1])
}
"""
        return ats

    def constrain(self, function, text, room):
        """function(x) <= its value at the inner point plus room."""
        bound = float(function(np.array(self.inner)) + room)
        name = f"c{len(self.constraints) + 1}"
        self.constraints.append(lambda x: function(x) - bound)
        self.text += f"constraint {name}: {text} <= {number(bound)}\n"

    def couple_linear(self, room=0.3):
        weights = [self.random.normal(size=len(at)) for _, at in self.names]
        parts = [f"dot({vector(w)}, {name}.x)" for w, (name, _) in zip(weights, self.names)]
        pairs = list(zip(weights, [at for _, at in self.names]))
        self.constrain(lambda x: sum(w @ x[at] for w, at in pairs), " + ".join(parts), room)

    def couple_squares(self, room=0.5):
        self.constrain(lambda x: x @ x, " + ".join(f"sumsq({name}.x)" for name, _ in self.names), room)

    def couple_exponentials(self, room=0.5):
        parts = " + ".join(f"exp({name}.x[1])" for name, _ in self.names)
        firsts = [at[0] for _, at in self.names]
        self.constrain(lambda x: np.sum(np.exp(x[firsts])), parts, room)

    def couple_differences(self, room=0.3):
        for (one, at), (other, to) in zip(self.names, self.names[1:]):
            self.constrain(lambda x, at=at, to=to: np.sum((x[at] - x[to]) ** 2), f"sumsq({one}.x - {other}.x)", room)

    def couple_curved(self, room=0.5):
        seconds = [at[1] for _, at in self.names]
        total = " + ".join(f"{name}.x[2]" for name, _ in self.names)
        self.constrain(lambda x: np.sum(x[seconds] - 1) ** 2, f"({total} - {len(seconds)})^2", room)


def value(problem, x):
    return sum(term(x) for term in problem.terms)


def derivative(function, x):
    """By complex steps: exact to rounding."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        point = x.astype(complex)
        point[i] += 1e-30j
        out[i] = np.imag(function(point)) / 1e-30
    return out


def solve_with_scipy(problem):
    bounds = list(zip(problem.lower, problem.upper))
    rules = [{"type": "ineq", "fun": lambda x, g=g: -g(x), "jac": lambda x, g=g: -derivative(g, x)}
             for g in problem.constraints]
    for h, gradient, equality in problem.rows.list:
        rules.append({"type": "eq" if equality else "ineq", "fun": lambda x, h=h: -h(x),
                      "jac": lambda x, gradient=gradient: -gradient(x)})
    best, point = np.inf, None
    for start in range(3):
        first = np.array(problem.inner) + problem.random.uniform(-0.2, 0.2, len(problem.inner)) * (start > 0)
        found = minimize(lambda x: value(problem, x), np.clip(first, problem.lower, problem.upper),
                         jac=lambda x: derivative(lambda y: value(problem, y), x), bounds=bounds, constraints=rules,
                         method="SLSQP", options={"ftol": 1e-15, "maxiter": 2000})
        violation = max([0] + [g(found.x) for g in problem.constraints]
                        + [abs(h(found.x)) if e else h(found.x) for h, _, e in problem.rows.list])
        if violation < 1e-7 and found.fun < best:
            best, point = found.fun, found.x
    return best, point


def solve_with_tacit(problem, folder):
    for name, text in problem.files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    path = os.path.join(folder, "problem.tacit")
    with open(path, "w") as file:
        file.write(problem.text)
    done = subprocess.run([TACIT, "solve", path, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr + problem.text
    answer = json.loads(done.stdout)
    x = np.zeros(len(problem.inner))
    for name, at in problem.names:
        x[at] = answer["x"][name]
    return answer, x, np.array(answer["mu"])


class Independent(unittest.TestCase):
    def check(self, problem):
        with tempfile.TemporaryDirectory() as folder:
            answer, x, mu = solve_with_tacit(problem, folder)
        self.assertEqual(answer["status"], "solved", problem.text)
        self.assertLessEqual(answer["residual"], 1e-8)
        self.assertAlmostEqual(answer["objective"], value(problem, x), delta=1e-9 * (1 + abs(value(problem, x))))
        self.check_conditions(problem, x, mu)
        best, point = solve_with_scipy(problem)
        scale = 1 + abs(best)
        self.assertLessEqual(answer["objective"], best + 1e-6 * scale, "scipy found a better point")
        if np.isfinite(best):
            self.assertGreaterEqual(answer["objective"], best - 1e-5 * scale, "scipy says this cannot be")
            if problem.strict:
                np.testing.assert_allclose(x, point, atol=2e-3)

    def check_conditions(self, problem, x, mu):
        """Feasible, complementary, and -grad L in the cone of the active gradients of the agents' sets."""
        g = np.array([constraint(x) for constraint in problem.constraints])
        self.assertTrue(np.all(g <= 1e-8) and np.all(mu >= 0))
        self.assertLessEqual(np.max(np.minimum(mu, -g), initial=0), 1e-7)
        cone = []
        for i in range(len(x)):
            unit = np.zeros(len(x))
            self.assertTrue(problem.lower[i] <= x[i] <= problem.upper[i])
            if x[i] < problem.lower[i] + 1e-6:
                unit[i] = -1
                cone.append(unit)
            elif x[i] > problem.upper[i] - 1e-6:
                unit[i] = 1
                cone.append(unit)
        for h, gradient, equality in problem.rows.list:
            self.assertLessEqual(abs(h(x)) if equality else h(x), 1e-9)
            if h(x) > -1e-6:
                cone.append(gradient(x))
            if equality:
                cone.append(-gradient(x))
        slope = derivative(lambda y: value(problem, y), x)
        jacobian = [derivative(constraint, x) for constraint in problem.constraints]
        total = slope + sum(m * row for m, row in zip(mu, jacobian))
        columns = np.array(cone).T if cone else np.zeros((len(x), 1))
        _, missing = nnls(columns, -total)
        self.assertLessEqual(missing, 1e-6 * (1 + np.linalg.norm(slope)))
        self.check_multipliers(slope, jacobian, g, cone, mu)

    def check_multipliers(self, slope, jacobian, g, cone, mu):
        active = [j for j in range(len(g)) if g[j] > -1e-6]
        columns = [jacobian[j] for j in active] + cone
        if not columns:
            return
        columns = np.array(columns).T
        other, missing = nnls(columns, -slope)
        if missing > 1e-6 * (1 + np.linalg.norm(slope)):
            return  # scipy's active set differs by rounding; the conditions above have been checked
        if np.linalg.matrix_rank(columns, tol=1e-6) == columns.shape[1]:
            np.testing.assert_allclose(mu[active], other[: len(active)], atol=1e-4 * (1 + np.linalg.norm(mu)))
        else:
            self.assertLessEqual(np.linalg.norm(mu), np.linalg.norm(other[: len(active)]) + 1e-6)


def several(problem, kinds, sets=None):
    for i, kind in enumerate(kinds):
        problem.agent(kind, sets[i % len(sets)] if sets else ())


def quadratics(p):
    several(p, ["quadratic"] * 4)
    p.couple_linear()
    p.couple_linear()


def logarithms(p):
    several(p, ["log"] * 4)
    p.couple_linear()
    p.couple_squares()


def exponentials(p):
    several(p, ["exp"] * 4)
    p.couple_linear()
    p.couple_exponentials()


def quartics(p):
    several(p, ["quartic"] * 3)
    p.couple_linear(0.01)
    p.couple_squares(0.01)


def linear_program(p):
    several(p, ["linear"] * 4)
    for _ in range(4):
        p.couple_linear()


def linear_program_in_sets(p):
    several(p, ["linear"] * 4, [["halfspace"], ["simplex"], ["ball1"], ["equality"]])
    p.couple_linear()
    p.couple_linear()


def balls(p):
    several(p, ["quadratic", "linear", "exp"], [["ball"]])
    p.couple_linear()


def l1_balls(p):
    several(p, ["quadratic", "quadratic", "log"], [["ball1"]])
    p.couple_squares()


def ellipsoids(p):
    several(p, ["quadratic", "linear", "exp"], [["ellipsoid"]])
    p.couple_linear()


def simplices(p):
    several(p, ["quadratic", "log", "exp"], [["simplex"]])
    p.couple_linear()
    p.couple_squares()


def equal_sums(p):
    several(p, ["quadratic", "exp", "log"], [["equality"]])
    p.couple_linear()


def intersections(p):
    several(p, ["quadratic", "log", "linear"], [["ball", "halfspace"], ["ball1", "ellipsoid"], ["equality", "ball"]])
    p.couple_linear()


def csv_family(p):
    ats = p.family(12)
    p.constrain(lambda x: sum(x[at[0]] for at in ats), "sum(home: x[1])", -2.0)
    p.constrain(lambda x: sum(x[at] @ x[at] for at in ats), "sum(home: sumsq(x))", 0.2)


def curved_sums(p):
    ats = p.family(8)
    p.constrain(lambda x: (sum(x[at[0]] for at in ats) - 1) ** 2 + sum(x[at[1]] for at in ats) ** 2,
                "(sum(home: x[1]) - 1)^2 + sum(home: x[2])^2", 0.1)
    p.constrain(lambda x: np.log(sum(np.exp(x[at[0]]) for at in ats)), "log(sum(home: exp(x[1])))", 0.02)


def root_of_sum(p):
    ats = p.family(6)
    p.constrain(lambda x: (1 + sum(x[at] @ x[at] for at in ats)) ** 0.5, "sqrt(1 + sum(home: sumsq(x)))", 0.05)


def robots(p):
    several(p, ["quadratic", "quadratic", "exp", "quadratic"], [["ball"]])
    p.couple_differences(0.05)


def curved_outer(p):
    several(p, ["quadratic", "logsumexp", "log"], [[], ["halfspace"]])
    p.couple_curved(0.1)
    p.couple_linear()


def mixture(p):
    several(p, ["quadratic", "log", "exp", "quartic", "huber", "linear"],
            [["ball"], ["ball1"], [], ["ellipsoid"], ["halfspace"], ["simplex"]])
    p.couple_linear()
    p.couple_squares()
    p.couple_exponentials()


KINDS = [quadratics, logarithms, exponentials, quartics, linear_program, linear_program_in_sets, balls, l1_balls,
         ellipsoids, simplices, equal_sums, intersections, csv_family, curved_sums, root_of_sum, robots, curved_outer,
         mixture]


def add_tests():
    for kind in KINDS:
        for seed in (1, 2):

            def test(self, kind=kind, seed=seed):
                problem = Problem(1000 * KINDS.index(kind) + seed)
                kind(problem)
                self.check(problem)

            setattr(Independent, f"test_{kind.__name__}_{seed}", test)


add_tests()

if __name__ == "__main__":
    sys.exit(unittest.main())
