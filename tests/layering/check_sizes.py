"""A folder of src/ or python/ and a source file can be read in one go: at most so many files, at most so many lines. Tables that a script writes
may be longer."""
# labels: once
import os
import pathlib
import sys

MOST_FILES = 22
MOST_LINES = 700

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
wrong, checked = [], 0
folders = [p for p in (source / "src").rglob("*") if p.is_dir()] + [source / "python/tacit", source / "python/tacit/language"]
for folder in sorted(folders):
    files = [p for p in folder.iterdir() if p.is_file() and p.suffix != ".so"]
    if len(files) > MOST_FILES:
        wrong.append(f"{folder.relative_to(source)} has {len(files)} files, more than {MOST_FILES}")
    for file in files:
        text = file.read_text()
        checked += 1
        if text.count("\n") > MOST_LINES and not text.startswith("/* Written by script/"):
            wrong.append(f"{file.relative_to(source)} has {text.count(chr(10))} lines, more than {MOST_LINES}")
print("\n".join(wrong) or f"{checked} files")
sys.exit(1 if wrong or checked < 100 else 0)
