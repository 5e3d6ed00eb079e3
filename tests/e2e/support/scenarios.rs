//! Scenarios: workspaces with a history that many tests begin with, each named after its content.
//!
//! `a.txt` is the file that agents edit. A turn begins with a prompt and ends with a stop; a turn that [`World::turn`]
//! plays is the only one of its session.

use super::World;
use super::agent::Agent;
use crate::nvim::rig;

pub const THREE_LINES: &str = "one\ntwo\nthree\n";
pub const FOUR_LINES: &str = "one\ntwo\nthree\nfour\n";
pub const FIVE_LINES: &str = "one\ntwo\nthree\nfour\nfive\n";
pub const SEVEN_LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
pub const NINE_LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

// ---- building blocks -------------------------------------------------------------------------------------------------

impl World {
    /// Plays one turn of a new session.
    #[track_caller]
    pub fn turn(&self, prompt: &str, work: impl FnOnce(&Agent<'_>)) {
        self.agent().turn(prompt, work);
    }
}

impl Agent<'_> {
    /// Plays one turn of this session, from its prompt to its end.
    #[track_caller]
    pub fn turn(&mut self, prompt: &str, work: impl FnOnce(&Self)) {
        self.prompt(prompt);
        work(self);
        self.stop();
    }
}

/// The most frequent work: `two` becomes `2`.
#[track_caller]
pub fn make_it_two(agent: &Agent<'_>) {
    agent.edit("a.txt", "two\n", "2\n");
}

// ---- without a history -----------------------------------------------------------------------------------------------

/// `a.txt` with this text.
pub fn one_file(text: &str) -> World {
    World::committed(&[("a.txt", text)])
}

/// `a.txt` with this text, and a short `b.txt`.
pub fn two_files(text: &str) -> World {
    World::committed(&[("a.txt", text), ("b.txt", "other\n")])
}

/// `a.txt` and `b.txt` with the same text.
pub fn two_equal_files(text: &str) -> World {
    World::committed(&[("a.txt", text), ("b.txt", text)])
}

/// Files of each kind: text, binary, empty, with CRLF, not UTF-8, executable, in a directory, and a link.
pub fn kinds_of_files() -> World {
    let world = World::committed(&[
        ("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n"),
        ("b.txt", "other\n"),
        ("dir/c.txt", "deep\n"),
    ]);
    world.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0\xff\xfe");
    world.write("empty", b"");
    world.write("crlf.txt", b"one\r\ntwo\r\n");
    world.write("latin1.txt", b"caf\xe9\n");
    world.write("run.sh", b"#!/bin/sh\n");
    world.symlink("a.txt", "link");
    world
}

// ---- one turn --------------------------------------------------------------------------------------------------------

/// [`two_files`]; t1 "make it two" replaces line two of `a.txt`.
pub fn one_turn(text: &str) -> World {
    let world = two_files(text);
    world.turn("make it two", make_it_two);
    world
}

/// Two equal files of nine lines; t1 "first" replaces line two of both.
pub fn one_turn_in_two_files() -> World {
    let world = two_equal_files(NINE_LINES);
    world.turn("first", |agent| {
        agent.edit("a.txt", "two", "2");
        agent.edit("b.txt", "two", "2");
    });
    world
}

/// Three files; t1 "first idea" edits line one of `a.txt` and creates `b.txt`.
pub fn an_edit_and_a_new_file() -> World {
    let world = World::committed(&[
        ("a.txt", SEVEN_LINES),
        ("c.txt", "c\n"),
        ("src/d.txt", "d\n"),
    ]);
    let mut agent = world.agent();
    agent.session_start();
    agent.turn("first idea", |agent| {
        agent.edit("a.txt", "one", "ONE");
        agent.write("b.txt", "b\n");
    });
    world
}

/// Files in a directory; t1 is the turn of [`work_in_a_directory`].
pub fn one_turn_in_a_directory() -> World {
    let world = World::committed(&[
        ("a.txt", "one\n"),
        ("src/in.txt", "one\n"),
        ("src/gone.txt", "gone\n"),
    ]);
    work_in_a_directory(&world);
    world
}

/// A turn that edits `src/in.txt`, creates `src/new.txt`, deletes `src/gone.txt` and edits `a.txt`.
pub fn work_in_a_directory(world: &World) {
    let mut agent = world.agent();
    agent.session_start();
    agent.turn("go", |agent| {
        agent.edit("src/in.txt", "one", "two");
        agent.write("src/new.txt", "new\n");
        agent.bash("rm src/gone.txt");
        agent.edit("a.txt", "one", "two");
    });
}

