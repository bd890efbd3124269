"""The paper's two experiments. It ran each once; a run is one draw from a distribution, so each published figure must
lie within what forty seeds of the published scheme show. If it were a further draw from the same distribution, it would
fall outside the forty with probability 2/41. With eight figures this test would fail for about one choice of seeds in
three. It is a check of scale and shape, not of the last digit, and the seeds are fixed."""
# labels: long once
import json
import os
import pathlib
import subprocess
import unittest

TACIT = os.environ["TACIT"]
PAPER = str(pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples/paper.tacit")
PUBLISHED = {  # after 50,000 and after 100,000 rounds: error of x, error of mu
    "laplace": ((0.7658, 0.2225), (0.2706, 0.2842)),
    "gaussian": ((1.7857, 0.2500), (1.1965, 0.7413)),
}


def run(*arguments):
    done = subprocess.run([TACIT, "run", PAPER, *arguments, "--json"], capture_output=True, text=True, timeout=1200)
    return json.loads(done.stdout)


class Reproduction(unittest.TestCase):
    def check(self, mechanism):
        found = run("--mechanism", mechanism, "--calibration", "published", "--constants", "declared",
                    "--seeds", "40")["summary"]
        self.assertEqual(found["runs"], 40)
        self.assertEqual((found["half"]["k"], found["k"]), (50000, 100000))
        for at, figures in zip((found["half"], found), PUBLISHED[mechanism]):
            for name, figure in zip(("x_error", "mu_error"), figures):
                self.assertLessEqual(at[name]["min"], figure, (mechanism, at["k"], name))
                self.assertGreaterEqual(at[name]["max"], figure, (mechanism, at["k"], name))

    def test_laplace_noise_covers_the_published_errors(self):
        self.check("laplace")

    def test_gaussian_noise_covers_the_published_errors(self):
        self.check("gaussian")

    def test_without_noise_it_converges(self):
        found = run("--mechanism", "none", "--rounds", "300000", "--method", "published")
        errors = [row["x_error"] for row in found["checkpoints"] if 1000 <= row["k"] <= 200000]
        self.assertGreater(errors[0], 5)
        for before, after in zip(errors, errors[1:]):
            self.assertLess(after, before)
        self.assertLess(found["final"]["x_error"], 0.05)
        self.assertLess(found["final"]["mu_error"], 0.01)

    def test_the_start_is_the_published_one(self):
        for method in ("published", "tacit"):
            start = run("--mechanism", "none", "--rounds", "2", "--method", method)["checkpoints"][0]
            self.assertEqual(start["k"], 0)
            self.assertAlmostEqual(start["x_error"], 13.19, places=2)
            self.assertAlmostEqual(start["mu_error"], 2.169, places=3)


if __name__ == "__main__":
    unittest.main()
