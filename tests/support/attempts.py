"""Small files that try what the types forbid must not compile, for the reason given in their first line; those that do what
is allowed must. The compiler and its flags are those of a source file that is built."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
binary = pathlib.Path(os.environ["TACIT_BINARY_DIR"])


def compiler_of(file):
    for command in json.loads((binary / "compile_commands.json").read_text()):
        if command["file"].endswith(file):
            words = shlex.split(command["command"])
            return words[:words.index("-o")], command["directory"]
    sys.exit(f"{file} is not in compile_commands.json")


def wrong_attempts(folder, file, least, flags):
    """Sentences; none where all behave. least: so many are expected."""
    attempts = sorted((source / folder).glob("*.c"))
    words, directory = compiler_of(file)
    wrong = [] if len(attempts) >= least else [f"{folder} has {len(attempts)} attempts"]
    for attempt in attempts:
        rule, reason = re.match(r"/\* must (not compile|compile): (.*) \*/", attempt.read_text()).groups()
        done = subprocess.run([*words, *flags, "-c", str(attempt)], cwd=directory, capture_output=True, text=True, timeout=1200)
        if rule == "compile":
            if done.returncode != 0:
                wrong.append(f"{attempt.name} should compile:\n{done.stderr}")
        elif done.returncode == 0:
            wrong.append(f"{attempt.name} compiles")
        elif not re.search(reason, done.stderr):
            wrong.append(f"{attempt.name} fails for another reason than '{reason}':\n{done.stderr}")
        elif len(set(re.findall(r":(\d+):\d+: error:", done.stderr))) != 1:
            wrong.append(f"{attempt.name} should be wrong in one line:\n{done.stderr}")
    return wrong


def finish(wrong):
    print("\n".join(wrong) or "all attempts behave")
    sys.exit(1 if wrong else 0)
