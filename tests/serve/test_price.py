"""What a run costs is one number, the price of the observer who pays most, wherever it is said: plan, card, run, ledger, trace,
the cloud's pages and its summary; on all examples, calibrations and units."""
# labels: long not-asan not-clang

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request

import parties
from parties import PATIENCE

TACIT = os.environ["TACIT"]
EXAMPLES = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples"

# Thirty agents under one squared sum: in the published calibration an eavesdropper pays for all thirty-one systems.
CROWD = """agents a[i in 1..30] {
  state x in [0, 1]
  private minimize (x - 1)^2
}
constraint c: sum(a: x)^2 <= 100
dual radius 9
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 20 }
"""

GAUSSIAN = ("--mechanism", "gaussian", "--delta", "1e-6")
LAPLACE = ("--mechanism", "laplace")


def json_of(*arguments):
    done = subprocess.run([TACIT, *map(str, arguments), "--json"], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode > 1:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Price(unittest.TestCase):
    def cases(self):
        for mechanism in (LAPLACE, GAUSSIAN):
            yield "paper", (*mechanism, "--calibration", "published", "--adjacency", "ensemble:1")
            yield "robots", (*mechanism, "--calibration", "published", "--adjacency", "ensemble:2")
            yield "crowd", (*mechanism, "--calibration", "published", "--adjacency", "ensemble:1")
            yield "num", (*mechanism, "--adjacency", "ensemble:1")
            yield "paper", (*mechanism, "--adjacency", "one:1")
            yield "num", (*mechanism, "--adjacency", "agent", "--epsilon", "5")
            yield "ev", (*mechanism, "--adjacency", "agent")
            yield "ev", (*mechanism, "--adjacency", "one:1")
            yield "ev", (*mechanism, "--adjacency", "ensemble:1", "--calibration", "published")

    def path_of(self, name, folder):
        if name != "crowd":
            return EXAMPLES / f"{name}.tacit"
        path = folder / "crowd.tacit"
        path.write_text(CROWD)
        return path

    def pages(self, cloud_file, keys, folder, options):
        """Epsilon and delta of /status and /metrics, and the summary of a cloud that is stopped at once."""
        ports = folder / "ports"
        ports.unlink(missing_ok=True)
        cloud = parties.Process("cloud", folder, [TACIT, "serve", cloud_file, *options, "--keys", keys / "cloud", "--state",
                                                  tempfile.mkdtemp(dir=folder), "--listen", "127.0.0.1:0", "--http",
                                                  "127.0.0.1:0", "--port-file", ports, "--json"])
        self.addCleanup(cloud.kill)
        parties.Parties.wait_for(lambda: ports.exists() and ports.read_text().endswith("\n"), what="the cloud's ports")
        http = ports.read_text().split()[1]
        texts = [urllib.request.urlopen(f"http://127.0.0.1:{http}/{page}", timeout=PATIENCE).read().decode()
                 for page in ("status", "metrics")]
        status = json.loads(texts[0])
        metrics = [float(re.search(rf"^tacit_{name} (\S+)$", texts[1], re.M)[1]) for name in ("epsilon", "delta")]
        self.assertEqual(cloud.stop(), 0, cloud.err)
        self.assertEqual(status["private"], cloud.json()["private"])
        return (status["epsilon"], status["delta"]), tuple(metrics), cloud.json()

    def test_it_is_said_the_same_everywhere(self):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            keys = folder / "keys"
            subprocess.run([TACIT, "keys", "init", keys], check=True, capture_output=True)
            for name, options in self.cases():
                with self.subTest(problem=name, options=options):
                    self.compare(name, (*options, "--rounds", "20"), folder, keys)

    def compare(self, name, options, folder, keys):
        path = self.path_of(name, folder)
        parts = folder / name
        if not parts.exists():
            subprocess.run([TACIT, "split", path, "-o", parts], check=True, capture_output=True)
        plan = json_of("plan", path, *options, "--ledger", folder / "none")
        price = (max(o["epsilon"] for o in plan["observers"]), max(o["delta"] for o in plan["observers"]))
        if "published" in options and name != "ev":  # affine constraints: one system alone costs anything
            self.assertGreater(price[0], 1.1 * plan["epsilon"])
        said = {"card": (plan["card"]["epsilon_of_everything"], price[1]),
                "plan adds": (plan["ledger"]["adds"]["epsilon"], plan["ledger"]["adds"]["delta"])}
        ledger, trace = folder / "spent", folder / "trace.csv"
        ledger.unlink(missing_ok=True)
        trace.unlink(missing_ok=True)
        run = json_of("run", path, *options, "--no-reference", "--ledger", ledger, "--trace", trace)
        line, = (json.loads(line) for line in ledger.read_text().splitlines())
        fact = re.search(r"costs.*?epsilon ([0-9.e+-]+?)(?:, delta ([0-9.e+-]+))? \(", trace.read_text())
        status, metrics, served = self.pages(parts / "cloud.tacit", keys, folder, options)
        said |= {"run": (run["guarantee"]["epsilon"], run["guarantee"]["delta"]),
                 "run's card": (run["card"]["epsilon_of_everything"], price[1]),
                 "ledger": (line["epsilon"], line["delta"]),
                 "trace": (float(fact[1]), float(fact[2] or 0)),
                 "status": status, "metrics": metrics,
                 "summary": (served["guarantee"]["epsilon"], served["guarantee"]["delta"])}
        self.assertEqual({where: number for where, number in said.items() if number != price}, {}, price)


if __name__ == "__main__":
    unittest.main()
