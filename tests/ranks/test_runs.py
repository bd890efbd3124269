"""Runs on several ranks have every bit of those of one process: JSON and traces are compared with those of plain `tacit`, for
both methods, all placements, both mechanisms and none, several families and threads. Faults that are planted are found."""
# labels: once
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import problems
import ranks

TACIT = os.environ["TACIT"]
BINARIES = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
MANY = BINARIES / "tacit-mpi"


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in ("seconds", "times")}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


def trace_of(path):
    """Lines, but for the command and the time."""
    return [line for line in path.read_text().splitlines() if "# command:" not in line and "seconds" not in line]


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        problems.write_data(cls.folder)
        problems.affine(cls.folder, "affine.tacit")
        problems.affine(cls.folder, "laplace.tacit", "laplace")
        problems.affine(cls.folder, "ball.tacit", sets="private set sumsq(x - [want / 2, other / 2]) <= 4")
        problems.affine(cls.folder, "kinks.tacit", objective="abs(x[1] - want) + cost * (x[2] - other)^2 + 0.1 * x[1]^2")
        problems.affine(cls.folder, "rows.tacit", sets="private set x[1] + x[2] <= want + other + 1")
        problems.affine(cls.folder, "equality.tacit", room=" within 0.25",
                        more="constraint fixed: sum(unit: x[1]) - sum(unit: x[2]) == 0")
        problems.affine(cls.folder, "data.tacit", adjacency="data",
                        sets="range want in [0, 4], other in [0, 3], cost in [1, 2]; protect want by 0.5")
        problems.curved(cls.folder, "curved.tacit")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def one(self, *words):
        done = subprocess.run([TACIT, *words], capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done

    def many(self, count, *words, program=MANY):
        return ranks.run(count, program, *words, cwd=self.folder)

    def compare(self, count, *words):
        with self.subTest(ranks=count, words=words):
            words = (*words, "--json")
            one, many = self.one(*words), self.many(count, *words)
            self.assertEqual(many.returncode, one.returncode, many.stderr)
            self.assertEqual(without_times(json.loads(many.stdout)), without_times(json.loads(one.stdout)))
            self.assertNotEqual(json.loads(one.stdout)["outcome"], "refused")

    def run_both(self, count, name, *words, threads=1):
        self.compare(count, "run", name, "--seed", "3", "--no-reference", "--threads", str(threads), *words)

    def test_outputs(self):
        self.run_both(2, "affine.tacit")
        self.run_both(3, "laplace.tacit", threads=2)

    def test_states_and_forms(self):
        for placement in ("states", "forms"):
            self.run_both(3, "affine.tacit", "--placement", placement)
        self.run_both(2, "curved.tacit", threads=2)

    def test_published(self):
        self.run_both(2, "affine.tacit", "--method", "published")
        self.run_both(3, "curved.tacit", "--method", "published", "--calibration", "published", "--adjacency",
                      "ensemble:0.5", threads=2)

    def test_without_noise(self):
        self.run_both(3, "affine.tacit", "--mechanism", "none")
        self.run_both(2, "curved.tacit", "--mechanism", "none", "--placement", "states")
        self.run_both(2, "curved.tacit", "--mechanism", "none", "--method", "published")

    def test_last_round(self):
        for name, words in (("affine.tacit", ()), ("laplace.tacit", ("--delta", "1e-6")), ("equality.tacit", ())):
            self.run_both(3, name, "--feasible", "always", *words)
        self.run_both(2, "curved.tacit", "--feasible", "always:0.3", threads=2)

    def test_agents(self):
        for name in ("ball.tacit", "kinks.tacit", "rows.tacit", "equality.tacit", "data.tacit"):
            self.run_both(2, name, "--rounds", "6")

    def test_a_moved_result(self):
        self.run_both(3, "affine.tacit", "--margin", "auto", "--rounds", "5", threads=2)
        self.run_both(2, "curved.tacit", "--margin", "auto", "--rounds", "4")

    def test_seven_ranks(self):
        with tempfile.TemporaryDirectory() as place:
            problems.write_data(place, units=14400)
            problems.curved(place, "large.tacit")
            words = ("run", f"{place}/large.tacit", "--seed", "5", "--no-reference", "--threads", "1", "--json")
            one, many = self.one(*words), self.many(7, *words)
            self.assertEqual(many.returncode, one.returncode, many.stderr)
            self.assertEqual(without_times(json.loads(many.stdout)), without_times(json.loads(one.stdout)))

    def test_traces(self):
        words = ("--seed", "3", "--no-reference", "--threads", "1", "--trace-all", "--states", "--rounds", "4")
        self.one("run", "curved.tacit", *words, "--trace", "one.csv")
        many = self.many(3, "run", "curved.tacit", *words, "--trace", "many.csv")
        self.assertEqual(many.returncode, 0, many.stderr)
        self.assertEqual(trace_of(self.folder / "many.csv"), trace_of(self.folder / "one.csv"))

    def test_text(self):
        """Not into a terminal: the same text. Without --no-reference a line says that it is taken."""
        words = ("run", "curved.tacit", "--seed", "3", "--threads", "1", "--rounds", "4")
        one, many = self.one(*words, "--no-reference"), self.many(2, *words)
        self.assertIn("tacit run: 2 ranks worked; ", many.stderr)
        self.assertIn("--no-reference is taken", many.stderr)
        many = self.many(2, *words, "--no-reference")
        self.assertEqual(many.stderr.count("tacit run: 2 ranks worked\n"), 1)
        refused = self.many(2, "run", "curved.tacit", "--seed", "3", "--threads", "1", "--mechanism", "laplace", "--epsilon", "1e-300")
        self.assertNotEqual(refused.returncode, 0)
        self.assertNotIn("ranks worked", refused.stderr)
        lines = [[line for line in done.stdout.splitlines() if " s" not in line] for done in (one, many)]
        self.assertEqual(lines[1], lines[0])

    def test_text_of_seeds(self):
        """Ranks that work alone write into a terminal of mpirun's. A file begins with the verdict all the same."""
        words = ("run", str(SOURCE / "examples/paper.tacit"), "--seeds", "3", "--rounds", "50", "--threads", "1")
        one, many = self.one(*words).stdout, self.many(2, *words).stdout
        self.assertEqual(many.splitlines()[:3], one.splitlines()[:3])

    def test_fresh_noise(self):
        """Without a seed all ranks have the key of the first: the run is whole, and no second one is the same."""
        results = [json.loads(self.many(2, "run", "affine.tacit", "--no-reference", "--rounds", "40", "--json").stdout)
                   for _ in range(2)]
        one = json.loads(self.one("run", "affine.tacit", "--no-reference", "--rounds", "40", "--json").stdout)
        self.assertTrue(all(result["guarantee"] == one["guarantee"] for result in results))
        self.assertNotEqual(results[0]["mu"], results[1]["mu"])

    def test_ledger_has_one_entry(self):
        words = ("run", "affine.tacit", "--no-reference", "--rounds", "3", "--ledger", "spent")
        self.assertEqual(self.many(3, *words).returncode, self.one(*words[:-1], "other").returncode)
        self.assertEqual(len((self.folder / "spent").read_text().splitlines()), 1)
        over = self.many(2, *words, "--budget", "0.5:1e-6", "--json")
        self.assertEqual((over.returncode, json.loads(over.stdout)["outcome"]), (1, "refused"), over.stderr)
        self.assertEqual(len((self.folder / "spent").read_text().splitlines()), 1)

    def test_seeds_and_sweeps(self):
        paper = str(SOURCE / "examples/paper.tacit")
        self.compare(2, "run", paper, "--seeds", "5", "--rounds", "100", "--threads", "1", "--states")
        self.compare(7, "run", paper, "--seeds", "3", "--rounds", "100", "--threads", "1")
        one = self.one("sweep", paper, "--seeds", "4", "--rounds", "100", "--points", "3", "--threads", "2", "--json")
        many = self.many(3, "sweep", paper, "--seeds", "4", "--rounds", "100", "--points", "3", "--threads", "2", "--json")
        self.assertEqual(without_times(json.loads(many.stdout)), without_times(json.loads(one.stdout)))

    def test_one_rank_is_tacit(self):
        self.compare(1, "run", str(SOURCE / "examples/paper.tacit"), "--seed", "3", "--rounds", "50", "--threads", "1")

    def test_planted_faults_are_found(self):
        words = ("run", "curved.tacit", "--seed", "3", "--no-reference", "--threads", "1", "--rounds", "60", "--json")
        one = without_times(json.loads(self.one(*words).stdout))
        for fault in ("sums_left_out", "order_reversed"):
            with self.subTest(fault=fault):
                many = self.many(2, *words, program=BINARIES / f"tacit-mpi_with_{fault}")
                self.assertNotEqual(many.stdout, "")
                self.assertNotEqual(without_times(json.loads(many.stdout)), one)


if __name__ == "__main__":
    unittest.main()
