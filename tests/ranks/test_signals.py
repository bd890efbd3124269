"""A signal to ranks that check or plan a spread problem: none is left waiting for another. A rank that leaves a loop alone would be
waited for for a minute."""
# labels: long once
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import ranks
import test_shapes
import test_slices

MEMBERS = 300000  # seconds of work
BOUND = 30        # seconds


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        rows = test_slices.rows(10000)
        test_slices.homes(cls.folder / "by_cap.npy", rows * (MEMBERS // len(rows)))
        parts = {**test_shapes.USUAL, **test_shapes.BOXES, "constraint": "sum(home: cap * p[1] + p[2]) <= 9000000",
                 "lines": "private set norm(p) <= need + 2"}
        (cls.folder / "p.tacit").write_text(test_shapes.PROBLEM.format(**parts))

    def told(self, command, after, which):
        """The exit code, after a signal to one rank or to all."""
        with ranks.start(3, test_shapes.SPREAD, command, "p.tacit", cwd=self.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as job:
            time.sleep(after)
            pids = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True, check=False).stdout.split()
            for pid in pids if which is None else pids[which:which + 1]:
                os.kill(int(pid), signal.SIGINT)
            try:
                _, errors = job.communicate(timeout=BOUND)
            except subprocess.TimeoutExpired:
                job.terminate()  # ends the ranks too
                raise
        if job.returncode == 3:
            self.assertEqual(errors, "tacit: interrupted\n")
        return job.returncode

    def test_no_rank_is_left_waiting(self):
        codes = [self.told(*case) for case in (("check", 1.0, 0), ("check", 2.0, 2), ("check", 3.0, None), ("plan", 0.8, 1),
                                               ("plan", 1.4, None), ("plan", 2.0, 0))]
        self.assertTrue(set(codes) <= {0, 3}, codes)  # 0: it was done before
        self.assertIn(3, codes)


if __name__ == "__main__":
    unittest.main()
