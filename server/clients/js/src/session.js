// The inputs of one session. Each is evaluated inside the scope of those before, so that the engine itself keeps their names.
"use strict";

const util = require("node:util");
const vm = require("node:vm");

const { parses, scan, withoutAwait } = require("./awaits.js");

/** The one name that inputs see beside those of the program. */
const NAME = "__backstitch";
/** Evaluates in the scope in which it is itself evaluated. */
const SCOPE = `(${NAME}) => eval(${NAME}.source)`;
/** The name of an input in stacks. */
const FILE = "<repl>";
/** Words without which an input declares nothing. */
const DECLARES = /\b(?:const|let|var|class|function|using)\b/;

/** Promises are asked by functions with a queue apart, so that nothing of the program runs meanwhile. */
let queue;
let listeners;

/** The value of a promise that is settled, as `await` has it. */
function settled(value) {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  const then = isObject ? value.then : undefined;
  if (typeof then !== "function") return value;
  // a listener would count as the handler of an error that comes later
  if (util.types.isPromise(value) && /^[^{]*\{ <pending>/.test(util.inspect(value, { depth: 0, customInspect: false }))) pending();
  queue ??= vm.createContext({}, { microtaskMode: "afterEvaluate" });
  listeners ??= vm.runInContext("(take) => [(value) => { take(value, false) }, (error) => { take(error, true) }]", queue);
  let outcome;
  const take = (result, isError) => {
    outcome ??= { result, isError };
  };
  then.call(value, ...listeners(take));
  vm.runInContext("0", queue);
  if (outcome === undefined) pending();
  if (outcome.isError) throw outcome.result;
  return util.types.isPromise(value) ? outcome.result : settled(outcome.result);
}

function pending() {
  throw new Error(
    "the promise is pending, and none settles while the program is paused; keep it (`x = …`), resume, and await it at a later pause",
  );
}

/** The values of `for await`. */
function* each(values) {
  const method = values[Symbol.asyncIterator];
  if (method === undefined || method === null) {
    for (const value of values) yield settled(value);
    return;
  }
  const iterator = method.call(values);
  let isOver = true;
  try {
    for (;;) {
      const step = settled(iterator.next());
      if (step.done) return;
      isOver = false;
      yield step.value;
      isOver = true;
    }
  } finally {
    if (!isOver && typeof iterator.return === "function") settled(iterator.return());
  }
}

/** The object under `NAME` in an input. */
function tools(source, keep) {
  return { source, await: settled, each, keep };
}

/** Inputs with names that a session keeps. V8 gets slow in loops below more scopes, and ends the process below thousands. */
const MAX_SCOPES = 100;

class Session {
  /** `evaluate`: `(s) => eval(s)` of the place. */
  constructor(evaluate) {
    const scope = evaluate(`${SCOPE}\n//# sourceURL=${FILE}`);
    // no `eval`, but something else of the program
    this.scope = typeof scope === "function" ? scope : ({ source }) => evaluate(source);
    this.keepsNames = typeof scope === "function";
    this.scopes = 0;
  }

  /** The value of an input. Its names stay for the next one; those of one that fails stay if each has got a value. */
  run(input) {
    const source = prepared(input);
    const { scope } = this;
    if (!this.keepsNames || !DECLARES.test(source)) return scope(tools(named(source)));
    if (this.scopes >= MAX_SCOPES) {
      throw new Error(`this session keeps the names of ${MAX_SCOPES} inputs already: assign without \`const\` or \`let\`, or begin a session`);
    }
    this.scopes += 1;
    const isStrict = /^\s*(["'])use strict\1/.test(source);
    let inner = scope;
    const keep = (own) => {
      inner = own;
    };
    try {
      const value = scope(tools(named(`${isStrict ? "'use strict';" : ""}${NAME}.keep(${SCOPE});${source}`), keep));
      this.scope = inner;
      return value;
    } catch (error) {
      const names = new Set(scan(source).flatMap(({ text, isWord }) => (isWord ? [text] : [])));
      if ([...names].every((name) => hasValue(inner, name) || !hasValue(scope, name))) this.scope = inner;
      throw error;
    }
  }
}

/** False for a name that is declared, and has not got its value. */
function hasValue(scope, name) {
  try {
    scope(tools(`typeof ${name}`));
    return true;
  } catch (error) {
    return error?.name !== "ReferenceError";
  }
}

function named(source) {
  return `${source}\n//# sourceURL=${FILE}`;
}

/** An input as `eval` takes it. */
function prepared(input) {
  return withoutAwait(wrapped(input), NAME, isProgram);
}

/** An object literal is an expression. */
function wrapped(expression) {
  const isObject = expression.trim().startsWith("{") && parses(`(${expression}\n)`);
  return isObject ? `(${expression}\n)` : expression;
}

function isStatement(expression) {
  return !parses(`(${expression}\n)`);
}

/** True for a text that can be run. */
function isProgram(source) {
  try {
    new vm.Script(source);
    return true;
  } catch {
    return false;
  }
}

/** The text of an error, without the frames of this client. */
function errorText(error) {
  if (!(error instanceof Error) && typeof error?.stack !== "string") return `Uncaught ${util.inspect(error)}`;
  const lines = String(error.stack).split("\n");
  const own = lines.findIndex((line) => line.includes(__dirname) || line.includes("node:vm"));
  if (own <= 0) return lines.join("\n");
  // `eval` is called in the scope, by a function of ours
  const last = lines[own - 1].includes(FILE) ? own - 1 : own;
  return lines.slice(0, last).join("\n");
}

module.exports = { NAME, Session, errorText, isProgram, isStatement, prepared, tools };
