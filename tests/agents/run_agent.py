#!/usr/bin/env python3
"""Runs a real coding agent headless and offline against the scripted model, with a hook command registered.

    run_agent.py AGENT --workspace DIR --script FILE [--dest DEST] [--hook-command 'CMD'] [--between 'CMD']
                 [--session-from FILE] [--prompt TEXT ...] [--home DIR] [--timeout S] [--env NAME=VALUE ...] [--hook-timeout S]
                 [--model NAME] [--seed] [--trust] [--terminal] [--no-netns]
                 [--interrupt SIGNAL --began FILE [--moment S] [--meanwhile 'CMD']]

AGENT is aider, claude, cline, codex, copilot, gemini, opencode or qwen, installed by install.sh into DEST. Each --prompt is one turn of the same session (from the second on by
the agent's own resume); without any, the script's "prompts" are used.
The agent gets a separate HOME with dummy keys and CMD registered for all its hook events; nothing of the caller's
environment but PATH, LANG, TERM and --env reaches it. Settings that --home holds already are kept, so a product's own
installer can be tried: run it with that HOME first, and leave --hook-command out. Where the system allows, everything
runs in a network namespace that has only loopback. All that the run has started is ended at its end.

Prints one JSON object: exit, seconds, turns, hooks (count by event), hooks_unfinished, model_requests, model_errors,
expected (does the workspace hold what the script's "expect" says?), home and the logs' paths. Its own exit status is 0
when the agent could be run to its end, whatever the agent's was; 1 when not; 2 for wrong use.
"""
import argparse
import collections
import ctypes
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = "RIG_INSIDE_NETNS"

CODEX_EVENTS = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
                "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "Interrupt"]
GEMINI_EVENTS = ["SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification",
                 "PreCompress"]
QWEN_EVENTS = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
               "PostToolBatch", "PermissionRequest", "SubagentStart", "SubagentStop", "Stop", "PreCompact",
               "Notification"]
COPILOT_EVENTS = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
                  "PermissionRequest", "Stop", "SubagentStart", "SubagentStop"]
CLINE_EVENTS = ["TaskStart", "TaskResume", "TaskCancel", "TaskComplete", "TaskError", "UserPromptSubmit", "PreToolUse",
                "PostToolUse", "SessionShutdown"]
CLAUDE_EVENTS = ["SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
                 "PostToolBatch", "PermissionRequest", "PermissionDenied", "SubagentStart", "SubagentStop", "Stop",
                 "StopFailure", "PreCompact", "Notification"]


