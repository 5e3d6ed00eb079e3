"""Reads tests/structure.layers: layers of modules, halves of one thing, enums of dispatch, files that may be long."""

import os
import sys
from collections import defaultdict

from .place import TESTS

PATH = os.path.join(TESTS, "structure.layers")
DISPATCH, LONG = "dispatch", "long files"


class Declared:
    def __init__(self, lines):
        # folder of a crate, or of the extension: [(modules, whether they are apart)], lowest first
        self.layers = defaultdict(list)
        # folder: {the two modules}
        self.halves = defaultdict(set)
        # names of enums
        self.dispatch = set()
        # path: reason
        self.long = {}
        section = None
        for number, line in enumerate(lines, 1):
            text, _, reason = (part.strip() for part in line.partition("#"))
            words = text.split()
            if not words:
                continue
            needs_reason = words[0] == "halves:" or section == LONG
            if needs_reason and not reason:
                sys.exit(f"tests/structure.layers:{number}: a reason is missing after #")
            if text.startswith("["):
                section = text.strip("[]")
            elif section == DISPATCH:
                self.dispatch |= set(words)
            elif section == LONG:
                self.long[text] = reason
            elif words[0] == "halves:":
                self.halves[section].add(frozenset(words[1:]))
            else:
                is_apart = words[0] == "apart:"
                self.layers[section].append((words[1:] if is_apart else words, is_apart))


def read():
    with open(PATH, encoding="utf-8") as file:
        return Declared(file.readlines())
