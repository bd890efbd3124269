"""`tacit plan` as a person or a script meets it: promises, prices, refusals, and that private data change nothing."""
# labels: not-asan not-clang
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
EXAMPLES = sorted((SOURCE / "examples").glob("*.tacit"))
PAPER = str(SOURCE / "examples/paper.tacit")
EV = str(SOURCE / "examples/ev.tacit")
NUM = str(SOURCE / "examples/num.tacit")
LN2 = math.log(2)

PAIR = """agent left {
  state x in [0, 4]
  private minimize (x - 3)^2
}
agent right {
  state x in [0, 4]
  private minimize (x - 3)^2
}
constraint shared: left.x + right.x <= 4
dual radius 10
"""


def tacit(*arguments, **options):
    return subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=1200, **options)


def plan(*arguments, code=0):
    done = tacit("plan", *arguments, "--json")
    if code is not None and done.returncode != code:
        raise AssertionError(f"exit code {done.returncode} of {arguments}: {done.stderr}{done.stdout[:500]}")
    return json.loads(done.stdout)


def observer(facts, who):
    return next(o for o in facts["observers"] if o["who"] == who)


class Written(unittest.TestCase):
    """Problems written for one test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.here = pathlib.Path(self.folder.name)

    def problem(self, text, name="problem.tacit"):
        path = self.here / name
        path.write_text(text)
        return str(path)


class Published(unittest.TestCase):
    """Figures of the paper's Tables II and III."""

    def systems(self, *arguments):
        facts = plan(PAPER, "--calibration", "published", "--constants", "declared", *arguments, code=1)
        return facts, {s["name"]: s for s in facts["systems"]}

    def test_laplace_gives_table_two(self):
        facts, systems = self.systems("--mechanism", "laplace")
        self.assertEqual(f"{systems['g']['scale']:.4g}", "57.45")
        self.assertEqual(f"{systems['g']['variance']:.4g}", f"{6600.6:.4g}")
        for agent in range(1, 11):
            expected = "66.6" if agent in (1, 6, 8) else "16.65"
            self.assertEqual(f"{systems[f'J[a{agent}]']['variance']:.4g}", expected)
            self.assertEqual(systems[f"J[a{agent}]"]["entries"], 12)
        self.assertIs(facts["private"], False)

    def test_a_day_is_priced_where_its_rounds_are_known(self):
        whole = plan(PAPER)["prices"]
        day = plan(PAPER, "--rounds-per-day", "1440")["prices"]
        self.assertFalse([p for p in whole if p["what"].endswith("a day")])
        (priced,) = [p for p in day if p["what"].endswith("a day")]
        (run,) = [p for p in day if "the whole run" in p["what"]]
        self.assertAlmostEqual(priced["epsilon"] / run["epsilon"], 1440 / 100000, places=9)

    def test_gaussian_gives_table_three(self):
        plan, systems = self.systems("--mechanism", "gaussian")  # the delta of the file
        self.assertAlmostEqual(plan["kappa"], 3.559, places=3)
        self.assertEqual(f"{systems['g']['variance']:.4g}", "4.073e+04")
        self.assertEqual(f"{systems['J[a1]']['variance']:.4g}", "101.3")
        self.assertEqual(f"{systems['J[a2]']['variance']:.4g}", "50.66")
        kappa = systems["g"]["scale"] / 56.71
        self.assertEqual(f"{kappa:.4g}", "3.559")

    def test_with_certified_constants_an_agent_pays_ln_2_and_an_eavesdropper_twice(self):
        facts = plan(PAPER, "--calibration", "published", "--mechanism", "laplace")
        self.assertIs(facts["private"], True)
        for agent in range(1, 11):
            price = observer(facts, f"a{agent}")["epsilon"] / LN2
            self.assertGreaterEqual(price, 0.999)
            self.assertLessEqual(price, 1.0005)
        self.assertAlmostEqual(observer(facts, "eavesdropper")["epsilon"] / LN2, 2, 3)

    def test_the_declared_constants_that_are_too_small_are_named(self):
        done = tacit("plan", PAPER, "--calibration", "published", "--constants", "declared")
        self.assertEqual(done.returncode, 1)
        self.assertIn("GUARANTEE: NOT PRIVATE", done.stdout)
        self.assertIn("39.82", done.stdout)
        self.assertIn("J[a4]", done.stdout)