def write(path, content):
    """Writes a file (JSON unless it is text already), its folders included."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(content if isinstance(content, str) else json.dumps(content, indent=2))


def settle(path, settings):
    """Writes a JSON settings file; what HOME held there already stays unless `settings` names it."""
    held = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            held = json.load(f)
    write(path, {**held, **settings})


def hooks_table(events, hook):
    """The "hooks" setting; nothing without a hook command."""
    return {"hooks": {e: [{"hooks": [hook]}] for e in events}} if hook["command"] else {}


# ---- the agents: each has a setup (files in HOME, environment) and a command for one turn -----------------------------
# r: home, workspace, dest, url (http://127.0.0.1:PORT), hook (command line or None), hook_timeout (seconds), model

class Claude:
    model = ""                  # the CLI's own default

    def setup(self, r):
        hook = {"type": "command", "command": r.hook, "timeout": r.hook_timeout}
        settle(os.path.join(r.home, ".claude", "settings.json"), hooks_table(CLAUDE_EVENTS, hook))
        return {"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": r.url, "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def command(self, r, prompt, session):
        return ["-p", prompt, "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits",
                "--allowedTools", "Bash", *(["--model", r.model] if r.model else []),
                *(["--resume", session] if session else [])]

    def session(self, stdout):
        return found(stdout, "session_id")

    def terminal(self, r):
        """The command on a terminal, past the questions of a first start."""
        settle(os.path.join(r.home, ".claude.json"), {
            "hasCompletedOnboarding": True, "lastOnboardingVersion": "99.0.0", "theme": "dark",
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {r.workspace: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}})
        return ["--permission-mode", "acceptEdits", *(["--model", r.model] if r.model else [])]


class Codex:
    model = "gpt-5.5"           # offers apply_patch itself

    def setup(self, r):
        codex_home = os.path.join(r.home, ".codex")
        config, held = os.path.join(codex_home, "config.toml"), ""
        if os.path.exists(config):
            with open(config, encoding="utf-8") as f:
                held = re.sub(r"# rig\n.*?# end\n", "", f.read(), flags=re.S)
        write(config, "\n".join([     # top-level keys first, tables last, what was there between
            "# rig", f'model = "{r.model}"', 'model_provider = "fake"', "check_for_update_on_startup = false", "# end",
            held.strip(), "",
            "# rig", "[model_providers.fake]", 'name = "fake"', f'base_url = "{r.url}/v1"', 'env_key = "FAKE_KEY"',
            'wire_api = "responses"', "request_max_retries = 0", "stream_max_retries = 0",
            "[analytics]", "enabled = false", "[otel]", 'exporter = "none"', "# end", ""]))
        hook = {"type": "command", "command": r.hook, "timeout": r.hook_timeout}
        if r.hook:
            write(os.path.join(codex_home, "hooks.json"), hooks_table(CODEX_EVENTS, hook))
        return {"CODEX_HOME": codex_home, "FAKE_KEY": "dummy"}

    def command(self, r, prompt, session):
        return ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
                *(["--dangerously-bypass-hook-trust"] if r.trust else []),
                *(["resume", session] if session else []), prompt]

    def session(self, stdout):
        return found(stdout, "thread_id")


class Gemini:
    model = "gemini-2.5-flash"

    def setup(self, r):
        hook = {"name": "rig", "type": "command", "command": r.hook, "timeout": r.hook_timeout * 1000}
        settle(os.path.join(r.home, ".gemini", "settings.json"), {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "checkpointing": {"enabled": True}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            **hooks_table(GEMINI_EVENTS, hook)})
        return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": r.url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_TELEMETRY_ENABLED": "false", "NO_BROWSER": "1"}

    def command(self, r, prompt, session):
        # a path is that of a file from which it makes a session
        how = "--session-file" if session and session.startswith("/") else "--resume"
        return ["-m", r.model, "--approval-mode", "yolo", "--output-format", "stream-json",
                *([how, session] if session else []), "-p", prompt]

    def session(self, stdout):
        return found(stdout, "session_id")


class Cline:
    """It continues a session only on a terminal: the turns are typed there (`Terminal`)."""
    model = "mock"

    def setup(self, r):
        for event in CLINE_EVENTS if r.hook else []:
            program = os.path.join(r.home, ".cline", "hooks", event + ".bash")
            write(program, f"#!/bin/sh\nexec {r.hook}\n")
            os.chmod(program, 0o755)
        env = {"PATH": os.environ["PATH"], "HOME": r.home}
        subprocess.run([os.path.join(r.dest, "bin", "cline"), "auth", "-p", "openai-compatible", "-k", "dummy", "-m", r.model,
                        "-b", r.url + "/v1"], env=env, check=True, stdout=sys.stderr, stdin=subprocess.DEVNULL)
        return {"CLINE_TELEMETRY_DISABLED": "1"}

    def command(self, r, prompt, session):
        return ["-P", "openai-compatible", "-m", r.model, "--json", "--auto-approve", "true", prompt]

    def session(self, stdout):
        return None

    def typed(self, r):
        """The command on a terminal, and the text that is there once it takes a prompt."""
        return ["-i", "-P", "openai-compatible", "-m", r.model, "--auto-approve", "true"], "Auto-approve"


class OpenCode:
    model = "mock"

    def setup(self, r):
        base = dict(e.split("=", 1) for e in r.env).get("XDG_CONFIG_HOME") or os.path.join(r.home, ".config")
        config, seed = os.path.join(base, "opencode"), os.path.join(r.dest, "opencode", "seed")
        os.makedirs(config, exist_ok=True)
        for name in os.listdir(seed):       # else it tries to install these, and stalls
            there = os.path.join(config, name)
            if name == "node_modules" and not os.path.lexists(there):
                os.symlink(os.path.join(seed, name), there)
            elif name.endswith(".json"):
                shutil.copy(os.path.join(seed, name), there)
        settle(os.path.join(config, "opencode.json"), {
            "model": f"fake/{r.model}", "small_model": f"fake/{r.model}", "share": "disabled", "autoupdate": False,
            "permission": {"edit": "allow", "bash": "allow"},
            "provider": {"fake": {
                "npm": "@ai-sdk/openai-compatible", "name": "fake",
                "options": {"baseURL": r.url + "/v1", "apiKey": "dummy"},
                "models": {r.model: {"name": r.model, "tool_call": True,
                                     "limit": {"context": 32000, "output": 4000}}}}}})
        if r.hook:      # the plugin that setup writes, with the command as its program
            program = os.path.join(r.home, "hook.sh")
            write(program, f"#!/bin/sh\nexec {r.hook}\n")
            os.chmod(program, 0o755)
            with open(os.path.join(HERE, "../../server/agents/src/catalogue/opencode/plugin.js"), encoding="utf-8") as f:
                plugin = f.read().replace('PROGRAM = "backstitch"', f"PROGRAM = {json.dumps(program)}")
            write(os.path.join(config, "plugins", "rig.js"), plugin)
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_SHARE": "1"}

    def command(self, r, prompt, session):
        # it puts an argument of several words into quotes
        return ["run", "--format", "json", *(["--session", session] if session else []), *prompt.split(" ")]

    def session(self, stdout):
        return found(stdout, "sessionID")


class Qwen:
    model = "mock"

    def setup(self, r):
        hook = {"name": "rig", "type": "command", "command": r.hook, "timeout": r.hook_timeout * 1000}
        settle(os.path.join(r.home, ".qwen", "settings.json"), {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            **hooks_table(QWEN_EVENTS, hook)})
        return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": r.url + "/v1", "OPENAI_MODEL": r.model,
                "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}

    def command(self, r, prompt, session):
        return ["--approval-mode", "yolo", "--output-format", "stream-json",
                *(["--resume", session] if session else []), "-p", prompt]

    def session(self, stdout):
        return found(stdout, "session_id")


class Aider:
    """It has no hooks. Each turn is a separate session, since a run takes one message."""
    model = "openai/mock"

    def setup(self, r):
        if not os.path.exists(os.path.join(r.home, ".gitconfig")):      # the name in its commits
            write(os.path.join(r.home, ".gitconfig"), "[user]\n\tname = dev\n\temail = dev@example.com\n")
        return {"OPENAI_API_KEY": "dummy", "AIDER_ANALYTICS": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def command(self, r, prompt, session):
        return ["--model", r.model, "--openai-api-base", r.url + "/v1", "--edit-format", "diff", "--yes-always",
                "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-auto-lint",
                "--map-tokens", "0", "--message", prompt]

    def session(self, stdout):
        return "none"


class Copilot:
    model = "mock"

    def setup(self, r):
        hook = {"type": "command", "bash": r.hook, "timeoutSec": r.hook_timeout}
        if r.hook:
            write(os.path.join(r.home, ".copilot", "hooks", "rig.json"),
                  {"version": 1, "hooks": {e: [hook] for e in COPILOT_EVENTS}})
        return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": r.url + "/v1",
                "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_PROVIDER_API_KEY": "dummy", "COPILOT_MODEL": r.model,
                "COPILOT_AUTO_UPDATE": "false"}

    def command(self, r, prompt, session):
        return ["-p", prompt, "--allow-all-tools", "--allow-all-paths", "--no-color", *([f"--resume={session}"] if session else [])]

    def session(self, stdout):
        m = re.search(r"--resume=([0-9a-f-]{36})", stdout)      # printed at the end, on stderr
        return m and m.group(1)


AGENTS = {"aider": Aider(), "claude": Claude(), "cline": Cline(), "copilot": Copilot(), "codex": Codex(), "gemini": Gemini(), "opencode": OpenCode(), "qwen": Qwen()}


def found(output, key):
    """The first value of a key in an output of JSON lines."""
    m = re.search(r'"%s"\s*:\s*"([^"]+)"' % key, output)
    return m and m.group(1)


# ---- the network namespace -------------------------------------------------------------------------------------------

def loopback_up():
    """Switches the loopback interface of a fresh network namespace on."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = struct.pack("16sh14x", b"lo", 0)
    flags = struct.unpack("16sh14x", fcntl.ioctl(s, 0x8913, request))[1]                # SIOCGIFFLAGS
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))                    # SIOCSIFFLAGS, IFF_UP


