"""One rank is told to stop at a moment of check, plan or run, for every moment: all ranks leave together. Of one family some ranks know
nothing, since there are more ranks than blocks; they must not go on to a meeting that the others have left out.

With TACIT_LONG=1 all problems by all commands, and all moments: told.c."""
# labels: long once
import os
import pathlib
import shutil
import tempfile
import unittest

import ranks
import test_slices

PROGRAM = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "ranks_told"
RANKS = 4
HOMES, STORES = 5000, 9000  # three blocks and five

PROBLEM = """data homes = npy "homes.npy" public cap
data stores = npy "stores.npy" public cap
agents home over homes {{
  state p[2] in [0, {most}]
  private set norm(p) <= need + 3
  private minimize {objective}
  slater p = 0.2 within 0.01
  gap 2000
}}
agents store over stores {{ state q in [0, cap]; private minimize weight * (q - need)^2; slater q = 0.2 within 0.01; gap 900 }}
constraint c: sum(home: {term}) + sum(store: cap * q) <= {bound}
{more}
privacy {{ mechanism {mechanism}; adjacency {unit}; epsilon 1 }}
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 2 }}
"""
# Objectives and terms that are convex for each member, and not for all members' data at once.
USUAL = {"most": "10", "objective": "(need - 2.5) * huber(p[1] - 3, 0.5) + 40 * p[1]^2 + (p[2] - 1)^2", "term": "cap * p[1] + p[2]",
         "bound": "60000", "more": "", "mechanism": "laplace", "unit": "one 1"}
CURVED = {"objective": "weight * (p[1] - need)^2 + (p[2] - 1)^2", "term": "exp(0.1 * cap * p[1]) + exp(cap / 9 - p[2])", "most": "1 + cap"}
EQUAL = {"more": "constraint d: sum(home: p[1] - p[2]) == 0"}
RANGES = {"unit": "data", "term": "p[1] + p[2]", "objective": "weight * sumsq(p - need)", "more":
          "constraint d: sum(home: p[1]) <= 30000"}


def some(*cases):
    return cases if os.environ.get("TACIT_LONG") else cases[:1]


class Told(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        rows = test_slices.rows(HOMES + STORES)
        test_slices.homes(cls.folder / "homes.npy", rows[:HOMES])
        test_slices.homes(cls.folder / "stores.npy", rows[HOMES:])

    def stops(self, teller, *words, least=40, **parts):
        """Told at every moment; how often that was before the end."""
        text = PROBLEM.format(**{**USUAL, **parts})
        if parts.get("unit") == "data":
            text = text.replace("  gap 2000", "  range need in [0, 5], weight in [1, 2]\n  protect need by 0.5\n  gap 2000").replace(
                "gap 900", "range need in [0, 5], weight in [1, 2]; gap 900")
        (self.folder / "p.tacit").write_text(text)
        with self.subTest(words=words, **parts):
            done = ranks.run(RANKS, PROGRAM, teller, *words, cwd=self.folder, timeout=300)
            lines = done.stdout.split("\n")
            self.assertEqual(done.returncode, 0, lines[-3:] + done.stderr.splitlines()[-3:])
            _, stopped, _, wrong = lines[-2].split()
            self.assertEqual(wrong, "0", done.stderr[-2000:])
            self.assertGreater(int(stopped), least)  # the others heard of it when all was found, and came to their end

    def test_check(self):
        for teller, parts in some((3, USUAL), (0, CURVED), (1, EQUAL)):
            self.stops(teller, "check", "p.tacit", **parts)

    def test_plan(self):
        for teller, parts in some((0, CURVED), (2, RANGES), (3, USUAL), (1, EQUAL)):
            self.stops(teller, "plan", "p.tacit", **parts)

    def test_run(self):
        for teller, parts in some((1, RANGES), (2, USUAL)):
            self.stops(teller, "run", "p.tacit", "--seed", "1", "--no-reference", **parts)

    def test_runs_of_ranks_that_work_alone(self):
        """Whoever was not told hears of it while it works, or learns at the next meeting that a rank has left."""
        self.folder = self.folder / "few"
        self.folder.mkdir()
        for name in "homes.npy", "stores.npy":
            test_slices.homes(self.folder / name, test_slices.rows(20))
        for teller, words in ((1, ("run", "p.tacit", "--seeds", "3")), (0, ("run", "p.tacit", "--seeds", "3")),
                              (2, ("sweep", "p.tacit", "--seeds", "2", "--points", "2"))):
            self.stops(teller, *words, "--no-reference", "--threads", "1", least=10, **RANGES)


if __name__ == "__main__":
    unittest.main()
