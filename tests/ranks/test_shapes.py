"""Which shapes of problems are spread over ranks (docs/scale.md, "Whose data a rank has"), and that each gives every bit of one
process: check, plan and run, both methods, all placements, both mechanisms and none. With TACIT_TEST_GUARD a rank that reads what it
does not know ends by a signal. Tables are sorted, so that ranks know members of different kinds; what is largest is on the last one,
or, in a table that falls, on the first."""
# labels: long once
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import ranks
import test_slices

BINARIES = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
PLAIN, SPREAD = BINARIES / "tacit", BINARIES / "tacit-mpi"
MEMBERS = 51000

PROBLEM = """data homes = npy "{file}.npy" public cap
agents home over homes {{
  state p[2] in {box}
  {lines}
  private minimize {objective}
  slater p = {slater}
  gap 900
}}
constraint c: {constraint}
{more}
privacy {{ mechanism laplace; adjacency {unit}; epsilon 1 }}
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 3 }}
"""
USUAL = {"file": "by_need", "box": "[0, 10]", "lines": "", "objective": "weight * (p[1] - need)^2 + 2 * (p[2] - 1)^2",
         "slater": "0.5", "constraint": "sum(home: p[1] + p[2]) <= 350000", "more": "", "unit": "one 1"}
CURVED = {"constraint": "sum(home: p[1]^2 + 0.5 * p[1] * p[2] + p[2]^2) <= 500000",
          "more": "constraint d: sum(home: exp(0.1 * p[1]) + p[2]) <= 200000"}
CURVED_BY_DATA = {"file": "by_cap", "constraint": "sum(home: cap * p[1]^2 + p[2]^2) <= 900000"}

# What differs between members: terms and boxes; all of it also beside an agent by itself, whose constraints have neither.
BY_DATA = {"file": "by_cap", "constraint": "sum(home: cap * p[1] + p[2]) <= 900000"}
TWICE = {**BY_DATA, "more": "constraint d: 0.001 * sum(home: cap * p[1] + p[2]) <= 900"}
BOXES = {"file": "by_cap", "box": "[0, cap]", "slater": "0.1", "constraint": "sum(home: p[1] + p[2]) <= 200000"}
BESIDE = {**BY_DATA, "box": "[0, cap]", "slater": "0.1",
          "more": "constraint d: sum(home: p[1]) + 0.5 * plant.z <= 200000\n"
                  "agent plant { state z in [0, 250000]; private minimize 0.00001 * (z - 100000)^2; gap 200000; slater z = 200 }"}
EQUAL = {"constraint": "sum(home: p[1] - p[2]) == 0", "slater": "0.5 within 0.1"}
RANGES = {"file": "by_cap", "unit": "data", "lines": "range need in [0, 4 + 0.1 * cap], weight in [1, 2]\n  protect need by 0.05 * cap"}
CAPS = {"file": "by_cap", "unit": "agent", "lines": "public set sum(p) <= cap + 3"}

NAMED = {"constraint": "sum(home: p[1] + p[2]) + home[50999].p[1] - 0.5 * home[2].p[2] <= plant.z + 100000",
         "more": "constraint d: home[3].p[1] + home[40000].p[2] <= 9\n"
                 "agent plant { state z in [0, 250000]; private minimize 0.00001 * (z - 100000)^2; gap 200000; slater z = 200000 }"}

# Whether |u|, a norm or a huber needs a variable depends on the member, and in a sorted table on the rank.
KINKS = {
    "|u|": "weight * abs(p[1] - need) + (p[2] - 1)^2",
    "|u| whose sign some know": "abs(p[1] + need - 2) + (p[2] - 1)^2",
    "the largest": "max(weight * p[1], need - p[1], 1) + (p[2] - 1)^2",
    "norms that some find at 0": "norm(p + need - 3) + p[1]^2",
    "huber": "huber(p[1] - need, 0.5) + weight * (p[2] - 1)^2",
    "huber that falls for some": "(need - 2.5) * huber(p[1] - 3, 0.5) + 40 * p[1]^2 + (p[2] - 1)^2",
}

SOME_SETS = "private set norm(p - 3) <= need + 1\n  private set p[1] + cap * p[2] >= 2 * need - 6"

WAYS = {  # of a run
    "tacit": (),
    "published": ("--method", "published"),
    "states": ("--placement", "states"),
    "gaussian": ("--mechanism", "gaussian", "--delta", "1e-6"),
    "forms": ("--mechanism", "gaussian", "--delta", "1e-6", "--placement", "forms"),
    "none": ("--mechanism", "none", "--threads", "2"),
    "margin": ("--margin", "auto"),
    "certain": ("--feasible", "always", "--delta", "1e-6"),
}
USUAL_WAYS = ("tacit", "published", "states", "gaussian", "none")
PLANNED = ("published", "states", "gaussian", "forms", "certain")  # options that plan has too


