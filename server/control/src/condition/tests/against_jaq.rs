//! Our values against those of jaq's makers, on filters of all kinds.

use serde_json::{Value, json};

use super::*;

type Theirs = jaq_json::Val;
type TheirData = jaq_core::data::JustLut<Theirs>;

/// All outputs as JSON, with the word `error` for an error.
type Outputs = Vec<String>;

/// Evaluates with the values of jaq.
fn theirs(jq: &str, inputs: &[Value]) -> Vec<Outputs> {
    let arena = Arena::default();
    let modules = Loader::new(functions::definitions())
        .load(&arena, File { code: jq, path: () })
        .unwrap_or_else(|_| panic!("{jq}"));
    // these are our own: the others need further crates
    let missing = ["matches", "split_matches", "split_", "now"].map(|name| {
        let parameters = jaq_core::native::v(if name == "now" { 0 } else { 2 });
        (
            name,
            parameters,
            jaq_core::Native::new(|_| panic!("not compared")),
        )
    });
    let functions = jaq_core::funs::<TheirData>()
        .chain(jaq_std::base_funs())
        .chain(jaq_json::funs())
        .chain(missing);
    let filter = Compiler::default()
        .with_funs(functions)
        .compile(modules)
        .unwrap_or_else(|_| panic!("{jq}"));
    let outputs = |input: &Value| {
        let text = input.to_string();
        let input = jaq_json::read::parse_single(text.as_bytes()).expect("JSON");
        let context = Ctx::<TheirData>::new(&filter.lut, Vars::new([]));
        let outputs = filter.id.run((context, input));
        outputs
            .map(|output| output.map_or_else(|_| "error".to_owned(), |value| value.to_string()))
            .collect()
    };
    inputs.iter().map(outputs).collect()
}

fn ours(filter: Filter<Metered>, inputs: &[Value]) -> Result<Vec<Outputs>, String> {
    let inputs = inputs.to_vec();
    limits::limited(Duration::from_secs(20), move || {
        let outputs = |input: &Value| {
            let context = Ctx::<Metered>::new(Terms(&filter.lut), Vars::new([]));
            let outputs = filter.id.run((context, Val::from(input)));
            outputs
                .map(|output| output.map_or_else(|_| "error".to_owned(), |value| value.to_string()))
                .collect()
        };
        Ok(inputs.iter().map(outputs).collect())
    })
}

