"""A constraint on which no state has an effect, such as a link that no route uses, costs nothing: analysis, plan, bound and
solution are those of the problem without it, and its multiplier is 0. test_constant_rows.c compares runs."""
# labels: not-asan not-clang
import functools
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]).resolve()
sys.path.insert(0, str(SOURCE / "examples/verify"))

import verify_plan  # noqa: E402

HEAD = """
param route = [[1, 1, 0], [0, 0, 0], [0, 1, 3]]
param factor = [0, 0, 0]
agents flow[i in 1..3] {
  state x in [0, 10]
  private minimize (x - 3 - i)^2
  gap 100
  slater x = 0.1
}
agents other[i in 1..2] {
  state y[2] in [-1, 2]
  private minimize sumsq(y - 1)
  gap 20
  slater y = 0
}
schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 400 }
"""
MOVING = {
    "affine": ["constraint first: sum(flow: route[1, i] * x) <= 5", "constraint last: sum(flow: route[3, i] * x) <= 4"],
    "curved": ["constraint first: sum(flow: route[1, i] * x) <= 5",
               "constraint last: sum(flow: x^2) / 10 + sumsq(other[1].y) + other[2].y[1] <= 4"],
}
CONSTANT = ["constraint idle: sum(flow: route[2, i] * x) <= 5",
            "constraint idle: sum(flow: route[2, i] * x) <= 0",
            "constraint idle: sum(flow: route[2, i] * x^2 / (1 + i) - factor[i] * (x - 2)) <= 1e-3",
            "constraint idle: 0 * flow[1].x <= 0",
            "constraint idle: dot([0, 0], other[1].y) + 2 <= 900"]


def tacit(*arguments):
    return subprocess.run([TACIT, *map(str, arguments)], capture_output=True, text=True, timeout=1200)


def without_rows(value):
    """Without the numbers of rows, which differ."""
    if isinstance(value, list):
        return [without_rows(each) for each in value]
    return {name: each for name, each in value.items() if name != "first_row"} if isinstance(value, dict) else value


def settings():
    for method, mechanism, unit in itertools.product(("tacit", "published"), ("laplace", "gaussian"), ("one:0.5", "agent")):
        yield ["--method", method, "--mechanism", mechanism, "--adjacency", unit, "--epsilon", "1",
               *(["--delta", "1e-6"] if mechanism == "gaussian" else [])]


