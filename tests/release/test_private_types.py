"""Private types cannot be printed, logged, encoded or read."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import attempts

source = attempts.source
wrong = attempts.wrong_attempts("tests/release/private_types", "src/release/release.c", 10, ["-o", os.devnull])

# What the private types are made of is known to the release alone.
for file in sorted((source / "src").rglob("*.[ch]")):
    path = file.relative_to(source).as_posix()
    text = file.read_text()
    if not path.startswith("src/release/") and re.search(r'#include "release/inside\.h"', text):
        wrong.append(f"{path} looks inside the private types")
    if path != "src/release/inside.h" and re.search(r"struct\s+tc_private_(states|values)\s*\{", text):
        wrong.append(f"{path} defines a private type again")

attempts.finish(wrong)
