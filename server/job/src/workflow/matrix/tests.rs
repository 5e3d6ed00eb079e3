use serde_json::Value as Json;

use super::*;

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(value) => Value::Number(value.as_f64().unwrap_or_default()),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::Array(items.iter().map(value).collect::<Vec<_>>().into()),
        Json::Object(entries) => {
            let mut dict = Dict::default();
            entries
                .iter()
                .for_each(|(name, json)| dict.set(name, value(json)));
            dict.into()
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Object(dict) => format!("{{{}}}", line(dict)),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(text).collect();
            format!("[{}]", items.join(" "))
        }
        scalar => scalar.to_text(),
    }
}

fn line(dict: &Dict) -> String {
    let entries = dict
        .iter()
        .map(|(name, value)| format!("{name}={}", text(value)));
    entries.collect::<Vec<_>>().join(" ")
}

/// Combinations of a matrix in JSON, a line each, or the error.
fn expanded(json: &str) -> String {
    let json: Json = serde_json::from_str(json).expect("JSON");
    match expand(&value(&json)) {
        Ok(dicts) => dicts.iter().map(line).collect::<Vec<_>>().join("; "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_last_axis_changes_fastest() {
    assert_eq!(
        expanded(r#"{"os": ["l", "w"], "node": [18, 20]}"#),
        "os=l node=18; os=l node=20; os=w node=18; os=w node=20"
    );
}

#[test]
fn exclude_takes_combinations_out_before_include_adds() {
    assert_eq!(
        expanded(
            r#"{"os": ["l", "w"], "node": [18, 20], "exclude": [{"OS": "W", "node": "18"}],
                "include": [{"os": "w", "node": 18, "x": 1}, {"os": "l", "y": 2}]}"#
        ),
        "os=l node=18 y=2; os=l node=20 y=2; os=w node=20; os=w node=18 x=1"
    );
}

/// The example of GitHub's documentation of `include`.
#[test]
fn include_adds_to_combinations_or_makes_new_ones() {
    assert_eq!(
        expanded(
            r#"{"fruit": ["apple", "pear"], "animal": ["cat", "dog"], "include": [
                {"color": "green"}, {"color": "pink", "animal": "cat"}, {"fruit": "apple", "shape": "circle"},
                {"fruit": "banana"}, {"fruit": "banana", "animal": "cat"}]}"#
        ),
        "fruit=apple animal=cat color=pink shape=circle; fruit=apple animal=dog color=green shape=circle; \
         fruit=pear animal=cat color=pink; fruit=pear animal=dog color=green; fruit=banana; \
         fruit=banana animal=cat"
    );
}

#[test]
fn filters_compare_scalars_at_their_places() {
    assert_eq!(
        expanded(
            r#"{"v": [{"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]}, 5],
                "exclude": [{"v": {"b": [1, 2]}}], "include": [{"v": {"a": "1"}, "x": true}]}"#
        ),
        "v={a=1 b=[1 3]} x=true; v=5"
    );
}

#[test]
fn include_alone_is_a_matrix() {
    assert_eq!(expanded(r#"{"include": [{"a": 1}, {"b": 2}]}"#), "a=1; b=2");
}

#[test]
fn matrices_without_combinations_are_errors() {
    for (matrix, error) in [
        ("{}", "Matrix must define at least one vector"),
        (
            r#"{"include": []}"#,
            "Matrix must define at least one vector",
        ),
        (
            r#"{"a": []}"#,
            "Matrix vector 'a' does not contain any values",
        ),
        (
            r#"{"a": [1], "include": [{}]}"#,
            "Matrix include mapping does not contain any values",
        ),
        (
            r#"{"a": [1], "exclude": [{}]}"#,
            "Matrix exclude filter must not be empty",
        ),
        (
            r#"{"a": [1], "exclude": [{"b": 1}]}"#,
            "Matrix exclude key 'b' does not match any key within the matrix",
        ),
        (
            r#"{"a": "x"}"#,
            "Unexpected type 'StringToken' encountered while reading 'matrix vector value'. The type \
             'SequenceToken' was expected.",
        ),
        (
            "[]",
            "Unexpected type 'SequenceToken' encountered while reading 'matrix'. The type 'MappingToken' was expected.",
        ),
    ] {
        assert_eq!(expanded(matrix), error, "{matrix}");
    }
}

#[test]
fn matrices_are_bounded() {
    let axis: Vec<String> = (0..20).map(|value| value.to_string()).collect();
    let axis = format!("[{}]", axis.join(","));
    let two = format!(r#"{{"a": {axis}, "b": {axis}}}"#);
    assert_eq!(
        expanded(&two),
        "The matrix makes 400 jobs. At most 256 can run."
    );
    let axes: Vec<String> = (0..30).map(|name| format!(r#""{name}": {axis}"#)).collect();
    let many = format!("{{{}}}", axes.join(","));
    assert_eq!(
        expanded(&many),
        "The matrix has more than 100000 combinations."
    );
}

#[test]
fn names_have_the_values_of_axes_and_of_combinations_of_their_own() {
    let matrix = r#"{"os": ["ubuntu"], "node": [20, null, ""], "v": [{"a": [1.5, true]}],
        "include": [{"os": "ubuntu", "x": "added"}, {"os": "mac", "x": "own"}]}"#;
    let json: Json = serde_json::from_str(matrix).expect("JSON");
    let found = combinations(&value(&json)).expect("combinations");
    let names: Vec<String> = found
        .iter()
        .map(|found| display_name("build", found))
        .collect();
    assert_eq!(
        names,
        [
            "build (ubuntu, 20, 1.5, true)",
            "build (ubuntu, 1.5, true)",
            "build (ubuntu, 1.5, true)",
            "build (mac, own)"
        ]
    );
    let long = display_name(&"x".repeat(200), &found[0]);
    assert_eq!(long, format!("{}...", "x".repeat(97)));
}
