//! A second directory on the same history: how a fork is made, where it is refused, and what happens when directories
//! move.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::support::history::path;
use crate::support::scenarios::{SEVEN_LINES, an_edit_and_a_new_file};
use crate::support::tree::assert_same;
use crate::support::{Output, World};

#[track_caller]
fn says(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.code, code, "{output}");
    for word in words {
        assert!(output.stderr.contains(word), "no {word:?} in {output}");
    }
}

/// Lists the branches, each with the directory that works on it where that is another one.
#[track_caller]
fn branches(world: &World) -> Vec<String> {
    let all = world.json(["branch", "list"])["branches"].clone();
    let line = |b: &Value| {
        let name = b["name"].as_str().expect("a name");
        match b["root"].as_str() {
            Some(dir) => format!(
                "{name} in {}",
                Path::new(dir).file_name().expect("a name").display()
            ),
            None if b["current"] == true => format!("{name}*"),
            None => name.to_owned(),
        }
    };
    let all = all.as_array().expect("branches").iter();
    all.filter(|b| b["deleted"] == false).map(line).collect()
}

/// Lists the directory above the workspace, including Backstitch's own temporary names.
fn beside(world: &World) -> Vec<String> {
    let all = fs::read_dir(world.root.parent().expect("a parent")).expect("a list");
    let name = |e: fs::DirEntry| e.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = all.map(|e| name(e.expect("an entry"))).collect();
    names.retain(|n| !["work", "home", "state", "config"].contains(&n.as_str()));
    names.sort();
    names
}

/// A removed fork's directory can be used for another fork: its branch is then free or deleted.
#[test]
fn a_fork_can_use_the_place_of_a_removed_one() {
    let world = an_edit_and_a_new_file();
    let there = world.beside("f");
    world.ok(["fork", "@", "f1", "--into", "../f"]);
    let mut agent = there.agent();
    agent.prompt("on f1");
    agent.write("f1.txt", "f1\n");
    let first = there.tree();
    fs::remove_dir_all(&there.root).expect("removed");
    world.ok(["fork", "@", "f2", "--into", "../f"]);
    assert_eq!(there.json(["status"])["branch"], "f2");
    assert_same(&there.tree(), &world.tree());
    assert_eq!(branches(&world), ["main*", "f1", "f2 in f"]);
    // the old branch can be switched to or deleted
    world.ok(["switch", "f1"]);
    assert_same(&world.tree(), &first);
    world.ok(["switch", "main"]);
    world.ok(["branch", "delete", "f1"]);
    fs::remove_dir_all(&there.root).expect("removed");
    world.ok(["branch", "delete", "f2"]);
    // an empty directory that exists already
    fs::create_dir(&there.root).expect("made");
    world.ok(["fork", "@", "f3", "--into", "../f"]);
    let mut agent = there.agent();
    agent.prompt("on f3");
    agent.write("f3.txt", "f3\n");
    agent.stop();
    assert_eq!(branches(&world), ["main*", "f3 in f"]);
    assert_eq!(
        there.checkpoint("t3 Write: create f3.txt").json["branch"],
        "f3"
    );
    world.ok(["verify"]);
}

/// A refused fork leaves nothing behind, and neither does one that fails at the end.
#[test]
fn a_failed_fork_leaves_nothing() {
    let world = an_edit_and_a_new_file();
    world.write("../file", "");
    for (args, words) in [
        (
            ["fork", "@", "main", "--into", "../new"],
            ["`main` already"],
        ),
        (
            ["fork", "@", "a~b", "--into", "../new/deep/er"],
            ["character"],
        ),
        (["fork", "@", "x", "--into", "../file"], ["not a directory"]),
    ] {
        says(&world.run(args), 1, &words);
        assert_eq!(beside(&world), ["file"]);
    }
    assert_eq!(branches(&world), ["main*"]);
    // missing directories are made only when the whole fork is ready
    world.ok(["fork", "@", "x", "--into", "../new/deep/../er/there"]);
    assert_same(&world.beside("new/er/there").tree(), &world.tree());
    assert_eq!(beside(&world), ["file", "new"]);
}

