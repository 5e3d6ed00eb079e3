//! Rewinds from the command line: whole, in part, exact, with conflicts, undone and redone.

use std::process::Command;

use serde_json::Value;

use crate::support::history::{actions, conflicts, gaps};
use crate::support::scenarios::{NINE_LINES, first_of_two_turns, two_turns_around_an_own_edit};
use crate::support::tree::assert_same;
use crate::support::{Output, World};

pub fn with(edits: &[(&str, &str)]) -> String {
    edits
        .iter()
        .fold(NINE_LINES.to_owned(), |text, (from, to)| {
            text.replace(from, to)
        })
}

pub fn refused(world: &World, args: &[&str], words: &[&str]) -> Output {
    let (tree, history) = (world.tree(), world.history());
    let output = world.run(args).expect_code(1);
    for word in words {
        assert!(output.stderr.contains(word), "no {word:?} in {output}");
    }
    assert_same(&world.tree(), &tree);
    assert_eq!(world.history(), history, "{output}");
    output
}

/// S2-L1, S3-033, S3-L2, S4-018, S4-032: a rewind to a turn keeps the user's edit. The answer lists what was done.
#[test]
fn a_rewind_to_a_turn_keeps_the_users_edit() {
    let world = two_turns_around_an_own_edit();
    let git = world.git_digest();
    let after = world.tree();
    let plan = world.plan(["rewind", "t2"]);
    assert_eq!(gaps(&plan), Vec::<String>::new());
    assert_same(&world.tree(), &after);
    let done = world.json(["rewind", "t2", "--scope", "code"]);
    for name in ["target", "scope", "actions", "conflicts", "gaps", "plan"] {
        assert_eq!(plan[name], done[name], "{name}");
    }
    assert_eq!(done["scope"], "code");
    assert_eq!(done["rev"], "t2");
    assert_eq!(actions(&done), ["write a.txt", "create c.txt"]);
    assert_eq!(done["operation"], "op1");
    let node = world.checkpoints().pop().expect("a checkpoint");
    assert_eq!(
        (done["checkpoint"].as_str(), node.json["kind"].as_str()),
        (Some(&*node.id), Some("rewind"))
    );
    assert_eq!(
        world.read("a.txt"),
        with(&[("one", "1"), ("nine", "NINE (mine)")])
    );
    assert_eq!(world.read("c.txt"), "c\n");

    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), with(&[("nine", "NINE (mine)")]));
    assert!(!world.exists("b.txt"));
    assert_eq!(world.git_digest(), git);
}

/// S2-056, S2-059, S2-060, S2-D1, S4-017, S4-033, S4-048: a rewind to the checkpoint before the last change, by
/// revision, name or id.
#[test]
fn a_rewind_to_the_last_checkpoint_restores_its_tree() {
    let world = two_turns_around_an_own_edit();
    world.ok(["checkpoint", "-m", "good"]);
    let good = world.tree();
    let id = world.id("\"good\"");
    let mut agent = world.agent();
    agent.prompt("spoil it");
    agent.bash("echo > a.txt; rm -r src");
    for last in ["@^", "good", &id] {
        world.ok(["rewind", last]);
        assert_same(&world.tree(), &good);
        world.ok(["undo"]);
    }
}

/// S2-066: `@`, `@~2`, `c12^`, a label in quotes, and unknown names.
#[test]
fn revisions_are_resolved() {
    let world = two_turns_around_an_own_edit();
    world.ok(["checkpoint", "-m", "two words"]);
    let ids: Vec<_> = world.checkpoints().into_iter().map(|c| c.id).collect();
    let at = |back: usize| ids[ids.len() - 1 - back].clone();
    let parent = format!("{}^", at(1));
    for (rev, id) in [
        ("@", at(0)),
        ("@~2", at(2)),
        ("@^", at(1)),
        (parent.as_str(), at(2)),
        ("two words", at(0)),
        ("\"two words\"", at(0)),
        ("main", at(0)),
        ("main~3", at(3)),
    ] {
        assert_eq!(world.plan(["rewind", rev])["target"], id.as_str(), "{rev}");
        assert_eq!(world.json(["show", rev])["id"], id.as_str(), "{rev}");
    }
    for rev in ["c999", "t9", "@~99", "nobody", "c1^^"] {
        for command in ["rewind", "show", "diff", "revert"] {
            let output = world.run([command, rev]).expect_code(3);
            assert!(output.stderr.contains(rev), "{output}");
            assert!(output.stderr.contains("hint: "), "{output}");
        }
    }
    world.ok(["checkpoint", "-m", "two words"]);
    let output = world.run(["show", "two words"]).expect_code(2);
    assert!(
        output.stderr.contains("several checkpoints have the label"),
        "{output}"
    );
    world.ok(["rewind", "@~4"]);
    assert_eq!(world.read("c.txt"), "c\n");
}

