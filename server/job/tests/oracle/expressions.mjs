// Answers lines {text, contexts} by GitHub's package @actions/expressions: {ok: value} or {error: message}.
//
// The package checks and completes in editors; the runner (actions/runner, Sdk/DTExpressions2) evaluates. Where both
// differ, the runner decides, and the package is corrected here. Each correction names the file of the runner.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const dist = `${process.argv[2]}/node_modules/@actions/expressions/dist`;
const load = (file) => import(pathToFileURL(`${dist}/${file}.js`).href);
const { data, Evaluator, ExpressionError, Lexer, Parser, wellKnownFunctions } = await load("index");
const { TokenType } = await load("lexer");
const { ErrorType } = await load("errors");

// an offset for each token, from which its position is made
const { pos, lex } = Lexer.prototype;
Lexer.prototype.pos = function () {
  return { ...pos.call(this), offset: this.start };
};

// LexicalAnalyzer.cs, ReadStringToken: every pair of quotes is one, not only the first
Lexer.prototype.lex = function () {
  const result = lex.call(this);
  for (const token of result.tokens) {
    if (token.type === TokenType.STRING) token.value = token.lexeme.slice(1, -1).replaceAll("''", "'");
  }
  return result;
};

// Token.cs, legality: no ")" follows a ","
const { match } = Parser.prototype;
Parser.prototype.match = function (...types) {
  if (types.includes(TokenType.RIGHT_PAREN) && this.check(TokenType.RIGHT_PAREN) && this.previous().type === TokenType.COMMA) {
    throw this.buildError(ErrorType.ErrorUnexpectedSymbol, this.peek());
  }
  return match.apply(this, types);
};

// EvaluationResult.cs, ConvertToString: numbers by the format G15
const g15 = (value) => {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(14).split("e");
  const scale = Number(exponent);
  if (scale > -5 && scale < 15) {
    const fixed = value.toFixed(Math.max(0, 14 - scale));
    return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
  }
  const sign = scale < 0 ? "-" : "+";
  return `${mantissa.replace(/\.?0+$/, "")}E${sign}${String(Math.abs(scale)).padStart(2, "0")}`;
};
data.NumberData.prototype.coerceString = function () {
  return g15(this.value);
};

// ToJson.cs, WriteValue: numbers as their texts
wellKnownFunctions.tojson.call = (value) => {
  const marked = (key, item) =>
    item instanceof data.NumberData && Number.isFinite(item.value) ? `\u0000${g15(item.value)}\u0000` : data.replacer(key, item);
  const text = JSON.stringify(value, marked, "  ");
  return new data.StringData(text.replace(/"\\u0000([^"\\]*)\\u0000"/g, "$1"));
};

// Contains.cs, StartsWith.cs, EndsWith.cs, Join.cs, Case.cs, Format.cs: arguments are evaluated when they are needed
const { visitFunctionCall } = Evaluator.prototype;
const needsAll = (name, first) => {
  switch (name) {
    case "contains":
      return first.primitive || (first.kind === data.Kind.Array && first.values().length > 0);
    case "startswith":
    case "endswith":
      return first.primitive;
    case "join":
      return first.kind === data.Kind.Array && first.values().length > 1;
    default:
      return true;
  }
};
Evaluator.prototype.visitFunctionCall = function (node) {
  const name = node.functionName.lexeme.toLowerCase();
  const { args } = node;
  if (name === "case") {
    for (let place = 0; place + 1 < args.length; place += 2) {
      const chosen = wellKnownFunctions.case.call(this.eval(args[place]), true, false);
      if (chosen === true) return this.eval(args[place + 1]);
    }
    return this.eval(args.at(-1));
  }
  if (name === "format") {
    const later = args.slice(1).map((argument) => ({ coerceString: () => this.eval(argument).coerceString() }));
    return wellKnownFunctions.format.call(this.eval(args[0]), ...later);
  }
  if (["contains", "startswith", "endswith", "join"].includes(name)) {
    const first = this.eval(args[0]);
    const rest = needsAll(name, first) ? args.slice(1).map((argument) => this.eval(argument)) : args.slice(1).map(() => new data.Null());
    return wellKnownFunctions[name].call(first, ...rest);
  }
  return visitFunctionCall.call(this, node);
};

const functions = [
  { name: "success", minArgs: 0, maxArgs: 0, call: () => new data.BooleanData(true) },
  { name: "hashFiles", minArgs: 1, maxArgs: 255, call: (...args) => new data.StringData(args.map((arg) => arg.coerceString()).join("|")) },
];

const written = (value) => {
  switch (value.kind) {
    case data.Kind.Null:
      return null;
    case data.Kind.Number:
      return { n: Object.is(value.value, -0) ? "-0" : String(value.value) };
    case data.Kind.Array:
      return value.values().map(written);
    case data.Kind.Dictionary:
      return { o: value.pairs().map(({ key, value: item }) => [key, written(item)]) };
    default:
      return value.value;
  }
};

const answer = ({ text, contexts }) => {
  try {
    const context = JSON.parse(JSON.stringify(contexts), data.reviver);
    const names = context.pairs().map(({ key }) => key);
    const tree = new Parser(new Lexer(text).lex().tokens, names, functions).parse();
    if (tree === undefined) return { ok: null };
    const callable = new Map(functions.map((one) => [one.name.toLowerCase(), one]));
    return { ok: written(new Evaluator(tree, context, callable).evaluate()) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) return { error: error.message };
    return { error: `${error.message}. Located at position ${error.pos.offset + 1} within expression: ${text}` };
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
}