/// A fork waits while an agent is at work.
#[test]
fn a_fork_waits_for_a_working_agent() {
    let world = an_edit_and_a_new_file();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|n| {
                let mut agent = world.agent();
                scope.spawn({
                    move || {
                        agent.prompt("busy");
                        for i in 0..25 {
                            agent.write(&format!("busy{n}/{i}.txt"), &format!("{i}\n"));
                        }
                        agent.stop();
                    }
                })
            })
            .collect();
        let mut forks = 0;
        while forks < 6 || writers.iter().any(|w| !w.is_finished()) {
            let name = format!("p{forks}");
            world.ok(["fork", "@", &name, "--into", &format!("../{name}")]);
            forks += 1;
        }
    });
    world.ok(["verify"]);
    let fork = world.beside("p3");
    let history = fork.history();
    fork.json(["diff"]);
    assert_eq!(fork.history(), history, "a look found something");
    fork.ok(["verify"]);
}

/// A directory with its own history cannot be inside another one: a switch there would remove its files.
#[test]
fn a_fork_inside_another_root_is_refused() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    let other = world.beside("other");
    fs::create_dir(&other.root).expect("made");
    other.write("o.txt", "o\n");
    other.ok(["checkpoint", "-m", "its own"]);
    fs::create_dir(world.root.join("../f/empty")).expect("made");
    for (into, words) in [
        ("../f/inner", "f, which was forked"),
        ("../f/empty", "f, which was forked"),
        ("../other/in/ner", "the workspace"),
        ("below", "inside the workspace"),
    ] {
        says(
            &world.run(["fork", "@", "in", "--into", into]),
            1,
            &["lies inside", words],
        );
    }
    says(
        &fork.run(["fork", "@", "in", "--into", "../work/in"]),
        1,
        &["lies inside", "work"],
    );
    says(
        &world.run(["materialize", "@", "--into", "../f/inner"]),
        1,
        &["lies inside"],
    );
    // a copy to look at may be anywhere else
    world.ok(["materialize", "@", "--into", "../other/in/ner"]);
    fs::remove_dir(world.root.join("../f/empty")).expect("removed");
    assert_same(&fork.tree(), &world.tree());
    assert_eq!(branches(&world), ["main*", "f in f"]);
    world.ok(["verify"]);
}

/// S4-039: a forked directory has no repository, so a rewind reports no moved git. Once it has one, the move is
/// reported.
#[test]
fn a_fork_without_git_reports_no_moved_git() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    let mut agent = fork.agent();
    agent.prompt("on f");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    let kinds = |plan: &Value| {
        let gaps = plan["gaps"].as_array().expect("gaps").clone();
        let kinds = gaps.iter().map(|g| g["kind"].as_str().expect("a kind"));
        kinds.map(str::to_owned).collect::<Vec<_>>()
    };
    let plan = fork.plan(["rewind", "t1", "--exact"]);
    assert!(plan["git_head"].is_null(), "{plan:#}");
    assert!(kinds(&plan).is_empty(), "{plan:#}");
    fork.git_ok(["init", "-q", "-b", "elsewhere"]);
    let plan = fork.plan(["rewind", "t1", "--exact"]);
    assert_eq!(plan["git_head"]["now"]["branch"], "elsewhere");
    assert_eq!(kinds(&plan), ["git_head"]);
    // in the original directory git is checked as before
    fs::remove_dir_all(world.path(".git")).expect("removed");
    let plan = world.plan(["rewind", "t1", "--exact"]);
    assert_eq!(plan["git_head"]["then"]["branch"], "main");
}

