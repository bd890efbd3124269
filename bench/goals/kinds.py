"""Random problems of many kinds, from a seed. Every kind is hard for a method in its own way (KINDS says how).

A problem is one family of agents with states x[1], x[2], ...; the objective of an agent is a sum of functions of single
states, and the rows are sums over agents or functions of such sums. Gaps and Slater points are true promises: the least
value of a function of one state is looked for on a grid."""

import math
import random

GRID = 400


def number(value):
    return f"({float(value)!r})"


def vector(values):
    return "[" + ", ".join(number(v) for v in values) + "]"


class State:
    """x[1], x[2], ... in [lower, lower + width]. Its private columns are called w (weight) and c."""

    def __init__(self, index, lower, width, shape):
        self.name, self.lower, self.width, self.shape = f"x[{index}]", lower, width, shape
        self.w, self.c, self.n = (f"{letter}of{index}" for letter in "wcn")
        self.slater = None

    def text(self):
        scaled = f"({self.name} - {self.c}) / {number(self.width)}"
        weight, above = self.w, f"({self.name} - {number(self.lower)}) / {number(self.width)}"
        return {"quadratic": f"{weight} * ({scaled})^2",
                "quartic": f"3 * {weight} * ({scaled})^4",
                "linear": f"-{weight} * {self.name} / {number(self.width)}",
                "log": f"-{weight} * log(0.05 + {above})",
                "exponential": f"{weight} * exp(-2 * {above})"}[self.shape]

    def value(self, x, weight, center):
        scaled, above = (x - center) / self.width, (x - self.lower) / self.width
        if self.shape == "quadratic":
            return weight * scaled**2
        if self.shape == "quartic":
            return 3 * weight * scaled**4
        if self.shape == "linear":
            return -weight * x / self.width
        if self.shape == "log":
            return -weight * math.log(0.05 + above)
        return weight * math.exp(-2 * above)

    def wish(self, weight, center):
        points = [self.lower + self.width * i / GRID for i in range(GRID + 1)]
        if self.shape in ("quadratic", "quartic"):
            points.append(min(max(center, self.lower), self.lower + self.width))
        return min(points, key=lambda x: self.value(x, weight, center))


class Row:
    """constraint NAME: outer(sums) <= bound, or ==. sums: lists of terms (state, shape), with coefficients by agent."""

    def __init__(self, name, sums, squares=False, unit=1.0, equal=False):
        self.name, self.sums, self.squares, self.unit, self.equal = name, sums, squares, unit, equal
        self.bound = None
        self.same_as = None  # the row that says the same in other units

    def term(self, state, shape, text):
        part = f"{text} / {number(state.width)}"
        return {"affine": part, "square": f"({part} - {number(state.lower / state.width + 0.2)})^2",
                "quartic": f"(2 * {part})^4", "exponential": f"exp({part})"}[shape]

    def term_value(self, state, shape, x):
        part = x / state.width
        if shape == "affine":
            return part
        if shape == "square":
            return (part - state.lower / state.width - 0.2) ** 2
        return (2 * part) ** 4 if shape == "quartic" else math.exp(part)

    def text(self, state_noise, sum_noise):
        """state_noise: whether states carry the columns n_ of the oracle; sum_noise: by sum, added to it."""
        sums = []
        for i, (terms, _) in enumerate(self.sums):
            parts = [f"{self.column(i, t)} * " + self.term(state, shape, f"({state.name} + {state.n})" if state_noise
                                                          else state.name)
                     for t, (state, shape) in enumerate(terms)]
            shift = f" + {number(sum_noise[i])}" if sum_noise else ""
            sums.append(f"(sum(unit: {' + '.join(parts)}){shift})")
        body = " + ".join(f"({s} / {number(self.size)})^2" for s in sums) if self.squares else " + ".join(sums)
        body = body if self.unit == 1 else f"{number(self.unit)} * ({body})"
        return f"constraint {self.name}: {body} {'==' if self.equal else '<='} {number(self.bound * self.unit)}"

    def column(self, i, t):
        return f"{(self.same_as or self).name}a{i}b{t}"

    def value(self, points):
        """points: by agent, a dict of states."""
        totals = [sum(coefficients[t][k] * self.term_value(state, shape, x[state.name])
                      for k, x in enumerate(points) for t, (state, shape) in enumerate(terms))
                  for terms, coefficients in self.sums]
        return sum((v / self.size) ** 2 for v in totals) if self.squares else sum(totals)


