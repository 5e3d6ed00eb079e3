//! The answers of GitHub's own test suite, from the package `github-actions-expressions`, which ships them.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use backstitch_job::expr::{Allowed, ExpressionError, Value, check, evaluate_within};
use serde_json::Value as Json;

use crate::given::Given;

/// The memory of an evaluation that the suite expects, in bytes.
const MAX_MEMORY: usize = 1024 * 1024;

/// The folder of the answers, in Cargo's copy of the package.
fn folder() -> PathBuf {
    let run = |program: &str, arguments: &[&str]| {
        let program = env::var_os(program.to_uppercase()).unwrap_or_else(|| program.into());
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = command.output().expect("a program of Rust");
        String::from_utf8(output.stdout).expect("text")
    };
    let version = run("rustc", &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    // packages of other systems may not be there
    let arguments = ["--offline", "--filter-platform", host.expect("a system")];
    let arguments = [&["metadata", "--format-version", "1"], &arguments[..]].concat();
    let metadata: Json = serde_json::from_str(&run("cargo", &arguments)).expect("metadata");
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let package = packages.find(|package| package["name"] == "github-actions-expressions");
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    PathBuf::from(manifest.expect("the package")).with_file_name("tests/testdata")
}

fn answer(expression: &str, contexts: &Json) -> Result<Value, ExpressionError> {
    let names = contexts.as_object().into_iter().flatten().map(|(name, _)| {
        let name: &'static str = name.clone().leak();
        name
    });
    let allowed = Allowed {
        contexts: names.collect(),
        functions: Vec::new(),
    };
    check(expression, &allowed)?;
    evaluate_within(expression, &Given::new(contexts), MAX_MEMORY)
}

/// True if an answer is the expected one. An expected error is the beginning of the message.
fn is_equal(case: &Json, answer: &Result<Value, ExpressionError>) -> bool {
    match answer {
        Err(error) => case["err"]["value"]
            .as_str()
            .is_some_and(|expected| error.message.starts_with(expected)),
        Ok(value) => {
            let expected = Value::from_json(&case["result"]["value"].to_string());
            !case["result"].is_null() && expected.as_ref() == Ok(value)
        }
    }
}

#[test]
fn expressions_have_the_answers_of_githubs_own_suite() {
    let mut count = 0;
    let mut wrong = Vec::new();
    let mut files: Vec<_> = fs::read_dir(folder()).expect("the answers").collect();
    files.sort_by_key(|file| file.as_ref().map(fs::DirEntry::path).ok());
    for file in files {
        let text = fs::read_to_string(file.expect("a file").path()).expect("a text");
        let groups: Json = serde_json::from_str(&text).expect("JSON");
        for (group, cases) in groups.as_object().expect("groups") {
            for case in cases.as_array().expect("cases") {
                count += 1;
                let expression = case["expr"].as_str().expect("an expression");
                let answer = answer(expression, &case["contexts"]);
                if !is_equal(case, &answer) {
                    let expected = format!("{}{}", case["result"], case["err"]);
                    wrong.push(format!("{group}: {expression}: {answer:?}, not {expected}"));
                }
            }
        }
    }
    assert!(count >= 1020, "only {count} answers");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
