"""Problems whose data are spread over ranks: each knows the rows of its own members, and `check` says the same to the
last byte as one process. With TACIT_TEST_GUARD a rank that reads what it does not know ends by a signal."""
# labels: long once
import array
import json
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile
import unittest

import ranks

BINARIES = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
PLAIN, SPREAD = BINARIES / "tacit", BINARIES / "tacit-mpi"
MEMBERS = 51000  # tables of 50000 rows or fewer are known to all ranks

BOXES = """data homes = {file}
agents home over homes {{
  state p[2] in [0, 10]
  private minimize weight * ((p[1] - need)^2 + (p[2] - 1)^2)
}}
constraint c: sum(home: p[1] + p[2]) <= 100000
"""

SETS = """data homes = {file} public cap
param offset = sum(home: cap) - home[{last}].cap
agents home over homes {{
  state p[2] in [0, cap]
  private set norm(p) <= need + 1
  private minimize weight * sumsq(p - need) + p[1] / cap
  slater p = 0.1 within 0.01
  gap {gap}
}}
agents small[i in 1..3] {{ state q in [0, i]; private minimize (q - i / 2)^2; slater q = 0.1; gap 9 }}
constraint c: sum(home: p[1] + cap * p[2]) + sum(small: q) <= 0.5 * offset
constraint d: sum(home: p[1]) <= 120000
"""

ALIKE = """data homes = {file} public cap
agents home over homes {{
  state p[2] in [0, 10]
  private set norm(p - 2) <= 9
  private minimize weight * ((p[1] - need)^2 + (p[2] - 1)^2)
  start p = 0.1 * need
  slater p = 0.5 + 0.01 * cap
  gap 900 + cap
}}
constraint c: sum(home: p[1] + p[2]) <= 100000
privacy {{ mechanism laplace; adjacency one 1; epsilon 1 }}
"""

# Sets that differ: which rows cut anything, and whether they overlap, depends on the member; in a table sorted by need,
# on the rank. And data with ranges that some members are outside of.
SET_LINES = {
    "half-spaces": "private set sum(p) >= need",
    "balls": "private set norm(p - 3) <= need + 1",
    "boxes": "private set p[1] >= need - 3\n  private set p[2] <= 8 - need / 10",
    "slabs": "private set sum(p) >= need - 3\n  private set sum(p) <= need + 10",
    "sets that overlap": "private set norm(p - 3) <= need + 1\n  private set p[1] + cap * p[2] >= 2 * need - 6",
    "protected data": "private set sum(p) >= need\n  range need in [0.5, 4.5], weight in [1, 1.9]\n"
                      "  protect need by 0.5",
}

DIFFERENT = """data homes = {file} public cap
agents home over homes {{
  state p[2] in [0, 10]
  {lines}
  private minimize weight * (p[1] - need)^2 + 2 * (p[2] - 1)^2
  slater p = 3
  gap 900
}}
constraint c: sum(home: p[1] + p[2]) <= 350000
privacy {{ mechanism laplace; adjacency {unit}; epsilon 1 }}
schedule {{ alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 3 }}
"""

OTHERS = {
    "a range of members": "agents home[i in 1..60000] { state p in [0, 1]; private minimize (p - i / 60000)^2 }\n"
                          "constraint c: sum(home: p) <= 20000\n",
    "kinks": "data homes = csv \"homes.csv\"\n"
             "agents home over homes { state p in [0, 10]; private minimize abs(p - need) }\n"
             "constraint c: sum(home: p) <= 100000\n",
    "curved constraints": "data homes = csv \"homes.csv\"\n"
                          "agents home over homes { state p in [0, 10]; private minimize (p - need)^2 }\n"
                          "constraint c: sum(home: p^2) <= 500000\n",
    "a named member": "data homes = csv \"homes.csv\"\n"
                      "agents home over homes { state p in [0, 10]; private minimize (p - need)^2 }\n"
                      "constraint c: sum(home: p) + home[50999].p <= 100000\n",
}

WRONG = {  # what to change in the row of which member, and a part of the message
    "a short row": (40000, "1,2", "this line has 2 of the 3 columns"),
    "a text": (30000, "1,ten,3", "column 'weight': this is not a number"),
    "an empty row": (50999, ",,", "all cells of this line are empty"),
    "an open quote": (25000, '1,"2,3', "the quote opened here is not closed"),
    "a curved objective": (45000, "1,-2,3", "home[45001]"),
}


def rows(members):
    """need, weight and cap."""
    source = random.Random(7)
    return [(source.uniform(0, 5), source.uniform(1, 2), 1 + source.randrange(8)) for _ in range(members)]


