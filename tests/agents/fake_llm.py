#!/usr/bin/env python3
"""A model endpoint on 127.0.0.1 that answers from a script, so that real coding agents run offline.

    fake_llm.py --script FILE --log FILE [--port N] [--agent NAME] [--set NAME=VALUE ...] [--dump FILE]

Prints the port it listens on as its first line. Ends on SIGTERM, or when the process that started it ends.

Wire formats, by the end of the request path: Anthropic's messages (/messages), OpenAI's chat completions
(/chat/completions) and responses (/responses), Gemini's generateContent and streamGenerateContent.

Script: a JSON object. The part used is the one named by --agent, else the object itself:
    [STEP, …]                        the same steps in every turn
    {"turns": [[STEP, …], …]}        turn n plays the n-th list (the last list again after that)
    {"steps": [STEP, …], "if": [{"contains": TEXT, "steps": [STEP, …]}, …]}
                                     "if" goes with "turns" too: a conversation whose first user text contains TEXT
                                     (a subagent's, say) plays those steps
STEP: {"text": TEXT} | {"tool": NAME, "args": {…}} (of responses also "namespace": NAME) | {"tool": NAME, "freeform": TEXT} | {"calls": [{"tool": NAME, "args": {…}}, …]}: several calls in one
message, which the agent may run side by side.
"{{NAME}}" anywhere in the script becomes VALUE of --set NAME=VALUE.

No state is kept: the turn is the count of user texts in the request, and the step follows from the tool results after
the last of them, so a run can be resumed, repeated or forked at will. Blocks that agents put into user messages
(such as <environment_context>…</environment_context>) are not user text. Requests that offer no tools (titles,
summaries, routers) get a plain text and do not count. A part with "toolless": true is one of an agent without tools (aider):
each streamed request for a chat completion plays the first step of the "if" that its newest user text contains.
"""
import argparse
import json
import os
import re
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE_IN, USAGE_OUT = 10, 5


# ---- the script ------------------------------------------------------------------------------------------------------

class Script:
    """The scripted answers: where a conversation stands decides which step comes next."""

    def __init__(self, data, agent=None):
        self.data, self.agent = data, agent

    def part(self):
        """The script's part for this agent, as {"turns": […]} or {"steps": […]}."""
        part = self.data
        if isinstance(part, dict):
            part = part.get(self.agent) or part
        return {"steps": part} if isinstance(part, list) else part

    def newest(self, history):
        """(place, step) by the newest user text that contains the text of a branch, for an agent whose requests also hold
        examples and conversations of others: its turns cannot be counted."""
        part = self.part()
        for role, text in reversed(history):
            for n, branch in enumerate(part.get("if", [])):
                if role == "user" and branch["contains"] in text:
                    return {"turn": n + 1, "step": 0, "branch": n}, branch["steps"][0]
        return {"turn": 0, "step": 0, "branch": None}, part["steps"][0]

    def next(self, history):
        """(place, step) for a history of ("user", text) | ("assistant", …) | ("result", …) entries."""
        turn = results = 0
        first, previous = "", None
        for role, text in history:
            if role == "user" and not own_words(text):
                continue
            if role == "user":
                if previous != "user":      # two user texts in a row are one turn
                    turn += 1
                results = 0
                first = first or text
            elif role == "result":
                results += 1
            previous = role
        part = self.part()
        place = {"turn": turn, "step": 0, "branch": None}
        steps = part.get("steps")
        if "turns" in part:
            steps = part["turns"][min(max(turn, 1), len(part["turns"])) - 1]
        for n, branch in enumerate(part.get("if", [])):
            if branch["contains"] in first:
                steps, place["branch"] = branch["steps"], n
        if not steps:
            raise KeyError(f"the script has no steps for agent {self.agent!r}")
        for step in steps[:-1]:             # a step is over when each of its calls has its result
            if results < len(calls(step)):
                break
            results -= len(calls(step))
            place["step"] += 1
        return place, steps[place["step"]]


def own_words(text):
    """The user's own words in a message: without the tagged blocks that agents add to it."""
    return re.sub(r"<([a-z][\w-]*)[^>]*>.*?</\1>", "", text, flags=re.S).strip()


def calls(step):
    """The tool calls of a step; none if it is a text."""
    return step.get("calls") or ([step] if "tool" in step else [])


def call_id(place, n):
    """The id of a step's n-th tool call: the same whenever the same place of a conversation is played."""
    branch = "" if place["branch"] is None else f"b{place['branch']}_"
    return f"{branch}{place['turn']}_{place['step']}" + (f"_{n}" if n else "")


def text_of(content):
    """The text of a message's content, whichever of the usual shapes it has."""
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") for b in content or [] if isinstance(b, dict))


# ---- wire formats: each function answers one request and returns what to log -----------------------------------------

