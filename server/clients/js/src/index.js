// Pauses a Node program, and answers questions at the spot. The program's thread sleeps while it is paused; a worker has the
// bridge, and wakes it for each input.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { fileURLToPath } = require("node:url");
const util = require("node:util");
const vm = require("node:vm");
const { MessageChannel, Worker, receiveMessageOnPort } = require("node:worker_threads");

const { NAME, Session, errorText, isProgram, isStatement, prepared, tools } = require("./session.js");

/** Milliseconds of a poll. */
const WAIT = 20_000;
/** Characters of a result. */
const MAX_RESULT = 100_000;
/** Characters of a line of source that a frame has. */
const MAX_LINE = 500;
/** Bytes of a value that is kept. */
const MAX_BYTES = 8 << 20;

class Raised extends Error {
  constructor(message) {
    super(message);
    this.name = "Raised";
  }
}

/** An expression of a decision has no value. */
class Refused extends Error {}

class BridgeLost extends Error {
  constructor(message) {
    super(message);
    this.name = "BridgeLost";
  }
}

let program;

function on({ binary = process.env.BACKSTITCH_BIN || "backstitch", lost = "raise" } = {}) {
  program ??= new Program(binary, lost);
}

function off() {
  program?.end();
  program = undefined;
}

function isOn() {
  return program !== undefined;
}

/** Calls a function. Breakpoints can stop before the call, and after it. */
function call(f, ...args) {
  return program === undefined || program.isBusy ? f(...args) : program.call(nameOf(f), f, undefined, args, "inline");
}

/** Returns a function or an object whose calls are watched. */
function watch(target, name = nameOf(target)) {
  return new Proxy(target, {
    apply(f, self, args) {
      if (program === undefined || program.isBusy) return Reflect.apply(f, self, args);
      return program.call(name, f, self, args, "proxy");
    },
    get(object, key) {
      const value = Reflect.get(object, key, object);
      if (typeof value !== "function" || key === "constructor") return value;
      const descriptor = Reflect.getOwnPropertyDescriptor(object, key);
      // a property that cannot be changed has to be itself
      if (descriptor !== undefined && !descriptor.configurable && !descriptor.writable) return value;
      // iterators look into the object itself
      if (typeof key === "symbol") return (...args) => Reflect.apply(value, object, args);
      return (...args) =>
        program === undefined || program.isBusy
          ? Reflect.apply(value, object, args)
          : program.call(`${name}.${key}`, value, object, args, "proxy");
    },
  });
}

/** Stands still. `evaluate`: `s => eval(s)` gives inputs the names of the place. */
function pause(label = "pause", evaluate = undefined) {
  if (program !== undefined && !program.isBusy) program.pause(String(label), evaluate);
}

function nameOf(f) {
  return typeof f === "function" && f.name !== "" ? f.name : (f?.constructor?.name ?? "anonymous");
}

class Program {
  isBusy = false;
  parent = null;
  sessions = new Map();
  inbox = [];
  number = 0;
  keys = 0;

  constructor(binary, lost) {
    this.lost = lost;
    const { port1, port2 } = new MessageChannel();
    const signal = new SharedArrayBuffer(4);
    this.port = port1;
    this.ready = new Int32Array(signal);
    const started = Math.round((Date.now() - process.uptime() * 1000) * 1000);
    const hello = { pid: process.pid, started, argv: process.argv, language: "javascript", cwd: process.cwd() };
    this.worker = new Worker(path.join(__dirname, "worker.js"), {
      workerData: { binary, hello, port: port2, signal },
      transferList: [port2],
      stdout: false,
      stderr: false,
    });
    this.worker.unref();
    port1.unref();
    const said = this.wait((message) => message.id === "hello");
    this.timeout = said.result?.evalTimeoutMs ?? 30_000;
    this.maxObject = said.result?.maxObject ?? MAX_BYTES;
  }

  /** Sleeps until a message comes that is wanted. Others stay in the inbox. */
  wait(isWanted) {
    for (;;) {
      const at = this.inbox.findIndex(isWanted);
      if (at >= 0) return this.inbox.splice(at, 1)[0];
      if (this.isOver !== undefined) throw new BridgeLost(this.isOver);
      const seen = Atomics.load(this.ready, 0);
      const received = receiveMessageOnPort(this.port);
      if (received === undefined) {
        Atomics.wait(this.ready, 0, seen, 1000);
        continue;
      }
      const { message } = received;
      if (message.method === "repl/closed") this.sessions.delete(message.params.session);
      else if (message.over === true) this.isOver = message.lost;
      // a bridge that died answers none of these: whoever waits for one asks the next bridge
      else if (message.open !== undefined) this.inbox.push(...message.open.map((id) => ({ id, isLost: true })));
      else this.inbox.push(message);
    }
  }

