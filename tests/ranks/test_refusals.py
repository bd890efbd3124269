"""What several ranks cannot have, and what they must have in common: a clear refusal each, said once. Ctrl-C, and a rank that
dies."""
# labels: once
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import problems
import ranks

MANY = pathlib.Path(os.environ["TACIT_BINARY_DIR"]) / "tacit-mpi"
TACIT = MANY.with_name("tacit")


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        for name in ("here", "there"):
            (cls.folder / name).mkdir()
            problems.write_data(cls.folder / name)
            problems.curved(cls.folder / name, "curved.tacit")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def refused(self, done, *sentences, code=2):
        self.assertEqual(done.returncode, code, done.stderr)
        for sentence in sentences:
            self.assertEqual(done.stderr.count(sentence), 1, done.stderr)

    def here(self, count, *words):
        return ranks.run(count, MANY, *words, cwd=self.folder / "here")

    def apart(self, *words):
        """The second rank works in another folder."""
        program = ("sh", "-c", 'cd "$(test "$OMPI_COMM_WORLD_RANK" = 0 && echo here || echo there)" && exec "$0" "$@"', MANY)
        return ranks.run(2, *program, *words, cwd=self.folder)

    def test_commands(self):
        self.refused(self.here(2, "solve", "curved.tacit"), "the exact solution needs the whole problem in one memory")
        self.refused(self.here(2, "serve", "curved.tacit", "--state", "x"), "a cloud is one process")
        self.refused(self.here(2, "agent", "a.tacit", "--cloud", "h:1", "--state", "x"), "an agent is a process by itself")
        self.refused(self.here(2, "keys", "keys"), "keys are made once")

    def test_the_first_rank_alone(self):
        done = self.here(2, "check", "curved.tacit")
        self.assertEqual((done.returncode, done.stdout.count("Assumptions")), (0, 1), done.stderr)

    def test_more_ranks_than_blocks(self):
        self.refused(self.here(9, "run", "curved.tacit", "--seed", "1"), "ranks would have nothing to do")

    def test_a_certificate_goes_where_the_first_rank_works(self):
        (self.folder / "here/out").mkdir()
        done = self.apart("plan", "curved.tacit", "--certificate", "out/c.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "here/out/c.json").exists())
        problems.write(self.folder / "here", "mine.txt", "not a certificate\n")
        self.refused(self.here(2, "plan", "curved.tacit", "--certificate", "mine.txt"), "mine.txt")

    def test_a_pipe_that_nobody_reads_yet(self):
        """mpirun's own standard output; ranks ask whether that is a terminal."""
        pipe = self.folder / "here/pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        with open(pipe, "wb") as writer:
            os.close(reader)
            done = subprocess.run(ranks.command(2, MANY, "check", "curved.tacit"), env=ranks.environment(), stdin=subprocess.DEVNULL,
                                  stdout=writer, stderr=subprocess.PIPE, text=True, cwd=self.folder / "here", timeout=60, check=False)
        self.assertNotIn("error", done.stderr)

    def test_standard_input(self):
        self.refused(self.here(2, "run", "-", "--seed", "1"), "standard input goes to one rank alone")

    def test_other_options(self):
        words = ["mpirun", "--quiet", "-n", "1", MANY, "run", "curved.tacit", "--seed", "1", ":", "-n", "1", MANY, "run",
                 "curved.tacit", "--seed", "2"]
        done = subprocess.run(words, env=ranks.environment(), capture_output=True, text=True, cwd=self.folder / "here",
                              timeout=60, check=False)
        self.refused(done, "rank 1 has other options or arguments than rank 0")

    def test_other_files(self):
        there = self.folder / "there"
        problems.curved(there, "curved.tacit", "laplace")
        self.refused(self.apart("run", "curved.tacit", "--seed", "1"), "rank 1 has another problem file than rank 0")
        problems.curved(there, "curved.tacit")
        problems.write_data(there, units=7001)
        self.refused(self.apart("run", "curved.tacit", "--seed", "1"), "'units.csv' differs between ranks: rank 0 reads")
        (there / "units.csv").unlink()
        self.refused(self.apart("run", "curved.tacit", "--seed", "1"), "rank 1 cannot read 'units.csv', which others can")
        self.refused(self.apart("run", "curved.tacit", "--seeds", "2"), "rank 1 failed", "cannot read 'units.csv'")
        problems.write_data(there)
        (there / "curved.tacit").unlink()
        done = self.apart("run", "curved.tacit", "--seed", "1", "--json")
        self.refused(done, "cannot read this file", "1 of 2 ranks cannot use it, rank 1 is the first")
        self.assertIn("rank 1 is the first", json.loads(done.stdout)["error"])
        problems.curved(there, "curved.tacit")

    def test_other_matrices(self):
        """Also where each rank works alone, and of parameters in an agent's block."""
        public = "param m = csv \"m.csv\"\nagent a { state x in [0, 9]; private minimize (x - m[1])^2; gap 99; slater x = 1 }\n"
        private = "agent a { private param m = csv \"m.csv\"; state x in [0, 9]; private minimize (x - m[1])^2; gap 99; slater x = 1 }\n"
        rest = ("agent b { state x in [0, 9]; private minimize x^2; gap 99; slater x = 1 }\nconstraint c: a.x + b.x <= 9\n"
                "privacy { mechanism laplace; epsilon 1; adjacency one 1 }\nschedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 3 }\n")
        for text in public, private:
            for name, number in (("here", 3), ("there", 4)):
                problems.write(self.folder / name, "m.tacit", text + rest)
                problems.write(self.folder / name, "m.csv", f"{number},2\n")
            for words in (("run", "m.tacit", "--seeds", "2"), ("sweep", "m.tacit", "--seeds", "2", "--points", "2")):
                with self.subTest(words=words, text=text):
                    done = self.apart(*words)
                    self.refused(done, "rank 1 has other data than rank 0")
                    self.assertEqual(done.stdout, "")
            with self.subTest(text=text):
                done = self.apart("run", "m.tacit", "--seed", "1")
                self.refused(done, "'m.csv' differs between ranks", "error: ")

    def test_other_names_of_members(self):
        for name, member in (("here", "b"), ("there", "c")):
            problems.write(self.folder / name, "names.csv", f"name,w\na,1\n{member},2\n")
            problems.write(self.folder / name, "names.tacit", """data units = csv "names.csv"
agents u over units { state x in [0, 9]; private minimize w * x^2; gap 999; slater x = 1 }
constraint c: sum(u: x) <= 9
privacy { mechanism laplace; epsilon 1; adjacency one 1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 3 }
""")
        for words in (("run", "names.tacit", "--seeds", "2"), ("sweep", "names.tacit", "--seeds", "2", "--points", "2")):
            with self.subTest(words=words):
                done = self.apart(*words)
                self.refused(done, "rank 1 has other data than rank 0")
                self.assertEqual(done.stdout, "")

    def test_a_program_without_mpi(self):
        """Each process would make a whole run, and pay for it."""
        done = ranks.run(2, TACIT, "run", "curved.tacit", "--seed", "1", cwd=self.folder / "here")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("none knows of the others", done.stderr)

    def test_wrong_option_is_said_once(self):
        self.refused(self.here(3, "run", "curved.tacit", "--sed", "1"), "did you mean --seed?")

    def test_files_that_cannot_be_written(self):
        problems.write(self.folder / "here", "mine.txt", "not a result\n")
        for words in (("run", "curved.tacit", "--seed", "1"), ("sweep", "curved.tacit", "--seeds", "1", "--points", "2")):
            for option in "--output", "--trace", "--report":
                with self.subTest(words=words, option=option):
                    done = self.here(2, *words, option, "mine.txt")
                    plain = subprocess.run([TACIT, *words, option, "mine.txt"], capture_output=True, text=True,
                                           cwd=self.folder / "here", check=False)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (plain.returncode, plain.stdout, plain.stderr))
                    self.assertNotEqual(done.returncode, 0)

    def long_run(self, *more, patience=10):
        """Long enough to be stopped. mpirun waits so many seconds before it asks, and again before it kills."""
        run = subprocess.Popen(["mpirun", "--mca", "odls_base_sigkill_timeout", str(patience), "-n", "2", MANY, "run", "curved.tacit",
                                "--seed", "1", "--rounds", "100000000", "--no-reference", "--json", *more], env=ranks.environment(), text=True, cwd=self.folder / "here",
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=True)
        deadline = time.monotonic() + 60
        children = []
        while len(children) < 2 and time.monotonic() < deadline:
            time.sleep(0.2)
            children = subprocess.run(["pgrep", "-P", str(run.pid), "-x", "tacit-mpi"], capture_output=True, text=True,
                                      check=False).stdout.split()
        self.assertEqual(len(children), 2)
        time.sleep(4)
        return run, [int(child) for child in children]

    @staticmethod
    def has_ended(pid):
        try:
            return "\nState:\tZ" in pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return True

    def end_of(self, run, children):
        """What mpirun has printed. After a signal Open MPI 4.1 sometimes waits for itself in PMIx_server_finalize, when its ranks
        have ended: then it is ended here. A rank that does not end is a failure."""
        try:
            return run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.assertEqual([pid for pid in children if not self.has_ended(pid)], [])
            run.kill()
            return run.communicate(timeout=60)

    def test_interrupt_prints_what_there_is(self):
        run, children = self.long_run()
        run.send_signal(signal.SIGTERM)
        out, messages = self.end_of(run, children)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("interrupted: this is how far it came", messages)
        self.assertIn('"outcome": "interrupted"', out)

    def test_a_file_is_whole_after_ctrl_c_to_mpirun(self):
        """Standard output is cut: mpirun forwards nothing while it waits for ranks to end, and has room for some kilobytes."""
        run, children = self.long_run("--output", "result.json", patience=3)
        run.send_signal(signal.SIGINT)
        out, _ = self.end_of(run, children)
        text = (self.folder / "here/result.json").read_text()
        result = json.loads(text)
        self.assertEqual((result["outcome"], len(result["x"])), ("interrupted", problems.UNITS + problems.STORES + 1))
        self.assertGreater(len(text), 100000)
        self.assertTrue(text.startswith(out.replace("\r", "")))
        self.assertEqual([path.name for path in (self.folder / "here").glob("result.json*")], ["result.json"])

    def test_a_rank_that_dies_ends_the_job(self):
        run, children = self.long_run()
        os.kill(children[1], signal.SIGKILL)
        out, messages = run.communicate(timeout=60)  # no signal to mpirun
        self.assertEqual(run.returncode, 128 + signal.SIGKILL)
        self.assertIn("rank 1", messages)
        self.assertIn("signal 9", messages)
        self.assertNotIn("outcome", out)


if __name__ == "__main__":
    unittest.main()
