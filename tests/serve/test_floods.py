"""A cloud that is flooded with what TLS allows and nobody needs: whoever does it is ended, and named in the log with his
address and his certificate; and the run that comes after has the bits that it has in one process. How fast rounds go
meanwhile is measured by soak_floods.py."""

import contextlib
import os
import pathlib
import subprocess
import unittest

import town
from parties import PATIENCE, Late, Parties

FLOOD = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "tacit_flood"
HOLLOW = "too many records without data, such as key updates"


class Floods(unittest.TestCase):
    def flood(self, parties, kind, port=None, seconds=0.5):
        done = subprocess.run([FLOOD, kind, str(port or parties.port), parties.key_folders["stranger"], str(seconds)],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout.split()[0]), 0)
        return done.stdout

    def flood_until(self, parties, kind, event, before):
        """A busy machine may send too little in half a second for the cloud to mind: then longer."""
        for seconds in (0.5, 2, 8, 30):
            self.flood(parties, kind, seconds=seconds)
            with contextlib.suppress(Late):
                return town.await_event(parties.cloud, event, 10, more_than=before)
        self.fail(f"nobody minds {kind}: {parties.cloud.err[-2000:]}")

    def test_who_floods_is_ended_and_named(self):
        with Parties(town.problem(3), options=town.options(50)) as p:
            p.issue(["stranger"])
            p.start_cloud("--log", "json", "--log-level", "debug", seed=town.SEED)
            for kind, event, why in (("updates", "connection-refused", HOLLOW), ("empty", "connection-refused", HOLLOW),
                                     ("warnings", "connection-failed", "too many warn alerts"),
                                     ("refused", "connection-refused", "too much of what it said was refused"),
                                     ("deaf", "connection-refused", "too much of what it said was refused"),
                                     ("fragments", "connection-refused", None)):
                with self.subTest(kind):
                    before = len(town.events(p.cloud, event))
                    line = self.flood_until(p, kind, event, before)
                    self.assertEqual(line["certificate"], "stranger", line)
                    self.assertRegex(line["address"], r"^127\.0\.0\.1:\d+$")
                    if why is not None:
                        self.assertTrue(town.events(p.cloud, event, why=why), p.cloud.err[-2000:])
            for kind in ("hello", "half", "churn", "names", "silent"):
                with self.subTest(kind):
                    self.flood(p, kind)
            for kind in ("http", "trickle"):
                with self.subTest(kind):
                    self.flood(p, kind, p.http_port)
            self.assertIn('"round"', town.page(p.http_port, "status"))
            p.start_agents()
            town.same_bits(self, p, p.finish())


if __name__ == "__main__":
    unittest.main()