  send(method, params) {
    this.number += 1;
    const id = this.number;
    this.port.postMessage({ id, method, params });
    return id;
  }

  /** Asks the bridge; another one if it dies meanwhile. */
  ask(method, params) {
    for (;;) {
      const id = this.send(method, params);
      const answer = this.wait((message) => message.id === id);
      if (answer.isLost) continue;
      if (answer.error !== undefined) {
        const error = new Error(answer.error.message);
        error.code = answer.error.code;
        throw error;
      }
      return answer.result;
    }
  }

  /** A name of a request. Asked again by it, another bridge finds the pause that the last one opened. */
  key() {
    this.keys += 1;
    return `${this.keys}`;
  }

  guarded(act, otherwise) {
    try {
      return act();
    } catch (error) {
      if (!(error instanceof BridgeLost) || this.lost === "raise") throw error;
      if (!this.hasWarned) process.emitWarning(`backstitch: ${error.message}; the program continues unwatched`);
      this.hasWarned = true;
      return otherwise;
    }
  }

  call(name, f, self, args, kind) {
    const key = this.key();
    const began = this.guarded(
      () =>
        this.ask("call/begin", {
          function: name,
          kind,
          args: Object.fromEntries(args.map((each, at) => [`${at}`, this.shown(each, 200)])),
          thread: "main",
          parent: this.parent,
          stack: stack(),
          key,
        }),
      {},
    );
    let given = args;
    if (began.pause) {
      const names = { args, self };
      const [action, made] = this.decided(began.pause, names, (action) => {
        if (action.kind === "replace") return this.value(action.value, names);
        const changed = [...args];
        const changes = action.args?.args ?? action.args ?? {};
        for (const [name, source] of Object.entries(changes)) {
          const at = place(f, name);
          if (at >= Math.max(args.length, room(f))) {
            throw new Refused(`${nameOf(f)} was called with ${args.length} arguments, and has no number ${at}`);
          }
          changed[at] = this.value(source, names);
        }
        return changed;
      });
      if (action.kind === "skip" || action.kind === "replace") {
        const value = made;
        this.ended(began.call, name, "skipped", value);
        return value;
      }
      if (action.kind === "raise") {
        this.ended(began.call, name, "raised", undefined, false);
        throw new Raised(action.error);
      }
      if (action.kind === "modify") given = made;
    }
    const outer = this.parent;
    this.parent = began.call ?? outer;
    let result;
    try {
      result = Reflect.apply(f, self, given);
    } catch (error) {
      this.parent = outer;
      return this.after(began.call, name, "raised", error, given);
    }
    this.parent = outer;
    return this.after(began.call, name, "returned", result, given);
  }

  after(call, name, outcome, result, args) {
    const pause = this.ended(call, name, outcome, result);
    const names = { args, result };
    const [action, made] = pause
      ? this.decided(pause, names, (action) => this.value(action.value, names))
      : [{ kind: "continue" }];
    if (action.kind === "replace") return made;
    if (action.kind === "raise") throw new Raised(action.error);
    if (outcome === "raised") throw result;
    return result;
  }

  ended(call, name, outcome, result, ran = true) {
    if (call === undefined) return undefined;
    const shown = this.shown(result, 200);
    const params = { call, function: name, outcome, result: shown, thread: "main", stack: stack(), key: this.key(), ran };
    return this.guarded(() => this.ask("call/end", params), {}).pause;
  }

  pause(label, evaluate) {
    const params = { label, thread: "main", call: this.parent, stack: stack(), key: this.key() };
    const { pause } = this.guarded(() => this.ask("pause/open", params), {});
    if (!pause) return;
    const action = this.held(pause, evaluate, {});
    if (action.kind === "raise") throw new Raised(action.error);
  }

  /**
   * Waits for an action that can be carried out. Returns it, and what `prepare` has made of its expressions. One whose expressions
   * fail is refused, and the pause continues.
   */
  decided(pause, names, prepare) {
    for (;;) {
      const action = this.held(pause, undefined, names);
      if (action.kind !== "replace" && action.kind !== "modify") return [action];
      let made;
      try {
        made = prepare(action);
      } catch (error) {
        const why = error instanceof Refused ? error.message : String(error);
        const said = this.quietly(() => this.ask("pause/refuse", { pause, error: why }));
        // it is over, and nobody can decide anew
        if (said?.held !== true) return [{ kind: "continue" }];
        continue;
      }
      this.quietly(() => this.ask("pause/confirm", { pause }));
      return [action, made];
    }
  }

