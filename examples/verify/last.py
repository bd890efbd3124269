"""The last round of --feasible always: after the rounds agents send their averages, and the constraints are released there with
noise that is drawn until it is within its bounds. What that costs, and how far its numbers can be off: docs/proofs/ending.md."""

import math
from fractions import Fraction

from mpmath import iv

import interval as I
import normal
from distance import diameter
from expression import Malformed, number, whole
from model import take
from plan import Channel, Plan
from sensitivity import View

SLACK = 2.0 ** -40
KEPT = 1 - Fraction(1, 1024)  # Gaussian: at least so much of the noise of all rows lies within its bounds
AVERAGING = 2.0 ** -49  # a step of an average in doubles is off by less, of the largest number of a box
MOVING = 2.0 ** -48  # and what an agent computes of its average afterwards


def up(fraction):
    """A double that is no less."""
    found = fraction.numerator / fraction.denominator
    return found if Fraction(found) >= fraction else I.after(found)


def largest(family):
    """The largest number of any member's box."""
    return max(max(abs(low), abs(high)) for k in range(family.members if family.varies() else 1) for low, high in family.box(k))


def averaging(family, rounds):
    """How much further apart than its states one state of an average can be, computed in T steps in each of two worlds."""
    return I.mul_up(I.mul_up(2.0, rounds), I.mul_up(AVERAGING, largest(family)))


def follows(rounds, gaussian):
    """What an average makes of messages that differ by 1 in all: the largest weight, or the root of the sum of squares."""
    t = int(rounds)
    if not gaussian:
        return up(Fraction(3, t + 2))
    return I.sqrt_up(up(Fraction(3 * (3 * t * t + 6 * t + 1), 5 * t * (t + 1) * (t + 2))))


class Averages:
    """Units agent:D and data: as distance.Distances, of averages."""

    def __init__(self, plan, model):
        self.exact, self.reach = [], []
        for family, exact, reach in zip(model.families, plan.distances.exact, plan.distances.reach):
            if reach == 0:
                self.exact.append(0.0)
                self.reach.append(0.0)
                continue
            n = I.sqrt_up(float(family.dim)) if plan.gaussian else float(family.dim)
            far = I.add_up(exact, I.mul_up(averaging(family, plan.rounds), n))
            across = diameter(family, plan.gaussian)
            self.exact.append(min(far, across))
            self.reach.append(min(I.add_up(far, I.mul_up(plan.state_step, n)), across))


