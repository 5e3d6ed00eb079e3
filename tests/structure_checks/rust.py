"""Reads Rust: modules without comments, strings and tests, and the paths that they import."""

import os
import re
from bisect import bisect_right

from .place import ROOT


def crates():
    """{folder: name as in paths} of the crates of the product."""
    found = {}
    for folder in ("server", *(f"server/{name}" for name in sorted(os.listdir(os.path.join(ROOT, "server"))))):
        manifest = os.path.join(ROOT, folder, "Cargo.toml")
        if os.path.exists(manifest):
            with open(manifest, encoding="utf-8") as file:
                found[folder] = re.search(r'^name = "([^"]+)"', file.read(), re.M).group(1).replace("-", "_")
    return found


CRATES = crates()
NAMES = set(CRATES.values())

TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | b?r(?P<hashes>\#*)".*?"(?P=hashes)
      | b?c?"(?:\\.|[^"\\])*"
      | b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])'
    """,
    re.S | re.X,
)


STRING = re.compile(r'b?c?r?#*"')


def blank(text):
    """The text with spaces for comments, strings and characters, and a quote where a string begins; every line stays where
    it is."""

    def spaces(found):
        empty = re.sub(r"[^\n]", " ", found.group())
        return '"' + empty[1:] if STRING.match(found.group()) else empty

    return TOKEN.sub(spaces, text)


BRACKET = re.compile(r"[()\[\]{};]")


def block_end(text, start):
    """The place behind the block, or behind the semicolon, with which the item at `start` ends. A field has neither: it ends
    with the block that it stands in."""
    depth = 0
    for found in BRACKET.finditer(text, start):
        c = found.group()
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth < 0:
                return found.start()
            if depth == 0 and c == "}":
                return found.end()
        elif depth == 0:
            return found.end()
    return len(text)


def begins_item(text, at):
    """True if an item may begin here: not a type, as that of `-> impl Iterator`."""
    while at and text[at - 1].isspace():
        at -= 1
    return at == 0 or text[at - 1] in "};{]" or text.endswith("unsafe", 0, at)


CFG_TEST = re.compile(r"#\[\s*(?:cfg\s*\(\s*(?:test|any\s*\(\s*test\b[^)]*\)|all\s*\(\s*test\b[^)]*\))\s*\)|test)\s*\]")
ATTRIBUTE = re.compile(r"\s*#\[")
ITEM = re.compile(r"\bpub(?:\([^)]*\))?\s+(?:(?:const|unsafe|async|extern)\s+)*(?:fn|struct|enum|trait|type|const|static|union|mod)\s+(\w+)")


def without_tests(text):
    """Blanks the items that are compiled for tests only. Gives the text, the names of the test modules in other files, and
    the number of lines of these items."""
    gone, lines = set(), 0
    at = 0
    while found := CFG_TEST.search(text, at):
        begin, at = found.start(), found.end()
        while attribute := ATTRIBUTE.match(text, at):
            depth, at = 1, attribute.end()
            while depth and at < len(text):
                depth += {"[": 1, "]": -1}.get(text[at], 0)
                at += 1
        end = block_end(text, at)
        module = re.match(r"\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", text[at:end])
        if module:
            gone.add(module.group(1))
        lines += text.count("\n", begin, end) + 1
        text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
    return text, gone, lines


class File:
    """A module in its own file, without its comments, strings and tests."""

    def __init__(self, crate, path, module):
        # the folder of the crate, and its name in paths
        self.crate, self.root = crate, CRATES[crate]
        self.path, self.module = path, module
        with open(os.path.join(ROOT, path), encoding="utf-8") as source:
            self.source = source.read()
        # with a quote where a string begins
        self.marked, self.test_modules, test_lines = without_tests(blank(self.source))
        self.text = self.marked.replace('"', " ")
        self.breaks = [found.start() for found in re.finditer("\n", self.text)]
        self.lines = self.source.count("\n") - test_lines
        self.modules = set(re.findall(r"\bmod\s+(\w+)\s*;", self.text))
        self.uses = list(self.read_uses())
        # name -> path, of what this module passes on
        self.passed_on = {names[-1]: names for public, names, _ in self.uses if public and names[-1] != "*"}
        # paths of the modules that it passes on as a whole
        self.passed_on_whole = [names[:-1] for public, names, _ in self.uses if public and names[-1] == "*"]
        self.items = set(ITEM.findall(self.text))

    def line(self, at):
        return bisect_right(self.breaks, at - 1) + 1

    def read_uses(self):
        """(whether it is public, path as names, line) of each name that is imported."""
        for found in re.finditer(r"^[ \t]*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", self.text, re.M):
            for names in expand(found.group(2)):
                yield bool(found.group(1)), self.absolute(names), self.line(found.start())

    def absolute(self, names):
        """A path from the crate's root, or from another crate."""
        if names[0] == "crate":
            return [self.root, *names[1:]]
        here = [self.root, *self.module]
        if names[0] in ("self", "super"):
            names = names[1:] if names[0] == "self" else names
            while names and names[0] == "super":
                here, names = here[:-1], names[1:]
            return here + names
        return here + names if names[0] in self.modules else names

    def inline(self):
        """Paths in the code that begin at the crate's root or above this module."""
        rest = re.sub(r"\buse\s+[^;]+;", lambda use: re.sub(r"[^\n]", " ", use.group()), self.text)
        for found in re.finditer(r"\b(crate|super)((?:::\w+)+)", rest):
            yield self.absolute((found.group(1) + found.group(2)).split("::")), self.line(found.start())


