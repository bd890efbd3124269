"""The card names every private datum that no `protect` names, and says all of what is protected."""
# labels: not-asan not-clang
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TACIT = os.environ["TACIT"]

WISHES = [f"wish_of_{chr(97 + k // 26)}{chr(97 + k % 26)}" for k in range(30)]
DATA = ["need", "weight", "want", "idle", *WISHES]
PROBLEM = f"""data homes = csv "homes.csv" public cap
private param rate = 0.1
private param twice = 2 * rate
agents home over homes {{
  state p[2] in [0, cap]
  private param extra = 0.5
  private param both = extra + need + twice
  private minimize weight * sumsq(p - want) + (both + {" + ".join(WISHES)}) * p[1]
  private set sum(p) >= need
  range need in [0, 5], want in [0, 7], weight in [0.5, 2]
  protect need by 1
  gap 900; slater p = 3
}}
agent shop {{ state q in [0, 3]; private param fee = 2; private minimize fee * q^2 + rate * q; gap 90; slater q = 1 }}
constraint c: sum(home: p[1]) + shop.q <= 80
privacy {{ mechanism gaussian; epsilon 1; delta 1e-6; adjacency data }}
schedule {{ rounds 100 }}
"""
OPEN = [f"home.{name}" for name in ("weight", "want", *WISHES, "extra")] + ["shop.fee", "rate"]


class NotHidden(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        (self.folder / "homes.csv").write_text(
            ",".join(["cap", *DATA]) + "\n" + 12 * (",".join(["7", "3", "1", "2", "9", *("0.1" for _ in WISHES)]) + "\n"))
        self.write(PROBLEM)

    def write(self, text):
        (self.folder / "p.tacit").write_text(text)

    def tacit(self, *arguments):
        done = subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=600, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def card(self, *arguments):
        return json.loads(self.tacit("plan", *arguments, "--json").stdout)["card"]

    def test_the_whole_card_and_the_short_one_name_all(self):
        for text in (self.tacit("plan", "p.tacit").stdout, self.tacit("run", "p.tacit", "--no-reference").stdout):
            card = text[text.index("GUARANTEE"):]
            at = card.index("that no 'protect' names")
            self.assertTrue(all(len(line) <= 80 for line in card.splitlines()))
            said = " ".join(card[at:].split())
            for name in OPEN:
                self.assertRegex(said, rf"[ (]{name}, ")
            for name in "idle", "cap", "twice", "both", "home.need":
                self.assertNotRegex(said, rf"\b{name}, ")
            self.assertNotRegex(card, r"\d more\b")

    def test_scripts_find_the_names_the_claim_and_the_share(self):
        card = self.card("p.tacit")
        self.assertEqual(sorted(card["not_hidden"]), sorted(OPEN))
        self.assertEqual(card["claim"], "C")
        self.assertAlmostEqual(card["hidden_share"], 0.2, 2)  # epsilon 1: 1 of a range of 5
        self.assertAlmostEqual(self.card("p.tacit", "--epsilon", "0.5")["hidden_share"], 0.4, 1)
        self.assertEqual(self.card("p.tacit", "--adjacency", "agent:2")["claim"], "C")
        self.assertNotIn("not_hidden", self.card("p.tacit", "--adjacency", "agent"))

    def test_the_cloud_s_file_names_what_it_knows_and_says_that_there_is_more(self):
        self.tacit("split", "p.tacit", "-o", "parts")
        card = self.card("parts/cloud.tacit")
        self.assertEqual(card["not_hidden"], ["home.want", "home.weight"])
        self.assertIn("and what else stands in private lines", card["does_not_hide"][0])

    def test_all_that_is_protected_is_said(self):
        ranges = "range " + ", ".join(f"{name} in [0, 1]" for name in WISHES)
        self.write(PROBLEM.replace("  gap 900", f"  {ranges}\n  protect " + ", ".join(f"{name} by 0.5" for name in WISHES) +
                                   "\n  gap 900"))
        for text in (self.tacit("plan", "p.tacit").stdout, self.tacit("run", "p.tacit", "--no-reference").stdout):
            hides = " ".join(text[text.index("Hides"):text.index("Does not hide")].split())
            for name in WISHES:
                self.assertIn(f"home.{name} by 0.5", hides)
            self.assertNotRegex(hides, r"\d more\b")


if __name__ == "__main__":
    unittest.main(verbosity=2)
