"""Reference solutions of problems with huber(u, d), for d from 1 to 1e-8, against solutions that are known before the
problem is: a point is drawn, and linear terms are chosen so that the point is the only solution. Far from the bend of
huber its curvature is 0, and near it the curvature is large: Newton's method alone does not find its way."""
# labels: not-clang
import json
import os
import random
import subprocess
import sys
import tempfile

TACIT = os.environ["TACIT"]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def number(value):
    return repr(float(value))


def vector(values):
    return "[" + ", ".join(number(v) for v in values) + "]"


def row(r, n):
    return [r.choice([-2, -1, -0.5, 0.5, 1, 2]) for _ in range(n)]


def slope(u, d):
    return max(-d, min(d, u))


class Agent:
    """Huber terms, some with the solution inside the bend and some with it far outside. Without squares, every state
    has a term with the solution inside: it is the only one then."""

    def __init__(self, r, name, d, weight, width):
        self.name, self.d, self.weight, self.width = name, d, weight, width
        self.n = r.choice([1, 3, 10])
        self.x = [r.uniform(-0.7, 0.7) * width for _ in range(self.n)]
        self.slope = [0.0] * self.n
        self.terms = []
        r.choice([self.alone, self.lasso, self.regression, self.variation])(r)

    def huber(self, a, u):
        """A term whose argument a.x + b is u at the solution."""
        self.terms.append(f"{number(self.weight)} * huber(dot({vector(a)}, x) + {number(u - dot(a, self.x))}, "
                          f"{number(self.d)})")
        self.add(a, self.weight * slope(u, self.d))

    def add(self, a, factor):
        self.slope = [s + factor * v for s, v in zip(self.slope, a)]

    def unit(self, c):
        return [1.0 if i == c else 0.0 for i in range(self.n)]

    def squares(self, r):
        factor = self.weight * self.d / self.width
        center = [r.uniform(-1, 1) * self.width for _ in self.x]
        self.terms.append(f"{number(factor)} * sumsq(x - {vector(center)})")
        self.slope = [s + 2 * factor * (x - c) for s, x, c in zip(self.slope, self.x, center)]

    def alone(self, r):
        for c in range(self.n):
            self.huber(self.unit(c), r.uniform(-0.9, 0.9) * self.d)

    def lasso(self, r):
        for c in range(self.n):
            if r.random() < 0.5:
                self.x[c] = r.uniform(-0.9, 0.9) * min(self.d, 0.7 * self.width)
        self.squares(r)
        for c in range(self.n):
            self.huber(self.unit(c), self.x[c])

    def regression(self, r):
        self.alone(r)
        for _ in range(self.n):
            self.huber(row(r, self.n), r.choice([-1, 1]) * r.uniform(0.1, 1) * self.width)

    def variation(self, r):
        self.squares(r)
        for c in range(self.n - 1):
            a = [v - w for v, w in zip(self.unit(c + 1), self.unit(c))]
            self.huber(a, dot(a, self.x) if r.random() < 0.5 else r.uniform(-0.9, 0.9) * self.d)

    def text(self):
        linear = f"dot({vector([-s for s in self.slope])}, x)"
        return (f"agent {self.name} {{\n  state x[{self.n}] in [{number(-self.width)}, {number(self.width)}]\n"
                f"  private minimize {' + '.join(self.terms)} + {linear}\n}}\n")


def problem(seed):
    r = random.Random(seed)
    width = r.choice([1, 10, 1000])
    d = width * 10.0 ** -r.randint(0, 7)
    weight = r.choice([1, 1 / d, 100 / d])
    agents = [Agent(r, f"a{i}", d, weight, width) for i in range(r.choice([1, 2, 5]))]
    text = ""
    kind = r.choice(["none", "affine", "equality", "curved"])
    price = r.uniform(0.1, 2) * weight * d
    if kind in ("affine", "equality"):
        rows = [row(r, a.n) for a in agents]
        value = sum(dot(v, a.x) for v, a in zip(rows, agents))
        for v, a in zip(rows, agents):
            a.add(v, price)
        sides = " + ".join(f"dot({vector(v)}, {a.name}.x)" for v, a in zip(rows, agents))
        text = f"constraint c: {sides} {'<=' if kind == 'affine' else '=='} {number(value)}\n"
    elif kind == "curved":
        for a in agents:
            a.add(a.x, 2 * price / width)
        sides = " + ".join(f"sumsq({a.name}.x)" for a in agents)
        text = f"constraint c: ({sides}) / {number(width)} <= {number(sum(dot(a.x, a.x) for a in agents) / width)}\n"
    return agents, "".join(a.text() for a in agents) + text


