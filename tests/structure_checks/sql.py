"""Counts SQL statements outside the homes of the tables."""

import re

from .rust import TOKEN

# homes of tables, and code about the whole schema; the worktree's cache has two tables, and a run its own database
HOMES = (
    "server/core/src/store/tables/",
    "server/control/src/tables/",
    "server/core/src/worktree/file_state.rs",
    "server/core/src/worktree/past_times.rs",
    "server/job/src/session/db.rs",
    "server/core/src/store/migrate.rs",
    "server/core/src/fuzz.rs",
)
SQL = re.compile(
    r"""\b(?:SELECT\b | INSERT\s+(?:OR\s+\w+\s+)?INTO\b | REPLACE\s+INTO\b | UPDATE\s+\S+\s+SET\b | DELETE\s+FROM\b
      | (?:CREATE|DROP|ALTER)\s+(?:\w+\s+)?(?:TABLE|INDEX)\b)""",
    re.X,
)


def statements(all_files):
    for file in sorted(all_files.values(), key=lambda f: f.path):
        if file.path.startswith(HOMES):
            continue
        for found in TOKEN.finditer(file.source):
            if file.marked[found.start()] == '"' and SQL.search(found.group()):
                text = re.sub(r"\s+", " ", found.group())
                yield f"{file.path}:{file.line(found.start())} {text[:80]}"
