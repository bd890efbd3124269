"""Public sets a.x <= b on the lattice of states, and how far an agent can move within one: docs/proofs/publicset.md.

The cloud enforces w.y <= C, whole numbers that follow from a, b, the box and the lattice by the operations below, in this order,
each sum and product rounded up to a double. The lists of a family are by state."""

import math
from fractions import Fraction

import interval as I

BITS = 61


def up(exact):
    """The least double that is not below."""
    found = float(exact)
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)


def add(a, b):
    return up(Fraction(a) + Fraction(b))


def mul(a, b):
    return up(Fraction(a) * Fraction(b))


class Cap:
    def __init__(self, weights, bound, box, step):
        h = Fraction(step)
        first = [-((-Fraction(low)) // h) for low, _ in box]
        last = [Fraction(high) // h for _, high in box]
        everything, room, widen = 0.0, bound, 0.0
        for a, low, high in zip(weights, first, last):
            corner = high if a < 0 else low
            everything = add(everything, mul(abs(a), high - low))
            room = add(room, mul(-a, corner * h))
            widen = add(widen, abs(a))
        room = add(room, mul(widen, 2 * h))
        q = Fraction(2) ** (math.frexp(everything)[1] - BITS)
        self.weights = [Fraction(abs(a)) // q if high > low else 0 for a, low, high in zip(weights, first, last)]
        most = sum(w * (high - low) for w, low, high in zip(self.weights, first, last))
        self.room = min(max(Fraction(room) // (q * h), 0), most) * h  # C h
        self.falls = [a < 0 for a in weights]
        self.widths = [I.width_up(b) for b in box]

    def most(self, gains, times):
        """At least the sum of gains[c] t_c for 0 <= t_c <= width, w.t <= times C h. gains: {state: a number >= 0}. Any price of a
        unit of weight proves a bound; the ratio of the state that no longer fits proves the least."""
        if any(not g < math.inf for g in gains.values()):
            return math.inf
        room, price, used = times * self.room, Fraction(0), Fraction(0)
        order = sorted((c for c in gains if self.weights[c] > 0), key=lambda c: -Fraction(gains[c]) / self.weights[c])
        for c in order:
            used += self.weights[c] * Fraction(self.widths[c])
            if used > room:
                price = Fraction(gains[c]) / self.weights[c]
                break
        total = price * room + sum(Fraction(self.widths[c]) * max(Fraction(0), Fraction(g) - price * self.weights[c])
                                   for c, g in gains.items())
        return up(total)

    def reach(self, gaussian):
        """How far two states can be apart: l2 by |x - x'|^2 <= sum of (the most of t_c) t_c."""
        gains = {c: self.most({c: 1.0}, 1) if gaussian else 1.0 for c in range(len(self.widths))}
        far = self.most(gains, 2)
        return I.sqrt_up(far) if gaussian else far

    def entry(self, slopes):
        """At least |sum of M_c (x_c - x'_c)|, M_c in slopes[c]."""
        ways = ({}, {})
        for c, (low, high) in slopes.items():
            rise, fall = max(high, 0.0), max(-low, 0.0)
            ways[0][c], ways[1][c] = (fall, rise) if self.falls[c] else (rise, fall)
        apart = add(self.most(ways[0], 1), self.most(ways[1], 1)) if slopes else 0.0
        return min(apart, self.most({c: I.magnitude(m) for c, m in slopes.items()}, 2))


class Whole(dict):
    """How far each entry moves when all states of an agent do; cap: its public set, with what that is made of: slopes[c][key],
    linear[key] without and extra[key] of rounding."""

    cap, slopes, linear, extra = None, (), {}, {}

    def together(self, scale, gaussian):
        """The price of one round, all entries together; scale: of an entry, None where it carries no noise."""
        gains, extra = {}, 0.0
        for c, column in enumerate(self.slopes):
            for key, value in column.items():
                if scale(key) is not None:
                    size = I.div_up(I.magnitude(value), scale(key))
                    size = I.mul_up(size, I.div_up(self.linear[key], scale(key))) if gaussian else size
                    gains[c] = I.add_up(gains.get(c, 0.0), size)
        for key, value in self.extra.items():
            if scale(key) is not None:
                size = I.div_up(value, scale(key))
                extra = I.add_up(extra, I.mul_up(size, size) if gaussian else size)
        most = self.cap.most(gains, 2)
        return I.add_up(I.sqrt_up(most), I.sqrt_up(extra)) if gaussian else I.add_up(most, extra)
