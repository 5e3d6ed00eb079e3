#!/usr/bin/env python3
"""Makes the records of conversations in records/ anew, with the real agents and the scripted model.

    record_conversations.py AGENT [--dest DEST] [NAME...]

AGENT is claude, codex, gemini or qwen, installed by install.sh into DEST. Each NAME is a function below (all of them if none is named).
A record is written with other paths. Long texts of system prompts and tools are cut, since a row has its form without them.
Needs tmux for those in which someone types, and `unshare`.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import run_agent as rig

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_TEXT = 160
# parts of requests, and tools: large, and in no chain
EMPTIED = ("shape", "tools", "contextUsage", "base_instructions", "state")
LINES = 'first line\n\n  "quoted" \'single\' $HOME `cmd` \\n größe — ü\n--end'


class Run:
    """One agent with a new home and workspace, beside the scripted model."""

    def __init__(self, name, dest, script):
        self.name, self.agent = name, rig.AGENTS[name]
        self.home, self.workspace = (tempfile.mkdtemp(prefix=f"record-{part}-") for part in ("home", "workspace"))
        with open(os.path.join(self.home, "script.json"), "w", encoding="utf-8") as f:
            json.dump(script, f)
        self.model = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "fake_llm.py"), "--script", os.path.join(self.home, "script.json"),
             "--log", os.path.join(self.home, "model.jsonl"), "--agent", name, "--set", f"workspace={self.workspace}"],
            stdout=subprocess.PIPE, text=True)
        self.r = argparse.Namespace(
            home=self.home, workspace=self.workspace, dest=os.path.abspath(dest), hook=None, hook_timeout=60, env=[],
            url="http://127.0.0.1:" + self.model.stdout.readline().strip(), model=self.agent.model, trust=False)
        self.env = {k: os.environ[k] for k in ("PATH", "LANG", "TERM") if k in os.environ}
        self.env.update(HOME=self.home, **self.agent.setup(self.r))
        if hasattr(self.agent, "terminal"):
            self.agent.terminal(self.r)
        self.binary = os.path.join(self.r.dest, "bin", name)
        self.session = None
        for file in ("a.txt", "b.txt"):
            rig.write(os.path.join(self.workspace, file), "one\n")
        subprocess.run(["git", "init", "-q"], cwd=self.workspace, check=True)

    def run(self, *argv):
        done = subprocess.run([self.binary, *argv], cwd=self.workspace, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            sys.exit(f"{argv}: exit {done.returncode}\n{done.stdout[-600:]}\n{done.stderr[-600:]}")
        return done.stdout

    def turn(self, prompt, *options):
        argv = self.agent.command(self.r, prompt, self.session)
        self.session = self.agent.session(self.run(*argv, *options)) or self.session

    def turns(self, *prompts):
        for prompt in prompts:
            self.turn(prompt)

    def record(self):
        """The path of the newest record."""
        places = {"claude": ".claude/projects/*/*.jsonl", "codex": ".codex/sessions/*/*/*/*.jsonl",
                  "gemini": ".gemini/tmp/*/chats/*.jsonl", "qwen": ".qwen/projects/*/chats/*.jsonl"}
        return max(glob.glob(os.path.join(self.home, places[self.name])), key=os.path.getmtime)

    def masked(self, path):
        """A record without what belongs to this machine, and with long texts cut."""
        for line in open(path, encoding="utf-8"):
            for real, other in ((self.workspace, "/home/dev/project"), (self.home, "/home/dev")):
                line = line.replace(real, other).replace(re.sub(r"[^a-zA-Z0-9]", "-", real), re.sub(r"[^a-zA-Z0-9]", "-", other))
            yield json.dumps(cut(json.loads(line)), ensure_ascii=False, separators=(",", ":")) + "\n"


def cut(value):
    if isinstance(value, dict):
        return {key: {} if key in EMPTIED and len(json.dumps(one)) > MAX_TEXT else cut(one) for key, one in value.items()}
    if isinstance(value, list):
        return [cut(one) for one in value]
    if isinstance(value, str) and len(value) > MAX_TEXT and value != LINES:
        return f"{value[:60]}… ({len(value)} characters)"
    return value


class Typed:
    """An agent on a terminal, for someone who types."""

    def __init__(self, run, *options):
        self.tmux = ["tmux", "-L", f"record-{os.getpid()}"]
        command = " ".join([run.binary, *options])
        subprocess.run([*self.tmux, "-f", "/dev/null", "new-session", "-d", "-x", "130", "-y", "45", "-s", "s", command],
                       cwd=run.workspace, env={**run.env, "TERM": "xterm-256color"}, check=True)

    def screen(self):
        return subprocess.run([*self.tmux, "capture-pane", "-p", "-t", "s"], capture_output=True, text=True, check=False).stdout

    def until(self, text):
        end = time.time() + 30
        while text not in self.screen():
            if time.time() > end:
                sys.exit(f"{text!r} does not come:\n{self.screen()}")
            time.sleep(0.1)
        self.settle()

    def settle(self):
        """Waits until the screen no longer changes."""
        last = None
        while (now := self.screen()) != last:
            last = now
            time.sleep(0.7)

    def key(self, *keys):
        for key in keys:
            subprocess.run([*self.tmux, "send-keys", "-t", "s", key], check=True)
            self.settle()

    def say(self, text, answer):
        self.key("C-u")
        subprocess.run([*self.tmux, "send-keys", "-t", "s", "-l", text], check=True)
        self.settle()
        self.key("Enter")
        self.until(answer)

    def end(self):
        self.key("C-c", "C-c")
        subprocess.run([*self.tmux, "kill-server"], check=False, capture_output=True)


# ---- scripts ---------------------------------------------------------------------------------------------------------

def everyday(n):
    write = {"tool": "Write", "args": {"file_path": "{{workspace}}/t%d.txt" % n, "content": f"{n}\n"}}
    patch = {"tool": "apply_patch", "freeform": f"*** Begin Patch\n*** Add File: t{n}.txt\n+{n}\n*** End Patch\n"}
    return {"claude": [write, {"text": f"answer {n}"}],
            "codex": [patch, {"tool": "exec_command", "args": {"cmd": "cat a.txt"}}, {"text": f"answer {n}"}],
            **dict.fromkeys(["gemini", "qwen"], [{"tool": "write_file", "args": write["args"]}, {"text": f"answer {n}"}])}


def parallel_calls(n):
    read = [{"tool": "Bash", "args": {"command": f"cat {name}.txt", "description": "read"}} for name in "ab"]
    return {"claude": [{"calls": [*read, {"tool": "Read", "args": {"file_path": "{{workspace}}/b.txt"}}]},
                       {"text": f"answer {n}"}]}


def script(turn):
    every = [turn(n) for n in range(1, 9)]
    return {agent: {"turns": [one[agent] for one in every]} for agent in every[0]}


# ---- records ---------------------------------------------------------------------------------------------------------

PROMPTS = ["prompt alpha", "prompt bravo", "prompt charlie", "prompt delta"]


def plain(run):
    """Four turns."""
    run.turns(*PROMPTS)


def lines(run):
    """A prompt of several lines, with quotes, `$` and letters beyond ASCII."""
    run.turns("prompt alpha", LINES, "prompt charlie")


def fork(run):
    """Two turns, a fork of the session by the agent itself, two more turns."""
    run.turns(*PROMPTS[:2])
    run.turn("prompt charlie", "--fork-session")
    run.turn("prompt delta")


def compaction(run):
    """Three turns, /compact, two turns."""
    run.turns(*PROMPTS[:3], "/compact", "prompt delta", "prompt echo")


def system_prompt(run):
    """A session begun with another system prompt."""
    run.turn("prompt alpha", "--append-system-prompt", "You are the pilot of a balloon.")
    run.turns("prompt bravo", "prompt charlie")


def typed(run):
    agent = Typed(run, "--permission-mode", "acceptEdits")
    agent.until("❯")
    for n, prompt in enumerate(PROMPTS[:3], 1):
        agent.say(prompt, f"answer {n}")
    agent.say("/rewind", "Restore the code")
    agent.key("Up", "Up", "Enter")
    return agent


def rewind(run):
    """Three turns, /rewind to the second, two other turns."""
    agent = typed(run)
    agent.key("1")
    agent.say("prompt xray", "answer 2")
    agent.say("prompt yankee", "answer 3")
    agent.end()


def kept_end(run):
    """Three turns; the agent sums up those before the second and keeps the rest; one more turn."""
    agent = typed(run)
    agent.key("5", "Enter")
    agent.say("prompt xray", "answer 4")
    agent.end()


def forked_thread(run):
    """Four turns, a fork through the second by the agent's server, one more turn: the record begins in the other one."""
    run.turns(*PROMPTS)
    turns = [row["payload"]["turn_id"] for row in rig.json_lines(run.record()) if row["payload"].get("type") == "task_started"]
    calls = [("initialize", {"clientInfo": {"name": "rig", "version": "0"}, "capabilities": {"experimentalApi": True}}),
             ("thread/fork", {"threadId": run.session, "lastTurnId": turns[1], "excludeTurns": True})]
    run.session = serve(run, calls)["thread"]["id"]
    run.turn("prompt xray")