/// `fork --switch` returns the branch, as every other form does.
#[test]
fn every_form_returns_the_branch() {
    let world = an_edit_and_a_new_file();
    for (args, current) in [
        (vec!["fork", "@", "a"], false),
        (vec!["fork", "@", "b", "--switch"], true),
        (vec!["fork", "@", "c", "--into", "../c"], false),
        (vec!["branch", "create", "d"], false),
        (vec!["switch", "a"], true),
    ] {
        let name = *args
            .iter()
            .find(|a| a.len() == 1 && **a != "@")
            .expect("it");
        let branch = world.json(args.clone())["branch"].clone();
        assert_eq!(branch["name"], name, "{args:?}");
        assert_eq!(branch["current"], current, "{args:?}");
    }
}

fn gaps(answer: &Value) -> Vec<String> {
    let all = answer["gaps"].as_array().expect("gaps").iter();
    let line = |g: &Value| {
        format!(
            "{} {}",
            g["kind"].as_str().expect("a kind"),
            path(&g["path"])
        )
    };
    all.map(line).collect()
}

/// A file too large to be stored is copied while it is unchanged on disk. Otherwise it is left out by name, and its
/// absence is not recorded as a deletion.
#[test]
fn files_without_stored_content_are_copied_or_named() {
    let world = World::in_memory();
    let large = |byte: u8| vec![byte; (10 << 20) + 1];
    world.write("a.txt", SEVEN_LINES);
    world.write("large.bin", large(b'x'));
    world.set_mode("large.bin", 0o750);
    let mut agent = world.agent();
    agent.prompt("more");
    agent.edit("a.txt", "one", "ONE");
    agent.bash("head -c 10485761 /dev/zero > zero.bin");
    agent.stop();
    let with = world.beside("with");
    let made = world.json(["fork", "@", "with", "--into", "../with"]);
    assert_eq!((&made["files"], gaps(&made)), (&3.into(), vec![]));
    assert_same(&with.tree(), &world.tree());
    // not a changed version, nor the version of another state than the current one
    let (t1, head) = (
        world.id("t1: more"),
        world.checkpoints().pop().expect("one").id,
    );
    world.write("large.bin", large(b'y'));
    for (n, (name, rev)) in [("changed", &head), ("before", &t1)]
        .into_iter()
        .enumerate()
    {
        let there = world.beside(name);
        let made = world.json(["fork", rev, name, "--into", &format!("../{name}")]);
        assert_eq!(gaps(&made), ["too_large large.bin"], "{name}");
        assert!(!there.exists("large.bin"));
        let history = there.history();
        there.json(["diff"]);
        assert_eq!(there.history(), history, "{name}: a look found something");
        // a new session in each round
        let mut agent = (0..=n).map(|_| there.agent()).last().expect("one");
        agent.prompt("there");
        agent.bash("echo more >> a.txt");
        agent.stop();
        let found = there.history().split_off(history.len());
        assert_eq!(found.len(), 2, "{found:#?}");
        there.ok(["verify"]);
        // the file may come back
        there.write("large.bin", large(b'z'));
        there.ok(["checkpoint"]);
        there.ok(["verify"]);
    }
    let text = world
        .ok(["fork", &t1, "named", "--into", "../named"])
        .stdout;
    assert!(text.contains("too large   large.bin"), "{text}");
    let answer = world.json(["materialize", &head, "--into", "../copy"]);
    assert_eq!(gaps(&answer), ["too_large large.bin"]);
    assert!(world.beside("copy").exists("zero.bin"));
    let output = world.ok(["materialize", &t1, "--into", "../copy2"]);
    assert!(output.stdout.contains("large.bin"), "{output}");
    world.ok(["verify"]);
}

