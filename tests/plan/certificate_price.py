"""What a certificate's plan costs, computed without the verifier: the numbers that it describes are evaluated in doubles at points
of the box, noise is looked up number by number, and worlds that are tried give prices. A price is a lower bound of the true one: a
claim below it is false. Nothing here bounds anything."""

import math
import random

from mpmath import mp

INF = math.inf


class Harm(Exception):
    """Something that is released has no noise, or has it twice, or is no number."""


# ---- expressions at a point ----

def share(values, place):
    top = max(values)
    return math.exp(values[place] - top) / sum(math.exp(v - top) for v in values)


def lse(values):
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values))


def falling(a, p, order):
    factor = math.prod(p - i for i in range(order))
    return 0.0 if factor == 0 else factor * a ** (p - order)


def bend(values, i, k):
    length = math.hypot(*values)
    return ((i == k) - values[i] * values[k] / length ** 2) / length


UNARY = {"neg": lambda a: -a, "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "hump": lambda a: a * (1 - a)}
BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
          "pair": lambda a, b: a * b, "huber": lambda a, b: a * a / 2 if abs(a) <= b else b * (abs(a) - b / 2),
          "clamp": lambda a, b: max(-b, min(a, b)), "inside": lambda a, b: float(abs(a) < b)}
LISTS = {"lse": lse, "softmax": share, "norm": lambda v: math.hypot(*v), "bend": bend,
         "direction": lambda v, i: v[i] / math.hypot(*v) if any(v) else 0.0}


def evaluate(nodes, variables, data=()):
    """The values of all nodes; those that have none at this point are NAN."""
    found = []
    for op, *rest in nodes:
        try:
            if op == "number":
                value = float(rest[0])
            elif op == "data":
                value = data[rest[0]]
            elif op in ("state", "input"):
                value = variables[rest[0]]
            elif op in UNARY:
                value = UNARY[op](found[rest[0]])
            elif op in BINARY:
                value = BINARY[op](found[rest[0]], found[rest[1]])
            elif op in ("pow", "power"):
                value = found[rest[0]] ** rest[1]
            elif op == "powd":
                value = falling(found[rest[0][0]], found[rest[0][1]], rest[1])
            else:
                value = LISTS[op]([found[a] for a in rest[0]], *rest[1:])
            value = float(value) if not isinstance(value, complex) else math.nan
        except (ArithmeticError, ValueError):
            value = math.nan
        found.append(value)
    return found


# ---- what is released ----

