"""Reads Markdown: its prose as passages, lists of (line number, text), and its links."""

import os
import re
from collections import Counter
from urllib.parse import unquote

from structure_checks.place import ROOT

LIST_ITEM = re.compile(r"(?:[-*+]|\d+\.)\s+")
FENCES = ("```", "~~~")


def passages(lines):
    """Each paragraph, heading and list item; no tables, no code."""
    block, fence = [], None
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if fence or bare.startswith(FENCES):
            marks = bare[:3]
            fence = (None if marks == fence else fence) if fence else marks
            bare = ""
        is_code = not block and line.startswith("    ") and not LIST_ITEM.match(bare)
        is_heading = bare.startswith("#")
        if block and (not bare or bare.startswith("|") or is_heading or LIST_ITEM.match(bare)):
            yield block
            block = []
        if not bare or is_code or bare.startswith(("|", "<")):
            continue
        text = LIST_ITEM.sub("", bare.lstrip("#> "), count=1).lstrip("*_(")
        if is_heading:
            yield [(number, text)]
        else:
            block.append((number, text))
    if block:
        yield block


def cells(lines):
    """Each cell of the tables; not of those whose first column is headed "before" and shows wrong texts."""
    is_wrong, inside = False, False
    for number, line in without_code(lines):
        if not line.startswith("|"):
            inside = False
            continue
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not inside:
            inside, is_wrong = True, row[0] == "before"
        if not is_wrong:
            yield from ([(number, cell)] for cell in row if cell)


LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)|<(?:a|img)\b[^>]*?(?:href|src)=\"([^\"]+)\"")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


CODE = re.compile(r"`((?:server|tests|vscode-extension|nvim-plugin)/[\w./-]+)`")


def dead_paths(path, tracked):
    """Paths of the project between backquotes that git does not have; a word in capitals stands for any name."""
    for number, line in enumerate(read(path), 1):
        for name in CODE.findall(line):
            if name.rstrip("/") not in tracked and not re.search(r"\b[A-Z]+\b", name):
                yield f"{path}:{number} {name}: no such file"


def without_code(lines):
    """(line number, text) of the lines of a Markdown file outside of fenced code, with blanks for code in backquotes."""
    fence = None
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if fence or bare.startswith(FENCES):
            marks = bare[:3]
            fence = (None if marks == fence else fence) if fence else marks
            continue
        yield number, re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda code: "`" * len(code.group()), line)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def anchors(path, known={}):
    """The anchors of a Markdown file's headings, as forges make them."""
    if path not in known:
        found = Counter()
        known[path] = set()
        lines = read(path)
        for number, _ in without_code(lines):
            if heading := re.match(r"#{1,6}\s+(.+?)\s*#*$", lines[number - 1]):
                text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
                slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
                known[path].add(f"{slug}-{found[slug]}" if found[slug] else slug)
                found[slug] += 1
    return known[path]


def dead_links(path, tracked):
    """Links of a Markdown file to a file or heading that is not there; `tracked` has the files of git and their folders."""
    for number, line in without_code(read(path)):
        for link in LINK.finditer(line):
            target = next(group for group in link.groups() if group)
            if SCHEME.match(target):
                continue
            place, _, anchor = unquote(target).partition("#")
            leads = os.path.normpath(os.path.join(os.path.dirname(path), place)) if place else path
            if leads not in tracked or place.startswith("/"):
                yield f"{path}:{number} {target}: no such file"
            elif anchor and leads.endswith(".md") and anchor not in anchors(leads):
                yield f"{path}:{number} {target}: no such heading"
