"""Every relative link of every page below the folders given leads to a file there, and to a heading where it names one."""
import pathlib
import re
import sys


def prose(text):
    """Without blocks and spans of code, where brackets are no links."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """As those who show the pages make them: lower case, no punctuation, hyphens for blanks; -1, -2 for doubles."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE):
        name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        if count:
            found[f"{name}-{count}"] = 1
    return set(found)


def broken(root):
    """Of each link that leads nowhere: where it stands. And the number of those looked at."""
    root = root.resolve()
    pages = [page for page in sorted(root.rglob("*.md"))
             if not any(part == "build" or part.startswith((".", "build-")) for part in page.relative_to(root).parts)]
    wrong, count = [], 0
    for page in pages:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            count += 1
            path, _, anchor = target.partition("#")
            place = (page.parent / path).resolve() if path else page
            inside = place == root or root in place.parents
            if not inside or not place.exists():
                wrong.append(f"{page.relative_to(root)}: {target}: no such file")
            elif anchor and (place.suffix != ".md" or anchor not in anchors(place.read_text())):
                wrong.append(f"{page.relative_to(root)}: {target}: no such heading")
    return wrong, count


def main():
    for folder in sys.argv[1:]:
        wrong, count = broken(pathlib.Path(folder))
        print(*wrong, sep="\n")
        if wrong or count < 50:
            sys.exit(f"{folder}: {len(wrong)} of {count} links lead nowhere")


if __name__ == "__main__":
    main()