class Described:
    """A certificate as somebody reads it who takes it at its word."""

    def __init__(self, listed):
        self.plan, self.model = listed["plan"], listed["model"]
        self.families, self.systems = self.model["families"], self.plan["systems"]
        self.gaussian = self.plan["mechanism"] == "gaussian"
        self.sum_at = {r: (f, e) for f, family in enumerate(self.families) for r, e in family["sums"]}
        self.has_slopes = any(s["kind"] == "jacobian" for s in self.systems)
        self.noise_of = {}

    @staticmethod
    def of(value, member):
        return float(value[member] if isinstance(value, list) else value)

    def box(self, f, k):
        family = self.families[f]
        return [(self.of(a, k), self.of(b, k)) for a, b in zip(family["lower"], family["upper"])]

    def noise(self, key):
        """The scale of a number's noise."""
        if key not in self.noise_of:
            kind, j, *place = key
            found = []
            for s in self.systems:
                rows = 0 <= j - s["first_row"] < s["rows"]
                mine = kind in ("J", "x") and s.get("family") == place[0] and 0 <= place[1] - s["first_member"] < s["members"]
                if {"g": s["kind"] in ("constraints", "forms") and rows, "J": s["kind"] == "jacobian" and rows and mine,
                        "x": s["kind"] == "states" and mine}[kind]:
                    found.append(s["scale"])
            if len(found) > 1:
                raise Harm(f"{key} is released {len(found)} times")
            self.noise_of[key] = found[0] if found else None
        return self.noise_of[key]

    def released(self, x):
        """{key: value} at states {(family, member): list}."""
        if self.plan["placement"] == "states":
            read = {(f, k) for f, family in enumerate(self.families) if family["sums"] for k in range(family["members"])}
            read |= {tuple(i["state"][:2]) for i in self.model["inputs"] if "state" in i}
            return {("x", 0, f, k, c): v for f, k in read if (f, k) in x for c, v in enumerate(x[f, k])}
        values = {(f, k): evaluate(self.families[f]["nodes"], states, [column[k] for column in self.families[f]["data"]])
                  for (f, k), states in x.items()}
        inputs = []
        for i in self.model["inputs"]:
            if "sum" in i:
                f, e = self.sum_at[i["sum"]]
                inputs.append(sum(values[f, k][e] for k in range(self.families[f]["members"])))
            else:
                f, k, c = i["state"]
                inputs.append(x[f, k][c])
        outer = evaluate(self.model["nodes"], inputs)
        found = {("g", j): outer[e] for j, (_, e) in enumerate(self.model["constraints"])}
        if self.plan["placement"] == "forms":
            return {("g", i): v for i, v in enumerate(inputs)}
        for j, i, e in self.model["slopes"] if self.has_slopes else ():
            at = self.model["inputs"][i]
            if "state" in at:
                f, k, c = at["state"]
                key = ("J", j, f, k, c)
                found[key] = found.get(key, 0.0) + outer[e]
                continue
            f = self.sum_at[at["sum"]][0]
            for body, c, slope in self.families[f]["slopes"]:
                if self.families[f]["sums"][body][0] == at["sum"]:
                    for k in range(self.families[f]["members"]):
                        key = ("J", j, f, k, c)
                        found[key] = found.get(key, 0.0) + outer[e] * values[f, k][slope]
        return found

    def moved(self, x, there, sees):
        """The change of all that somebody sees, in units of noise."""
        before, after, far = self.released(x), self.released(there), []
        for key, value in before.items():
            if key[0] == "J" and not (sees is None or tuple(key[2:4]) in sees):
                continue
            change = abs(after[key] - value)
            if not change < INF:
                raise Harm(f"{key} is no number")
            if change <= 1e-9 * (abs(value) + abs(after[key])) + 1e-12:
                continue
            scale = self.noise(key)
            if scale is None:
                raise Harm(f"{key} changes and has no noise")
            far.append((change - 2e-11 * (abs(value) + abs(after[key]))) / scale)
        return math.hypot(*far) if self.gaussian else sum(far)


# ---- worlds ----

def length(vector, gaussian):
    return math.hypot(*vector) if gaussian else sum(map(abs, vector))