def enter_netns():
    """Runs this program again in a network namespace of its own, where the system allows that."""
    if os.environ.get(INSIDE):
        loopback_up()
        return True
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode:
        return False
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-rn", sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


# ---- one run ---------------------------------------------------------------------------------------------------------

def seed_workspace(workspace, files):
    """Fills an empty workspace with the script's files, as a git repository with one commit."""
    os.makedirs(workspace, exist_ok=True)
    if os.listdir(workspace):
        sys.exit(f"--seed: {workspace} is not empty")
    for name, content in files.items():
        write(os.path.join(workspace, name), content)
    git = ["git", "-C", workspace, "-c", "user.email=dev@example.com", "-c", "user.name=dev"]
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *args], check=True)


def as_expected(workspace, expect):
    """True, or what differs from the files that a script says it leaves (null: no such file)."""
    wrong = []
    for name, content in expect.items():
        path = os.path.join(workspace, name)
        there = None
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as f:
                there = f.read()
        if there != content:
            wrong.append(name)
    return wrong or True


def run_turn(argv, env, workspace, log, limit):
    """Runs one command to its end and waits for its last hooks. None: its time was up."""
    with open(log["stdout"], "ab") as out, open(log["stderr"], "ab") as err:
        p = subprocess.Popen(argv, cwd=workspace, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                             start_new_session=True)
    try:
        code = p.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    grace = time.time() + 5         # an agent may end before its last hook has; fake_llm.py is always there
    while unfinished(log["hooks.jsonl"]) and len(descendants()) > 1 and time.time() < grace:
        time.sleep(0.05)
    return code


