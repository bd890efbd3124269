"""Ranks run out of memory: one of them says so, once, and the job ends."""
# labels: once
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import problems
import ranks

PROGRAM = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "tacit-mpi_with_memory_out"
REASONS = ("tacit: rank 1 failed", "out of memory")
FIRST = (1, 2, 3, 4, 7)  # the command itself, and loading


class Memory(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        problems.write_data(self.folder)
        problems.curved(self.folder, "curved.tacit")

    def end(self, words, at, who="1", count=2, **more):
        environment = ranks.environment(TACIT_FAIL_RANKS=who, TACIT_FAIL_AT=str(at), **more)
        return subprocess.run(ranks.command(count, PROGRAM, *words), env=environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, cwd=self.folder, timeout=60, check=False)

    def expect_one_object(self, done):
        self.assertEqual(done.returncode, 3, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["ok"], found["exit_code"]), (False, 3))
        self.assertIn("out of memory", found["error"])
        self.assertIn("out of memory", done.stderr)

    def test_of_two_that_fail_while_another_waits_one_prints_an_object(self):
        self.expect_one_object(self.end(("run", "curved.tacit", "--seed", "1", "--json"), 7, who="12", count=3, TACIT_FAIL_ONCE="1"))
        self.expect_one_object(self.end(("run", "curved.tacit", "--seed", "1", "--json"), 7, who="01", count=3, TACIT_FAIL_ONCE="1"))

    def test_after_the_rounds_the_reason_is_no_note_of_before(self):
        """Nor does a rank that prints nothing need memory then."""
        words = ("run", "curved.tacit", "--seed", "1", "--rounds", "2", "--json")
        whole = self.end(words, 0, who="0")
        last = int(whole.stderr.split("allocations: ")[1].split()[0])
        ends = [self.end(words, at, who="0", TACIT_FAIL_ONCE="1") for at in range(last, last - 10, -2)]
        self.assertIn(3, [done.returncode for done in ends])
        for done in ends:
            if done.returncode != 0:
                self.expect_one_object(done)
            else:
                self.assertNotIn("ok", json.loads(done.stdout))

    def test_every_job_ends_with_the_reason(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            cases = [(words, at) for words in (("run", "curved.tacit", "--seed", "1"), ("run", "curved.tacit", "--seeds", "2"))
                     for at in FIRST]
            for (words, at), done in zip(cases, pool.map(lambda case: self.end(*case), cases)):
                with self.subTest(words=words, at=at):
                    self.assertEqual(done.returncode, 3, done.stderr)
                    for reason in REASONS:
                        self.assertEqual(done.stderr.count(reason), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