class Problem:
    def __init__(self, kind, seed, number_in_kind):
        self.kind, self.name = kind, f"{kind}_{number_in_kind + 1}"
        self.random = random.Random(f"{seed} {kind} {number_in_kind}")
        self.begin()
        while not self.is_active:
            self.begin()

    def begin(self):
        self.agents, self.loose = self.random.randint(3, 8), 10 ** self.random.uniform(0, 1)
        self.near = self.set = self.ball = None
        self.rounds, self.unit = 2000, "ensemble"
        self.rows = []
        KINDS[self.kind](self)
        self.finish()

    # ---- pieces ----

    def states(self, count, shape="quadratic", spread=1.0):
        base, r = 10 ** self.random.uniform(-0.5, 1.5), self.random
        widths = [base * spread ** (r.uniform(0, 1) if 0 < i < count - 1 else i / max(1, count - 1)) for i in range(count)]
        r.shuffle(widths)
        positive = r.random() < 0.5 or shape == "log"
        self.of = [State(i + 1, 0.0 if positive else -r.uniform(0.3, 0.7) * w, w, shape)
                   for i, w in enumerate(widths)]
        self.weight, self.center = {}, {}
        for s in self.of:
            s.slater = s.lower + r.uniform(0.2, 0.4) * s.width
            self.weight[s.name] = [math.exp(r.gauss(0, 0.5)) for _ in range(self.agents)]
            self.center[s.name] = [s.lower + r.uniform(-0.2, 1.2) * s.width if self.near is None else
                                   s.lower + r.choice([-self.near, 1 + self.near]) * s.width * r.uniform(0.5, 1)
                                   for _ in range(self.agents)]

    def row(self, shapes, squares=False, signed=True, **more):
        """shapes: of the terms. One sum over all states, or two where they are squared."""
        r, sums = self.random, []
        for _ in range(2 if squares else 1):
            terms = [(s, r.choice(shapes)) for s in self.of]
            signs = [-1 if signed and shape == "affine" and r.random() < 0.3 else 1 for _, shape in terms]
            sums.append((terms, [[sign * r.uniform(0.3, 1.5) for _ in range(self.agents)] for sign in signs]))
        made = Row(f"g{len(self.rows) + 1}", sums, squares, **more)
        made.size = math.sqrt(self.agents)
        self.rows.append(made)
        return made

    def again(self, row, unit):
        made = Row(f"g{len(self.rows) + 1}", row.sums, row.squares, unit)
        made.size, made.same_as = row.size, row
        self.rows.append(made)

    def objective(self, k, x):
        return sum(s.value(x[s.name], self.weight[s.name][k], self.center[s.name][k]) for s in self.of)

    def into_ball(self, x):
        if self.ball is None:
            return x
        center, radius = self.ball
        far = math.dist(center, x.values())
        return x if far <= radius else {s.name: c + (x[s.name] - c) * radius / far for s, c in zip(self.of, center)}

    # ---- bounds between the Slater point and what agents wish ----

    def finish(self):
        r, agents = self.random, range(self.agents)
        wishes = [{s.name: s.wish(self.weight[s.name][k], self.center[s.name][k]) for s in self.of} for k in agents]
        self.wishes = [self.into_ball(x) for x in wishes]
        self.inside = [{s.name: s.slater for s in self.of} for _ in agents]
        gaps = [self.objective(k, self.inside[k]) - self.objective(k, best) for k, best in enumerate(wishes)]
        self.gap = self.loose * (1.05 * max(gaps) + 1e-3)
        for row in self.rows:
            if row.bound is not None or row.same_as is not None:
                continue
            inside, wished = row.value(self.inside), row.value(self.wishes)
            if row.equal:
                row.bound = inside
            elif wished > inside + 1e-2 * (1 + abs(inside)):
                row.bound = inside + r.uniform(0.2, 0.9) * (wished - inside)
            else:
                row.bound = max(inside, wished) + r.uniform(0.2, 1) * (1 + abs(inside))
        for row in self.rows:
            row.bound = row.same_as.bound if row.same_as is not None else row.bound
        self.is_active = any(row.equal or row.value(self.wishes) > row.bound for row in self.rows)
        least = min(s.width for s in self.of)
        most = max(s.width for s in self.of)
        self.distance = math.sqrt(least * most) * 10 ** r.uniform(-1.7, -0.7)
        self.length = math.sqrt(self.agents * sum(s.width**2 for s in self.of))

    # ---- files ----

    def columns(self, noise):
        private = {s.w: self.weight[s.name] for s in self.of} | {s.c: self.center[s.name] for s in self.of}
        public = {row.column(i, t): coefficients[t] for row in self.rows if row.same_as is None
                  for i, (terms, coefficients) in enumerate(row.sums) for t in range(len(terms))}
        if noise is not None:
            public |= {s.n: noise[s.name] for s in self.of}
        return private, public

    def files(self, state_noise=None, sum_noise=None):
        """The problem; with noise of an oracle, by state and agent or by row and sum: g(x + noise) <= 0."""
        private, public = self.columns(state_noise)
        both = private | public
        lines = [",".join(both)] + [",".join(repr(float(column[k])) for column in both.values()) for k in range(self.agents)]
        text = [f'data rows = csv "{self.name}.csv" public {", ".join(public)}', "agents unit over rows {"]
        text += [f"  state x[{len(self.of)}] in [{vector(s.lower for s in self.of)}, "
                 f"{vector(s.lower + s.width for s in self.of)}]"]
        text += [f"  {self.set}"] if self.set else []
        text += [f"  private minimize {' + '.join(s.text() for s in self.of)}", f"  gap {number(self.gap)}"]
        text += [f"  slater x = {vector(s.slater for s in self.of)}", "}"]
        text += [row.text(state_noise is not None, sum_noise and sum_noise[row.name]) for row in self.rows]
        if any(row.equal for row in self.rows):
            text += [f"dual radius {number(self.radius)}"]
        unit = self.unit if self.unit == "agent" else f"{self.unit} {number(self.distance)}"
        text += [f"privacy {{ mechanism laplace; epsilon {self.epsilon()}; delta 1e-5; adjacency {unit} }}",
                 f"schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds {self.rounds} }}"]
        return {f"{self.name}.tacit": "\n".join(text) + "\n", f"{self.name}.csv": "\n".join(lines) + "\n"}

    def epsilon(self):
        return 10 if self.unit == "agent" else 1