/// An agent's edit in another directory of the history is its step there, not the user's change.
#[test]
fn an_edit_in_another_root_is_the_agents_there() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    fork.write("src/d.txt", "mine\n");
    let there = |path: &str| fork.path(path).to_str().expect("UTF-8").to_owned();
    let mut agent = world.agent();
    agent.prompt("over there");
    agent.edit(&there("a.txt"), "seven", "SEVEN");
    agent.write(&there("new/n.txt"), "n\n");
    agent.edit("a.txt", "two", "TWO");
    // a call that never reports: its change is its own
    agent.pre_edit(&there("b.txt"), "b", "B");
    fork.write("b.txt", "B\n");
    agent.stop();
    fork.ok(["checkpoint"]);
    let on = |branch: &str| {
        let all = world.checkpoints().into_iter();
        let of = all.filter(|c| c.json["branch"] == branch && c.line != "manual");
        of.map(|c| c.line).collect::<Vec<_>>()
    };
    assert_eq!(
        on("f"),
        [
            "t2 Edit: modify a.txt",
            "t2 Write: create new/n.txt",
            "you: modify src/d.txt",
            "t2 Edit: modify b.txt",
            "\"\"",
        ]
        .map(str::to_owned)
    );
    assert_eq!(
        on("main").split_off(4),
        ["t2: over there", "t2 Edit: modify a.txt"]
    );
    let log = world.json(["log", "--all"]);
    let items = log["checkpoints"].as_array().expect("checkpoints").iter();
    let outside = items.filter(|c| c["coverage"]["outside"].as_i64() > Some(0));
    assert_eq!(outside.count(), 0);
    for place in [&world, &fork] {
        place.ok(["verify"]);
        let history = place.history();
        place.json(["diff"]);
        assert_eq!(place.history(), history);
    }
    // it is reverted there like any turn
    fork.ok(["revert", "t2"]);
    assert!(fork.read("a.txt").ends_with("seven\n"));
    assert!(world.read("a.txt").contains("TWO"));
}

/// A directory that comes back after its branch was taken over continues from its old state, on a new branch.
#[test]
fn a_returning_directory_continues_on_its_own_branch() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    let away = world.beside("away");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    let mut agent = fork.agent();
    agent.prompt("on f");
    agent.edit("a.txt", "seven", "SEVEN");
    fork.write("mine.txt", "not recorded\n");
    let left = fork.tree();
    fs::rename(&fork.root, &away.root).expect("out of sight");
    world.ok(["switch", "f"]);
    world.write("here.txt", "here\n");
    world.ok(["checkpoint", "-m", "here"]);
    fs::rename(&away.root, &fork.root).expect("back");
    let output = fork.ok(["branch", "create", "other", "--from", "t1"]);
    says(&output, 0, &["another directory uses", "f-2"]);
    assert_eq!(branches(&fork), ["main", "f in work", "f-2*", "other"]);
    agent.write("more.txt", "more\n");
    agent.stop();
    fork.ok(["switch", "other"]);
    assert_eq!(fork.read("a.txt"), SEVEN_LINES);
    fork.ok(["switch", "f-2"]);
    fork.remove("more.txt");
    assert_same(&fork.tree(), &left);
    assert_eq!(fork.at("@", "mine.txt").as_deref(), Some("not recorded\n"));
    assert_eq!(fork.at("@", "here.txt"), None);
    // the same where the branch was deleted
    fs::rename(&fork.root, &away.root).expect("out of sight");
    world.ok(["branch", "delete", "f-2"]);
    fs::rename(&away.root, &fork.root).expect("back");
    says(
        &fork.ok(["show", "@"]),
        0,
        &["another directory uses", "f-2-2"],
    );
    assert_same(&fork.tree(), &left);
    for place in [&world, &fork] {
        place.ok(["verify"]);
    }
}

/// A moved directory keeps its identity: it stays on its branch, with its edits.
#[test]
fn a_moved_directory_keeps_its_branch() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    let moved = world.beside("moved");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    fs::rename(&fork.root, &moved.root).expect("moved");
    let mut agent = moved.agent();
    agent.prompt("on f");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    assert_eq!(moved.json(["status"])["branch"], "f");
    assert_eq!(branches(&world), ["main*", "f in moved"]);
    assert_eq!(
        moved.since_start().last().expect("one"),
        "t2 Edit: modify a.txt"
    );
    // moved into the other directory, it stays separate
    let inner = world.beside("work/inner");
    fs::rename(&moved.root, &inner.root).expect("moved");
    assert_eq!(inner.json(["status"])["branch"], "f");
    let history = world.history();
    world.json(["diff"]);
    assert_eq!(world.history(), history, "a look found something");
    fs::rename(&inner.root, &fork.root).expect("back");
    fork.write("mine.txt", "mine\n");
    fork.ok(["checkpoint"]);
    assert_eq!(branches(&world), ["main*", "f in f"]);
    // a new directory at its old path is another one
    fs::rename(&fork.root, &moved.root).expect("moved");
    world.ok(["fork", "@", "g", "--into", "../f"]);
    assert_eq!(fork.json(["status"])["branch"], "g");
    assert_eq!(moved.json(["status"])["branch"], "f-2");
    assert_eq!(moved.at("@", "mine.txt").as_deref(), Some("mine\n"));
    for place in [&world, &fork, &moved] {
        place.ok(["verify"]);
        let history = place.history();
        place.json(["diff"]);
        assert_eq!(place.history(), history, "a look found something");
    }
}

