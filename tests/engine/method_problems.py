"""Problems for method_reference.py, each twice: as a text for the product, and as functions with their derivatives
written out by hand."""

import csv
import math
import os

import numpy as np

import method_agents as agents

SOURCE = os.environ.get("TACIT_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))


class Problem:
    """Coordinates are numbered as they are added; inputs and rows too."""

    def __init__(self, text, files=None):
        self.text, self.files = text, files or {}
        self.coords, self.at, self.solvers, self.blocks = [], {}, [], []
        self.lower, self.upper, self.start, self.slater, self.gaps = [], [], [], [], []
        self.bodies, self.single, self.outers, self.start_multipliers = [], [], [], []
        self.equal = []  # by row
        self.radius = None  # where the text gives one

    def agent(self, name, states, lower, upper, solve, gap=100.0, slater=0.0, start=None):
        """states: names of its components."""
        dim, first = len(states), len(self.coords)
        spread = [np.broadcast_to(np.array(v, float), dim) for v in (lower, upper, slater)]
        given = np.broadcast_to(np.array(0.0 if start is None else start, float), dim)
        for c, state in enumerate(states):
            self.at[f"{name}.{state}"] = first + c
            self.coords.append(f"{name}.{state}")
        self.lower += list(spread[0])
        self.upper += list(spread[1])
        self.slater += list(spread[2])
        self.start += list(np.clip(given, spread[0], spread[1]))
        self.gaps.append(gap)
        self.blocks.append(slice(first, first + dim))
        self.solvers.append(solve)
        return np.arange(first, first + dim)

    def done(self):
        for name in ("lower", "upper", "start", "slater"):
            setattr(self, name, np.array(getattr(self, name), float))
        self.n = len(self.coords)
        for block, solve in zip(self.blocks, self.solvers):  # into X_i: the nearest point
            self.start[block] = nearest(solve, self.start[block])
        return self

    # ---- g ----

    def coordinate(self, c):
        def body(x, n):
            gradient = np.zeros(n)
            gradient[c] = 1
            return x[c], gradient, None

        self.bodies.append(body)
        self.single.append(True)
        return len(self.bodies) - 1

    def linear_sum(self, at, weights):
        at, weights = np.array(at), np.broadcast_to(np.array(weights, float), len(at))

        def body(x, n):
            gradient = np.zeros(n)
            gradient[at] = weights
            return weights @ x[at], gradient, None

        self.bodies.append(body)
        self.single.append(False)
        return len(self.bodies) - 1

    def curved_sum(self, members, function):
        """function(k, x of members[k]) -> value, gradient, Hessian"""

        def body(x, n):
            value, gradient, hessian = 0.0, np.zeros(n), np.zeros((n, n))
            for k, at in enumerate(members):
                v, d, h = function(k, x[at])
                value += v
                gradient[at] += d
                hessian[np.ix_(at, at)] += h
            return value, gradient, hessian

        self.bodies.append(body)
        self.single.append(False)
        return len(self.bodies) - 1

    def row(self, inputs, function, start=0.0, equal=False):
        """function(z of inputs) -> value, gradient, Hessian (None: affine); g_j <= 0, or g_j == 0"""
        self.equal.append(equal)
        self.outers.append((np.array(inputs), function))
        self.start_multipliers.append(start)

    def inputs(self, x):
        found = [body(x, self.n) for body in self.bodies]
        return np.array([f[0] for f in found]), np.array([f[1] for f in found]), [f[2] for f in found]

    def outer(self, z):
        m, count = len(self.outers), len(z)
        value, first, second = np.zeros(m), np.zeros((m, count)), [None] * m
        for j, (at, function) in enumerate(self.outers):
            value[j], first[j, at], h = function(z[at])
            if h is not None:
                second[j] = np.zeros((count, count))
                second[j][np.ix_(at, at)] = h
        return value, first, second

    def constraints(self, x):
        return self.outer(self.inputs(x)[0])[0]

    def is_affine(self, placement):
        z, _, curved = self.inputs(self.slater)
        return all(h is None for h in curved) and (placement == "forms" or all(h is None for h in self.outer(z)[2]))

    def affine(self, placement):
        """What is observed as forms . x + offset."""
        zero = np.zeros(self.n)
        value, gradient, _ = self.inputs(zero)
        if placement == "forms":
            return gradient, value
        value, first, _ = self.outer(value)
        return first @ gradient, value

    # ---- agents ----

    def proximal(self, x, p, steps, regularization):
        """steps: by coordinate."""
        out = np.empty(self.n)
        for block, solve in zip(self.blocks, self.solvers):
            out[block] = solve(p[block] - x[block] / steps[block], regularization + 1 / steps[block])
        return out


def nearest(solve, x):
    """A strong pull makes the objective vanish."""
    if getattr(solve, "start", None) is not None:
        return np.array(solve.start, float)
    return x


def affine_row(weights, bound):
    weights = np.array(weights, float)
    return lambda z: (weights @ z - bound, weights, None)


def squares_row(bound, weights=None, extra=None):
    """sum w z^2 + extra.z - bound"""

    def function(z):
        w = np.ones(len(z)) if weights is None else np.array(weights, float)
        e = np.zeros(len(z)) if extra is None else np.array(extra, float)
        return w @ z**2 + e @ z - bound, 2 * w * z + e, np.diag(2 * w)

    return function


# ---- the examples --------------------------------------------------------------------------------------------------


def example(name):
    with open(os.path.join(SOURCE, "examples", name)) as file:
        return file.read()


def pair(name):
    return [f"{name}[1]", f"{name}[2]"]


def paper():
    p = Problem(example("paper.tacit"))
    gaps = [20, 0, 98, 20, 324, 20, 20, 49, 20, 4096]
    goals = {2: (1, [0, 0]), 3: (1, [-7, 7]), 8: (1, [-7, 0])}
    for i in range(1, 11):
        if i in goals:
            solve = agents.quadratic(*goals[i], -10, 10)
        elif i in (5, 10):  # norm^4 = (norm^2)^2
            solve = agents.radial(lambda w: 2 * w, [-3, -3] if i == 5 else [0, 8], -10, 10)
        else:
            solve = agents.linear([1, 1], -10, 10)
        p.agent(f"a{i}", pair("x"), -10, 10, solve, gaps[i - 1])
    used = [(i, k) for i in range(1, 11) for k in (1, 2) if (i, k) != (10, 2)]
    c = {(i, k): p.coordinate(2 * (i - 1) + k - 1) for i, k in used}
    p.row([c[i, k] for i in (1, 2, 3) for k in (1, 2)], squares_row(10))
    p.row([c[i, k] for i in (4, 5, 6) for k in (1, 2)], squares_row(50))
    p.row([c[i, k] for i in (7, 8, 9) for k in (1, 2)], squares_row(50))
    p.row([c[1, 1], c[5, 1], c[10, 1]], squares_row(50, [1, 0, 1], [0, 1, 0]))
    p.row([c[4, 2], c[7, 1], c[9, 2]], squares_row(20, [1, 0, 0], [0, 1, 1]))
    p.row([c[8, 1], c[8, 2], c[6, 1], c[6, 2]], squares_row(30))
    return p.done()


def table(name):
    with open(os.path.join(SOURCE, "examples", name), newline="") as file:
        return list(csv.reader(file))


def network():
    files = {name: example(name) for name in ("num_flows.csv", "num_routes.csv")}
    p = Problem(example("num.tacit"), files)
    for name, weight in table("num_flows.csv")[1:]:
        slope = [lambda t, w=float(weight): -w / t]
        p.agent(name, ["rate"], 0.1, 10, agents.separable(slope, 0.1, 10), 10, 0.5)
    for routes, capacity in zip(table("num_routes.csv"), (10, 12, 8, 15, 10, 9)):
        weights = np.array([float(v) for v in routes])
        p.row([p.linear_sum(range(10), weights)], affine_row([1], capacity))
    return p.done()


def robots():
    p = Problem(example("robots.tacit"), {"robots_plans.csv": example("robots_plans.csv")})
    for i, line in enumerate(table("robots_plans.csv")[1:]):
        goal, base, reach = np.array(line[:2], float), np.array(line[2:4], float), float(line[4])
        solve = agents.in_ball(agents.quadratic(1, goal, -10, 10), base, reach)
        solve.start = base - base / np.linalg.norm(base) * reach if np.linalg.norm(base) > reach else [0, 0]
        p.agent(f"robot[{i + 1}]", pair("pos"), -10, 10, solve, 75, [1, 0.5])
    first = p.linear_sum(range(0, 16, 2), 1)
    second = p.linear_sum(range(1, 16, 2), 1)
    c = [p.coordinate(k) for k in range(16)]
    form = 2 * np.array([[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, -1, 0, 1.0]])
    for k in range(7):
        p.row(c[2 * k : 2 * k + 4], lambda z: (z @ form @ z / 2 - 9, form @ z, form))

    def camera(z):
        d = z / 8 - np.array([1, 0.5])
        return d @ d - 0.6**2, d / 4, np.eye(2) / 32

    p.row([first, second], camera)
    return p.done()


def charging(homes=6):
    """The first homes of the example, with their share of the feeder."""
    lines = example("homes.csv").split("\n")[: homes + 1]
    text = example("ev.tacit")
    text = text.replace("feeder_limit - household[t]", f"(feeder_limit - household[t]) * {homes} / 1000")
    p = Problem(text, {"homes.csv": "\n".join(lines) + "\n"})
    household = [820, 800, 780, 760, 780, 840, 920, 980, 1000, 960, 900, 820,
                 720, 640, 600, 580, 560, 580, 640, 760, 840, 860, 840, 820]
    for i, line in enumerate(lines[1:]):
        need, weight, *pref = [float(v) for v in line.split(",")]
        solve = agents.in_halfspace(agents.quadratic(weight, pref, 0, 7.4), -np.ones(24), -need)
        solve.start = np.full(24, need / 24)  # the nearest to zero; no hour reaches the limit
        p.agent(f"home[{i + 1}]", [f"p[{t + 1}]" for t in range(24)], 0, 7.4, solve, 330, 1.7)
    for t in range(24):
        row = p.linear_sum(range(t, 24 * homes, 24), 1)
        p.row([row], affine_row([1], (3000 - household[t]) * homes / 1000))
    return p.done()


EXAMPLES = {"paper": paper, "network": network, "robots": robots, "charging": charging}

# ---- others --------------------------------------------------------------------------------------------------------

END = "schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 1000 }\n"


def quartics():
    """Fourth powers of single coordinates, one of them of a sum of two: pairs of coordinates that bend together."""
    centers = [[1.5, -2], [2, 1], [-1, 2.5]]
    p = Problem("".join(f"agent a{i + 1} {{\n state x[2] in [-3, 2.5]\n private minimize 0.7 * sumsq(x - {c})\n"
                        " gap 20; slater x = 0\n}\n" for i, c in enumerate(centers))
                + "constraint c: a1.x[1]^4 + 0.5 * (a2.x[1] - 0.3)^4 + a3.x[2]^4 / 4 <= 2\n"
                "constraint d: (a1.x[2] + 2 * a2.x[2] - a3.x[1])^4 / 8 + a1.x[1] <= 1.5\n" + END)
    for i, c in enumerate(centers):
        p.agent(f"a{i + 1}", pair("x"), -3, 2.5, agents.quadratic(0.7, c, -3, 2.5), 20)
    c = {name: p.coordinate(k) for k, name in enumerate(p.coords)}

    def powers(z):
        d, w = z - np.array([0, 0.3, 0]), np.array([1, 0.5, 0.25])
        return w @ d**4 - 2, 4 * w * d**3, np.diag(12 * w * d**2)

    def together(z):
        a = np.array([1.0, 2, -1, 0])
        t, last = a @ z, np.array([0, 0, 0, 1.0])
        return t**4 / 8 + z[3] - 1.5, t**3 / 2 * a + last, 1.5 * t**2 * np.outer(a, a)

    p.row([c["a1.x[1]"], c["a2.x[1]"], c["a3.x[2]"]], powers)
    p.row([c["a1.x[2]"], c["a2.x[2]"], c["a3.x[1]"], c["a1.x[1]"]], together)
    return p.done()


def exponentials():
    """Curved bodies with public data; an outer function of sums and coordinates; agents with logarithms."""
    size = [0.5, 1.25, 0.75, 2, 1]
    text = """data homes = csv "homes.csv" public size
agents a[i] over homes {
 state x in [0, 4]
 state y in [-1, 2]
 private minimize w * (x - 3)^2 - log(y + 2)
 gap 15; slater x = 0.5; slater y = 0
}
agent b {
 state z[2] in [0.5, 3]
 private minimize sumsq(z - [2, 3])
 private set z[1] + 2 * z[2] <= 6
 gap 9; slater z = 0.6
}
constraint c1: sum(a: size * x^2 + exp(y) / 2 + i) / 5 <= 9
constraint c2: exp(sum(a: x + size * y) / 10) + b.z[1]^2 * 0.5 + b.z[2] <= 4
constraint c3: a[3].x^2 + a[4].y + sum(a: y) / 10 - log(b.z[2]) <= 2
""" + END
    weight = [1, 0.5, 0.8, 1.2, 0.3]
    lines = "w,size\n" + "".join(f"{w},{s}\n" for w, s in zip(weight, size))
    p = Problem(text, {"homes.csv": lines})
    for i, w in enumerate(weight):
        slopes = [lambda t, w=w: 2 * w * (t - 3), lambda t: -1 / (t + 2)]
        p.agent(f"a[{i + 1}]", ["x", "y"], [0, -1], [4, 2], agents.separable(slopes, [0, -1], [4, 2]), 15, [0.5, 0])
    p.agent("b", pair("z"), 0.5, 3, agents.in_halfspace(agents.quadratic(1, [2, 3], 0.5, 3), [1, 2], 6), 9, 0.6)
    members = [np.array([2 * i, 2 * i + 1]) for i in range(5)]
    first = p.curved_sum(members, lambda k, x: (size[k] * x[0] ** 2 + math.exp(x[1]) / 2 + k + 1,
                                                np.array([2 * size[k] * x[0], math.exp(x[1]) / 2]),
                                                np.diag([2 * size[k], math.exp(x[1]) / 2])))
    weights = np.array([v for s in size for v in (1, s)])
    second = p.linear_sum(range(10), weights)
    third = p.linear_sum(range(1, 10, 2), 1)
    c = {name: p.coordinate(p.at[name]) for name in ("a[3].x", "a[4].y", "b.z[1]", "b.z[2]")}
    p.row([first], affine_row([0.2], 9))

    def growth(z):
        e = math.exp(z[0] / 10)
        return e + z[1] ** 2 / 2 + z[2] - 4, np.array([e / 10, z[1], 1]), np.diag([e / 100, 1, 0])

    def mixture(z):
        return (z[0] ** 2 + z[1] + z[2] / 10 - math.log(z[3]) - 2, np.array([2 * z[0], 1, 0.1, -1 / z[3]]),
                np.diag([2, 0, 0, z[3] ** -2]))

    p.row([second, c["b.z[1]"], c["b.z[2]"]], growth)
    p.row([c["a[3].x"], c["a[4].y"], third, c["b.z[2]"]], mixture)
    return p.done()


def form_row(form, extra, bound):
    """z' form z + extra.z - bound"""
    form, extra = np.array(form, float), np.array(extra, float)
    return lambda z: (z @ form @ z + extra @ z - bound, 2 * form @ z + extra, 2 * form)


def squares_of_sums():
    """Sums with sums, sums with coordinates and coordinates with coordinates in one outer function: all affine inside,
    so that forms can be released. Start multipliers are not zero."""
    text = """agents a[i in 1..4] {
 state x[2] in [-2, 2]
 private minimize huber(x[1] - i / 2, 0.4) + (x[2] + 1)^2
 start x = [1, -1]
 gap 10; slater x = 0.1
}
agent b {
 state u in [-1, 3]
 private minimize (u - 2.5)^2
 gap 12; slater u = 0
}
constraint c: (sum(a: x[1]) - sum(a: i * x[2]))^2 / 9 + (sum(a: x[1]) + 2 * b.u)^2 / 16 <= 1.5
constraint d: (a[2].x[1] - b.u)^2 + 0.5 * a[2].x[1] * a[2].x[2] + a[2].x[2]^2 + sum(a: x[1]) / 4 <= 1
constraint e: sum(a: x[1]) + b.u <= 3
start multipliers 0.25
""" + END
    p = Problem(text)
    for i in range(1, 5):
        slopes = [lambda t, i=i: min(max(t - i / 2, -0.4), 0.4), lambda t: 2 * (t + 1)]
        p.agent(f"a[{i}]", pair("x"), -2, 2, agents.separable(slopes, -2, 2), 10, 0.1, [1, -1])
    p.agent("b", ["u"], -1, 3, agents.quadratic(1, [2.5], -1, 3), 12, 0)
    first = p.linear_sum(range(0, 8, 2), 1)
    second = p.linear_sum(range(1, 8, 2), [1, 2, 3, 4])
    c = {name: p.coordinate(p.at[name]) for name in ("a[2].x[1]", "a[2].x[2]", "b.u")}
    p.row([first, second, c["b.u"]],
          form_row([[1 / 9 + 1 / 16, -1 / 9, 1 / 8], [-1 / 9, 1 / 9, 0], [1 / 8, 0, 1 / 4]], np.zeros(3), 1.5), 0.25)
    p.row([c["a[2].x[1]"], c["b.u"], c["a[2].x[2]"], first],
          form_row([[1, -1, 0.25, 0], [-1, 1, 0, 0], [0.25, 0, 1, 0], [0, 0, 0, 0]], [0, 0, 0, 0.25], 1), 0.25)
    p.row([first, c["b.u"]], affine_row([1, 1], 3), 0.25)
    return p.done()


def bent_bodies():
    """Bodies whose components bend together, with data, and an agent in a ball; one state is in no constraint."""
    skew = [0.3, -0.5, 0.9]
    text = """data rows = csv "rows.csv" public skew
agents a[i] over rows {
 state x in [-2, 2]
 state y in [-1, 3]
 state idle in [0, 1]
 private minimize (x - goal)^2 + (y - 2)^2 + (idle - 0.3)^2 + 0.2 * idle
 private set norm([x, y, idle] - 0.25) <= 2.2
 gap 20; slater x = 0; slater y = 0; slater idle = 0.3
}
constraint c: sum(a: (x + skew * y)^2 + 0.4 * x * y + exp(x - y) / 3) <= 6
constraint d: sum(a: quadform([x, y], [[2, 1], [1, 3]]) * (1 + i / 4)) / 4 + sum(a: y) <= 9
""" + END
    text = text.replace(" private set norm([x, y, idle] - 0.25) <= 2.2\n", " private set x + y + idle <= 2.7\n")
    goal = [2, -1.5, 1]
    p = Problem(text, {"rows.csv": "goal,skew\n" + "".join(f"{g},{s}\n" for g, s in zip(goal, skew))})
    for i, g in enumerate(goal):
        box = np.array([-2, -1, 0]), np.array([2, 3, 1])
        solve = agents.in_halfspace(agents.quadratic(1, [g, 2, 0.2], *box), [1, 1, 1], 2.7)
        p.agent(f"a[{i + 1}]", ["x", "y", "idle"], *box, solve, 20, [0, 0, 0.3])
    members = [np.array([3 * i, 3 * i + 1]) for i in range(3)]

    def first(k, v):
        x, y = v
        s, e = skew[k], math.exp(x - y) / 3
        t = x + s * y
        return (t * t + 0.4 * x * y + e, np.array([2 * t + 0.4 * y + e, 2 * s * t + 0.4 * x - e]),
                np.array([[2 + e, 2 * s + 0.4 - e], [2 * s + 0.4 - e, 2 * s * s + e]]))

    def second(k, v):
        form = np.array([[2, 1], [1, 3]]) * (1 + (k + 1) / 4)
        return v @ form @ v, 2 * form @ v, 2 * form

    one, two = p.curved_sum(members, first), p.curved_sum(members, second)
    three = p.linear_sum(range(1, 9, 3), 1)
    p.row([one], affine_row([1], 6))
    p.row([two, three], affine_row([0.25, 1], 9))
    return p.done()


def unlike_widths():
    """Members whose own states have boxes 128 times apart, cut by a half-space; bodies and rows that mix them."""
    text = """agents a[i in 1..3] {
 state x in [-16, 16]
 state y in [-1, 3]
 state t in [0, 0.25]
 private minimize (x - 4 * i)^2 / 9 + (y - 2)^2 + 8 * (t - 0.2)^2
 private set x + 2 * y + 8 * t <= 15
 gap 40; slater x = 0; slater y = 0; slater t = 0.1
}
constraint c: sum(a: (x / 4 + y)^2 + 9 * t^2 + 2 * t * y) <= 16
constraint d: (a[1].x / 5 + 4 * a[2].t)^2 + a[3].y^2 <= 4
constraint e: sum(a: x + 20 * t) <= 22
""" + END
    p = Problem(text)
    low, high = np.array([-16, -1, 0]), np.array([16, 3, 0.25])
    for i in (1, 2, 3):
        wish = agents.quadratic(np.array([1 / 9, 1, 8]), [4 * i, 2, 0.2], low, high)
        p.agent(f"a[{i}]", ["x", "y", "t"], low, high, agents.in_halfspace(wish, [1, 2, 8], 15), 40, [0, 0, 0.1])
    form = np.array([[1 / 16, 1 / 4, 0], [1 / 4, 1, 1], [0, 1, 9]])
    members = [np.arange(3 * k, 3 * k + 3) for k in range(3)]
    one = p.curved_sum(members, lambda k, v: (v @ form @ v, 2 * form @ v, 2 * form))
    two = p.linear_sum([c for k in range(3) for c in (3 * k, 3 * k + 2)], [1, 20] * 3)
    c = [p.coordinate(p.at[name]) for name in ("a[1].x", "a[2].t", "a[3].y")]
    p.row([one], affine_row([1], 16))
    p.row(c, form_row([[1 / 25, 4 / 5, 0], [4 / 5, 16, 0], [0, 0, 1]], [0, 0, 0], 4))
    p.row([two], affine_row([1], 22))
    return p.done()


def bad_scales():
    """Affine rows and boxes of very different sizes, two rows that repeat each other; agents in a plane and a ball."""
    text = """agents flow[i in 1..4] {
 state r in [0.05, 10]
 private minimize -i * log(r)
 gap 20; slater r = 0.1
}
agent big {
 state v[2] in [-100, 400]
 private minimize sumsq(v - [300, 200]) / 100
 private set norm(v - 50) <= 220
 gap 1500; slater v = 0
}
agent small {
 state s[3] in [0, 0.2]
 private minimize 30 * sumsq(s - [0.3, 0.1, 0])
 private set s in simplex(0.25)
 gap 10; slater s = 0.25 / 3
}
constraint link[l in 1..2]: sum(flow: (1 + (l - 1) * (i - 2)) * r) <= 6
constraint power: 1000 * (sum(flow: r) + big.v[1] / 20) <= 20000
constraint power_again: 0.01 * sum(flow: r) + 0.0005 * big.v[1] <= 0.2
constraint mix: small.s[1] - 2 * small.s[2] + 0.001 * big.v[2] <= 0.1
""" + END
    p = Problem(text)
    for i in range(1, 5):
        p.agent(f"flow[{i}]", ["r"], 0.05, 10, agents.separable([lambda t, i=i: -i / t], 0.05, 10), 20, 0.1)
    p.agent("big", pair("v"), -100, 400,
            agents.in_ball(agents.quadratic(0.01, [300, 200], -100, 400), [50, 50], 220), 1500, 0)
    simplex = agents.on_plane(agents.quadratic(30, [0.3, 0.1, 0], 0, 0.2), [1, 1, 1], 0.25)
    simplex.start = [0.25 / 3] * 3
    p.agent("small", ["s[1]", "s[2]", "s[3]"], 0, 0.2, simplex, 10, 0.25 / 3)
    one = p.linear_sum(range(4), 1)
    two = p.linear_sum(range(4), [0, 1, 2, 3])
    c = {name: p.coordinate(p.at[name]) for name in ("big.v[1]", "big.v[2]", "small.s[1]", "small.s[2]")}
    p.row([one], affine_row([1], 6))
    p.row([two], affine_row([1], 6))
    p.row([one, c["big.v[1]"]], affine_row([1000, 50], 20000))
    p.row([one, c["big.v[1]"]], affine_row([0.01, 0.0005], 0.2))
    p.row([c["small.s[1]"], c["small.s[2]"], c["big.v[2]"]], affine_row([1, -2, 0.001], 0.1))
    return p.done()


def dispatch():
    """Equalities beside affine inequalities: a demand that is met exactly, two that are tied, a limit of a line."""
    cost = [1, 0.5, 0.8, 1.2, 0.3]
    text = """data plants = csv "plants.csv"
agents gen[i] over plants {
 state p in [0, 8]
 private minimize cost * p^2 / 2 + p
}
agent store {
 state s in [-3, 3]
 private minimize (s - 1)^2
}
constraint balance: sum(gen: p) + store.s == 15
constraint ties: gen[1].p - 2 * gen[2].p == -1
constraint line: sum(gen: i * p) / 5 <= 9
start balance = -0.5
start ties = 0.25
dual radius 30
""" + END
    p = Problem(text, {"plants.csv": "cost\n" + "".join(f"{c}\n" for c in cost)})
    for i, c in enumerate(cost):
        p.agent(f"gen[{i + 1}]", ["p"], 0, 8, agents.separable([lambda t, c=c: c * t + 1], 0, 8))
    p.agent("store", ["s"], -3, 3, agents.quadratic(1, [1], -3, 3))
    p.radius = 30
    one, two = p.linear_sum(range(5), 1), p.linear_sum(range(5), [1, 2, 3, 4, 5])
    c = {name: p.coordinate(p.at[name]) for name in ("gen[1].p", "gen[2].p", "store.s")}
    p.row([one, c["store.s"]], affine_row([1, 1], 15), -0.5, equal=True)
    p.row([c["gen[1].p"], c["gen[2].p"]], affine_row([1, -2], -1), 0.25, equal=True)
    p.row([two], affine_row([0.2], 9))
    return p.done()


def logarithm_of_sums():
    """A curved function of curved sums, with a root of a sum of squares; agents with forms and norms."""
    text = """agents a[i in 1..3] {
 state x[2] in [-2, 2]
 private minimize quadform(x - [1.5, i / 3], [[2, 0.7], [0.7, 1]])
 gap 40; slater x = -0.2
}
agent far {
 state x[2] in [-3, 1]
 private minimize 2 * sqrt(sumsq(x - [2, 2]) + 0.25)
 gap 15; slater x = 0
}
constraint c: log(sum(a: exp(x[1]) + 0.5 * exp(-x[2]))) <= 1.9
constraint d: sqrt(1 + sum(a: sumsq(x)) + sumsq(far.x)) <= 2
""" + END
    p = Problem(text)
    for i in range(1, 4):
        solve = agents.quadratic_form([[2, 0.7], [0.7, 1]], [1.5, i / 3], -2, 2)
        p.agent(f"a[{i}]", pair("x"), -2, 2, solve, 40, -0.2)
    # with F' held at u, 2 u |x - c| + ... : F = 2 sqrt(w + 1/4), whose slope falls with the distance
    p.agent("far", pair("x"), -3, 1, falling([2, 2], -3, 1), 15, 0)
    members = [np.array([2 * i, 2 * i + 1]) for i in range(3)]
    one = p.curved_sum(members, lambda k, x: (math.exp(x[0]) + math.exp(-x[1]) / 2,
                                              np.array([math.exp(x[0]), -math.exp(-x[1]) / 2]),
                                              np.diag([math.exp(x[0]), math.exp(-x[1]) / 2])))
    two = p.curved_sum(members, lambda k, x: (x @ x, 2 * x, 2 * np.eye(2)))
    c = [p.coordinate(6), p.coordinate(7)]
    p.row([one], lambda z: (math.log(z[0]) - 1.9, 1 / z, -np.diag(z**-2)))

    def length(z):
        r = math.sqrt(1 + z[0] + z[1] ** 2 + z[2] ** 2)
        d = np.array([0.5, z[1], z[2]]) / r
        return r - 2, d, np.diag([0, 1, 1]) / r - np.outer(d, d) / r

    p.row([two, *c], length)
    return p.done()


def falling(center, lower, upper):
    """f = 2 sqrt(|x - center|^2 + 1/4): the fixed point is still unique, for the problem is convex."""
    center = np.array(center, float)

    def solve(q, h):
        def at(u):
            return np.clip((2 * u * center - q) / (2 * u + h), lower, upper)

        def miss(u):  # u sqrt(w + 1/4) grows with u, for both x(u) and f are monotone
            return u * math.sqrt(np.sum((at(u) - center) ** 2) + 0.25) - 1

        return at(agents.root(miss, 0.0, 2.0))

    return solve


def nothing_active():
    """Constraints with plenty of room, among agents that wish nothing or are indifferent to a direction."""
    text = """agents a[i in 1..3] {
 state x[2] in [-1, 1]
 private minimize exp(x[1]) - x[1] / i
 gap 5; slater x = 0
}
agent idle {
 state x in [-4, 4]
 private minimize 0
 gap 0; slater x = 1
}
constraint c: sum(a: sumsq(x)) + idle.x^2 <= 40
constraint d: exp(sum(a: x[1] + x[2]) / 3) + idle.x <= 30
""" + END
    p = Problem(text)
    for i in range(1, 4):
        slopes = [lambda t, i=i: math.exp(t) - 1 / i, lambda t: 0.0]
        p.agent(f"a[{i}]", pair("x"), -1, 1, agents.separable(slopes, -1, 1), 5)
    p.agent("idle", ["x"], -4, 4, agents.quadratic(0, [0], -4, 4), 0, 1)
    members = [np.array([2 * i, 2 * i + 1]) for i in range(3)]
    one = p.curved_sum(members, lambda k, x: (x @ x, 2 * x, 2 * np.eye(2)))
    two = p.linear_sum(range(6), 1)
    c = p.coordinate(6)
    p.row([one, c], lambda z: (z[0] + z[1] ** 2 - 40, np.array([1, 2 * z[1]]), np.diag([0, 2.0])))
    p.row([two, c], lambda z: (math.exp(z[0] / 3) + z[1] - 30, np.array([math.exp(z[0] / 3) / 3, 1]),
                               np.diag([math.exp(z[0] / 3) / 9, 0])))
    return p.done()


OTHERS = {"quartics": quartics, "exponentials": exponentials, "squares_of_sums": squares_of_sums,
          "bent_bodies": bent_bodies, "bad_scales": bad_scales, "unlike_widths": unlike_widths,
          "logarithm_of_sums": logarithm_of_sums, "nothing_active": nothing_active, "dispatch": dispatch}
ALL = {**EXAMPLES, **OTHERS}
