"""FILE may be -: the problem from standard input."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import tempfile
import time
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PROBLEM = """
data homes = csv "homes.csv"
agents home over homes {
  state p in [0, 3]
  private minimize (p - need)^2
  gap 10; slater p = 0.5
}
constraint c: sum(home: p) <= 4
privacy { mechanism gaussian; epsilon 1; delta 1e-5; adjacency one 0.1 }
schedule { alpha 0.1 k^-0.3; gamma 0.01 k^-0.52; rounds 50 }
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "homes.csv").write_text("need\n1\n2\n2.5\n")
        (self.folder / "p.tacit").write_text(PROBLEM)

    def tacit(self, *arguments, text=None, code=0):
        done = subprocess.run([TACIT, *arguments], input=text, capture_output=True, text=True, timeout=600, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class StandardInput(Folder):
    def test_every_command_for_problems_reads_it(self):
        seeded = ("--seed", "3")
        for command, *options in (("check",), ("solve",), ("plan",), ("run", *seeded), ("sweep", "--epsilons", "0.5,1", "--seeds", "3"),
                                  ("bound", "--method", "published"), ("audit", "--samples", "2000", *seeded)):
            with self.subTest(command):
                from_file = subprocess.run([TACIT, command, "p.tacit", "--json", *options], capture_output=True, text=True, cwd=self.folder)
                self.assertLess(from_file.returncode, 2, from_file.stderr)
                done = self.tacit(command, "-", "--json", *options, text=PROBLEM, code=from_file.returncode)
                self.assertEqual(self.keys(done.stdout), self.keys(from_file.stdout))
                self.assertEqual(done.stderr.replace("<stdin>", "p.tacit"), from_file.stderr)
                if command in ("solve", "plan", "bound"):
                    self.assertEqual(self.untimed(done.stdout), self.untimed(from_file.stdout))

    def keys(self, text):
        return sorted(json.loads(text))

    def untimed(self, text):
        return re.sub(r'"(seconds|[a-z_]*_seconds)": *[-0-9.e+]+', "", text.replace("<stdin>", "p.tacit"))

    def test_split_reads_it(self):
        self.tacit("split", "-", "-o", "one", text=PROBLEM)
        self.tacit("split", "p.tacit", "-o", "two")
        names = sorted(str(p.relative_to(self.folder / "one")) for p in (self.folder / "one").rglob("*") if p.is_file())
        self.assertIn("cloud.tacit", names)
        for name in names:
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes())

    def test_messages_call_it_stdin(self):
        done = self.tacit("check", "-", text="agent a { state x in [0, 1] }\n", code=2)
        self.assertIn("<stdin>:1:7: error: 'a' has no objective", done.stderr)
        self.assertEqual(self.tacit("check", "-", text="", code=2).stderr, "<stdin>: error: this file is empty\n")
        done = self.tacit("solve", "-", text="role agent\nagent a { state x in [0, 1]; private minimize x }\n", code=2)
        self.assertIn("<stdin>: this file holds one party's part", done.stderr)
        done = self.tacit("run", "-", text="role agent\nagent a { state x in [0, 1]; private minimize x }\n", code=2)
        self.assertIn("<stdin>: this file holds one party's part", done.stderr)

    def test_it_is_bounded_like_a_file(self):
        done = self.tacit("check", "-", text="#" * ((16 << 20) + 1), code=2)
        self.assertEqual(done.stderr, "<stdin>: error: a problem file has at most 16777216 bytes; put data into CSV files\n")

    def test_data_that_a_program_would_give_are_missed(self):
        done = self.tacit("check", "-", text=PROBLEM.replace('csv "homes.csv"', "given"), code=2)
        self.assertIn("<stdin>:2:14: error: no table 'homes' is given: a program that loads this file gives it one; "
                      'for the tacit command, write csv "FILE" here', done.stderr)

    def test_traces_reports_and_ledgers_say_so(self):
        self.tacit("run", "-", "--seed", "3", "--trace", "t.csv", "--report", "r.html", text=PROBLEM)
        trace = (self.folder / "t.csv").read_text()
        self.assertIn("# problem: <stdin>\n", trace)
        self.assertIn("tacit run - --seed 3", trace)
        page = (self.folder / "r.html").read_text()
        self.assertIn("&lt;stdin&gt;", page)
        self.assertNotIn("<stdin>", page)
        self.tacit("report", "t.csv", "-o", "again.html")
        self.tacit("run", "-", "--ledger", "l", text=PROBLEM)
        self.assertIn('"problem":"<stdin>"', (self.folder / "l").read_text())

    def test_an_output_is_not_written_over_it(self):
        (self.folder / "empty").write_text("")
        with open(self.folder / "empty") as empty:
            done = subprocess.run([TACIT, "run", "-", "--trace", "empty"], stdin=empty, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--trace would write over the problem", done.stderr)

    def test_a_file_of_that_name(self):
        (self.folder / "-").write_text(PROBLEM)
        self.assertIn("./-", self.tacit("check", "./-", text="nonsense").stdout)
        self.tacit("run", "-", "--seed", "1", "--trace", "./t", text=PROBLEM)

    def test_an_input_that_is_closed_or_a_folder_is_told(self):
        done = subprocess.run(["sh", "-c", '"$0" check - <&-', TACIT], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (3, "<stdin>: error: cannot read this file: Bad file descriptor\n"))
        done = subprocess.run(["sh", "-c", '"$0" check - </', TACIT], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "<stdin>: error: cannot read this file: it is a folder\n"))


class Terminal(Folder):
    def start(self):
        ours, theirs = pty.openpty()
        child = subprocess.Popen([TACIT, "check", "-"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True, cwd=self.folder)
        os.close(theirs)
        self.addCleanup(child.kill)
        self.addCleanup(os.close, ours)
        return ours, child

    def test_it_is_read_until_its_end(self):
        ours, child = self.start()
        os.write(ours, PROBLEM.encode())
        time.sleep(0.1)
        os.write(ours, b"\n\x04")
        out, err = child.communicate(timeout=60)
        self.assertEqual((child.returncode, err), (0, ""), out)

    def test_an_interrupt_ends_it(self):
        ours, child = self.start()
        os.write(ours, b"agent a {\n")
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 3)
        self.assertEqual(err, "<stdin>: error: interrupted\n")


class Refused(Folder):
    def test_parties_and_second_programs_need_a_file(self):
        for arguments, why in ((("serve", "-", "--keys", "k", "--state", "s"), "the same command must be able to start again"),
                               (("agent", "-", "--cloud", "h:1", "--keys", "k", "--state", "s"), "the same command must be able to start again"),
                               (("audit", "-", "--end-to-end"), "a second program reads it again")):
            done = self.tacit(*arguments, text=PROBLEM, code=2)
            self.assertIn(why, done.stderr)
            self.assertIn(f"tacit {arguments[0]}: ", done.stderr)
            self.assertFalse((self.folder / "s").exists())


class Help(Folder):
    def test_help_says_so(self):
        for command in ("check", "solve", "plan", "run", "sweep", "bound", "audit", "split"):
            self.assertIn("A dash (-) reads it from standard input", " ".join(self.tacit("help", command).stdout.split()))


if __name__ == "__main__":
    unittest.main()