def npy(path, fields, count, body):
    header = repr({"descr": fields, "fortran_order": False, "shape": (count,)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body)


def homes(path, table):
    npy(path, [("need", "<f8"), ("weight", "<f8"), ("cap", "<i4")], len(table),
        b"".join(struct.pack("<ddi", *row) for row in table))


class Slices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.rows = rows(MEMBERS)
        cls.lines = ["need,weight,cap", *(f"{a!r},{b!r},{c}" for a, b, c in cls.rows)]
        (cls.folder / "homes.csv").write_text("\n".join(cls.lines) + "\n")
        homes(cls.folder / "homes.npy", cls.rows)
        os.environ["TACIT_TEST_GUARD"] = "1"
        cls.addClassCleanup(os.environ.pop, "TACIT_TEST_GUARD")
        homes(cls.folder / "sorted.npy", sorted(cls.rows))

    def problem(self, text, **values):
        path = self.folder / "p.tacit"
        path.write_text(text.format(**values) if values else text)
        return path.name

    def plain(self, *words):
        return ranks.subprocess.run([PLAIN, *words], capture_output=True, text=True, cwd=self.folder, timeout=120)

    def same(self, *words, counts=(2,)):
        """What one process prints."""
        one = self.plain(*words)
        for count in counts:
            with self.subTest(words=words, ranks=count):
                some = ranks.run(count, SPREAD, *words, cwd=self.folder)
                self.assertEqual((some.returncode, some.stdout, some.stderr),
                                 (one.returncode, one.stdout, one.stderr))
        return one

    def test_boxes(self):
        for file in ('csv "homes.csv"', 'npy "homes.npy"'):
            name = self.problem(BOXES, file=file)
            self.assertEqual(self.same("check", name, "--json", counts=(2, 7)).returncode, 0)
        self.same("check", name, counts=(3,))

    def test_sets(self):
        name = self.problem(SETS, file='npy "homes.npy"', last=MEMBERS, gap=500)
        self.assertEqual(self.same("check", name, "--json", counts=(3,)).returncode, 0)
        name = self.problem(SETS, file='csv "homes.csv"', last=MEMBERS, gap="0.1 * cap")
        self.assertIn("is too small", self.same("check", name, "--json", counts=(2,)).stdout)

    def test_empty_sets(self):
        text = SETS.replace("norm(p) <= need + 1", "norm(p - 12) <= 15 - need")
        name = self.problem(text, file='csv "homes.csv"', last=MEMBERS, gap=500)
        self.assertIn("have an empty set", self.same("check", name).stdout)

    def test_others(self):
        for what, text in OTHERS.items():
            with self.subTest(what):
                self.same("check", self.problem(text), counts=(2,))

    def test_plans(self):
        """Of families whose members are alike to the cloud; others are known whole to all ranks."""
        name = self.problem(ALIKE, file='npy "homes.npy"')
        for options in ((), ("--mechanism", "gaussian", "--delta", "1e-6"), ("--placement", "states"),
                        ("--method", "published")):
            self.assertEqual(self.same("plan", name, "--json", *options).returncode, 0)
        self.same("plan", name, counts=(7,))
        name = self.problem(BOXES.replace("p[1] + p[2]", "cap * p[1]").replace("{file}", "{file} public cap") +
                            "dual radius 50\nprivacy {{ mechanism laplace; adjacency one 1; epsilon 1 }}\n",
                            file='csv "homes.csv"')
        self.assertEqual(self.same("plan", name, "--json").returncode, 0)

    def test_runs(self):
        """The data that rounds need are the rank's own."""
        for options in ((), ("--placement", "states"), ("--mechanism", "none")):
            name = self.problem(ALIKE, file='npy "homes.npy"')
            self.same_run(2, "run", name, "--seed", "1", "--rounds", "5", "--no-reference", "--json", *options)

    def test_runs_with_sets_that_differ(self):
        for what, lines in SET_LINES.items():
            for count, method in ((2, "tacit"), (3, "published")):
                with self.subTest(what, method=method):
                    unit = "data" if "protect" in lines and method == "tacit" else "one 1"
                    name = self.problem(DIFFERENT, file='npy "sorted.npy"', lines=lines, unit=unit)
                    self.same_run(count, "run", name, "--seed", "1", "--no-reference", "--json", "--full",
                                  "--method", method)

    def same_run(self, count, *words):
        one = self.plain(*words)
        some = ranks.run(count, SPREAD, *words, cwd=self.folder)
        self.assertEqual(some.returncode, 0, some.stderr)
        self.assertTrue(self.timeless(some.stdout) == self.timeless(one.stdout))  # too long to show

    def test_what_is_spread(self):
        """The shapes that docs/scale.md names are spread indeed."""
        cases = [("run", DIFFERENT, {"lines": lines, "unit": "one 1"}) for lines in SET_LINES.values()]
        cases += [("plan", DIFFERENT, {"lines": SET_LINES["protected data"], "unit": "data"})]
        cases += [(command, ALIKE, {}) for command in ("check", "plan", "run")]
        cases += [("check", SETS, {"last": MEMBERS, "gap": 500}), ("check", BOXES, {})]
        for command, text, values in cases:
            with self.subTest(command, **values):
                name = self.problem(text, file='npy "homes.npy"', **values)
                more = ("--rounds", "1", "--seed", "1", "--no-reference") if command == "run" else ()
                os.environ["TACIT_TEST_GUARD"] = "tell"
                done = ranks.run(2, SPREAD, command, name, *more, cwd=self.folder)
                os.environ["TACIT_TEST_GUARD"] = "1"
                half = MEMBERS // 2048 // 2 * 2048  # whole blocks
                self.assertIn(f"rank 0 knows members 1 to {half} of home", done.stderr)
                self.assertIn(f"rank 1 knows members {half + 1} to {MEMBERS} of home", done.stderr)

    @staticmethod
    def timeless(text):
        result = json.loads(text)
        return {key: value for key, value in result.items() if key not in ("seconds", "times")}

    def test_wrong_rows(self):
        for what, (member, row, message) in WRONG.items():
            with self.subTest(what):
                lines = list(self.lines)
                lines[member + 1] = row
                (self.folder / "wrong.csv").write_text("\n".join(lines) + "\n")
                name = self.problem(BOXES, file='csv "wrong.csv"')
                one = self.same("check", name, counts=(3,))
                self.assertNotEqual(one.returncode, 0)
                self.assertIn(message, one.stdout + one.stderr)

    def test_wrong_members(self):
        text = BOXES.replace("[0, 10]", "[0, cap - 4]").replace("{file}", '{file} public cap')
        one = self.same("check", self.problem(text, file='npy "homes.npy"'))
        self.assertIn("the box of 'p' for home[", one.stderr)

    def other_folder(self, text, data):
        """The same problem with another data file, or none."""
        folder = self.folder / "other"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "p.tacit").write_text(text)
        if data is not None:
            (folder / "homes.csv").write_text(data)
        return folder

    def test_ranks_with_other_files(self):
        text = BOXES.format(file='csv "homes.csv"')
        self.problem(text)
        whole = (self.folder / "homes.csv").read_text()
        cases = [(None, "rank 1 cannot read 'homes.csv', which others can"),
                 (whole + "1,1,1\n", "'homes.csv' differs between ranks: rank 0 reads"),
                 (whole.replace("1", "2", 1), "rank 0 and rank 1 read other text of the same length")]
        for data, message in cases:
            with self.subTest(message):
                folder = self.other_folder(text, data)
                words = ["-wdir", str(self.folder), SPREAD, "check", "p.tacit", ":",
                         "-n", "1", "-wdir", str(folder), SPREAD, "check", "p.tacit"]
                done = ranks.run(1, *words)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stderr.count(message), 1, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_ranks_with_another_number_in_an_npy_file(self):
        """Also in a row that neither the first rank nor the second holds for itself alone: each has read all of it."""
        text = BOXES.format(file='npy "homes.npy"')
        self.problem(text)
        whole = (self.folder / "homes.npy").read_bytes()
        for at in (len(whole) - 1, len(whole) // 2, 400):
            with self.subTest(at):
                folder = self.other_folder(text, None)
                (folder / "homes.npy").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
                words = ["-wdir", str(self.folder), SPREAD, "check", "p.tacit", ":",
                         "-n", "1", "-wdir", str(folder), SPREAD, "check", "p.tacit"]
                done = ranks.run(1, *words)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stderr.count("'homes.npy' differs between ranks"), 1, done.stderr)

    def test_memory(self):
        """Four ranks have about a quarter of the data each."""
        members, columns = 400000, 24
        body = array.array("d", [1.0 + i % 7 for i in range(members * columns)]).tobytes()
        npy(self.folder / "wide.npy", [("pref", "<f8", (columns,))], members, body)
        name = self.problem('data homes = npy "wide.npy"\n'
                            "agents home over homes { state p in [0, 1]; private minimize (p - sum(pref))^2 }\n"
                            "constraint c: sum(home: p) <= 300000\n")
        code = ("import resource, subprocess, sys\n"
                "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
                "print('', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, '')\n"  # mpirun may join lines of ranks
                "sys.exit(status)\n")
        most = {}
        for count in (1, 4):
            done = ranks.run(count, sys.executable, "-c", code, SPREAD, "check", name, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            most[count] = max(map(int, done.stdout.split())) * 1024
        self.assertLess(most[4], most[1] - 0.6 * members * columns * 8)


if __name__ == "__main__":
    unittest.main()
