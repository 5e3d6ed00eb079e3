//! Generated expressions: values and errors are those of GitHub's package `@actions/expressions`.
//!
//! Where the package and the runner differ, the runner decides; `expressions.mjs` lists and corrects these differences.
//! The package damages objects whose names are whole numbers or names of every JavaScript object: they are not
//! generated. Format specifiers (`{0:x}`) are not generated, either: the runner alone refuses them.

use backstitch_job::expr::{Allowed, ExpressionError, Value, check, evaluate};
use serde_json::{Value as Json, json};

use crate::given::Given;
use crate::node::Node;
use crate::random::Random;

const COUNT: usize = 10_000;
const CONTEXTS: [&str; 4] = ["github", "env", "matrix", "needs"];
const NAMES: [&str; 7] = ["a", "b", "Name", "name", "x-y", "_z", "list"];
const TEXTS: [&str; 22] = [
    "",
    " ",
    "a",
    "A",
    "abc",
    "ABC",
    "name",
    "0",
    "1",
    "1.5",
    " 0x1f ",
    "-Infinity",
    "true",
    "it''s ''so''",
    "{0}",
    "{0} {{}} {1}",
    "}{",
    "[1, \"a\", null]",
    "{\"a\": {\"b\": [1, 2]}, \"A\": 3}",
    "straße",
    "ıI",
    "a\nb",
];
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "1",
    "2",
    "+1",
    "-1.5",
    ".5",
    "0x1F",
    "0o17",
    "1e3",
    "1e15",
    "123456789012345678",
    "1.23e-7",
    "0.1234567890123456",
    "NaN",
    "Infinity",
    "-Infinity",
    "1E-4",
];
const OPERATORS: [&str; 8] = ["==", "!=", "<", "<=", ">", ">=", "&&", "||"];
/// Pieces for texts that are mostly no expressions.
const NOISE: [&str; 32] = [
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    "*",
    "!",
    "=",
    "==",
    "&",
    "|",
    "<",
    "'",
    "\"",
    "-",
    "+",
    "#",
    "@",
    "é",
    "😊",
    " ",
    "\n",
    "true",
    "null",
    "1",
    "a",
    "foo",
    "foo(",
    "case(",
    "format(",
    "startsWith('a')",
];

fn value(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Json::Null,
        1 => json!(random.percent(50)),
        2 => json!([0.0, 1.0, -2.5, 1e15, 0.1, 255.0, 1.5e-9][random.below(7)]),
        3 | 4 => json!(random.pick(&TEXTS).replace("''", "'")),
        5 => (0..random.below(4))
            .map(|_| value(random, depth - 1))
            .collect(),
        _ => {
            let entries = (0..random.below(5)).map(|_| {
                let name = random.pick(&NAMES).to_owned();
                (name, value(random, depth - 1))
            });
            Json::Object(entries.collect())
        }
    }
}

fn contexts(random: &mut Random) -> Json {
    let entries = CONTEXTS.map(|name| (name.to_owned(), value(random, 3)));
    Json::Object(entries.into_iter().collect())
}

fn expression(random: &mut Random, depth: usize) -> String {
    let operand = |random: &mut Random| expression(random, depth.saturating_sub(1));
    match random.below(if depth == 0 { 6 } else { 16 }) {
        0 => format!("'{}'", random.pick(&TEXTS)),
        1 => random.pick(&NUMBERS).into(),
        2 => random.pick(&["true", "false", "null"]).into(),
        3..=5 => random.pick(&CONTEXTS).into(),
        6..=8 => format!("{}.{}", path(random, depth), random.pick(&NAMES)),
        9 => format!("{}[{}]", path(random, depth), operand(random)),
        10 => {
            let (left, right) = (operand(random), operand(random));
            format!("{left} {} {right}", random.pick(&OPERATORS))
        }
        11 => format!("!{}", operand(random)),
        12 => format!("({})", operand(random)),
        _ => call(random, depth),
    }
}

/// An expression that an index may follow.
fn path(random: &mut Random, depth: usize) -> String {
    let index = match random.below(4) {
        0 => ".*",
        1 => "[*]",
        _ => "",
    };
    match random.below(5) {
        0 if depth > 0 => format!("({}){index}", expression(random, depth - 1)),
        1 if depth > 0 => format!("{}{index}", call(random, depth - 1)),
        2 => format!("{}.{}{index}", random.pick(&CONTEXTS), random.pick(&NAMES)),
        _ => format!("{}{index}", random.pick(&CONTEXTS)),
    }
}