# ---- the kinds -----------------------------------------------------------------------------------------------------

def quadratic(p):
    p.states(2)
    for _ in range(p.random.randint(1, 3)):
        p.row(["square"])


def linear(p):
    p.states(2, "linear")
    for _ in range(p.random.randint(2, 4)):
        p.row(["affine"], signed=False)


def widths(p):
    p.states(3, spread=p.random.uniform(30, 300))
    for _ in range(p.random.randint(1, 3)):
        p.row(["affine", "square"])


def quartic(p):
    p.states(2, "quartic")
    for _ in range(p.random.randint(1, 2)):
        p.row(["quartic"])


def slack(p):
    p.states(2)
    row = p.row(["affine"], signed=False)
    row.bound = row.value([{s.name: s.slater for s in p.of}] * p.agents) + 10 ** p.random.uniform(-3, -2)
    p.row(["affine", "square"])


def band(p):
    p.states(2)
    row = p.row(["affine"])
    at = row.value([{s.name: s.slater for s in p.of}] * p.agents)
    half = 10 ** p.random.uniform(-1.5, -0.5)
    row.bound = at + half
    other = Row("g2", [(terms, [[-v for v in c] for c in coefficients]) for terms, coefficients in row.sums])
    other.size, other.bound = row.size, -at + half
    p.rows.append(other)