/// S2-061, S2-D1, U-10: a rewind to a tool call by its number in the session.
#[test]
fn a_rewind_goes_to_a_tool_call_by_its_number() {
    let world = two_turns_around_an_own_edit();
    world.ok(["rewind", "--iteration", "3"]);
    assert!(world.exists("c.txt"));
    assert!(world.read("a.txt").contains("\n5\n"));
    world.ok(["rewind", "--iteration", "1"]);
    assert_eq!(
        world.read("a.txt"),
        with(&[("one", "1"), ("nine", "NINE (mine)")])
    );
    let output = world.run(["rewind", "--iteration", "99"]).expect_code(3);
    assert!(output.stderr.contains("iteration 99"), "{output}");
    world
        .run(["rewind", "t1", "--iteration", "1"])
        .expect_code(2);
}

/// A call that changed nothing has the state of the one before it. The session of a call number must be clear.
#[test]
fn a_tool_call_without_changes_has_the_state_before_it() {
    let world = two_turns_around_an_own_edit();
    let mut other = world.agent();
    other.session_start();
    other.prompt("look, then write");
    other.read("a.txt");
    other.write("e.txt", "e\n");
    other.read("a.txt");
    other.edit("e.txt", "e", "E");
    other.stop();
    let id = other.session();
    let rewind = ["rewind", "--iteration", "3"];
    let output = world.run(rewind).expect_code(2);
    assert!(
        output.stderr.contains("--session") && output.stderr.contains("iteration 3: A, B"),
        "{output}"
    );
    world.ok(rewind.iter().chain(&["--session", &id]));
    assert_eq!(world.read("e.txt"), "e\n");
    world.ok(["undo"]);
    world.ok(["rewind", "--iteration", "1", "--session", &id]);
    assert!(!world.exists("e.txt"));
}

/// U-18: a repeated rewind does nothing, and the timeline stays unchanged.
#[test]
fn u_18_a_repeated_rewind_changes_nothing() {
    let world = two_turns_around_an_own_edit();
    world.ok(["rewind", "t1"]);
    let (tree, history) = (world.tree(), world.history());
    for _ in 0..2 {
        let again = world.json(["rewind", "t1"]);
        assert!(
            again["operation"].is_null() && again["checkpoint"].is_null(),
            "{again}"
        );
        let text = world.ok(["rewind", "t1"]).stdout;
        assert!(text.contains("Nothing to do"), "{text}");
        assert_same(&world.tree(), &tree);
        assert_eq!(world.history(), history);
    }
}

/// A rewind of only some paths: a file, a directory, relative to the current directory.
#[test]
fn a_rewind_can_be_limited_to_paths() {
    let world = two_turns_around_an_own_edit();
    world.write("src/d.txt", "mine\n");
    world.ok(["rewind", "t1", "--path", "b.txt", "src"]);
    assert!(!world.exists("b.txt") && !world.exists("c.txt"));
    assert_eq!(world.read("src/d.txt"), "mine\n");
    assert!(world.read("a.txt").starts_with("1\n"));

    let mut inside = world.backstitch();
    inside
        .args(["rewind", "t1", "--path", "../c.txt"])
        .current_dir(world.path("src"));
    assert!(run(&mut inside));
    assert!(world.exists("c.txt"));
    let output = world
        .run(["rewind", "t1", "--path", "../outside"])
        .expect_code(2);
    assert!(output.stderr.contains("not in the workspace"), "{output}");
}

