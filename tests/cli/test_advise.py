"""`tacit advise` as a person or a script meets it: the recommendation, its reasons, exit codes, JSON, and privacy."""
# labels: not-asan not-clang
import json
import math
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
EXAMPLES = SOURCE / "examples"

HOMES = """agents home[i in 1..100] {
  state p[2] in [0, 5]
  private minimize sumsq(p - i / 30)
  gap 100
  slater p = 1
}
constraint feeder[t in 1..2]: sum(home: p[t]) <= 250
privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency agent }
schedule { rounds 1000 }
"""


def tacit(*arguments, **more):
    return subprocess.run([TACIT, *map(str, arguments)], capture_output=True, text=True, timeout=600, **more)


class Advice(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)
        self.homes = self.problem(HOMES)

    def problem(self, text, name="homes.tacit"):
        path = self.here / name
        path.write_text(text)
        return path

    def advice(self, *arguments, code=None):
        done = tacit("advise", *arguments, "--json")
        self.assertEqual(done.stderr, "")
        facts = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if facts["reaches"] else 1)
        if code is not None:
            self.assertEqual(done.returncode, code, facts["recommendation"])
        return facts

    def plan(self, *arguments):
        return json.loads(tacit("plan", *arguments, "--json").stdout)

    def test_a_last_round_is_in_the_price_and_its_move_is_said(self):
        """The doubt is met by a plan with the last round, not far below it; moves are those of the plan."""
        for mechanism in ("laplace", "gaussian"):
            for file, unit, doubt in ((self.homes, "one:0.5", "1%"), (self.homes, "one:0.5", "0.05%"), (EXAMPLES / "num.tacit", "one:0.1", "5%"),
                                      (self.homes, "agent:0.5", "20%")):
                with self.subTest(mechanism=mechanism, file=file.name, unit=unit, doubt=doubt):
                    words = (file, "--mechanism", mechanism, "--adjacency", unit, "--rounds", 500)
                    delta = ("--delta", 1e-6)
                    plain = self.advice(*words, *(delta if mechanism == "gaussian" else ()), "--doubt", doubt, code=0)["recommended"]
                    words = (*words, *delta)
                    took = self.advice(*words, "--doubt", doubt, "--feasible", "always", code=0)["recommended"]
                    plan = self.plan(*words, "--epsilon", took["epsilon"], "--feasible", "always")
                    row = next(r for r in plan["constraints"] if r["name"] == took["constraint"])
                    self.assertEqual(row["doubt"], took["doubt"])
                    tolerable = float(doubt[:-1]) / 100 * abs(row["limit"])
                    self.assertLessEqual(row["doubt"], tolerable)
                    self.assertTrue(row["doubt"] > 0.85 * tolerable or took["epsilon"] == 0.001)
                    self.assertEqual(took["delta"], 1e-6)
                    self.assertEqual(took["last_share"], plan["last_round"]["share"])
                    for move in ("most_move", "usual_move"):
                        self.assertEqual(took[move], plan["method_facts"][move])
                    self.assertLessEqual(plain["epsilon"], took["epsilon"])
                    self.assertNotIn("most_move", plain)

    def test_what_a_last_round_needs_is_refused_by_name(self):
        done = tacit("advise", self.problem(HOMES.replace("  slater p = 1\n", "")), "--feasible", "always")
        self.assertEqual(done.returncode, 2)
        self.assertIn("Slater point", done.stderr)
        text = tacit("advise", EXAMPLES / "num.tacit", "--adjacency", "one:0.1", "--rounds", 500, "--feasible", "always").stdout
        self.assertIn("moves results by about", " ".join(text.split()))
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))

    def test_a_plan_with_what_is_recommended_leaves_a_tolerable_doubt(self):
        for doubt in ("20%", "10%", "30"):
            advice = self.advice(self.homes, "--doubt", doubt, code=0)
            took = advice["recommended"]
            plan = self.plan(self.homes, "--mechanism", took["mechanism"], "--epsilon", took["epsilon"],
                             "--adjacency", took["unit"])
            limit = float(doubt) if doubt.isdigit() else 250 * float(doubt.rstrip("%")) / 100
            worst = max(row["doubt"] for row in plan["constraints"])
            self.assertLessEqual(worst, limit)
            self.assertGreater(worst, 0.85 * limit)  # epsilon is given in two digits
            self.assertAlmostEqual(worst, took["doubt"], delta=1e-9 * worst)

    def test_the_table_is_what_plans_say(self):
        """Doubts at other epsilons follow from one plan: as good as the plan itself, but for rounding to lattices."""
        advice = self.advice(self.homes)
        self.assertEqual(len(advice["table"]), 15)  # one:5 is of Gaussian noise, as the file says
        self.assertEqual({point["unit"] for point in advice["table"]}, {"agent", "one:5"})
        for point in advice["table"][::3]:
            delta = ["--delta", "1e-6"] if point["mechanism"] == "gaussian" else []
            plan = self.plan(self.homes, "--mechanism", point["mechanism"], "--epsilon", point["epsilon"],
                             "--adjacency", point["unit"], *delta)
            row = next(row for row in plan["constraints"] if row["name"] == point["constraint"])
            self.assertAlmostEqual(point["doubt"] / row["doubt"], 1, delta=2e-3)
            self.assertEqual(point["useless"], row["useless"])
            self.assertEqual((point["missing"], row["missing"], point["reached"]), (None, None, True))  # affine
            self.assertEqual(point["reaches"], point["doubt"] <= 12.5)

    def test_what_is_not_the_same_promise_is_not_compared(self):
        """one:B is a total with Laplace noise and a root-sum-square with Gaussian noise."""
        norms = {"laplace": "total", "gaussian": "root-sum-square"}
        each = {"laplace": 5 / 500, "gaussian": 5 / math.sqrt(500)}
        words = ("--adjacency", "one:5", "--rounds", 500)
        bare = self.problem(HOMES[:HOMES.index("privacy")], "bare.tacit")
        for file, asked, laws in ((self.homes, (), ["gaussian"]), (self.homes, ("--mechanism", "laplace"), ["laplace"]),
                                  (bare, (), ["gaussian", "laplace"]), (bare, ("--mechanism", "gaussian", "--delta", 1e-6), ["gaussian"])):
            advice = self.advice(file, *words, *asked)
            self.assertEqual(sorted(u["mechanism"] for u in advice["units"] if u["asked"]), laws)
            self.assertEqual(sorted(r["mechanism"] for r in advice["recommendations"]), laws)
            for one in advice["recommendations"] + [u for u in advice["units"] if u["asked"]]:
                self.assertEqual(one["norm"], norms[one["mechanism"]])
                self.assertAlmostEqual(one["hidden_every_round"], each[one["mechanism"]], delta=1e-12)
            for point in advice["table"]:
                self.assertEqual(point["norm"], norms[point["mechanism"]] if point["unit"] == "one:5" else None)
            for one in advice["recommendations"]:
                alone = self.advice(file, *words, "--mechanism", one["mechanism"],
                                    *(("--delta", 1e-6) if one["mechanism"] == "gaussian" else ()))["recommended"]
                self.assertEqual(one, alone)
            text = " ".join(tacit("advise", file, *words, *asked).stdout.split())
            for law in laws:
                self.assertIn(f"one:5 in {norms[law]} ({each[law]:.3g} a round of a change in all 500)", text)
            self.assertNotIn("times as much.", advice["noise_advice"])
        # where both are one promise, they are compared
        self.assertEqual([r["unit"] for r in self.advice(self.homes)["recommendations"]], ["agent"])
        self.assertIn("times as much.", self.advice(self.homes)["noise_advice"])

    def test_constraints_are_those_of_the_plan(self):
        self.assertEqual(self.advice(self.homes)["constraints"], self.plan(self.homes)["constraints"])
        for key in ("name", "limit", "doubt"):
            self.assertIn(key, self.advice(self.homes)["constraints"][0])

    def test_an_epsilon_is_one_that_must_not_be_exceeded(self):
        needed = self.advice(self.homes, "--doubt", "10%", code=0)["recommended"]["epsilon"]
        self.advice(self.homes, "--doubt", "10%", "--epsilon", needed, code=0)
        advice = self.advice(self.homes, "--doubt", "10%", "--epsilon", 0.9 * needed, code=1)
        self.assertIsNone(advice["recommended"])
        self.assertIn("agents", advice["recommendation"])

    def test_an_agent_entirely_is_recommended_where_it_costs_no_more(self):
        (self.here / "homes.csv").write_text("a\n" + "".join(f"{i / 30}\n" for i in range(1, 101)))
        moved = HOMES.replace("home[i in 1..100]", "home over homes").replace("i / 30", "a")
        for by, unit in ((5, "agent"), (0.1, "data")):
            protected = moved.replace("  slater", f"  range a in [0, 5]\n  protect a by {by}\n  slater")
            file = self.problem(f'data homes = csv "homes.csv"\n{protected}', f"moved_{by}.tacit")
            advice = self.advice(file, "--adjacency", "data", "--doubt", "60%", code=0)
            self.assertEqual((advice["recommended"]["unit"], "promises less" in advice["recommendation"]), (unit, unit == "agent"))
            file_says = self.plan(file, "--adjacency", unit, "--epsilon", str(advice["recommended"]["epsilon"]))
            self.assertLessEqual(max(row["doubt"] for row in file_says["constraints"]), 0.6 * 250)

    def test_as_many_agents_as_it_says_are_enough(self):
        """A hundred homes become as many as advised, and limits grow with them."""
        share = 0.02
        advice = self.advice(self.homes, "--doubt", f"{100 * share}%", "--epsilon", 1, code=1)
        needed = int(advice["agents_advice"]["needed"])
        self.assertGreater(needed, 100)
        grown = HOMES.replace("1..100", f"1..{needed}").replace("250", str(2.5 * needed))
        rows = self.plan(self.problem(grown, "grown.tacit"))["constraints"]
        for row in rows:
            self.assertLessEqual(row["doubt"] / row["limit"], 1.001 * share)
            self.assertGreater(row["doubt"] / row["limit"], 0.99 * share)

    def test_rounds_help_or_do_not(self):
        def power(*arguments):
            return self.advice(self.homes, *arguments)["rounds_advice"]["power"]

        self.assertEqual(power(), 0)
        self.assertEqual(power("--mechanism", "laplace"), 0.5)
        self.assertEqual(power("--adjacency", "one:1"), -0.5)
        self.assertEqual(power("--adjacency", "ensemble:1"), -0.5)

    def test_a_generous_doubt_needs_next_to_no_epsilon(self):
        """At delta, Gaussian noise keeps epsilon 0 if it is large enough: no reason to say that nothing does."""
        for unit in ("one:1", "agent"):
            for law in ("laplace", "gaussian"):
                advice = self.advice(self.homes, "--doubt", "1e9", "--adjacency", unit, "--mechanism", law, code=0)
                self.assertEqual(advice["recommended"]["epsilon"], 0.001)

    def test_a_constraint_by_name(self):
        text = HOMES.replace("privacy", "constraint early: sum(home: p[1]) <= 100\nprivacy")
        path = self.problem(text, "two.tacit")
        self.assertEqual(self.advice(path)["table"][0]["constraint"], "early")
        self.assertEqual(self.advice(path, "--constraint", "feeder[2]")["table"][0]["constraint"], "feeder[2]")
        self.assertIn("feeder", self.advice(path, "--constraint", "feeder")["table"][0]["constraint"])
        done = tacit("advise", path, "--constraint", "feed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no constraint 'feed'", done.stderr)

    def test_the_whole_file_and_the_clouds_say_the_same(self):
        for example in ("ev", "dispatch", "paper"):
            parties = self.here / example
            self.assertEqual(tacit("split", EXAMPLES / f"{example}.tacit", "-o", parties).returncode, 0)
            for form in ((), ("--json",)):
                whole = tacit("advise", EXAMPLES / f"{example}.tacit", *form)
                cloud = tacit("advise", parties / "cloud.tacit", *form)
                self.assertIn(whole.returncode, (0, 1), whole.stderr)
                self.assertEqual((whole.stdout, whole.stderr, whole.returncode),
                                 (cloud.stdout, cloud.stderr, cloud.returncode), example)

    def test_an_answer_is_no_without_privacy_worth_the_name(self):
        """A small B makes any epsilon small: noise that hides next to nothing is not recommended."""
        advice = self.advice(self.homes, "--adjacency", "one:1e-6", "--doubt", "0.05", code=1)
        self.assertIn("next to nothing", advice["recommendation"])

    def test_what_is_wrong_is_said(self):
        bare = self.problem(HOMES[:HOMES.index("privacy")], "bare.tacit")
        for arguments, says in [((bare,), "the unit of privacy"), ((bare, "--adjacency", "one:1"), "rounds"),
                                ((self.homes, "--doubt", "-5%"), "tolerable doubt"),
                                ((self.homes, "--doubt", "much"), "tolerable doubt"),
                                ((self.homes, "--mechanism", "none"), "noise")]:
            done = tacit("advise", *arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(says, done.stderr)
        done = tacit("advise", bare, "--adjacency", "one:5", "--rounds", 500)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def test_text_fits_eighty_columns(self):
        for path in (self.homes, EXAMPLES / "paper.tacit", EXAMPLES / "dispatch.tacit", EXAMPLES / "robots.tacit"):
            for more in ((), ("--adjacency", "agent", "--epsilon", "0.01"), ("--doubt", "0.001%")):
                done = tacit("advise", path, *more)
                widest = max(done.stdout.splitlines(), key=len)
                self.assertLessEqual(len(widest), 80, widest)
                self.assertNotIn("\033", done.stdout)
                self.assertNotIn("e+", done.stdout)


class Colours(unittest.TestCase):
    """Useless rows are red on a terminal, unless NO_COLOR is set."""

    def show(self, **more):
        leader, follower = pty.openpty()
        environment = {**{key: value for key, value in os.environ.items() if key != "NO_COLOR"}, "TERM": "xterm", **more}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "homes.tacit"
            path.write_text(HOMES)
            text = b""
            with subprocess.Popen([TACIT, "plan", str(path), "--epsilon", "0.001"], stdout=follower,
                                  stderr=subprocess.DEVNULL, env=environment) as process:
                os.close(follower)
                while True:
                    try:
                        part = os.read(leader, 65536)
                    except OSError:
                        break
                    if not part:
                        break
                    text += part
            os.close(leader)
        return text.decode()

    def test_on_a_terminal_alone(self):
        shown = self.show()
        self.assertIn("\033[31m", shown)
        line = next(line for line in shown.splitlines() if "\033[31m" in line)
        self.assertIn("useless", line)
        self.assertIn("\033[0m", line)
        for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            shown = self.show(**more)
            self.assertNotIn("\033", shown)
            self.assertIn("useless", shown)


if __name__ == "__main__":
    unittest.main()