def chat(http, body, script):
    """OpenAI chat completions, streamed or not."""
    messages = body.get("messages", [])
    tools = [t.get("function", {}).get("name") for t in body.get("tools") or []]
    role = {"user": "user", "tool": "result", "assistant": "assistant"}
    history = [(role[m["role"]], text_of(m.get("content"))) for m in messages if m.get("role") in role]
    place, step = script.next(history) if tools else (None, {"text": "title"})
    # its requests for the subjects of commits are not streamed
    if script.part().get("toolless") and body.get("stream"):
        place, step = script.newest(history)

    head = {"id": f"chatcmpl-{time.time_ns():x}", "created": int(time.time()), "model": body.get("model")}
    usage = {"prompt_tokens": USAGE_IN, "completion_tokens": USAGE_OUT, "total_tokens": USAGE_IN + USAGE_OUT}
    message, finish = {"role": "assistant", "content": step.get("text")}, "stop"
    if "tool" in step:
        message["tool_calls"] = [{"id": f"call_{call_id(place, 0)}", "type": "function",
                                  "function": {"name": step["tool"], "arguments": json.dumps(step["args"])}}]
        finish = "tool_calls"
    if not body.get("stream"):
        http.send_json({**head, "object": "chat.completion", "usage": usage,
                        "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
    else:
        delta = {**message, "tool_calls": [{"index": i, **c} for i, c in enumerate(message.get("tool_calls", []))]}
        if not delta["tool_calls"]:
            del delta["tool_calls"]
        head["object"] = "chat.completion.chunk"
        http.send_events([
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage},
        ], named=False, done=True)
    return {"kind": "chat", "tools": tools, "place": place, "step": step, "last": messages[-1:]}


def responses(http, body, script):
    """OpenAI responses, always as a stream of events."""
    items = body.get("input", [])
    if isinstance(items, str):
        items = [{"type": "message", "role": "user", "content": items}]
    tools = [t.get("name") or t.get("type") for t in body.get("tools") or []]
    for item in items:      # in code mode the tools travel as an input item
        if item.get("type") == "additional_tools":
            for t in item.get("tools", []):
                tools += [f"{t['name']}.{u.get('name')}" for u in t["tools"]] if "tools" in t else [t.get("name")]
    history = []
    for item in items:
        kind = item.get("type")
        if kind in ("function_call_output", "custom_tool_call_output"):
            history.append(("result", ""))
        elif kind in ("function_call", "custom_tool_call") or item.get("role") == "assistant":
            history.append(("assistant", ""))
        elif item.get("role") == "user":
            history.append(("user", text_of(item.get("content"))))
        elif kind == "agent_message" and "NEW_TASK" in str(item["content"]):
            # a subagent's task; answers of agents are not prompts
            history.append(("user", " ".join(part.get("encrypted_content") or "" for part in item["content"])))
    place, step = script.next(history) if tools else (None, {"text": "ok"})

    answer_id = f"resp_{time.time_ns():x}"
    if "tool" in step:
        cid = f"call_{call_id(place, 0)}"
        item = {"call_id": cid, "name": step["tool"], "status": "completed"}
        if "freeform" in step:
            item = {"type": "custom_tool_call", "id": f"ctc_{cid}", **item, "input": step["freeform"]}
        else:
            item = {"type": "function_call", "id": f"fc_{cid}", **item, "arguments": json.dumps(step["args"])}
            if "namespace" in step:
                item["namespace"] = step["namespace"]
    else:
        item = {"type": "message", "id": f"msg_{answer_id}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": step["text"], "annotations": []}]}
    begun = {"id": answer_id, "object": "response", "created_at": int(time.time()), "status": "in_progress",
             "model": body.get("model"), "output": []}
    usage = {"input_tokens": USAGE_IN, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens": USAGE_OUT, "output_tokens_details": {"reasoning_tokens": 0},
             "total_tokens": USAGE_IN + USAGE_OUT}
    http.send_events([
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed",
         "response": {**begun, "status": "completed", "output": [item], "usage": usage}},
    ])
    return {"kind": "responses", "tools": tools, "place": place, "step": step, "last": items[-1:]}


def gemini(http, body, script):
    """Gemini generateContent and streamGenerateContent."""
    contents = body.get("contents", [])
    tools = [f["name"] for t in body.get("tools") or [] for f in t.get("functionDeclarations", [])]
    history = []
    for c in contents:
        if c.get("role") == "model":
            history.append(("assistant", ""))
            continue
        results = [p for p in c.get("parts", []) if "functionResponse" in p]
        history += [("result", "")] * len(results) or [("user", text_of(c.get("parts")))]
    # without tools: one object that suits the router, the loop check and the summary alike
    aside = {"text": json.dumps({"reasoning": "scripted", "model_choice": "flash", "next_speaker": "user"})}
    place, step = script.next(history) if tools else (None, aside)

    part = {"text": step.get("text")}
    if "tool" in step:
        part = {"functionCall": {"name": step["tool"], "args": step["args"]}}
    answer = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": USAGE_IN, "candidatesTokenCount": USAGE_OUT,
                          "totalTokenCount": USAGE_IN + USAGE_OUT},
        "modelVersion": "mock",
    }
    if "stream" in http.path:
        http.send_events([answer], named=False)
    else:
        http.send_json(answer)
    return {"kind": "gemini", "tools": tools, "place": place, "step": step, "last": contents[-1:]}