fn run(command: &mut Command) -> bool {
    command.output().expect("a run").status.success()
}

/// A rewind of hunks by their ids from `diff --json`: one of two edits of a file is taken out.
#[test]
fn a_rewind_can_be_limited_to_hunks() {
    let world = two_turns_around_an_own_edit();
    let diff = world.json(["diff", "@", "t1"]);
    let hunk = |added: &str| -> String {
        let files = diff["files"].as_array().expect("files").iter();
        let hunks = files.flat_map(|f| f["hunks"].as_array().expect("hunks"));
        let found: Vec<&Value> = hunks.filter(|h| h["added"][0] == added).collect();
        assert_eq!(found.len(), 1, "{added} in {diff:#}");
        found[0]["id"].as_str().expect("an id").to_owned()
    };
    world.ok(["rewind", "t1", "--hunk", &hunk("five")]);
    assert_eq!(
        world.read("a.txt"),
        with(&[("one", "1"), ("nine", "NINE (mine)")])
    );
    assert!(world.exists("b.txt") && !world.exists("c.txt"));
    world.ok(["undo"]);
    assert!(world.read("a.txt").contains("\n5\n"));
    refused(
        &world,
        &["rewind", "t1", "--hunk", "0000"],
        &["no hunk 0000", "diff REV --json"],
    );
}

/// Promise 3: where a step that is taken out adopted a file, the file's earlier content is unknown, and the plan says
/// so.
#[test]
fn adopted_files_are_named_as_unknown() {
    let world = World::committed(&[("a.txt", NINE_LINES), (".gitignore", "*.log\n")]);
    world.write("k.log", "1\n");
    let mut agent = world.agent();
    agent.prompt("go");
    // a file that the command names would be recorded before it
    agent.bash(": > .gitignore; echo agent | tee -a $(ls | grep og$)");
    agent.stop();
    let plan = world.plan(["rewind", "t1"]);
    assert_eq!(gaps(&plan), ["unknown k.log"]);
    let output = world.run(["cat", "c1", "k.log"]).expect_code(3);
    assert!(output.stderr.contains("is not known"), "{output}");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("k.log"), "1\nagent\n");
    let ignored = world.ok(["status"]).stdout;
    assert!(ignored.contains("left out by ignore rules"), "{ignored}");
}

/// A chosen hunk is taken out where another hunk of the same file conflicts.
#[test]
fn a_hunk_is_reverted_beside_a_conflict_in_the_same_file() {
    let world = World::committed(&[("a.txt", NINE_LINES), ("b.txt", "b\n")]);
    let mut agent = world.agent();
    agent.prompt("go");
    agent.edit("a.txt", "two", "2");
    agent.edit("a.txt", "nine", "9");
    agent.edit("b.txt", "b", "B");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace('2', "mine"));
    world.write("b.txt", "mine, too\n");
    world.ok(["checkpoint"]);
    let files = world.json(["diff", "@", "t1"])["files"].clone();
    let hunks = files[0]["hunks"].as_array().expect("hunks").clone();
    let id = |added: &str| {
        let hunk = hunks
            .iter()
            .find(|h| h["added"][0] == added)
            .expect("the hunk");
        hunk["id"].as_str().expect("an id").to_owned()
    };
    refused(
        &world,
        &["rewind", "t1", "--hunk", &id("two")],
        &["conflicts in 2 files"],
    );
    world.ok(["rewind", "t1", "--hunk", &id("nine")]);
    assert_eq!(world.read("a.txt"), with(&[("two", "mine")]));
    assert_eq!(world.read("b.txt"), "mine, too\n");
    world.ok(["undo"]);
    assert_eq!(world.read("a.txt"), with(&[("two", "mine"), ("nine", "9")]));
}