def expand(tree):
    """The paths in a use tree, each a list of names; a new name given with `as` is left out."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        tree = re.sub(r"\s+as\s+\w+$", "", tree)
        names = [name.strip() for name in tree.split("::") if name.strip()]
        if names and names[-1] == "self" and len(names) > 1:
            names = names[:-1]
        if names:
            yield names
        return
    head = [name.strip() for name in tree[:brace].split("::") if name.strip()]
    depth, start = 0, brace + 1
    for at in range(brace + 1, len(tree)):
        c = tree[at]
        if c == "{":
            depth += 1
        elif c == "}" and depth:
            depth -= 1
        elif (c == "," or c == "}") and not depth:
            part = tree[start:at].strip()
            if part:
                for names in expand(part):
                    yield head if names == ["self"] and head else head + names
            start = at + 1


def files():
    """All modules of the crates that are part of the product, by crate and path."""
    return walk()[0]


TEXT = re.compile(r'include_str!\("([^"]+)"\)')


def unnamed():
    """Files of the crates that no `mod` line names, so that no rule sees them."""
    _, seen = walk()
    for folder in CRATES:
        for above, _, names in os.walk(os.path.join(ROOT, folder, "src")):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(above, name), ROOT)
                if name.endswith(".rs") and name != "main.rs" and path not in seen:
                    yield path


def walk():
    """The modules of the product by crate and path, and the paths of all modules, tests included."""
    found, seen = {}, set()
    for folder, crate in CRATES.items():
        source = os.path.join(folder, "src")
        pending = [(path, [], False) for path in (f"{source}/lib.rs",) if os.path.exists(os.path.join(ROOT, path))]
        while pending:
            path, module, is_test = pending.pop()
            file = File(folder, path, module)
            seen.add(path)
            # a text of the program, as a template
            seen |= {os.path.normpath(os.path.join(os.path.dirname(path), text)) for text in TEXT.findall(file.source)}
            if not is_test:
                found[(crate, *module)] = file
            folder_of = source + "".join("/" + name for name in module)
            declared = set(re.findall(r"\bmod\s+(\w+)\s*;", file.source))
            for name in sorted(declared | file.modules):
                is_own = is_test or name not in file.modules or name in file.test_modules
                for candidate in (f"{folder_of}/{name}.rs", f"{folder_of}/{name}/mod.rs"):
                    if os.path.exists(os.path.join(ROOT, candidate)):
                        pending.append((candidate, [*module, name], is_own))
    return found, seen


def target(all_files, names, seen=()):
    """The file that a path leads to: through what modules pass on, to the one that defines it."""
    if names[0] not in NAMES:
        return None
    deepest = None
    for length in range(1, len(names) + 1):
        file = all_files.get(tuple(names[:length]))
        if not file:
            break
        deepest, rest = file, names[length:]
    if not deepest or not rest or id(deepest) in seen:
        return deepest
    seen = (*seen, id(deepest))
    if rest[0] in deepest.passed_on:
        return target(all_files, deepest.passed_on[rest[0]] + rest[1:], seen) or deepest
    for whole in deepest.passed_on_whole:
        further = target(all_files, whole + rest, seen)
        if further and (rest[0] in further.items or further is not all_files.get(tuple(whole))):
            return further
    return deepest
