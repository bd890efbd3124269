"""A folder of src/ includes itself and the folders that CMakeLists.txt declares for it, and those form no circle. A folder
inside another may be declared too: a file belongs to the longest declared name. What a cloud or an agent runs includes
nothing that is for studies, not even by way of others."""
# labels: once
import os
import pathlib
import re
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
PUBLIC = ("setup", "api", "cli/shared", "cli/study", "worlds")  # they may include <tacit/...>
declared = {}
wrong = []
for line in re.findall(r"^tacit_folder\(([^)]+)\)", (source / "CMakeLists.txt").read_text(), re.MULTILINE):
    folder, *others = line.split()
    declared[folder] = others
    # Only folders that were declared before: so there is no circle.
    wrong += [f"CMakeLists.txt: {folder} names {other}, which is not declared before it"
              for other in others if other not in declared or other == folder]


def folder_of(path):
    """The longest declared folder that holds a path below src/, or None."""
    parts = path.split("/")[:-1]
    names = ["/".join(parts[:i]) for i in range(len(parts), 0, -1)]
    return next((name for name in names if name in declared), None)


def all_below(folder):
    """What a folder includes, directly or by way of others."""
    below = set(declared[folder])
    return below.union(*(all_below(other) for other in declared[folder] if other in declared))


used = {folder: set() for folder in declared}
checked = 0
for file in sorted((source / "src").rglob("*.[ch]")):
    name = file.relative_to(source)
    folder = folder_of(name.relative_to("src").as_posix())
    if folder is None:
        wrong.append(f"{name}: its folder is not declared in CMakeLists.txt")
        continue
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if re.match(r"\s*#\s*include\s+<tacit/", line) and folder not in PUBLIC:
            wrong.append(f"{name}:{number}: the public header belongs to {', '.join(PUBLIC)}")
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        checked += 1
        target = match.group(1)
        other = folder_of(target)
        used[folder].add(other)
        if other not in [folder, *declared[folder]]:
            wrong.append(f"{name}:{number}: CMakeLists.txt does not let {folder} include '{target}'")
        if not (source / "src" / target).is_file():
            wrong.append(f"{name}:{number}: there is no src/{target}")
for folder, others in declared.items():
    wrong += [f"CMakeLists.txt: {folder} names {other} and includes nothing of it" for other in others
              if other not in used[folder]]
FOR_STUDIES = {"theory", "advise", "reference", "audit", "lab", "report", "cli/study"}
for folder in ("net", "serve", "cli/network"):
    wrong += [f"CMakeLists.txt: {folder} includes {other}, which is for studies"
              for other in sorted(FOR_STUDIES & all_below(folder))]
print("\n".join(wrong) or f"{checked} includes follow CMakeLists.txt")
sys.exit(1 if wrong or checked == 0 else 0)