def anthropic(http, body, script):
    """Anthropic messages, streamed or not."""
    messages = body.get("messages", [])
    tools = [t.get("name") for t in body.get("tools") or []]
    history = []
    for m in messages:
        if m.get("role") == "assistant":
            history.append(("assistant", ""))
        elif m.get("role") == "user":
            blocks = m["content"] if isinstance(m["content"], list) else []
            results = [b for b in blocks if b.get("type") == "tool_result"]
            history += [("result", "")] * len(results) or [("user", text_of(m["content"]))]
    place, step = script.next(history) if len(tools) > 1 else (None, {"text": "title"})

    if calls(step):
        content = [{"type": "tool_use", "id": f"toolu_{call_id(place, n)}", "name": c["tool"], "input": c["args"]}
                   for n, c in enumerate(calls(step))]
    else:
        content = [{"type": "text", "text": step["text"]}]
    stop = "tool_use" if calls(step) else "end_turn"
    message = {"id": f"msg_{time.time_ns():x}", "type": "message", "role": "assistant", "model": body.get("model"),
               "content": [], "stop_reason": None, "stop_sequence": None,
               "usage": {"input_tokens": USAGE_IN, "output_tokens": 1}}
    if not body.get("stream"):
        http.send_json({**message, "content": content, "stop_reason": stop})
    else:
        events = [{"type": "message_start", "message": message}]
        for n, block in enumerate(content):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [{"type": "content_block_start", "index": n, "content_block": empty},
                       {"type": "content_block_delta", "index": n, "delta": delta},
                       {"type": "content_block_stop", "index": n}]
        http.send_events(events + [
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
             "usage": {"output_tokens": USAGE_OUT}},
            {"type": "message_stop"},
        ])
    return {"kind": "anthropic", "tools": tools, "place": place, "step": step, "last": messages[-1:]}


def wire_format(path):
    """The function that answers a request path, or None."""
    formats = {"/messages": anthropic, "/chat/completions": chat, "/responses": responses, "enerateContent": gemini}
    return next((answer for end, answer in formats.items() if path.endswith(end)), None)


# ---- the server ------------------------------------------------------------------------------------------------------

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script = log_file = dump_file = None        # set in main()
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def record(self, file, entry):
        if file:
            with self.lock, open(file, "a", encoding="utf-8") as f:
                f.write(json.dumps(entry) + "\n")

    def send_json(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_events(self, events, named=True, done=False):
        """Server-sent events; `named`: each under the name of its type, `done`: with OpenAI's end mark."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for e in events:
            name = f"event: {e['type']}\n" if named else ""
            self.wfile.write(f"{name}data: {json.dumps(e)}\n\n".encode())
            self.wfile.flush()
        if done:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def do_GET(self):
        self.record(self.log_file, {"t": time.time(), "method": "GET", "path": self.path})
        if "models" in self.path:
            self.send_json({"object": "list", "data": [{"id": "mock", "object": "model"}],
                            "models": [{"name": "models/mock"}]})
        else:
            self.send_json({"ok": True})

    do_HEAD = do_GET

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        entry = {"t": time.time(), "method": "POST", "path": self.path}
        try:
            body = json.loads(raw or b"{}")
            self.record(self.dump_file, {"t": entry["t"], "path": self.path, "body": body})
            entry["model"] = body.get("model")
            answer = wire_format(path)
            if answer:
                entry.update(answer(self, body, self.script))
            elif path.endswith("countTokens"):
                self.send_json({"totalTokens": USAGE_IN})
            elif path.endswith("/count_tokens"):
                self.send_json({"input_tokens": USAGE_IN})
            else:
                entry["unhandled"] = True
                self.send_json({})
        except (BrokenPipeError, ConnectionResetError):
            entry["hung_up"] = True             # the agent ended or gave up
        except Exception as e:                  # a script or a request that does not fit: say so to both sides
            entry["error"] = f"{type(e).__name__}: {e}"
            self.send_json({"error": {"message": entry["error"], "type": "fake_llm"}}, 400)
        self.record(self.log_file, entry)


def end_with_parent():
    """Leaves when the process that started this one is gone."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)
    threading.Thread(target=watch, daemon=True).start()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--script", required=True)
    p.add_argument("--log", required=True, help="one JSON line per request")
    p.add_argument("--port", type=int, default=0, help="default: a free one")
    p.add_argument("--agent", help="the script's part to play")
    p.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    p.add_argument("--dump", help="file for whole request bodies")
    a = p.parse_args()
    with open(a.script, encoding="utf-8") as f:
        text = f.read()
    for pair in a.set:
        name, value = pair.split("=", 1)
        text = text.replace("{{%s}}" % name, json.dumps(value)[1:-1])
    Handler.script, Handler.log_file, Handler.dump_file = Script(json.loads(text), a.agent), a.log, a.dump
    server = ThreadingHTTPServer(("127.0.0.1", a.port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    end_with_parent()
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
