#!/usr/bin/env python3
"""Runs a command offline beside the scripted model, with the settings and the environment of a real agent.

    run_beside.py AGENT --workspace DIR --script FILE --home DIR [--dest DEST] [--env NAME=VALUE ...] -- COMMAND ...

As run_agent.py, for a command that starts the agent itself: a proxy, a client. Its standard streams are those of this
process. In COMMAND, {agent} is the path of the agent. Exit status: the command's.
"""
import argparse
import os
import subprocess
import sys

import run_agent as rig


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("agent", choices=rig.AGENTS)
    p.add_argument("--dest", default=os.path.join(rig.HERE, "..", ".cache", "agents"))
    p.add_argument("--workspace", required=True)
    p.add_argument("--script", required=True)
    p.add_argument("--home", required=True)
    p.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    if "--" not in sys.argv:
        p.error("no command: it follows `--`")
    at = sys.argv.index("--")
    r = p.parse_args(sys.argv[1:at])
    r.command = sys.argv[at + 1:]
    rig.enter_netns()
    r.dest, r.workspace, r.home = (os.path.abspath(path) for path in (r.dest, r.workspace, r.home))
    agent = rig.AGENTS[r.agent]
    r.model, r.hook, r.hook_timeout, r.trust = agent.model, None, 600, False
    logs = os.path.join(r.home, "rig")
    os.makedirs(logs, exist_ok=True)
    rig.adopt_orphans()
    model = subprocess.Popen(
        [sys.executable, os.path.join(rig.HERE, "fake_llm.py"), "--script", r.script,
         "--log", os.path.join(logs, "model.jsonl"), "--dump", os.path.join(logs, "requests.jsonl"),
         "--agent", r.agent, "--set", f"workspace={r.workspace}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        r.url = f"http://127.0.0.1:{model.stdout.readline().strip()}"
        env = {k: os.environ[k] for k in ("PATH", "LANG", "TERM") if k in os.environ}
        env.update(HOME=r.home, RIG_AGENT=r.agent, **agent.setup(r))
        env.update(pair.split("=", 1) for pair in r.env)
        binary = os.path.join(r.dest, "bin", r.agent)
        command = [word.replace("{agent}", binary) for word in r.command]
        code = subprocess.run(command, cwd=r.workspace, env=env, check=False).returncode
    finally:
        rig.end_descendants()
    sys.exit(code)


if __name__ == "__main__":
    main()
