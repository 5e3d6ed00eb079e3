"""Reads comments, also those of Python and its docstrings, as passages: lists of (line number, text)."""

import io
import os
import re
import tokenize

MARKS = {".rs": "//", ".ts": "//", ".js": "//", ".mjs": "//", ".lua": "--", ".sh": "#", ".toml": "#", ".py": "python"}
PYTHON = MARKS[".py"]


def mark_of(path, first_line):
    """How a comment begins in this file; None where it is none of the languages."""
    extension = os.path.splitext(path)[1]
    if extension:
        return MARKS.get(extension)
    if not first_line.startswith("#!"):
        return None
    return PYTHON if "python" in first_line else "#" if first_line.rstrip().endswith("sh") else None


def passages(text, mark):
    return of_python(text) if mark == PYTHON else blocks(text.splitlines(), mark)


def split(line, mark):
    """(whether code stands before it, the comment's text) of a line; None where it has no comment."""
    bare = line.strip()
    if bare.startswith(mark) and not bare.startswith("#!"):
        return False, re.sub(rf"^(?:{re.escape(mark)}|/|!|-)+", "", bare).strip()
    if mark == "//" and (found := re.match(r"/?\*+(?:\s+|$)", bare)):
        return False, bare[found.end() :].removesuffix("*/").strip()
    before, found, after = line.partition(f" {mark} ")
    if found and all(before.count(quote) % 2 == 0 for quote in "\"'`"):
        return True, after.strip()
    return None


def blocks(lines, mark):
    """The comments of a file: lines that follow one another are one comment."""
    block = []
    for number, line in enumerate(lines, 1):
        comment = split(line, mark)
        ends = comment is None or comment[0] or not comment[1] or comment[1].startswith(("@", "-", "*", "```"))
        if ends and block:
            yield block
            block = []
        if comment and comment[1] and not comment[1].startswith("@"):
            text = re.sub(r"^[-*] +", "", comment[1])
            if comment[0]:
                yield [(number, text)]
            else:
                block.append((number, text))
    if block:
        yield block


def of_python(text):
    """The comments and docstrings of a Python file; a docstring ends a passage at an empty line and at an indented one."""
    lines = text.splitlines()
    before = None
    plain = [""] * len(lines)
    for token in tokens(text):
        row, column = token.start
        if token.type == tokenize.COMMENT:
            plain[row - 1] = lines[row - 1][:column].strip() and "code " or ""
            plain[row - 1] += token.string
        elif token.type == tokenize.STRING and is_docstring(token, before):
            yield from paragraphs(docstring(token.string), row)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token
    yield from blocks(plain, "#")


def tokens(text):
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError):
        return


def is_docstring(token, before):
    kinds = (tokenize.INDENT, tokenize.NEWLINE, tokenize.DEDENT, tokenize.ENCODING)
    return token.string.lstrip("rRuU").startswith(('"""', "'''")) and (before is None or before.type in kinds)


def docstring(token):
    return token.lstrip("rRuU")[3:-3]


def paragraphs(text, first):
    """The paragraphs of a text that begins in line `first`; a line with more indentation than the text is an example."""
    lines = text.split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(indents, default=0)
    block = []
    for number, line in enumerate(lines, first):
        is_example = number > first and line.startswith(" " * (margin + 1))
        if line.strip() and not is_example:
            block.append((number, line.strip()))
        elif block:
            yield block
            block = []
    if block:
        yield block
