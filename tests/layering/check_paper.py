"""docs/paper.md and the tags in src/ agree.

A tag is `paper: NAME` or `paper: NAME, NAME` in a comment, where NAME stands in the first column of a table of docs/paper.md.
A row with code names its files, symbols and tests in the form `FILE`: `NAME`, `NAME`; `FILE`: `NAME`.
- Each symbol of a row is a word of src/. Each file exists, carries a tag of its row, and has the symbols or test functions named after it.
- Each tag of src/ has a row that names its file. Each name of such a row is a tag in one of its files.
- Each numbered or labelled item of the paper has one row.
"""
# labels: once
import os
import pathlib
import re
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])
wrong = []

NUMBERED = {"Assumption": "1 2 3 4", "Problem": "0.1 0.2 1", "Definition": "1", "Theorem": "1 2 3", "Lemma": "1 2",
            "Algorithm": "1 2"}
LABELS = """saddle fullupdate per-agent-update adj fulleddef noisyupdate xi1 xi2 xidiff lemmaalmost bigineqend rateestim
    bigz1 t1bigone recur seqbigone bound sum1 kless needexpand expansion sum2 sumsigma exprecur expbound trade1 trade2
    trade4""".split()
ITEMS = [f"{kind} {number}" for kind, numbers in NUMBERED.items() for number in numbers.split()]
ITEMS += [f"eq:{label}" for label in LABELS]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def named(cell):
    """`FILE`: `NAME`, `NAME`; `FILE`: `NAME` as pairs of a file and its names."""
    return [(names[0], names[1:]) for names in map(quoted, cell.split(";")) if names]


def has_word(text, word):
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


rows, without_code, symbols = [], [], []
for line in (source / "docs/paper.md").read_text().splitlines():
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if line.startswith("|") and quoted(cells[0]):
        if len(cells) == 5:
            rows.append((quoted(cells[0]), named(cells[3]), named(cells[4])))
            symbols += [(cells[0], name) for name in quoted(cells[2]) if re.fullmatch(r"\w+", name)]
        elif len(cells) == 2:
            without_code += quoted(cells[0])
        else:
            wrong.append(f"docs/paper.md: a row of {len(cells)} cells: {line}")

code = "\n".join(file.read_text() for file in sorted((source / "src").rglob("*.[ch]")))
wrong += [f"{title}: nothing in src/ is called '{name}'" for title, name in symbols if not has_word(code, name)]

# The names a tag may have, the longest first: "eq:sum1" is not "eq:sum".
names = sorted({name for tags, _, _ in rows for name in tags}, key=len, reverse=True)
one = "|".join(re.escape(name) for name in names)
tagged = {}  # by file
count = 0
for file in sorted((source / "src").rglob("*.[ch]")):
    path = str(file.relative_to(source))
    for number, line in enumerate(file.read_text().splitlines(), 1):
        for text in re.findall(r"(?:^|[\s*(/])paper: (.*)", line):
            match = re.match(rf"(?:{one})(?:, (?:{one}))*(?![\w-])", text)
            if match is None and not re.match(rf"eq:|({'|'.join(NUMBERED)}) \d", text):
                continue  # a sentence
            if match is None:
                wrong.append(f"{path}:{number}: docs/paper.md has no row for 'paper: {text}'")
                continue
            count += 1
            tagged.setdefault(path, set()).update(re.findall(rf"(?:{one})(?![\w-])", match.group()))

for tags, places, tests in rows:
    title = ", ".join(tags)
    found = set()
    for path, symbols in places:
        if not path.startswith("src/") or not (source / path).is_file():
            wrong.append(f"{title}: there is no {path} below src/")
            continue
        text = (source / path).read_text()
        wrong += [f"{title}: {path} has no '{symbol}'" for symbol in symbols if not has_word(text, symbol)]
        here = tagged.get(path, set()) & set(tags)
        if not here:
            wrong.append(f"{title}: {path} has no such tag")
        found |= here
    if not places or not all(symbols for _, symbols in places):
        wrong.append(f"{title}: the row names no file, or a file without a symbol")
    wrong += [f"{title}: no file of the row has the tag 'paper: {name}'" for name in tags if places and name not in found]
    if not tests:
        wrong.append(f"{title}: the row names no test")
    for path, functions in tests:
        if not path.startswith("tests/") or not (source / path).is_file():
            wrong.append(f"{title}: there is no test {path}")
            continue
        text = (source / path).read_text()
        wrong += [f"{title}: {path} has no test '{name}'" for name in functions if not has_word(text, name)]
        if path.endswith(".c") and not functions:
            wrong.append(f"{title}: {path} without the name of a test")

listed = {(name, path) for tags, places, _ in rows for name in tags for path, _ in places}
for path, tags in tagged.items():
    wrong += [f"{path}: tag '{name}', but its row in docs/paper.md does not name this file"
              for name in sorted(tags) if (name, path) not in listed]

all_names = [name for tags, _, _ in rows for name in tags] + without_code
wrong += [f"docs/paper.md: {name} has {all_names.count(name)} rows" for name in sorted(set(ITEMS + all_names))
          if all_names.count(name) != 1]
print("\n".join(wrong) or f"{len(rows)} rows and {count} tags agree")
sys.exit(1 if wrong or not rows or not count else 0)
