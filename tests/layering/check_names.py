"""A type has one meaning: no name of a struct, union, enum or typedef is defined in two files of src/, in a header or not. An
include guard is the path of its file; those named .inc.h, which are included more than once, have none."""
# labels: once
import collections
import os
import pathlib
import re
import sys

source = pathlib.Path(os.environ["TACIT_SOURCE_DIR"])

NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', re.DOTALL | re.MULTILINE)
TAG = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")


def without_bodies(text):
    """The text without what stands between braces."""
    kept, depth = [], 0
    for c in text:
        depth += c == "{"
        if depth == 0:
            kept.append(c)
        depth -= c == "}"
    return "".join(kept)


def names_of_typedefs(code):
    for start in re.finditer(r"\btypedef\b", code):
        end, depth = start.end(), 0
        while depth > 0 or code[end] != ";":
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        words = without_bodies(code[start.end():end])
        if re.fullmatch(r"\s*(?:struct|union|enum)\s+(\w+)\s+\1\s*", words) and "{" not in code[start.end():end]:
            continue  # says that there is such a type, and defines none
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", words)
        words = re.sub(r"\[[^\]]*\]|\([^()]*\)\s*$", "", words)
        yield pointer.group(1) if pointer else re.findall(r"\w+", words)[-1]


def types_of(text):
    code = NOT_CODE.sub(" ", text)
    return set(TAG.findall(code)) | set(names_of_typedefs(code))


def main():
    wrong, defined = [], collections.defaultdict(list)
    files = sorted((source / "src").rglob("*.[ch]"))
    for file in files:
        name = file.relative_to(source)
        text = file.read_text()
        for each in types_of(text):
            defined[each].append(str(name))
        guard = re.sub(r"\W", "_", f"TC_{file.relative_to(source / 'src')}").upper()
        if file.suffix == ".h" and not name.match("*.inc.h") and f"\n#ifndef {guard}\n#define {guard}\n" not in f"\n{text}":
            wrong.append(f"{name}: its include guard is not {guard}")
    wrong += [f"{each} is defined in {' and '.join(where)}" for each, where in sorted(defined.items()) if len(where) > 1]
    print("\n".join(wrong) or f"{len(defined)} types have one definition each")
    sys.exit(1 if wrong or len(defined) < 500 else 0)


assert types_of("typedef struct a { int b[3]; struct { int x; } y; } c; enum e { F }; typedef int (*g)(int h, char *);"
                "typedef double v[4]; typedef struct k k; /* struct n { */ typedef bool m(int);") == set("aecgvm")
main()