  /** Asks what a bridge may not know. */
  quietly(act) {
    return this.guarded(() => {
      try {
        return act();
      } catch (error) {
        if (error instanceof BridgeLost) throw error;
        return undefined;
      }
    }, undefined);
  }

  /** As `hold`. Without a bridge the program continues, if it is to. */
  held(pause, evaluate, names) {
    return this.guarded(() => this.hold(pause, evaluate, names), { kind: "continue" });
  }

  /** Sleeps until there is an action, and evaluates what is asked meanwhile. */
  hold(pause, evaluate, names) {
    const params = { pause, waitMs: WAIT, confirms: true };
    let action = this.send("pause/poll", params);
    let asks = this.send("repl/poll", params);
    for (;;) {
      const answer = this.wait((message) => message.id === action || message.id === asks);
      if (answer.isLost) {
        // another bridge
        try {
          this.ask("pause/take", { pause });
        } catch (error) {
          if (error instanceof BridgeLost) throw error;
        }
        if (answer.id === action) action = this.send("pause/poll", params);
        else asks = this.send("repl/poll", params);
      } else if (answer.id === action) {
        if (answer.error !== undefined) return { kind: "continue" };
        if (answer.result.action !== null) return answer.result.action;
        action = this.send("pause/poll", params);
      } else {
        const asked = answer.result;
        if (asked?.evalId != null) this.evaluate(asked, evaluate, names);
        asks = this.send("repl/poll", params);
      }
    }
  }

  evaluate(asked, evaluate, names) {
    const { evalId, pause, session, expression } = asked;
    const { out, restore } = capture();
    let answer = { result: "", error: null };
    this.isBusy = true;
    try {
      const value = this.run(session, expression, evaluate, names);
      answer.result = this.shown(value, MAX_RESULT);
      if (value !== undefined && value !== null) Object.assign(answer, stored(value, this.maxObject), { view: this.view(value) });
      if (value === undefined && isStatement(expression)) answer.result = "";
    } catch (error) {
      answer = { result: "", error: errorText(error) };
    } finally {
      this.isBusy = false;
      restore();
    }
    try {
      this.ask("repl/result", { evalId, pause, session, stdout: out(), ...answer });
    } catch (error) {
      // its session is closed: the result is nobody's
      if (error instanceof BridgeLost) throw error;
    }
  }

  /** With the names of the place if it gave `eval`, else with its own globals for each session. */
  run(session, expression, evaluate, names) {
    let own = this.sessions.get(session);
    if (own === undefined) {
      own = new Session(evaluate ?? globals(names));
      this.sessions.set(session, own);
    }
    return own.run(expression);
  }

  /** The value of an expression at a call. It is made beside the program's own code, so that `{}` and `[]` are what they are there. */
  value(source, names) {
    if (typeof source !== "string") return source;
    if (source.trim() === "") throw new Refused("an empty text is not an expression");
    if (isStatement(source) && isProgram(source)) throw new Refused(`\`${source.trim()}\` is a statement, and has no value`);
    this.isBusy = true;
    try {
      const all = { require, ...names };
      const evaluate = new Function(...Object.keys(all), NAME, `return eval(${NAME}.source)`);
      return evaluate(...Object.values(all), tools(prepared(source)));
    } catch (error) {
      throw new Refused(error instanceof Error ? `${error.name}: ${error.message}` : `Uncaught ${util.inspect(error)}`);
    } finally {
      this.isBusy = false;
    }
  }

  shown(value, limit) {
    const before = this.isBusy;
    this.isBusy = true;
    try {
      const text = util.inspect(value, { depth: 4, maxStringLength: limit, breakLength: 100 });
      return text.length > limit ? `${text.slice(0, limit)}… (${text.length} characters)` : text;
    } catch (error) {
      return `<unprintable: ${error?.name ?? "error"}>`;
    } finally {
      this.isBusy = before;
    }
  }

