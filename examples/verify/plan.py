"""The plan of a certificate: the numbers that are claimed, and what can be said of them without the model."""

import math
import re

import interval as I
from distance import Distances
from expression import Malformed, number, whole
from model import take


class Refused(Exception):
    """Something that is claimed does not hold, or is not proved; loose: perhaps sharper bounds would prove it."""

    def __init__(self, why, loose=False):
        super().__init__(why)
        self.loose = loose


class Channel:
    def __init__(self, listed, families, rows):
        self.name, self.kind = take(listed, "name", str), take(listed, "kind", str)
        self.constant, self.sensitivity = number(listed.get("constant")), number(listed.get("sensitivity"))
        self.scale, self.variance = number(listed.get("scale")), number(listed.get("variance"))
        self.entries, self.first_entry = whole(listed.get("entries")), whole(listed.get("first_entry"))
        self.first_row, self.rows = whole(listed.get("first_row")), whole(listed.get("rows"))
        self.every_entry = take(listed, "every_entry", bool)
        self.exponent = whole(listed.get("step_exponent"), -899, 899)
        self.lattice_scale = number(listed.get("lattice_scale"))
        self.step = math.ldexp(1.0, self.exponent)
        if self.kind not in ("constraints", "jacobian", "states", "forms"):
            raise Malformed(f"'{self.kind}' is no kind of system")
        self.family = None
        if self.kind in ("jacobian", "states"):
            self.family = whole(listed.get("family"), 0, len(families) - 1)
            self.first_member, self.members = whole(listed.get("first_member")), whole(listed.get("members"), 1)
            self.everybody = families[self.family].members
            if self.first_member + self.members > self.everybody:
                raise Malformed(f"system {self.name} names members that are not there")
        if self.kind != "states" and self.first_row + self.rows > rows:
            raise Malformed(f"system {self.name} names constraints that are not there")

    def has_member(self, member):
        return self.first_member <= member < self.first_member + self.members


class Observer:
    def __init__(self, listed, gaussian):
        self.who, self.kind = take(listed, "who", str), take(listed, "kind", str)
        if self.kind not in ("agent", "coalition", "eavesdropper", "status"):
            raise Malformed(f"'{self.kind}' is no kind of observer")
        self.epsilon, self.delta = number(listed.get("epsilon")), number(listed.get("delta"))
        self.mu = number(listed.get("mu")) if gaussian else None
        self.delta_at_asked = number(listed.get("delta_at_asked_epsilon")) if gaussian else None


