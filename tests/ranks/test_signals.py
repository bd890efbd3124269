"""A signal to ranks that check or plan a spread problem, or that make runs, each alone: none is left waiting for another. A rank that leaves a loop alone would be
waited for for a minute."""
# labels: long once
import contextlib
import json
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
PAPER = pathlib.Path(os.environ["TACIT_SOURCE_DIR"]) / "examples/paper.tacit"


def catches_interrupts(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    caught = int(next(line for line in lines if line.startswith("SigCgt")).split()[1], 16)
    return bool(caught >> (signal.SIGINT - 1) & 1)


def is_rank(pid):
    """No longer mpirun's own child, which has its handlers."""
    return os.readlink(f"/proc/{pid}/exe") == str(test_shapes.SPREAD.resolve())


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

    def run_told(self, command, after=None, which=None):
        """Exit code, output, and seconds from when the ranks listen; after so many a signal goes to one rank or to all."""
        with ranks.start(RANKS, test_shapes.SPREAD, command, "p.tacit", cwd=self.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as job:
            pids, began = listening(job), time.monotonic()
            time.sleep(after or 0)
            for pid in pids if which is None else pids[which:which + 1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGINT if after is not None else 0)
            try:
                output, errors = job.communicate(timeout=BOUND)
            except subprocess.TimeoutExpired:
                job.terminate()  # ends the ranks too
                raise
        if job.returncode == 3:
            self.assertIn(errors, ("tacit: interrupted\n", "p.tacit: error: interrupted\n"))  # at work, and while loading
        return job.returncode, output, time.monotonic() - began

    def test_no_rank_is_left_waiting(self):
        """At parts of the time that the command takes. Where it was done before, all was printed."""
        stopped = 0
        for command, cases in (("check", ((0.1, 0), (0.4, 2), (0.7, None))), ("plan", ((0.0, 1), (0.3, None), (0.6, 0)))):
            code, whole, seconds = self.run_told(command)
            self.assertEqual(code, 0)
            for part, which in cases:
                with self.subTest(command=command, part=part, which=which):
                    code, output, _ = self.run_told(command, part * seconds, which)
                    stopped += code == 3
                    self.assertTrue(code == 3 or output == whole, f"{code}\n{output}")
        self.assertGreater(stopped, 2)

    def test_a_signal_to_one_rank_stops_the_runs_of_all(self):
        for which in 0, 1:
            with self.subTest(which=which), ranks.start(
                    RANKS, test_shapes.SPREAD, "run", PAPER, "--seeds", "6", "--rounds", "20000000", "--threads", "1", "--no-reference",
                    "--json", cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                pids = listening(job)
                time.sleep(3)
                os.kill(int(pids[which]), signal.SIGINT)
                try:
                    output, errors = job.communicate(timeout=BOUND)
                except subprocess.TimeoutExpired:
                    job.terminate()
                    raise
                self.assertEqual((job.returncode, errors), (3, "tacit run: interrupted: this is how far it came\n"))
                self.assertEqual([run["outcome"] for run in json.loads(output)["runs"]], ["interrupted"] * RANKS)

    def test_a_signal_to_a_rank_that_is_done_cuts_nothing(self):
        """The file is written before anything is printed."""
        path = self.folder / "late.json"
        with ranks.start(RANKS, test_shapes.SPREAD, "run", "p.tacit", "--seed", "1", "--rounds", "2", "--json", "--output", path.name,
                         cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            pids, until = listening(job), time.monotonic() + 2 * BOUND
            while not path.exists() and time.monotonic() < until:
                time.sleep(0.005)
            for pid in pids[1:]:
                os.kill(int(pid), signal.SIGTERM)
            output, errors = job.communicate(timeout=2 * BOUND)
        self.assertEqual(job.returncode, 0, errors)
        self.assertEqual(output, path.read_text())

    def test_either_signal_is_heard_from_the_same_moment_on(self):
        """A rank that waits for the others' start, with whom it compares its words."""
        for which in 0, 1, 2, 1, 2:
            with self.subTest(which=which), ranks.start(RANKS, test_shapes.SPREAD, "run", PAPER, "--rounds", "20000000", "--seed", "1",
                                                        "--no-reference", "--json", cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
                pid, until = None, time.monotonic() + BOUND
                while pid is None and time.monotonic() < until:
                    children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
                    with contextlib.suppress(OSError):
                        pid = next((p for p in children[which:which + 1] if is_rank(p) and catches_interrupts(p)), None)
                os.kill(int(pid), signal.SIGTERM)
                output, errors = job.communicate(timeout=BOUND)
                self.assertEqual(job.returncode, 3, errors)
                self.assertEqual(type(json.loads(output)), dict)  # one object

    def test_a_signal_to_a_rank_that_waits_stops_the_one_that_works(self):
        with ranks.start(RANKS, test_shapes.SPREAD, "audit", PAPER, "--samples", "100000000", cwd=self.folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as job:
            pids = listening(job)
            time.sleep(2)
            os.kill(int(pids[1]), signal.SIGTERM)
            try:
                _, errors = job.communicate(timeout=BOUND)
            except subprocess.TimeoutExpired:
                job.terminate()
                raise
        self.assertEqual(job.returncode, 3, errors)


if __name__ == "__main__":
    unittest.main()
