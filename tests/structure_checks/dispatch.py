"""Counts matches on enums of dispatch that end in a wildcard: a new command, request or kind would be swallowed there.

structure.layers declares the enums by name. A match counts if an arm names a variant of one, and another arm, which names none
and has no guard, takes every value at that place: `_ =>`, `other =>`, `Some(_) =>` beside `Some(Kind::Tool) =>`.
"""

import re

from .rust import NAMES, begins_item, block_end

MATCH = re.compile(r"\bmatch\b")
PARTS = re.compile(r"=>|::\s*<|[()\[\]{},|]|\bif\b|\bimpl\b")
OPENING, CLOSING = "([{", ")]}"
ALIAS = re.compile(r"\b(\w+)\s+as\s+(\w+)")
IMPL = re.compile(r"\bimpl\b([^{;]*)\{")
ENUM = re.compile(r"\benum\s+(?:\$\w+\s*)?(\w+)")
LITERALS = ("true", "false")


def wildcards(all_files, enums):
    for file in sorted(all_files.values(), key=lambda f: f.path):
        if not any(name in file.text for name in enums):
            continue
        names = Names(file, enums)
        for found in MATCH.finditer(file.text):
            for enum, at, pattern in catch_alls(file.text, found.end(), names):
                yield f"{file.path}:{file.line(at)} {enum}: {pattern} =>"


def unknown(all_files, enums):
    """Names that structure.layers has of enums, and no enum has."""
    declared = {name for file in all_files.values() for name in ENUM.findall(file.text)}
    return [f"tests/structure.layers: {name} is no enum" for name in sorted(enums - declared)]


class Names:
    """The names that the enums have in a file."""

    def __init__(self, file, enums):
        foreign = {names[-1] for _, names, _ in file.uses if names[0] not in NAMES}
        self.enums = {name: name for name in enums - foreign}
        for use in re.finditer(r"\buse\s+([^;]+);", file.text):
            for name, alias in ALIAS.findall(use.group(1)):
                if name in enums:
                    self.enums[alias] = name
        # variants that are imported by themselves
        self.variants = {names[-1]: names[-2] for _, names, _ in file.uses if len(names) > 1 and names[-2] in enums}
        self.own = []
        for found in IMPL.finditer(file.text):
            words = re.findall(r"\w+", found.group(1).split(" where ")[0])
            if words and words[-1] in enums and begins_item(file.text, found.start()):
                self.own.append((found.start(), block_end(file.text, found.end() - 1), words[-1]))

    def enum_of(self, path, at):
        """The enum whose variant this path names."""
        *rest, last = path.replace(" ", "").split("::")
        if not rest:
            return self.variants.get(last)
        if rest[-1] == "Self":
            return next((name for begin, end, name in self.own if begin <= at < end), None)
        return self.enums.get(rest[-1]) if last[:1].isupper() else None


def catch_alls(text, start, names):
    """(enum, place, pattern) of the arms that take all other variants."""
    arms = list(arms_of(text, start))
    if not arms:
        return
    # {place within the pattern: enum}
    named, others = {}, []
    for at, alternatives, has_guard in arms:
        own = [(way, enum) for each in alternatives for way, path in variants(each) if (enum := names.enum_of(path, at))]
        for way, enum in own:
            named.setdefault(way, enum)
        if not own and not has_guard:
            others.append((at, alternatives))
    for at, alternatives in others:
        for pattern in alternatives:
            enum = next((enum for way, enum in named.items() if takes_all(pattern, way)), None)
            if enum:
                yield enum, at, " ".join(pattern.split())
                break


def arms_of(text, start):
    """(place, alternatives of the pattern, whether it has a guard) of each arm of the match whose expression starts here."""
    depth, at = 0, None
    for found in PARTS.finditer(text, start):
        c = found.group()
        if c == "{" and depth == 0:
            at = found.end()
            break
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(c, 0)
        if depth < 0:
            return
    while at is not None:
        arm = pattern_at(text, at)
        if arm is None:
            return
        begin, alternatives, has_guard, end = arm
        yield begin, alternatives, has_guard
        at = body_end(text, end)


def pattern_at(text, start):
    """(place, alternatives, whether there is a guard, end with the arrow) of the arm that begins here."""
    while attribute := re.compile(r"\s*#\[[^\]]*\]").match(text, start):
        start = attribute.end()
    begin = re.compile(r"\s*").match(text, start).end()
    depth, cuts, guard = 0, [begin], None
    for found in PARTS.finditer(text, begin):
        c = found.group()
        if c == "=>" and depth == 0:
            cuts.append(found.start() + 1 if guard is None else guard + 1)
            alternatives = [text[one : other - 1].strip() for one, other in zip(cuts, cuts[1:])]
            return begin, [each for each in alternatives if each], guard is not None, found.end()
        if c in OPENING:
            depth += 1
        elif c in CLOSING:
            depth -= 1
            if depth < 0:
                return None
        elif c == "|" and depth == 0 and guard is None:
            cuts.append(found.end())
        elif c == "if" and depth == 0 and guard is None:
            guard = found.start()
    return None