/// The directory that the store was made for can be moved, too; its forks stay connected.
#[test]
fn a_moved_workspace_keeps_its_forks() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    let history = world.history();
    let moved = world.beside("moved");
    fs::rename(&world.root, &moved.root).expect("moved");
    fs::create_dir_all(moved.path("src/deep")).expect("made");
    let mut status = moved.backstitch();
    status.current_dir(moved.path("src/deep"));
    let output = crate::support::finish(status.args(["--json", "status"]), b"");
    assert_eq!(output.expect_code(0).json()["branch"], "main");
    assert_eq!(moved.history(), history);
    assert_eq!(branches(&fork), ["main in moved", "f*"]);
    // another project at its old path
    fs::create_dir(&world.root).expect("made");
    world.write("other.txt", "other\n");
    world.ok(["checkpoint", "-m", "another"]);
    assert_eq!(world.history(), ["\"start\"", "\"another\""]);
    assert_eq!(moved.history(), history);
    // and back
    fs::remove_dir_all(&world.root).expect("removed");
    fs::rename(&moved.root, &world.root).expect("moved");
    assert_eq!(world.history(), history);
    let mut agent = world.agent();
    agent.let_complain();
    agent.prompt("go on");
    agent.write("more.txt", "more\n");
    assert_eq!(
        world.history().last().expect("one"),
        "t2 Write: create more.txt"
    );
    assert_eq!(fork.json(["status"])["branch"], "f");
    for place in [&world, &fork] {
        place.ok(["verify"]);
    }
    world.ok(["clear", "--yes"]);
    says(&fork.run(["log"]), 0, &[]);
}

/// A new project at the path of a former fork is not that fork; a copied fork is.
#[test]
fn a_new_project_in_the_place_of_a_fork_is_not_the_fork() {
    let world = an_edit_and_a_new_file();
    let fork = world.beside("f");
    world.ok(["fork", "@", "f", "--into", "../f"]);
    let mut agent = fork.agent();
    agent.prompt("on f");
    agent.edit("a.txt", "seven", "SEVEN");
    agent.stop();
    let copy = world.beside("copy");
    assert_eq!(
        world
            .sh("cp -a ../f ../copy && rm -r ../f && cp -a ../copy ../f")
            .code,
        0
    );
    assert_eq!(branches(&world), ["main*", "f in f"]);
    assert_eq!(fork.json(["status"])["branch"], "f");
    fork.ok(["verify"]);
    fs::remove_dir_all(&fork.root).expect("removed");
    fs::create_dir(&fork.root).expect("made");
    fork.write("other.txt", "another project\n");
    assert_eq!(branches(&world), ["main*", "f"]);
    says(&fork.run(["show", "@"]), 3, &["nothing has been recorded"]);
    fork.ok(["checkpoint", "-m", "another"]);
    assert_eq!(fork.history(), ["\"start\"", "\"another\""]);
    world.ok(["switch", "f"]);
    assert!(world.read("a.txt").ends_with("SEVEN\n"));
    assert!(!world.history().contains(&"\"another\"".to_owned()));
    // a copy is a separate directory
    assert_eq!(copy.json(["status"])["checkpoints"], 0);
    world.ok(["verify"]);
}
