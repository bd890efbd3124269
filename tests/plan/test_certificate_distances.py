"""Certificates of the units agent:D and data: proved on the examples, on data and on random problems, and refused where a
distance, or what is made of it, was forged."""
# labels: not-clang
import copy
import json
import unittest

import test_certificate as C
from certificate_problems import Problem

CLOUD = """role cloud
agents home[i in 1..30] {
  state p[4] in [0, 7.4]
  range need in [0, 40], pref[4] in [0, 7.4], weight in [0.5, 2]
  protect need by 5, pref by 0.5
  distance need { l1 5; l2 5 }
  distance pref { l1 2; l2 1 }
  gap 9; slater p = 0.5
}
agents shop[i in 1..5] {
  state q[2] in [-1, 3]
  %s
  gap 9; slater q = 0
}
constraint feeder[t in 1..4]: sum(home: p[t]) + sum(shop: 2 * q[1]) <= 100
constraint shops: sum(shop: q[2]) <= 9
"""
WHOLE = """data homes = csv "homes.csv"
agents home over homes {
  state p[4] in [0, 7]
  private set sum(p) >= need
  private minimize weight * sumsq(p - pref)
  range need in [0, 16], pref in [0, 7], weight in [0.5, 2]
  protect need by 5, pref by 0.5
  slater p = 4.1
}
constraint feeder[t in 1..4]: sum(home: p[t]) <= 200
"""
HOMES = "need,weight,pref_1,pref_2,pref_3,pref_4\n" + 30 * "12,1.5,1,2,3,4\n"
STOCK = "range stock in [0, 9]; protect stock by 1; distance stock { l1 0.3; l2 0.2 }"
GAUSSIAN = ("--mechanism", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--rounds", "100", "--adjacency")
LAPLACE = ("--mechanism", "laplace", "--epsilon", "1", "--rounds", "100", "--adjacency")


class Distances(C.Folder):
    def cloud(self, of_shops, *options):
        path = self.folder / "cloud.tacit"
        path.write_text(CLOUD % of_shops)
        text, why = self.certify(path, *options)
        self.assertIsNotNone(text, why)
        return text

    def test_data_are_proved_wherever_the_noise_is(self):
        for options in (GAUSSIAN, LAPLACE):
            for of_shops in (STOCK, ""):
                for placement in ("outputs", "states", "forms"):
                    text = self.cloud(of_shops, *options, "data", "--placement", placement)
                    self.assertIsNone(C.verdict(text, self.folder), (options, of_shops, placement))
                    home, shop = json.loads(text)["plan"]["distances"]
                    self.assertEqual([d["name"] for d in home["data"]], ["need", "pref"])
                    self.assertAlmostEqual(home["distance"], 6 if options is GAUSSIAN else 7, 4)
                    self.assertGreater(home["distance"], 6 if options is GAUSSIAN else 7)
                    self.assertEqual(shop["reach"] > 0, bool(of_shops))

    def test_the_clouds_file_gives_the_same_bytes(self):
        """Distances are found in the whole problem, and said in the cloud's file."""
        path = self.folder / "whole.tacit"
        path.write_text(WHOLE)
        (self.folder / "homes.csv").write_text(HOMES)
        for options in (GAUSSIAN, LAPLACE):
            for unit in ("data", "agent:2"):
                whole, why = self.certify(path, *options, unit)
                self.assertIsNotNone(whole, why)
                parts = self.folder / f"parts-{options[1]}-{unit}"
                self.assertEqual(C.tacit("split", path, "-o", parts).returncode, 0)
                cloud, why = self.certify(parts / "cloud.tacit", *options, unit)
                self.assertEqual(whole, cloud, why)
                self.assertIsNone(C.verdict(whole, self.folder), (options, unit))
                self.assertNotIn("weight", whole)  # private, and not protected

    def test_examples_are_proved_within_a_distance(self):
        for name in ("ev", "num", "paper", "robots"):
            for options in (GAUSSIAN, LAPLACE):
                for placement in ("states", "forms"):
                    text, why = self.certify(C.SOURCE / f"examples/{name}.tacit", *options, "agent:0.7", "--placement", placement)
                    if text is None:
                        self.assertIn("not affine", why, (name, placement))
                        continue
                    self.assertIsNone(C.verdict(text, self.folder), (name, options, placement))

    def test_random_problems_are_proved_within_a_distance(self):
        made, wrong = 0, []
        for seed in range(2000, 2040):
            problem = Problem(seed)
            if "published" in problem.options[problem.options.index("--rounds"):][:4]:
                continue
            options = list(problem.options)
            at = options.index("--adjacency") + 1
            options[at] = f"agent:{[0.01, 0.7, 3, 50][seed % 4]}"
            for name, text in {"p.tacit": problem.text, **problem.files}.items():
                (self.folder / name).write_text(text)
            text, why = self.certify(self.folder / "p.tacit", *options)
            if text is None:
                self.assertNotIn("error:", why, problem.text)
                continue
            made += 1
            why = C.verdict(text, self.folder)
            if why is not None:
                wrong.append(f"seed {seed}, {' '.join(options)}: {why}\n{problem.text}")
        self.assertFalse(wrong, "\n".join(wrong))
        self.assertGreater(made, 12)

    @C.of_the_verifier
    def test_forged_distances_are_refused_though_all_hashes_fit(self):
        for options in (GAUSSIAN, LAPLACE):
            for placement in ("outputs", "states"):
                listed = json.loads(self.cloud(STOCK, *options, "data", "--placement", placement))
                self.assertIsNone(C.verdict(C.write(listed, honest=True), self.folder))
                forged = {name: copy.deepcopy(listed) for name in
                          ("datum", "sum", "steps", "reach", "missing", "unit", "nothing", "method", "lattice", "rounds", "name")}
                forged["datum"]["plan"]["distances"][0]["data"][0]["distance"] *= 1.001  # more than was paid for
                forged["sum"]["plan"]["distances"][0]["distance"] *= 1 - 1e-6
                forged["steps"]["plan"]["distances"][0]["steps"] /= 2
                forged["reach"]["plan"]["distances"][1]["reach"] *= 1 - 1e-6
                del forged["missing"]["plan"]["distances"][1]
                forged["unit"]["plan"]["unit"] = "agent"  # all that an agent can do, at the price of its data
                forged["nothing"]["plan"]["distances"][0]["data"] = []
                forged["method"]["plan"]["method"] = "published"
                forged["lattice"]["plan"]["distances"][0]["reach"] = forged["lattice"]["plan"]["distances"][0]["distance"]
                forged["rounds"]["plan"]["rounds"] = 101
                forged["name"]["plan"]["distances"][0]["family"] = "shop"
                for name, changed in forged.items():
                    with self.subTest(options=options, placement=placement, forged=name):
                        self.assertIsNotNone(C.verdict(C.write(changed, honest=True), self.folder))

    @C.of_the_verifier
    def test_a_family_s_price_cannot_be_paid_by_another(self):
        """Distances of two families that change places: the noise was for the others."""
        listed = json.loads(self.cloud(STOCK, *GAUSSIAN, "data", "--placement", "states"))
        first, second = listed["plan"]["distances"]
        for key in ("data", "distance"):
            first[key], second[key] = second[key], first[key]
        self.assertIsNotNone(C.verdict(C.write(listed, honest=True), self.folder))

    @C.of_the_verifier
    def test_distances_prove_nothing_in_another_unit(self):
        listed = json.loads(self.cloud(STOCK, *GAUSSIAN, "one:1"))
        self.assertNotIn("distances", listed["plan"])
        listed["plan"]["distances"] = json.loads(self.cloud(STOCK, *GAUSSIAN, "data"))["plan"]["distances"]
        self.assertIn("distances", C.verdict(C.write(listed, honest=True), self.folder))


if __name__ == "__main__":
    unittest.main(verbosity=2)