  view(value, depth = 2) {
    const made = { type: typeof value, repr: this.shown(value, 1000) };
    try {
      const name = value === null ? "null" : value?.constructor?.name;
      if (typeof name === "string") made.type = name;
      if (typeof value?.length === "number") made.length = value.length;
      if (depth > 0 && typeof value === "object" && value !== null) {
        const fields = Object.entries(value).slice(0, 50);
        if (fields.length > 0) made.fields = Object.fromEntries(fields.map(([name, each]) => [name, this.view(each, depth - 1)]));
      }
    } catch {
      // a getter that throws
    }
    return made;
  }

  end() {
    this.port.postMessage({ end: true });
  }
}

/** An `eval` with globals apart, which begin as those of the program. */
function globals(names) {
  const context = vm.createContext({});
  // that of the program would evaluate among its globals
  const own = vm.runInContext("eval", context);
  Object.setPrototypeOf(Object.assign(context, { console, process, require, ...names, eval: own }), globalThis);
  return vm.runInContext("(source) => eval(source)", context);
}

/** The output of an evaluation goes into its transcript. */
function capture() {
  const parts = [];
  const undo = [process.stdout, process.stderr].map((stream) => {
    const own = Object.getOwnPropertyDescriptor(stream, "write");
    stream.write = (chunk, encoding, done) => {
      parts.push(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"));
      const then = typeof encoding === "function" ? encoding : done;
      if (typeof then === "function") process.nextTick(then);
      return true;
    };
    return () => {
      delete stream.write;
      if (own !== undefined) Object.defineProperty(stream, "write", own);
    };
  });
  return {
    out: () => parts.join("").slice(0, 1 << 20),
    restore: () => {
      for (const each of undo) each();
    },
  };
}

/** The parameters as the function's text has them. */
function parameters(f) {
  const text = Function.prototype.toString.call(f);
  const list = /^[^(]*\(([^)]*)\)/.exec(text)?.[1] ?? /^(?:async\s+)?([\w$]+)\s*=>/.exec(text)?.[1] ?? "";
  return list.split(",").map((each) => each.replace(/=[\s\S]*$/, "").trim());
}

/** Number of arguments that a function looks at, as far as its text tells. */
function room(f) {
  const names = parameters(f);
  const isOpen = names.some((name) => name.startsWith("...") || name.includes("["));
  return isOpen || /\barguments\b|\[native code\]/.test(Function.prototype.toString.call(f)) ? Infinity : Math.max(f.length, names.length);
}

/** Place of an argument that is named by its number, or as the function's text names it. */
function place(f, name) {
  if (/^\d+$/.test(name)) return Number(name);
  const at = parameters(f).indexOf(name);
  if (at < 0) throw new Refused(`the function has no argument \`${name}\`; its number names it, too`);
  return at;
}

function stored(value, limit) {
  if (limit === 0) return {};
  try {
    const bytes = require("node:v8").serialize(value);
    if (bytes.length > limit) return {};
    const cid = `sha256:${crypto.createHash("sha256").update(bytes).digest("hex")}`;
    return { cid, data: bytes.toString("base64") };
  } catch {
    return {};
  }
}

/** The frames of the program, outermost first. */
function stack() {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  const { stack: text } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  const frames = [];
  for (const line of String(text).split("\n").slice(1)) {
    const found = /^\s*at (?:async )?(?:(.*?) \()?((?:file:\/\/)?\/.*?):(\d+):\d+\)?$/.exec(line);
    if (found === null) continue;
    // a module has its URL there
    const file = found[2].startsWith("/") ? found[2] : fileURLToPath(found[2]);
    if (file.startsWith(__dirname)) continue;
    const at = Number(found[3]);
    frames.push({ name: found[1] ?? "<anonymous>", path: file, line: at, ...around(file, at) });
  }
  return frames.reverse();
}

/** Sources that were read, by path: a watched call has them each time. */
const sources = new Map();

/** The lines around a place, and the number of the first. */
function around(file, line) {
  if (!sources.has(file)) {
    let lines = [];
    try {
      lines = fs.readFileSync(file, "utf8").split(/\r?\n/);
    } catch {
      // built in, or gone
    }
    if (sources.size >= 200) sources.clear();
    sources.set(file, lines);
  }
  const lines = sources.get(file);
  if (line > lines.length) return { context: [], first: 0 };
  const first = Math.max(line - 2, 1);
  return { context: lines.slice(first - 1, line + 2).map((each) => each.slice(0, MAX_LINE)), first };
}

module.exports = { BridgeLost, Raised, call, isOn, off, on, pause, watch };
if (/^(on|1|true)$/i.test(process.env.BACKSTITCH ?? "")) on();