fn call(random: &mut Random, depth: usize) -> String {
    let (name, counts) = [
        ("contains", [2, 2]),
        ("startsWith", [2, 2]),
        ("endswith", [2, 2]),
        ("format", [2, 3]),
        ("join", [1, 2]),
        ("toJSON", [1, 1]),
        ("fromJSON", [1, 1]),
        ("case", [3, 5]),
        ("success", [0, 0]),
        ("HASHFILES", [1, 2]),
    ][random.below(10)];
    let mut count = counts[random.below(2)];
    if random.percent(3) {
        count = random.below(5);
    }
    let mut arguments = Vec::new();
    for place in 0..count {
        // a condition must be true or false
        if name == "case" && place % 2 == 0 && place + 1 < count && random.percent(70) {
            arguments.push(format!("!{}", expression(random, 0)));
        } else {
            arguments.push(expression(random, depth.saturating_sub(1)));
        }
    }
    format!(
        "{name}({})",
        arguments.join(random.pick(&[",", ", ", " , "]))
    )
}

/// The text with some pieces removed, doubled or put in.
fn damaged(random: &mut Random, text: &str) -> String {
    let mut pieces: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..=random.below(3) {
        let place = random.below(pieces.len() + 1);
        match random.below(3) {
            0 if place < pieces.len() => drop(pieces.remove(place)),
            1 if place < pieces.len() => pieces.insert(place, pieces[place].clone()),
            _ => pieces.insert(place, random.pick(&NOISE).into()),
        }
    }
    pieces.concat()
}

/// A text that has the depth limit near.
fn deep(random: &mut Random) -> String {
    let count = 20 + random.below(35);
    match random.below(5) {
        0 => format!("{}github", "!".repeat(count)),
        1 => format!("{}1{}", "(".repeat(count), ")".repeat(count)),
        2 => format!("github{}", ".a".repeat(count)),
        3 => format!("env{}", "[*]".repeat(count)),
        _ => format!("{}1{}", "join(1 && ".repeat(count), ")".repeat(count)),
    }
}

fn answer(text: &str, contexts: &Json) -> Result<Value, ExpressionError> {
    let allowed = Allowed {
        contexts: CONTEXTS.to_vec(),
        functions: vec![("success", 0, 0), ("hashFiles", 1, 255)],
    };
    check(text, &allowed)?;
    evaluate(text, &Given::new(contexts))
}

/// The value as the script writes it.
fn written(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::String(text) => json!(**text),
        Value::Number(value) => json!({"n": value.to_bits()}),
        Value::Array(items) => items.iter().map(written).collect(),
        Value::Object(object) => {
            let entries: Vec<Json> = object
                .iter()
                .map(|(name, value)| json!([name, written(value)]))
                .collect();
            json!({"o": entries})
        }
    }
}

/// The script's answer, with the bits of numbers instead of their texts.
fn with_bits(value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(with_bits),
        Json::Object(object) => match object.get("n").and_then(Json::as_str) {
            Some(text) => {
                let number: f64 = text.parse().expect("a number");
                *value = json!({"n": number.to_bits()});
            }
            None => object.values_mut().for_each(with_bits),
        },
        _ => {}
    }
}

#[test]
fn generated_expressions_have_the_values_and_errors_of_githubs_package() {
    let test = "generated_expressions_have_the_values_and_errors_of_githubs_package";
    let Some(mut node) = Node::start(test, "expressions.mjs", "@actions/expressions") else {
        return;
    };
    let mut random = Random::new(42);
    let mut questions = Vec::new();
    for place in 0..COUNT {
        let text = match place % 10 {
            0 => deep(&mut random),
            1..=3 => {
                let text = expression(&mut random, 3);
                damaged(&mut random, &text)
            }
            _ => expression(&mut random, 4),
        };
        questions.push(json!({"text": text, "contexts": contexts(&mut random)}));
    }
    let mut wrong = Vec::new();
    let mut errors = 0;
    for (question, mut expected) in questions.iter().zip(node.ask(&questions)) {
        with_bits(&mut expected);
        let text = question["text"].as_str().expect("a text");
        let answer = match answer(text, &question["contexts"]) {
            Ok(value) => json!({"ok": written(&value)}),
            Err(error) => json!({"error": error.message}),
        };
        errors += usize::from(expected["error"].is_string());
        if answer != expected {
            wrong.push(format!("{question}\n  is   {answer}\n  not  {expected}"));
        }
    }
    assert!(
        (COUNT / 4..COUNT / 2).contains(&errors),
        "{errors} of {COUNT} are errors"
    );
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}