const FILTERS: &[&str] = &[
    ".",
    "..",
    ".[]?",
    ".a?",
    ".a.b?",
    ".a[0]?",
    ".[0]?",
    ".[-1]?",
    ".[1:]?",
    ".[:-1]?",
    ".[1:3]?",
    ".[2:1]?",
    ".[99]?",
    ".[-99]?",
    ".[-99:]?",
    ".[\"a\"]?",
    ".[{}]?",
    ".[[1]]?",
    ".[[]]?",
    "length?",
    "utf8bytelength?",
    "keys?",
    "keys_unsorted?",
    "has(\"a\")?",
    "has(0)?",
    "to_entries?",
    "with_entries(.value |= [.])?",
    "type",
    "not",
    "tojson",
    "tostring",
    "tojson | fromjson",
    "tonumber?",
    "map(.)?",
    "map_values(.)?",
    "map_values(empty)?",
    "del(.a)?",
    "del(.[0])?",
    "del(.[0:2])?",
    "[paths]",
    "[paths(type == \"number\")]",
    "[.[]?] | sort",
    "[..] | sort",
    "[..] | unique",
    "[..] | group_by(type)",
    "[..] | min",
    "[..] | max",
    "[..] | min_by(type)",
    "add?",
    "[..] | map(tojson) | join(\"-\")",
    "flatten?",
    "flatten(1)?",
    "reverse?",
    "contains(\"a\")?",
    "contains({a: 1})?",
    "contains([1])?",
    "inside({a: 1, b: 2})?",
    "indices(1)?",
    "indices(\"a\")?",
    "indices([1])?",
    "index(\"a\")?",
    "rindex(\"a\")?",
    "startswith(\"a\")?",
    "endswith(\"a\")?",
    "ltrimstr(\"a\")?",
    "rtrimstr(\"a\")?",
    "trim?",
    "ltrim?",
    "explode?",
    "explode? | implode",
    "ascii_downcase?",
    "ascii_upcase?",
    "split(\"a\")?",
    "split(\"\")?",
    ". / \",\"?",
    "(. + .)?",
    "(. - .)?",
    "(. * .)?",
    "(. % .)?",
    "(-.)?",
    "(. + null)?",
    "(. * 2)?",
    "(. * 0)?",
    "(. * -1)?",
    "(. + 1.5)?",
    "(. % 3)?",
    "(. - 1)?",
    ". == .",
    ". < 1",
    ". < \"a\"",
    ". < []",
    ". < {}",
    ". <= null",
    "[., 1] | sort",
    "[., null] | max",
    "abs?",
    "nan < 1",
    "isnan?",
    "nan == nan",
    "[nan] == [nan]",
    "1.0",
    "1 / 3",
    "5 % -3",
    "-5 % 3",
    "5.5 % 2",
    "0.1 + 0.2",
    "[limit(3; range(10))]",
    "[range(0; 10; 3)]",
    "[range(5; 0; -2)]",
    "first(range(3))",
    "[range(2.5)]",
    "[.[]? | select(. != null)]",
    "any?",
    "all?",
    "isempty(.[]?)",
    "getpath([\"a\", \"b\"])?",
    "setpath([\"a\"]; 1)?",
    "setpath([0]; 1)?",
    "(.a = 1)?",
    "(.a |= . + 1)?",
    "(.a += 1)?",
    "(.[0] = 9)?",
    "(.[1:] = [7])?",
    "(.[:1] |= map([.]))?",
    "(.a[1:2] = [])?",
    "(.. |= .)",
    "(.[]? |= tojson)",
    "(.[]? //= 1)",
    ".a? // \"none\"",
    "try error(\"x\") catch .",
    "(.[] | error)? // 2",
    "walk(.)",
    "transpose?",
    "@text",
    "@json",
    "@sh?",
    "\"\\(.) and \\(1 + 1)\"",
    "to_entries? | from_entries",
    "{a: 1} * {a: {b: 2}}",
    "{a: {b: 1}} * {a: {c: 2}}",
    "{a: 1} + {b: 2, a: 3}",
    "{(\"x\", \"y\"): 1}",
    "{a: (1, 2)}",
    "[1, 2, 3] - [2]",
    "[[1, 2], [3]] | combinations",
    "reduce .[]? as $x (0; . + 1)",
    "[foreach .[]? as $x (0; . + 1; [$x, .])]",
    ". as [$a, {b: $c}] | [$a, $c]",
    ". as {a: $x} | $x",
    "label $out | (1, break $out, 2)",
    "limit(0; 1)",
    "[skip(1; 1, 2, 3)]",
    "nth(1; 1, 2)",
    "if . then 1 else 2 end",
    "(true, false) | not",
    "pick(.a)?",
    "[.[]?] | bsearch(1)",
    "toboolean?",
    "tojson | length",
    "[.. | numbers]",
    "[.. | strings]",
    "[.. | scalars]",
    "[.. | iterables] | length",
    "[] | .[2] = 1",
    "null | .[1] = 1",
    "\"aéb\" | .[1:2]",
    "\"aéb\" | indices(\"b\")",
];

fn inputs() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-7),
        json!(2.5),
        json!(1e300),
        json!(""),
        json!("a,b,a"),
        json!(" é\u{1F600}\n\"x\" "),
        json!("12"),
        json!([]),
        json!([1, 2, 1]),
        json!([null, false, "a", [1, [2]], {"a": 1}]),
        json!([[1, 2], [3]]),
        json!({}),
        json!({"b": 1, "a": {"b": [1, {"c": null}]}, "": "x"}),
        json!({"a": [1, 2, 3]}),
    ]
}

/// Filters for which jaq and jq differ: ours give the results of jq 1.7.
const AS_JQ: &[(&str, &str)] = &[
    ("infinite", "1.7976931348623157e+308"),
    ("-1e1000", "-1.7976931348623157e+308"),
    ("[nan, 1, nan] | sort", "[null,null,1]"),
    ("[4 / 2, -7 / -7, 0 / 2, 1 / 4]", "[2,1,0,0.25]"),
    ("[1, 2, 3] | .[1.7]", "2"),
    ("[1, 2, 3] | .[1.2:2.5]", "[2,3]"),
    ("[1.7, -1.7, 2.5, 3] | map(floor)", "[1,-2,2,3]"),
    ("null | .a = 1", "{\"a\":1}"),
    ("null | del(.a)", "null"),
    ("null[1:]", "null"),
    ("null | indices(1)", "null"),
    ("{} | .a.b.c = 1", "{\"a\":{\"b\":{\"c\":1}}}"),
    ("{} | .[0]", "error"),
    ("{(1): 2}", "error"),
    ("5 % 0", "error"),
];

