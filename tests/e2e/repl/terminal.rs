//! The REPL on a terminal, typed by hand.

use super::python::{Program, world};
use crate::control::Watcher;
use crate::editors::screen::Editor;
use crate::support::binary;

const SOURCE: &str = r#"import backstitch_debug as bs
bs.on()

def act(step):
    note = "step\x1b[31m " + str(step)
    bs.pause("acting")

act(7)
"#;

/// S5-138, S5-140: inputs of one and of several lines, earlier inputs by keys, errors; control characters and colours do not
/// reach the terminal. Ctrl-D leaves, and the program stays paused; a decision elsewhere is reported with the next input.
#[test]
fn a_talk_on_a_terminal() {
    let world = world();
    let mut watcher = Watcher::start(&world);
    let program = Program::start(&world, SOURCE);
    watcher.until("held");
    let mut talk = Editor::start(&world, "repl", binary::path(), &["repl"]);
    talk.shows("python at p1: acting program.py.");
    talk.shows("Names that you assign are this REPL's own: the program keeps its values.");
    talk.shows("p1>");
    talk.keys("step * 6\r");
    talk.shows("\n42");
    talk.keys("[step, \\\r");
    talk.shows("...");
    talk.keys("note]\r");
    talk.shows("[7, 'step\\x1b[31m 7']");
    talk.keys("print(note)\r");
    talk.shows("step 7\np1>");
    talk.keys("nothing\r");
    talk.shows("NameError: name 'nothing' is not defined");
    // the input before, with another begin
    talk.keys("\x1b[A\x01step * 10 #\r");
    // before the prompt, Ctrl-D would be the terminal's own
    talk.shows("\n70\np1>");
    talk.keys("\x04");
    talk.ends();
    let open = world.json(["pauses"]);
    assert_eq!(open["pauses"][0]["state"], "held", "{open:#}");
    let list = world.json(["repl", "list"]);
    assert_eq!(list["sessions"][0]["entries"], 5, "{list:#}");
    assert_eq!(list["sessions"][0]["reason"], "its terminal left");

    let mut talk = Editor::start(&world, "repl", binary::path(), &["repl", "p1"]);
    talk.shows("p1>");
    world.ok(["resume"]);
    watcher.until("answered");
    talk.keys("step\r");
    talk.shows("its pause was decided");
    talk.ends();
    assert_eq!(program.end().0, 0);
}