/// A file with several conflicts counts as one file.
#[test]
fn a_file_with_many_conflicts_counts_once() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("again and again");
    for (old, new, mine) in [("one", "two", "my two"), ("my two", "three", "my three")] {
        agent.edit("a.txt", old, new);
        world.write("a.txt", format!("{mine}\n"));
    }
    agent.edit("a.txt", "my three", "four");
    agent.stop();
    world.write("a.txt", "mine\n");
    world.ok(["checkpoint"]);
    refused(&world, &["rewind", "t1"], &["conflicts in 1 file;"]);
    let plan = world.run(["--json", "rewind", "t1", "--dry-run"]).json();
    let conflicts = plan["conflicts"].as_array().expect("conflicts");
    assert_eq!(conflicts.len(), 1, "{plan:#}");
    assert_eq!(conflicts[0]["path"], "a.txt");
    assert_eq!(conflicts[0]["hunks"].as_array().map(Vec::len), Some(1));
}

/// A conflict in another file does not block a chosen hunk; one in its own file does.
#[test]
fn a_conflict_in_another_file_does_not_block_a_hunk() {
    let world = collision();
    let diff = world.json(["diff", "@", "t1"]);
    let hunk = |path: &str| -> String {
        let files = diff["files"].as_array().expect("files");
        let file = files.iter().find(|f| f["path"] == path).expect("the file");
        file["hunks"][0]["id"].as_str().expect("an id").to_owned()
    };
    refused(
        &world,
        &["rewind", "t1", "--hunk", &hunk("a.txt")],
        &["conflicts in 1 file"],
    );
    let mine = world.read("a.txt");
    world.ok(["rewind", "t1", "--hunk", &hunk("b.txt")]);
    assert_eq!(world.read("a.txt"), mine);
    assert!(!world.exists("b.txt"));
}

/// An exact rewind restores the recorded state: everyone's edits are undone, and `undo` restores them.
#[test]
fn an_exact_rewind_restores_the_recorded_state() {
    let world = two_turns_around_an_own_edit();
    let after = world.tree();
    world.ok(["rewind", "t1", "--exact"]);
    assert_eq!(world.read("a.txt"), NINE_LINES);
    assert!(!world.exists("b.txt") && world.exists("c.txt"));
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
}

/// One turn or step in the middle is reverted, and later ones stay. The revert can be undone.
#[test]
fn a_revert_removes_one_turn_and_keeps_later_ones() {
    let world = two_turns_around_an_own_edit();
    let after = world.tree();
    world.ok(["revert", "t1"]);
    assert_eq!(
        world.read("a.txt"),
        with(&[("nine", "NINE (mine)"), ("five", "5")])
    );
    assert!(!world.exists("b.txt") && !world.exists("c.txt"));
    world.ok(["undo"]);
    assert_same(&world.tree(), &after);
    let rm = world.id("t2 Bash: delete c.txt");
    let mut five = world
        .checkpoints()
        .into_iter()
        .filter(|c| c.line == "t2 Edit: modify a.txt");
    let five = five.next_back().expect("a step").id;
    world.ok(["revert", &rm, &five]);
    assert_eq!(
        world.read("a.txt"),
        with(&[("one", "1"), ("nine", "NINE (mine)")])
    );
    assert!(world.exists("c.txt") && world.exists("b.txt"));
}

