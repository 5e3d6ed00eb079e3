#!/usr/bin/env python3
"""Turns the hook calls of a run into fixtures: payloads/<name>/<Event>[-detail].json, one per distinct event and tool.

    record_payloads.py HOME --workspace DIR [--dest DEST] [--out payloads]

HOME, DIR and DEST are those of the run_agent.py call. Machine paths become /home/dev/project, /home/dev and
/home/dev/agents; ids, times and hashes become fixed ones (the same id stays the same within a run); of the environment
nothing is kept. A file that is there already is left alone: remove it to record it anew. The names of the environment
variables that the agent gives its hooks are printed.
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN_ENV = {"PATH", "LANG", "TERM", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "RIG_AGENT", "LC_CTYPE", "LC_ALL"}
DURATIONS = re.compile(r"(?i)(duration|elapsed)")


class Cleaner:
    """Replaces what differs from machine to machine and from run to run."""

    def __init__(self, places):
        # longest first; the agent also writes paths as folder names, with dashes
        places = sorted(places.items(), key=lambda p: -len(p[0]))
        self.places = places + [(re.sub(r"[/._]", "-", a), re.sub(r"[/._]", "-", b)) for a, b in places]
        self.ids = {}

    def fixed(self, found, form):
        """A fixed id for a found one, numbered in the order of appearance."""
        n = self.ids.setdefault(found, len(self.ids) + 1)
        return form % n

    def text(self, s):
        for there, here in self.places:
            s = s.replace(there, here)
        s = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
                   lambda m: self.fixed(m[0], "00000000-0000-4000-8000-%012d"), s)
        s = re.sub(r"\b(ses|msg)_[0-9A-Za-z]{20,}\b", lambda m: self.fixed(m[0], m[1] + "_%026d"), s)     # opencode
        s = re.sub(r"\ba[0-9a-f]{16}\b", lambda m: self.fixed(m[0], "a%016d"), s)           # a subagent
        s = re.sub(r"\bb(?=\w*\d)[0-9a-z]{8}\b", lambda m: self.fixed(m[0], "b%08d"), s)     # a background command
        s = re.sub(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "2026-01-02T03:04:05.000Z", s)
        return re.sub(r"/tmp/claude-\d+/", "/tmp/claude-1000/", s)

    def value(self, v, key=""):
        if isinstance(v, str):
            return self.text(v)
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if isinstance(v, dict):
            return {self.text(k): self.value(x, k) for k, x in v.items()}
        if isinstance(v, (int, float)) and not isinstance(v, bool):
            if v > 1.6e12:
                return 1767323045000
            if DURATIONS.search(key):
                return 12
        return v


def label(p):
    """File name of a payload: the event, and what tells its kinds apart."""
    event, detail = p.get("hook_event_name") or "unknown", p.get("tool_name")
    given, response = p.get("tool_input") or {}, p.get("tool_response") or {}
    if event == "SessionStart":
        detail = p.get("source")
    elif event == "UserPromptSubmit":
        tag = re.match(r"<([a-z-]+)>", p["prompt"])
        detail = tag and tag[1]
    elif event == "PostToolBatch" and len(p["tool_calls"]) > 1:
        detail = "several"
    elif event == "PostToolBatch" and "hook error" in str(p["tool_calls"][0]["tool_response"]):
        detail = "denied"
    elif event == "PostToolBatch" and "<tool_use_error>" in str(p["tool_calls"][0]["tool_response"]):
        detail = "refused"
    elif event == "Stop" and p.get("background_tasks"):
        detail = "background_task"
    elif given.get("run_in_background"):
        detail += "-background"
    elif isinstance(response, dict) and "backgroundTaskId" in response:
        detail += "-moved_to_background"
    elif isinstance(response, dict) and response.get("type") == "update":
        detail += "-update"
    if "agent_id" in p and re.match("(Pre|Post)Tool|tool|session.idle", event):
        detail = f"{detail}-in_subagent" if detail else "in_subagent"
    return event + (f"-{detail}" if detail else "")


def save(out, name, payload):
    """Writes a fixture unless there is one of that name. True if written."""
    path = os.path.join(out, re.sub(r"[^\w.-]", "_", name) + ".json")
    if os.path.exists(path):
        return False
    os.makedirs(out, exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(payload, f, indent=2, ensure_ascii=False)
        f.write("\n")
    return True


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("home")
    p.add_argument("--workspace", required=True)
    p.add_argument("--dest", default=os.path.join(HERE, "..", ".cache", "agents"))
    p.add_argument("--out", default=os.path.join(HERE, "payloads"), help="the agent's folder is made below it")
    a = p.parse_args()
    home, workspace, dest = map(os.path.abspath, (a.home, a.workspace, a.dest))
    clean = Cleaner({workspace: "/home/dev/project", home: "/home/dev", dest: "/home/dev/agents"})
    names, env, agent = [], set(), ""
    with open(os.path.join(home, "rig", "hooks.jsonl"), encoding="utf-8") as f:
        for call in map(json.loads, f):
            if call["at"] != "begin" or not isinstance(call["payload"], dict):
                continue
            agent = call["agent"]
            env |= set(call["env"])
            payload = clean.value(call["payload"])
            if save(os.path.join(a.out, agent), label(payload), payload):
                names.append(label(payload))
    print(json.dumps({"agent": agent, "recorded": names, "env": sorted(env - PLAIN_ENV)}))


if __name__ == "__main__":
    sys.exit(main())
