"""Private types cannot be printed, logged, encoded or read: small files that try must not compile, for the reason given
in their first line; one that does what is allowed must. The compiler and its flags are those of release.c."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
binary = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
attempts = sorted((source / "tests/privacy/private_types").glob("*.c"))


def compiler():
    for command in json.loads((binary / "compile_commands.json").read_text()):
        if command["file"].endswith("src/privacy/release.c"):
            words = shlex.split(command["command"])
            output = words.index("-o")
            return words[:output] + ["-o", os.devnull, "-c"], command["directory"]
    sys.exit("release.c is not in compile_commands.json")


flags, directory = compiler()
wrong = []
for attempt in attempts:
    rule, reason = re.match(r"/\* must (not compile|compile): (.*) \*/", attempt.read_text()).groups()
    done = subprocess.run(flags + [str(attempt)], cwd=directory, capture_output=True, text=True)
    if rule == "compile":
        if done.returncode != 0:
            wrong.append(f"{attempt.name} should compile:\n{done.stderr}")
    elif done.returncode == 0:
        wrong.append(f"{attempt.name} compiles")
    elif not re.search(reason, done.stderr):
        wrong.append(f"{attempt.name} fails for another reason than '{reason}':\n{done.stderr}")
    elif len(set(re.findall(r":(\d+):\d+: error:", done.stderr))) != 1:
        wrong.append(f"{attempt.name} should be wrong in one line:\n{done.stderr}")

# What the private types are made of is known to the release alone.
for file in sorted((source / "src").rglob("*.[ch]")):
    inside = file.parent.name == "privacy" and file.name.startswith("release")
    text = file.read_text()
    if not inside and re.search(r'#include "privacy/release_(private|parts)\.h"', text):
        wrong.append(f"{file.relative_to(source)} looks inside the private types")
    if file.name != "release_private.h" and re.search(r"struct\s+tc_private_(states|values)\s*\{", text):
        wrong.append(f"{file.relative_to(source)} defines a private type again")

print("\n".join(wrong) or f"{len(attempts)} attempts behave")
sys.exit(1 if wrong or len(attempts) < 10 else 0)
