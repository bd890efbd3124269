"""Certificates of plans that rely on public sets: proved, the same from the whole file and the cloud's, and refused where a set or
what is made of it was forged."""
# labels: not-clang
import copy
import json
import unittest

import test_certificate as C
from certificate_problems import Problem

HOMES = """agents home[i in 1..30] {
  state p[24] in [0, 7.4]
%s  private minimize sumsq(p - 1)
  gap 9; slater p = 0.5
}
constraint feeder[t in 1..24]: sum(home: p[t]) <= 100
"""
GAUSSIAN = ("--mechanism", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--rounds", "100", "--adjacency", "agent")
LAPLACE = ("--mechanism", "laplace", "--epsilon", "1", "--rounds", "100", "--adjacency", "agent")


class PublicSets(C.Folder):
    def homes(self, line, *options):
        path = self.folder / "homes.tacit"
        path.write_text(HOMES % line)
        text, why = self.certify(path, *options)
        self.assertIsNotNone(text, why)
        return text

    def test_a_set_makes_noise_smaller_and_is_proved(self):
        for options, ratio in ((GAUSSIAN, 25.81 / 36.25), (LAPLACE, 90 / 177.6)):
            for placement in ("outputs", "states", "forms"):
                text = self.homes("  public set sum(p) <= 45\n", *options, "--placement", placement)
                plain = self.homes("", *options, "--placement", placement)
                self.assertIsNone(C.verdict(text, self.folder), (options, placement))
                with_set, without = (json.loads(t)["plan"] for t in (text, plain))
                self.assertEqual(with_set["public_sets"], ["home"])
                self.assertNotIn("public_sets", without)
                self.assertAlmostEqual(with_set["systems"][0]["scale"] / without["systems"][0]["scale"], ratio, 3)

    def test_the_clouds_file_gives_the_same_bytes(self):
        whole = self.homes("  public set sum(p) <= 45\n", *GAUSSIAN)
        self.assertEqual(C.tacit("split", self.folder / "homes.tacit", "-o", self.folder / "parts").returncode, 0)
        cloud, why = self.certify(self.folder / "parts/cloud.tacit", *GAUSSIAN)
        self.assertEqual(whole, cloud, why)

    def test_other_units_have_the_bytes_of_a_file_without_the_line(self):
        options = (*GAUSSIAN[:-1], "one:1")
        self.assertEqual(self.homes("  public set sum(p) <= 45\n", *options), self.homes("", *options))

    def test_random_problems_are_proved(self):
        made = seed = 0
        wrong = []
        while made < 25:
            problem = Problem(seed, capped=True)
            seed += 1
            for name, text in {"p.tacit": problem.text, **problem.files}.items():
                (self.folder / name).write_text(text)
            text, why = self.certify(self.folder / "p.tacit", *problem.options)
            if text is None:
                self.assertNotIn("error:", why, problem.text)
                continue
            made += 1
            why = C.verdict(text, self.folder)
            if why is not None:
                wrong.append(f"seed {seed - 1}, {' '.join(problem.options)}: {why}\n{problem.text}")
        self.assertFalse(wrong, "\n".join(wrong))
        self.assertLess(seed, 60)

    @C.of_the_verifier
    def test_forged_sets_are_refused_though_all_hashes_fit(self):
        for options in (GAUSSIAN, LAPLACE):
            listed = json.loads(self.homes("  public set sum(p) <= 45\n", *options))
            self.assertIsNone(C.verdict(C.write(listed, honest=True), self.folder))
            looser = json.loads(self.homes("  public set sum(p) <= 45.001\n", *options))
            wider = json.loads(self.homes("", *options))
            forged = [copy.deepcopy(listed) for _ in range(6)]
            forged[0]["model"] = looser["model"]                               # prices of a smaller set
            forged[1]["model"] = wider["model"]                                # prices of a set that is not there
            del forged[2]["plan"]["public_sets"]                               # a set that the plan does not name
            forged[3]["plan"]["public_sets"] = ["house"]
            forged[4]["model"]["families"][0]["public_set"][3] = 0.5           # a state that weighs less
            without_widening = (45 / (45 + 48 * 2.0 ** -18)) ** (0.5 if options is GAUSSIAN else 1)
            for system in forged[5]["plan"]["systems"]:
                system["scale"] *= without_widening
            for n, changed in enumerate(forged):
                with self.subTest(options=options, n=n):
                    self.assertIsNotNone(C.verdict(C.write(changed, honest=True), self.folder))

    @C.of_the_verifier
    def test_a_set_proves_nothing_in_another_unit(self):
        listed = json.loads(self.homes("", *GAUSSIAN[:-1], "one:1"))
        listed["plan"]["public_sets"] = ["home"]
        listed["model"]["families"][0] |= {"public_set": [1] * 24, "public_bound": [45]}
        self.assertIn("public_sets", C.verdict(C.write(listed, honest=True), self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
