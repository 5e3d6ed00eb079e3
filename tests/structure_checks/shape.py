"""Counts by the shape of Rust code: long functions, large types, types of one name; and long files of every language."""

import os
import re
import subprocess
from collections import defaultdict

from .place import ROOT
from .rust import begins_item, block_end

FUNCTION = re.compile(r"\bfn\s+(\w+)")


def functions(all_files):
    """(lines, place) of every function with a body, longest first."""
    found = []
    for file in all_files.values():
        for function in FUNCTION.finditer(file.text):
            end = block_end(file.text, function.end())
            if file.text[end - 1] == "}":
                first, last = file.line(function.start()), file.line(end - 1)
                found.append((last - first + 1, f"{file.path}:{first} {function.group(1)}: {last - first + 1} lines"))
    return sorted(found, key=lambda each: (-each[0], each[1]))


# ---- methods ----------------------------------------------------------------------------------------------------------

ITEM = re.compile(r"\bimpl\b|\btrait\s+(\w+)")
PUBLIC = re.compile(r"\bpub(?:\([^)]*\))?\s+(?:(?:const|async|unsafe|extern)\s+)*fn\s+\w+|[()\[\]{}]")
ANY = re.compile(r"\bfn\s+\w+|[()\[\]{}]")


def without_generics(text):
    """The text without what stands in angle brackets."""
    depth, kept = 0, []
    for at, c in enumerate(text):
        if c == "<":
            depth += 1
        elif c == ">" and text[at - 1] not in "-=":
            depth -= 1
        elif depth == 0:
            kept.append(c)
    return "".join(kept)


def own_functions(text, begin, end, pattern):
    """The number of functions that stand directly in this block."""
    depth = count = 0
    for found in pattern.finditer(text, begin, end):
        c = found.group()
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 1:
            count += 1
    return count


def methods(all_files):
    """[(public methods, type, paths)], most first: those in `impl` blocks of the type itself, and all of a trait."""
    counts, paths = defaultdict(int), defaultdict(set)
    for file in all_files.values():
        for item in ITEM.finditer(file.text):
            brace = file.text.find("{", item.end())
            if brace < 0 or not item.group(1) and not begins_item(file.text, item.start()):
                continue
            name, pattern = item.group(1), ANY
            if name is None:
                head = re.split(r"\bwhere\b", without_generics(file.text[item.end() : brace]))[0]
                own = re.search(r"(\w+)\s*$", head)
                if re.search(r"\bfor\b", head) or own is None:
                    continue
                name, pattern = own.group(1), PUBLIC
            counts[file.crate, name] += own_functions(file.text, brace, block_end(file.text, brace), pattern)
            paths[file.crate, name].add(file.path)
    for (crate, name), count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        yield count, name, sorted(paths[crate, name])


# ---- names ------------------------------------------------------------------------------------------------------------

TYPE = re.compile(r"\b(?:struct|enum|trait|union)\s+([A-Z]\w*)|^(?:pub(?:\([^)]*\))?\s+)?type\s+([A-Z]\w*)", re.M)


def ambiguous(all_files):
    places = defaultdict(dict)
    for file in all_files.values():
        for found in TYPE.finditer(file.text):
            places[found.group(1) or found.group(2)].setdefault(file, file.line(found.start()))
    # each crate has an error type of its own, as is usual
    for name in sorted(places.keys() - {"Error", "Result"}):
        where = places[name]
        # the protocol's twin of a type is meant to have its name
        own = [file for file in where if file.crate != "server/protocol"]
        if len(own) > 1 or len(where) - len(own) > 1:
            yield f"{name}: " + ", ".join(sorted(f"{file.path}:{line}" for file, line in where.items()))


# ---- files ------------------------------------------------------------------------------------------------------------

PRODUCT = ("server/", "vscode-extension/src/", "nvim-plugin/")
CODE = (".rs", ".ts", ".lua", ".py", ".js")
TEST = re.compile(r"(^|/)(tests?|testdata|fixtures)(/|\.rs$)|_tests?\.rs$|\.test\.")


def long_files(all_files, limit, reasons):
    """Files of the product with more lines than the limit and no reason; those of Rust without their tests."""
    listed = subprocess.run(["git", "ls-files", *PRODUCT], cwd=ROOT, capture_output=True, text=True, check=True)
    rust = {file.path: file for file in all_files.values()}
    found = []
    for path in sorted(set(listed.stdout.split("\n"))):
        if not path.endswith(CODE) or TEST.search(path) or path in reasons or not os.path.exists(os.path.join(ROOT, path)):
            continue
        if path in rust:
            lines = rust[path].lines
        else:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                lines = sum(1 for _ in file)
        if lines > limit:
            found.append((lines, path))
    return [f"{path}: {lines} lines" for lines, path in sorted(found, reverse=True)]
