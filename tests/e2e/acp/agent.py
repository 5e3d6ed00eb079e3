"""agent.py SCRIPT LOG - an agent that does as a script says: a JSON list of steps. LOG gets the bytes that it reads.

["read"]            reads a line            ["until", TEXT]   reads lines up to one with this text
["answer", RESULT]  answers the last line   ["send", MESSAGE] sends a message
["hex", BYTES]      writes bytes            ["flood", COUNT]  writes so many short lines
["big", COUNT]      writes a line of this length              ["sh", COMMAND] runs a shell command
["write", PATH, TEXT]  ["mark", PATH]  creates a file           ["exit", STATUS]  ["kill"]  ["eof"]  reads to the end
["deaf"]  waits for a signal
"""
import json
import os
import signal
import subprocess
import sys

out = sys.stdout.buffer
log = open(sys.argv[2], "ab", buffering=0)
last = b""


def read():
    global last
    last = sys.stdin.buffer.readline()
    log.write(last)
    if not last:
        sys.exit(0)


def send(message):
    out.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    out.flush()


with open(sys.argv[1], encoding="utf-8") as script:
    steps = json.load(script)
for name, *args in steps:
    if name == "read":
        read()
    elif name == "until":
        read()
        while args[0].encode() not in last:
            read()
    elif name == "answer":
        send({"jsonrpc": "2.0", "id": json.loads(last)["id"], "result": args[0]})
    elif name == "send":
        send(args[0])
    elif name == "hex":
        out.write(bytes.fromhex(args[0]))
        out.flush()
    elif name == "flood":
        for number in range(args[0]):
            out.write(b'{"jsonrpc":"2.0","method":"session/update","params":{"n":%d}}\n' % number)
        out.flush()
    elif name == "big":
        out.write(b'{"jsonrpc":"2.0","method":"session/update","params":{"x":"' + b"x" * args[0] + b'"}}\n')
        out.flush()
    elif name == "sh":
        subprocess.run(["sh", "-c", args[0]], check=True, stdout=subprocess.DEVNULL)
    elif name in ("write", "mark"):
        with open(args[0], "w", encoding="utf-8") as file:
            file.write((args[1:] or [""])[0])
    elif name == "exit":
        sys.exit(args[0])
    elif name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "deaf":
        signal.pause()
    elif name == "eof":
        while data := sys.stdin.buffer.read(1 << 16):
            log.write(data)
