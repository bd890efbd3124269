"""Random problems of many kinds, for judging methods on what nobody has looked at: families with private data, utilities
with logarithms and sums, norms, Huber's function, quartics and exponentials; balls, simplices and half-spaces; shared
constraints that are affine, curved, squares of sums, chains; rows and boxes of different scales, rows that repeat each
other, constraints that never bind. Gaps and Slater points are true promises, found by scipy."""

import numpy as np
from scipy.optimize import minimize


def number(value):
    return f"({float(value):.9g})"


def exactly(value):
    return f"({float(value)!r})"


def vector(values):
    return "[" + ", ".join(number(v) for v in values) + "]"


class Group:
    """A family: count members with dim states in [lower, upper], W wide."""

    def __init__(self, random, name, count, dim, width):
        self.random, self.name, self.count, self.dim, self.width = random, name, count, dim, width
        self.positive = random.random() < 0.4
        share = random.uniform(0.3, 0.7)
        self.lower = 0.0 if self.positive else -share * width
        self.upper = self.lower + width
        self.slater = random.uniform(self.lower + 0.2 * width, self.upper - 0.4 * width, dim)
        self.columns = {"w": np.exp(random.normal(0, 0.5, count)), "size": random.uniform(0.3, 1.5, count)}
        center = random.uniform(self.lower - 0.2 * width, self.upper + 0.2 * width, (count, dim))
        self.columns.update({f"c_{c + 1}": center[:, c] for c in range(dim)})
        self.center = center
        self.sets = []  # texts
        self.rules = []  # (member, x) -> value >= 0
        self.equalities = []
        self.pick_objective()
        self.pick_set()

    # ---- what the members want ----

    def pick_objective(self):
        kinds = ["quadratic", "log_sum", "log_each", "root", "norm", "huber", "quartic", "exp", "linear", "logsumexp",
                 "quadratic", "zero"]
        self.kind = kinds[self.random.integers(len(kinds))]
        getattr(self, self.kind)()

    def set_objective(self, text, function):
        self.objective, self.f = text, function

    def quadratic(self):
        self.set_objective(f"w * sumsq((x - c) / {number(self.width)})",
                           lambda k, x: self.w[k] * np.sum(((x - self.center[k]) / self.width) ** 2))

    def log_sum(self):
        shift = -self.lower * self.dim + 0.3 * self.width
        self.set_objective(f"-w * log(sum(x) + {number(shift)})", lambda k, x: -self.w[k] * np.log(np.sum(x) + shift))

    def log_each(self):
        shift = -self.lower + 0.05 * self.width
        self.set_objective(f"-w * sum(j in 1..{self.dim}: log(x[j] + {number(shift)}))",
                           lambda k, x: -self.w[k] * np.sum(np.log(x + shift)))

    def root(self):
        self.set_objective(f"w * sqrt(sumsq((x - c) / {number(self.width)}) + 0.01)",
                           lambda k, x: self.w[k] * np.sqrt(np.sum(((x - self.center[k]) / self.width) ** 2) + 0.01))

    def norm(self):
        self.center[:] = self.upper + self.random.uniform(0.05, 1, self.center.shape) * self.width
        for c in range(self.dim):
            self.columns[f"c_{c + 1}"] = self.center[:, c]
        self.set_objective(f"w * norm((x - c) / {number(self.width)})",
                           lambda k, x: self.w[k] * np.linalg.norm((x - self.center[k]) / self.width))

    def huber(self):
        knee = 0.1 * self.width

        def function(k, x):
            d = np.abs(x - self.center[k])
            return self.w[k] * np.sum(np.where(d <= knee, d * d / 2, knee * (d - knee / 2))) / self.width**2

        self.set_objective(f"w * sum(j in 1..{self.dim}: huber(x[j] - c[j], {number(knee)})) / {number(self.width**2)}",
                           function)

    def quartic(self):
        self.set_objective(f"3 * w * sumsq((x - c) / {number(self.width)})^2",
                           lambda k, x: 3 * self.w[k] * np.sum(((x - self.center[k]) / self.width) ** 2) ** 2)

    def exp(self):
        slope = self.random.choice([-1, 1]) * self.random.uniform(1, 3) / self.width
        self.set_objective(f"w * sum(j in 1..{self.dim}: exp({number(slope)} * x[j])) / 5",
                           lambda k, x: self.w[k] * np.sum(np.exp(slope * x)) / 5)

    def linear(self):
        self.set_objective(f"w * dot(c, x) / {number(self.width**2)}",
                           lambda k, x: self.w[k] * self.center[k] @ x / self.width**2)

    def logsumexp(self):
        self.set_objective(f"w * logsumexp((x - c) / {number(self.width)}) - w * sum(x) / {number(2.5 * self.width)}",
                           lambda k, x: self.w[k] * (np.log(np.sum(np.exp((x - self.center[k]) / self.width)))
                                                     - np.sum(x) / (2.5 * self.width)))

    def zero(self):
        self.set_objective("0", lambda k, x: 0.0)

    @property
    def w(self):
        return self.columns["w"]

    # ---- where they may be; the Slater point is inside ----

    def pick_set(self):
        random, slater = self.random, self.slater
        kind = random.choice(["none", "none", "none", "atleast", "atmost", "ball", "simplex", "ball1", "two"])
        if self.dim == 1 or self.count > 50 and kind in ("ball1", "two"):
            kind = "none"
        room = random.uniform(0.05, 0.6, self.count) * self.width
        self.columns["need"] = room
        if kind in ("atleast", "two"):
            self.columns["need"] = np.sum(slater) - room
            self.sets.append("private set sum(x) >= need")
            self.rules.append(lambda k, x: np.sum(x) - self.columns["need"][k])
        if kind == "atmost":
            self.columns["need"] = slater[0] + 2 * slater[1] + room
            self.sets.append("private set x[1] + 2 * x[2] <= need")
            self.rules.append(lambda k, x: self.columns["need"][k] - x[0] - 2 * x[1])
        if kind in ("ball", "two"):
            radius = self.width * 0.5
            self.sets.append(f"private set norm(x - {vector(slater + 0.1 * self.width)}) <= {number(radius)}")
            self.rules.append(lambda k, x: radius**2 - np.sum((x - slater - 0.1 * self.width) ** 2))
        if kind == "ball1":
            radius = self.width * 0.6
            self.sets.append(f"private set norm1(x - {vector(slater)}) <= {number(radius)}")
            for sign in np.ndindex(*[2] * self.dim):
                self.rules.append(lambda k, x, s=2 * np.array(sign) - 1: radius - s @ (x - slater))
        if kind == "simplex" and self.positive:
            total = float(f"{np.sum(slater):.9g}")
            slater[0] += total - np.sum(slater)
            self.sets.append(f"private set x in simplex({total:.17g})")
            self.equalities.append(lambda k, x: np.sum(x) - total)
            self.slater_text = "[" + ", ".join(f"{v:.17g}" for v in slater[:-1]) + \
                f", {total:.17g} - (" + " + ".join(f"{v:.17g}" for v in slater[:-1]) + ")]"

    def wish(self, k):
        rules = [{"type": "ineq", "fun": lambda x, r=r: r(k, x)} for r in self.rules]
        rules += [{"type": "eq", "fun": lambda x, r=r: r(k, x)} for r in self.equalities]
        found = minimize(lambda x: self.f(k, x), np.clip(self.slater, self.lower, self.upper),
                         bounds=[(self.lower, self.upper)] * self.dim, constraints=rules, method="SLSQP",
                         options={"maxiter": 200, "ftol": 1e-9})
        x = np.clip(found.x, self.lower, self.upper)
        return x if self.f(k, x) < self.f(k, self.slater) else self.slater.copy()

    def solve(self, loose):
        self.wishes = np.array([self.wish(k) for k in range(self.count)])
        gaps = [self.f(k, self.slater) - self.f(k, self.wishes[k]) for k in range(self.count)]
        self.gap = loose * (1.05 * max(0, max(gaps)) + 1e-3)

    def text(self):
        slater = getattr(self, "slater_text", vector(self.slater))
        lines = [f'data rows_{self.name} = csv "{self.name}.csv" public size', f"agents {self.name}[i] over rows_{self.name} {{",
                 f"  state x[{self.dim}] in [{number(self.lower)}, {number(self.upper)}]",
                 *["  " + s for s in self.sets], f"  private minimize {self.objective}",
                 f"  gap {number(self.gap)}; slater x = {slater}", "}", ""]
        return "\n".join(lines).replace("c[j]", "c[j]" if self.dim > 1 else "c_1")

    def csv(self):
        names = list(self.columns)
        rows = [",".join(f"{self.columns[n][k]:.9g}" for n in names) for k in range(self.count)]
        for n in names:
            self.columns[n][:] = [float(f"{v:.9g}") for v in self.columns[n]]
        return ",".join(names) + "\n" + "\n".join(rows) + "\n"


