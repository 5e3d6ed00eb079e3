//! The line of a step that prints nothing: on a terminal alone, and gone before the next output.

use super::{job, workflow};
use crate::support::World;
use crate::terminal::Terminal;

const STEPS: &str = "- name: Wait for it\n  run: |\n    echo before\n    until test -e \"$GO\"; do sleep 0.05; done\n    echo after";

/// Starts the job on a terminal of this size.
fn start(world: &World, columns: u16) -> Terminal {
    let mut command = world.backstitch();
    command
        .args(["job", "run", "ci.yml"])
        .args(["--inherit-env", "GO"])
        .env("GO", world.path("go"))
        .env_remove("COLUMNS");
    Terminal::sized(command, 24, columns)
}

/// The line has the step's name and its time, is written anew, and is erased before the step prints again.
#[test]
fn a_silent_step_is_shown_with_its_time() {
    for (columns, width) in [(100, 60), (40, 39)] {
        let world = workflow(&job(STEPS)).with("NO_COLOR", "1");
        let mut terminal = start(&world, columns);
        terminal.expect_next("    before\r\n");
        // a busy machine may leave a second out
        for _ in 0..2 {
            terminal.expect_next("\r… Wait for it  ");
        }
        world.write("go", "");
        terminal.expect_next(&format!("\r{:width$}\r    after\r\n", ""));
        let (code, shown) = terminal.end();
        assert_eq!(code, 0, "{shown}");
        assert!(!shown.contains('\u{1b}'), "NO_COLOR: {shown:?}");
    }
}

/// A terminal that cannot draw over a line has none, and neither has a pipe.
#[test]
fn no_line_without_a_terminal_that_can_erase_it() {
    let world = workflow(&job(
        "- name: Wait\n  run: echo before; sleep 2; echo after",
    ));
    let mut command = world.backstitch();
    command.args(["job", "run", "ci.yml"]).env("TERM", "dumb");
    let (code, shown) = Terminal::run(command).end();
    assert_eq!(code, 0, "{shown}");
    let piped = world.ok(["job", "run", "ci.yml"]);
    for shown in [&shown, &piped.stdout, &piped.stderr] {
        assert!(!shown.contains("… Wait"), "{shown}");
    }
    assert!(piped.stdout.contains("before\n    after\n"), "{piped:?}");
}