/// Regular expressions, whose functions are our own.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("\"foo bar\" | test(\"o b\")", "true"),
    (
        "\"FOO\" | [test(\"o\"), test(\"o\"; \"i\"), test(\"f o\"; \"ix\")]",
        "[false,true,true]",
    ),
    ("\"a.b, c\" | [splits(\"[., ]+\")]", "[\"a\",\"b\",\"c\"]"),
    (
        "\"a1b22\" | gsub(\"(?<n>[0-9]+)\"; \"<\\(.n)>\")",
        "\"a<1>b<22>\"",
    ),
    (
        "\"aéb\" | match(\"b\") | [.offset, .length, .string]",
        "[2,1,\"b\"]",
    ),
    (
        "\"xay\" | capture(\"(?<l>.)a(?<r>.)\")",
        "{\"l\":\"x\",\"r\":\"y\"}",
    ),
    ("\"a1b2\" | [scan(\"[a-z]\")]", "[\"a\",\"b\"]"),
    (
        "\"a1b2\" | [scan(\"([a-z])([0-9])\")]",
        "[[\"a\",\"1\"],[\"b\",\"2\"]]",
    ),
    ("\"ab\" | [match(\"\"; \"g\").offset]", "[0,1,2]"),
    ("\"ab\" | [match(\"\"; \"gn\").offset]", "[]"),
    (
        "\"a\\nb\" | [test(\"a.b\"), test(\"a.b\"; \"s\")]",
        "[false,true]",
    ),
    ("\"a\" | test(\"a\"; \"q\")", "error"),
    ("1 | test(\"a\")", "error"),
];

/// True where jaq goes beyond JSON: fields with other names than texts; or does not take null for an empty value.
fn is_beyond_jq(jq: &str, input: &Value, theirs: &Outputs) -> bool {
    let is_no_json = theirs
        .iter()
        .any(|text| text.contains("{0:") || text.contains(",0:") || text.contains("Infinity"));
    let of_null = [
        ".[1:]?",
        ".[:-1]?",
        ".[1:3]?",
        ".[2:1]?",
        ".[-99:]?",
        ".[[1]]?",
        ".[[]]?",
        "del(.a)?",
        "(.a += 1)?",
        "(.a = 1)?",
        "(.a |= . + 1)?",
        "index(\"a\")?",
        "rindex(\"a\")?",
        "indices(\"a\")?",
        "indices(1)?",
        "indices([1])?",
        "setpath([\"a\"]; 1)?",
    ];
    let of_object = [
        ".a[0]?",
        ".[0]?",
        ".[-1]?",
        ".[99]?",
        ".[-99]?",
        ".[{}]?",
        ".[[1]]?",
        ".[[]]?",
        "has(0)?",
        "del(.[0])?",
        ". as [$a, {b: $c}] | [$a, $c]",
    ];
    is_no_json
        || (input.is_null() && of_null.contains(&jq))
        || (input.is_object() && of_object.contains(&jq))
}

/// Outputs without differences in the form of numbers.
fn normal(outputs: &Outputs) -> Vec<Result<Value, &String>> {
    let parsed = outputs
        .iter()
        .map(|text| serde_json::from_str(text).map_err(|_| text));
    parsed.collect()
}

#[test]
fn results_of_jq() {
    for (jq, wanted) in AS_JQ.iter().chain(EXPRESSIONS) {
        let filter = compile(jq).unwrap_or_else(|mistake| panic!("{mistake}"));
        let outputs =
            ours(filter, &[Value::Null]).unwrap_or_else(|reason| panic!("{jq}: {reason}"));
        assert_eq!(outputs[0].last().map(String::as_str), Some(*wanted), "{jq}");
    }
}

#[test]
fn our_values_give_the_results_of_jaq() {
    let inputs = inputs();
    let mut different = Vec::new();
    for jq in FILTERS {
        let filter = compile(jq).unwrap_or_else(|mistake| panic!("{mistake}"));
        let ours = ours(filter, &inputs).unwrap_or_else(|reason| panic!("{jq}: {reason}"));
        let theirs = theirs(jq, &inputs);
        for (input, (ours, theirs)) in inputs.iter().zip(ours.iter().zip(&theirs)) {
            if normal(ours) != normal(theirs) && !is_beyond_jq(jq, input, theirs) {
                different.push(format!(
                    "{input} | {jq}\n  ours   {ours:?}\n  theirs {theirs:?}"
                ));
            }
        }
    }
    assert!(
        different.is_empty(),
        "{}\n{}",
        different.len(),
        different.join("\n")
    );
}
