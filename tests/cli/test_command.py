"""The command as a person or a script meets it: help, messages, exit codes, JSON."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

TACIT = os.environ["TACIT"]
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PAPER = str(SOURCE / "examples/paper.tacit")


def tacit(*arguments, **options):
    return subprocess.run([TACIT, *arguments], capture_output=True, text=True, timeout=1200, **options)


def commands():
    listing = tacit("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listing.splitlines()]


class Help(unittest.TestCase):
    def test_the_program_lists_its_commands(self):
        for command in ("check", "solve", "plan", "split", "help"):
            self.assertIn(command, commands())

    def test_the_readme_has_every_command(self):
        readme = (SOURCE / "README.md").read_text()
        for command in commands():
            if command != "help":
                self.assertIn(f"| `tacit {command} ", readme)

    def test_exit_code_one_covers_plans_and_audits(self):
        text = " ".join(tacit("help").stdout.split())
        self.assertIn("a plan is not private", text)
        self.assertIn("an audit refutes", text)

    def test_every_command_has_help_that_fits_eighty_columns(self):
        for arguments in [("--help",)] + [(c, "--help") for c in commands()]:
            done = tacit(*arguments)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, "")
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)

    def test_help_of_a_command_is_the_same_both_ways(self):
        for command in commands():
            self.assertEqual(tacit("help", command).stdout, tacit(command, "--help").stdout)

    def test_the_version_is_that_of_the_project(self):
        version = re.search(r"VERSION (\d+\.\d+\.\d+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(tacit("--version").stdout, f"tacit {version}\n")

    @unittest.skipUnless(shutil.which("groff"), "groff is not here")
    def test_man_pages_are_clean_troff_and_name_every_option(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(tacit("help", "--write-man", directory).returncode, 0)
            pages = sorted(p.name for p in pathlib.Path(directory).iterdir())
            self.assertEqual(pages, sorted(["tacit.1"] + [f"tacit-{c}.1" for c in commands()]))
            for page in pages:
                done = subprocess.run(["groff", "-ww", "-man", "-Tascii", "-P-cbou", f"{directory}/{page}"], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), page)
                if page != "tacit.1":
                    help_text = tacit("help", page[len("tacit-"):-2]).stdout
                    for option in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", help_text, re.MULTILINE):
                        self.assertIn(option, done.stdout)


class Mistakes(unittest.TestCase):
    def refused(self, code, message, *arguments):
        done = tacit(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)

    def test_no_command(self):
        self.refused(2, "tacit --help lists them")

    def test_a_misspelt_command_is_guessed(self):
        self.refused(2, "there is no command 'chek'; did you mean 'check'?", "chek")
        self.refused(2, "did you mean 'solve'?", "help", "slove")

    def test_a_misspelt_option_is_guessed(self):
        self.refused(2, "there is no option --jsno; did you mean --json?", "check", PAPER, "--jsno")

    def test_a_value_out_of_range_names_the_range(self):
        self.refused(2, "a number from 1e-14 to 1, not '5'", "solve", PAPER, "--tolerance", "5")

    def test_check_and_solve_refuse_bad_numbers_of_threads(self):
        for command in "check", "solve":
            for number in "0", "-1", "1025", "2.5", "two", "":
                self.refused(2, "a whole number from 1 to 1024", command, PAPER, "--threads", number)

    def test_a_missing_file_and_too_many_files(self):
        self.refused(2, "missing FILE", "check")
        self.refused(2, "unexpected argument 'b'", "check", "a", "b")

    def test_split_asks_for_its_directory(self):
        self.refused(2, "--output DIR is needed", "split", PAPER)

    def test_a_file_that_cannot_be_read_is_named(self):
        self.refused(2, "nowhere.tacit", "check", "/nowhere.tacit")

    def test_a_broken_problem_says_where(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "broken.tacit")
            pathlib.Path(path).write_text("agent a {\n  state x in [0, 1]\n  private minimize xx^2\n}\n")
            self.refused(2, f"{path}:3:20: error:", "check", path)

    def test_a_full_disk_is_an_error_of_the_environment(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([TACIT, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot be written", done.stderr)


    def test_a_file_that_may_not_grow_is_an_error_of_the_environment(self):
        with tempfile.TemporaryDirectory() as place:
            for command, arguments in [("split", [PAPER, "-o", "parts"]), ("keys", ["init", "keys"]),
                                       ("run", [PAPER, "--rounds", "20", "--trace", "trace.csv"])]:
                done = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", TACIT, command, *arguments],
                                      capture_output=True, text=True, timeout=1200, cwd=place)
                self.assertEqual(done.returncode, 3, (command, done.stderr))
                self.assertRegex(done.stderr, "File too large|cannot (be )?writ")


class Failures(unittest.TestCase):
    """With --json a program that reads standard output has one object to read, whatever happened."""

    OPERANDS = {"report": ["-o", "page.html"], "split": ["-o", "parts"], "serve": ["--state", "st", "--insecure-plaintext"],
                "agent": ["--state", "st", "--cloud", "127.0.0.1:9", "--insecure-plaintext"]}

    def failed(self, code, *arguments, **options):
        done = tacit(*arguments, "--json", **options)
        self.assertEqual(done.returncode, code, done.stderr)
        facts = json.loads(done.stdout)
        self.assertEqual(facts, {"ok": False, "error": done.stderr.rstrip("\n"), "exit_code": code})
        self.assertNotEqual(facts["error"], "")
        return facts["error"]

    def test_a_missing_file_in_every_command(self):
        with tempfile.TemporaryDirectory() as place:
            for command in commands():
                if command == "keys":
                    error = self.failed(2, "keys", "issue", "nowhere", "a1", cwd=place)
                elif command != "help":
                    error = self.failed(2, command, "nowhere.tacit", *self.OPERANDS.get(command, []), cwd=place)
                self.assertIn("nowhere", error)

    def test_a_broken_problem_says_where(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "broken.tacit")
            pathlib.Path(path).write_text("agent a {\n  state x in [0, 1]\n  private minimize xx^2\n}\n")
            for command in ("check", "solve", "plan", "advise", "run", "sweep", "bound", "audit"):
                self.assertIn(f"{path}:3:20: error:", self.failed(2, command, path))

    def test_a_wrong_command_line(self):
        self.assertIn("missing FILE", self.failed(2, "check"))
        self.assertIn("did you mean --tolerance", self.failed(2, "solve", PAPER, "--tolerence", "1"))

    def test_a_command_that_is_not_there_wherever_json_stands(self):
        self.assertIn("did you mean 'check'?", self.failed(2, "chek", PAPER))
        self.assertIn("there is no command 'frobnicate'", self.failed(2, "frobnicate"))
        self.assertIn("no option --json before a command", self.failed(2))
        for words in (("--json", "check", PAPER), ("chek", "--json", PAPER), ("help", "--json", "run")):
            done = tacit(*words)
            self.assertEqual((done.returncode, json.loads(done.stdout)["error"] + "\n"), (2, done.stderr))

    def test_a_refusal_of_split(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "tight.tacit")
            pathlib.Path(path).write_text("agent a { state x in [0, 1]; private minimize x; gap 1; slater x = 0.9 }\n"
                                          "constraint c: a.x <= 0.7\n")
            self.assertIn("strictly: g = 0.2 there", self.failed(1, "split", path, "-o", os.path.join(place, "parts")))

    def test_words_behind_a_double_dash_ask_for_nothing(self):
        done = tacit("check", "--", "--json")
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_without_json_nothing_is_printed(self):
        self.assertEqual(tacit("check", "nowhere.tacit").stdout, "")

    def test_a_full_disk_is_an_error_of_the_environment_here_too(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([TACIT, "check", "nowhere.tacit", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot be written", done.stderr)


class Answers(unittest.TestCase):
    def test_check_shows_no_residues_of_a_search(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "p.tacit")
            pathlib.Path(path).write_text("agents a[i in 1..2] { state x[2] in [0, 10]; private minimize sumsq(x - 3)\n"
                                          "  private set sum(x) >= 2 * i - 2 }\n"
                                          "constraint c: sum(a: x[1]) <= 20\nconstraint d: sum(a: x[2]) <= 8\n")
            self.assertRegex(tacit("check", path).stdout, r"\n    a\[1\] = [\d.]+ 0\n    a\[2\] = [\d.]+ 0\n")
            self.assertGreater(json.loads(tacit("check", path, "--json").stdout)["slater"]["point"]["a[1]"][1], 0)

    def test_check_names_the_function_that_is_proved_convex(self):
        text = ("agent a {{ state x[2] in [-20, 20]; private minimize {}; private set x[1] <= 9 }}\n"
                "constraint c: {} <= 1\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.tacit"
            path.write_text(text.format("sum(log(1 + exp(x)))", "log(exp(a.x[1]) + exp(a.x[2]))"))
            said = " ".join(tacit("check", path).stdout.split())
            self.assertEqual(said.count("log(1 + exp(u)) is logsumexp(0, u)"), 2, said)
            path.write_text(text.format("sum([i in 1..2: logsumexp(0, x[i])])", "logsumexp(a.x)"))
            self.assertIn("yes every f_i is convex", " ".join(tacit("check", path).stdout.split()))

    def test_check_of_the_paper_prints_the_contract(self):
        done = tacit("check", PAPER, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        facts = json.loads(done.stdout)
        self.assertEqual(facts["agents"], len(facts["lipschitz"]["jacobian"]))
        self.assertGreater(facts["states"], 0)
        self.assertGreater(facts["constraints"], 0)
        for name in ("objectives", "sets", "constraints", "slater"):
            self.assertIs(facts["assumptions"][name]["holds"], True)
        for norm in ("l1", "l2"):
            bracket = facts["lipschitz"]["g"][norm]
            self.assertLessEqual(bracket["lower"], bracket["upper"])
            self.assertIn("declared_too_small", bracket)
            self.assertIn("agent", facts["lipschitz"]["jacobian"][0])
        self.assertIn("dual_radius", facts)
        self.assertGreater(facts["slater"]["margin"], 0)
        self.assertTrue(facts["slater"]["point"])

    def test_solve_of_the_paper_gives_the_published_norms(self):
        done = tacit("solve", PAPER, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        solution = json.loads(done.stdout)
        self.assertEqual(solution["status"], "solved")
        self.assertEqual(f"{solution['norm_x']:.4g}", "13.19")
        self.assertEqual(f"{solution['norm_mu']:.4g}", "2.169")
        self.assertLessEqual(solution["residual"], 1e-8)
        self.assertEqual(len(solution["x"]), json.loads(tacit("check", PAPER, "--json").stdout)["agents"])
        self.assertTrue(all(m >= 0 for m in solution["mu"]))
        self.assertIsInstance(solution["objective"], float)

    def test_check_and_solve_on_any_number_of_threads_print_the_same(self):
        problem = ("agents a[i in 1..2100] { state x[2] in [-2, 2]; private set norm(x) <= 1 + i / 4200\n"
                   "private minimize sumsq(x - [i / 700, 1]) }\nconstraint c: sum(a: sumsq(x)) <= 1500\n")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "p.tacit")
            path.write_text(problem)
            for command in "check", "solve":
                answers = [tacit(command, str(path), "--json", "--threads", n) for n in ("1", "2", "3", "7")]
                answers.append(tacit(command, str(path), "--json"))
                self.assertEqual({(done.returncode, done.stderr, done.stdout) for done in answers},
                                 {(0, "", answers[0].stdout)})

    def test_solve_warns_of_a_dual_radius_that_excludes_the_solution(self):
        problem = "agent a { state x in [0, 4]; private minimize (x - 3)^2 }\nconstraint c: a.x <= 1\ndual radius %s\n"
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/p.tacit"  # mu = 4 at the solution
            for radius, outside in (("3.9", True), ("4.1", False)):
                pathlib.Path(path).write_text(problem % radius)
                self.assertEqual(json.loads(tacit("solve", path, "--json").stdout)["outside_dual_radius"], outside)
                self.assertEqual("dual radius of 3.9" in tacit("solve", path).stdout, outside)

    def solve_of(self, text, *more):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "p.tacit")
            path.write_text(text)
            return tacit("solve", str(path), *more)

    def test_solve_warns_of_a_radius_from_gaps_that_excludes_the_solution(self):
        problem = ("agent a { state x in [0, 4]; private minimize (x - 3)^2; gap %s; slater x = 0 }\n"
                   "constraint c: a.x <= 1\n")  # R = gap / 1, mu = 4 at the solution
        for gap, outside in (("1.23456789", True), ("9", False)):
            self.assertEqual(json.loads(self.solve_of(problem % gap, "--json").stdout)["outside_dual_radius"], outside)
            text = self.solve_of(problem % gap).stdout
            self.assertEqual("public dual radius of 1.23457" in " ".join(text.split()), outside)
            self.assertLessEqual(max(map(len, text.splitlines())), 80, text)

    def test_solve_speaks_of_no_radius_where_there_is_no_solution(self):
        problem = ("agent a { state x in [0, 4]; private minimize (x - 3)^2 }\nconstraint c: a.x <= -1\n"
                   "dual radius 1\n")
        done = self.solve_of(problem)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No solution", done.stdout)
        self.assertNotIn("cannot reach", done.stdout)
        self.assertIsNone(json.loads(self.solve_of(problem, "--json").stdout)["outside_dual_radius"])

    def test_solve_says_when_a_point_is_only_stationary(self):
        problem = ("agent a { state x in [-1, 2]; private minimize (x^2 - 1)^2 + 0.1 * x }\n"
                   "constraint c: -a.x^2 <= -0.3\n")
        done = self.solve_of(problem)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("Warning: the problem is not proved convex"), done.stdout)
        self.assertNotIn("Solved", done.stdout)
        done = self.solve_of(problem, "--json")
        self.assertEqual(done.returncode, 1)
        answer = json.loads(done.stdout)
        self.assertIs(answer["assumptions_hold"], False)
        self.assertEqual([reason["expression"] for reason in answer["reasons"]], ["(x^2 - 1)^2", "a.x^2"])

    def test_solve_names_the_agent_whose_set_is_empty(self):
        problem = ("agent a { state x[2] in [0, 1]; private minimize sum(x); private set sum(x) >= 3 }\n"
                   "constraint c: a.x[1] <= 0.5\n")
        done = self.solve_of(problem)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("The set of a is empty", done.stdout)
        for word in ("states", "nan", "inf", "residual"):
            self.assertNotIn(word, done.stdout)
        answer = json.loads(self.solve_of(problem, "--json").stdout)
        self.assertEqual((answer["x"], answer["mu"], answer["objective"]), (None, None, None))
        self.assertIn("The set of a is empty", answer["reasons"][0]["text"])
        chain = self.solve_of("agent a { state x in [0, 3]; private minimize x; private set 2 <= x <= 1 }\n").stdout
        self.assertIn("The set of a is empty: no point satisfies 'private set 2 <= x <= 1'.", chain)

    def test_solve_shows_no_dust_and_keeps_columns_apart(self):
        done = self.solve_of("agent a { state x[3] in [-1, 1]\n"
                             "  private minimize sumsq(x - [1.234e-5, -1.234e-5, 1e-14]) }\n"
                             "constraint c: sum(a.x) <= 2\n")
        self.assertIn(" 1.234e-05 -1.234e-05          0\n", done.stdout)
        self.assertIn("0 of 1 constraint has a price", done.stdout)
        self.assertIn("norm of mu          0\n", done.stdout)

    def test_solve_speaks_of_one_and_of_many(self):
        text = "agent a { state x in [0, 4]; private minimize (x - 3)^2 }\nconstraint c: a.x <= 1\n"
        self.assertIn("1 of 1 constraint has a price", self.solve_of(text).stdout)
        text += "constraint d: a.x <= 2\n"
        self.assertIn("1 of 2 constraints has a price", self.solve_of(text).stdout)
        answer = json.loads(self.solve_of(text, "--json").stdout)
        self.assertEqual(answer["constraints"], ["c", "d"])
        self.assertIs(answer["assumptions_hold"], True)
        self.assertEqual(answer["reasons"], [])
        self.assertLessEqual(answer["least_norm_error"], 1e-6)

    def test_solve_of_a_contradiction_says_so_in_words(self):
        done = self.solve_of("agent a { state x in [0, 4]; private minimize x }\nconstraint c: a.x <= -1\n")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("No solution: no point seems to satisfy all constraints."), done.stdout)

    def test_solve_names_what_cannot_hold_together(self):
        pair = ("agent a { state x in [0, 1]; private minimize x^2%s }\n"
                "agent b { state x in [0, 1]; private minimize x^2; private set x <= 0.9 }\n")
        cases = ((pair % "" + "constraint c: a.x >= 0.7\nconstraint e: b.x <= 0.8\nconstraint d: a.x + b.x <= 0.5\n",
                  ["c", "d"], [], "constraints c and d together."),
                 (pair % "; private set x >= 0.8" + "constraint d: a.x + b.x <= 0.5\nconstraint e: b.x <= 0.8\n",
                  ["d"], ["a"], "constraint d, as the set of a leaves no room."),
                 (pair % "; private set x <= 0.5" + "constraint d: a.x + b.x == 1.5\n", ["d"], ["a", "b"],
                  "constraint d, as the sets of a and b leave no room."))
        for problem, constraints, agents, words in cases:
            answer = json.loads(self.solve_of(problem, "--json").stdout)
            self.assertEqual(answer["conflict"], {"constraints": constraints, "sets_of": agents})
            words = "No point of the sets satisfies " + words
            self.assertEqual(answer["reasons"][-1]["text"], words)
            self.assertIn(words, " ".join(self.solve_of(problem).stdout.split()))
        self.assertIsNone(json.loads(self.solve_of(pair % "", "--json").stdout)["conflict"])

    def test_messages_are_wrapped_on_a_terminal_alone(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "long.tacit")
            line = "  private set x[1] * x[2] <= 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1"
            pathlib.Path(path).write_text(f"agent a {{\n  state x[2] in [0, 1]\n  private minimize sum(x)\n{line}\n}}\n")
            plain = tacit("check", path).stderr
            self.assertEqual(len(plain.splitlines()), 3)
            for width in (80, 50):
                ours, theirs = pty.openpty()
                fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
                subprocess.run([TACIT, "check", path], stdout=subprocess.DEVNULL, stderr=theirs, timeout=1200)
                os.close(theirs)
                shown = b""
                try:
                    while part := os.read(ours, 4096):
                        shown += part
                except OSError:  # the other end is closed
                    pass
                os.close(ours)
                lines = shown.decode().replace("\r", "").splitlines()
                self.assertEqual(lines[-2:], plain.splitlines()[1:], "the quoted line and its caret")
                self.assertLessEqual(max(map(len, lines[:-2])), max(width, len(path) + len(":4:15:")))
                self.assertEqual(" ".join(" ".join(lines[:-2]).split()), plain.splitlines()[0])
                self.assertTrue(all(line.startswith("  ") for line in lines[1:]))

    def test_text_for_people_fits_eighty_columns(self):
        for command in ("check", "solve"):
            for example in sorted((SOURCE / "examples").glob("*.tacit")):
                if example.stem == "ev" and command == "solve":
                    continue  # the longest; its table is like the others
                done = tacit(command, example.name, cwd=example.parent)
                self.assertEqual(done.returncode, 0, done.stderr)
                widest = max(done.stdout.splitlines(), key=len)
                self.assertLessEqual(len(widest), 80, widest)

    def test_split_writes_files_that_check_by_themselves(self):
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory, "parties")
            done = tacit("split", PAPER, "-o", str(place), "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            facts = json.loads(done.stdout)
            self.assertEqual(facts["files"], sum(1 for p in place.rglob("*") if p.is_file()))
            self.assertEqual(facts["agents"], len(list((place / "agents").glob("*.tacit"))))
            self.assertEqual(tacit("check", str(place / "cloud.tacit")).returncode, 0)
            self.assertNotIn("minimize", (place / "cloud.tacit").read_text())
            done = tacit("solve", str(place / "cloud.tacit"))
            self.assertEqual(done.returncode, 2)
            self.assertIn("the whole problem", done.stderr)
            for agent in (place / "agents").glob("*.tacit"):
                self.assertEqual(tacit("check", str(agent)).returncode, 0)
            done = tacit("split", PAPER, "-o", str(place))
            self.assertEqual(done.returncode, 2, "a directory that is not empty")
            self.assertEqual(tacit("split", PAPER, "-o", str(place), "--force").returncode, 0)

    def split_of(self, text, *more):
        with tempfile.TemporaryDirectory() as directory:
            path, place = pathlib.Path(directory, "p.tacit"), pathlib.Path(directory, "out")
            path.write_text(text)
            done = tacit("split", str(path), "-o", str(place), *more)
            return done, place.exists()

    def test_split_refuses_where_no_public_dual_radius_can_be_computed(self):
        agent = "agent a { state x in [0, 1]; private minimize (x-1)^2; %s }\nconstraint c: a.x <= 0.7\n"
        for lines, reason in (("gap 5; slater x = 0.9", "does not satisfy constraint c strictly: g = 0.2"),
                              ("private set x >= 0.5; gap 5; slater x = 0.1", "lies outside its own set")):
            done, exists = self.split_of(agent % lines)
            self.assertEqual((done.returncode, done.stdout, exists), (1, "", False), done.stderr)
            self.assertIn("the cloud needs a public dual radius", done.stderr)
            self.assertIn(reason, done.stderr)
            done, exists = self.split_of(agent % lines + "dual radius 5\n")
            self.assertEqual((done.returncode, exists), (0, True), done.stderr)
            self.assertIn("warning: not all assumptions hold", done.stderr)
        done, exists = self.split_of(agent % "gap 0.001; slater x = 0.1")
        self.assertEqual((done.returncode, exists), (0, True))
        self.assertIn("warning: the gap of 1 agent is smaller than their data need", done.stderr)
        done, exists = self.split_of(agent % "gap 2; slater x = 0.1")
        self.assertEqual((done.returncode, done.stderr, exists), (0, "", True))
        self.assertIn("the cloud's file and that of 1 agent, 2 files in all", done.stdout)

    def test_split_says_what_is_wrong_with_its_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            place = pathlib.Path(directory, "a/b/c")
            self.assertEqual(tacit("split", PAPER, "-o", str(place)).returncode, 0)
            self.assertTrue((place / "cloud.tacit").exists())
            for output, message in (("", "needs the name of a folder"), (str(place / "cloud.tacit"), "this is a file"),
                                    (str(place), "--force")):
                done = tacit("split", PAPER, "-o", output)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(message, done.stderr)

    def test_an_empty_private_box_is_an_answer(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "p.tacit")
            for lines in ("private set x >= 2", "private set 2 * x >= 4"):
                path.write_text("agent a { state x in [0, 1]; private minimize x; %s }\nconstraint c: a.x <= 1\n" % lines)
                done = tacit("check", str(path), "--json")
                self.assertEqual((done.returncode, done.stderr), (1, ""))
                self.assertEqual(json.loads(done.stdout)["assumptions"]["sets"]["verdict"], "fails")
                self.assertEqual(tacit("solve", str(path)).returncode, 1)

    def test_the_problem_in_the_readme_runs_as_it_says(self):
        text = re.search(r"```\n(agent .*?)```", (SOURCE / "README.md").read_text(), re.DOTALL).group(1)
        self.assertLessEqual(len(text.splitlines()), 10)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "first.tacit")
            pathlib.Path(path).write_text(text)
            self.assertEqual(tacit("check", path).returncode, 0)
            solution = json.loads(tacit("solve", path, "--json").stdout)
            self.assertAlmostEqual(solution["x"]["left"][0], 2, 7)
            self.assertAlmostEqual(solution["x"]["right"][0], 2, 7)
            self.assertAlmostEqual(solution["mu"][0], 2, 7)

    def test_an_assumption_that_fails_is_answer_one(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "concave.tacit")
            pathlib.Path(path).write_text("agent a {\n  state x in [0, 1]\n  private minimize -(x^2)\n}\n"
                                          "constraint c: a.x <= 2\n")
            done = tacit("check", path, "--json")
            self.assertEqual(done.returncode, 1)
            self.assertIs(json.loads(done.stdout)["assumptions"]["objectives"]["holds"], False)

    def test_progress_on_a_terminal_leaves_the_answer_alone(self):
        ours, theirs = pty.openpty()
        done = subprocess.run([TACIT, "check", str(SOURCE / "examples/ev.tacit"), "--json"], stdout=subprocess.PIPE,
                              stderr=theirs, text=True, timeout=1200)
        os.close(theirs)
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["agents"], 1000)

    def test_an_interrupt_prints_the_best_so_far(self):
        seconds, code = 0.25, -signal.SIGINT
        while code == -signal.SIGINT:  # it had not begun
            seconds *= 2
            process = subprocess.Popen([TACIT, "solve", str(SOURCE / "examples/ev.tacit"), "--json"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            output, messages = process.communicate(timeout=1200)
            code = process.returncode
        if process.returncode == 0:  # it was done before
            self.assertEqual(json.loads(output)["status"], "solved")
        else:
            self.assertEqual(process.returncode, 3, messages)
            self.assertIn("interrupted", messages)


if __name__ == "__main__":
    unittest.main()
