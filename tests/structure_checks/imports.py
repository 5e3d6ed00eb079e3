"""Counts by imports: upward ones, circles of files, pairs and rooms. The code may be Rust or TypeScript."""

import re
from collections import defaultdict

from . import rust

IMPL_ENGINE = re.compile(r"\bimpl\s+Engine\s*\{")
METHOD = re.compile(r"\bpub(?:\(crate\))?\s+(?:const\s+)?fn\s+(\w+)")
# `Engine::open(`, `engine.head(`, `Self::open_with(`, `self.head(`: the last two count within an `impl Engine` only
ENGINE_CALL = re.compile(r"(?:\bEngine::|\bengine(?:\(\))?\s*\.\s*)(\w+)\s*\(")
OWN_CALL = re.compile(r"(?:\bSelf::|\bself\s*\.\s*)(\w+)\s*\(")


def arrows(all_files):
    """{(importing file, imported file): first line} of Rust, without what is only passed on."""
    found = {}
    for file in all_files.values():
        imports = [(names, line) for public, names, line in file.uses if not public]
        for names, line in [*imports, *file.inline()]:
            to = rust.target(all_files, names)
            if to and to is not file:
                found.setdefault((file, to), line)
    return {**engine_calls(all_files), **found}


def engine_calls(all_files):
    """{(file, file of an `impl Engine`): line} of each method of `Engine`, its views included, that a file of core calls."""
    homes, found = {}, {}
    core = [file for file in all_files.values() if file.crate == "server/core"]
    own = {file: [(at.start(), rust.block_end(file.text, at.start())) for at in IMPL_ENGINE.finditer(file.text)] for file in core}
    for file in core:
        for begin, end in own[file]:
            for name in METHOD.findall(file.text, begin, end):
                homes[name] = file
    for file in core:
        calls = list(ENGINE_CALL.finditer(file.text))
        for begin, end in own[file]:
            calls += OWN_CALL.finditer(file.text, begin, end)
        for call in calls:
            home = homes.get(call.group(1))
            if home and home is not file:
                found.setdefault((file, home), file.line(call.start()))
    return found


def name(file):
    return "/".join(file.module)


# ---- layers -----------------------------------------------------------------------------------------------------------


def place(layers, file):
    """(number of its layer, its name there, whether the layer's modules are apart), by the longest name that fits."""
    best = None
    for number, (names, is_apart) in enumerate(layers.get(file.crate, ())):
        for listed in names:
            path = listed.split("/")
            if file.module[: len(path)] == path and (best is None or len(path) > best[0]):
                best = (len(path), number, listed, is_apart)
    return best[1:] if best else None


def upward(layers, all_arrows):
    for (file, to), line in sorted(all_arrows.items(), key=lambda a: (a[0][0].path, a[1])):
        if file.crate != to.crate or not file.module or not to.module:
            continue
        here, there = place(layers, file), place(layers, to)
        if not here or not there:
            continue
        beside = here[0] == there[0] and here[2] and here[1] != there[1]
        if there[0] > here[0] or beside:
            yield f"{file.path}:{line} {name(file)} -> {name(to)}"


def in_no_layer(layers, all_files):
    return sorted({file.path for file in all_files if file.crate in layers and file.module and not place(layers, file)})


def unknown(layers, all_files):
    """Names of layers that no module has."""
    known = {(file.crate, "/".join(file.module[: depth + 1])) for file in all_files for depth in range(len(file.module))}
    for crate, rows in layers.items():
        for names, _ in rows:
            yield from (f"tests/structure.layers: [{crate}] {name}" for name in names if (crate, name) not in known)


# ---- circles ----------------------------------------------------------------------------------------------------------


def components(graph):
    """Strongly connected groups of more than one node (Tarjan, without recursion). `graph`: {node: [node]}."""
    index, low, stack, on, result = {}, {}, [], set(), []
    for root in list(graph):
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, more = work[-1]
            step = next(more, None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] is not node:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    if len(group) > 1:
                        result.append(group)
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on.add(step)
                work.append((step, iter(graph.get(step, ()))))
            elif step in on:
                low[node] = min(low[node], index[step])
    return result


def circles(all_arrows):
    """Groups of files that import one another, each sorted by path."""
    graph = defaultdict(list)
    for file, to in sorted(all_arrows, key=lambda a: (a[0].path, a[1].path)):
        graph[file].append(to)
    return sorted((sorted(group, key=lambda f: f.path) for group in components(graph)), key=lambda g: g[0].path)


def pairs(groups, halves, all_arrows):
    """The circles of two files that are not declared as halves of one thing."""
    for group in groups:
        if len(group) == 2 and frozenset(map(name, group)) not in halves[group[0].crate]:
            one, other = group
            yield f"{one.path}:{all_arrows[one, other]} <-> {other.path}:{all_arrows[other, one]}"


def rooms(all_arrows, halves):
    """Siblings in one folder that import one another in circles, each with all that is below it. Declared halves may."""
    folders = defaultdict(lambda: defaultdict(dict))
    for (file, to), line in sorted(all_arrows.items(), key=lambda a: (a[0][0].path, a[1])):
        if file.crate != to.crate:
            continue
        depth = 0
        while file.module[depth : depth + 1] == to.module[depth : depth + 1] != []:
            depth += 1
        # else one stands below the other
        if depth < min(len(file.module), len(to.module)):
            here, there = file.module[depth], to.module[depth]
            arrow = f"{file.path}:{line} -> {name(to)}"
            folders[file.crate, tuple(file.module[:depth])][here].setdefault(there, arrow)
    for (crate, prefix), graph in sorted(folders.items()):
        for group in components(graph):
            if frozenset("/".join([*prefix, room]) for room in group) in halves[crate]:
                continue
            for room in sorted(group):
                inner = [text for to, text in sorted(graph[room].items()) if to in group]
                more = f" and {len(inner) - 3} more" if len(inner) > 3 else ""
                yield f"{'/'.join([crate, 'src', *prefix, room])}: {'; '.join(inner[:3])}{more}"
