"""docs/tutorial.md from the first line to the last: its files are written, its commands run in their order, and what it
shows of their output is what they print. The first commands of docs/operations.md run too.

    ```tacit name=FILE     a file
    ```sh                  commands, one on each line; `# exit 1` at the end of a line where that is the exit code
    ```sh together         commands that are one script; the cloud's port is another one here, for it may be taken
    ```text                lines that the commands before it print, in this order; `...` stands for lines left out,
                           and ~ for a number that differs from machine to machine
    ```text about          the same, with numbers within a factor of 1.5 of what is shown
"""
# labels: long once
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

TACIT = pathlib.Path(os.environ["TACIT"])
SOURCE = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
TEXT = (SOURCE / "docs/tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w*)([^\n]*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def elsewhere(script):
    """The same with a cloud that listens where nobody else does, and with an end for those who wait for each other."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    script = script.replace("7575", port).replace("tacit agent ", "timeout 600 tacit agent ")
    return script.replace("tacit serve ", f"timeout 600 tacit serve --listen 127.0.0.1:{port} --http off ")


def pattern_of(line):
    """A shown line as an expression: ~ is a number, or a count of time."""
    return re.compile(r"[\d.,e+-]+".join(re.escape(part) for part in line.rstrip().split("~")) + r"\s*$")


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


def is_about(shown, printed):
    """The same words, and numbers within a factor of 1.5 of those shown; a change that moves them further must change the page."""
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(printed)))
    return all(have * want >= 0 and abs(have) <= 1.5 * abs(want) and abs(want) <= 1.5 * abs(have) for want, have in pairs)


class Commands(unittest.TestCase):
    def run_line(self, line, folder):
        command, _, comment = line.partition("  # exit ")
        environment = {**os.environ, "PATH": f"{TACIT.parent}:{os.environ['PATH']}"}
        done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True,
                              timeout=1200)
        self.assertEqual(done.returncode, int(comment or 0), f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr


class Operations(Commands):
    def test_from_the_whole_problem_to_ten_agents_and_their_cloud(self):
        text = (SOURCE / "docs/operations.md").read_text()
        script = re.search(r"^```sh\n(script/bootstrap.*?)^```$", text, re.MULTILINE | re.DOTALL).group(1)
        build, folder, script = script.split("\n", 2)
        self.assertRegex(build, r"script/build release tacit_command && PATH=\$PWD/build/release:\$PATH$")
        self.assertRegex(folder, r"^\( set -e; rm -rf build/(\w+); mkdir build/\1; cd build/\1$")  # so it can be repeated
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(SOURCE / "examples", pathlib.Path(place) / "examples")
            printed = self.run_line("( set -e\n" + elsewhere(script).replace("../../examples", "examples"), place)
        self.assertEqual(len(re.findall(r"^a\d+: done, 1000 of 1000 rounds answered$", printed, re.MULTILINE)), 10, printed)
        self.assertRegex(printed, r"\nGUARANTEE: private: ")


class Tutorial(Commands):
    maxDiff = None

    def compare(self, shown, printed, about):
        rest = printed.splitlines()
        may_skip = True
        for line in shown.splitlines():
            if line.strip() == "...":
                may_skip = True
                continue
            pattern = pattern_of(line)
            at = next((i for i, have in enumerate(rest) if pattern.match(have) or (about and is_about(line, have))), None)
            self.assertIsNotNone(at, f"not printed, or not in this order: {line}\n--- printed:\n{printed}")
            self.assertTrue(may_skip or at == 0, f"lines left out without `...` before: {line}\n{rest[:at]}")
            rest = rest[at + 1:]
            may_skip = False

    def test_every_command_does_what_is_said(self):
        commands = 0
        printed = ""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCE / "examples", pathlib.Path(folder) / "examples")
            for language, rest, body in BLOCKS:
                name = re.search(r"name=(\S+)", rest)
                if name:
                    (pathlib.Path(folder) / name.group(1)).write_text(body)
                elif language == "sh":
                    together = rest.strip() == "together"
                    lines = [elsewhere(body)] if together else [line for line in body.splitlines() if line.strip()]
                    printed = "".join(self.run_line(line, folder) for line in lines)
                    commands += len(lines)
                elif language == "text":
                    self.compare(body, printed, rest.strip() == "about")
        self.assertGreater(commands, 8)


if __name__ == "__main__":
    unittest.main()
