"""The interface of ranks by MPI: sums, gathers, chains, agreement; a rank that fails alone ends the job."""
# labels: once
import os
import pathlib
import unittest

import ranks

PROGRAM = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "ranks_interface"


class Interface(unittest.TestCase):
    def test_calls(self):
        for count in (1, 2, 3, 7):
            with self.subTest(ranks=count):
                done = ranks.run(count, PROGRAM)
                self.assertEqual((done.returncode, done.stdout), (0, f"{count} ranks\n"), done.stderr)

    def test_without_mpirun(self):
        done = ranks.subprocess.run([PROGRAM], env=ranks.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "1 ranks\n"), done.stderr)

    def test_one_fails_alone(self):
        done = ranks.run(3, PROGRAM, "alone")
        self.assertEqual(done.returncode, 3)
        self.assertIn("rank 2 failed alone\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
