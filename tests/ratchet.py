"""Ceilings that only get lower: what a check counts is held against tests/ceilings.txt."""

import os
import sys

CEILINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ceilings.txt")
SHOWN = 40


def hold(check, figures, always=()):
    """Prints the figures, `{name: [place]}`, and gives the exit status: 1 where one is above its ceiling.

    The places of those in `always`, and of what fails, are listed; with `--list` all. `--lower` lowers the ceilings.
    """
    lines = open(CEILINGS, encoding="utf-8").read().splitlines()
    rows = {row[0]: (int(row[1]), number) for number, line in enumerate(lines) if (row := split(line))}
    failed = False
    for name, places in figures.items():
        key, count = f"{check}: {name}", len(places)
        ceiling, number = rows.get(key, (0, None))
        worse = count > ceiling
        failed |= worse
        note = "ABOVE ITS CEILING" if worse else "lower its ceiling: --lower" if count < ceiling else ""
        print(f"{name:24} {count:5}  (at most {ceiling}) {note}".rstrip())
        if worse or name in always or "--list" in sys.argv:
            shown = places if "--list" in sys.argv else places[:SHOWN]
            print("".join(f"    {place}\n" for place in shown), end="")
            if len(shown) < count:
                print(f"    and {count - len(shown)} more: tests/{check} --list")
        if count < ceiling and "--lower" in sys.argv:
            lines[number] = f"{key} = {count}"
    if "--lower" in sys.argv:
        with open(CEILINGS, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    if failed:
        print(f"tests/{check}: a figure got worse; mend the code, its ceiling stays", file=sys.stderr)
    return int(failed)


def split(line):
    """(name, number) of a line `name = number`; None for a comment."""
    name, equals, number = line.rpartition("=")
    return (name.strip(), number) if equals and not line.startswith("#") else None
