//! `job debug` in a terminal: the line of the place, completion, and history.

use super::super::{job, workflow};
use crate::terminal::Terminal;

const STEPS: &str = "
- name: Early bird
  run: echo \"EARLY=worm\" >> $GITHUB_ENV
- name: Two
  run: test -f mended
- name: Three
  run: \"true\"";

/// The line says where the job stands. Words, steps and the names in contexts complete by Tab, and earlier lines come back.
#[test]
fn a_terminal_shows_the_place_and_completes() {
    let world = workflow(&job(STEPS));
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "-j", "build", "--yes"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::sized(command, 40, 160);
    terminal.expect_next("■ before step 1 of 3: Early bird");
    terminal.expect_next("checkpoints: 0");
    terminal.expect_next("job> ");
    terminal.type_in(":he\t\r");
    terminal.expect_next("run the step, or enter its composite action");
    terminal.expect_next("job> ");
    terminal.type_in("c\r");
    terminal.expect_next("■ failed: step 2 of 3: Two – Process completed with exit code 1.");
    terminal.expect_next("checkpoints: 2");
    terminal.expect_next("job> ");
    terminal.type_in("env.EAR\t\r");
    terminal.expect_next("worm");
    terminal.expect_next("job> ");
    terminal.type_in("!touch mended\r");
    terminal.expect_next("job> ");
    terminal.type_in(":diff Ear\t\r");
    terminal.expect_next("The files are equal.");
    terminal.expect_next("job> ");
    terminal.type_in(":retry\r");
    terminal.expect_next("■ before step 3 of 3: Three");
    terminal.expect_next("job> ");
    terminal.type_in("b\r");
    terminal.expect_next("■ before step 2 of 3: Two");
    terminal.expect_next("attempt 3  checkpoints: 1");
    terminal.expect_next("job> ");
    // the line before the last one: `:retry`
    terminal.type_in("\u{1b}[A\u{1b}[A\r");
    terminal.expect_next("before");
    terminal.expect_next("job> ");
    terminal.type_in("q\r");
    terminal.expect_next("Logs and files");
}

/// A value with the signs of a terminal in it is shown, and does not act.
#[test]
fn values_do_not_act_on_the_terminal() {
    let world = workflow(&job("- run: \"true\""));
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "-j", "build", "--yes"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::sized(command, 40, 160);
    terminal.expect_next("job> ");
    terminal.type_in("fromJSON('\"a\\u001b]0;title\"')\r");
    terminal.expect_next("a^[]0;title");
    terminal.type_in("q\r");
    terminal.expect_next("Logs and files");
}

/// `:shell` is a shell on the terminal with all that the next step finds. The variables that it exports are set, and those of the
/// terminal are not.
#[test]
fn a_shell_on_the_terminal_hands_its_variables_over() {
    let world = workflow(&job(STEPS));
    let mut command = world.backstitch();
    command.args(["job", "debug", "ci.yml", "-j", "build", "--yes"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::sized(command, 40, 160);
    terminal.expect_next("job> ");
    terminal.type_in("n\r");
    terminal.expect_next("job> ");
    terminal.type_in(":shell\r");
    terminal.expect_next("(job) $ ");
    terminal.type_in("echo it has $EARLY\r");
    terminal.expect_next("it has worm");
    terminal.type_in("export LATE=owl; touch mended\r");
    terminal.type_in("exit\r");
    terminal.expect_next("Set: LATE.");
    terminal.expect_next("job> ");
    terminal.type_in("format('{0} {1} {2}', env.LATE, env.EARLY, env.TERM)\r");
    terminal.expect_next("owl worm ");
    terminal.type_in("n\r");
    terminal.expect_next("■ before step 3 of 3: Three");
    terminal.type_in("q\r");
    terminal.expect_next("Logs and files");
}
