//! Problem matchers: messages with their places in the output of steps.

use serde_json::{Value, json};

use super::{Ran, job, run, workflow_with};
use crate::support::World;

/// An action that adds the matchers of two tools for the steps after it, as the real set-up actions do.
const ACTION: &str = "name: m\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      run: |\n        echo \"::add-matcher::${{ github.action_path }}/stylish.json\"\n        echo '::add-matcher::matchers/gcc.json'\n";

fn stylish() -> String {
    json!({ "problemMatcher": [{
        "owner": "eslint-stylish",
        "pattern": [
            { "regexp": "^\\s*([^\\s].*)$", "file": 1 },
            {
                "regexp": "^\\s+(\\d+):(\\d+)\\s+(error|warning|info)\\s+(.*)\\s\\s+(.*)$",
                "line": 1, "column": 2, "severity": 3, "message": 4, "code": 5, "loop": true
            }
        ]
    }]})
    .to_string()
}

fn gcc() -> String {
    json!({ "problemMatcher": [{
        "owner": "gcc",
        "pattern": [{
            "regexp": "^(.*?):(\\d+):(\\d*):?\\s+(?:fatal\\s+)?(warning|error):\\s+(.*?)(?:\\s+\\[(-W[^\\]]+)\\])?$",
            "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5, "code": 6
        }]
    }]})
    .to_string()
}

/// A job with these steps, whose repository has two files and the action.
fn world(steps: &str) -> World {
    let steps = format!("- uses: actions/checkout@v4\n- uses: ./matchers\n{steps}");
    workflow_with(
        &job(&steps),
        &[
            ("src/a.js", "x\n"),
            ("main.c", "x\n"),
            ("matchers/action.yml", ACTION),
            ("matchers/stylish.json", &stylish()),
            ("matchers/gcc.json", &gcc()),
        ],
    )
}

/// Messages of a step: level, place, code, text.
fn messages(ran: &Ran, step: &str) -> Vec<Value> {
    let all = ran.step(step)["annotations"].as_array().expect("a list");
    let fields = ["level", "file", "line", "column", "code", "message"];
    all.iter()
        .map(|one| fields.iter().map(|field| one[*field].clone()).collect())
        .collect()
}

/// Lines of tools become messages in all later steps, also in standard error and with colors, beside those of `::error::`.
#[test]
fn lines_of_tools_have_places() {
    let world = world(
        r#"
- name: lint
  run: |
    printf '\n%s/src/a.js\n' "$PWD"
    printf '  \033[2m1:2\033[0m  \033[31merror\033[0m  unused x  no-unused\n'
    printf '  3:4  warning  long line  max-len\n\n2 problems\n'
    echo '::error file=src/a.js,line=9::by hand'
- name: compile
  run: |
    echo 'In file included from main.c:' >&2
    echo "main.c:5:6: warning: unused 'y' [-Wunused]" >&2
    echo '/usr/include/stdio.h:7:1: error: broken' >&2
"#,
    );
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{:#}\n{}", ran.report, ran.log());
    assert_eq!(
        messages(&ran, "lint"),
        [
            json!(["error", "src/a.js", 1, 2, "no-unused", "unused x"]),
            json!(["warning", "src/a.js", 3, 4, "max-len", "long line"]),
            json!(["error", "src/a.js", 9, null, null, "by hand"]),
        ]
    );
    assert_eq!(
        messages(&ran, "compile"),
        [
            json!(["warning", "main.c", 5, 6, "-Wunused", "unused 'y'"]),
            json!(["error", null, 7, 1, null, "broken"]),
        ]
    );
    // the log has the whole line, as GitHub's
    let log = ran.log();
    assert!(
        log.contains("##[error]  1:2  error  unused x  no-unused\n"),
        "{log}"
    );
    let shown = world.ok(["job", "run", "ci.yml"]).stdout;
    for line in [
        "error src/a.js:1: no-unused: unused x\n",
        "warning main.c:5: -Wunused: unused 'y'\n",
        "error src/a.js:9: by hand\n",
        "    In file included from main.c:\n",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
}

/// A removed matcher finds nothing, in this step and in later ones.
#[test]
fn matchers_are_removed_by_owner_and_by_file() {
    let world = world(
        r"
- name: removed
  run: |
    echo '::remove-matcher owner=GCC::'
    echo 'main.c:5:6: warning: x'
- name: none
  run: |
    echo '::remove-matcher::matchers/stylish.json'
    printf 'src/a.js\n  1:2  error  x  y\nmain.c:5:6: warning: x\n'
",
    );
    let ran = run(&world, &[]);
    assert_eq!(ran.result(), "success", "{}", ran.log());
    assert_eq!(messages(&ran, "removed"), [""; 0]);
    assert_eq!(messages(&ran, "none"), [""; 0]);
}

/// A file that is not there or not valid fails its step with the reason, and a pattern that takes too long does not.
#[test]
fn bad_files_fail_the_step_and_slow_patterns_do_not() {
    let world = world(
        r#"
- name: absent
  continue-on-error: true
  run: "echo '::add-matcher::nowhere.json'"
- name: invalid
  continue-on-error: true
  run: |
    echo '{"problemMatcher": [{"owner": "o", "pattern": [{"regexp": "(", "message": 1}]}]}' > bad.json
    echo '::add-matcher::bad.json'
- name: slow
  run: |
    echo '{"problemMatcher": [{"owner": "slow", "pattern": [{"regexp": "^(?=(a+)+$)(.)", "message": 2}]}, {"owner": "slower", "pattern": [{"regexp": "^(a|aa)+\\1\\1b$", "message": 1}]}]}' > slow.json
    echo '::add-matcher::slow.json'
    for i in $(seq 100); do head -c 5000 /dev/zero | tr '\0' a; echo '!'; done
    echo 'main.c:5:6: error: after'
"#,
    );
    let ran = run(&world, &[]);
    let reason = |step: &str| {
        ran.step(step)["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(ran.step("absent")["outcome"], "failure");
    assert!(
        reason("absent").contains("nowhere.json cannot be read"),
        "{}",
        reason("absent")
    );
    assert_eq!(ran.step("invalid")["outcome"], "failure");
    assert!(
        reason("invalid").contains("Invalid pattern '('"),
        "{}",
        reason("invalid")
    );
    assert_eq!(ran.step("slow")["outcome"], "success", "{}", ran.log());
    let found = messages(&ran, "slow");
    assert_eq!(
        found.last(),
        Some(&json!(["error", "main.c", 5, 6, null, "after"]))
    );
    let removed = json!("Removing issue matcher 'slower': a line took too long.");
    let removed = removed.as_str().expect("a text");
    assert!(ran.report.to_string().contains(removed), "{found:#?}");
}
