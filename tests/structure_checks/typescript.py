"""Reads the TypeScript of the VS Code extension: modules and what they import from one another."""

import os
import re

from .place import ROOT

FOLDER = "vscode-extension"
IMPORT = re.compile(
    r"""^(?:import|export)\b[^;"']*?["'](\.{1,2}/[^"']+)["']
      | \bimport\(\s*["'](\.{1,2}/[^"']+)["']""",
    re.M | re.X,
)


class Module:
    """A file of the extension; its types count as imports, too."""

    def __init__(self, path):
        self.crate, self.path = FOLDER, path
        with open(os.path.join(ROOT, path), encoding="utf-8") as source:
            self.source = source.read()
        self.module = path.removeprefix(f"{FOLDER}/src/").removesuffix(".ts").split("/")

    def imports(self):
        """(path, line) of each import of a file."""
        for found in IMPORT.finditer(self.source):
            there = os.path.join(os.path.dirname(self.path), found.group(1) or found.group(2))
            yield os.path.normpath(there), self.source.count("\n", 0, found.start()) + 1


def modules():
    """{path: module}."""
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, FOLDER, "src")):
        for name in names:
            if name.endswith(".ts"):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                found[path] = Module(path)
    return found


def arrows(all_modules):
    """{(importing module, imported module): first line}."""
    found = {}
    for module in all_modules.values():
        for path, line in module.imports():
            if path in all_modules and path != module.path:
                found.setdefault((module, all_modules[path]), line)
    return found
