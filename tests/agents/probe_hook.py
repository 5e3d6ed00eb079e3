#!/usr/bin/env python3
"""A hook to try the rig itself: notes each call and, before an edit, can hold, deny or rewrite it.

    probe_hook.py LOG [--hold S] [--deny TEXT] [--rewrite JSON] [--crash CODE] [--match REGEX]

--rewrite is an object of replacements, {"old text": "new text", …}, made in every string of the tool's input.
--match picks the tools that hold, deny, rewrite and crash apply to (default: the edit tools, not the shell).
LOG gets one JSON line per call: event, tool, payload, the answer, and the files named in the input as they were then.
"""
import argparse
import json
import os
import re
import sys
import time

EDIT_TOOLS = r"^(Edit|Write|NotebookEdit)$"


def replaced(value, pairs):
    """A copy of a JSON value with the replacements made in every string."""
    if isinstance(value, str):
        for old, new in pairs.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, list):
        return [replaced(v, pairs) for v in value]
    if isinstance(value, dict):
        return {k: replaced(v, pairs) for k, v in value.items()}
    return value


def denial(event, reason):
    """The answer that stops a tool call."""
    return {"hookSpecificOutput": {"hookEventName": event, "permissionDecision": "deny",
                                   "permissionDecisionReason": reason}}


def rewriting(event, new_input):
    """The answer that lets a tool call run with another input."""
    return {"hookSpecificOutput": {"hookEventName": event, "permissionDecision": "allow", "updatedInput": new_input}}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("log")
    p.add_argument("--hold", type=float, default=0, metavar="S")
    p.add_argument("--deny", metavar="TEXT")
    p.add_argument("--rewrite", type=json.loads, metavar="JSON")
    p.add_argument("--crash", type=int, metavar="CODE")
    p.add_argument("--match", default=EDIT_TOOLS, metavar="REGEX")
    a = p.parse_args()
    payload = json.load(sys.stdin)
    agent = os.environ.get("RIG_AGENT", "")
    event, tool = payload.get("hook_event_name", ""), payload.get("tool_name", "")
    tool_input = payload.get("tool_input") or {}
    entry = {"t": time.time(), "agent": agent, "event": event, "tool": tool, "payload": payload, "on_disk": {}}
    path = tool_input.get("file_path") or tool_input.get("notebook_path") or ""
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            entry["on_disk"][path] = f.read()
    answer = None
    if event == "PreToolUse" and re.search(a.match, tool):
        time.sleep(a.hold)
        if a.deny is not None:
            answer = denial(event, a.deny)
        elif a.rewrite:
            answer = rewriting(event, replaced(tool_input, a.rewrite))
        entry["crash"] = a.crash
    entry["answer"] = answer
    with open(a.log, "a", encoding="utf-8") as f:
        f.write(json.dumps(entry) + "\n")
    if answer:
        print(json.dumps(answer))
    if entry.get("crash"):
        sys.exit(a.crash)


if __name__ == "__main__":
    main()