class Worlds:
    """Pairs of inputs that the unit does not tell apart, and what they cost."""

    def __init__(self, described, seed):
        self.d, self.draw = described, random.Random(seed)
        plan = described.plan
        self.unit, _, bound = plan["unit"].partition(":")
        self.unit = "within" if self.unit == "agent" and bound else self.unit
        uses = 1 + plan["hold_cap"] if self.unit in ("one", "ensemble") else plan["rounds"]
        self.times = math.sqrt(uses) if described.gaussian else uses
        self.bound = float(bound) if self.unit in ("one", "ensemble") else None
        self.all = {(f, k): described.box(f, k) for f, family in enumerate(described.families) for k in range(family["members"])}

    def reach(self, f):
        """Units agent:D and data: recomputed from the data's distances."""
        d = self.d
        one, box = d.plan["distances"][f], [d.box(f, k) for k in range(d.families[f]["members"])]
        n = math.sqrt(len(box[0])) if d.gaussian else len(box[0])
        across = max(length([high - low for low, high in b], d.gaussian) for b in box)
        if self.unit == "within":
            far = d.plan["adjacency"]
        elif not one["data"]:
            return 0.0
        else:
            square = max(length([high - low for low, high in b], True) for b in box)
            steps = 2e-9 * d.plan["rounds"] * square * (1 if d.gaussian else math.sqrt(len(box[0])))
            far = sum(datum["distance"] for datum in one["data"]) + steps
        return min(far + n * d.plan["lattice"]["state_step"], across)

    def point(self):
        pick = self.draw.choice
        return {place: [pick((low, high, self.draw.uniform(low, high))) for low, high in box] for place, box in self.all.items()}

    def directions(self, movers):
        """Some: single states, all states of one agent, and (l2) all states of all agents."""
        draw, place = self.draw, self.draw.choice(movers)
        dim = len(self.all[place])
        state = draw.randrange(dim)
        yield {place: [float(c == state) for c in range(dim)]}
        if self.d.gaussian or self.unit in ("agent", "within", "data"):
            yield {place: [draw.choice((-1, 1)) * draw.uniform(0.2, 1) for _ in range(dim)]}
        if self.unit == "ensemble" and self.d.gaussian:
            sign = [draw.choice((-1, 1)) for _ in range(dim)]
            yield {p: [float(sign[c % dim]) for c in range(len(self.all[p]))] for p in movers}
            yield {p: [draw.gauss(0, 1) for _ in self.all[p]] for p in movers}

    def cost(self, view, way):
        """The price of moving along a way from a point, as far as the unit lets one go in the box."""
        x = self.point()
        there = {place: list(states) for place, states in x.items()}
        for place, vector in way.items():
            for c, (at, (low, high)) in enumerate(zip(x[place], self.all[place])):
                step = vector[c] * (high - low) * (1e-3 if self.unit in ("one", "ensemble") else 1)
                there[place][c] = min(max(at + (step if low <= at + step <= high else -step), low), high)
        far = length([a - b for p in way for a, b in zip(x[p], there[p])], self.d.gaussian)
        if far == 0:
            return 0.0
        if self.unit in ("within", "data"):
            most = self.reach(next(iter(way))[0])
            if most == 0:
                return 0.0
            shrink = min(1.0, most / far)
            there = {p: [a + (b - a) * shrink for a, b in zip(x[p], there[p])] for p in x}
            far = 1.0
        elif self.unit == "agent":
            if not all(self.allowed(f, k, w[f, k]) for f, k in way for w in (x, there)):
                return 0.0
            far = 1.0
        return self.d.moved(x, there, view) / far * self.times * (self.bound or 1.0)

    def allowed(self, f, k, states):
        """In the agent's public set, if it has one."""
        family = self.d.families[f]
        if "public_set" not in family:
            return True
        return sum(self.d.of(a, k) * v for a, v in zip(family["public_set"], states)) <= self.d.of(family["public_bound"][0], k)

    def price(self, view, alone, tries):
        """The most that tried worlds cost one who sees the slopes of the agents in view (None: all), and has the states of alone."""
        movers = [place for place in self.all if place not in alone]
        worst = 0.0
        for _ in range(tries if movers else 0):
            for way in self.directions(movers):
                worst = max(worst, self.cost(view, way))
        return worst

    def lattice(self):
        """A state that moves by one step of its lattice can move a number by a step of its own, in as many rounds as it takes."""
        plan = self.d.plan
        if plan["placement"] == "states" or self.unit not in ("one", "ensemble"):
            return 0.0
        steps = [2.0 ** s["step_exponent"] / s["scale"] for s in self.d.systems if s["constant"] > 0]
        return max(steps, default=0.0) / 2.0 ** plan["lattice"]["state_exponent"] * self.bound * (1 if not self.d.gaussian else self.times)


def exceeds(epsilon, mu):
    """Gaussian: delta at an epsilon (docs/proofs/gaussian.md)."""
    with mp.workdps(60):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


