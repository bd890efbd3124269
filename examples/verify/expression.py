"""Expressions as numbered nodes, their derivatives, and enclosures of their values.

A node is (operation, operands, parameter). Nodes of a certificate are kept as they stand, since the cloud computes them so.
Derivatives are made here, by the chain rule from the root downward, and simplified a little: constants are folded only where
that is exact, so a derivative is the exact derivative of what the nodes define."""

import math

import interval as I

LEAVES = ("number", "data", "state", "input")
UNARY = ("neg", "exp", "log", "sqrt", "hump")
BINARY = ("add", "sub", "mul", "div", "huber", "clamp", "inside", "pair")
MANY = ("lse", "softmax", "norm", "direction", "bend", "powd")


class Malformed(Exception):
    """The file is no certificate."""


class Unprovable(Exception):
    """A well-formed file about which nothing can be proved."""


def whole(value, least=0, most=2 ** 62):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Malformed(f"{value!r} is not a whole number from {least} to {most}")
    return value


def number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 2 ** 1023:
        raise Malformed(f"{value!r} is not a number")
    return float(value)


class Graph:
    """variable: "state" for the terms of a family, "input" for constraints."""

    def __init__(self, listed, variable, variables, columns):
        self.nodes, self.known, self.variable = [], {}, variable
        for entry in listed:
            self.nodes.append(self.read(entry, variables, columns))
        for i, node in enumerate(self.nodes):
            self.known.setdefault(node, i)
        self.order_of, self.gradient_of = {}, {}

    def read(self, entry, variables, columns):
        if not isinstance(entry, list) or len(entry) < 2 or not isinstance(entry[0], str):
            raise Malformed(f"{entry!r} is not a node")
        op, rest, last = entry[0], entry[1:], len(self.nodes) - 1
        if op == "number" and len(rest) == 1:
            return (op, (), number(rest[0]))
        if op == self.variable and len(rest) == 1:
            return (op, (), whole(rest[0], 0, variables - 1))
        if op == "data" and len(rest) == 1:
            return (op, (), whole(rest[0], 0, columns - 1))
        if op in UNARY and len(rest) == 1:
            return (op, (whole(rest[0], 0, last),), None)
        if op in BINARY and len(rest) == 2:
            operands = (whole(rest[0], 0, last), whole(rest[1], 0, last))
            if op == "pair" and not self.are_shares(*operands):
                raise Unprovable("a pair is bounded where it is two shares of one softmax, and one is something else")
            return (op, operands, None)
        if op == "pow" and len(rest) == 2:
            return (op, (whole(rest[0], 0, last),), whole(rest[1], -2 ** 31, 2 ** 31))
        if op == "power" and len(rest) == 2:
            return (op, (whole(rest[0], 0, last),), number(rest[1]))
        if op == "powd" and len(rest) == 2 and isinstance(rest[0], list) and len(rest[0]) == 2:
            return (op, tuple(whole(a, 0, last) for a in rest[0]), (whole(rest[1], 0, 4),))
        if op in MANY and op != "powd" and isinstance(rest[0], list) and rest[0]:
            arguments = tuple(whole(a, 0, last) for a in rest[0])
            places = tuple(whole(p, 0, len(arguments) - 1) for p in rest[1:])
            if len(places) == {"lse": 0, "norm": 0, "softmax": 1, "direction": 1, "bend": 2}[op]:
                return (op, arguments, places)
        raise Malformed(f"{entry!r} is not a node")

    def are_shares(self, a, b):
        """Two of one whole: then a + b <= 1."""
        (op, whole_of, place), (other, same, at) = self.nodes[a], self.nodes[b]
        return op == other == "softmax" and whole_of == same and place != at

    # ---- making nodes ----

    def make(self, op, operands=(), parameter=None):
        node = (op, operands, parameter)
        if node not in self.known:
            self.known[node] = len(self.nodes)
            self.nodes.append(node)
        return self.known[node]

    def constant(self, value):
        return self.make("number", (), float(value) if value != 0 else 0.0)

    def value_of(self, e):
        """The number that a node is, or None."""
        return self.nodes[e][2] if self.nodes[e][0] == "number" else None

    def add(self, a, b):
        x, y = self.value_of(a), self.value_of(b)
        if x is not None and y is not None and I.add_up(x, y) == I.add_down(x, y):
            return self.constant(x + y)
        if x == 0:
            return b
        if y == 0:
            return a
        if a == b:
            return self.mul(self.constant(2), a)
        if self.nodes[b][0] == "neg":
            return self.sub(a, self.nodes[b][1][0])
        if self.nodes[a][0] == "neg":
            return self.sub(b, self.nodes[a][1][0])
        return self.make("add", (min(a, b), max(a, b)))

    def sub(self, a, b):
        x, y = self.value_of(a), self.value_of(b)
        if x is not None and y is not None and I.add_up(x, -y) == I.add_down(x, -y):
            return self.constant(x - y)
        if y == 0:
            return a
        if x == 0:
            return self.neg(b)
        if self.nodes[b][0] == "neg":
            return self.add(a, self.nodes[b][1][0])
        return self.make("sub", (a, b))

    def neg(self, a):
        op, operands, value = self.nodes[a]
        if op == "number":
            return self.constant(-value)
        if op == "neg":
            return operands[0]
        if op == "sub":
            return self.sub(operands[1], operands[0])
        if op == "mul" and self.value_of(operands[0]) is not None:
            return self.mul(self.constant(-self.value_of(operands[0])), operands[1])
        return self.make("neg", (a,))

    def power_parts(self, e):
        op, operands, n = self.nodes[e]
        return (operands[0], n) if op == "pow" and n > 0 else (e, 1)

    def factor(self, e):
        """The constant in front, or None, and the rest."""
        op, operands, _ = self.nodes[e]
        if op == "mul" and self.value_of(operands[0]) is not None:
            return operands[0], operands[1]
        return None, e

    def mul(self, a, b):
        if self.value_of(b) is not None:
            a, b = b, a
        x, y = self.value_of(a), self.value_of(b)
        if x is not None and y is not None and I.mul_up(x, y) == I.mul_down(x, y):
            return self.constant(x * y)
        if x == 0:
            return a
        if x == 1:
            return b
        if x == -1:
            return self.neg(b)
        if x is not None:
            before, rest = self.factor(b)
            if before is not None:
                y = self.value_of(before)
                if I.mul_up(x, y) == I.mul_down(x, y):
                    return self.mul(self.constant(x * y), rest)
            if self.nodes[b][0] == "neg":
                return self.mul(self.constant(-x), self.nodes[b][1][0])
            return self.make("mul", (a, b))
        for one, other in ((a, b), (b, a)):
            before, rest = self.factor(other)
            if before is not None:
                return self.mul(before, self.mul(one, rest))
        (base, i), (same, j) = self.power_parts(a), self.power_parts(b)
        if base == same:
            return self.pow(base, i + j)
        return self.make("mul", (min(a, b), max(a, b)))

    def div(self, a, b):
        y = self.value_of(b)
        if y is not None and y != 0 and I.div_up(1.0, y) == I.div_down(1.0, y):
            return self.mul(self.constant(1.0 / y), a)
        return self.make("div", (a, b))

    def pow(self, a, p):
        if p == 1:
            return a
        if p == 0:
            return self.constant(1)
        if p != math.floor(p) or abs(p) >= 2 ** 31:
            return self.make("power", (a,), float(p))
        op, operands, n = self.nodes[a]
        if op == "pow" and n > 0 and p > 0 and n * p < 2 ** 31:
            return self.pow(operands[0], n * int(p))
        if op == "neg" and p % 2 == 0:
            return self.pow(operands[0], p)
        if op == "norm" and p > 0 and p % 2 == 0:
            total = self.constant(0)
            for v in operands:
                total = self.add(total, self.pow(v, 2))
            return self.pow(total, int(p) // 2)
        return self.make("pow", (a,), int(p))

    # ---- structure ----

    def order(self, roots):
        """The nodes that roots need, operands first."""
        roots = tuple(roots)
        if roots not in self.order_of:
            seen, stack = set(roots), list(roots)
            while stack:
                for operand in self.nodes[stack.pop()][1]:
                    if operand not in seen:
                        seen.add(operand)
                        stack.append(operand)
            self.order_of[roots] = sorted(seen)
        return self.order_of[roots]

    def reads(self, root):
        """Which variables a node reads."""
        return {self.nodes[e][2] for e in self.order((root,)) if self.nodes[e][0] == self.variable}

    def has_data(self, roots):
        return any(self.nodes[e][0] == "data" for e in self.order(roots))

    # ---- derivatives ----

    def gradient(self, root):
        """The derivatives of a node by the variables it reads: {variable: node}."""
        if root not in self.gradient_of:
            self.gradient_of[root] = self.differentiate(root)
        return self.gradient_of[root]

    def differentiate(self, root):
        leads = set()
        order = self.order((root,))
        for e in order:
            op, operands, _ = self.nodes[e]
            if op == self.variable or any(operand in leads for operand in operands):
                leads.add(e)
        adjoint = {root: self.constant(1)}
        found = {}
        for e in reversed(order):
            if e not in leads or e not in adjoint:
                continue
            if self.nodes[e][0] == self.variable:
                found[self.nodes[e][2]] = adjoint[e]
                continue
            for operand, slope in self.slopes(e, adjoint[e]):
                if operand in leads:
                    adjoint[operand] = self.add(adjoint[operand], slope) if operand in adjoint else slope
        return {v: d for v, d in found.items() if self.value_of(d) != 0}

    def power_slope(self, a, p):
        """p a^(p-1), where p - 1 may be the sum of two doubles."""
        less = p - 1
        rest = 0
        if isinstance(p, float):
            part = less - p
            rest = (p - (less - part)) + (-1.0 - part)
        result = self.pow(a, less)
        if rest != 0:
            result = self.mul(result, self.pow(a, rest))
        return self.mul(self.constant(p), result)

    def slopes(self, e, adjoint):
        """What each operand of a node gets of the node's adjoint."""
        op, operands, parameter = self.nodes[e]
        a = operands[0] if operands else None
        b = operands[1] if len(operands) > 1 else None
        if op == "add":
            return [(a, adjoint), (b, adjoint)]
        if op == "sub":
            return [(a, adjoint), (b, self.neg(adjoint))]
        if op in ("mul", "pair"):
            return [(a, self.mul(adjoint, b)), (b, self.mul(adjoint, a))]
        if op == "div":
            over = self.div(adjoint, b)
            return [(a, over), (b, self.neg(self.mul(over, e)))]
        if op == "neg":
            return [(a, self.neg(adjoint))]
        if op in ("pow", "power"):
            if self.nodes[a][0] == "norm" and parameter >= 2:  # p N^(p-2) v_k: no kink at 0
                common = self.mul(adjoint, self.mul(self.constant(parameter), self.pow(a, parameter - 2)))
                return [(v, self.mul(common, v)) for v in self.nodes[a][1]]
            return [(a, self.mul(adjoint, self.power_slope(a, parameter)))]
        if op == "exp":
            return [(a, self.mul(adjoint, e))]
        if op == "log":
            return [(a, self.mul(adjoint, self.div(self.constant(1), a)))]
        if op == "sqrt":
            return [(a, self.mul(adjoint, self.div(self.constant(0.5), e)))]
        if op in ("huber", "clamp"):
            if self.reads(b):
                raise Unprovable("the threshold of a Huber function depends on a state")
            return [(a, self.mul(adjoint, self.make("clamp" if op == "huber" else "inside", (a, b))))]
        if op == "hump":
            twice = self.mul(self.constant(2), a)
            return [(a, self.mul(adjoint, self.sub(self.constant(1), twice)))]
        if op in ("lse", "softmax"):
            return self.share_slopes(e, adjoint)
        if op == "powd":
            if self.reads(b):
                raise Unprovable("an exponent depends on a state")
            return [(a, self.mul(adjoint, self.make("powd", operands, (parameter[0] + 1,))))]
        if op in ("norm", "direction"):
            made = []
            for k, v in enumerate(operands):
                if op == "norm":
                    slope = self.make("direction", operands, (k,))
                else:
                    i = parameter[0]
                    slope = self.make("bend", operands, (max(i, k), min(i, k)))
                made.append((v, self.mul(adjoint, slope)))
            return made
        raise Unprovable(f"no derivative is known of '{op}'")

    def share_slopes(self, e, adjoint):
        op, operands, parameter = self.nodes[e]
        made = []
        for k, v in enumerate(operands):
            other = self.make("softmax", operands, (k,))
            if op == "lse":
                slope = other
            elif k == parameter[0]:
                slope = self.make("hump", (e,))
            else:
                slope = self.neg(self.make("pair", (min(e, other), max(e, other))))
            made.append((v, self.mul(adjoint, slope)))
        return made

    # ---- enclosures ----

    def enclose(self, roots, box, data=()):
        """Intervals that contain the values of roots over a box: {variable: interval}; data: numbers or intervals."""
        values = {}
        for e in self.order(roots):
            op, operands, parameter = self.nodes[e]
            if op == "number":
                values[e] = (parameter, parameter)
            elif op == self.variable:
                values[e] = box[parameter]
            elif op == "data":
                values[e] = data[parameter]
            elif op in MANY:
                arguments = [values[o] for o in operands]
                values[e] = ENCLOSE[op](arguments, *parameter) if parameter else ENCLOSE[op](arguments)
            elif parameter is not None:
                values[e] = ENCLOSE[op](values[operands[0]], parameter)
            else:
                values[e] = ENCLOSE[op](*[values[o] for o in operands])
            low, high = values[e]
            if low != low or high != high:
                values[e] = I.WHOLE
        return [values[r] for r in roots]

    def range(self, root, box, data=(), level=0):
        """The values of one node over a box: its enclosure, again with variables in which it is monotone at their ends,
        and at higher levels over halves of the box."""
        natural = self.enclose((root,), box, data)[0]
        if natural[0] == natural[1] or not self.reads(root):
            return natural
        try:
            gradient = self.gradient(root)
        except Unprovable:
            gradient = {}
        tight = I.meet(natural, self.by_ends(root, gradient, box, data)) if gradient else natural
        if level == 0 or self.is_monotone(gradient, box, data):
            return tight
        return I.meet(tight, self.by_halves(root, gradient, box, data, level))

    def is_monotone(self, gradient, box, data):
        """In every variable: then the ends give the range itself."""
        slopes = self.enclose(tuple(gradient.values()), box, data) if gradient else [I.WHOLE]
        return all(low >= 0 or high <= 0 for low, high in slopes)

    def by_ends(self, root, gradient, box, data):
        slopes = dict(zip(gradient, self.enclose(tuple(gradient.values()), box, data)))
        ends = []
        for upper in (False, True):
            there = dict(box)
            for v, slope in slopes.items():
                if slope[0] >= 0 or slope[1] <= 0:
                    there[v] = I.point(box[v][1 if (slope[0] >= 0) == upper else 0])
            ends.append(self.enclose((root,), there, data)[0][1 if upper else 0])
        return (ends[0], ends[1]) if ends[0] <= ends[1] else I.WHOLE

    def by_halves(self, root, gradient, box, data, level):
        wide = [v for v in self.reads(root) if box[v][0] < box[v][1] and I.is_finite(box[v])]
        parts, most = [box], 2 ** (4 + 2 * level)
        while wide and len(parts) < most:
            cut = []
            for part in parts:
                v = max(wide, key=lambda w: (part[w][1] - part[w][0]) / (box[w][1] - box[w][0]))
                middle = part[v][0] / 2 + part[v][1] / 2
                for half in ((part[v][0], middle), (middle, part[v][1])):
                    there = dict(part)
                    there[v] = half
                    cut.append(there)
            parts = cut
        found = None
        for part in parts:
            value = self.enclose((root,), part, data)[0]
            if gradient:
                value = I.meet(value, self.by_ends(root, gradient, part, data))
            found = value if found is None else I.hull(found, value)
        return found


ENCLOSE = {"add": I.add, "sub": I.sub, "mul": I.mul, "div": I.div, "neg": I.neg, "exp": I.exp, "log": I.log, "sqrt": I.sqrt,
           "power": I.pow_real, "huber": I.huber, "clamp": I.clamp, "inside": I.inside, "lse": I.lse, "hump": I.hump,
           "pair": I.pair, "softmax": I.softmax, "norm": I.norm, "direction": I.direction, "bend": I.bend,
           "powd": lambda arguments, order: I.pow_data(*arguments, order),
           "pow": lambda a, n: I.square(a) if n == 2 else I.pow_whole(a, n)}