/// One turn with a change of each kind (edit, rename, binary, mode, file without a final newline, empty file), then a
/// file of the user and a checkpoint named "green".
pub fn kinds_of_changes() -> World {
    let world = World::committed(&[
        ("a.txt", THREE_LINES),
        ("b.txt", "same\n"),
        ("run.sh", "#!/bin/sh\n"),
    ]);
    world.write("pic", b"\0one");
    let mut agent = world.agent();
    agent.session_start();
    agent.turn("make it better", |agent| {
        agent.edit("a.txt", "two", "TWO");
        agent.bash("mv b.txt c.txt; printf '\\0two' > pic; chmod +x run.sh; printf 'no newline' > n.txt; : > empty");
    });
    world.write("mine.txt", "mine\n");
    world.ok(["checkpoint", "-m", "green"]);
    world
}

/// A file of this name with four lines, in a directory with a short path; after a checkpoint, t1 "make it two" replaces its
/// line two by two lines and creates `new.txt`.
pub fn one_turn_on_a_screen(file: &str) -> World {
    let world = World::committed_for_a_screen(&[(file, FOUR_LINES)]);
    world.ok(["checkpoint"]);
    world.turn("make it two", |agent| {
        agent.edit(file, "two\n", "2\n2 and a half\n");
        agent.write("new.txt", "new\n");
    });
    world
}

// ---- several turns ---------------------------------------------------------------------------------------------------

/// Two turns of one session, and an edit of the user between them: t1 "first" edits line one and creates `b.txt`; the
/// user edits line nine; t2 "second" edits line five and deletes `c.txt`.
pub fn two_turns_around_an_own_edit() -> World {
    let world = World::committed(&[
        ("a.txt", NINE_LINES),
        ("c.txt", "c\n"),
        ("src/d.txt", "d\n"),
    ]);
    let mut agent = world.agent();
    agent.session_start();
    first_of_two_turns(&mut agent);
    world.write("a.txt", world.read("a.txt").replace("nine", "NINE (mine)"));
    agent.turn("second", |agent| {
        agent.edit("a.txt", "five", "5");
        agent.bash("rm c.txt");
    });
    world
}

/// The first turn of [`two_turns_around_an_own_edit`].
pub fn first_of_two_turns(agent: &mut Agent<'_>) {
    agent.turn("first", |agent| {
        agent.edit("a.txt", "one", "1");
        agent.write("b.txt", "b\n");
    });
}

/// Two sessions with the same prompt: the first edits `a.txt`, the second `b.txt`.
pub fn two_sessions() -> World {
    let world = World::committed(&[("a.txt", "one\ntwo\n"), ("b.txt", "other\n")]);
    for (path, old) in [("a.txt", "two"), ("b.txt", "other")] {
        world.turn("change it", |agent| {
            agent.edit(path, old, "changed");
        });
    }
    world
}

/// Two turns of one session, each of which edits a line of `a.txt` and creates a file by a command.
pub fn two_turns_of_edits_and_commands() -> World {
    let world = one_file(THREE_LINES);
    let mut agent = world.agent();
    for (n, line) in [(1, "one"), (2, "two")] {
        agent.turn(&format!("turn {n}"), |agent| {
            agent.edit("a.txt", line, &format!("{line} {n}"));
            agent.bash(&format!("echo {n} > {n}.txt"));
        });
    }
    world
}

/// As many turns of one session; each increments the number in `a.txt`.
pub fn counting_turns(turns: usize) -> World {
    let world = one_file("0\n");
    let mut agent = world.agent();
    for n in 1..=turns {
        agent.turn(&format!("turn {n}"), |agent| {
            agent.edit("a.txt", &format!("{}\n", n - 1), &format!("{n}\n"));
        });
    }
    world
}

/// Six turns of one session, each of which edits a line of `a.txt` and appends to `shell.txt` by a command; the user
/// edits `b.txt` after the fourth.
pub fn six_turns_and_an_own_edit() -> World {
    let world = two_equal_files(NINE_LINES);
    let mut agent = world.agent();
    for (n, line) in (1..).zip(["one", "two", "three", "four", "five", "six"]) {
        agent.turn(&format!("turn {n}"), |agent| {
            agent.edit("a.txt", line, &format!("{line} of t{n}"));
            agent.bash(&format!("echo {n} >> shell.txt"));
        });
        if n == 4 {
            world.write("b.txt", NINE_LINES.replace("seven", "mine"));
        }
    }
    world
}

/// For Neovim: t1 "make it two" edits `src/a.txt`, deletes `gone.txt` and creates `new.txt`; t2 "and five" of the same
/// session edits `src/a.txt`.
pub fn two_turns_in_neovim() -> World {
    let world = rig::world(&[("src/a.txt", SEVEN_LINES), ("gone.txt", "gone\n")]);
    let mut agent = world.agent();
    agent.turn("make it two", |agent| {
        agent.edit("src/a.txt", "two", "2");
        agent.bash("rm gone.txt; echo new > new.txt");
    });
    agent.turn("and five", |agent| {
        agent.edit("src/a.txt", "five", "FIVE");
    });
    world
}
