"""Ranges of private data as a person meets them: what commands say of data outside, and what goes to the parties."""
# labels: not-asan not-clang
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TACIT = os.environ["TACIT"]

HOMES = "name,need,cap,pref_1,pref_2\nanna,3,4,1,2\nben,45,4,9,-1\nulm,41,5,0,0.1\n"
PROBLEM = """data homes = csv "homes.csv" public cap
agents home over homes {
  state p[2] in [0, 50]
  private minimize sumsq(p - pref) + 0.1 * sum(p)
  private set sum(p) >= need
  range need in [0, 10 * cap], pref in [0, [7.4, 8]]
  protect need by 5, pref by 0.5
  gap 9000
  slater p = 25
}
agent shop {
  state q in [0, 3]
  private param fee = 2.5
  private minimize fee * q
  range fee in [0, 2]
  gap 9
  slater q = 1
}
constraint feeder[t in 1..2]: sum(home: p[t]) + shop.q <= 100
privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency one 1 }
schedule { rounds 20 }
"""
WARNINGS = ["need of ben is 45, outside of its range [0, 40]: 40 is used\n",
            "pref[1] of ben is 9, outside of its range [0, 7.4]: 7.4 is used\n",
            "fee of shop is 2.5, outside of its range [0, 2]: 2 is used\n"]
COUNTS = ["need of 1 of the 3 members of home is outside of its range, and its nearest end is used; tacit check shows one\n",
          "pref of 1 of the 3 members of home is outside of its range, and its nearest end is used; tacit check shows one\n",
          "fee of shop is outside of its range, and its nearest end is used; tacit check shows it\n"]


class Ranges(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        (self.folder / "homes.csv").write_text(HOMES)
        self.problem = self.folder / "p.tacit"
        self.problem.write_text(PROBLEM)

    def tacit(self, *arguments, code=0):
        done = subprocess.run([TACIT, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_check_tells_the_owner_which_data_were_moved(self):
        done = self.tacit("check", self.problem)
        for warning in WARNINGS:
            self.assertIn("warning: " + warning, done.stderr)
            self.assertNotIn(warning[:12], done.stdout)
        self.assertIn(f"{self.problem}:6:9: warning: need of ben", done.stderr)

    def test_what_others_may_read_says_how_many_and_no_number(self):
        """Also where a command fails, and its object says why."""
        commands = (["solve"], ["plan"], ["advise", "--doubt", "5%"], ["run", "--seed", 1],
                    ["run", "--adjacency", "data", "--method", "published"], ["sweep", "--seeds", "1", "--epsilons", "1"],
                    ["split", "-o", self.folder / "parts"], ["split", "-o", "/dev/null/x"], ["bound", "--method", "published"],
                    ["audit", "--samples", "1000"])
        for command, *options in commands:
            for json_ in ([], ["--json"]):
                done = subprocess.run([TACIT, command, self.problem, *map(str, options), *json_], capture_output=True,
                                      text=True, timeout=600)
                with self.subTest(command=[command, *options, *json_]):
                    said = done.stderr + done.stdout.replace("\\n", "\n")
                    for warning in COUNTS:
                        self.assertIn("warning: " + warning, said, done.stdout)
                    self.assertNotIn("ben is", said)
                    for number in "45", "41", "2.5":
                        self.assertNotRegex(done.stderr, rf"(?<![\d.]){number}(?![\d.])")

    def test_split_does_not_say_what_a_gap_should_be(self):
        self.problem.write_text(PROBLEM.replace("gap 9000", "gap 1").replace("fee = 2.5", "fee = 2") + "dual radius 9\n")
        done = self.tacit("split", self.problem, "-o", self.folder / "parts")
        self.assertIn("warning: the gaps of 3 agents are smaller than their data need; tacit check shows more", done.stderr)
        self.assertNotIn("is too small", done.stderr)
        self.assertIn("The gap 1 of anna is too small", self.tacit("check", self.problem).stdout)

    def test_data_are_used_as_if_they_had_been_in_the_range(self):
        moved = self.tacit("solve", self.problem, "--json").stdout
        inside = HOMES.replace("ben,45,4,9,-1", "ben,40,4,7.4,0")
        (self.folder / "homes.csv").write_text(inside)
        self.problem.write_text(PROBLEM.replace("fee = 2.5", "fee = 2"))
        done = self.tacit("solve", self.problem, "--json")
        self.assertEqual(done.stderr, "")
        self.assertEqual(json.loads(done.stdout)["x"], json.loads(moved)["x"])

    def test_the_whole_and_the_cloud_s_file_give_the_same_plan(self):
        self.tacit("split", self.problem, "-o", self.folder / "parts")
        cloud = self.folder / "parts/cloud.tacit"
        self.assertEqual(self.tacit("plan", cloud).stderr, "")
        whole, alone = (json.loads(self.tacit("plan", path, "--json").stdout)["hash"] for path in (self.problem, cloud))
        self.assertEqual(whole, alone)

    def test_what_follows_from_ranges_is_written_for_those_who_cannot_compute_it(self):
        self.problem.write_text(PROBLEM.replace("  gap 9000\n", "").replace("  gap 9\n", ""))
        self.tacit("split", self.problem, "-o", self.folder / "parts")
        cloud, ben = (self.folder / f"parts/{name}.tacit" for name in ("cloud", "agents/ben"))
        for text in cloud.read_text(), ben.read_text():
            self.assertIn("  distance need { l1 5; l2 5 }\n  distance pref { l1 1", text)
            self.assertRegex(text, r"  gap \d")
        whole, alone = (json.loads(self.tacit("plan", path, "--json").stdout)["hash"] for path in (self.problem, cloud))
        self.assertEqual(whole, alone)

    def test_the_parties_files_say_the_ranges_and_each_its_own_data_alone(self):
        self.tacit("split", self.problem, "-o", self.folder / "parts")
        cloud = (self.folder / "parts/cloud.tacit").read_text()
        self.assertIn("  range need in [0, 10 * cap]\n  range pref[2] in [0, [7.4, 8]]\n"
                      "  protect need by 5\n  protect pref by 0.5\n", cloud)
        self.assertIn("  range fee in [0, 2]\n", cloud)
        for secret in "45", "41", "2.5":
            self.assertNotIn(secret, cloud)
        ben = (self.folder / "parts/agents/ben.tacit").read_text()
        self.assertIn("  private column need = 45\n", ben)
        self.assertIn("  range need in [0, 10 * cap]\n  range pref in [0, [7.4, 8]]\n"
                      "  protect need by 5\n  protect pref by 0.5\n", ben)
        self.assertIn("outside of its range [0, 40]: 40 is used", self.tacit("check", self.folder / "parts/agents/ben.tacit").stderr)
        refused = self.tacit("plan", self.folder / "parts/agents/ben.tacit", "--json", code=2)
        self.assertNotRegex(refused.stdout + refused.stderr, r"of ben is \d")
        self.assertEqual(self.tacit("check", self.folder / "parts/agents/anna.tacit").stderr, "")


if __name__ == "__main__":
    unittest.main()
