// The thread beside the program: it owns the bridge, and waits for messages while the program is paused.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { workerData } = require("node:worker_threads");

/** Attempts to start another bridge. */
const TRIES = 3;
/** Bytes of a message at most, as the bridge has it. */
const MAX_MESSAGE = 32 << 20;
/** Its code for a longer one. */
const TOO_LONG = -32000;

const { binary, hello, port, signal } = workerData;
const ready = new Int32Array(signal);
let child;
let tries = 0;
let isOver = false;
const waiting = new Map();

/** Hands a message to the program, which may sleep. */
function post(message) {
  port.postMessage(message);
  Atomics.add(ready, 0, 1);
  Atomics.notify(ready, 0);
}

/** A program by its path, or its name on the search path without relative directories: the current one may be a stranger's. */
function named(program) {
  if (program !== path.basename(program)) return program;
  const dirs = (process.env.PATH ?? "").split(path.delimiter).filter((dir) => path.isAbsolute(dir));
  const names = process.platform === "win32" ? [`${program}.exe`, program] : [program];
  const all = dirs.flatMap((dir) => names.map((name) => path.join(dir, name)));
  return all.find((file) => fs.existsSync(file)) ?? path.join(path.sep, "not-on-the-search-path", program);
}

function start() {
  child = spawn(named(binary), ["bridge"], { stdio: ["pipe", "pipe", "ignore"], detached: true });
  child.unref();
  let rest = "";
  child.stdin.on("error", () => undefined);
  child.on("error", (error) => lost(String(error)));
  child.on("exit", () => lost("the bridge has ended"));
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    rest += text;
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) take(line);
  });
  send({ id: "hello", method: "hello", params: hello });
}

function take(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  if (message.id === "hello") tries = 0;
  waiting.delete(message.id);
  post(message);
}

function send({ id, method, params }) {
  if (id !== undefined) waiting.set(id, true);
  const line = strict(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  if (Buffer.byteLength(line) > MAX_MESSAGE) {
    waiting.delete(id);
    post({ id, error: { code: TOO_LONG, message: `${method} has more than ${MAX_MESSAGE} bytes` } });
    return;
  }
  child.stdin.write(`${line}\n`);
}

/** Halves of surrogate pairs are not Unicode. They are escapes here. */
function strict(text) {
  return text.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/gi, (found) => (found === "\\\\" ? found : "\ufffd"));
}

function lost(why) {
  if (child === undefined) return;
  child = undefined;
  const open = [...waiting.keys()];
  waiting.clear();
  tries += 1;
  if (tries > TRIES) {
    isOver = true;
    post({ lost: why, open, over: true });
    return;
  }
  setTimeout(() => {
    start();
    post({ lost: why, open, over: false });
  }, 20 * tries);
}

start();
port.on("message", (message) => {
  if (message.end === true) {
    const own = child;
    child = undefined;
    own?.stdin.end();
    port.close();
    return;
  }
  // nobody answers any longer, which the program has been informed
  if (isOver) return;
  if (child === undefined) setTimeout(() => port.emit("message", message), 20);
  else send(message);
});