def timeless(text):
    return {key: value for key, value in json.loads(text).items() if key not in ("seconds", "times")}


class Shapes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        rows = test_slices.rows(MEMBERS)
        for name, key in (("by_need", None), ("by_cap", lambda row: row[2]), ("falling", lambda row: -row[2])):
            test_slices.homes(cls.folder / f"{name}.npy", sorted(rows, key=key))

    def write(self, **parts):
        (self.folder / "p.tacit").write_text(PROBLEM.format(**{**USUAL, **parts}))

    def on_ranks(self, count, *words, program=SPREAD):
        os.environ["TACIT_TEST_GUARD"] = "tell"
        try:
            return ranks.run(count, program, *words, cwd=self.folder)
        finally:
            del os.environ["TACIT_TEST_GUARD"]

    def alone(self, *words):
        return subprocess.Popen([PLAIN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)

    def same(self, count, *words, spread=True, codes=(0,)):
        """Both at the same time: an mpirun takes half a second to start."""
        with self.alone(*words) as one:
            some = self.on_ranks(count, *words)
            output, errors = one.communicate(timeout=120)
        self.assertEqual(some.returncode, one.returncode, some.stderr)
        self.assertIn(one.returncode, codes, errors)
        self.assertTrue(timeless(some.stdout) == timeless(output))  # too long to show
        self.assertEqual("rank 1 knows members" in some.stderr, spread)
        return some

    def all_ways(self, parts, ways=USUAL_WAYS, commands=("check", "plan"), spread=True, codes=(0,)):
        """Numbers of ranks take turns; seven start slowly. A plan is made as the last of the runs wants it: each run makes one too."""
        self.write(**parts)
        counts = [2, 3, 2, 3, 7]
        for command in commands:
            with self.subTest(command, **parts):
                wishes = WAYS[ways[-1]] if command == "plan" and ways and ways[-1] in PLANNED else ()
                self.same(counts[0], command, "p.tacit", "--json", *wishes, spread=spread, codes=codes)
        for way in ways:
            counts = counts[1:] + counts[:1]
            with self.subTest("run", way=way, **parts):
                self.same(counts[0], "run", "p.tacit", "--seed", "1", "--no-reference", "--json", "--full", *WAYS[way],
                          spread=spread, codes=codes)

    def scales(self, *words, count=3, program=None):
        """Of the noise, by system."""
        if program is None:
            done = subprocess.run([PLAIN, *words], capture_output=True, text=True, cwd=self.folder, timeout=120)
        else:
            done = self.on_ranks(count, *words, program=program)
            self.assertIn("rank 1 knows members", done.stderr)
        return [system["scale"] for system in json.loads(done.stdout)["systems"]]

    def test_curved_terms(self):
        self.all_ways(CURVED)
        self.all_ways({**CURVED, "unit": "agent"}, ("tacit",), ("plan",))
        self.all_ways({**CURVED, "unit": "ensemble 1"}, ("gaussian", "certain"), ("plan",))

    def test_terms_with_data(self):
        self.all_ways(BY_DATA, ("tacit", "margin", "none", "forms"))
        self.all_ways(TWICE, ("tacit",), ())
        self.all_ways(CURVED_BY_DATA, ("tacit", "states", "gaussian", "published"))
        self.all_ways({**CURVED_BY_DATA, "unit": "agent"}, (), ("plan",))
        self.all_ways({**CURVED_BY_DATA, "unit": "ensemble 1"}, ("certain",), ())

    def test_boxes_by_member(self):
        self.all_ways(BOXES, ("tacit", "states", "none", "published"))
        self.all_ways({**BOXES, "unit": "agent"}, ("forms",), ("plan",))
        self.all_ways({**BESIDE, "unit": "ensemble 1"}, ("certain", "gaussian"), codes=(0, 1))
        self.all_ways({**BESIDE, "unit": "agent:0.5"}, ("states",), (), codes=(0, 1))

    def test_equalities(self):
        """Without room around the Slater point check asks the interior-point method, which needs all members."""
        more = {"more": "constraint d: sum(home: p[1] + p[2]) <= 350000"}
        self.all_ways(EQUAL, ("tacit", "none", "published"))
        self.all_ways({**EQUAL, **more}, ("margin", "states", "certain"), ("plan",))
        self.all_ways({**EQUAL, **more, "slater": "0.5"}, (), ("check",))
        self.all_ways({**BOXES, "constraint": "sum(home: cap * p[1] + p[2]) == 137000", "slater": "0.5 within 0.1",
                       "lines": "private set norm(p) <= need + 3"}, ("tacit",), codes=(0, 1))

    def test_ranges_by_member(self):
        self.all_ways(RANGES, ("tacit", "states", "certain", "gaussian"))
        self.all_ways({**RANGES, "box": "[0, 2 + cap]", "lines": "range need in [0, 5], weight in [1, 2]\n  protect need by 0.5"},
                      ("tacit",))
        self.all_ways({**RANGES, "slater": "0.1 * cap within 0.01 * cap",
                       "lines": "range need in [0, 5], weight in [1, 2]\n  protect need by 0.5, weight by 0.1 * cap\n"
                                "  private set sum(p) <= need + 9"}, ("forms",))

    def test_a_first_rank_without_members(self):
        """More ranks than blocks: rank 0, which prints, knows no member."""
        self.write(**RANGES)
        self.same(26, "plan", "p.tacit", "--json")

    def test_a_run_in_which_some_hold_no_member_of_a_family(self):
        """Of the homes there are 25 blocks, of the other family 30: every one of 26 ranks has something to do, and some have no home."""
        beside = {"more": "agents store[i in 1..60000] { state q in [0, 1]; private minimize (q - i / 60000)^2; slater q = 0.1; gap 2 }\n"
                          "constraint d: sum(store: q) <= 40000"}
        for parts in ({**beside, "lines": SOME_SETS, "slater": "3"}, {**beside, "objective": KINKS["|u| whose sign some know"]}):
            self.write(**parts)
            with self.subTest(**parts):
                self.same(26, "run", "p.tacit", "--seed", "1", "--rounds", "2", "--no-reference", "--json", "--full")

    def test_the_point_that_a_first_rank_without_members_prints(self):
        """The states of the first members, and their boxes, below which a state is shown as zero, come from the rank that has them."""
        for parts in ({**BOXES, **CURVED_BY_DATA}, {**BOXES, "slater": "0.1 * cap", "constraint": "sum(home: 9 - p[1] - p[2]) <= 450000"}):
            self.write(**parts)
            for words in (("check", "p.tacit"), ("check", "p.tacit", "--json")):
                with self.subTest(words=words, **parts):
                    with self.alone(*words) as one:
                        some = self.on_ranks(26, *words)
                        output, _ = one.communicate(timeout=120)
                    self.assertIn("rank 25 knows members", some.stderr)
                    self.assertIn("rank 0 knows members 1 to 0", some.stderr)
                    self.assertEqual((some.returncode, some.stdout), (one.returncode, output))

    def test_what_the_first_rank_writes_alone(self):
        """Cards, traces, reports and ledgers have numbers of all members: none may ask other ranks, which have ended."""
        for parts in (BOXES, RANGES):
            self.write(**parts)
            words = ("run", "p.tacit", "--no-reference", "--seed", "1", "--card", "--trace", "t.csv", "--report", "r.html", "--ledger", "l")
            for name in ("t.csv", "r.html", "l"):
                (self.folder / name).unlink(missing_ok=True)
            done = self.on_ranks(3, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            some = (self.folder / "t.csv").read_text()
            self.assertGreater((self.folder / "r.html").stat().st_size, 1000)
            with self.alone(*words) as one:
                one.communicate(timeout=120)
            self.assertEqual(one.returncode, 0)
            lines = [[line for line in text.splitlines() if "command" not in line and "seconds" not in line]
                     for text in (some, (self.folder / "t.csv").read_text())]
            self.assertEqual(lines[0], lines[1])

    def test_the_plan_is_of_all_members(self):
        """The member that decides about noise is one of the last rank's, or of the first's. A fold that forgets a rank gives
        smaller scales."""
        forgotten, widest = BINARIES / "tacit-mpi_with_parcel_here", BINARIES / "tacit-mpi_with_widest_here"
        cases = ((BY_DATA, ()), (BY_DATA, ("--mechanism", "gaussian", "--delta", "1e-6")), (CURVED_BY_DATA, ("--method", "published")),
                 ({**BOXES, "unit": "agent"}, ()), ({**CAPS, "unit": "agent"}, ()), (RANGES, ()))
        for number, (parts, options) in enumerate(cases):
            for file in ("by_cap", "falling"):
                with self.subTest(options=options, **{**parts, "file": file}):
                    self.write(**{**parts, "file": file})
                    self.assertEqual(self.scales("plan", "p.tacit", "--json", *options, program=SPREAD),
                                     self.scales("plan", "p.tacit", "--json", *options))
            if number < 2:  # the first rank's members alone
                self.write(**parts)
                low, right = (self.scales("plan", "p.tacit", "--json", *options, program=program) for program in (forgotten, SPREAD))
                self.assertLess(max(low), 0.7 * max(right))
        self.write(**{**BOXES, "unit": "agent"})
        words = ("plan", "p.tacit", "--json", "--placement", "states")
        self.assertLess(max(self.scales(*words, program=widest)), 0.7 * max(self.scales(*words)))

    def test_the_largest_of_all_ranks_counts(self):
        """A rank that would take its own members' for it is found."""
        self.write(**CURVED_BY_DATA)
        one = subprocess.run([PLAIN, "check", "p.tacit", "--json"], capture_output=True, text=True, cwd=self.folder)
        some = self.on_ranks(3, "check", "p.tacit", "--json", program=BINARIES / "tacit-mpi_with_largest_here")
        bounds = [json.loads(done.stdout)["lipschitz"]["jacobian"][0]["l1"]["upper"] for done in (one, some)]
        self.assertEqual(bounds, [16, 6])  # twice the largest cap

    def test_objectives_with_kinks(self):
        ways = ("tacit", "states", "forms", "none", "margin", "certain")
        for number, (what, objective) in enumerate(KINKS.items()):
            with self.subTest(what):
                self.all_ways({"objective": objective}, (ways[number],), ("check",))

    def test_kinks_and_sets(self):
        self.all_ways({"objective": KINKS["|u|"], "lines": "private set sum(p) >= need - 1", "slater": "2.5"}, ("tacit", "states"))

    def test_members_that_are_named(self):
        """And agents by themselves: every rank hears of their states at a point."""
        self.all_ways(NAMED, ("tacit", "published", "states", "forms", "margin", "certain"), codes=(0, 1))
        self.all_ways({**CURVED, "more": NAMED["more"]}, ("tacit", "none"), ("check",), codes=(0, 1))

    def test_public_sets(self):
        self.all_ways({"lines": "public set sum(p) <= 8", "unit": "agent"}, ("tacit", "states", "gaussian"))
        self.all_ways({"lines": "public set sum(p) <= 8"}, ("published",))
        self.all_ways(CAPS, ("tacit", "states", "certain", "gaussian"))
        self.all_ways({**BESIDE, "lines": "public set p[1] + cap * p[2] <= 2 * cap + 3", "slater": "0.05 * cap", "unit": "agent"},
                      ("forms",), ("plan",), codes=(0, 1))

    def test_what_stays_whole(self):
        """docs/scale.md says why, and so does the first rank, once."""
        for parts, why in (({"constraint": "(sum(home: p[1]) / 51000)^2 <= 9"}, "constraint c is not affine in sums"),
                           ({"more": "declare lipschitz objective home 4 + cap"}, "the declared constants of home differ by member"),
                           ({"constraint": "sum(home: p[1]) + home[7].p[1] <= 200000", "box": "[0, cap]"},
                            "constraint c names home[7].p[1], and boxes of home differ by member")):
            with self.subTest(**parts):
                self.write(**parts)
                some = self.same(2, "check", "p.tacit", "--json", spread=False, codes=(0, 1))
                self.assertEqual(some.stderr.count("every rank loads the data of all agents"), 1, some.stderr)
                self.assertIn(why, some.stderr)
        for command in ("plan", "run"):
            self.write(constraint="(sum(home: p[1]) / 51000)^2 <= 9")
            self.assertIn(f"tacit {command}: every rank loads the data of all agents", self.on_ranks(2, command, "p.tacit").stderr)
        self.write()
        for words, why in ((("check", "p.tacit", "--full"), "--full prints the constants of every member"),
                           (("plan", "p.tacit", "--certificate", "c.json"), "--certificate writes down what every member does")):
            stderr = self.on_ranks(2, *words).stderr
            self.assertIn(f"tacit {words[0]}: every rank loads the data of all agents, and needs as much memory as one process: {why}", stderr)
        self.write(more="\n".join(f"constraint r{j}: sum(home: p[1]) <= {300000 + j}" for j in range(512)))
        with ranks.start(2, SPREAD, "check", "p.tacit", cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
            line = job.stderr.readline()  # long before the end
            job.terminate()
        self.assertIn("there are 513 constraints, more than 512", line)


if __name__ == "__main__":
    unittest.main()
