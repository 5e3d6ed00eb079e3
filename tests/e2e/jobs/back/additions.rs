//! Commands that reach out and absent actions which an edit of the workflow adds while its job stands.

use std::fs;

use super::super::{job, newest, workflow};
use super::conversation::{Conversation, place_of};
use super::{FILE, edit};
use crate::support::finish;
use crate::terminal::Terminal;

const STEPS: &str = "
- name: One
  run: echo one >> log
- name: Two
  run: test -f mended
- name: Three
  run: echo three >> log";

/// A script has the new commands and actions in its notes, once. Those with which the run began are not named.
#[test]
fn a_script_names_them_in_its_notes() {
    let steps = STEPS.replace("echo one", "git push nowhere || echo one");
    let world = workflow(&job(&steps));
    let mut talk = Conversation::begin(&world);
    assert_eq!(talk.stop("c"), "failed Two");
    edit(
        &world,
        "test -f mended",
        "git push elsewhere || echo two >> log",
    );
    edit(&world, "echo three", "git push nowhere || echo three");
    let lint = "echo three >> log\n      - uses: acme/lint@v1\n        continue-on-error: true";
    edit(&world, "echo three >> log", lint);
    let answer = talk.ask(":again");
    assert_eq!(place_of(&answer), "before Three");
    let said = answer["said"].as_str().expect("a text");
    assert_eq!(
        said,
        "The workflow has changed: the action acme/lint@v1 (line 12) is absent.\n\
         The workflow has changed, and has 1 command more that can reach out of the run:\n  \
         line 9: git push elsewhere\n\
         The workflow was read anew. Steps ahead: 2 changed, 1 added.\n\
         Restored checkpoint [1] before 'Two': 6 files, 0 variables."
    );
    assert_eq!(talk.ask("n")["said"], serde_json::Value::Null);
    assert_eq!(talk.read("log"), "one\ntwo\nthree\n");
    // another edit adds one more
    edit(&world, "acme/lint@v1", "acme/other@v2");
    let said = talk.said("n");
    assert!(said.contains("acme/other@v2 (line 12) is absent"), "{said}");
    assert!(!said.contains("git push"), "{said}");
    talk.end();
}

/// A run that nobody decides for runs its rest, and names what an edit added meanwhile.
#[test]
fn the_rest_of_a_held_run_names_them() {
    let world = workflow(&job(&STEPS.replace(
        "test -f",
        "sed -i 's/echo three/git push x || echo 3/' $SOURCE; test -f",
    )));
    let file = world.path(FILE);
    let mut command = world.backstitch();
    command.args(["--json", "job", "run", "ci.yml", "--hold", "--yes"]);
    let env = world.path("variables");
    fs::write(&env, format!("SOURCE={}\n", file.display())).expect("written");
    command.arg("--env-file").arg(env);
    let output = finish(&mut command, b":outcome success\n");
    assert!(output.stdout.contains("line 11: git push x"), "{output:?}");
    let log = newest(&world).join("files/work/work/work/log");
    assert_eq!(fs::read_to_string(log).expect("a log"), "one\n3\n");
}

/// A terminal asks once before steps with new commands run. A person who declines stands where they stood.
#[test]
fn a_terminal_asks_once() {
    let world = workflow(&job(STEPS));
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "-j", "build"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::sized(command, 40, 160);
    terminal.expect_next("■ before step 1 of 3: One");
    terminal.expect_next("job> ");
    terminal.type_in("c\r");
    terminal.expect_next("■ failed: step 2 of 3: Two");
    terminal.expect_next("job> ");
    edit(
        &world,
        "test -f mended",
        "git push elsewhere || echo two >> log",
    );
    terminal.type_in(":again\r");
    terminal.expect_next(
        "The workflow has changed, and has 1 command more that can reach out of the run:",
    );
    terminal.expect_next("line 9: git push elsewhere");
    terminal.expect_next("Run it? [y/N]");
    terminal.type_in("n\r");
    terminal.expect_next("Nothing has run. Change the workflow, or give the word again.");
    terminal.expect_next("job> ");
    terminal.type_in("w\r");
    terminal.expect_next("■ failed: step 2 of 3: Two");
    terminal.expect_next("job> ");
    terminal.type_in(":again\r");
    terminal.expect_next("Run it? [y/N]");
    terminal.type_in("y\r");
    terminal.expect_next("■ before step 3 of 3: Three");
    terminal.expect_next("job> ");
    // agreed once: the step back and the next run ask nothing
    terminal.type_in("b\r");
    terminal.expect_next("■ before step 2 of 3: Two");
    terminal.expect_next("job> ");
    terminal.type_in("c\r");
    terminal.expect_next("■ at the end of the job");
    terminal.type_in("q\r");
    terminal.expect_next("Logs and files");
    let log = newest(&world).join("files/work/work/work/log");
    assert_eq!(fs::read_to_string(log).expect("a log"), "one\ntwo\nthree\n");
    // the text is known now: a run of it asks nothing
    let output = world.run(["job", "run", "ci.yml"]);
    assert!(!output.stderr.contains("reach out"), "{output:?}");
}
