//! The events of the story, in chapters.

use serde_json::json;

use super::{Action, Story, View};
use crate::support::World;
use crate::support::agent::Agent;

const TWELVE_LINES: &str =
    "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";

/// The files of the workspace; the first one is shown.
pub const FILES: [(&str, &str); 2] = [("a.txt", TWELVE_LINES), ("b.txt", "other\nlines\n")];

/// Plays all chapters.
pub fn play<V: View>(story: &mut Story<'_, V>) {
    let world = story.world;
    let mut agent = world.agent();
    agent.session_start();
    edit_tools(story, &mut agent);
    commands_and_files(story, &mut agent);
    several_agents(story, &mut agent);
    the_user(story, &mut agent);
    the_command_line(story, &mut agent);
    branches(story);
    the_editor(story, &mut agent);
    story.then("the end of the session", |_| {
        agent.session_end();
    });
}

fn replace(world: &World, old: &str, new: &str) {
    let text = world.read("a.txt");
    assert!(text.contains(old), "{old:?} is not in {text}");
    world.write("a.txt", text.replacen(old, new, 1));
}

fn edit_tools<V: View>(story: &mut Story<'_, V>, agent: &mut Agent<'_>) {
    story.then("a prompt", |_| {
        agent.prompt("first");
    });
    story.then("Edit: a line is replaced", |_| {
        agent.edit("a.txt", "two\n", "2\n");
    });
    story.then("Edit: two lines are inserted", |_| {
        agent.edit("a.txt", "five\n", "five\nfive a\nfive b\n");
    });
    story.then("Edit: a line is deleted", |_| {
        agent.edit("a.txt", "seven\n", "");
    });
    story.then("Edit: the first line", |_| {
        agent.edit("a.txt", "one\n", "1\n");
    });
    story.then("MultiEdit", |world| {
        let edits = [("eight", "8"), ("nine\n", "9\n9 a\n")];
        let listed = edits.map(|(old, new)| json!({"old_string": old, "new_string": new}));
        let input = json!({"file_path": world.path("a.txt"), "edits": listed});
        let call = agent.pre("MultiEdit", input);
        for (old, new) in edits {
            replace(world, old, new);
        }
        agent.post(&call, &json!({"filePath": world.path("a.txt")}));
    });
    story.then("Write: the whole file", |world| {
        agent.write("a.txt", &world.read("a.txt").replace("ten", "10"));
    });
    story.then("Write: the same text", |world| {
        agent.write("a.txt", &world.read("a.txt"));
    });
    story.then("two calls at once", |_| {
        let calls = [("five a", "5 a"), ("five b", "5 b")];
        let calls = calls.map(|(old, new)| agent.pre_edit("a.txt", old, new));
        let answers = calls.each_ref().map(|call| agent.apply(call));
        for (call, answer) in calls.iter().zip(&answers) {
            agent.post(call, answer);
        }
    });
    story.then("the end of a turn", |_| {
        agent.stop();
    });
}

fn commands_and_files<V: View>(story: &mut Story<'_, V>, agent: &mut Agent<'_>) {
    agent.prompt("second");
    story.then("a command replaces text", |_| {
        agent.bash("sed -i s/eleven/11/ a.txt");
    });
    story.then("a command appends a line", |_| {
        agent.bash("echo more >> a.txt");
    });
    story.then("a command that fails", |_| {
        agent.bash("echo failed >> a.txt; exit 3");
    });
    story.then("the file is deleted and written again", |_| {
        agent.bash("cp a.txt copy; rm a.txt; echo again >> copy; mv copy a.txt");
    });
    story.then(
        "the file is emptied, and filled after another event",
        |world| {
            let (text, call) = (world.read("a.txt"), agent.pre_bash("generate a.txt"));
            world.write("a.txt", "");
            agent.read("b.txt");
            world.write("a.txt", text.replace("three", "3"));
            let done = json!({"stdout": "", "stderr": "", "interrupted": false, "isImage": false});
            agent.post(&call, &done);
        },
    );
    story.then("another file is edited", |_| {
        agent.edit("b.txt", "other", "another");
    });
    story.then("several files in one command", |_| {
        agent.bash("sed -i s/again/AGAIN/ a.txt; echo c > c.txt; rm b.txt");
    });
    "c.txt".clone_into(&mut story.file);
    story.user(
        "a file that an agent created is opened",
        &[Action::Open("c.txt")],
    );
    agent.bash("mv c.txt d.txt");
    "d.txt".clone_into(&mut story.file);
    story.user("the shown file is renamed", &[Action::Follow("d.txt")]);
    story.then("the renamed file is edited", |_| {
        agent.edit("d.txt", "c\n", "c\nd\n");
    });
    "a.txt".clone_into(&mut story.file);
    story.user("the first file is shown again", &[Action::Open("a.txt")]);
    agent.stop();
}

fn several_agents<V: View>(story: &mut Story<'_, V>, agent: &mut Agent<'_>) {
    agent.prompt("third");
    story.then("a subagent edits", |_| {
        let helper = agent.subagent();
        helper.edit("a.txt", "four\n", "4\n");
        helper.subagent_stop();
    });
    let mut other = story.world.agent();
    other.prompt("another session");
    story.then("another session edits", |_| {
        other.edit("a.txt", "six\n", "6\n");
    });
    story.then("another session edits the line of the first one", |_| {
        other.edit("a.txt", "4\n", "four of the other\n");
    });
    story.then("both end", |_| {
        other.stop();
        agent.stop();
    });
    story.then("a commit in git", |world| {
        world.git_ok(["add", "-A"]);
        world.git_ok(["commit", "-q", "-m", "work"]);
    });
}