def equality(p):
    p.states(2)
    p.row(["affine"], equal=True)
    if p.random.random() < 0.5:
        p.row(["square", "affine"])
    p.radius = 10 ** p.random.uniform(1.5, 2.5)


def logarithm(p):
    p.states(2, "log")
    for _ in range(p.random.randint(1, 4)):
        p.row(["affine"], signed=False)


def exponential(p):
    p.states(2, "exponential")
    for _ in range(p.random.randint(1, 3)):
        p.row(["exponential", "affine"], signed=False)


def ball(p):
    p.states(2)
    center, radius = [s.slater + 0.1 * s.width for s in p.of], p.random.uniform(0.25, 0.5) * p.of[0].width
    p.set, p.ball = f"private set norm(x - {vector(center)}) <= {number(radius)}", (center, radius)
    for _ in range(p.random.randint(1, 2)):
        p.row(["affine", "square"])


def bounds(p):
    p.near = p.random.uniform(0.02, 0.5)
    p.states(3)
    for _ in range(p.random.randint(1, 3)):
        p.row(["affine", "square"])


def duplicate(p):
    p.states(2)
    p.row(["affine", "square"], signed=False)
    row = p.row(["affine"])
    p.again(row, 2.0 ** p.random.randint(3, 8))
    if p.random.random() < 0.5:
        p.again(p.rows[0], 2.0 ** -p.random.randint(3, 6))


def agent(p):
    p.agents, p.unit, p.rounds = p.random.randint(150, 400), "agent", 1000
    p.states(p.random.randint(2, 4))
    for _ in range(p.random.randint(1, 4)):
        p.row(["affine"], signed=False)


def sums(p):
    p.agents, p.unit = p.random.randint(5, 30), "one"
    p.states(2)
    for _ in range(p.random.randint(1, 2)):
        p.row(["affine"], squares=True)


def few(p):
    p.agents = 2
    p.states(1)
    p.row([p.random.choice(["affine", "square", "exponential"])], signed=False)


def many(p):
    p.agents, p.unit = p.random.randint(60, 150), "one"
    p.states(2)
    for _ in range(p.random.randint(1, 4)):
        p.row(["affine", "square"])


def generous(p):
    p.loose = 10 ** p.random.uniform(2, 4)
    p.states(2)
    for _ in range(p.random.randint(1, 3)):
        p.row(["affine", "square"])


KINDS = {"quadratic": quadratic,      # curved quadratics
         "linear": linear,            # linear objectives: solutions in corners, agents without curvature
         "widths": widths,            # widths of boxes up to 300 times apart
         "quartic": quartic,          # flat, then steep
         "slack": slack,              # a Slater point that barely satisfies one row: R' is loose
         "band": band,                # two rows that are nearly an equality
         "equality": equality,
         "logarithm": logarithm,      # utilities of a network
         "exponential": exponential,
         "ball": ball,                # private sets
         "bounds": bounds,            # most states at or near a bound
         "duplicate": duplicate,      # rows that say the same in other units
         "agent": agent,              # the unit agent
         "sums": sums,                # squares of sums over all agents
         "few": few,                  # two states
         "many": many,                # some hundred agents
         "generous": generous}        # gaps 100 to 10,000 times too large


def problems(seed, each):
    return [Problem(kind, seed, i) for i in range(each) for kind in KINDS]
