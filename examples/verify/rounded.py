"""How far an expression, evaluated in doubles operation by operation, can be from its exact value over a box.

For each node: an interval of exact values, one of computed values, and a bound of their difference at one point. The rules are
those of docs/proofs/rounding.md; all bounds are rounded upward. u = 2^-53, tiny = 2^-1074."""

import math

import interval as I
from expression import MANY

UNIT = 2.0 ** -53
TINY = 5e-324
MOST = 2.0 ** 1000  # beyond it nothing is claimed
INF = math.inf


class Rounded:
    __slots__ = ("exact", "computed", "error")

    def __init__(self, exact, computed, error):
        self.exact, self.computed, self.error = exact, computed, error

    def is_known(self):
        return self.error <= MOST

    def size(self):
        return max(I.magnitude(self.exact), I.magnitude(self.computed))


def exactly(interval):
    return Rounded(interval, interval, 0.0)


def unknown(exact):
    return Rounded(exact, I.WHOLE, INF)


def half_unit(size):
    """Half a unit in the last place of numbers up to size."""
    size = abs(size)
    if size == 0:
        return 0.0
    if not size >= 2.0 ** -1020:
        return TINY
    return math.ldexp(1.0, math.frexp(size)[1] - 1 - 53) if size < INF else INF


def half_unit_of_product(size):
    return TINY if size == 0 else half_unit(size)


def settle(exact, computed, error):
    """The error is at most what the two ranges allow. Computed values leave the exact range by at most the error."""
    spread = max(I.add_up(computed[1], -exact[0]), I.add_up(exact[1], -computed[0]), 0.0)
    error = min(error, spread)
    if not (error <= MOST and I.magnitude(computed) <= MOST and I.magnitude(exact) <= MOST):
        return unknown(exact)
    near = (I.add_down(exact[0], -error), I.add_up(exact[1], error))
    return Rounded(exact, I.meet(computed, near), error)


def loosely(exact, at_computed, carried, local, floor=-INF):
    computed = (max(I.add_down(at_computed[0], -local), floor), I.add_up(at_computed[1], local))
    return settle(exact, computed, I.add_up(carried, local))


def within(exact, error):
    return settle(exact, (I.add_down(exact[0], -error), I.add_up(exact[1], error)), error)


# ---- arithmetic ----

def add(a, b):
    exact = I.add(a.exact, b.exact)
    if not (a.is_known() and b.is_known()):
        return unknown(exact)
    computed = (a.computed[0] + b.computed[0], a.computed[1] + b.computed[1])
    return settle(exact, computed, I.add_up(I.add_up(a.error, b.error), half_unit(I.magnitude(computed))))


def neg(a):
    return Rounded(I.neg(a.exact), I.neg(a.computed), a.error)


def sub(a, b):
    return add(a, neg(b))


def is_power_of_two(a):
    return a.error == 0 and a.computed[0] == a.computed[1] and abs(math.frexp(a.computed[0])[0]) == 0.5


def mul(a, b):
    exact = I.mul(a.exact, b.exact)
    if not (a.is_known() and b.is_known()):
        return unknown(exact)
    ends = [x * y for x in a.computed for y in b.computed]
    computed = (min(ends), max(ends))
    local = TINY if is_power_of_two(a) or is_power_of_two(b) else half_unit_of_product(I.magnitude(computed))
    carried = I.add_up(I.mul_up(I.magnitude(a.computed), b.error), I.mul_up(I.magnitude(b.exact), a.error))
    return settle(exact, computed, I.add_up(carried, local))


def square(a):
    exact = I.square(a.exact)
    if not a.is_known():
        return unknown(exact)
    low, high = I.mignitude(a.computed), I.magnitude(a.computed)
    carried = I.mul_up(a.error, I.add_up(I.magnitude(a.exact), high))
    return settle(exact, (low * low, high * high), I.add_up(carried, half_unit_of_product(high * high)))


