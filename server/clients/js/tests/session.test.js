// Inputs of a session at a place of a program, beside the same inputs to Node's own REPL.
"use strict";

const assert = require("node:assert");
const { execFileSync } = require("node:child_process");
const repl = require("node:repl");
const { PassThrough } = require("node:stream");
const { test } = require("node:test");
const util = require("node:util");

const { Session } = require("../src/session.js");

/** Inputs whose names and promises need care, in one session. */
const INPUTS = [
  // names that stay
  "const a = 3",
  "let b = a * 2; b",
  "function twice(n) { return n * 2; }",
  "[a, b].map(twice)",
  "class A { constructor() { this.v = 5; } }",
  "new A().v",
  "const { p, q: [r, ...more], ...others } = { p: 1, q: [2, 3, 4], z: 9 }",
  "[p, r, more, others]",
  "let late",
  "late = a; late",
  "async function seven() { return 7; }",
  "function* counted() { yield 1; yield 2; }",
  "[...counted()]",
  "var w = 1; w += 1",
  "w",
  // `await` outside of functions
  "await 5",
  "const v = await seven()",
  "v",
  "await seven() + await Promise.resolve(1) * 2",
  "-await 2 + (await seven())",
  "!await 0",
  "typeof await seven()",
  "await\nseven()",
  "await await seven()",
  "await seven() ? (await 3).toString() : 0",
  "await seven().then === undefined",
  "[await 1, await 2].map((x) => x + 1)",
  "await new Map([[1, 2]]).get(1)",
  "new (await class { constructor() { this.z = 1; } })().z",
  "await [1][0]",
  "(await others?.['z']) ?? 'nothing'",
  "const { d = await 8 } = {}; d",
  "`${await seven()} await ${`${await 2}`}`",
  "await String.raw`a${await 1}`",
  "let n = 5; n++ / await 5",
  "n / await 2 / await 3",
  "let isFound; if (await true) /await/.test('await') && (isFound = await 3); isFound",
  "await async function () { return 4; }()",
  "let caught; try { await Promise.reject(3) } catch (e) { caught = e + await 1 } caught",
  "await { then(done) { done(6); } }",
  "({ a: await seven(), b: 2 })",
  // functions, and names like words
  "const f = async () => await seven()\nawait f.name",
  "const g = async (x) => x ? await 1 : await 2; await 4",
  "const h = async x => { await x }; await 5",
  "const o = { async await() { return await 1 }, await: 5, async *[`x`]() { yield await 1 } }; await o.await",
  "class B { static async await() { return await 1 } await = 3 }; await new B().await",
  "await (function () { return 'plain' })()",
  "await [async () => { for await (const x of y) await x }].length",
  // text that looks like code
  "'await x'; \"const z = 1\"",
  "const text = 'let y = await 1'; text",
  "/await [/'`]const/.test(\"await 'const\")",
  "const pattern = /`/; await `${'}'}`",
  "// await const\n1",
  "/* await */ await 2 // await",
  "const w1 = 1 /* let w2 */ // await here; const",
  "w1",
  "await `const ${'`'} ${{ await: 1 }.await} \\` let`",
];

function ours(session, input) {
  try {
    return util.inspect(session.run(input));
  } catch (error) {
    return `${error.name ?? "thrown"}: ${error.message ?? error}`;
  }
}

function node(server, input) {
  return new Promise((done, fail) => {
    server.eval(`${input}\n`, server.context, "repl", (error, value) => (error ? fail(error) : done(util.inspect(value))));
  });
}

test("inputs are answered as by Node's own REPL", async () => {
  const server = repl.start({ input: new PassThrough(), output: new PassThrough(), useGlobal: false });
  const session = new Session((s) => eval(s));
  for (const input of INPUTS) assert.deepStrictEqual([input, ours(session, input)], [input, await node(server, input)]);
  server.close();
});

test("inputs that fail", () => {
  const session = new Session((s) => eval(s));
  const said = [
    ["const kept = 1; throw new Error('after it')", /^Error: after it$/],
    ["kept", /^1$/],
    ["kept = 2", /^TypeError: Assignment to constant variable.$/],
    ["let first = 1, second = nowhere", /^ReferenceError: nowhere is not defined$/],
    ["typeof second", /^'undefined'$/],
    ["await Promise.reject(new TypeError('refused'))", /^TypeError: refused$/],
    ["await Promise.reject(3)", /^thrown: 3$/],
    ["const = 3", /^SyntaxError: Unexpected token '='$/],
    ["1 +", /^SyntaxError: Unexpected end of input$/],
    ["if (kept)", /^SyntaxError: Unexpected end of input$/],
    ["twice(1", /^SyntaxError: missing \)/],
    ["return 1", /^SyntaxError: Illegal return statement$/],
    ["await 1; return 1", /^SyntaxError: /],
    ["if (await 1", /^SyntaxError: /],
    ["() => await 1", /^SyntaxError: /],
    ["await 1 }); (async () => { 2", /^SyntaxError: /],
    ["`", /^SyntaxError: /],
    ["/* await", /^SyntaxError: /],
  ];
  for (const [input, answer] of said) assert.match(ours(session, input), answer, input);
});