/// U-19: the user has changed the same line since: a conflict, which changes nothing until it is decided.
#[test]
fn u_19_an_edit_of_the_same_line_is_a_conflict() {
    for (how, text) in [
        ("current", with(&[("one", "1 and mine")])),
        ("target", NINE_LINES.to_owned()),
    ] {
        let world = collision();
        let output = refused(
            &world,
            &["rewind", "t1"],
            &["conflicts in 1 file", "--on-conflict"],
        );
        assert!(output.stdout.contains("conflicts\n  a.txt"), "{output}");
        refused(
            &world,
            &["rewind", "t1", "--on-conflict", "fail"],
            &["conflicts in"],
        );
        refused(&world, &["rewind", "t1", "--dry-run"], &["conflicts in"]);
        let answer = world.run(["--json", "rewind", "t1"]).expect_code(1).json();
        assert_eq!(conflicts(&answer), ["a.txt"]);
        assert_eq!(
            answer["conflicts"][0]["hunks"][0]["kept"],
            serde_json::json!([0, 1])
        );
        assert_eq!(answer["error"]["kind"], "conflict");

        let before = world.tree();
        world.ok(["rewind", "t1", "--on-conflict", how]);
        assert_eq!(world.read("a.txt"), text, "{how}");
        assert!(!world.exists("b.txt"));
        world.ok(["undo"]);
        assert_same(&world.tree(), &before);
    }
    let world = collision();
    world.ok(["rewind", "t1", "--on-conflict", "markers"]);
    let text = world.read("a.txt");
    for part in [
        "<<<<<<<",
        "1 and mine\n",
        "=======",
        "one\n",
        ">>>>>>>",
        "\ntwo\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

fn collision() -> World {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut agent = world.agent();
    agent.session_start();
    first_of_two_turns(&mut agent);
    world.write("a.txt", world.read("a.txt").replace("1\n", "1 and mine\n"));
    world.ok(["diff"]);
    world
}

/// U-19: a rewind whose conflict was decided is undone; the next plan names the file once, whatever decides it, and each
/// decision can be carried out.
#[test]
fn a_conflict_can_be_decided_a_second_time() {
    for how in ["markers", "current", "target"] {
        let world = collision();
        world.ok(["rewind", "t1", "--on-conflict", "markers"]);
        world.write("a.txt", with(&[("one", "1 and mine")]));
        world.ok(["undo", "--on-conflict", "current"]);
        for mode in ["fail", how] {
            let args = ["--json", "rewind", "t1", "--dry-run", "--on-conflict", mode];
            let plan = world.run(args).json();
            assert_eq!(conflicts(&plan), ["a.txt"], "{mode}: {plan:#}");
            let hunks = plan["conflicts"][0]["hunks"].as_array().map(Vec::len);
            assert_eq!(hunks, Some(1), "{mode}: {plan:#}");
        }
        world.ok(["rewind", "t1", "--on-conflict", how]);
        let text = world.read("a.txt");
        assert_eq!(text.contains("<<<<<<< "), how == "markers", "{text}");
        assert_eq!(text.contains("1 and mine"), how != "target", "{text}");
    }
}

/// Other conflicts: a file that the agent created and the user edited; one that the agent deleted and the user
/// recreated; a binary that both changed.
#[test]
fn created_deleted_and_binary_files_conflict() {
    let world = World::committed(&[("c.txt", "c\n")]);
    world.write("pic", b"\0one");
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.write("new.txt", "agent\n");
    agent.bash("rm c.txt; printf '\\0two' > pic");
    agent.stop();
    world.write("new.txt", "agent\nmine\n");
    world.write("c.txt", "mine\n");
    world.write("pic", b"\0three");
    let answer = world.run(["--json", "rewind", "t1"]).expect_code(1).json();
    let named = conflicts(&answer);
    assert!(
        named.contains(&"new.txt".into()) && named.contains(&"pic".into()),
        "{answer:#}"
    );
    for conflict in answer["conflicts"].as_array().expect("conflicts") {
        assert_ne!(conflict["reason"], "", "{conflict}");
    }
    world.ok(["rewind", "t1", "--on-conflict", "current"]);
    assert_eq!(world.read("new.txt"), "agent\nmine\n");
    assert_eq!(world.bytes("pic"), b"\0three");
    assert_eq!(world.read("c.txt"), "mine\n");
}

/// `--plan` does exactly what was shown, or nothing.
#[test]
fn a_plan_is_carried_out_as_shown_or_refused() {
    let world = two_turns_around_an_own_edit();
    let plan = |world: &World| {
        world.plan(["rewind", "t2"])["plan"]
            .as_str()
            .expect("a plan")
            .to_owned()
    };
    let shown = plan(&world);
    assert_eq!(plan(&world), shown, "the same state has the same plan");
    let text = world.ok(["rewind", "t2", "--dry-run"]).stdout;
    assert!(text.contains(&format!("--plan {shown}")), "{text}");
    world.write("a.txt", with(&[("one", "1"), ("two", "2 (mine)")]));
    world.ok(["diff"]);
    refused(
        &world,
        &["rewind", "t2", "--plan", &shown],
        &["changed since this plan", "--dry-run"],
    );
    refused(
        &world,
        &["rewind", "t1", "--plan", &shown],
        &["changed since this plan"],
    );
    let fresh = plan(&world);
    assert_ne!(fresh, shown);
    world.ok(["rewind", "t2", "--plan", &fresh]);
    assert_eq!(
        world.read("a.txt"),
        with(&[("one", "1"), ("two", "2 (mine)")])
    );
}

/// A conversation without a record, or one of a revert, is refused, and nothing changes.
#[test]
fn a_rewind_of_the_conversation_is_refused() {
    let world = two_turns_around_an_own_edit();
    for scope in ["conversation", "both"] {
        refused(
            &world,
            &["rewind", "t1", "--scope", scope],
            &["has no prompt in a form that is known", "--scope code"],
        );
        refused(
            &world,
            &["revert", "t1", "--scope", scope],
            &["not supported"],
        );
    }
    world
        .run(["rewind", "t1", "--scope", "nothing"])
        .expect_code(2);
}

/// U-17: `show` has the turn's own changes, the dry run those of a rewind to it.
#[test]
fn u_17_a_turns_own_changes_and_what_a_rewind_restores() {
    let world = two_turns_around_an_own_edit();
    let own = world.ok(["show", "t1", "--name-status"]).stdout;
    assert_eq!(own, "M\ta.txt\nA\tb.txt\n");
    let own: Vec<_> = world.json(["show", "t1"])["steps"]
        .as_array()
        .expect("steps")
        .clone();
    assert_eq!(own.len(), 2);
    let all = actions(&world.plan(["rewind", "t1"]));
    assert_eq!(all, ["merge a.txt", "delete b.txt", "create c.txt"]);
}

/// U-16: the turn can be rewound as soon as it ends, and even while it runs.
#[test]
fn u_16_the_newest_turn_can_be_rewound() {
    let world = World::committed(&[("a.txt", NINE_LINES)]);
    let mut agent = world.agent();
    agent.session_start();
    agent.prompt("go");
    agent.edit("a.txt", "one", "1");
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), NINE_LINES);
    agent.edit("a.txt", "two", "2");
    agent.stop();
    world.ok(["rewind", "t1"]);
    assert_eq!(world.read("a.txt"), NINE_LINES);
}