def div(a, b):
    exact, least = I.div(a.exact, b.exact), I.mignitude(b.computed)
    if not (a.is_known() and b.is_known()) or least == 0 or not I.is_finite(exact):
        return unknown(exact)
    ends = [x / y for x in a.computed for y in b.computed]
    computed = (min(ends), max(ends))
    carried = I.div_up(I.add_up(a.error, I.mul_up(I.magnitude(exact), b.error)), least)
    return settle(exact, computed, I.add_up(carried, half_unit_of_product(I.magnitude(computed))))


def sqrt(a):
    exact = I.sqrt(a.exact)
    if not a.is_known() or a.exact[0] < 0 or a.computed[0] < 0:
        return unknown(exact)
    computed = (math.sqrt(a.computed[0]), math.sqrt(a.computed[1]))
    carried = 0.0
    if a.error > 0:
        carried = min(I.sqrt_up(a.error), I.div_up(a.error, I.add_down(exact[0], I.sqrt_down(a.computed[0]))))
    return settle(exact, computed, I.add_up(carried, half_unit(computed[1])))


# ---- powers, exp and log ----

def steepest(low, high, p):
    """The largest |p| t^(p-1) for t from low to high, low >= 0."""
    at = high if p > 1 else low
    if at == 0:
        return 0.0 if p > 1 else INF
    return I.mul_up(abs(float(p)), I.div_up(I.pow_real(I.point(at), float(p))[1], at))


def pow_whole(a, n):
    if n == 2:
        return square(a)
    exact, both = I.pow_whole(a.exact, n), I.hull(a.exact, a.computed)
    if not a.is_known() or (n < 0 and I.mignitude(both) == 0):
        return unknown(exact)
    at_computed = I.pow_whole(a.computed, n)
    if abs(n) > 16:
        unit, tiny = (abs(n) + 3) * UNIT, TINY
    else:
        unit, tiny = abs(n) * UNIT * 1.000001, 2.0 ** -1066
        if n < 0 and not (I.pow_whole(I.point(I.mignitude(a.computed)), -n)[0] >= 2.0 ** -960 and
                          I.pow_whole(I.point(I.magnitude(a.computed)), -n)[1] <= 2.0 ** 960):
            return unknown(exact)
    carried = 0.0
    if a.error > 0:
        carried = I.mul_up(steepest(I.mignitude(both), I.magnitude(both), n), a.error)
    local = I.add_up(I.mul_up(unit, I.magnitude(at_computed)), tiny)
    return loosely(exact, at_computed, carried, local, 0.0 if n % 2 == 0 else -INF)


def pow_real(a, p):
    exact, both = I.pow_real(a.exact, p), I.hull(a.exact, a.computed)
    if not a.is_known() or both[0] < 0 or (p < 0 and both[0] == 0) or not abs(p) <= 2.0 ** 40:
        return unknown(exact)
    at_computed = I.pow_real(a.computed, p)
    carried = 0.0
    if a.error > 0:
        carried = I.mul_up(steepest(both[0], both[1], p), a.error)
        if 0 < p < 1:
            carried = min(carried, I.pow_real(I.point(a.error), p)[1])
    local = I.add_up(I.mul_up((abs(p) + 3) * UNIT, I.magnitude(at_computed)), TINY)
    return loosely(exact, at_computed, carried, local, 0.0)


def pow_data(arguments, order):
    a, p = arguments
    exact, both, power = I.pow_data(a.exact, p.exact, order), I.hull(a.exact, a.computed), I.sub(p.exact, I.point(float(order)))
    known = a.is_known() and p.error == 0 and p.exact[0] == p.exact[1] and power[0] == power[1] and abs(power[0]) <= 2.0 ** 40
    if not known or order > 4 or (both[0] < 0 and power[0] != math.floor(power[0])):
        return unknown(exact)
    at_computed = I.pow_data(a.computed, p.exact, order)
    carried = 0.0 if a.error == 0 else I.mul_up(I.magnitude(I.pow_data(both, p.exact, order + 1)), a.error)
    unit = I.add_up((abs(power[0]) + 3) * UNIT, 2.001 * UNIT * (order + 1))
    return loosely(exact, at_computed, carried, I.add_up(I.mul_up(unit, I.magnitude(at_computed)), 2.0 ** -900))


