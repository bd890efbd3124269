"""Random problems and options for plans that are certified: families with and without data and boxes of their own, members that
constraints name, sums of affine and curved terms under affine and curved functions, and every function of the language. What is
private does not matter here, so objectives are plain."""

import random

MECHANISMS, UNITS = ("laplace", "gaussian"), ("one", "ensemble", "agent")


class Problem:
    """text, files {name: text} and options of the problem with this seed."""

    def __init__(self, seed, capped=False):
        self.random = random.Random(1000003 * seed + 17)
        self.caps = random.Random(seed) if capped else None
        self.files, self.blocks, self.families = {}, [], []
        for name in "abc"[:self.random.choice([1, 1, 2, 3])]:
            self.add_family(name)
        count = self.random.randint(1, 4)
        rows = [f"constraint g{j + 1}: {self.row()} <= {self.number(5, 500)}" for j in range(count)]
        self.text = "".join(self.blocks) + "\n".join(rows) + "\ndual radius 10\n"
        self.options = self.capped_options() if capped else self.pick_options()
        if seed % 3 == 0:
            self.text += f"constraint balance: {self.total(self.families[0], False)} == {self.number(5, 500)}\n"

    def number(self, low, high):
        """Sometimes with few digits, so that products are exact."""
        value = self.random.uniform(low, high)
        return repr(round(value, self.random.choice([0, 1, 3, 17])) or 1.0)

    def add_family(self, name):
        r = self.random
        dim, members = r.randint(1, 3), r.choice([1, 2, 3, 5, 12, 60])
        data, boxes = r.random() < 0.5, r.random() < 0.3
        low, high = r.choice([(-1.0, 1.0), (0.0, 4.0), (0.25, 7.5), (-10.0, 10.0), (0.1, 0.9)])
        columns = {}
        if data:
            columns["w"] = [r.choice([0.5, 1.0, r.uniform(0.2, 3)]) for _ in range(members)]
        if boxes:
            columns["cap"] = [high * r.choice([1, 1.5, r.uniform(1, 2)]) for _ in range(members)]
        over = f"[i in 1..{members}]"
        if columns:
            self.files[f"{name}.csv"] = ",".join(columns) + "\n" + "".join(
                ",".join(repr(columns[c][k]) for c in columns) + "\n" for k in range(members))
            self.blocks.append(f'data rows_{name} = csv "{name}.csv" public {", ".join(columns)}\n')
            over = f"[i] over rows_{name}"
        top = "cap" if boxes else repr(high)
        self.blocks.append(f"agents {name}{over} {{\n  state x[{dim}] in [{low!r}, {top}]\n"
                           f"{self.public_set(dim, low, high, data)}  private minimize sum(x)\n}}\n")
        self.families.append((name, members, dim, low, high, data))

    def public_set(self, dim, low, high, data):
        """A line that cuts some of the box off, with coefficients of both signs and columns."""
        r = self.caps
        if r is None or r.random() < 0.2 or dim == 1:
            return ""
        weights = [r.choice([1.0, 1.0, r.uniform(0.3, 3), -1.0]) for _ in range(dim)]
        terms = " + ".join(f"{w!r} * x[{c + 1}]" for c, w in enumerate(weights))
        least = sum(w * (low if w > 0 else high) for w in weights)
        most = sum(w * (high if w > 0 else low) for w in weights)
        bound = repr(least + r.uniform(0.1, 0.6) * (most - least))
        return f"  public set {terms} <= {bound}{' + 0.1 * w' if data and r.random() < 0.5 else ''}\n"

    def capped_options(self):
        r = self.caps
        mechanism = r.choice(MECHANISMS)
        return ["--mechanism", mechanism, "--epsilon", "1", *(("--delta", "1e-5") if mechanism == "gaussian" else ()), "--rounds", "1000",
                "--adjacency", "agent", *r.choice([("--method", "tacit"), ("--method", "tacit", "--placement", "states"), ("--method", "published")])]

    # ---- rows ----

    def term(self, family, curved):
        """Of one member."""
        r = self.random
        name, members, dim, low, high, data = family
        def x():
            return f"x[{r.randint(1, dim)}]"
        weight = "w" if data and r.random() < 0.7 else self.number(0.3, 3)
        affine = [f"{weight} * {x()}", f"{weight} * {x()} + {self.number(-2, 2)} * {x()} + {self.number(-3, 3)}",
                  f"{x()} - {weight} * {x()} / {self.number(2, 5)}", f"i / {members} * {x()}"]
        shift = repr(max(0.0, -low) + 0.5)
        more = [f"{weight} * {x()}^2", f"({x()} + {weight} * {x()})^2", f"{weight} * {x()}^4", f"exp({x()} / {self.number(4, 20)})",
                f"sqrt({x()}^2 + {self.number(0.1, 2)})", f"norm(x + {2 * abs(low) + 0.3!r})", f"huber({x()}, {self.number(0.2, 2)})",
                f"-log({x()} + {shift})", f"logsumexp(x, 0.5 * {x()})", f"1 / ({x()} + {shift})", f"({x()} + {shift})^1.5",
                f"({x()} + {shift})^-2", f"{x()}^3", f"sumsq(x) * {weight}", f"exp(-({x()}^2) / {self.number(3, 9)})",
                f"{x()}^2 / ({x()} + {shift})", f"({x()} + {shift})^0.3", f"norm([x[1], {self.number(0.5, 2)}])^3"]
        return r.choice(more if curved else affine)

    def total(self, family, curved):
        return f"sum({family[0]}: {self.term(family, curved)})"

    def named(self, family):
        name, members, dim = family[:3]
        return f"{name}[{self.random.randint(1, members)}].x[{self.random.randint(1, dim)}]"

    def row(self):
        r = self.random
        family, other = r.choice(self.families), r.choice(self.families)
        size = repr(float(family[1]) * family[4])
        a, c = self.total(family, False), self.total(family, True)
        b, n, m = self.total(other, False), self.named(family), self.named(other)
        kinds = [a, f"{a} - {self.number(0.1, 2)} * {b}", c, f"{c} + {a}", f"({a} / {size})^2 + {b}", f"exp(({a}) / (5 * {size}))",
                 f"({a} / {size})^2 * 3 + {c}", f"sqrt(1 + ({a})^2) + {n}", f"{n} + {m}", f"({n} - {m})^2 + {a}",
                 f"{n}^2 + {m}^2 + {n} * {m}", f"logsumexp({a} / {size}, {n}, {m} / 3)", f"huber({a} / {size} + {n}, 0.5)",
                 f"norm([{a} / {size}, {n}, 0.7])", f"({a}) * {self.number(0.01, 0.1)} + exp({n} / 9) + {m}",
                 f"({a} + {b})^2 / {size}", f"{c} - {n}", f"(({a}) / {size} - {n})^2 + ({b} / {size})^4"]
        return r.choice(kinds)

    # ---- options ----

    def pick_options(self):
        r = self.random
        mechanism, unit = r.choice(MECHANISMS), r.choice(UNITS)
        options = ["--mechanism", mechanism, "--epsilon", r.choice(["1", "0.3", "ln(2)", "4"]),
                   *(("--delta", "1e-5") if mechanism == "gaussian" else ()),
                   "--rounds", r.choice(["50", "1000", "30000"])]
        if r.random() < 0.25:
            options += ["--calibration", "published", "--adjacency", f"ensemble:{self.number(0.5, 3)}"]
        else:
            options += ["--adjacency", "agent" if unit == "agent" else f"{unit}:{self.number(0.5, 3)}",
                        *r.choice([("--method", "tacit"), ("--method", "tacit", "--placement", "states"),
                                   ("--method", "published"), ("--method", "published", "--placement", "outputs")])]
        if r.random() < 0.2:
            options += ["--on-late", "hold", "--most-holds", "3"]
        family = self.families[0]
        if r.random() < 0.4 and family[1] > 2:
            options += ["--coalition", f"{family[0]}[2],{family[0]}[1]"]
        return options
