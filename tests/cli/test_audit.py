"""tacit audit: exit codes, JSON, and what it finds in problem files. Seeds are fixed; with other seeds an honest plan
would be refuted with a probability below 1e-6."""
# labels: not-asan not-clang
import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import unittest

TACIT = os.environ.get("TACIT", "build/dev/tacit")
EXAMPLES = pathlib.Path(os.environ.get("TACIT_SOURCE_DIR", ".")) / "examples"

# K^g_1 is 20, since one coordinate moves one row by at most 2 * 10
SQUARES = """agents a[i in 1..3] { state x[2] in [-10, 10]; private minimize x[1] }
constraint c: sum(a: sumsq(x)) <= 100
declare lipschitz constraints { l1 %s; l2 50 }
declare lipschitz jacobian a { l1 2; l2 2 }
privacy { mechanism laplace; epsilon ln(2); adjacency ensemble 1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 1000 }
"""


def audit(file, *options):
    done = subprocess.run([TACIT, "audit", str(file), "--seed", "1", *options], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def audit_json(file, *options):
    code, out, err = audit(file, "--json", *options)
    assert code in (0, 1), err
    return code, json.loads(out)


def system(answer, name):
    return next(s for s in answer["systems"] if s["name"] == name)


class Audit(unittest.TestCase):
    def declared(self, constant, *options):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "squares.tacit"
            file.write_text(SQUARES % constant)
            return audit_json(file, "--calibration", "published", "--constants", "declared", *options)

    def test_plans_for_all_examples_are_not_refuted(self):
        for name in ("paper", "num", "robots"):
            for options in ((), ("--placement", "outputs", "--method", "published"), ("--mechanism", "laplace"), ("--adjacency", "agent")):
                code, answer = audit_json(EXAMPLES / f"{name}.tacit", "--samples", "20000", *options)
                few = any("too few samples to refute" in note for note in answer["notes"])  # robots: 200,000 needed
                points = {point["name"]: point["verdict"] for point in answer["points"]}
                beyond = "agent" in options  # the price of a run does not show in samples of a round
                self.assertEqual(points.pop("samples"), "inconclusive" if few or beyond else "not_refuted")
                self.assertEqual(set(points), {"price", "noise", "independence", "first round"})
                self.assertEqual(set(points.values()), {"not_refuted"}, (name, options))
                self.assertEqual((answer["refuted"], answer["faults"]), (False, []), (name, options))
                self.assertEqual((code, answer["verdict"]), (1, "inconclusive") if few else (0, "not_refuted"))
                self.assertFalse(few and name != "robots", (name, options))
                for s in answer["systems"]:
                    self.assertLessEqual(s["lower_bound"], s["claimed_epsilon"])
                    self.assertLessEqual(s["exact_epsilon"], s["claimed_epsilon"] * (1 + 1e-9))
                    self.assertGreater(s["exact_epsilon"], 0.75 * s["claimed_epsilon"])
                    self.assertEqual(s["samples"], 20000)

    def test_by_default_each_point_of_each_example_is_decided_or_named_at_the_start(self):
        for name in ("paper", "num", "robots", "dispatch", "lasso", "ev"):
            code, out, err = audit(EXAMPLES / f"{name}.tacit", "--json")
            points = {point["name"]: point["verdict"] for point in json.loads(out)["points"]}
            is_open = name == "ev"  # the price of one round is small in the unit data
            self.assertEqual(points.pop("samples"), "inconclusive" if is_open else "not_refuted", name)
            self.assertEqual(set(points.values()), {"not_refuted"}, name)
            self.assertEqual((code, "no number of samples of one round" in err), (0, is_open), (name, err))

    def test_what_samples_leave_open_is_said_before_the_first(self):
        code, out, err = audit(EXAMPLES / "robots.tacit", "--samples", "1000")
        first = err.splitlines()[0]
        self.assertRegex(first, r"everything: 1000 samples of each input cannot show half the noise by its price; --samples \d{6} would")
        self.assertEqual((code, out.startswith("INCONCLUSIVE")), (1, True))

    def test_a_large_problem_stops_in_time(self):
        _, answer = audit_json(EXAMPLES / "ev.tacit", "--seconds", "3", "--samples", "1000000000")
        self.assertFalse(answer["refuted"])  # how much was seen until then is the machine's affair
        self.assertTrue(any("time ended" in note or "no sample was taken" in note for note in answer["notes"]), answer)
        self.assertLess(answer["systems"][0]["samples"], 1000000000)

    def test_the_published_scheme_with_certified_constants_passes(self):
        code, answer = audit_json(EXAMPLES / "paper.tacit", "--calibration", "published", "--samples", "10000")
        self.assertEqual((code, answer["refuted"]), (0, False))
        self.assertGreater(system(answer, "g")["lower_bound"], 0.2)

    def test_the_published_constant_of_agent_4_is_refuted_and_no_other(self):
        code, answer = audit_json(EXAMPLES / "paper.tacit", "--calibration", "published", "--constants", "declared",
                                  "--samples", "8000")
        self.assertEqual((code, answer["refuted"]), (1, True))
        self.assertEqual([s["name"] for s in answer["systems"] if s["refuted"]], ["J[a4]"])
        self.assertEqual(answer["faults"], [])

    def test_a_declared_constant_at_half_its_value_is_refuted(self):
        code, answer = self.declared("10", "--samples", "5000")
        self.assertEqual((code, answer["refuted"]), (1, True))
        found = system(answer, "g")
        self.assertTrue(found["refuted"])
        self.assertGreater(found["lower_bound"], found["claimed_epsilon"])

    def test_the_same_constant_at_its_true_value_passes(self):
        code, answer = self.declared("20", "--samples", "5000")
        self.assertEqual((code, answer["refuted"]), (0, False))

    def test_text_says_what_an_audit_is_not(self):
        code, out, _ = audit(EXAMPLES / "paper.tacit")
        self.assertEqual(code, 0)
        self.assertIn("Not refuted", out)
        self.assertIn("never prove it", out)
        self.assertIn("0.999999", out)

    def test_wrong_use(self):
        self.assertEqual(audit(EXAMPLES / "paper.tacit", "--samples", "3")[0], 2)
        self.assertEqual(audit("nowhere.tacit")[0], 2)
        code, out, err = audit(EXAMPLES / "paper.tacit", "--coalition", "a1,a2")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("there is no option --coalition", err)
        self.assertNotIn("--coalition", subprocess.run([TACIT, "audit", "--help"], capture_output=True, text=True).stdout)

    def written(self, text):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        file = pathlib.Path(directory.name) / "problem.tacit"
        file.write_text(text)
        return file

    def test_a_seeded_audit_says_that_it_is_a_simulation(self):
        _, out, _ = audit(EXAMPLES / "paper.tacit", "--samples", "500")
        self.assertIn("NOT PRIVATE", out)
        self.assertIn("simulation", " ".join(out.split()))
        _, answer = audit_json(EXAMPLES / "paper.tacit", "--samples", "500")
        self.assertIs(answer["private"], False)
        self.assertIn("seed", answer["not_private_because"])

    def test_without_a_seed_a_private_plan_stays_private(self):
        command = [TACIT, "audit", str(EXAMPLES / "paper.tacit"), "--samples", "100"]
        text = subprocess.run(command, capture_output=True, text=True)
        answer = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True).stdout)
        self.assertNotIn("NOT PRIVATE", text.stdout)
        self.assertEqual((answer["private"], answer["not_private_because"]), (True, None))

    def test_constraints_that_are_not_convex_are_noted_and_do_not_matter(self):
        file = self.written(SQUARES % 20 + "constraint d: a[1].x[1] * a[2].x[1] <= 3\n")
        code, answer = audit_json(file, "--samples", "4000")
        self.assertEqual((code, answer["refuted"]), (0, False))
        self.assertTrue(any("convex" in note for note in answer["notes"]))

    def test_lines_are_at_most_80_columns_wide(self):
        long = "an_agent_with_a_name_that_leaves_hardly_any_room_on_a_line"
        file = self.written(SQUARES.replace("agents a", f"agents {long}").replace("sum(a", f"sum({long}")
                            .replace("jacobian a", f"jacobian {long}") % 20)
        for options in (("--mechanism", "gaussian", "--delta", "0.01"), ("--adjacency", "agent")):
            _, out, _ = audit(file, "--samples", "500", *options)
            self.assertIn("inputs: " + long, " ".join(out.split()))
            self.assertLessEqual(max(map(len, out.splitlines())), 80, out)

    def test_an_audit_without_samples_is_inconclusive(self):
        file = self.written("""agents home[i in 1..300000] { state p[4] in [0, 7.4]; private minimize sumsq(p) }
constraint feeder[t in 1..4]: sum(home: p[t]) <= 900000
privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency agent }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 1000 }
""")
        done = subprocess.run([TACIT, "audit", str(file), "--seconds", "0.1", "--json"], capture_output=True, text=True)
        answer = json.loads(done.stdout)
        self.assertEqual((done.returncode, answer["verdict"], answer["refuted"]), (1, "inconclusive", False))
        self.assertIn("inconclusive", done.stderr)
        self.assertFalse(any("no two adjacent" in note for note in answer["notes"]))
        self.assertFalse(answer["interrupted"])

    def test_ten_samples_are_inconclusive(self):
        code, answer = audit_json(EXAMPLES / "paper.tacit", "--samples", "10")
        self.assertEqual((code, answer["verdict"]), (1, "inconclusive"))
        self.assertIn("too few samples", answer["inconclusive_because"])
        code, out, err = audit(EXAMPLES / "paper.tacit", "--samples", "10")
        self.assertEqual(code, 1)
        self.assertTrue(out.startswith("INCONCLUSIVE"))
        self.assertIn("inconclusive", err)

    def test_the_note_on_too_few_samples_says_how_many_refute_half_the_noise(self):
        _, few = self.declared("20", "--samples", "300")
        note = next(note for note in few["notes"] if note.startswith("g: too few samples"))
        needed = int(note.split("at least ")[1].split()[0])
        self.assertIn(needed, range(500, 3000))
        self.assertEqual((few["verdict"], few["refuted"]), ("inconclusive", False))
        most = max(int(note.split("at least ")[1].split()[0]) for note in few["notes"] if "too few samples" in note)
        self.assertIn(f"at least {most} needed of each input", few["inconclusive_because"])
        self.assertIn(f"(--samples {most})", few["inconclusive_because"])
        for samples in (most - 1, most, most + 1, most + 2, most + 3):
            verdict = self.declared("20", "--samples", str(samples))[1]["verdict"]
            self.assertEqual(verdict, "inconclusive" if samples < most else "not_refuted", samples)
        _, enough = self.declared("20", "--samples", str(2 * needed))
        self.assertEqual(enough["verdict"], "not_refuted")
        self.assertFalse(any(note.startswith("g: too few") for note in enough["notes"]))
        _, halved = self.declared("10", "--samples", str(2 * needed))
        self.assertTrue(system(halved, "g")["refuted"])

    def test_too_few_samples_for_half_the_noise_are_inconclusive_where_it_takes_millions(self):
        file = self.written(SQUARES.replace("ln(2)", "0.01") % 20)
        code, answer = audit_json(file)
        self.assertEqual((code, answer["verdict"], answer["refuted"]), (1, "inconclusive", False))
        self.assertTrue(any("too few samples to refute even half" in note for note in answer["notes"]))
        self.assertEqual([s["samples"] for s in answer["systems"]], [20000] * len(answer["systems"]))
        code, out, err = audit(file)
        self.assertEqual(code, 1)
        self.assertTrue(out.startswith("INCONCLUSIVE: too few samples"), out)
        self.assertIn("inconclusive: too few samples", err)
        self.assertIn(" 20000\n", out)
        self.assertNotIn("40000", out)

    def interrupted(self, file, *options):
        command = [TACIT, "audit", str(file), "--seed", "1", "--samples", "1000000000", *options]
        ours, theirs = pty.openpty()  # progress is shown on a terminal alone
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
        os.close(theirs)
        shown = b""
        while b"sampling" not in shown:
            shown = shown[-100:] + os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=1200)
        os.close(ours)
        return process.returncode, out

    def test_an_interrupted_audit_has_no_verdict(self):
        code, out = self.interrupted(EXAMPLES / "paper.tacit", "--json")
        answer = json.loads(out)
        self.assertEqual((code, answer["interrupted"], answer["verdict"]), (3, True, "inconclusive"))
        code, out = self.interrupted(EXAMPLES / "paper.tacit")
        self.assertEqual(code, 3)
        self.assertTrue(out.startswith("INCONCLUSIVE: it was interrupted"), out)

    def test_an_interrupt_does_not_undo_a_refutation(self):
        file = self.written(SQUARES % 10)
        code, out = self.interrupted(file, "--json", "--calibration", "published", "--constants", "declared")
        answer = json.loads(out)
        self.assertEqual((code, answer["interrupted"], answer["verdict"]), (3, True, "refuted"))

    def test_a_plan_without_noise_promises_nothing(self):
        code, out, err = audit(EXAMPLES / "paper.tacit", "--mechanism", "none")
        self.assertEqual(code, 1)
        self.assertIn("nothing is promised", err)
        self.assertTrue(out.startswith("INCONCLUSIVE"))
        code, answer = audit_json(EXAMPLES / "paper.tacit", "--mechanism", "none")
        self.assertEqual((code, answer["verdict"], answer["private"]), (1, "inconclusive", False))
        self.assertIn("nothing is promised", answer["inconclusive_because"])

    def test_a_declared_constant_of_zero_is_refuted_by_name(self):
        file = self.written((SQUARES % 20).replace("jacobian a { l1 2; l2 2 }", "jacobian a { l1 0; l2 0 }"))
        published = ("--calibration", "published", "--constants", "declared")
        code, answer = audit_json(file, *published)
        self.assertEqual((code, answer["verdict"]), (1, "refuted"))
        self.assertEqual([fault["kind"] for fault in answer["faults"]], ["support"])
        self.assertIn("slope of c for a", answer["faults"][0]["text"])
        code, out, _ = audit(file, *published)
        self.assertEqual(code, 1)
        self.assertTrue(out.startswith("REFUTED"))
        self.assertIn("slope of c for a would be released without noise", " ".join(out.split()))

    def test_a_seed_repeats_an_audit(self):
        first, second = (audit_json(EXAMPLES / "num.tacit", "--samples", "1000")[1] for _ in range(2))
        self.assertEqual(first["systems"], second["systems"])


if __name__ == "__main__":
    unittest.main()