class ConstantRows(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="tacit-constant-")
        self.folder = pathlib.Path(place.name)
        self.addCleanup(place.cleanup)

    def problem(self, name, rows):
        path = self.folder / f"{name}.tacit"
        path.write_text(HEAD + "\n".join(rows) + "\n")
        return path

    def pairs(self):
        """The problem with a constant row and the one without, and where the row stands."""
        for (kind, rows), constant, at in itertools.product(MOVING.items(), CONSTANT, (0, 1, 2)):
            if (CONSTANT.index(constant) + at) % 3 == 0:
                idle = self.problem(f"{kind}-{CONSTANT.index(constant)}-{at}", rows[:at] + [constant] + rows[at:])
                yield idle, self.problem(kind, rows), at, f"{kind}, {constant}"

    def json(self, *arguments):
        done = tacit(*arguments, "--json")
        self.assertIn(done.returncode, (0, 1), done.stdout[:300] + done.stderr)  # 1: a seed is not private
        return json.loads(done.stdout)

    @functools.cache
    def plain_json(self, *arguments):
        """Of a problem without the row: it is compared with many that have one."""
        return self.json(*arguments)

    def test_the_noise_and_its_price_are_those_of_the_problem_without_it(self):
        for (idle, plain, at, words), options in itertools.product(self.pairs(), settings()):
            with self.subTest(words=words, options=options):
                a, b = self.json("plan", idle, *options), self.plain_json("plan", plain, *options)
                for name in ("private", "placement", "systems", "observers", "lattice", "warnings"):
                    self.assertEqual(without_rows(a.get(name)), without_rows(b.get(name)), name)
                for of_a, of_b in zip(a["placements"], b["placements"]):
                    if "constraint_variance" in of_a:
                        self.assertEqual(of_a["constraint_variance"].pop(at), 0)
                    self.assertEqual(of_a, of_b)

    def test_the_solution_is_the_same_and_the_multiplier_zero(self):
        for idle, plain, at, words in self.pairs():
            with self.subTest(words=words):
                a, b = self.json("solve", idle), self.plain_json("solve", plain)
                self.assertEqual(a["x"], b["x"])
                self.assertEqual(a["mu"].pop(at), 0)
                self.assertEqual(a["mu"], b["mu"])

    def test_the_slater_margin_and_the_radius_do_not_depend_on_it(self):
        for idle, plain, at, words in self.pairs():
            with self.subTest(words=words):
                a, b = self.json("check", idle), self.plain_json("check", plain)
                self.assertEqual(a["dual_radius"], b["dual_radius"])
                self.assertEqual(a["slater"]["margin"], b["slater"]["margin"])
                self.assertEqual(a["slater"]["declared_margin"], b["slater"]["declared_margin"])

    def test_the_theorem_gives_the_same_bound(self):
        for idle, plain, at, words in self.pairs():
            for calibration in (["--calibration", "published", "--adjacency", "ensemble:0.5"], ["--adjacency", "one:0.5"]):
                with self.subTest(words=words, calibration=calibration):
                    a, b = (tacit("bound", path, "--mechanism", "laplace", "--epsilon", 1, "--json", *calibration) for path in (idle, plain))
                    self.assertEqual(a.returncode, b.returncode, a.stdout + a.stderr)
                    a, b = json.loads(a.stdout), json.loads(b.stdout)
                    for name, value in b["constants"].items():  # a row more may round up once more
                        self.assertAlmostEqual(a["constants"][name], value, delta=1e-12 * value, msg=name)

    def test_the_clouds_file_gives_the_same_plan_and_its_certificate_is_proved(self):
        for (idle, plain, at, words), options in itertools.product(self.pairs(), list(settings())[::3]):
            with self.subTest(words=words, options=options):
                parts, certificate = self.folder / "parts", self.folder / "certificate.json"
                self.assertEqual(tacit("split", idle, "-o", parts, "--force").returncode, 0)
                cloud = next(parts.glob("*cloud*.tacit"))
                self.assertEqual(self.json("plan", cloud, *options)["hash"], self.json("plan", idle, *options)["hash"])
                self.assertEqual(tacit("plan", idle, *options, "--certificate", certificate).returncode, 0)
                verify_plan.verify(*verify_plan.read(certificate))
                certificate.unlink()

    def test_the_audit_finds_nothing(self):
        idle = self.problem("with", [CONSTANT[1], *MOVING["affine"]])
        for options in list(settings())[::3]:
            done = tacit("audit", idle, *options, "--samples", 400000)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def test_constant_rows_alone_are_as_no_constraint(self):
        idle = self.problem("with", CONSTANT[:1])
        solved = self.json("solve", idle)
        self.assertEqual(solved["mu"], [0])
        self.json("check", idle)
        ran = self.json("run", idle, "--adjacency", "one:0.5", "--mechanism", "laplace", "--epsilon", 1)
        self.assertEqual(ran["mu"], [0])

    def test_one_that_does_not_hold_is_named(self):
        for row in ("constraint bad: 5 <= 3", "constraint bad: 0 * flow[1].x + 5 <= 3",
                    "constraint bad: sum(flow: route[2, i] * x) + 2 <= 0"):
            path = self.problem("bad", MOVING["affine"] + [row])
            for command in ("check", "solve", "plan"):
                done = tacit(command, path)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stdout + done.stderr, r"no point satisfies constraint 'bad': no state has an effect on it")
                self.assertIn("by 2", re.sub(r"\s+", " ", done.stdout + done.stderr))


if __name__ == "__main__":
    unittest.main()
