"""One rank runs out of memory: it says so, and the job ends."""
# labels: once
import concurrent.futures
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
    def end(self, words, at):
        environment = ranks.environment(TACIT_FAIL_RANK="1", TACIT_FAIL_AT=str(at))
        return subprocess.run(ranks.command(2, PROGRAM, *words), env=environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, cwd=self.folder, timeout=60, check=False)

    def test_every_job_ends_with_the_reason(self):
        with tempfile.TemporaryDirectory() as self.folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
            problems.write_data(self.folder)
            problems.curved(self.folder, "curved.tacit")
            cases = [(words, at) for words in (("run", "curved.tacit", "--seed", "1"), ("run", "curved.tacit", "--seeds", "2"))
                     for at in FIRST]
            for (words, at), done in zip(cases, pool.map(lambda case: self.end(*case), cases)):
                with self.subTest(words=words, at=at):
                    self.assertEqual(done.returncode, 3, done.stderr)
                    for reason in REASONS:
                        self.assertEqual(done.stderr.count(reason), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