fn the_user<V: View>(story: &mut Story<'_, V>, agent: &mut Agent<'_>) {
    use Action::{Append, CheckDisk, Prepend, Replace, Save, UndoKey};
    story.user("the user saves a new line", &[Append("mine"), Save]);
    story.user(
        "the user changes a line of an agent, and saves",
        &[Replace("5 a", "5 a of mine"), Save],
    );
    story.unsaved_above = 1;
    story.user("unsaved text above all", &[Prepend("zero")]);
    agent.prompt("fourth");
    story.then("an agent edits below unsaved text", |_| {
        agent.edit("a.txt", "twelve\n", "12\n");
    });
    story.unsaved_above = 0;
    story.user("the unsaved text is saved", &[Save]);
    story.user("undo of the editor, saved", &[UndoKey, Save]);
    story.world.sh("sed -i s/10/ten/ a.txt");
    story.user("a program of the user writes the file", &[CheckDisk]);
    story.world.git_ok(["checkout", "--", "a.txt"]);
    story.user("git checkout of the file", &[CheckDisk]);
    agent.stop();
}

fn the_command_line<V: View>(story: &mut Story<'_, V>, agent: &mut Agent<'_>) {
    agent.turn("fifth", |agent| {
        agent.edit("a.txt", "2\n", "2\n2 a\n");
        agent.edit("a.txt", "more\n", "MORE\n");
    });
    agent.turn("sixth", |agent| {
        agent.edit("a.txt", "2 a\n", "2 a\n2 b\n");
    });
    for (event, args) in [
        ("checkpoint", &["checkpoint", "-m", "here"][..]),
        ("tag", &["tag", "good"]),
        ("rewind of the last turn", &["rewind", "--yes"]),
        ("undo of this rewind", &["undo", "--yes"]),
        ("redo of this rewind", &["redo", "--yes"]),
        ("second undo", &["undo", "--yes"]),
        (
            "rewind to an older turn",
            &["rewind", "t2", "--all-sessions", "--yes"],
        ),
        ("undo of it", &["undo", "--yes"]),
        (
            "rewind --path",
            &["rewind", "t2", "--path", "a.txt", "--all-sessions", "--yes"],
        ),
        ("undo of rewind --path", &["undo", "--yes"]),
        ("rewind --exact", &["rewind", "t1", "--exact", "--yes"]),
        ("undo of rewind --exact", &["undo", "--yes"]),
        ("revert of a turn", &["revert", "t6", "--yes"]),
        ("undo of the revert", &["undo", "--yes"]),
        ("review --keep", &["review", "--keep", "a.txt"]),
    ] {
        // the checkout is an edit of the user
        let decided = args.contains(&"--yes");
        let decided: &[&str] = if decided {
            &["--on-conflict", "target"]
        } else {
            &[]
        };
        story.command(event, &[args, decided].concat());
    }
}

fn branches<V: View>(story: &mut Story<'_, V>) {
    story.command("fork", &["fork", "t6", "idea"]);
    story.command("switch", &["switch", "idea", "--yes"]);
    story.then("an agent edits on the branch", |world| {
        let mut agent = world.agent();
        agent.turn("on a branch", |agent| {
            agent.edit("a.txt", "6\n", "six on a branch\n");
        });
    });
    story.command("switch back", &["switch", "main", "--yes"]);
}

fn the_editor<V: View>(story: &mut Story<'_, V>, agent: &mut Agent<'_>) {
    use Action::{Append, Keep, Reload, Reopen, Restart, Restore, Save, TakeBack};
    agent.turn("last", |agent| {
        agent.edit("a.txt", "1\n", "1 at last\n");
        agent.edit("a.txt", "11\n", "11\nlast\n");
    });
    let last = story.world.json(["log", "--kind", "turn", "-n", "1"]);
    let last = last["checkpoints"][0]["turn"]
        .as_str()
        .expect("a turn")
        .to_owned();
    for (event, action) in [
        ("rewind", Restore("rewind", &last)),
        ("undo", Restore("undo", "")),
        ("redo", Restore("redo", "")),
        ("undo again", Restore("undo", "")),
        ("revert", Restore("revert", &last)),
        ("undo of the revert", Restore("undo", "")),
        ("a change is undone", TakeBack("1 at last", &last)),
        ("undo of this", Restore("undo", "")),
        ("changes are kept", Keep(&last)),
    ] {
        story.user(&format!("in the editor: {event}"), &[action]);
    }
    story.user(
        "in the editor: rewind over unsaved text, saved",
        &[Append("unsaved"), Restore("rewind", &last), Save],
    );
    story.user("in the editor: undo of this", &[Restore("undo", "")]);
    story.user("the file is read again", &[Reload]);
    story.user("the file is closed and opened", &[Reopen]);
    story.user("the server is started again", &[Restart]);
    story.then("an agent edits after all that", |_| {
        agent.turn("after all", |agent| {
            agent.edit("a.txt", "AGAIN\n", "again\n");
        });
    });
}