class Random:
    """text and files of the problem with this seed; large: a few hundred agents."""

    def __init__(self, seed, large=False):
        self.random = random = np.random.default_rng([seed, large])
        groups = 1 if large else random.integers(1, 4)
        spread = random.random() < 0.25
        base = 10 ** random.uniform(-0.5, 1.5)
        self.groups = []
        for g in range(groups):
            count = random.integers(100, 300) if large else random.integers(1, 7)
            width = base * (10 ** random.uniform(-0.7, 0.7) if spread else 1)
            self.groups.append(Group(random, "abc"[g], int(count), int(random.integers(2, 4)), float(width)))
        self.loose = 10 ** random.uniform(0, 1)
        self.rows = []  # (text, function)
        for group in self.groups:
            self.files = {f"{group.name}.csv": group.csv() for group in self.groups}
            group.center[:] = np.array([group.columns[f"c_{c + 1}"] for c in range(group.dim)]).T
            group.solve(self.loose)
        self.slack_kind = random.choice(["active", "active", "active", "some", "none"])
        for _ in range(random.integers(1, 5)):
            self.add_row()
        if random.random() < 0.2:
            text, function, bound = self.rows[-1]
            scale = 2.0 ** random.integers(-3, 6)  # a power of two: the same constraint exactly
            self.rows.append((f"{number(scale)} * ({text})", function, scale * float(f"{bound:.9g}")))
        self.bound = base * 10 ** random.uniform(-1.7, -0.7)
        self.length = float(np.sqrt(sum(g.count * g.dim * g.width**2 for g in self.groups)))
        self.text = self.write()

    # ---- rows: text, and value at x by group ----

    def add_row(self):
        kinds = ["affine", "affine", "quad", "crossed", "exponential", "quartic", "square", "chain", "root", "lse", "mixed"]
        kind = kinds[self.random.integers(len(kinds))]
        group = self.groups[self.random.integers(len(self.groups))]
        if kind == "chain" and group.count < 2:
            kind = "affine"
        text, function = getattr(self, "row_" + kind)(group)
        scale = 10 ** self.random.uniform(-2, 2) if self.random.random() < 0.4 else 1.0
        inside = function({g.name: np.tile(g.slater, (g.count, 1)) for g in self.groups})
        wished = function({g.name: g.wishes for g in self.groups})
        if wished > inside + 1e-3 * abs(inside) and self.slack_kind != "none":
            part = self.random.uniform(0.2, 0.9) if self.slack_kind == "active" else self.random.uniform(0.5, 1.5)
            bound = inside + part * (wished - inside)
        else:
            bound = max(inside, wished) + self.random.uniform(0.2, 1) * (1 + abs(inside))
        self.rows.append((text if scale == 1 else f"{number(scale)} * ({text})", function, float(f"{bound * scale:.9g}")))

    def row_affine(self, group):
        signs = [self.random.choice([-1, 1, 1]) * self.random.uniform(0.3, 1) / g.width for g in self.groups]
        parts = [f"{number(s)} * sum({g.name}: size * x[1] + {number(0.5)} * x[2])" for s, g in zip(signs, self.groups)]
        return " + ".join(parts), lambda x: sum(
            s * np.sum(g.columns["size"] * x[g.name][:, 0] + 0.5 * x[g.name][:, 1]) for s, g in zip(signs, self.groups))

    def row_quad(self, g):
        shift = g.slater[0]
        return (f"sum({g.name}: size * sumsq((x - {number(shift)}) / {number(g.width)}))",
                lambda x: np.sum(g.columns["size"][:, None] * ((x[g.name] - shift) / g.width) ** 2))

    def row_crossed(self, g):
        return (f"sum({g.name}: ((x[1] + size * x[2]) / {number(g.width)})^2 + x[{g.dim}] / {number(g.width)})",
                lambda x: np.sum(((x[g.name][:, 0] + g.columns["size"] * x[g.name][:, 1]) / g.width) ** 2
                                 + x[g.name][:, g.dim - 1] / g.width))

    def row_exponential(self, g):
        return (f"sum({g.name}: exp(size * x[1] / {number(g.width)}) + exp(x[2] / {number(g.width)}))",
                lambda x: np.sum(np.exp(g.columns["size"] * x[g.name][:, 0] / g.width) + np.exp(x[g.name][:, 1] / g.width)))

    def row_quartic(self, g):
        return (f"sum({g.name}: (2 * x[1] / {number(g.width)})^4 + size * (2 * x[2] / {number(g.width)})^4)",
                lambda x: np.sum((2 * x[g.name][:, 0] / g.width) ** 4
                                 + g.columns["size"] * (2 * x[g.name][:, 1] / g.width) ** 4))

    def row_square(self, g):
        size = g.width * np.sqrt(g.count)
        return (f"(sum({g.name}: size * x[1]) / {number(size)})^2 + (sum({g.name}: x[2] - x[1]) / {number(size)})^2",
                lambda x: (np.sum(g.columns["size"] * x[g.name][:, 0]) / size) ** 2
                + (np.sum(x[g.name][:, 1] - x[g.name][:, 0]) / size) ** 2)

    def row_chain(self, g):
        k = int(self.random.integers(1, g.count))
        return (f"sumsq(({g.name}[{k}].x - {g.name}[{k + 1}].x) / {number(g.width)}) + {g.name}[{k}].x[1] / {number(g.width)}",
                lambda x: np.sum(((x[g.name][k - 1] - x[g.name][k]) / g.width) ** 2) + x[g.name][k - 1, 0] / g.width)

    def row_root(self, g):
        return (f"sqrt(1 + sum({g.name}: sumsq(x / {number(g.width)})))",
                lambda x: np.sqrt(1 + np.sum((x[g.name] / g.width) ** 2)))

    def row_lse(self, g):
        return (f"log(sum({g.name}: exp(2 * x[1] / {number(g.width)})))",
                lambda x: np.log(np.sum(np.exp(2 * x[g.name][:, 0] / g.width))))

    def row_mixed(self, g):
        other = self.groups[-1]
        return (f"exp(sum({g.name}: x[1] + x[2]) / {number(g.width * g.count)}) + ({other.name}[1].x[1] / {number(other.width)})^2",
                lambda x: np.exp(np.sum(x[g.name][:, :2]) / (g.width * g.count)) + (x[other.name][0, 0] / other.width) ** 2)

    def write(self):
        text = "".join(g.text() for g in self.groups)
        for j, (row, _, bound) in enumerate(self.rows):
            text += f"constraint g{j + 1}: {row} <= {exactly(bound)}\n"
        text += f"privacy {{ mechanism laplace; epsilon ln(2); delta 0.01; adjacency ensemble {number(self.bound)} }}\n"
        return text + "schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 2000 }\n"

    def name(self):
        rows = "+".join(sorted({r[1].__qualname__.split(".")[1][4:] for r in self.rows}))
        return "/".join(f"{g.kind}*{g.count}" for g in self.groups) + f" | {rows} | {self.slack_kind}"