test("the names of the place are read and assigned", () => {
  let count = 1;
  const state = { step: 1 };
  const session = new Session((s) => eval(s));
  const said = ["count", "count = await 5", "const more = count + 1; state.step = more", "let state2 = state", "state2 === state"];
  assert.deepStrictEqual(
    said.map((input) => ours(session, input)),
    ["1", "5", "6", "undefined", "true"],
  );
  assert.deepStrictEqual([count, state.step], [5, 6]);
  // a declaration of a name of the place is another name
  assert.strictEqual(ours(session, "const count = 7; count"), "7");
  assert.strictEqual(count, 5);
  // a name without a value does not hide it
  assert.match(ours(session, "const state = nowhere"), /^ReferenceError: nowhere/);
  assert.strictEqual(ours(session, "state.step"), "6");
});

test("names are declared anew, and functions keep theirs", () => {
  const session = new Session((s) => eval(s));
  const said = ["const x = 1", "const old = () => x", "const x = 2; x", "let x", "class x {}", "typeof x", "old()", "var x = 9; x"];
  assert.deepStrictEqual(
    said.map((input) => ours(session, input)),
    ["undefined", "undefined", "2", "undefined", "undefined", "'function'", "1", "9"],
  );
});

test("for await takes settled promises, and closes what it leaves", () => {
  const session = new Session((s) => eval(s));
  let isClosed = false;
  globalThis.steps = {
    [Symbol.asyncIterator]: () => ({
      left: 3,
      async next() {
        this.left -= 1;
        return { value: this.left, done: this.left < 0 };
      },
      async return() {
        isClosed = true;
        return {};
      },
    }),
  };
  const all = "let sum = 0; for await (const [of] of [Promise.resolve([1]), [await 2]]) { sum += of } sum";
  assert.strictEqual(ours(session, all), "3");
  assert.strictEqual(ours(session, "let seen = []; for await (const each of steps) seen.push(each); seen"), "[ 2, 1, 0 ]");
  assert.strictEqual(isClosed, false);
  assert.strictEqual(ours(session, "for await (var each of steps) break; each"), "2");
  assert.strictEqual(isClosed, true);
});

test("a pending promise is an error, and stays as it is", () => {
  const session = new Session((s) => eval(s));
  for (const input of ["await new Promise(() => {})", "await (async () => { await null; })()", "await { then() {} }"]) {
    assert.match(ours(session, input), /^Error: the promise is pending, and none settles while the program is paused; keep it/);
  }
  // a listener of an `await` that has failed would hide that nobody handles the error
  const program = `
    const { Session } = require(${JSON.stringify(require.resolve("../src/session.js"))});
    process.on("unhandledRejection", (error) => console.log("unhandled", error));
    let reject;
    const later = new Promise((_, no) => { reject = no; });
    try { new Session((s) => eval(s)).run("await later"); } catch (error) { console.log(error.name); }
    reject(5);`;
  assert.strictEqual(execFileSync(process.execPath, ["-e", program], { encoding: "utf8" }), "Error\nunhandled 5\n");
});

test("nothing of the program runs during an await, also in the midst of its own promises", async () => {
  const session = new Session((s) => eval(s));
  const order = [];
  await null;
  Promise.resolve().then(() => order.push("program"));
  process.nextTick(() => order.push("tick"));
  order.push(ours(session, "await Promise.resolve('input')"));
  order.push("paused");
  await new Promise((done) => setImmediate(done));
  assert.deepStrictEqual(order, ["'input'", "paused", "program", "tick"]);
});

test("lines of errors are those of the input", () => {
  const session = new Session((s) => eval(s));
  const line = (input) => {
    try {
      session.run(input);
    } catch (error) {
      return Number(/<repl>:(\d+):/.exec(error.stack)?.[1]);
    }
    return undefined;
  };
  const inputs = ["nowhere", "const a = 1;\n\nnowhere", "\n\nawait nowhere", "await 1;\nlet b = await nowhere", "{\n\n\na: nowhere }"];
  assert.deepStrictEqual(inputs.map(line), [1, 3, 3, 2, 4]);
});

test("strict code, and what is not eval, is evaluated as before", () => {
  const strict = (() => {
    "use strict";
    return new Session((s) => eval(s));
  })();
  const said = ["const a = await 1; a", "function f() { return this; } f()", "var v = 2", "a + v", "undeclared = 1"];
  assert.deepStrictEqual(
    said.map((input) => ours(strict, input)),
    ["1", "undefined", "undefined", "3", "ReferenceError: undeclared is not defined"],
  );
  const sloppy = new Session((s) => eval(s));
  assert.match(ours(sloppy, "'use strict'; let a = 1; undeclared = a"), /^ReferenceError/);
  const echo = new Session((s) => `<${s.split("\n")[0]}>`);
  assert.strictEqual(ours(echo, "const a = 1"), "'<const a = 1>'");
});

test("a session keeps the names of a bounded number of inputs, and runs on", () => {
  const session = new Session((s) => eval(s));
  for (let number = 0; number < 100; number += 1) session.run(`const kept${number} = ${number};`);
  assert.throws(() => session.run("const more = 1;"), /names of 100 inputs/);
  assert.strictEqual(session.run("kept0 + kept99"), 99);
});
