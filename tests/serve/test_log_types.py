"""What is private cannot be handed to the log, the status page or the metrics."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import attempts

source = attempts.source
wrong = attempts.wrong_attempts("tests/serve/log_types", "src/serve/log.c", 15, ["-fsyntax-only"])

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
for name in ("http.c", "request.c", "pages.c"):
    for include in re.findall(r'#include "([^"]+)"', (source / "src/serve/pages" / name).read_text()):
        if not re.match(r"base/|net/address\.h|serve/pages/pages\.h", include):
            wrong.append(f"{name} includes {include}")
for include in re.findall(r'#include "([^"]+)"', (source / "src/serve/pages/pages.h").read_text()):
    if not re.match(r"engine/tacit/facts\.h|serve/(link/link|log)\.h", include):
        wrong.append(f"pages.h includes {include}")

attempts.finish(wrong)
