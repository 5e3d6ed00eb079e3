"""Reads the texts of the product for people: string literals that are prose, as passages, lists of (line number, text).

A literal is prose if it has at least four words, most of them plain ones. SQL and lists of names are not, and neither is a line
that begins with blanks, as the examples in a help text do.
"""

import json
import re
import tokenize

from structure_checks import rust

from . import comments

MIN_WORDS = 4
CLIENTS = ("vscode-extension/src/", "nvim-plugin/lua/", "nvim-plugin/plugin/", "server/clients/js/src/", "server/agents/src/")
# comments that are the help of options
HELP = re.compile(r"server/src/cli/.+\.rs")
PYTHON_CLIENT = "server/clients/python/src/"
CATALOGUE = "vscode-extension/package.nls.json"
# a test stands beside its module
TEST = re.compile(r"(^|/)tests?/|\.test\.")


def passages(path, text):
    """The texts of a file that is not Rust; nothing where it is none of the product."""
    if path == CATALOGUE:
        literals = of_json(text)
    elif TEST.search(path):
        literals = ()
    elif path.startswith(PYTHON_CLIENT):
        literals = of_python(text)
    elif path.startswith(CLIENTS) and path.endswith((".ts", ".js")):
        literals = of_script(text, SCRIPT)
    elif path.startswith(CLIENTS) and path.endswith(".lua"):
        literals = of_script(text, LUA)
    else:
        literals = ()
    return prose(literals)


def of_rust():
    """(path, passage) of the texts in the product's Rust, without its tests."""
    for file in rust.files().values():
        found = []
        for token in rust.TOKEN.finditer(file.source):
            literal = token.group()
            if rust.STRING.match(literal) and file.marked[token.start()] == '"':
                content = re.sub(r'^b?c?r?#*"|"#*$', "", literal)
                found.append((file.line(token.start()), content if literal.lstrip("bc").startswith("r") else unescaped(content)))
        yield from ((file.path, passage) for passage in prose(found))


# comments and regular expressions are read first: a quote in them begins no text
SCRIPT = re.compile(r"""//[^\n]*|/\*.*?\*/|(?<=[(=,:])\s?/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|\$\{(?:[^{}]|\{[^{}]*\})*\}|[^`\\])*`""", re.S)
LUA = re.compile(r"""--\[\[.*?\]\]|--[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[\[.*?\]\]""", re.S)


def of_script(text, literals):
    for token in literals.finditer(text):
        literal = token.group()
        if literal.lstrip().startswith(("/", "--")):
            continue
        literal = literal[2:-2] if literal.startswith("[[") else unescaped(literal[1:-1])
        yield text.count("\n", 0, token.start()) + 1, literal


def of_python(text):
    before = None
    for token in comments.tokens(text):
        if token.type == tokenize.STRING and not comments.is_docstring(token, before):
            yield token.start[0], unescaped(re.sub(r"^\w*[\"']+|[\"']+$", "", token.string))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token


def of_json(text):
    for value in json.loads(text).values():
        yield text.count("\n", 0, text.index(json.dumps(value, ensure_ascii=False))) + 1, value


def unescaped(content):
    """A literal's text; a line that is continued keeps its end, so that lines can be counted."""
    content = re.sub(r"\\\n\s*", "\0", content)
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": " ", "r": " "}.get(found[1], found[1]), content)


SQL = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA|DROP|ALTER|REPLACE|FROM|WHERE|AND|ORDER|JOIN|LEFT)\b")
PLAIN = re.compile(r"[\"'“(]*[A-Za-z][a-z’']*[.,;:!?)”\"']*")


def prose(literals):
    for number, text in literals:
        if SQL.match(text):
            continue
        for line in text.split("\n"):
            words = line.replace("\0", " ").split()
            plain = sum(bool(PLAIN.fullmatch(word)) for word in words)
            listed = sum(word.endswith(",") for word in words)
            if not line.startswith("  ") and len(words) >= MIN_WORDS and plain * 2 > len(words) > listed * 2:
                yield [(number + at, part) for at, part in enumerate(line.split("\0"))]
            number += line.count("\0")
