"""What is private cannot be handed to the log, the status page or the metrics: small files that try must not compile, for
the reason given in their first line; one that does what is allowed must. The compiler and its flags are those of log.c."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
binary = pathlib.Path(os.environ["TACIT_BINARY_DIR"])
attempts = sorted((source / "tests/serve/log_types").glob("*.c"))


def compiler():
    for command in json.loads((binary / "compile_commands.json").read_text()):
        if command["file"].endswith("src/serve/log.c"):
            words = shlex.split(command["command"])
            output = words.index("-o")
            return words[:output] + ["-fsyntax-only", "-c"], command["directory"]
    sys.exit("log.c is not in compile_commands.json")


flags, directory = compiler()
wrong = []
for attempt in attempts:
    rule, reason = re.match(r"/\* must (not compile|compile): (.*) \*/", attempt.read_text()).groups()
    done = subprocess.run(flags + [str(attempt)], cwd=directory, capture_output=True, text=True, timeout=60)
    if rule == "compile":
        if done.returncode != 0:
            wrong.append(f"{attempt.name} should compile:\n{done.stderr}")
    elif done.returncode == 0:
        wrong.append(f"{attempt.name} compiles")
    elif not re.search(reason, done.stderr):
        wrong.append(f"{attempt.name} fails for another reason than '{reason}':\n{done.stderr}")
    elif len(set(re.findall(r":(\d+):\d+: error:", done.stderr))) != 1:
        wrong.append(f"{attempt.name} should be wrong in one line:\n{done.stderr}")

# A field is made by the log's own functions alone, and these take no number but counts and seconds.
for file in sorted((source / "src").rglob("*.[ch]")):
    if file.name not in ("log.c", "log.h") and re.search(r"\bTC_FIELD_\w+|\(\s*tc_log_field\s*\)\s*\{", file.read_text()):
        wrong.append(f"{file.relative_to(source)} makes a field of the log by itself")
header = (source / "src/serve/log.h").read_text()
for makers in re.findall(r"^tc_log_field (tc_log_\w+\([^;]*\));", header, re.MULTILINE):
    for kind in re.findall(r"[(,]\s*((?:const )?\w+(?: \*)?) ?\*?\w+", makers):
        if kind.rstrip(" *") not in ("const char", "uint64_t", "double", "tc_refusal_code"):
            wrong.append(f"log.h: a field of type {kind}: {makers}")

# The pages know the figures, and nothing that could show them more.
for name in ("http.c", "http_request.c", "status.c", "metrics.c", "figures.c"):
    for include in re.findall(r'#include "([^"]+)"', (source / "src/serve" / name).read_text()):
        if not re.match(r"base/|serve/(http|http_parts|figures|listener|log|clock)\.h", include):
            wrong.append(f"{name} includes {include}")

print("\n".join(wrong) or f"{len(attempts)} attempts behave")
sys.exit(1 if wrong or len(attempts) < 15 else 0)