class Plan:
    def __init__(self, listed, model):
        if not isinstance(listed, dict):
            raise Malformed("'plan' is no object")
        self.listed = listed
        self.mechanism = self.choice("mechanism", ("laplace", "gaussian"))
        self.calibration = self.choice("calibration", ("tight", "published"))
        self.placement = self.choice("placement", ("outputs", "states", "forms"))
        self.gaussian = self.mechanism == "gaussian"
        self.norm = 2 if self.gaussian else 1
        self.epsilon, self.delta = number(listed.get("epsilon")), number(listed.get("delta"))
        self.holds = number(listed.get("hold_cap"))
        self.rounds = listed.get("rounds")
        if self.rounds is not None:
            self.rounds = number(self.rounds)
        self.equalities = listed.get("equalities", [])  # prices do not depend on them
        if not isinstance(self.equalities, list) or not all(name in model.row_names for name in self.equalities):
            raise Malformed("'equalities' names a constraint that is not there")
        self.read_unit(take(listed, "unit", str))
        lattice = take(listed, "lattice", dict)
        self.state_exponent = whole(lattice.get("state_exponent"), -899, 899)
        self.state_step = number(lattice.get("state_step"))
        self.sum_exponents = [whole(e, -899, 899) for e in take(lattice, "sum_exponents", list)]
        self.overhead = number(lattice.get("overhead"))
        rows = len(model.inputs) if self.placement == "forms" else len(model.rows)
        self.channels = [Channel(c, model.families, rows) for c in take(listed, "systems", list)]
        self.entries = whole(listed.get("entries"))
        self.distances = Distances(self, model) if self.unit in ("within", "data") else None
        self.demand((self.distances is not None) == ("distances" in listed), "distances: of another unit")
        self.observers = [Observer(o, self.gaussian) for o in take(listed, "observers", list)]
        self.index()

    def choice(self, key, choices):
        value = take(self.listed, key, str)
        if value not in choices:
            raise Malformed(f"'{key}' is '{value}'")
        return value

    def read_unit(self, text):
        self.unit, _, bound = text.partition(":")
        if self.unit not in ("one", "ensemble", "agent", "data"):
            raise Malformed(f"'{text}' is no unit")
        if self.unit == "agent" and bound:
            self.unit = "within"
        if bool(bound) != (":" in text) or (self.unit == "data" and bound) or not re.fullmatch("[0-9.e+-]*", bound):
            raise Refused(f"'{text}' is no unit")
        self.bound, self.unit_text = None, text
        self.every_round = self.unit in ("agent", "within", "data")  # prices grow with the rounds
        if self.every_round and self.rounds is None:
            raise Malformed("'rounds' is missing")
        if self.unit in ("one", "ensemble", "within"):
            self.bound = number(self.listed.get("adjacency"))
            try:
                same = float(bound) == self.bound
            except ValueError as wrong:
                raise Malformed(f"'{text}' is no unit") from wrong
            self.demand(same, f"the unit {text}: 'adjacency' says {self.bound!r}")

    def index(self):
        self.row_channel, self.slope_channels = {}, []
        for channel in self.channels:
            if channel.kind in ("constraints", "forms"):
                for j in range(channel.first_row, channel.first_row + channel.rows):
                    self.demand(j not in self.row_channel, f"system {channel.name}: another one has its rows")
                    self.row_channel[j] = channel
            elif channel.kind == "jacobian":
                self.slope_channels.append(channel)
        self.slopes_by_family = {}
        for channel in self.slope_channels:
            self.slopes_by_family.setdefault(channel.family, []).append(channel)

    @staticmethod
    def demand(holds, why, loose=False):
        if not holds:
            raise Refused(why, loose)

    # ---- where a number's noise is ----

    def has_member_channels(self, f):
        return any(c.members < c.everybody for c in self.slopes_by_family.get(f, []))

    def channels_of_member(self, f, member):
        """What the noise of its slopes is like."""
        return [(c.first_row, c.rows, c.scale, c.exponent) for c in self.slopes_by_family.get(f, []) if c.has_member(member)]

    def channel_of(self, key):
        """The system of an entry; of all members together the one with the least noise; None: some have none."""
        if key[0] == "g":
            return self.row_channel.get(key[1])
        found = [c for c in self.slopes_by_family.get(key[1], []) if 0 <= key[2] - c.first_row < c.rows]
        if key[0] == "J":
            found = [c for c in found if c.has_member(key[4])]
        elif sum(c.members for c in found) < max((c.everybody for c in found), default=0):
            return None
        return min(found, key=lambda c: c.scale, default=None)

    def sum_step(self, r):
        if r >= len(self.sum_exponents):
            raise Malformed("'sum_exponents' has too few entries")
        return math.ldexp(1.0, self.sum_exponents[r])

    def row_step(self, j):
        return self.row_channel[j].step

    def slope_steps(self, f, j):
        return {c.step for c in self.slopes_by_family.get(f, []) if 0 <= j - c.first_row < c.rows}

    # ---- what a unit of distance costs in a run ----

    def multiplier(self):
        """Prices of one unit (of one round of an agent) are multiplied by it."""
        if self.every_round:
            return I.sqrt_up(self.rounds) if self.gaussian else self.rounds
        uses = I.add_up(1.0, self.holds)
        return I.mul_up(self.bound, I.sqrt_up(uses) if self.gaussian else uses)

    def check_numbers(self):
        """What needs no model: signs, powers of two, addresses."""
        d = self.demand
        d(self.listed.get("private") is True and self.listed.get("void_reasons") == [], "the plan calls itself not private")
        d(self.epsilon > 0, f"epsilon {self.epsilon!r}")
        has_delta = self.gaussian or "last_round" in self.listed  # bounds of noise cost some
        d(0 < self.delta < 1 if has_delta else self.delta == 0, f"delta {self.delta!r}")
        d(self.bound is None or self.bound > 0, f"the distance {self.bound!r}")
        d(self.unit != "data" or self.listed.get("method") == "tacit", "the unit data is for method tacit alone")
        d(self.holds >= 0 and self.holds == math.floor(self.holds), f"hold_cap {self.holds!r}")
        d(self.rounds is None or (1 <= self.rounds < 2 ** 48 and self.rounds == math.floor(self.rounds)),
          f"rounds {self.rounds!r}")
        d(self.calibration == "tight" or (self.unit == "ensemble" and self.placement == "outputs"),
          "the published calibration is for ensembles and outputs")
        d(self.state_step == math.ldexp(1.0, self.state_exponent), f"state_step {self.state_step!r}: not 2^state_exponent")
        address = self.check_channels()
        d(self.entries == address, f"entries: {self.entries}, not {address}")
        over = max([c.sensitivity / c.constant - 1 for c in self.channels if c.constant > 0] + [0.0])
        d(abs(self.overhead - over) <= 1e-13, f"overhead {self.overhead!r}, not {over!r}")

    def check_channels(self):
        """How many entries all systems have."""
        d, address = self.demand, 0
        for c in self.channels:
            d(c.scale > 0, f"the scale of {c.name}")
            square = c.scale * c.scale * (1 if self.gaussian else 2)
            d(abs(c.variance - square) <= 1e-14 * square, f"the variance of {c.name}: {c.variance!r}, not {square!r}")
            d(c.lattice_scale == math.ldexp(c.scale, -c.exponent), f"the lattice_scale of {c.name}: not scale / step")
            d(2.0 ** -6 <= c.lattice_scale <= 2.0 ** 40, f"the noise of {c.name} is out of the sampler's range")
            d(c.first_entry == address, f"first_entry of {c.name}: {c.first_entry}, not {address}")
            d(c.sensitivity >= c.constant >= 0, f"the sensitivity of {c.name} is below its constant")
            address += c.entries
        return address
