"""What the documents say: links lead somewhere, every proof is in the index, figures are what `tacit plan` prints."""
# labels: not-clang
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "tests/install"))
import links
PRIVACY = re.sub(r"\s+", " ", (SOURCE / "docs/privacy.md").read_text())


def plan(example, *arguments):
    done = subprocess.run([TACIT, "plan", str(SOURCE / f"examples/{example}.tacit"), *arguments, "--json"],
                          capture_output=True, text=True, timeout=1200)
    return json.loads(done.stdout)


def rounded(value, digits=4):
    """As a person writes it: 48430 as 48,430."""
    return f"{float(f'{value:.{digits}g}'):,.10g}"


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        wrong, count = links.broken(SOURCE)
        self.assertEqual(wrong, [])
        self.assertGreater(count, 50)

    def test_every_proof_is_in_the_index(self):
        folder = SOURCE / "docs/proofs"
        index = (folder / "README.md").read_text()
        for page in folder.glob("*.md"):
            if page.name != "README.md":
                self.assertIn(f"({page.name})", index)


class Figures(unittest.TestCase):
    def says(self, text):
        self.assertIn(text, PRIVACY)

    def test_the_figures_of_the_homes_are_those_of_plans(self):
        """script/doc-figures writes them, with those of simulated runs."""
        done = subprocess.run([sys.executable, str(SOURCE / "script/doc-figures"), "--check"], capture_output=True, text=True,
                              env={**os.environ, "TACIT": TACIT}, timeout=1200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_total_and_a_root_sum_square_hide_what_the_page_says(self):
        for law, norm in (("laplace", "total"), ("gaussian", "root-sum-square")):
            facts = plan("num", "--mechanism", law, "--epsilon", "1", "--adjacency", "one:1", "--rounds", "500",
                         *(("--delta", "1e-6") if law == "gaussian" else ()))
            self.assertEqual(facts["norm"], norm)
            self.assertRegex(PRIVACY, rf"\| `one:B in {norm}` \|[^|]*\|[^|]*\| {facts['hidden_every_round']:.3g} \|")

    def test_delta_is_an_allowance_and_no_probability_of_exceeding_the_factor(self):
        """Noise with gdp mu makes an answer with the log-odds l = mu^2/2 + mu z, z standard normal: the factor e^epsilon is exceeded
        with probability Q(epsilon/mu - mu/2), and delta is the mean of (1 - e^(epsilon - l)) over those answers alone."""
        def tail(x):
            return math.erfc(x / math.sqrt(2)) / 2

        def weight(z):
            return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        facts = plan("ev", "--adjacency", "agent", "--rounds", "500")
        epsilon, mu = facts["epsilon"], max(o["mu"] for o in facts["observers"])
        start, step = epsilon / mu - mu / 2, 1e-3
        allowance = step * sum(weight(z) * -math.expm1(epsilon - mu * mu / 2 - mu * z)
                               for z in (start + (i + 0.5) * step for i in range(8000)))
        self.assertAlmostEqual(allowance / facts["delta"], 1, delta=1e-4)
        exceeded = tail(start)
        self.assertAlmostEqual(exceeded, 2e-5, delta=5e-7)
        self.says("P(S) <= e^epsilon P'(S) + delta for every event S")
        self.says(f"exceeds the factor with probability {exceeded:.0e}".replace("e-0", "e-"))

    def test_the_command_explains_delta_as_the_documents_do(self):
        told = [subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=1200).stdout for arguments in (
            ("plan", "--help"), ("plan", str(SOURCE / "examples/ev.tacit")),
            ("plan", str(SOURCE / "examples/ev.tacit"), "--adjacency", "agent", "--delta", "0.1"),
            ("advise", str(SOURCE / "examples/ev.tacit"), "--adjacency", "agent"))]
        for text in told:
            text = re.sub(r"\s+", " ", text)
            self.assertIn("P(S) <= e^epsilon P'(S) + delta", text)
            self.assertNotRegex(text, r"may fail|the chance that|probability (of |with )|rare answers|except(ion| for)")

    def test_the_translation_table(self):
        facts = plan("ev", "--adjacency", "one:1")
        self.says(f"standard deviation {facts['systems'][0]['scale']:.2f} kW a round")
        prices = {p["what"]: p["epsilon"] for p in facts["prices"]}
        by = {key: value for start in ("one state of one agent in one round, by 1", "one state of one agent in one "
              "round, by all", "everything one agent could do in one round", "everything one agent could do in the whole")
              for key, value in [(start, next(v for k, v in prices.items() if k.startswith(start)))]}
        one, whole, agent, run = by.values()
        self.says(f"in one round, by 1 kW | {one:.2f} |")
        self.says(f"7.4 kW | {whole:.1f} |")
        self.says(f"in one round | {agent:.0f} |")
        self.says(f"in 100,000 rounds | {run / 1e6:.1f} million: no protection |")

    def test_placements(self):
        for example in ("paper", "robots", "num", "ev"):
            figures = []
            for mechanism in ("laplace", "gaussian"):
                facts = plan(example, "--mechanism", mechanism, "--epsilon", "1", "--adjacency", "one:1",
                             "--method", "tacit", *(("--delta", "1e-6") if mechanism == "gaussian" else ()))
                for one in facts["placements"]:
                    value = one["predicted_variance"]
                    text = rounded(value, 2 if value < 100 else 3)
                    figures.append(f"**{text}**" if one["placement"] == facts["placement"] else text)
            self.assertRegex(PRIVACY, rf"\| {example}, [^|]* \| " + re.escape(" | ".join(figures)))

    def test_the_published_scheme(self):
        facts = plan("paper", "--calibration", "published")
        prices = {o["who"]: o["epsilon"] / 0.6931471805599453 for o in facts["observers"]}
        self.says(f"an agent pays {prices['a1']:.3f} ln 2 and an eavesdropper {prices['eavesdropper']:.3f} ln 2")

    def test_the_lattice_costs_next_to_nothing(self):
        for example in ("paper", "robots", "num", "ev"):
            for unit in ("one:1", "agent"):
                facts = plan(example, "--placement", "outputs", "--adjacency", unit, "--method", "published")
                self.assertLessEqual(facts["lattice"]["overhead"], 0.004 / 100, (example, unit))


if __name__ == "__main__":
    unittest.main()