def wait_for(path, limit):
    """Waits for a file. False: its time was up."""
    end = time.time() + limit
    while not os.path.exists(path):
        if time.time() > end:
            return False
        time.sleep(0.002)
    return True


def run_interrupted(r, agent, binary, env, prompt, log):
    """Runs one turn, and interrupts it some time after a file has come. Returns its exit status; None: it did not come."""
    if r.interrupt == "ESC":
        return type_escape(r, agent, binary, env, prompt, log)
    with open(log["stdout"], "ab") as out, open(log["stderr"], "ab") as err:
        p = subprocess.Popen([binary, *agent.command(r, prompt, None)], cwd=r.workspace, env=env,
                             stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
    if not wait_for(r.began, r.timeout):
        return None
    time.sleep(r.moment)
    # a terminal sends Ctrl-C to all of its programs in the foreground, and tells them when it closes
    to = os.killpg if r.interrupt in ("SIGINT", "SIGHUP") else os.kill
    try:
        to(p.pid, getattr(signal, r.interrupt))
    except ProcessLookupError:
        pass
    try:
        code = p.wait(timeout=20)
    except subprocess.TimeoutExpired:
        p.kill()
        code = p.wait()
    # processes that it started may still run
    end = time.time() + 20
    while len(descendants()) > 1 and time.time() < end:
        time.sleep(0.02)
    return code


def type_escape(r, agent, binary, env, prompt, log):
    """Types a prompt on a terminal, and Escape while its command runs. Runs what the user does then, and ends the agent."""
    # the command needs no permission
    terminal = Terminal([binary, *agent.terminal(r), "--allowedTools", "Bash"], env, r.workspace, log)
    terminal.until(lambda: bool(terminal.seen), 60, silence=1.5)
    terminal.until_taken()
    terminal.type(prompt)
    terminal.until(lambda: True, 1)
    terminal.type("\r")
    if not terminal.until(lambda: os.path.exists(r.began), r.timeout, silence=0):
        return None
    terminal.until(lambda: False, r.moment)
    terminal.type("\x1b")
    terminal.until(lambda: True, 10, silence=1.5)
    if r.meanwhile:
        subprocess.run(["sh", "-c", r.meanwhile], cwd=r.workspace, env=env, check=False, stdin=subprocess.DEVNULL,
                       stdout=sys.stderr)
    for _ in range(2):
        terminal.type("\x03")
    terminal.until(lambda: False, 2)
    return 0


def adopt_orphans():
    """Makes this process the parent of all that its descendants leave behind, so that it can end them (Linux)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)         # PR_SET_CHILD_SUBREAPER


class Terminal:
    """A program on its own terminal, for prompts that are typed."""

    def __init__(self, argv, env, workspace, log):
        self.log, self.seen = log, b""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(workspace)
            os.execve(argv[0], argv, {**env, "TERM": "xterm-256color"})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 130, 0, 0))

    def read(self, seconds):
        """Takes what comes within a time. False: the program has ended."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        with open(self.log["stdout"], "ab") as out:
            out.write(data)
        self.seen += data
        # it asks for the place of the cursor, and for the kind of terminal
        for asked, answer in ((b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62c")):
            os.write(self.fd, answer * data.count(asked))
        return bool(data)

    def until(self, done, limit, silence=0.5):
        """Reads until `done` says so and nothing else comes for some seconds. False: its time was up."""
        end, quiet = time.time() + limit, time.time()
        while time.time() < end:
            before = len(self.seen)
            if not self.read(0.05):
                return done()
            if len(self.seen) > before:
                quiet = time.time()
            elif time.time() - quiet > silence and done():
                return True
        return done()

    def until_taken(self, limit=60):
        """Types a letter until it is shown, and erases it: a program that starts loses keys that come too early."""
        end = time.time() + limit
        while time.time() < end:
            before = len(self.seen)
            self.type("Z")
            if self.until(lambda: b"Z" in self.seen[before:], 2):
                break
        else:
            raise TimeoutError("no key is taken")
        # letters that were taken late are erased, too
        self.until(lambda: True, 2)
        self.type("\x7f" * (1 + int(limit)))
        self.until(lambda: True, 2)

    def type(self, text):
        for key in text:
            os.write(self.fd, key.encode())
            self.read(0.005)


def type_turns(agent, binary, r, env, prompts, log, between):
    """Plays all turns in one run on a terminal. Returns them as `turns`."""
    options, ready = agent.typed(r)
    terminal = Terminal([binary, *options], env, r.workspace, log)
    terminal.until(lambda: ready.encode() in terminal.seen, 60)
    terminal.until_taken()
    turns = []

    def is_over(number):
        asked = [m for m in json_lines(log["model.jsonl"]) if m["method"] == "POST" and m.get("place")]
        return any(m["place"]["turn"] == number and "text" in (m.get("step") or {}) for m in asked)

    for number, prompt in enumerate(prompts, 1):
        if number > 1:
            between(number)
        at = time.time()
        terminal.type(prompt)
        terminal.until(lambda: True, 1)
        terminal.type("\r")
        # its hook at the end of a turn runs on by itself: a user does not type the next prompt at once
        done = terminal.until(lambda: is_over(number), r.timeout, silence=2)
        turns.append({"prompt": prompt, "exit": 0 if done else None, "seconds": round(time.time() - at, 2), "session": None})
        if not done:
            break
    for _ in range(2):
        terminal.type("\x03")
    terminal.until(lambda: False, 2)        # it ends, or is ended
    return turns


def descendants():
    """The live processes below this one; the dead ones are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    children = collections.defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            children[int(parent)].append(int(name))
    found, todo = [], [os.getpid()]
    while todo:
        below = children[todo.pop()]
        found += below
        todo += below
    return found


def end_descendants():
    """Ends what this run has started and left behind: hooks that agents put in their own sessions, daemons."""
    for sign, wait in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        until = time.time() + wait
        told = set()
        while (left := descendants()) and time.time() < until:
            for pid in left:
                # one that is told to end may start another first
                if pid not in told or sign == signal.SIGKILL:
                    told.add(pid)
                    try:
                        os.kill(pid, sign)
                    except ProcessLookupError:
                        pass
            time.sleep(0.02)


def json_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def event_name(call):
    payload = call["payload"] if isinstance(call["payload"], dict) else {}
    return payload.get("hook_event_name") or payload.get("hookName") or "?"


def begun(hook_log):
    return [c for c in json_lines(hook_log) if c["at"] == "begin"]


def unfinished(hook_log):
    """The hook calls that began and did not end: still running, or ended by the agent."""
    ended = {c["call"] for c in json_lines(hook_log) if c["at"] == "end"}
    return [c for c in begun(hook_log) if c["call"] not in ended]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("agent", choices=AGENTS)
    p.add_argument("--dest", default=os.path.join(HERE, "..", ".cache", "agents"),
                   help="folder that install.sh filled (tests/.cache/agents)")
    p.add_argument("--workspace", required=True)
    p.add_argument("--hook-command", help="run by sh for every hook event (default: only what HOME registers already)")
    p.add_argument("--script", required=True)
    p.add_argument("--prompt", action="append", help="one turn; repeatable")
    p.add_argument("--between", metavar="CMD", help="run by sh in the workspace before each turn but the first, with"
                   " TURN set to that turn's number: what a user does meanwhile")
    p.add_argument("--session-from", metavar="FILE", help="a turn before which this file has a JSON object with conversation.new"
                                                         " and .cwd continues that session there, or one from the file that .argv ends with")
    p.add_argument("--home", help="HOME of the agent, kept afterwards (default: a new temporary folder, kept too)")
    p.add_argument("--timeout", type=float, default=120, help="seconds per turn (120)")
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the agent and its hooks")
    p.add_argument("--hook-timeout", type=int, default=600, help="seconds the agent is told to grant a hook (600)")
    p.add_argument("--model", help="model name given to the agent")
    p.add_argument("--seed", action="store_true", help="fill an empty workspace with the script's files first")
    p.add_argument("--trust", action="store_true", help="codex: runs hooks that its user has not trusted")
    p.add_argument("--interrupt", metavar="SIGNAL", help="interrupt the only turn: a signal such as SIGINT, or ESC on a terminal")
    p.add_argument("--began", metavar="FILE", help="with --interrupt: a file that the turn's command makes when it begins")
    p.add_argument("--moment", type=float, default=0, help="with --interrupt: seconds from then to the interrupt")
    p.add_argument("--meanwhile", metavar="CMD", help="with --interrupt ESC: run by sh before the agent is ended")
    p.add_argument("--terminal", action="store_true",
                   help="run it on this terminal, for someone who types; prints no result")
    p.add_argument("--no-netns", action="store_true")
    r = p.parse_args()
    isolated = False if r.no_netns else enter_netns()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))      # through the finally clauses

    agent = AGENTS[r.agent]
    r.dest, r.workspace = os.path.abspath(r.dest), os.path.abspath(r.workspace)
    binary = os.path.join(r.dest, "bin", r.agent)
    if not os.access(binary, os.X_OK):
        sys.exit(f"{r.agent} is not in {r.dest}: run install.sh {r.dest} {r.agent}")
    with open(r.script, encoding="utf-8") as f:
        script = json.load(f)
    script = script if isinstance(script, dict) else {}
    prompts = r.prompt or script.get("prompts") or ["go on"]
    if r.seed:
        seed_workspace(r.workspace, script.get("workspace", {}))
    if not os.path.isdir(r.workspace):
        sys.exit(f"no such folder: {r.workspace}")

    r.home = os.path.abspath(r.home or tempfile.mkdtemp(prefix=f"rig-{r.agent}-"))
    logs = os.path.join(r.home, "rig")
    os.makedirs(logs, exist_ok=True)
    log = {name: os.path.join(logs, name) for name in ("hooks.jsonl", "model.jsonl", "requests.jsonl", "stdout", "stderr")}
    for path in log.values():       # those of an earlier run with this HOME
        if os.path.exists(path):
            os.remove(path)
    r.model = r.model or agent.model
    r.hook = r.hook_command and " ".join(shlex.quote(x) for x in (
        sys.executable, os.path.join(HERE, "hook_tee.py"), log["hooks.jsonl"], r.agent, r.hook_command))

    adopt_orphans()
    model = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "fake_llm.py"), "--script", r.script, "--log", log["model.jsonl"],
         "--dump", log["requests.jsonl"],
         "--agent", r.agent, "--set", f"workspace={r.workspace}"], stdout=subprocess.PIPE, text=True)
    try:
        port = model.stdout.readline().strip()
        if not port:
            sys.exit("fake_llm.py did not start")
        r.url = f"http://127.0.0.1:{port}"
        env = {k: os.environ[k] for k in ("PATH", "LANG", "TERM") if k in os.environ}
        env.update(HOME=r.home, RIG_AGENT=r.agent, **agent.setup(r))
        env.update(pair.split("=", 1) for pair in r.env)

        if r.terminal:
            argv = [binary, *agent.terminal(r)]
            sys.exit(subprocess.run(argv, cwd=r.workspace, env=env, check=False).returncode)
        turns, session, began = [], None, time.time()

        def rewound_session(r):
            if not r.session_from or not os.path.exists(r.session_from):
                return None
            with open(r.session_from, encoding="utf-8") as f:
                found = json.load(f)["conversation"]
            os.remove(r.session_from)
            r.workspace = found["cwd"]
            # an agent that makes the session itself is given a file
            return found.get("new") or found["argv"][-1]

        def between(number):
            if r.between and number > 1:
                subprocess.run(["sh", "-c", r.between], cwd=r.workspace, env={**env, "TURN": str(number)}, check=True,
                               stdin=subprocess.DEVNULL, stdout=sys.stderr)

        if r.interrupt:
            code = run_interrupted(r, agent, binary, env, prompts[0], log)
            turns.append({"prompt": prompts[0], "exit": code, "session": None})
            prompts_left, prompts = [], prompts[:1]
        elif hasattr(agent, "typed") and len(prompts) > 1:
            turns, prompts_left = type_turns(agent, binary, r, env, prompts, log, between), []
        else:
            prompts_left = prompts
        for number, prompt in enumerate(prompts_left, 1):
            between(number)
            session = rewound_session(r) or session
            at = time.time()
            seen = [os.path.getsize(log[n]) if os.path.exists(log[n]) else 0 for n in ("stdout", "stderr")]
            code = run_turn([binary, *agent.command(r, prompt, session)], env, r.workspace, log, r.timeout)
            output = ""
            for name, start in zip(("stdout", "stderr"), seen):
                with open(log[name], encoding="utf-8", errors="replace") as f:
                    f.seek(start)
                    output += f.read()
            session = agent.session(output) or session
            turns.append({"prompt": prompt, "exit": code, "seconds": round(time.time() - at, 2), "session": session})
            if code is None or (session is None and len(prompts) > 1):
                break
        seconds = round(time.time() - began, 2)
    finally:
        end_descendants()

    requests = [m for m in json_lines(log["model.jsonl"]) if m["method"] == "POST"]
    completed = len(turns) == len(prompts) and all(t["exit"] is not None for t in turns)
    print(json.dumps({
        "agent": r.agent, "completed": completed, "exit": turns[-1]["exit"], "seconds": seconds, "turns": turns,
        "hooks": dict(collections.Counter(map(event_name, begun(log["hooks.jsonl"])))),
        "hooks_unfinished": [event_name(c) for c in unfinished(log["hooks.jsonl"])],
        "model_requests": len(requests),
        "model_errors": [m.get("error") or m["path"] for m in requests if m.get("error") or m.get("unhandled")],
        "expected": as_expected(r.workspace, script["expect"]) if "expect" in script else None,
        "network": "loopback only" if isolated else "not isolated", "home": r.home, "logs": log,
    }))
    sys.exit(0 if completed else 1)


if __name__ == "__main__":
    main()