class Promises(Written):
    def test_the_keys_of_the_contract_are_there(self):
        for example in EXAMPLES:
            facts = plan(str(example))
            for key in ("mechanism", "calibration", "systems", "observers", "unit", "placement", "private", "card"):
                self.assertIn(key, facts)
            for system in facts["systems"]:
                self.assertLessEqual({"name", "sensitivity", "scale", "variance", "entries"}, set(system))
            for one in facts["observers"]:
                self.assertLessEqual({"who", "about", "epsilon", "delta"}, set(one))
            self.assertIs(facts["private"], True)
            self.assertNotIn("ledger", facts)

    def test_nobody_pays_more_than_the_tight_promise(self):
        for example in EXAMPLES:
            for mechanism in ("laplace", "gaussian"):
                for unit in ("ensemble:0.5", "one:0.5", "agent"):
                    facts = plan(str(example), "--mechanism", mechanism, "--epsilon", "ln(2)", "--adjacency", unit,
                                 "--rounds", "100", *(("--delta", "1e-6") if mechanism == "gaussian" else ()))
                    for one in facts["observers"]:
                        self.assertLessEqual(one["epsilon"], LN2 * (1 + 1e-9), (example, mechanism, unit, one))
                        self.assertLessEqual(one["delta"], 0 if mechanism == "laplace" else 1e-6)
                    self.assertEqual(facts["card"]["unit"], unit)
                    self.assertEqual(facts["card"]["claim"], "B" if unit == "agent" else "A")

    def test_a_bare_number_is_one_agent_or_in_the_published_scheme_all_of_them(self):
        self.assertEqual(plan(PAPER, "--adjacency", "2")["card"]["unit"], "one:2")
        self.assertEqual(plan(PAPER, "--adjacency", "2", "--calibration", "published")["card"]["unit"], "ensemble:2")

    def test_the_card_of_the_plan_agrees_with_the_plan(self):
        for example in EXAMPLES:
            facts = plan(str(example))
            card = facts["card"]
            for key in ("mechanism", "calibration", "placement", "private", "rounds", "epsilon", "delta", "warnings"):
                self.assertEqual(card[key], facts[key], key)
            worst = max(o["epsilon"] for o in facts["observers"])
            self.assertEqual(max(o["epsilon"] for o in card["observers"]), worst)
            told = " ".join(card["does_not_hide"])
            if card["claim"] == "A":
                self.assertIn("is NOT hidden", told)
            # With the unit data the answer is proved to be yes.
            answers = "slater" in example.read_text() and card["unit"] != "data"
            self.assertEqual("see who says no" in told, answers, example)

    def test_epsilon_may_be_a_logarithm(self):
        self.assertEqual(plan(PAPER, "--epsilon", "ln(2)")["epsilon"], LN2)
        self.assertEqual(plan(PAPER, "--epsilon", "ln(2)"), plan(PAPER))

    def test_coalitions_are_priced(self):
        facts = plan(PAPER, "--method", "published", "--placement", "outputs", "--adjacency", "one:1", "--coalition",
                     "a1,a2", "--coalition", "a3,a4,a5")
        together = [o for o in facts["observers"] if " + " in o["who"]]
        self.assertEqual([o["who"] for o in together], ["a1 + a2", "a3 + a4 + a5"])
        everything = observer(facts, "eavesdropper")["epsilon"]
        for one in together:
            self.assertLessEqual(one["epsilon"], everything * (1 + 1e-12))
        self.assertLessEqual(observer(facts, "a1")["epsilon"], together[0]["epsilon"] * (1 + 1e-12))
        self.assertEqual([o["who"] for o in facts["card"]["observers"] if " + " in o["who"]], ["a1 + a2", "a3 + a4 + a5"])

    def test_a_seed_and_no_mechanism_are_not_private(self):
        for arguments in (("--seed", "1"), ("--mechanism", "none")):
            facts = plan(PAPER, *arguments, code=1)
            self.assertIs(facts["private"], False)
            self.assertIs(facts["card"]["private"], False)
            self.assertTrue(facts["card"]["void_reasons"])
            done = tacit("plan", PAPER, *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertIn("GUARANTEE: NOT PRIVATE", done.stdout)

    def test_a_large_delta_is_warned_of(self):
        facts = plan(EV, "--delta", "0.01", code=1)  # in name only
        self.assertTrue(any("delta" in w for w in facts["card"]["warnings"]))
        self.assertGreaterEqual(len(facts["card"]["warnings"]), 2, "large, and not below 1/N")
        self.assertEqual(plan(EV, "--delta", "1e-7")["card"]["warnings"], [])
        # the words of a warning are in the hash of old plans, and those stay
        asked = plan(NUM, "--mechanism", "gaussian", "--epsilon", "1", "--delta", "1e-4", "--rounds", "500", code=1)
        self.assertIn("delta 0.0001 is large: any event may be as much more probable, beyond the factor e^epsilon", asked["warnings"][0])
        self.assertEqual(asked["hash"], "d8f15a6a67ca988f3349e8a66e3357572fd3816a6340ed69fd2c8e2f03c81433")

    def test_one_b_is_a_total_with_laplace_and_a_root_sum_square_with_gaussian_noise(self):
        """Two promises under one name: each is said with its norm, and with what it hides of a change in all rounds."""
        for unit, who in (("one:1", "one agent"), ("ensemble:1", "all agents")):
            for law, norm, each in (("laplace", "total", 1 / 500), ("gaussian", "root-sum-square", 1 / math.sqrt(500))):
                asked = (NUM, "--mechanism", law, "--epsilon", "1", "--adjacency", unit, "--rounds", "500",
                         *(("--delta", "1e-6") if law == "gaussian" else ()))
                facts = json.loads(tacit("plan", *asked, "--json").stdout)
                for told in (facts, facts["card"]):
                    self.assertEqual((told["unit"], told["norm"]), (unit, norm))
                    self.assertAlmostEqual(told["hidden_every_round"], each, delta=1e-12)
                self.assertIn(f"unit {unit} in {norm}, epsilon 1", facts["card"]["headline"])
                text = " ".join(tacit("plan", *asked).stdout.split())
                self.assertIn(f"hides messages of {who}, by 1 in {norm} over the run; of a change that persists in all 500 "
                              f"rounds, {each:.3g} a round", text)
                ran = " ".join(tacit("run", *asked, "--no-reference").stdout.split())
                self.assertIn(f"unit {unit} in {norm}, epsilon 1", ran)
        self.assertEqual({plan(EV, "--adjacency", "agent", *law)["norm"] for law in ((), ("--mechanism", "laplace"))}, {None})

    def test_within_d_has_a_norm_where_agents_have_several_states(self):
        """A round's states together: D in total is less than D in root-sum-square. One state has but one size."""
        for law, norm in (("laplace", "total"), ("gaussian", "root-sum-square")):
            facts = plan(EV, "--adjacency", "agent:5", "--mechanism", law, "--rounds", "500", code=None)
            self.assertEqual((facts["norm"], facts["hidden_every_round"]), (norm, 5))
            self.assertIn(f"unit agent:5 in {norm} each round, epsilon 1", facts["card"]["headline"])
            single = json.loads(tacit("plan", NUM, "--adjacency", "agent:5", "--mechanism", law, "--rounds", "500", "--epsilon", "1",
                                      *(("--delta", "1e-6") if law == "gaussian" else ()), "--json").stdout)
            self.assertIsNone(single["norm"])

    def test_a_change_that_persists_and_is_below_the_step_of_messages_is_not_hidden(self):
        text = " ".join(tacit("plan", EV, "--adjacency", "one:1e-3", "--mechanism", "laplace", "--rounds", "100000").stdout.split())
        self.assertRegex(text, r"no change that persists in all 100000 rounds: messages are multiples of \S+, more than \S+ a round")

    def test_published_prices_are_told_for_one_system_and_for_all(self):
        facts = plan(PAPER, "--calibration", "published")
        everything = observer(facts, "eavesdropper")["epsilon"]
        self.assertGreater(everything, 1.9 * LN2)
        self.assertEqual(facts["card"]["epsilon_is_for"], "each system")
        self.assertEqual(facts["card"]["epsilon_of_everything"], everything)
        text = " ".join(tacit("plan", PAPER, "--calibration", "published").stdout.split())
        self.assertIn("epsilon 0.6932 for each system; 1.387 for whoever sees all", text)
        self.assertIn("any ONE released system", text)
        card = plan(PAPER)["card"]
        self.assertEqual(card["epsilon_is_for"], "everything")
        self.assertAlmostEqual(card["epsilon_of_everything"], LN2, 12)

    def assert_word(self, word, *arguments):
        """Exit code, JSON and headline agree; word: private, in name only or NOT PRIVATE."""
        facts = plan(*arguments, code=0 if word == "private" else 1)
        self.assertEqual((facts["private"], facts["card"]["private"], facts["card"]["in_name_only"]),
                         (word == "private", word == "private", word == "in name only"), arguments)
        done = tacit("plan", *arguments)
        claim = "one agent entirely" if facts["card"]["claim"] == "B" else "messages only"
        head = {"private": f"private: {claim}, unit", "in name only": f"private in name only ({claim}), unit",
                "NOT PRIVATE": "NOT PRIVATE"}[word]
        self.assertIn(f"GUARANTEE: {head}", done.stdout)
        return facts

    def test_a_weak_promise_is_private_in_name_only(self):
        for arguments in (("--epsilon", "700"), ("--mechanism", "gaussian", "--delta", "0.9"), ("--epsilon", "10"),
                          ("--epsilon", "6", "--calibration", "published"), ("--epsilon", "300", "--mechanism", "gaussian",
                                                                             "--delta", "0.99")):
            facts = self.assert_word("in name only", PAPER, *arguments)
            self.assertTrue(facts["warnings"])
            self.assertIn("in_name_only_because", facts["card"])
        self.assertEqual(plan(PAPER, "--epsilon", "10", code=1)["warnings"], ["epsilon 10 promises next to nothing"])
        self.assert_word("private", PAPER)
        self.assert_word("private", EV, "--adjacency", "agent")
        self.assert_word("in name only", EV, "--adjacency", "agent", "--epsilon", "10.5", "--delta", "1e-6")

    def test_one_noise_has_one_word_however_b_and_epsilon_are_chosen(self):
        num = str(SOURCE / "examples/num.tacit")
        for file in (PAPER, num):
            for scale, word in ((1e-9, "in name only"), (0.02, "in name only"), (1, "private")):
                for bound in (1e-9, 0.1, 1):
                    arguments = ("--adjacency", f"one:{bound}", "--epsilon", repr(bound / scale))
                    if bound / scale > 1e12 or bound / scale < 1e-8:
                        continue
                    facts = self.assert_word(word, file, *arguments)
                    share = facts["card"]["hidden_share"]
                    self.assertAlmostEqual(share / scale, plan(file, "--adjacency", "one:1", "--epsilon", "1")["card"]
                                           ["hidden_share"], 4)

    def test_no_word_is_bought_by_cutting_a_state_into_pieces(self):
        text = ("agent a { state p%s in [0, %s]; private minimize sumsq(p) }\nconstraint c: sum(a.p) <= 3\ndual radius 9\n")
        for epsilon, word in (("1000", "in name only"), ("10", "private")):
            shares = [self.assert_word(word, self.problem(text % pieces), "--epsilon", epsilon, "--adjacency", "one:1")
                      ["card"]["hidden_share"] for pieces in (("[1]", 6), ("[100]", 0.06))]
            self.assertAlmostEqual(shares[0] / shares[1], 1, 2)

    def test_a_large_delta_buys_no_word(self):
        """However few agents there are, and however small epsilon is at that delta."""
        alone = ("agent a { state x in [0, 1]; private minimize x }\nconstraint c: a.x <= 0.5\ndual radius 3\n"
                 "privacy { mechanism gaussian; epsilon %s; delta %s; adjacency %s }\nschedule { rounds 10 }\n")
        self.assert_word("in name only", self.problem(alone % ("300", "0.99", "one 1")))
        self.assert_word("in name only", self.problem(alone % ("0.1", "0.1", "one 1")))
        self.assert_word("in name only", self.problem(alone % ("0.001", "0.09", "one 0.001")))
        self.assert_word("in name only", self.problem(alone % ("5", "0.09", "agent")))
        self.assert_word("private", self.problem(alone % ("1", "1e-3", "agent")))

    def test_the_share_that_is_hidden_is_of_each_state_s_own_range(self):
        """A state with a wide range that hardly matters is not what a plan is judged by."""
        text = ("agent a { state x in [0, 1000]; state y in [0, 1]; private minimize x + y }\n"
                "constraint c: a.x * %s + a.y <= 0.5\ndual radius 9\n")
        arguments = ("--adjacency", "one:0.1", "--epsilon", "1", "--placement", "outputs")
        mild = plan(self.problem(text % "0.001"), *arguments)["card"]["hidden_share"]
        self.assertAlmostEqual(mild, 0.05, 2)  # both by a twentieth of their ranges move g by a tenth
        steep = plan(self.problem(text % "1"), *arguments, code=1)["card"]
        self.assertAlmostEqual(steep["hidden_share"], 1e-4, 5)
        self.assertIs(steep["in_name_only"], True)

    def test_coalitions_of_all_and_with_duplicates(self):
        everybody = ",".join(f"a{i}" for i in range(1, 11))
        for way in (("published", "outputs"), ("tacit", "states"), ("tacit", "forms")):
            way = ("--method", way[0], "--placement", way[1])
            facts = plan(PAPER, *way, "--coalition", everybody, "--coalition", "a1,a2,a1")
            together = [o for o in facts["observers"] if o["kind"] == "coalition"]
            self.assertEqual((together[0]["about"], together[0]["epsilon"]), ("nobody is outside", 0))
            self.assertEqual(together[1]["who"], "a1 + a2")
            text = tacit("plan", PAPER, *way, "--coalition", everybody, "--coalition", "a1,a2").stdout
            self.assertNotIn(" -0", text)
            self.assertNotIn("toge..", text)

    def test_tables_are_rounded_up_and_end_without_blanks(self):
        for example in EXAMPLES:
            for arguments in ((), ("--mechanism", "gaussian", "--delta", "1e-6"), ("--mechanism", "none")):
                lines = tacit("plan", str(example), *arguments).stdout.splitlines()
                self.assertEqual([line for line in lines if line != line.rstrip()], [])
        shown = re.search(r"^  eavesdropper +.*? ([0-9.]+)$", tacit("plan", PAPER).stdout, re.M).group(1)
        self.assertGreaterEqual(float(shown), LN2)
        self.assertIn("  private      NO\n", tacit("plan", PAPER, "--mechanism", "none").stdout)

    def test_one_state_never_costs_more_than_all_of_its_agent(self):
        for example in EXAMPLES:
            for way in (("published", "outputs"), ("tacit", "states"), ("tacit", "forms")):
                if example.name == "lasso.tacit" and way[0] == "published":  # it has kinks
                    continue
                unit = ("--adjacency", "agent") if example.name == "ev.tacit" and way[0] == "published" else ()
                prices = plan(str(example), "--method", way[0], "--placement", way[1], *unit)["prices"]
                one = [p["epsilon"] for p in prices if p["what"].startswith("one state")]
                whole = next(p["epsilon"] for p in prices if p["what"].endswith("could do in one round"))
                self.assertLessEqual(max(one), whole)

    def test_names_are_aligned_by_characters(self):
        (self.here / "people.csv").write_text("name,need\nÅsa,1\nBo,2\n", encoding="utf-8")
        path = self.problem("data people = csv \"people.csv\"\nagents home over people {\n  state x in [0, 4]\n"
                            "  private minimize (x - need)^2\n}\nconstraint shared: home[1].x + 2 * home[2].x <= 4\n"
                            "dual radius 9\n")
        done = tacit("plan", path, "--epsilon", "1", "--adjacency", "one:1", "--coalition", "Åsa")
        self.assertEqual(done.returncode, 0, done.stderr)
        at = {line.index(" any ") for line in done.stdout.splitlines() if re.match("  (Åsa|Bo|eaves)", line)}
        self.assertEqual(len(at), 1, done.stdout)

    def test_constants_that_differ_are_shown_to_differ(self):
        path = self.problem(PAIR + "declare lipschitz constraints { l1 0.99999999 }\n"
                            "declare lipschitz jacobian left { l1 0 }\ndeclare lipschitz jacobian right { l1 0 }\n")
        facts = plan(path, "--epsilon", "1", "--adjacency", "1", "--calibration", "published", "--constants", "declared",
                     code=1)
        self.assertEqual(facts["void_reasons"], ["the declared constant 0.99999999 of g is below the certified 1"])

    def test_a_loose_bound_is_warned_of(self):
        path = self.problem(PAIR.replace("left.x + right.x", "log(1 + exp(left.x)) - sqrt(1 + left.x^2) + right.x"))
        facts = plan(path, "--epsilon", "1", "--adjacency", "1", "--calibration", "published", code=1)
        self.assertRegex(facts["warnings"][0], r"the noise may be [0-9]+ times what is needed: the bound of J\[left\] is")
        self.assertEqual(plan(PAPER, "--calibration", "published")["warnings"], [])

    def test_less_is_dearer(self):
        loose, strict = (plan(PAPER, "--epsilon", e) for e in ("1", "0.5"))
        self.assertAlmostEqual(strict["systems"][0]["scale"] / loose["systems"][0]["scale"], 2, 6)

    def test_text_fits_eighty_columns(self):
        for example in EXAMPLES:
            for arguments in (("--method", "published"), ("--method", "tacit"), ("--adjacency", "agent", "--rounds", "1000"),
                              ("--method", "published", "--placement", "outputs")):
                unit = ("--adjacency", "agent") if example.name == "ev.tacit" and "published" in arguments else ()
                done = tacit("plan", str(example), *arguments, *unit)
                if example.name != "lasso.tacit" or "published" not in arguments:
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                widest = max(done.stdout.splitlines(), key=len)
                self.assertLessEqual(len(widest), 80, widest)
                self.assertIn("GUARANTEE: private", done.stdout)
                self.assertNotIn("nan", done.stdout)


CURVED = """agents c[i in 1..1000] {
  state x in [0, 2]
  private minimize (x - 1)^2
}
constraint most: sum(c: x) <= 900
constraint least: sum(c: x) >= 100
%sdual radius 5
privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency one 1 }
schedule { rounds 1000 }
"""

# Two rows of different directions: each datum counts as all that the box allows.
WIDENED = """data rows = csv "rows.csv"
agents c over rows {
  state x[2] in [0, 2]
  private minimize w * sumsq(x - b)
  private set x[1] + x[2] <= 1.5 + b
  private set x[1] - x[2] <= 0.3
  range b in [0, 1]
  range w in [0.5, 2]
  protect b by 0.1
  protect w by 0.1
  slater x = 0.4
  gap 100
}
constraint k: sum(c: x[1]) <= 10
privacy { mechanism gaussian; epsilon 1; delta 1e-6; adjacency data }
schedule { rounds 100 }
"""


class Reasons(Written):
    def test_a_curved_row_that_moves_noise_to_states_is_named_with_what_affine_rows_pay(self):
        file = self.problem(CURVED % "constraint loss: sum(c: x^2) <= 1200\n")
        alone, both = plan(self.problem(CURVED % "", "alone.tacit")), plan(file)
        times = math.sqrt(1000) * both["systems"][0]["scale"] / alone["systems"][0]["scale"]
        found = re.search(r"loss is curved. Affine constraints get up to ([0-9.]+) times the noise", both["why_states"])
        self.assertAlmostEqual(float(found[1]), times, delta=0.01 * times)
        self.assertIn("Noise is on states: loss is curved.", tacit("plan", file).stdout)
        self.assertNotIn("why_states", alone)
        self.assertNotIn("why_states", plan(file, "--placement", "states"))

    def test_no_distance_is_beyond_the_box(self):
        file = self.problem(WIDENED)
        (self.here / "rows.csv").write_text("b,w\n" + 20 * "0.5,1\n")
        shown = tacit("plan", file).stdout
        self.assertIn("c: 2.82843 in all, all the box allows\n", shown)  # 2 sqrt(2), where both data together give twice that
        self.assertNotIn("ten times as far", shown)  # dearer than all that an agent can do


class Refusals(Written):
    def refused(self, message, *arguments, code=2):
        done = tacit("plan", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)

    def test_values_that_make_no_sense(self):
        for text in ("0", "-1", "nan", "inf", "1e999", "ln(1)", "ln(0)", "ln(-1)", "ln(", "ln()", "0x1", "1 ", "two"):
            self.refused(f"--epsilon wants a positive number, or ln(X) with X above 1, not '{text}'", PAPER,
                         f"--epsilon={text}")
        for text in ("0", "1", "1.5", "nan", "ln(2)", ""):
            self.refused("--delta wants a number above 0 and below 1", PAPER, f"--delta={text}")
        for text in ("some:1", "one", "one:", "one:0", "one:-1", "one:nan", "agent:0", "ensemble:inf", "0", "", "one:1x",
                     "one1", "one::1", " 1", "one 0", "agent 0", "agent:", "data:1"):
            self.refused("adjacency wants ensemble:B, one:B, agent, agent:B, data or B", PAPER, f"--adjacency={text}")
        for option in ("alpha-bar", "gamma-bar"):
            self.refused(f"--{option} wants a positive number, not '0'", PAPER, f"--{option}=0")
        self.refused("--c1 wants a number from 0 to", PAPER, "--c1=-1")
        self.refused("--rounds wants a whole number", PAPER, "--rounds", "0.5")
        self.refused("--mechanism wants none, laplace or gaussian", PAPER, "--mechanism", "cauchy")
        self.refused("--placement wants auto, outputs, states or forms", PAPER, "--placement", "nowhere")
        self.refused("--calibration wants tight or published", PAPER, "--calibration", "loose")
        self.refused("--constants wants certified or declared", PAPER, "--constants", "guessed")
        self.refused("--seed wants a whole number", PAPER, "--seed", "x")

    def test_words_that_are_nearly_right(self):
        self.refused("there is no option --eps; did you mean --epsilon?", PAPER, "--eps", "1")
        self.refused("there is no option --adj; did you mean --adjacency?", PAPER, "--adj", "one:1")
        self.refused("--method wants published or tacit, not 'paper'; published is the paper's", PAPER, "--method", "paper")
        self.refused("--mechanism wants none, laplace or gaussian, not 'gauss'; did you mean gaussian?", PAPER,
                     "--mechanism", "gauss")
        self.refused("--calibration wants tight or published, not 'publish'; did you mean published?", PAPER,
                     "--calibration", "publish")

    def test_a_unit_is_written_with_a_colon_or_a_blank_in_options_and_files(self):
        asked = ("--epsilon", "1", "--rounds", "1e2")
        for unit in ("one", "ensemble"):
            expected = plan(self.problem(PAIR), *asked, "--adjacency", f"{unit}:0.5")
            self.assertEqual(expected["unit"], f"{unit}:0.5")
            for way in (f"{unit} 0.5", f"{unit}: 0.5", f"{unit} : 0.5"):
                self.assertEqual(plan(self.problem(PAIR), *asked, "--adjacency", way)["hash"], expected["hash"], way)
            for way in (f"{unit} 0.5", f"{unit}:0.5", f"{unit}: 1/2"):
                path = self.problem(PAIR + "privacy { epsilon 1; adjacency " + way + " }\nschedule { rounds 1e2 }\n")
                self.assertEqual(plan(path)["hash"], expected["hash"], way)
            self.assertEqual(plan(*asked, "--adjacency", unit, "0.5", self.problem(PAIR))["hash"], expected["hash"])
        self.refused("unexpected argument '5'", self.problem(PAIR), *asked, "--adjacency", "data", "5")
        self.refused("adjacency wants ensemble:B, one:B, agent", "--adjacency", "one", self.problem(PAIR))

    def test_coalitions_that_are_none(self):
        for text in ("", ",", "a1,", ",a1", "a1,,a2"):
            self.refused("coalition wants names of agents", PAPER, f"--coalition={text}")
        self.refused("'nobody'", PAPER, "--coalition", "a1,nobody")

    def test_what_does_not_go_together(self):
        for choice in (("--method", "published"), ("--calibration", "published"), ("--method", "published", "--mechanism", "none")):
            self.refused("--placement states goes with --method tacit: the published method releases constraints and their Jacobian",
                         PAPER, *choice, "--placement", "states")
        self.refused("published", PAPER, "--calibration", "published", "--adjacency", "one:1")
        self.refused("declared", PAPER, "--constants", "declared")
        self.refused("delta", self.problem(PAIR), "--mechanism", "gaussian", "--epsilon", "1", "--adjacency", "one:1")

    def test_a_file_that_promises_nothing(self):
        path = self.problem(PAIR)
        self.refused("no privacy block", path)
        self.refused("adjacency", path, "--epsilon", "1")
        self.refused("epsilon", path, "--adjacency", "one:1")
        self.refused("rounds", path, "--epsilon", "1", "--adjacency", "agent")
        self.assertIs(plan(path, "--epsilon", "1", "--adjacency", "one:1")["private"], True)
        self.assertIs(plan(path, "--epsilon", "1", "--adjacency", "agent", "--rounds", "5")["private"], True)

    def test_declared_constants_that_are_not_declared(self):
        path = self.problem(PAIR)
        done = tacit("plan", path, "--epsilon", "1", "--adjacency", "1", "--calibration", "published", "--constants",
                     "declared")
        self.assertIn(done.returncode, (1, 2), done.stdout)
        self.assertIn("declare", done.stdout + done.stderr)

    def test_one_agent_s_file(self):
        parties = self.here / "parties"
        self.assertEqual(tacit("split", PAPER, "-o", str(parties)).returncode, 0)
        self.refused("one agent's", str(parties / "agents/a1.tacit"))

    def test_files_that_cannot_be_read_or_are_broken(self):
        done = tacit("plan", "/nowhere.tacit")
        self.assertIn(done.returncode, (2, 3))
        self.assertIn("nowhere.tacit", done.stderr)
        self.refused("error:", self.problem("agent {\n"))

    def test_constraints_that_are_not_convex_are_answer_one(self):
        path = self.problem(PAIR.replace("left.x + right.x <= 4", "left.x + right.x - left.x^2 <= 4"))
        done = tacit("plan", path, "--epsilon", "1", "--adjacency", "one:1", "--json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tacit check", done.stderr)
        facts = json.loads(done.stdout)
        doubt = "convexity not proved: the promise holds, but convergence is not promised"
        for part in (facts, facts["card"]):
            self.assertIs(part["private"], True)
            self.assertIs(part["assumptions_hold"], False)
            self.assertEqual(part["assumptions_not_proved"], [doubt])
        text = " ".join(tacit("plan", path, "--epsilon", "1", "--adjacency", "one:1").stdout.split())
        self.assertEqual(text.count(doubt), 2, "in the plan and on the card")
        self.assertIs(plan(PAPER)["assumptions_hold"], True)

    def test_a_constant_that_cannot_be_bounded_is_an_outcome(self):
        path = self.problem(PAIR.replace("left.x + right.x <= 4", "left.x - sqrt(right.x) <= 4"))
        asked = ("--epsilon", "1", "--adjacency", "one:1", "--method", "published", "--placement", "outputs")
        done = tacit("plan", path, *asked, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        facts = json.loads(done.stdout)
        self.assertIs(facts["private"], False)
        self.assertTrue(facts["problem"])
        done = tacit("plan", path, *asked)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No plan can be made:", done.stdout)
        self.assertIn("g[shared]", done.stdout)
        self.assertIn("narrow the box", done.stdout)
        self.assertEqual([facts[k] for k in ("mechanism", "calibration", "unit", "placement")],
                         ["laplace", "tight", "one:1", "outputs"])

    def test_exponents_that_differ_are_named_where_outputs_have_noise(self):
        path = self.problem("agents a[i in 1..3] { state x in [0.1, 1]; private minimize x; gap 3; slater x = 0.2 }\n"
                            "constraint c: sum(a: x^i) <= 2\n")
        asked = (path, "--epsilon", "1", "--adjacency", "one:1")
        why = plan(*asked, "--method", "published", code=1)["problem"]
        for part in ("'a'", "exponent differs between members", "--method tacit", "a family for each exponent"):
            self.assertIn(part, why)
        self.assertEqual(plan(*asked)["placement"], "states")
        self.problem(pathlib.Path(path).read_text().replace("x^i", "x^3"))
        self.assertTrue(plan(*asked, "--method", "published")["private"])

    def test_where_no_placement_can_be_made_all_that_were_tried_are_named(self):
        for method, words, placement in (("published", ("placement outputs:", "g[shared]"), "outputs"),
                                         ("tacit", ("no placement can be had", "x[left]"), None)):
            facts = plan(self.problem(PAIR), "--epsilon", "1e-30", "--adjacency", "one:1", "--method", method, code=1)
            for part in (*words, "larger epsilon"):
                self.assertIn(part, facts["problem"])
            self.assertEqual(facts["placement"], placement)


class Radius(Written):
    """Without a public dual radius no cloud can run, and a simulation would take one from private data."""

    FACTS = ("agents a[i in 1..3] {\n  state x in [0, 4]\n  private minimize (x - 3)^2\n%s}\n"
             "constraint c: sum(a: x) <= 4\n%s"
             "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\n"
             "schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 100 }\n")

    def warned(self, inside, outside):
        path = self.problem(self.FACTS % (inside, outside))
        public = "".join(line for line in pathlib.Path(path).read_text().splitlines(True) if "private" not in line)
        (self.here / "cloud").mkdir(exist_ok=True)
        cut = self.problem("role cloud\n" + public, "cloud/problem.tacit")
        whole, cloud = (tacit("plan", p, "--json") for p in (path, cut))
        self.assertEqual((whole.stdout, whole.stderr, whole.returncode), (cloud.stdout, cloud.stderr, cloud.returncode))
        self.code, self.warnings = whole.returncode, json.loads(whole.stdout)["warnings"]
        return any("no public dual radius is known" in w for w in self.warnings)

    def test_it_is_missed_where_nothing_public_gives_one(self):
        self.assertTrue(self.warned("", ""))
        self.assertTrue(self.warned("  gap 9\n", ""))
        self.assertTrue(self.warned("  slater x = 0\n", ""))
        self.assertEqual(self.code, 1)

    def test_plan_run_and_sweep_agree_that_without_one_nothing_is_private(self):
        path = self.problem(self.FACTS % ("", ""))
        facts = plan(path, code=1)
        self.assertIs(facts["private"], False)
        self.assertTrue(any("no public dual radius" in r for r in facts["void_reasons"]))
        self.assertIn("GUARANTEE: NOT PRIVATE", tacit("plan", path).stdout)
        run = tacit("run", path, "--json")
        self.assertEqual(run.returncode, 1)
        self.assertIs(json.loads(run.stdout)["guarantee"]["private"], False)
        self.assertEqual(tacit("run", path, "--seed", "1").returncode, 0)  # asked for
        self.assertEqual(tacit("run", path, "--seeds", "2").returncode, 0)
        self.assertEqual(tacit("run", path, "--mechanism", "none").returncode, 0)
        sweep = ("sweep", path, "--seeds", "2", "--epsilons", "1,2")
        self.assertEqual(tacit(*sweep).returncode, 1)
        self.assertEqual(tacit(*sweep, "--seed", "5").returncode, 0)

    def test_equalities_need_room_around_the_slater_point(self):
        """Gaps over the slack of inequalities would be a number too, and none that bounds the prices of equalities."""
        rows = "constraint c: sum(a: x) <= 4", "constraint c: sum(a: x) <= 4\nconstraint e: a[1].x - a[2].x == 0"
        for room, code in (("", 1), (" within 0.25", 0)):
            text = self.FACTS.replace(*rows) % (f"  gap 9\n  slater x = 1{room}\n", "")
            path = self.problem(text)
            public = "".join(line for line in text.splitlines(True) if "private" not in line)
            (self.here / "cloud").mkdir(exist_ok=True)
            cut = self.problem("role cloud\n" + public, "cloud/problem.tacit")
            whole, cloud = (tacit("plan", p, "--json") for p in (path, cut))
            self.assertEqual((whole.stdout, whole.stderr, whole.returncode), (cloud.stdout, cloud.stderr, code))
            facts = json.loads(whole.stdout)
            self.assertIs(facts["private"], code == 0)
            self.assertEqual(any("No agent in equality e has room" in w for w in facts["warnings"]), code == 1)

    def test_a_slater_point_that_violates_what_is_public_is_named(self):
        fault = "does not satisfy constraint c strictly: g = 2 there"
        self.assertFalse(self.warned("  gap 9\n  slater x = 2\n", ""))
        self.assertEqual((self.code, sum(fault in w for w in self.warnings)), (1, 1), self.warnings)
        self.assertFalse(any("tacit run would" in w or "give gaps" in w for w in self.warnings))
        self.assertFalse(self.warned("  gap 9\n  slater x = 2\n", "dual radius 10\n"))
        self.assertEqual(self.code, 0)

    def test_it_is_not_missed_where_it_is_given_or_follows(self):
        self.assertFalse(self.warned("", "dual radius 10\n"))
        self.assertFalse(self.warned("  gap 9\n  slater x = 0\n", ""))

    def test_private_sets_do_not_change_it(self):
        self.assertFalse(self.warned("  private set x >= 1\n  gap 9\n  slater x = 0\n", ""))


class Method(Written):
    """--method tacit: placement by predicted variance, and what the method takes from public facts."""

    SHARED = ("agents a[i in 1..40] {\n  state x in [0, 1]\n  private minimize (x - 1)^2\n  gap 2\n  slater x = 0.5\n}\n"
              "constraint most: sum(a: x) <= 25\nconstraint least: sum(a: x) >= 10\n"
              "privacy { mechanism laplace; epsilon 1; adjacency one 0.5 }\nschedule { rounds 500 }\n")

    def test_the_cheapest_placement_is_taken_and_all_are_shown(self):
        facts = plan(self.problem(self.SHARED), "--method", "tacit")
        shown = {p["placement"]: p for p in facts["placements"]}
        self.assertEqual(facts["method"], "tacit")
        self.assertEqual(facts["placement"], "forms")
        self.assertEqual(set(shown), {"outputs", "states", "forms"})
        self.assertTrue(all(p["usable"] for p in shown.values()))
        self.assertLess(shown["forms"]["predicted_variance"], shown["outputs"]["predicted_variance"])
        self.assertEqual([s["name"] for s in facts["systems"]], ["s[most]"])
        self.assertEqual(facts["systems"][0]["kind"], "forms")
        self.assertAlmostEqual(facts["systems"][0]["scale"], 0.5, places=4)  # B / epsilon
        self.assertIn("forms", facts["card"]["placement_text"])

    def test_the_published_method_shows_what_it_did(self):
        facts = plan(PAPER, "--method", "published")
        self.assertEqual(facts["method"], "published")
        self.assertEqual([p["placement"] for p in facts["placements"]], ["outputs", "states"])
        self.assertEqual(facts["placement"], "outputs")
        self.assertRegex(" ".join(tacit("plan", PAPER, "--method", "published").stdout.split()), r"states \S+ \(of no use here\)")
        self.assertNotIn("method_facts", facts)
        self.assertEqual(facts["hash"], plan(PAPER, "--method", "published", "--placement", "auto")["hash"])
        self.assertNotEqual(facts["hash"], plan(PAPER, "--method", "tacit")["hash"])

    def test_the_promise_does_not_depend_on_the_method(self):
        for example in EXAMPLES:
            facts = plan(str(example), "--method", "tacit")
            self.assertTrue(facts["private"])
            self.assertLessEqual(observer(facts, "eavesdropper")["epsilon"], facts["epsilon"])
            self.assertIn(facts["placement"], [p["placement"] for p in facts["placements"] if p["usable"]])

    def test_public_facts_of_the_method(self):
        facts = plan(self.problem(self.SHARED), "--method", "tacit", "--margin", "0.5", "--rounds", "100")["method_facts"]
        self.assertEqual(facts["margin"], {"kind": "given", "amount": 0.5})
        self.assertAlmostEqual(facts["box_length"], math.sqrt(40) / 6)
        self.assertEqual([len(facts[k]) for k in ("row_scale", "weight")], [2, 2])
        self.assertTrue(any("100 rounds" in w for w in facts["warnings"]))
        text = tacit("plan", self.problem(self.SHARED), "--method", "tacit", "--rounds", "100").stdout
        self.assertIn("warning: 100 rounds", text)

    def test_warnings_of_the_method_are_among_all(self):
        path = self.problem(self.SHARED)
        few, many = (plan(path, "--method", "tacit", "--epsilon", "10", "--rounds", n) for n in ("100", "1000"))
        self.assertIn("epsilon 10 promises next to nothing", few["warnings"])
        self.assertTrue(few["method_facts"]["warnings"])
        for facts in (few, many):
            own = facts["method_facts"]["warnings"]
            self.assertEqual(facts["warnings"][len(facts["warnings"]) - len(own):], own)
        self.assertTrue(any("100 rounds" in w for w in few["warnings"]))
        self.assertFalse(any("rounds" in w for w in many["warnings"]))

    def test_a_margin_is_shown_and_promises_nothing_else(self):
        path = self.problem(self.SHARED)
        cards = []
        for arguments, line in (((), None), (("--margin", "0.5"), "margin 0.5, public: solves g + 0.5 <= 0 instead; the promise"),
                                (("--margin", "auto:0.9"), "hold with probability 0.9, and where they leave too little room, the last "
                                 "answer moves every agent towards the declared Slater point; the promise does not change")):
            text = tacit("plan", path, "--method", "tacit", *arguments).stdout
            if line is None:
                self.assertNotIn("margin", text)
            else:
                self.assertIn(line, " ".join(text.split()))
            cards.append(plan(path, "--method", "tacit", *arguments)["card"])
        self.assertEqual(cards, [cards[0]] * 3)

    def test_margins_that_make_no_sense(self):
        path = self.problem(self.SHARED)
        for text in ("-1", "nan", "inf", "auto:", "auto:0.5", "auto:1", "auto:x", "automatic", ""):
            done = tacit("plan", path, "--method", "tacit", f"--margin={text}")
            self.assertEqual(done.returncode, 2)
            self.assertIn("margin wants a number from 0, auto, or auto:P", done.stderr)
        for arguments, message in ((("--method", "published", "--margin", "1"), "a margin goes with method tacit"),
                                   (("--calibration", "published", "--margin", "1"), "a margin goes with"),
                                   (("--method", "tacit", "--margin", "100"), "leaves no room"),
                                   (("--method", "tacit", "--calibration", "published"), "--calibration tight"),
                                   (("--method", "published", "--placement", "forms"), "--method tacit")):
            done = tacit("plan", path, *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(message, done.stderr)
        done = tacit("plan", PAPER, "--method", "tacit", "--placement", "outputs")
        self.assertEqual(done.returncode, 2)
        self.assertIn("choose states or forms", done.stderr)


class NothingPrivate(Written):
    """The whole file and the cloud's file give the same plan, byte for byte."""

    PUBLISHED, OURS = ("--method", "published"), ("--method", "tacit")
    CHOICES = [(), PUBLISHED, (*PUBLISHED, "--adjacency", "agent", "--rounds", "1000"),
               (*PUBLISHED, "--adjacency", "one:0.5", "--placement", "outputs"),
               (*OURS, "--mechanism", "gaussian", "--delta", "1e-6", "--placement", "states"), OURS,
               (*OURS, "--adjacency", "agent", "--rounds", "1000", "--margin", "auto"),
               (*OURS, "--mechanism", "gaussian", "--delta", "1e-6", "--placement", "forms"),
               ("--mechanism", "laplace", "--calibration", "published", "--adjacency", "1"),
               ("--mechanism", "gaussian", "--delta", "1e-6", "--calibration", "published", "--adjacency", "1")]

    def test_the_plan_is_the_same_for_all_examples(self):
        for example in EXAMPLES:
            parties = self.here / example.stem
            done = tacit("split", str(example), "-o", str(parties))
            self.assertEqual(done.returncode, 0, done.stderr)
            for choice in self.CHOICES:
                for form in (("--json",), ()) if choice in ((), self.PUBLISHED, self.OURS) else (("--json",),):
                    whole = tacit("plan", str(example), *choice, *form)
                    cloud = tacit("plan", str(parties / "cloud.tacit"), *choice, *form)
                    self.assertEqual(whole.stdout, cloud.stdout, (example.name, choice))
                    if "published" in choice and example.name in ("lasso.tacit", "ev.tacit"):  # kinks; the unit data
                        continue
                    self.assertEqual(whole.returncode, 0, whole.stderr)
                    self.assertEqual((whole.stderr, whole.returncode), (cloud.stderr, cloud.returncode))

    def test_kinks_that_no_run_would_take_are_said_and_change_no_byte(self):
        settings = "privacy { epsilon 1; adjacency one 1 }\nschedule { rounds 100; alpha 0.1 k^-0.3; gamma 0.1 k^-0.6 }\n"
        kinks = (PAIR + settings).replace("(x - 3)^2", "abs(x - 3)")
        saddle = (PAIR + settings).replace("(x - 3)^2", "abs(x - 3) - x^2")
        for text, method, code, word in ((kinks, "published", 1, "Assumption 1"), (kinks, "tacit", 0, ""),
                                         (saddle, "tacit", 1, "must be proved convex")):
            path = self.problem(text, "kinks.tacit")
            smooth = tacit("plan", self.problem(PAIR + settings), "--json", "--method", method)
            done = tacit("plan", path, "--json", "--method", method)
            self.assertEqual((done.returncode, done.stdout), (code, smooth.stdout))
            self.assertIn(word, done.stderr)
            run = tacit("run", path, "--method", method)
            self.assertEqual((run.returncode == 2, word in run.stderr), (code == 1, True), run.stderr)
            if code == 1:
                self.assertIn("nothing runs by it", done.stderr)
                self.assertIn("abs(x - 3)", done.stderr)

    def test_private_data_change_nothing(self):
        settings = "privacy { epsilon 1; adjacency one 1 }\nschedule { rounds 100 }\n"
        plain = PAIR + settings
        other = plain.replace("(x - 3)^2", "17 * (x - 1)^4 + exp(x)").replace(
            "private minimize", "private set x >= 0.25; start x = 1; private minimize")
        for method in ("published", "tacit"):
            first = tacit("plan", self.problem(plain, "a.tacit"), "--json", "--method", method)
            second = tacit("plan", self.problem(other, "b.tacit"), "--json", "--method", method)
            self.assertEqual(first.returncode, 0, first.stderr)
            self.assertEqual(first.stdout, second.stdout)

    def test_data_of_agents_change_nothing(self):
        """Needs, weights and wishes of a thousand homes: the method's own facts do not show them either."""
        lines = (SOURCE / "examples/homes.csv").read_text().splitlines()
        other = [lines[0]] + [",".join(str(float(v) * 0.5 + 0.1) for v in line.split(",")) for line in lines[1:]]
        plans = []
        for name, rows in (("a", lines), ("b", other)):
            (self.here / name).mkdir()
            (self.here / name / "homes.csv").write_text("\n".join(rows) + "\n")
            path = self.problem(pathlib.Path(EV).read_text(), f"{name}/ev.tacit")
            plans.append(plan(path, "--method", "tacit", "--margin", "auto"))
        self.assertEqual(plans[0], plans[1])
        self.assertIn("radius", plans[0]["method_facts"])

    def test_an_objective_that_is_not_convex_changes_nothing(self):
        settings = "privacy { epsilon 1; adjacency one 1 }\nschedule { rounds 100 }\n"
        first = tacit("plan", self.problem(PAIR + settings, "a.tacit"), "--json")
        second = tacit("plan", self.problem((PAIR + settings).replace("(x - 3)^2", "-(x^2)"), "b.tacit"), "--json")
        self.assertEqual((first.returncode, first.stdout), (second.returncode, second.stdout))


class Ledger(Written):
    def test_a_ledger_that_is_not_there_yet_is_empty_and_stays_away(self):
        path = self.here / "ledger"
        facts = plan(PAPER, "--ledger", str(path))
        self.assertEqual(facts["ledger"]["runs"], 0)
        self.assertEqual(facts["ledger"]["spent"], [])
        self.assertAlmostEqual(facts["ledger"]["adds"]["epsilon"], LN2, 9)
        self.assertAlmostEqual(facts["ledger"]["would_be"]["epsilon"], LN2, 9)
        self.assertFalse(path.exists())
        done = tacit("plan", PAPER, "--ledger", str(path))
        self.assertEqual(done.returncode, 0)
        self.assertIn("Ledger: there is no such file yet; the first run makes it", done.stdout)
        self.assertIs(facts["ledger"]["exists"], False)

    def test_what_was_spent_is_added_up_by_unit(self):
        path = str(SOURCE / "tests/cli/ledger")
        facts = plan(str(SOURCE / "examples/num.tacit"), "--ledger", path)["ledger"]
        self.assertEqual(facts["runs"], 3)
        spent = {t["unit"]: t for t in facts["spent"]}
        # the run in unit agent hides one agent's messages too; those in unit one say nothing of an agent entirely
        self.assertAlmostEqual(spent["one:0.1"]["epsilon"], 2.5, 3)
        self.assertEqual((spent["one:0.1"]["runs"], spent["one:0.1"]["converted"]), (2, 1))
        self.assertEqual((spent["agent"]["runs"], spent["agent"]["not_converted"]), (1, 2))
        self.assertIsNone(spent["agent"]["epsilon"])  # no sum of some of them passes for one of all
        self.assertAlmostEqual(facts["would_be"]["epsilon"], 3.5, 3)
        self.assertEqual(facts["would_be"]["runs"], 3)
        text = tacit("plan", str(SOURCE / "examples/num.tacit"), "--ledger", path).stdout
        self.assertIn("Ledger: 3 runs so far", text)
        self.assertIn("Each line counts all runs, converted into its unit.", text)
        self.assertIn("this holds where no plan was chosen by what earlier runs released", " ".join(text.split()))

    def test_a_plan_says_whether_a_budget_would_allow_it(self):
        path, num = str(SOURCE / "tests/cli/ledger"), str(SOURCE / "examples/num.tacit")
        facts = plan(num, "--ledger", path, "--budget", "4:1e-6")
        self.assertEqual((facts["within_budget"], facts["over_budget"]), (True, None))
        judged, = facts["budgets"]
        self.assertEqual((judged["epsilon"], judged["delta"], judged["unit"]), (4, 1e-6, "one:0.1"))
        self.assertAlmostEqual(judged["comes_to"], 3.5, 3)
        text = " ".join(tacit("plan", num, "--ledger", path, "--budget", "4:1e-6").stdout.split())
        self.assertIn("within the budget of epsilon 4, delta 1e-06: all together would come to epsilon 3.5", text)
        facts = plan(num, "--ledger", path, "--budget", "3:1e-6", code=1)
        self.assertIs(facts["within_budget"], False)
        self.assertIn("does not allow it: with the 3 runs in the ledger it would come to 3.5", facts["over_budget"])
        self.assertIn("A run would be refused: the budget", tacit("plan", num, "--ledger", path, "--budget", "3:1e-6").stdout)
        done = tacit("plan", num, "--ledger", path, "--budget", "4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("write --budget 4:1e-6", done.stderr)
        done = tacit("plan", num, "--budget", "4")
        self.assertEqual(done.returncode, 2)
        for wrong in ("4:", "4:0", "4:1", "4:x", ":1e-6", "x", "4:1e-6:1", "inf"):
            done = tacit("plan", num, "--ledger", path, "--budget", wrong)
            self.assertEqual(done.returncode, 2, wrong)
            self.assertIn("--budget wants a positive number", done.stderr)

    def test_a_budget_in_the_file_is_part_of_the_plan(self):
        num = (SOURCE / "examples/num.tacit").read_text()
        for name in ("num_flows.csv", "num_routes.csv"):
            (self.here / name).write_bytes((SOURCE / "examples" / name).read_bytes())
        plain = plan(self.problem(num))
        self.assertNotIn("budget", plain)
        hashes = {plain["hash"]}
        for budget in ("budget { epsilon 4 }", "budget { epsilon 4; delta 1e-6 }", "budget { epsilon 5; delta 1e-6 }"):
            path = self.problem(num + budget + "\n")
            facts = plan(path)
            hashes.add(facts["hash"])
            self.assertEqual(tacit("split", path, "-o", str(self.here / "parts"), "--force").returncode, 0)
            self.assertEqual(plan(str(self.here / "parts/cloud.tacit")), facts)
        self.assertEqual(len(hashes), 4)
        self.assertIs(facts["within_budget"], True)
        small = plan(self.problem(num + "budget { epsilon 0.5 }\n"), code=1)  # this run alone exceeds it
        self.assertIn("is too small: this run alone costs", small["over_budget"])
        done = tacit("plan", self.problem(num + "budget { epsilon 4 }\n"), "--mechanism", "gaussian", "--delta", "1e-6")
        self.assertEqual(done.returncode, 2)
        self.assertIn("the file's budget of epsilon 4 has no delta", done.stderr)
        self.assertEqual(facts["budget"], {"epsilon": 5, "delta": 1e-6})

    def test_a_damaged_ledger_is_refused_with_its_line(self):
        path = self.here / "ledger"
        path.write_text('{"tacit_ledger":1,"run":"a"')
        done = tacit("plan", PAPER, "--ledger", str(path))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{path}:1: the ledger is damaged", done.stderr)

    def test_what_is_no_file_is_refused(self):
        for path, message in ((self.here, "plain file"), ("/dev/null", "plain file"), ("", "names no file"),
                              (self.here / "no/ledger", "there is no folder"), (f"{PAPER}/ledger", "there is no folder")):
            done = tacit("plan", PAPER, "--ledger", str(path))
            self.assertEqual((done.returncode, done.stdout), (2, ""), path)
            self.assertIn(message, done.stderr)

    def test_a_plan_without_a_guarantee_spoils_every_sum(self):
        path = str(SOURCE / "tests/cli/ledger")
        for arguments in (("--mechanism", "none"), ("--seed", "1")):
            facts = plan(PAPER, "--ledger", path, *arguments, code=1)["ledger"]
            self.assertIs(facts["would_be"]["priced"], False)
            text = tacit("plan", PAPER, "--ledger", path, *arguments).stdout
            self.assertIn("no sum holds after it", text)
            self.assertEqual(sum(" run" in line and line.endswith("  NOT PRIVATE") for line in text.splitlines()), 3)
            self.assertNotIn("comes to", text)


if __name__ == "__main__":
    unittest.main()
