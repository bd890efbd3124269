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
RANKS = 3


def catches_interrupts(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = int(next(line for line in lines if line.startswith("SigCgt")).split()[1], 16)
    return bool(caught >> (signal.SIGINT - 1) & 1)


def listening(job):
    """The ranks, once all of them listen to signals: before that a signal simply ends them."""
    until = time.monotonic() + BOUND
    while time.monotonic() < until:
        pids = subprocess.run(["pgrep", "-P", str(job.pid)], capture_output=True, text=True, check=False).stdout.split()
        if len(pids) == RANKS and all(map(catches_interrupts, pids)):
            return pids
        time.sleep(0.02)
    raise AssertionError("the ranks did not start")


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
        with ranks.start(RANKS, test_shapes.SPREAD, command, "p.tacit", cwd=self.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as job:
            pids = listening(job)
            time.sleep(after)
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
        codes = [self.told(*case) for case in (("check", 0.2, 0), ("check", 1.0, 2), ("check", 2.0, None), ("plan", 0.0, 1),
                                               ("plan", 0.5, None), ("plan", 1.2, 0))]
        self.assertTrue(set(codes) <= {0, 3}, codes)  # 0: it was done before
        self.assertIn(3, codes)


if __name__ == "__main__":
    unittest.main()