def exp(a):
    exact = I.exp(a.exact)
    if not a.is_known():
        return unknown(exact)
    at_computed = I.exp(a.computed)
    grown = I.mul_up(a.error, I.add_up(1.0, a.error)) if a.error <= 1 else I.exp_at(a.error)[1]
    local = I.add_up(I.mul_up(2 * UNIT, at_computed[1]), TINY)
    return loosely(exact, at_computed, I.mul_up(exact[1], grown), local, 0.0)


def log(a):
    exact, least = I.log(a.exact), min(a.exact[0], a.computed[0])
    if not a.is_known() or not least > 0:
        return unknown(exact)
    at_computed = I.log(a.computed)
    return loosely(exact, at_computed, I.div_up(a.error, least), I.mul_up(3 * UNIT, I.magnitude(at_computed)))


# ---- huber, shares ----

def huber(a, b):
    exact = I.huber(a.exact, b.exact)
    if not (a.is_known() and b.is_known()) or b.exact[0] < 0 or b.computed[0] < 0:
        return unknown(exact)
    at_computed = I.huber(a.computed, b.computed)
    size, most = I.magnitude(I.hull(a.exact, a.computed)), I.hull(b.exact, b.computed)[1]
    beyond = max(0.0, I.add_up(size, -min(b.exact[0], b.computed[0])))
    carried = I.add_up(I.mul_up(a.error, min(size, most)), I.mul_up(b.error, beyond))
    local = I.add_up(I.mul_up(3 * UNIT, at_computed[1]), I.mul_up(TINY, I.add_up(2.0, most)))
    return loosely(exact, at_computed, carried, local, 0.0)


def clamp(a, b):
    exact = I.clamp(a.exact, b.exact)
    if not (a.is_known() and b.is_known()) or b.exact[0] < 0 or b.computed[0] < 0:
        return unknown(exact)
    return settle(exact, I.clamp(a.computed, b.computed), max(a.error, b.error))


def inside(a, b):
    exact = I.inside(a.exact, b.exact)
    return settle(exact, I.inside(a.computed, b.computed), 1.0) if a.is_known() and b.is_known() else unknown(exact)


def largest_error(arguments):
    return max(a.error if a.is_known() else INF for a in arguments)


def sum_unit(count, reach):
    return I.mul_up(1.001 * UNIT, I.add_up(reach, 3.0 * count + 3))


def exacts(arguments):
    return [a.exact for a in arguments]


def computeds(arguments):
    return [a.computed for a in arguments]


def lse(arguments):
    exact, carried = I.lse(exacts(arguments)), largest_error(arguments)
    if not (carried <= MOST and len(arguments) <= 2 ** 20):
        return unknown(exact)
    at_computed, unit = I.lse(computeds(arguments)), sum_unit(len(arguments), 0.0)
    of_sum = I.mul_up(3 * UNIT, I.add_up(I.log_at(float(len(arguments)))[1], unit))
    size = I.add_up(I.magnitude(at_computed), 1.0)
    return loosely(exact, at_computed, carried, I.add_up(I.add_up(unit, of_sum), half_unit(size)))


def softmax(arguments, index):
    exact, error = I.softmax(exacts(arguments), index), largest_error(arguments)
    if not (error <= MOST and len(arguments) <= 2 ** 20):
        return unknown(exact)
    at_computed = I.softmax(computeds(arguments), index)
    reach = max([0.0] + [I.add_up(a.computed[1], -arguments[index].computed[0]) for a in arguments])
    local = I.add_up(I.mul_up(sum_unit(len(arguments), min(reach, 711.0)), at_computed[1]), 2.0 ** -1020)
    found = loosely(exact, at_computed, I.mul_up(0.5, error), local, 0.0)
    if found.is_known():
        found.computed = (found.computed[0], min(found.computed[1], 1.0))
    return found


