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
    inside = file.parent.name == "release"
    text = file.read_text()
    if not inside and re.search(r'#include "release/inside\.h"', text):
        wrong.append(f"{file.relative_to(source)} looks inside the private types")
    if file.name != "inside.h" and re.search(r"struct\s+tc_private_(states|values)\s*\{", text):
        wrong.append(f"{file.relative_to(source)} defines a private type again")

attempts.finish(wrong)
