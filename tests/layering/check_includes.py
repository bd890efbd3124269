"""A folder of src/ includes itself and the folders that CMakeLists.txt declares for it, and those form no circle."""
# labels: once
import os
import pathlib
import re
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
declared = {}
wrong = []
for line in re.findall(r"^tacit_folder\(([^)]+)\)", (source / "CMakeLists.txt").read_text(), re.MULTILINE):
    folder, *others = line.split()
    declared[folder] = others
    # Only folders that were declared before: so there is no circle.
    wrong += [f"CMakeLists.txt: {folder} names {other}, which is not declared before it"
              for other in others if other not in declared or other == folder]
used = {folder: set() for folder in declared}
checked = 0
for file in sorted((source / "src").rglob("*.[ch]")):
    name = file.relative_to(source)
    folder = name.parts[1]
    if folder not in declared:
        wrong.append(f"{name}: folder '{folder}' is not declared in CMakeLists.txt")
        continue
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if re.match(r"\s*#\s*include\s+<tacit/", line) and folder not in ("api", "cli"):
            wrong.append(f"{name}:{number}: the public header belongs to api and cli")
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        checked += 1
        target = match.group(1)
        other = target.split("/")[0]
        used[folder].add(other)
        if other not in [folder, *declared[folder]]:
            wrong.append(f"{name}:{number}: CMakeLists.txt does not let {folder} include '{target}'")
        if not (source / "src" / target).is_file():
            wrong.append(f"{name}:{number}: there is no src/{target}")
for folder, others in declared.items():
    wrong += [f"CMakeLists.txt: {folder} names {other} and includes nothing of it" for other in others
              if other not in used[folder]]
print("\n".join(wrong) or f"{checked} includes follow CMakeLists.txt")
sys.exit(1 if wrong or checked == 0 else 0)