def body_end(text, start):
    """The place behind the body of an arm; None behind the last one."""
    begin = re.compile(r"\s*").match(text, start).end()
    if text[begin : begin + 1] == "{":
        end = block_end(text, begin)
        return re.compile(r"\s*,?").match(text, end).end()
    depth, angles = 0, 0
    for found in PARTS.finditer(text, begin):
        c = found.group()
        if c.startswith("::"):
            # commas of a turbofish separate no arms
            angles = max(angles, angle_end(text, found.end() - 1))
        elif c in OPENING:
            depth += 1
        elif c in CLOSING:
            depth -= 1
            if depth < 0:
                return None
        elif c == "," and depth == 0 and found.start() >= angles:
            return found.end()
    return None


def angle_end(text, start):
    depth = 0
    for at in range(start, len(text)):
        c = text[at]
        if c == "<":
            depth += 1
        elif c == ">" and text[at - 1] != "-":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


# ---- patterns ---------------------------------------------------------------------------------------------------------

PATH = r"\w+(?:\s*::\s*\w+)*"
REFERENCE = re.compile(r"(?:&|\bref\b|\bmut\b|\bbox\b|\s)+")
BOUND = re.compile(r"\w+\s*@\s*")
CALL = re.compile(rf"({PATH})?\s*([({{])(.*)[)}}]$", re.S)


def bare(pattern):
    """The pattern without references and without the name that it is bound to."""
    for form in (REFERENCE, BOUND, REFERENCE):
        if found := form.match(pattern):
            pattern = pattern[found.end() :]
    return pattern.strip()


def inner(pattern):
    """(name, {field or number: pattern}) of a tuple, a tuple struct or a struct; None if it is none."""
    found = CALL.match(pattern)
    if not found:
        return None
    name, brace, rest = found.groups()
    fields, depth, start = {}, 0, 0
    for at, c in enumerate(rest + ","):
        if c in OPENING:
            depth += 1
        elif c in CLOSING:
            depth -= 1
        elif c == "," and depth == 0:
            part = rest[start:at].strip()
            start = at + 1
            if not part:
                continue
            key = len(fields)
            if brace == "{":
                key, _, part = part.partition(":") if re.match(r"\w+\s*:(?!:)", part) else (part, "", part)
            fields[key.strip() if isinstance(key, str) else key] = part.strip()
    return (name or "").replace(" ", ""), fields


def variants(pattern, way=()):
    """(way to it, path) of each name in a pattern that may be a variant."""
    pattern = bare(pattern)
    if pattern.startswith("(") and len(parts := alternatives_in(pattern)) > 1:
        for part in parts:
            yield from variants(part, way)
        return
    parts = inner(pattern)
    if parts is None:
        if re.fullmatch(PATH, pattern):
            yield way, pattern
        return
    name, fields = parts
    if name:
        yield way, name
    for key, part in fields.items():
        for each in part.split("|") if not any(c in part for c in "([{") else [part]:
            yield from variants(each, (*way, (name, key)))


def alternatives_in(pattern):
    """The alternatives of `(A | B)`."""
    found = re.fullmatch(r"\(([^()]*)\)", pattern)
    return found.group(1).split("|") if found else []


def takes_all(pattern, way):
    """True if the pattern takes every value at this place."""
    pattern = bare(pattern)
    if re.fullmatch(r"_|[a-z_]\w*", pattern) and pattern not in LITERALS:
        return True
    parts = inner(pattern)
    if not way or parts is None:
        return False
    (name, key), rest = way[0], way[1:]
    if parts[0] != name:
        return False
    fields = parts[1]
    if key in fields:
        return takes_all(fields[key], rest)
    return ".." in fields or ".." in fields.values()


EXAMPLES = {
    "match x { Kind::A => 1, Kind::B => 2 }": 0,
    "match x { Kind::A => f::<A, B>(), Kind::B => 2, }": 0,
    "match x { Kind::A => 1, _ => 2 }": 1,
    "match x { Kind::A | Kind::B => { 1 } other => g(other) }": 1,
    "match x { Some(Kind::A { .. }) => 1, Some(_) => 2, None => 3 }": 1,
    "match x { Some(Kind::A) => 1, Some(Kind::B) => 2, None => 3, }": 0,
    "match (a, &b) { (Kind::A, true) => 1, (_, true) => 2, (Kind::B, false) => 3 }": 1,
    "match x { Ok(Kind::A) => 1, Ok(Kind::B) => 2, Err(error) => 3 }": 0,
    "match x { Kind::A if y => 1, other if z => 2, Kind::A => 3, Kind::B => 4 }": 0,
    "match x { Row { kind: Kind::A, .. } => 1, Row { .. } => 2 }": 1,
    "match x { Other::A => match y { Kind::A => 1, Kind::B => 2 }, _ => 3 }": 0,
    "match x { K::A => 1, _ => 2 }": 1,
    "match (x, y) { (Kind::A, _) => 1, (Kind::B, true) => 2, (Kind::B, false) => 3 }": 0,
    "impl Kind { fn f(self) { match self { Self::A => 1, _ => 2 } } }": 1,
    "impl Other { fn f(self) { match self { Self::A => 1, _ => 2 } } }": 0,
}


class Example:
    """A file with one example."""

    path, uses = "example", []

    def __init__(self, text):
        self.text = "use crate::Kind as K;\n" + text

    def line(self, _):
        return 1


def missed():
    """The examples that the rule reads wrongly."""
    return [text for text, count in EXAMPLES.items() if len(list(wildcards({0: Example(text)}, {"Kind"}))) != count]
