"""Includes point upward: a folder of src/ may include itself and the folders declared before it in CMakeLists.txt."""
import os
import pathlib
import re
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
order = re.findall(r"^tacit_folder\((\w+)\)", (source / "CMakeLists.txt").read_text(), re.MULTILINE)
wrong = []
checked = 0
for file in sorted((source / "src").rglob("*.[ch]")):
    folder = file.relative_to(source / "src").parts[0]
    if folder not in order:
        wrong.append(f"{file.relative_to(source)}: folder '{folder}' is not declared in CMakeLists.txt")
        continue
    allowed = order[: order.index(folder) + 1]
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            if re.match(r"\s*#\s*include\s+<tacit/", line) and folder not in ("api", "cli"):
                wrong.append(f"{file.relative_to(source)}:{number}: the public header belongs to api and cli")
            continue
        checked += 1
        target = match.group(1)
        if target.split("/")[0] not in allowed or not (source / "src" / target).is_file():
            wrong.append(f"{file.relative_to(source)}:{number}: '{target}' is not in {', '.join(allowed)}")
print("\n".join(wrong) or f"{checked} includes point upward")
sys.exit(1 if wrong or checked == 0 else 0)
