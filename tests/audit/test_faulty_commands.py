"""The whole command with a fault linked in: tacit audit must end with exit code 1, for the expected reason."""
import json
import os
import pathlib
import subprocess
import unittest

BINARY = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"


def audit(fault, file, *options):
    command = [str(BINARY / f"tacit_with_{fault}"), "audit", str(EXAMPLES / file), "--seed", "1", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


class Faults(unittest.TestCase):
    def refuted(self, fault, kind):
        for file in ("paper.tacit", "num.tacit", "robots.tacit"):
            for method, placement in (("published", "outputs"), ("tacit", "states")):
                code, answer = audit(fault, file, "--samples", "2000", "--placement", placement, "--method", method)
                self.assertEqual((code, answer["refuted"]), (1, True), (file, method, placement))
                self.assertIn(kind, [f["kind"] for f in answer["faults"]], (file, method, placement))

    def test_noise_halved(self):
        self.refuted("noise_halved", "noise")
        for mechanism in ("laplace", "gaussian"):
            code, answer = audit("noise_halved", "paper.tacit", "--samples", "8000", "--placement", "states",
                                 "--mechanism", mechanism, *(("--delta", "0.01") if mechanism == "gaussian" else ()))
            self.assertEqual(code, 1)
            self.assertTrue(answer["systems"][0]["refuted"], mechanism)

    def test_noise_forgotten(self):
        self.refuted("noise_forgotten", "support")

    def test_noise_reused(self):
        self.refuted("noise_reused", "reuse")

    def test_noise_in_floating_point(self):
        self.refuted("noise_in_floating_point", "lattice")


if __name__ == "__main__":
    unittest.main()