def solve(text, folder, may_be_inaccurate=False):
    path = os.path.join(folder, "problem.tacit")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([TACIT, "solve", path, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or may_be_inaccurate, f"exit code {done.returncode}\n{done.stderr}\n{done.stdout[:400]}\n{text}"
    return json.loads(done.stdout)


def check_random_problems(folder):
    for seed in range(80):
        agents, text = problem(seed)
        # A bend this narrow holds all of the solution: its multipliers may stay open, its states may not.
        found = solve(text, folder, may_be_inaccurate=agents[0].d < 1e-5 * agents[0].width)
        for agent in agents:
            for c, (x, y) in enumerate(zip(found["x"][agent.name], agent.x)):
                assert abs(x - y) <= 1e-7 * agent.width, f"seed {seed}: {agent.name}.x[{c + 1}]: {x}, not {y}\n{text}"


def check_family(folder):
    """Forty members give up the same share, half of d: the price of the budget is the slope of all of them."""
    r = random.Random(1)
    wishes = [r.uniform(2, 9) for _ in range(40)]
    with open(os.path.join(folder, "homes.csv"), "w", encoding="utf-8") as file:
        file.write("name,wish\n" + "".join(f"h{i},{number(w)}\n" for i, w in enumerate(wishes)))
    for d in (1.0, 1e-2, 1e-4, 1e-6):
        cut = 0.5 * d
        text = ('data homes = csv "homes.csv"\nagents home over homes {\n  state x in [-100, 100]\n'
                f"  private minimize huber(x - wish, {number(d)}) / {number(d)}\n}}\n"
                f"constraint budget: sum(home: x) <= {number(sum(wishes) - 40 * cut)}\n")
        found = solve(text, folder)
        assert abs(found["mu"][0] - 0.5) <= 1e-6, f"d = {d}: {found['mu']}"
        for i, wish in enumerate(wishes):
            x = found["x"][f"h{i}"][0]
            assert abs(x - (wish - cut)) <= 1e-7, f"d = {d}: {x}, not {wish - cut}"


def check_not_lifted(folder):
    """x^2 - huber(x - 1, 0.5) is convex, though huber is not added: at -0.25 its slope is 2 x + 0.5 = 0."""
    found = solve("agent a {\n  state x in [-10, 10]\n  private minimize x^2 - huber(x - 1, 0.5)\n}\n", folder)
    assert abs(found["x"]["a"][0] + 0.25) <= 1e-9, found


def check_run(folder):
    """Agents that minimise huber themselves come to the solution, in a box, above a sum and in a ball."""
    text = """agent a {
  state x[3] in [-10, 10]
  private minimize sumsq(x - [1, 4, -3]) + 2 * sum(huber(x, 0.01)) / 0.01
}
agent b {
  state x[3] in [-10, 10]
  private minimize sum(huber(x - [3, 2, 1], 0.01)) / 0.01 + sumsq(x) / 20
  private set sum(x) >= 3
}
agent c {
  state x[3] in [-10, 10]
  private minimize sum(huber([[1, 2, 3], [2, 1, 0.5], [1, -1, 2]] * x - [3, 2, 1], 0.01)) + sumsq(x) / 10
  private set sumsq(x) <= 40
}
constraint total[i in 1..3]: a.x[i] + b.x[i] + c.x[i] <= 1.5
dual radius 50
"""
    solved = solve(text, folder)
    command = [TACIT, "run", os.path.join(folder, "problem.tacit"), "--mechanism", "none", "--rounds", "5000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ran = json.loads(done.stdout)
    for name, x in solved["x"].items():
        for c, (is_now, is_right) in enumerate(zip(ran["x"][name], x)):
            assert abs(is_now - is_right) <= 0.01, f"{name}.x[{c + 1}]: {is_now}, not {is_right}"


def check_long_run(folder):
    """Slopes of 1e5 within 1e-5, and many minimisers: no step of thousands goes astray."""
    for seed in range(3):
        r = random.Random(seed)
        terms = [f"{w} * sum(huber(x - {vector([r.gauss(0, 0.1) for _ in range(10)])}, 1e-5)) / 1e-5" for w in (1, 2, 1.7)]
        text = (f"agent a {{\n  state x[10] in [-1, 1]\n  private minimize {' + '.join(terms)}\n"
                "  private set sum(x) >= 1\n}\nconstraint c: sumsq(a.x) <= 2.5\ndual radius 50\n")
        solve(text, folder)
        command = [TACIT, "run", os.path.join(folder, "problem.tacit"), "--mechanism", "none", "--rounds", "2000", "--json"]
        ran = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        assert ran["final"]["x_error"] <= 1e-4, f"seed {seed}: {ran['final']}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_random_problems(folder)
        check_family(folder)
        check_not_lifted(folder)
        check_run(folder)
        check_long_run(folder)
    print("problems with huber: as they were made")
    return 0


if __name__ == "__main__":
    sys.exit(main())
