"""tacit audit --end-to-end: two worlds that release the same numbers. What finds what is in tests/audit/mutants.py."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TACIT = pathlib.Path(os.environ["TACIT"])
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"

# A radius that is computed from private data: no cloud can run it.
NO_RADIUS = """agents a[i in 1..3] { state x in [0, 4]; private minimize (x - 1)^2 }
constraint c: sum(a: x) <= 6
privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }
schedule { rounds 100 }
"""


# An equality, whose multiplier is negative, beside an inequality.
DISPATCH = """agents gen[i in 1..6] {
  state p in [0, 10]
  private minimize (0.1 + i / 50) * p^2 + p
  gap 60;  slater p = 5 within 2
}
constraint balance: sum(gen: p) == 30
constraint line: gen[1].p + gen[2].p <= 12
privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }
schedule { alpha 0.1 k^-0.3; gamma 0.05 k^-0.52; rounds 100 }
"""


class EndToEnd(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="tacit-test-")
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)

    def audit(self, file, *options, tacit=TACIT):
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        done = subprocess.run([str(tacit), "audit", str(file), "--samples", "2000", "--seed", "1", *options], text=True,
                              capture_output=True, timeout=1200, env={**os.environ, "TMPDIR": str(temporary)})
        self.assertEqual(list(temporary.iterdir()), [])  # nothing is left behind
        return done

    def audit_json(self, file, *options, **more):
        done = self.audit(file, "--json", *options, **more)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode, json.loads(done.stdout)

    def test_all_that_leaves_the_cloud_is_the_same(self):
        for name, options in (("paper", ()), ("paper", ("--method", "published")), ("num", ("--mechanism", "gaussian", "--delta", "1e-3")),
                              ("robots", ("--mechanism", "laplace")), ("ev", ())):
            with self.subTest(name=name, options=options):
                code, answer = self.audit_json(EXAMPLES / f"{name}.tacit", "--end-to-end", *options)
                found = answer["end_to_end"]
                self.assertEqual((found["equal"], found["differs_in"], found["untested"]), (True, [], None))
                self.assertGreater(found["bytes"], 40000)
                self.assertEqual(answer["points"][-1], {"name": "end to end", "verdict": "not_refuted", "why": None})
                self.assertEqual((code, answer["refuted"]), (0 if answer["verdict"] == "not_refuted" else 1, False))

    def test_so_it_is_with_equalities(self):
        file = self.folder / "dispatch.tacit"
        file.write_text(DISPATCH)
        for options in (("--method", "tacit"), ("--method", "published"), ("--margin", "auto")):
            with self.subTest(options=options):
                code, answer = self.audit_json(file, "--end-to-end", *options)
                found = answer["end_to_end"]
                self.assertEqual((found["equal"], found["differs_in"], found["untested"]), (True, [], None))
                self.assertEqual((code, answer["verdict"]), (0, "not_refuted"))

    def test_what_is_not_compared_is_said(self):
        done = self.audit(EXAMPLES / "num.tacit", "--end-to-end")
        text = " ".join(done.stdout.split())
        self.assertEqual(done.returncode, 0, text)
        self.assertIn("Not compared:", text)
        for words in ("times:", "ids that are new", "the MAC of a round's input", "to the agent that differs, and to it alone"):
            self.assertIn(words, text)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)

    def test_without_the_option_nothing_of_it_is_there(self):
        _, answer = self.audit_json(EXAMPLES / "num.tacit")
        self.assertNotIn("end_to_end", answer)

    def test_the_clouds_own_file_does(self):
        subprocess.run([str(TACIT), "split", str(EXAMPLES / "num.tacit"), "-o", str(self.folder / "parts")], check=True,
                       capture_output=True)
        code, answer = self.audit_json(self.folder / "parts" / "cloud.tacit", "--end-to-end")
        self.assertEqual((code, answer["end_to_end"]["equal"], answer["verdict"]), (0, True, "not_refuted"))

    def test_what_cannot_be_run_is_inconclusive(self):
        file = self.folder / "problem.tacit"
        file.write_text(NO_RADIUS)
        code, answer = self.audit_json(file, "--end-to-end")
        self.assertEqual((code, answer["verdict"], answer["refuted"]), (1, "inconclusive", False))
        self.assertEqual((answer["end_to_end"]["equal"], answer["end_to_end"]["differs_in"]), (None, []))
        self.assertIn("cannot be split", answer["end_to_end"]["untested"])

    def test_a_command_without_its_other_program_says_so(self):
        alone = self.folder / "tacit"
        shutil.copy(TACIT, alone)
        code, answer = self.audit_json(EXAMPLES / "num.tacit", "--end-to-end", tacit=alone)
        self.assertEqual((code, answer["verdict"]), (1, "inconclusive"))
        self.assertIn("is neither beside tacit nor in", answer["inconclusive_because"])

    def test_the_other_program_does_nothing_by_itself(self):
        for words in ([], ["serve", str(EXAMPLES / "num.tacit")], ["run", str(EXAMPLES / "num.tacit")]):
            done = subprocess.run([str(TACIT.parent / "tacit-end-to-end"), *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("tacit audit --end-to-end", done.stderr)


if __name__ == "__main__":
    unittest.main()
