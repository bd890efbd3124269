"""tacit-node, the commands of a cloud and of agents alone: nothing that is for studies is linked into it, and a run on a
network with it ends as one in a process."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "tests" / "serve"))
import parties  # noqa: E402

BINARY = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
NODE = BINARY / "tacit-node"
FOR_STUDIES = ("theory", "reference", "audit", "lab", "report", "cli_study")
PROBLEM = """agent a { state x in [-10, 10]
  private minimize (x - 3)^2
  gap 100
  slater x = -1 }
agent b { state x in [-10, 10]
  private minimize (x - 2)^2
  gap 100
  slater x = -1 }
constraint c: a.x + b.x <= 1
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { rounds 50 }
"""


def symbols(path, *options):
    """Names that are defined in a program or an archive."""
    done = subprocess.run(["nm", "--defined-only", *options, str(path)], capture_output=True, text=True, check=True)
    return {line.split()[2] for line in done.stdout.splitlines() if len(line.split()) == 3}


class Node(unittest.TestCase):
    def test_nothing_for_studies_is_in_it(self):
        node, command = symbols(NODE), symbols(BINARY / "tacit")
        for folder in FOR_STUDIES:
            with self.subTest(folder):
                names = {name for name in symbols(BINARY / f"libtc_{folder}.a", "-g") if name.startswith("tc_")}
                self.assertTrue(names & command)  # the test would see them
                self.assertFalse(names & node)
        self.assertLessEqual({"tc_server_run", "tc_agent_new"}, node)

    def test_a_run_ends_as_in_a_process(self):
        with parties.Parties(PROBLEM) as place:
            expected = place.in_process(seed=7)
            parties.TACIT = str(NODE)
            place.tacit("keys", "check", place.keys / "cloud")
            place.start_cloud(seed=7)
            place.start_agents()
            summary = place.finish()
            self.assertEqual(summary["outcome"], "done")
            self.assertEqual(summary["answer"], expected["mu"])
            for name, result in place.results().items():
                self.assertEqual(result["x"], {name: expected["x"][name]})

    def test_it_has_no_other_command(self):
        done = subprocess.run([NODE, "run", "x.tacit"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no command 'run'", done.stderr)


if __name__ == "__main__":
    unittest.main()
