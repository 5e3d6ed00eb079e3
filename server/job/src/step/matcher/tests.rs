use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A workspace with a file `src/a.ts`, and a step with these matchers.
fn step(matchers: &Value) -> (TempDir, StepMatchers) {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(dir.path().join("src")).expect("a directory");
    fs::write(dir.path().join("src/a.ts"), "").expect("a file");
    fs::write(
        dir.path().join("matchers.json"),
        json!({ "problemMatcher": matchers }).to_string(),
    )
    .expect("a file");
    let mut step = JobMatchers::default().for_step(dir.path());
    step.add("matchers.json").expect("matchers");
    (dir, step)
}

/// The message of a line: level, place, code and text.
fn message(step: &mut StepMatchers, line: &str) -> Option<String> {
    let found = step.read(line).annotation?;
    let number = |number: Option<u32>| number.map_or_else(String::new, |n| n.to_string());
    Some(format!(
        "{} {}:{}:{} {} {}",
        found.level.as_str(),
        found.file.unwrap_or_default(),
        number(found.line),
        number(found.column),
        found.code.unwrap_or_default(),
        found.message
    ))
}

fn tsc() -> Value {
    json!({
        "owner": "tsc",
        "pattern": [{
            "regexp": "^(?:\\s+\\d+\\>)?([^\\s].*)\\((\\d+),(\\d+)\\)\\s*:\\s+(error|warning|info)\\s+(\\w{1,2}\\d+)\\s*:\\s*(.*)$",
            "file": 1, "line": 2, "column": 3, "severity": 4, "code": 5, "message": 6
        }]
    })
}

fn stylish() -> Value {
    json!({
        "owner": "eslint-stylish",
        "pattern": [
            { "regexp": "^([^\\s].*)$", "file": 1 },
            {
                "regexp": "^\\s+(\\d+):(\\d+)\\s+(error|warning|info)\\s+(.*)\\s\\s+(.*)$",
                "line": 1, "column": 2, "severity": 3, "message": 4, "code": 5, "loop": true
            }
        ]
    })
}

#[test]
fn a_line_has_all_parts() {
    let (dir, mut step) = step(&json!([tsc()]));
    let line = "src/a.ts(3,7): error TS2304: Cannot find name 'x'.";
    let found = "error src/a.ts:3:7 TS2304 Cannot find name 'x'.";
    assert_eq!(message(&mut step, line).as_deref(), Some(found));
    let absolute = format!("{}/src/../src/a.ts", dir.path().display());
    assert_eq!(
        message(&mut step, &line.replace("src/a.ts", &absolute)).as_deref(),
        Some(found)
    );
    // files that are not there, or not in the workspace, are left out
    for elsewhere in ["src/b.ts", "/etc/hosts", "../a.ts", "src"] {
        assert_eq!(
            message(&mut step, &line.replace("src/a.ts", elsewhere)).as_deref(),
            Some("error :3:7 TS2304 Cannot find name 'x'."),
            "{elsewhere}"
        );
    }
    // `info` is not a level
    assert_eq!(message(&mut step, &line.replace("error", "info")), None);
    assert_eq!(message(&mut step, "src/a.ts(3,7): fine"), None);
}

#[test]
fn a_loop_finds_lines_until_another_one() {
    let (_dir, mut step) = step(&json!([stylish()]));
    assert_eq!(message(&mut step, "src/a.ts"), None);
    assert_eq!(
        message(&mut step, "  1:2  error  'x' is not defined  no-undef").as_deref(),
        Some("error src/a.ts:1:2 no-undef 'x' is not defined")
    );
    assert_eq!(
        message(&mut step, "  5:6  warning  Unexpected console  no-console").as_deref(),
        Some("warning src/a.ts:5:6 no-console Unexpected console")
    );
    assert_eq!(message(&mut step, ""), None);
    assert_eq!(message(&mut step, "  7:8  error  late  no-undef"), None);
}

