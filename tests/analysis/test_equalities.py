"""The proved radius of random problems with equalities, against every dual solution, found exactly in rational numbers;
and promises that do not hold: rooms that stick out of a set, gaps that do not cover a room, equalities that contradict
each other.

All data are sums of few powers of two, so that equalities which follow from others do so exactly."""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "reference"))
from test_exact import dot, quadratic_program, unit  # noqa: E402

TACIT = os.environ.get("TACIT", "build/dev/tacit")


def tacit(command, text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.tacit")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([TACIT, command, path, *options], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def null_space(rows):
    """A basis of the z with z'rows = 0."""
    left = [list(row) + unit(len(rows), i) for i, row in enumerate(rows)]
    width, done = len(rows[0]), 0
    for c in range(width):
        pivot = next((i for i in range(done, len(left)) if left[i][c]), None)
        if pivot is None:
            continue
        left[done], left[pivot] = left[pivot], left[done]
        for i in range(done + 1, len(left)):
            factor = left[i][c] / left[done][c]
            left[i] = [a - factor * b for a, b in zip(left[i], left[done])]
        done += 1
    return [row[width:] for row in left[done:]]


class Problem:
    """Separable objectives, boxes, equalities through the Slater point and inequalities with slack there."""

    def __init__(self, seed, dependent):
        pick = self.random = random.Random(seed)
        self.blocks, self.curve, self.cost, self.lower, self.upper = [], [], [], [], []
        self.point, self.room, self.names = [], [], []
        for i in range(pick.randint(1, 4)):
            self.agent(i, pick.randint(1, 2))
        self.n = len(self.point)
        self.equal, self.less, self.rest, self.text = [], [], [], "".join(self.blocks)
        for _ in range(pick.randint(1, 2)):
            self.equality([Fraction(pick.randint(-2, 2)) for _ in range(self.n)])
        if dependent and self.equal:
            factors = [Fraction(pick.choice([-2, -1, 1, 2])) for _ in self.equal]
            row = [sum(f * e[c] for f, e in zip(factors, self.equal)) for c in range(self.n)]
            self.equality(row)
        for _ in range(pick.randint(0, 2)):
            row = [Fraction(pick.randint(-2, 2)) for _ in range(self.n)]
            if any(row):
                slack = Fraction(pick.choice([1, 2, 8]), 4)
                self.less.append(row)
                self.rest.append(dot(row, self.point) + slack)
                self.constraint(row, "<=", self.rest[-1])

    def agent(self, number, dim):
        pick, terms, gap = self.random, [], Fraction(0)
        lower, upper, point, room = [], [], [], []
        for c in range(dim):
            low, width = Fraction(-pick.randint(0, 2)), Fraction(pick.randint(1, 4))
            at, around = low + width * pick.choice([1, 2, 3]) / 4, width * Fraction(pick.choice([0, 1, 1, 1]), 8)
            curve, center = Fraction(pick.choice([0, 1, 2])) / 2, Fraction(pick.randint(-8, 8)) / 4
            slope = Fraction(pick.randint(-2, 2))
            terms.append(f"{float(curve)!r} * (x[{c + 1}] - ({float(center)!r}))^2 + ({float(slope)!r}) * x[{c + 1}]")
            value = lambda x, q=curve, s=center, b=slope: q * (x - s) ** 2 + b * x  # noqa: E731
            ends = [low, low + width]
            if curve:
                ends.append(min(max(center - slope / (2 * curve), low), low + width))
            gap += max(value(at - around), value(at + around)) - min(map(value, ends))
            self.curve.append(2 * curve)
            self.cost.append(slope - 2 * curve * center)
            lower.append(low)
            upper.append(low + width)
            point.append(at)
            room.append(around)
            self.names.append(f"a{number}.x[{c + 1}]")
        number_list = lambda values: "[" + ", ".join(repr(float(v)) for v in values) + "]"  # noqa: E731
        self.blocks.append(
            f"agent a{number} {{\n  state x[{dim}] in [{number_list(lower)}, {number_list(upper)}]\n"
            f"  private minimize {' + '.join(terms)}\n  gap {float(gap)!r}\n"
            f"  slater x = {number_list(point)} within {number_list(room)}\n}}\n")
        self.lower += lower
        self.upper += upper
        self.point += point
        self.room += room

    def constraint(self, row, relation, value):
        terms = " + ".join(f"({float(a)!r}) * {name}" for a, name in zip(row, self.names) if a)
        number = len(self.equal) + len(self.less)
        self.text += f"constraint c{number}: {terms} {relation} {float(value)!r}\n"

    def equality(self, row):
        if any(row):
            self.equal.append(row)
            self.constraint(row, "==", dot(row, self.point))

    def largest_multipliers(self):
        """The largest sum of all |multipliers| over the dual solutions whose nu are in the row space; None: no bound."""
        n = self.n
        form = [[v if i == j else Fraction(0) for j in range(n)] for i, v in enumerate(self.curve)]
        values = [dot(row, self.point) for row in self.equal]
        rows, bounds = self.less + [unit(n, i) for i in range(n)], self.rest + self.upper
        x = quadratic_program(form, self.cost, rows, bounds, self.equal, values, self.lower)
        gradient = [self.cost[i] + dot(form[i], x) for i in range(n)]
        tight = [row for row, bound in zip(rows, bounds) if dot(row, x) == bound]
        priced = sum(1 for row, bound in zip(self.less, self.rest) if dot(row, x) == bound)
        tight += [[-v for v in unit(n, i)] for i in range(n) if x[i] == self.lower[i]]
        best = Fraction(0)
        for signs in itertools.product([1, -1], repeat=len(self.equal)):
            columns = tight + [[s * v for v in row] for s, row in zip(signs, self.equal)]
            k = len(columns)
            worth = [Fraction(int(i < priced or i >= len(tight))) for i in range(k)]
            balance = [[column[i] for column in columns] for i in range(n)]
            right = [-v for v in gradient]
            for null in null_space(self.equal):
                balance.append([Fraction(0)] * len(tight) + [s * v for s, v in zip(signs, null)])
                right.append(Fraction(0))
            zero = [[Fraction(0)] * k for _ in range(k)]
            if quadratic_program(zero, [Fraction(0)] * k, [], [], balance, right, [Fraction(0)] * k) is None:
                continue  # no dual solution has these signs
            found = quadratic_program(zero, [-v for v in worth], [], [], balance, right, [Fraction(0)] * k)
            if found is None:
                return None
            best = max(best, dot(worth, found))
        return best


class Radius(unittest.TestCase):
    def attack(self, seed, dependent):
        problem = Problem(seed, dependent)
        if not problem.equal:
            return None
        code, out, errors = tacit("check", problem.text, "--json")
        self.assertIn(code, (0, 1), errors + problem.text)
        facts = json.loads(out)
        radius = facts["dual_radius_sources"]["from_gaps"]
        if radius is None:
            return None
        largest = problem.largest_multipliers()
        self.assertIsNotNone(largest, problem.text)
        self.assertLessEqual(float(largest), radius * (1 + 1e-12), problem.text)
        self.assertFalse([w for w in facts["warnings"] if "gap" in w], problem.text)
        return float(largest) / radius if radius > 0 else None

    def test_no_dual_solution_is_outside(self):
        ratios = [self.attack(seed, False) for seed in range(60)]
        ratios = [r for r in ratios if r is not None]
        self.assertGreater(len(ratios), 25)
        self.assertGreater(max(ratios), 0.05)  # the radius is not idly large

    def test_no_dual_solution_is_outside_where_rows_depend_on_others(self):
        ratios = [self.attack(1000 + seed, True) for seed in range(60)]
        self.assertGreater(len([r for r in ratios if r is not None]), 25)


FAMILY = """agents gen[i in 1..{n}] {{
  state p in [0, 1]
  private minimize (p - 0.25)^2
  gap {gap}
  slater p = 0.5 within {room}
}}
"""


class Promises(unittest.TestCase):
    def facts(self, text):
        code, out, errors = tacit("check", text, "--json")
        self.assertIn(code, (0, 1), errors)
        return code, json.loads(out)

    def test_one_row_has_the_radius_of_the_formula(self):
        text = FAMILY.format(n=8, gap=0.25, room=0.25) + "constraint b: sum(gen: 3 * p) == 12\n"
        code, facts = self.facts(text)
        self.assertEqual(code, 0)
        self.assertAlmostEqual(facts["dual_radius"], 8 * 0.25 / (8 * 0.25 * 3), delta=1e-12)
        self.assertEqual((facts["equalities"], facts["slater"]["independent_equalities"]), (1, 1))

    def test_rows_that_repeat_others_change_the_least_norm_alone(self):
        one = FAMILY.format(n=8, gap=0.25, room=0.25) + "constraint b: sum(gen: p) == 4\n"
        two = one + "constraint again: sum(gen: p) == 4\n"
        radius = [self.facts(text)[1]["dual_radius"] for text in (one, two)]
        self.assertAlmostEqual(radius[0], radius[1], delta=1e-12)  # nu is shared between the two

    def test_a_room_that_sticks_out_of_the_box_is_found(self):
        code, facts = self.facts(FAMILY.format(n=3, gap=1, room=0.75) + "constraint b: sum(gen: p) == 1.5\n")
        self.assertEqual(code, 1)
        self.assertIn("room around the declared Slater point of gen[1] (and 2 others) sticks out of the public box",
                      json.dumps(facts["assumptions"]["slater"]))
        self.assertIsNone(facts["dual_radius_sources"]["from_gaps"])

    def test_a_room_that_sticks_out_of_a_set_is_found(self):
        sets = ["p[1] + p[2] <= 0.75", "norm(p) <= 0.6", "norm1(p) <= 0.8", "sum(p) == 0.5",
                "quadform(p, [[1, 0.5], [0.5, 1]]) <= 0.3", "p >= 0.2", "p in simplex(0.5)"]
        for line in sets:
            text = ("agent a { state p[2] in [-1, 1]; private minimize sum(p); private set " + line +
                    "; gap 9; slater p = 0.25 within 0.2 }\nconstraint b: a.p[1] - a.p[2] == 0\n")
            code, facts = self.facts(text)
            self.assertEqual(code, 1, line)
            self.assertIn("sticks out of its own set", json.dumps(facts["assumptions"]["slater"]), line)

    def test_a_room_that_fits_is_taken(self):
        for line in ["p[1] + p[2] <= 0.91", "norm(p) <= 0.64", "norm1(p) <= 0.91", "p >= 0.04",
                     "quadform(p, [[1, 0.5], [0.5, 1]]) <= 0.61"]:
            text = ("agent a { state p[2] in [-1, 1]; private minimize sum(p); private set " + line +
                    "; gap 9; slater p = 0.25 within 0.2 }\nconstraint b: a.p[1] - a.p[2] == 0\n")
            code, facts = self.facts(text)
            self.assertEqual(code, 0, (line, facts["assumptions"]["slater"]))
            self.assertAlmostEqual(facts["dual_radius"], 9 / 0.4, delta=1e-9)

    def test_a_gap_that_does_not_cover_the_room_is_found(self):
        bad = FAMILY.format(n=2, gap=0.2, room=0.25) + "constraint b: sum(gen: p) == 1\n"
        good = FAMILY.format(n=2, gap=0.25, room=0.25) + "constraint b: sum(gen: p) == 1\n"
        warnings = self.facts(bad)[1]["warnings"]
        self.assertIn("The gap 0.2 of gen[1] does not cover the room around its Slater point: f_i - min f_i reaches "
                      "0.25 there.", warnings)
        self.assertEqual(self.facts(good)[1]["warnings"], [])

    def test_a_slater_point_that_misses_an_equality_is_no_such_point(self):
        code, facts = self.facts(FAMILY.format(n=2, gap=1, room=0.25) + "constraint b: sum(gen: p) == 1.25\n")
        self.assertEqual(code, 1)
        self.assertIn("does not satisfy equality b: its sides differ by -0.25", json.dumps(facts["assumptions"]))

    def test_without_room_there_is_no_public_radius(self):
        code, out, _ = tacit("check", FAMILY.format(n=2, gap=1, room=0) + "constraint b: sum(gen: p) == 1\n")
        self.assertEqual(code, 0)
        text = " ".join(out.split())
        self.assertIn("There is no public one. No agent in equality b has room around its Slater point: add `within r` "
                      "to the slater lines, or a line `dual radius R`.", text)
        self.assertIn("from private data, for study only", text)

    def test_contradictions_name_their_rows(self):
        rows = ("constraint total: sum(gen: p) == 2\nconstraint cap: gen[1].p <= 0.75\n"
                "constraint half: gen[1].p + gen[2].p == 1\nconstraint rest: gen[3].p + gen[4].p == 1.5\n")
        text = FAMILY.format(n=4, gap=1, room=0.25) + rows
        code, facts = self.facts(text)
        self.assertEqual(code, 1)
        self.assertIn("The equalities total, half and rest contradict each other", json.dumps(facts["assumptions"]))
        code, out, _ = tacit("solve", text)
        self.assertEqual(code, 1)
        self.assertIn("total, half and rest contradict each other", " ".join(out.split()))

    def test_equalities_that_the_sets_cannot_satisfy_are_named(self):
        text = FAMILY.format(n=4, gap=1, room=0.25) + "constraint much: sum(gen: p) == 5\n"
        code, facts = self.facts(text)
        self.assertEqual(code, 1)
        self.assertIn("No point of X satisfies constraint much: at the nearest one much is missed by 1",
                      json.dumps(facts["assumptions"]))

    def test_equalities_that_leave_no_room_are_seen(self):
        text = "agent a { state p[2] in [0, 1]; private minimize sum(p) }\nconstraint full: sum(a.p) == 2\n"
        code, facts = self.facts(text)
        self.assertEqual(code, 1)
        self.assertIn("The equalities leave no room", json.dumps(facts["assumptions"]))
        self.assertIn("the equalities leave no room inside the sets", json.dumps(facts["assumptions"]))


class Attained(unittest.TestCase):
    """Problems whose multipliers come near the radius, which forgets nothing: neither that inequalities rise in the room, nor
    that gaps cover it, nor that prices of both signs count."""

    def test_the_radius_is_nearly_attained(self):
        slope, least = 0.1, 0.01
        for rows, sign in (("a.x + b.y == 1", 1), ("1 == a.x + b.y", -1), ("3 * a.x + 3 * b.y == 3", 1 / 3)):
            text = (f"agent a {{ state x in [0, 1]; private minimize {slope} * x; gap {slope * 0.75}; slater x = 0.5 within 0.25 }}\n"
                    "agent b { state y in [0, 1]; private minimize -y; gap 0.75; slater y = 0.5 within 0.25 }\n"
                    f"constraint share: {rows}\nconstraint least: a.x >= {least}\n")
            facts, found = (json.loads(tacit(command, text, "--json")[1]) for command in ("check", "solve"))
            prices = dict(zip(found["constraints"], found["mu"]))
            self.assertAlmostEqual(prices["share"], sign, delta=1e-6)  # y would rather be 1
            self.assertAlmostEqual(prices["least"], slope + 1, delta=1e-6)
            total = sum(map(abs, found["mu"]))
            self.assertLess(total, facts["dual_radius"])
            self.assertGreater(total, (0.8 if abs(sign) == 1 else 0.5) * facts["dual_radius"])


class Dispatch(unittest.TestCase):
    """The example: its promises hold, and its solution is what optimality asks for, unit by unit."""

    def test_the_example(self):
        examples = os.path.join(os.path.dirname(__file__), "..", "..", "examples")
        results = []
        for command in ("check", "solve"):
            done = subprocess.run([TACIT, command, os.path.join(examples, "dispatch.tacit"), "--json"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            results.append(json.loads(done.stdout))
        facts, found = results
        self.assertEqual(facts["warnings"], [])
        self.assertLess(found["sum_mu"], facts["dual_radius"])
        self.assertEqual(facts["dual_radius_sources"]["origin"], "gaps")
        prices = dict(zip(found["constraints"], found["mu"]))
        with open(os.path.join(examples, "dispatch_units.csv"), encoding="utf-8") as file:
            units = [line.split(",") for line in file.read().split()[1:]]
        to_south = {"north": 2 / 3, "east": 1 / 3, "south": 0}
        total, flow = 0, -7 / 3
        for name, area, a, b in units:
            price = -prices["balance"] - prices["line[3,2]"] * to_south[area]
            p = min(max((price - float(b)) / (2 * float(a)), 0), 2)
            self.assertAlmostEqual(found["x"][name][0], p, delta=1e-8)
            total, flow = total + p, flow + p * to_south[area]
        self.assertAlmostEqual(total, 10, delta=1e-8)
        self.assertAlmostEqual(flow, 2.2, delta=1e-8)
        self.assertLess(prices["balance"], 0)


if __name__ == "__main__":
    unittest.main()