class LastRound(Plan):
    """One release of the constraints, on the lattice of states of the rounds and on lattices of sums of its own."""

    def __init__(self, plan, model):  # pylint: disable=super-init-not-called
        listed = take(plan.listed, "last_round", dict)
        self.whole, self.listed, self.model = plan, listed, model
        for name in ("mechanism", "calibration", "gaussian", "norm", "unit", "bound", "every_round", "state_exponent", "state_step"):
            setattr(self, name, getattr(plan, name))
        self.placement = "outputs"
        self.demand(plan.listed.get("method") == "tacit" and plan.calibration == "tight" and not plan.slope_channels,
                    "last_round: it is for method tacit alone")
        self.demand(plan.holds == 0, "last_round: an average has no message that is used again")
        self.demand(plan.rounds is not None, "last_round: the number of rounds is missing")
        self.share, self.delta, self.cut = (number(listed.get(key)) for key in ("share", "delta", "cut"))
        self.price = number(listed.get("mu" if self.gaussian else "epsilon"))
        self.allowance = [number(a) for a in take(listed, "allowance", list)]
        self.sum_exponents = [whole(e, -899, 899) for e in take(listed, "sum_exponents", list)]
        self.channels = [Channel(c, model.families, len(model.rows)) for c in take(listed, "systems", list)]
        self.bounds = []
        for c in listed["systems"]:
            self.bounds.append((number(c.get("bound_steps")), number(c.get("bound"))))
        self.entries = sum(c.entries for c in self.channels)
        self.distances = Averages(plan, model) if plan.distances is not None else None
        self.index()

    def multiplier(self):
        """How far averages are apart, in units that bound the messages of all rounds together. They are made of states that are at
        most h from the messages, and are sent on the lattice, in each of two worlds."""
        if self.every_round:
            return 1.0
        families = self.model.families
        states = sum(f.dim * f.members for f in families) if self.unit == "ensemble" else max(f.dim for f in families)
        off = max(averaging(f, self.whole.rounds) for f in families)
        each = I.add_up(I.mul_up(4.0, self.state_step), off)
        return I.add_up(I.mul_up(follows(self.whole.rounds, self.gaussian), self.bound),
                        I.mul_up(each, I.sqrt_up(float(states)) if self.gaussian else float(states)))

    # ---- numbers ----

    def check_numbers(self):
        d = self.demand
        d(0 < self.share < 1, f"the share of the last round {self.share!r}")
        d(self.price >= 0, f"the price of the last round {self.price!r}")
        d(0 <= self.delta <= self.whole.delta, f"the delta of the last round {self.delta!r}")
        self.check_channels()
        for c, (steps, bound) in zip(self.channels, self.bounds):
            d(steps == math.floor(steps) and c.lattice_scale <= steps < 2.0 ** 53, f"bound_steps of {c.name}")
            d(steps >= I.mul_up(self.cut, c.lattice_scale), f"bound_steps of {c.name}: less than {self.cut!r} scales")
            d(steps <= I.add_up(I.mul_up(self.cut, c.lattice_scale), 1.0), f"bound_steps of {c.name}: not {self.cut!r} scales")
            d(bound == math.ldexp(steps, c.exponent), f"the bound of {c.name}: not bound_steps on its lattice")
        self.check_bounds_delta()
        self.check_share()

    def check_cover(self):
        """Every constraint that depends on a state gets noise, and slopes are not released."""
        graph = self.model.graph
        self.demand(all(c.kind == "constraints" and c.entries == c.rows and not c.every_entry for c in self.channels),
                    "last_round: a system is not one of constraints")
        self.demand(len(self.sum_exponents) == len(self.model.sums), "last_round: sum_exponents: not one for each sum")
        self.demand(len(self.allowance) == len(self.model.rows), "last_round: allowance: not one for each constraint")
        for j, e in enumerate(self.model.rows):
            self.demand(not graph.reads(e) or j in self.row_channel,
                        f"constraint {self.model.row_names[j]} carries no noise in the last round")

    # ---- what bounds cost ----

    def check_bounds_delta(self):
        """(2) and (3) of docs/proofs/ending.md, section 2."""
        d, rows, kept = self.demand, max(len(self.row_channel), 1), iv.prec
        d(self.cut >= 1, f"cut {self.cut!r}: below 1")
        try:
            iv.prec = normal.BITS
            price, cut = iv.mpf(self.price), iv.mpf(self.cut)
            if self.gaussian:
                d(self.price <= self.cut, f"cut {self.cut!r}: below mu of the last round")
                tail = normal.tail_end(cut.a)
                d((1 - 2 * rows * tail).a >= iv.mpf(KEPT.numerator) / KEPT.denominator,
                  f"cut {self.cut!r}: too much of the noise lies outside")
                above = iv.sqrt(rows) * price * normal.density(cut - price) / (1 - 2 * tail)
            else:
                above = (iv.exp(price) - 1) / (2 * (iv.exp(cut) - 1))
            holds = above.b <= (iv.mpf(self.delta) * (1 + iv.mpf(SLACK))).a
        finally:
            iv.prec = kept
        d(holds, f"the delta of the last round: {self.delta!r} is not proved")

    def keeps(self, epsilon, mu, delta):
        """Gaussian: whether noise and bounds together cost no more than delta."""
        return self.noise_keeps(epsilon, mu, Fraction(delta) - Fraction(self.delta))

    @staticmethod
    def noise_keeps(epsilon, mu, delta):
        """The same of noise alone. Within bounds all probabilities are larger, by one factor of at most 1 / KEPT."""
        left, kept = delta * KEPT, iv.prec
        try:
            iv.prec = normal.BITS
            return bool(normal.delta_above(epsilon, mu) <= (iv.mpf(left.numerator) / left.denominator).a)
        finally:
            iv.prec = kept

    def check_share(self):
        """Of epsilon, or of mu^2 (of the mu that nine tenths of delta allow): the last round takes no more than it."""
        most = I.mul_up(self.price, 1 - SLACK)
        if not self.gaussian:
            holds = most <= I.mul_up(self.whole.epsilon, self.share)
        else:
            both = I.div_down(most, I.sqrt_up(self.share))
            holds = self.noise_keeps(self.whole.epsilon, both, Fraction(9, 10) * Fraction(self.whole.delta))
        self.demand(holds, f"the share of the last round: {self.share!r} is less than what it takes")

    def left_for_rounds(self, claimed):
        """Of a price for both: epsilons add up, and so do the squares of mu. Below 0: nothing, not even the last round."""
        if not self.gaussian:
            return I.add_down(claimed, -self.price)
        left = I.add_down(I.mul_down(claimed, claimed), -I.mul_up(self.price, self.price))
        return I.sqrt_down(left) if left >= 0 else -1.0

    # ---- how far its numbers are off ----

    def check_allowance(self, s):
        """|released less noise - g| at the averages that agents keep: rounding of g and of its sums, the lattice of the states, and
        what agents compute of averages. s: the sensitivities of this round."""
        found = [0.0] * len(self.model.rows)
        s.use_lattice(False)
        for group, weight, columns in s.blocks(View(everything=True), 1):
            for c, column in enumerate(columns):
                low, high = group.box[c]
                off = I.add_up(self.state_step, I.mul_up(MOVING, max(abs(low), abs(high))))
                for key, value in column.items():
                    size = I.mul_up(float(weight), I.magnitude(value))
                    found[key[1]] = I.add_up(found[key[1]], I.mul_up(size, off))
        s.use_lattice(True)
        for j, extra in s.lattice.row_extra.items():
            found[j] = I.add_up(found[j], extra)
        for i, rows in s.outer[0].items():
            kind, *place = self.model.inputs[i]
            for j, slope in rows:
                if kind == "sum":
                    found[j] = I.add_up(found[j], I.mul_up(I.magnitude(slope), s.lattice.sum_spread[place[0]]))
        for j, (most, claimed) in enumerate(zip(found, self.allowance)):
            self.demand(most <= I.mul_up(claimed, 1 + SLACK),
                        f"the allowance of {self.model.row_names[j]}: {claimed!r} is not proved", True)


def read_last(plan, model, second_form):
    """None where there is none."""
    if ("last_round" in plan.listed) != second_form:
        raise Malformed("a last round is in certificates of the second form, and in those alone")
    return LastRound(plan, model) if second_form else None