#[test]
fn patterns_apply_to_lines_after_each_other() {
    let (_dir, mut step) = step(&json!([{
        "owner": "three",
        "severity": "warning",
        "pattern": [
            { "regexp": "^in (.+)$", "file": 1 },
            { "regexp": "^at (\\d+)$", "line": 1 },
            { "regexp": "^says (.*)$", "message": 1 }
        ]
    }]));
    let mut read = |lines: &[&str]| {
        let found: Vec<Option<String>> =
            lines.iter().map(|line| message(&mut step, line)).collect();
        found.into_iter().flatten().collect::<Vec<_>>()
    };
    let found = "warning src/a.ts:4:  no";
    assert_eq!(read(&["in src/a.ts", "at 4", "says no"]), [found]);
    // the state is cleared after the last pattern
    assert!(read(&["says no"]).is_empty());
    assert!(read(&["in src/a.ts", "at 4", "other", "says no"]).is_empty());
    assert!(read(&["in src/a.ts", "says no", "at 4", "says no"]).is_empty());
    // an empty text is not a message
    assert!(read(&["in src/a.ts", "at 4", "says "]).is_empty());
}

#[test]
fn from_path_is_the_file_that_paths_are_relative_to() {
    let (_dir, mut step) = step(&json!([{
        "owner": "msbuild",
        "pattern": [{
            "regexp": "^(.+)\\((\\d+)\\): (.+) \\[(.+)\\]$",
            "file": 1, "line": 2, "message": 3, "fromPath": 4
        }]
    }]));
    assert_eq!(
        message(&mut step, "a.ts(9): wrong [src/project.proj]").as_deref(),
        Some("error src/a.ts:9:  wrong")
    );
}

/// The newest matcher is asked first; one with the same owner replaces the older one, also for later steps.
#[test]
fn owners_are_replaced_and_removed() {
    let (dir, mut step) = step(&json!([stylish(), tsc()]));
    let job = step.job.clone();
    let plain = |severity: &str| {
        json!({ "problemMatcher": [{
            "owner": "TSC", "severity": severity, "pattern": [{ "regexp": "^wrong: (.*)", "message": 1 }]
        }]})
    };
    fs::write(dir.path().join("plain.json"), plain("notice").to_string()).expect("a file");
    assert_eq!(step.add("plain.json"), Ok(vec!["TSC".to_owned()]));
    let mut next = job.for_step(dir.path());
    for step in [&mut step, &mut next] {
        assert_eq!(message(step, "wrong: x").as_deref(), Some("notice ::  x"));
        let line = "src/a.ts(3,7): error TS2304: Cannot find name 'x'.";
        assert_eq!(message(step, line), None);
    }
    step.remove("tsc");
    step.remove_of("matchers.json").expect("a file");
    assert!(step.is_empty());
    assert!(job.for_step(dir.path()).is_empty());
    for (file, reason) in [
        ("none.json", "cannot be read"),
        (".", "is not a file"),
        ("src/a.ts", "EOF"),
    ] {
        let error = step.add(file).expect_err("an error");
        assert!(error.contains(reason), "{error}");
    }
}

/// A pattern that takes too long for a line is removed, and the other ones still find messages.
#[test]
fn a_slow_pattern_is_removed() {
    let (_dir, mut step) = step(&json!([
        { "owner": "slow", "pattern": [{ "regexp": "^(?=(a+)+$)(x)", "message": 1 }] },
        { "owner": "back", "pattern": [{ "regexp": "^(a|aa)+\\1(a|aa)+\\2$b", "message": 1 }] },
        tsc()
    ]));
    let line = format!("{}!", "a".repeat(5_000));
    let mut warnings = step.read(&line).warnings;
    warnings.extend(step.read(&line).warnings);
    assert!(
        !warnings.is_empty()
            && warnings
                .iter()
                .all(|one| one.starts_with("Removing issue matcher '")),
        "{warnings:?}"
    );
    let line = "src/a.ts(3,7): error TS1: x";
    assert!(message(&mut step, line).is_some());
}

#[test]
fn colors_are_left_out() {
    assert_eq!(
        without_colors("a \u{1b}[1;31merror\u{1b}[0m: b"),
        "a error: b"
    );
    assert_eq!(without_colors("\u{1b}[Kx"), "Kx");
    assert_eq!(without_colors("plain"), "plain");
}