/// Files that a rewind does not change keep their timestamps: nothing is rebuilt for them.
#[test]
fn untouched_files_keep_their_times() {
    let world = two_turns_around_an_own_edit();
    let time = |path: &str| {
        world
            .path(path)
            .metadata()
            .expect("a file")
            .modified()
            .expect("a time")
    };
    let before = (time("src/d.txt"), time("b.txt"));
    world.ok(["rewind", "t2"]);
    assert_eq!((time("src/d.txt"), time("b.txt")), before);
}

/// The last file event for a restored file is its creation: an editor that gets a deletion last would treat it as
/// deleted, or ignore the change.
#[test]
#[cfg(target_os = "linux")]
fn file_watchers_hear_last_that_a_file_was_created() {
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

    let world = World::committed(&[("src/a.txt", "one\ntwo\nthree\n")]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("src/a.txt", "two\n", "2\n");
    agent.stop();
    let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).expect("inotify");
    inotify::add_watch(&queue, world.path("src"), WatchFlags::ALL_EVENTS).expect("a watch");
    for command in [vec!["rewind", "t1"], vec!["undo"], vec!["redo"]] {
        world.ok(&command);
        let mut space = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&queue, &mut space);
        let mut told = Vec::new();
        while let Ok(event) = reader.next() {
            let names = [
                (ReadFlags::MOVED_TO, "came"),
                (ReadFlags::CREATE, "came"),
                (ReadFlags::MOVED_FROM, "went"),
                (ReadFlags::DELETE, "went"),
            ];
            let is_ours = event
                .file_name()
                .is_some_and(|name| name.to_bytes() == b"a.txt");
            let what = names
                .iter()
                .find(|(flag, _)| event.events().contains(*flag));
            told.extend(what.filter(|_| is_ours).map(|(_, what)| *what));
        }
        assert_eq!(told.last(), Some(&"came"), "{command:?}: {told:?}");
    }
}
