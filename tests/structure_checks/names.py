"""Counts items whose names contributing.md replaces: those in the column "before" of the table under "Names".

An item is a module, a type, a function, a constant or a variant. Variables are left out, and names with a second meaning: those in
MEANT. A name counts in its own case, since `Cause` and `cause` are two names.
"""

import os
import re

from .place import ROOT

PAGE = "server/docs/contributing.md"
CODE = re.compile(r"`([^`]+)`")
ITEM = re.compile(
    r"\b(?:mod|struct|enum|trait|type|const|static|fn|function|class|interface)\s+(\w+)"
    r"|^ +([A-Z]\w*)(?=\s*(?:[,{(]|=\s*\d))(?=[^;]*$)",
    re.M,
)
# the field's own words in another place: a page of rows, a cause of an error, a program that died
MEANT = {"known", "seen", "Owned", "lanes", "Page", "Of", "Cause", "book", "over", "who", "greet", "died", "judge", "bare", "Room", "Heard"}


def replaced():
    """The names that the page replaces."""
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        text = file.read()
    section = text.partition("\n## Names\n")[2].partition("\n## ")[0]
    names = set()
    for row in section.splitlines():
        cells = row.split("|")
        if len(cells) == 4 and "before" not in cells[1]:
            for code in CODE.findall(cells[1]):
                names |= {word.strip().removesuffix(".rs") for word in code.split(",")}
    return {name for name in names if name.isidentifier()} - MEANT


def places(all_files):
    names = replaced()
    for file in sorted(all_files, key=lambda f: f.path):
        text = getattr(file, "text", file.source)
        for found in ITEM.finditer(text):
            name = found.group(1) or found.group(2)
            if name in names:
                yield f"{file.path}:{text.count(chr(10), 0, found.start(found.lastindex)) + 1} {name}"