def broken_words(plan, gaussian):
    """Epsilons and deltas that do not follow from the prices of the rounds."""
    most = next(o for o in plan["observers"] if o["kind"] == "eavesdropper")
    kept = plan["calibration"] == "published" or (
        exceeds(plan["epsilon"], most["mu"]) <= plan["delta"] * (1 + 1e-9) if gaussian and most["mu"] > 0 else
        gaussian or most["epsilon"] <= plan["epsilon"])
    found = [] if kept else ["the eavesdropper pays more than was promised"]
    for o in plan["observers"] if gaussian else ():
        for epsilon, delta in ((o["epsilon"], o["delta"]), (plan["epsilon"], o["delta_at_asked_epsilon"])):
            if o["mu"] > 0 and exceeds(epsilon, o["mu"]) > delta * (1 + 1e-9):
                found.append(f"'{o['who']}': mu {o['mu']!r} is more than epsilon {epsilon!r} at delta {delta!r}")
    return found


def last_shortfalls(listed, gaussian):
    """The last round as a plan of its own, for averages (docs/proofs/ending.md, section 4)."""
    plan, last, t = listed["plan"], listed["plan"]["last_round"], listed["plan"]["rounds"]
    follows = math.sqrt(3 * (3 * t * t + 6 * t + 1) / (5 * t * (t + 1) * (t + 2))) if gaussian else 3 / (t + 2)
    unit, _, bound = plan["unit"].partition(":")
    alone = {**plan, "systems": last["systems"], "placement": "outputs", "rounds": 1}
    if unit in ("one", "ensemble"):
        alone["unit"] = f"{unit}:{float(bound) * follows!r}"
    shown = Worlds(Described({**listed, "plan": alone}), 5).price(None, set(), 4)
    claimed = last["mu" if gaussian else "epsilon"]
    found = [f"the last round costs {shown:.6g}, and not {claimed!r}"] if shown > claimed * (1 + 1e-6) else []
    if not gaussian and math.expm1(claimed) / math.expm1(last["cut"]) / 2 > last["delta"] * (1 + 1e-9):
        found.append("the last round's bounds cost more than its delta")
    if any(s["bound"] < s["scale"] * last["cut"] * (1 - 1e-12) for s in last["systems"]):
        found.append("a bound of the last round is nearer than it says")
    return found


def shortfalls(listed, tries=3, seed=1):
    """Claims that worlds refute, as sentences; empty: none of those that were tried."""
    try:
        d = Described(listed)
        worlds, found = Worlds(d, seed), []
        agents = {}
        for f, family in enumerate(d.families):
            for k in range(family["members"]):
                name = family["names"][k] if family["names"] else f"{family['name']}[{k + 1}]" if family["indexed"] else family["name"]
                agents.setdefault(name, set()).add((f, k))
        unseen = set(worlds.all)
        for observer in listed["plan"]["observers"]:
            who, kind = observer["who"], observer["kind"]
            if " .. " in who:
                first = next(iter(agents[who.split(" .. ")[0].removeprefix("each of ")]))
                own = {first}
                unseen -= {place for place in worlds.all if place[0] == first[0]}
            else:
                own = set() if kind in ("eavesdropper", "status") else set().union(*(agents[name] for name in who.split(" + ")))
                unseen -= own if kind == "agent" else set()
            claimed = observer["mu" if d.gaussian else "epsilon"]
            shown = worlds.price(None if kind == "eavesdropper" else own, own, tries)
            shown = max(shown, worlds.lattice() if kind == "eavesdropper" else 0.0)
            if shown > claimed * (1 + 1e-6) + 1e-12:
                found.append(f"'{who}' pays {shown:.6g}, and not {claimed!r}")
        found += broken_words(d.plan, d.gaussian)
        found += last_shortfalls(listed, d.gaussian) if "last_round" in d.plan else []
        kinds = [observer["kind"] for observer in listed["plan"]["observers"]]
        found += [f"no observer {kind}" for kind in ("eavesdropper", "status") if kind not in kinds]
        return found + [f"agent {place} is no observer" for place in sorted(unseen)]
    except Harm as harm:
        return [str(harm)]