def compacted_thread(run):
    """Three turns, a compaction by the agent's server, one turn."""
    run.turns(*PROMPTS[:3])
    calls = [("initialize", {"clientInfo": {"name": "rig", "version": "0"}, "capabilities": {"experimentalApi": True}}),
             ("thread/resume", {"threadId": run.session}), ("thread/compact/start", {"threadId": run.session})]
    serve(run, calls, until="turn/completed")
    run.turn("prompt delta")


def serve(run, calls, until=None):
    server = subprocess.Popen([run.binary, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL, env=run.env, cwd=run.workspace)
    for n, (method, params) in enumerate(calls):
        server.stdin.write(json.dumps({"id": n, "method": method, "params": params}) + "\n")
        server.stdin.flush()
        answer = next(message for message in map(json.loads, server.stdout) if message.get("id") == n)
        if n == 0:
            server.stdin.write('{"method":"initialized"}\n')
    if until:
        next(message for message in map(json.loads, server.stdout) if message.get("method") == until)
    server.stdin.close()
    server.wait(timeout=20)
    return answer["result"]


RECORDS = {
    "claude": {"plain": plain, "lines": lines, "fork": fork, "compaction": compaction, "system_prompt": system_prompt,
               "rewind": rewind, "kept_end": kept_end, "parallel": lambda run: run.turns(*PROMPTS[:3])},
    "codex": {"plain": plain, "lines": lines, "forked_thread": forked_thread, "compacted_thread": compacted_thread},
    "gemini": {"plain": plain, "lines": lines},
    "qwen": {"plain": plain, "lines": lines},
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("agent", choices=RECORDS)
    p.add_argument("--dest", default=os.path.join(HERE, "..", ".cache", "agents"))
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    rig.enter_netns()
    rig.adopt_orphans()
    for name in a.names or RECORDS[a.agent]:
        run = Run(a.agent, a.dest, script(parallel_calls if name == "parallel" else everyday))
        try:
            RECORDS[a.agent][name](run)
            rig.write(os.path.join(HERE, "records", a.agent, f"{name}.jsonl"), "".join(run.masked(run.record())))
            print(name, os.path.getsize(os.path.join(HERE, "records", a.agent, f"{name}.jsonl")))
        finally:
            rig.end_descendants()


if __name__ == "__main__":
    main()