def hump(a):
    product, exact = mul(a, add(exactly((1.0, 1.0)), neg(a))), I.hump(a.exact)
    return settle(exact, product.computed, product.error) if product.is_known() else unknown(exact)


def pair(a, b):
    product, exact = mul(a, b), I.pair(a.exact, b.exact)
    return settle(exact, product.computed, product.error) if product.is_known() else unknown(exact)


# ---- norms ----

def lengths(arguments):
    squares = 0.0
    for a in arguments:
        squares = I.add_up(squares, I.mul_up(a.error, a.error))
    known = largest_error(arguments) <= MOST and len(arguments) <= 2 ** 20
    return I.norm(exacts(arguments)), I.norm(computeds(arguments)), I.sqrt_up(squares) if known else INF


def norm(arguments):
    exact, computed, error = lengths(arguments)
    if not (error <= MOST and computed[1] <= 2.0 ** 500):
        return unknown(exact)
    unit = I.mul_up(UNIT, I.add_up(0.51 * len(arguments), 2.0))
    local = I.add_up(I.mul_up(unit, computed[1]), I.mul_up(2.0 ** -536, I.sqrt_up(float(len(arguments)))))
    return loosely(exact, computed, error, local, 0.0)


def direction(arguments, index):
    exact = I.direction(exacts(arguments), index)
    length, computed, error = lengths(arguments)
    if not largest_error(arguments) <= MOST:
        return unknown(exact)
    if not (error <= MOST and computed[0] >= 2.0 ** -300 and computed[1] <= 2.0 ** 500):
        return settle(exact, (-1.0, 1.0), 2.0)
    carried = 0.0 if error == 0 else I.div_up(2 * error, I.add_down(length[0], computed[0]))
    local = I.add_up(I.mul_up(UNIT, I.add_up(0.51 * len(arguments), 4.0)), TINY)
    at_computed = I.direction(computeds(arguments), index)
    near = (I.add_down(at_computed[0], -local), I.add_up(at_computed[1], local))
    return settle(exact, I.meet((-1.0, 1.0), near), I.add_up(carried, local))


def bend(arguments, i, k):
    exact = I.bend(exacts(arguments), i, k)
    length, computed, error = lengths(arguments)
    least = I.add_down(length[0], -error)
    if not (error <= MOST and computed[0] >= 2.0 ** -300 and least >= 2.0 ** -300 and computed[1] <= 2.0 ** 500):
        return unknown(exact)
    at_computed = I.bend(computeds(arguments), i, k)
    carried = I.div_up(3 * error, I.mul_down(least, least))
    unit = I.mul_up(UNIT, I.add_up(3.0 * len(arguments), 14.0))
    local = I.add_up(I.mul_up(unit, I.magnitude(at_computed)), I.mul_up(2.0 ** -160, float(len(arguments))))
    return loosely(exact, at_computed, carried, local, 0.0 if i == k else -INF)


RULES = {"add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "pow": pow_whole, "power": pow_real, "exp": exp,
         "log": log, "sqrt": sqrt, "huber": huber, "clamp": clamp, "inside": inside, "lse": lse, "softmax": softmax,
         "hump": hump, "pair": pair, "norm": norm, "direction": direction, "bend": bend,
         "powd": pow_data}


def evaluate(graph, roots, box, data=()):
    """What doubles make of the roots; box: {variable: Rounded}."""
    values = {}
    for e in graph.order(roots):
        op, operands, parameter = graph.nodes[e]
        if op == "number":
            values[e] = exactly((parameter, parameter))
        elif op == graph.variable:
            values[e] = box[parameter]
        elif op == "data":
            values[e] = exactly(data[parameter])
        elif op in MANY:
            arguments = [values[o] for o in operands]
            values[e] = RULES[op](arguments, *parameter) if parameter else RULES[op](arguments)
        elif parameter is not None:
            values[e] = RULES[op](values[operands[0]], parameter)
        else:
            values[e] = RULES[op](*[values[o] for o in operands])
    return [values[r] for r in roots]
