//! A second try beside the first, with another directory, branch and conversation.

use std::fs;

use serde_json::json;

use super::{Spoken, made_so_far, record, said};

/// The conversation continues in another directory. Its turns are recorded there, on that branch, and the first one is as it was.
fn both_fork(agent: &'static str) {
    let Some(spoken) = Spoken::new("both_fork", agent) else {
        return;
    };
    let world = &spoken.world;
    let into = world.root.with_file_name("try");
    let copy = world.home.join("record-before");
    let command = format!(
        "[ $TURN = 5 ] || exit 0; f=$(find \"$HOME/.claude/projects\" \"$HOME/.codex/sessions\" -name '*.jsonl' 2>/dev/null | head -1); \
         cp \"$f\" '{}'; {}",
        copy.display(),
        spoken.before_the_last(&format!(
            "fork t3 try --into '{}' --scope both",
            into.display()
        ))
    );
    let report = spoken.say(&command);
    let turns = report["turns"].as_array().expect("turns");
    let old = turns[3]["session"].as_str().expect("a session");
    let new = turns[4]["session"].as_str().expect("a session");
    assert_ne!(old, new, "{report:#}");
    assert_eq!(record(&spoken, old).1, fs::read(&copy).expect("a copy"));
    // the model has the two turns before, and the new directory
    let request = spoken.request("prompt again").to_string();
    for told in ["prompt alpha", "prompt bravo", &into.to_string_lossy()] {
        assert!(request.contains(told), "{told}: {request}");
    }
    assert!(!request.contains("prompt charlie"), "{request}");
    // it worked there alone
    let main = fs::read_to_string(into.join("main.txt")).expect("a file");
    assert_eq!(main, "start\n1\n2\n3\n");
    assert_eq!(world.read("main.txt"), "start\n1\n2\n3\n4\n");
    let log = world.json(["--workspace", &*into.to_string_lossy(), "log"]);
    let turn = log["checkpoints"].as_array().expect("checkpoints").iter();
    let turn = turn
        .rev()
        .find(|one| one.to_string().contains("prompt again"));
    assert!(turn.is_some(), "{log:#}");
    let here = world.json(["log"]).to_string();
    assert!(!here.contains("prompt again"), "{here}");
    let made = world.json(["conversation", "list"]);
    let made = &made["conversations"][0];
    assert_eq!(
        (&made["turn"], &made["used"], &made["branch"]),
        (&json!("t3"), &json!(true), &json!("try")),
        "{made:#}"
    );
    assert_eq!(made["cwd"], json!(into));
}

/// S3-053: fork starts a new session there and keeps the old. S2-081: branches keep their conversations apart.
#[test]
fn s3_053_s2_081_both_fork_in_claude_code() {
    both_fork("claude");
}

/// S3-053: fork starts a new session there and keeps the old. S2-081: branches keep their conversations apart.
#[test]
fn s3_053_s2_081_both_fork_in_codex() {
    both_fork("codex");
}

/// Killed at each moment of a fork, the directory, the branch and the session are there, or none of them is.
#[test]
fn a_fork_is_whole_or_nothing_when_killed() {
    let Some((spoken, _)) = said("a_fork_is_whole_or_nothing_when_killed", "claude") else {
        return;
    };
    let world = &spoken.world;
    let before = spoken.records().len();
    let mut ends = [0, 0];
    for fault in 1.. {
        let (name, known) = (format!("try{fault}"), made_so_far(world));
        let into = world.root.with_file_name(&name);
        let place = into.to_string_lossy().into_owned();
        let fork = [
            "fork", "t3", &name, "--into", &place, "--scope", "both", "--json",
        ];
        let output = spoken.run(&fork, Some(fault));
        let is_done = output.code == 0;
        // the next command finishes the work, or removes its remains
        spoken.run(&["rewind", "t5", "--scope", "both", "--dry-run"], None);
        let made = made_so_far(world) - known;
        let branches = world.json(["branch", "list"]).to_string();
        assert_eq!(
            branches.contains(&format!("\"{name}\"")),
            made == 1,
            "fault {fault}: {output}"
        );
        assert_eq!(
            into.join("main.txt").exists(),
            made == 1,
            "fault {fault}: {output}"
        );
        let records = before + ends[1] + made;
        assert_eq!(spoken.records().len(), records, "fault {fault}: {output}");
        ends[made] += 1;
        if is_done {
            break;
        }
    }
    assert!(ends[0] > 2, "{ends:?}");
    // a name that is taken, and a directory that is there, leave no session
    let made = made_so_far(world);
    for (name, place) in [("main", "fresh"), ("other", "home")] {
        let into = world.root.with_file_name(place);
        let place = into.to_string_lossy().into_owned();
        fs::create_dir_all(into.join("full")).expect("a directory");
        let fork = ["fork", "t3", name, "--into", &place, "--scope", "both"];
        assert_ne!(spoken.run(&fork, None).code, 0);
    }
    assert_eq!(made_so_far(world), made);
}

/// A branch in the same directory names its conversation when one switches to it, and in the list of branches.
#[test]
fn a_branch_names_its_conversation() {
    let Some((spoken, session)) = said("a_branch_names_its_conversation", "claude") else {
        return;
    };
    let world = &spoken.world;
    let made = spoken.run(&["fork", "t3", "idea", "--scope", "both", "--json"], None);
    let made = made.expect_code(0).json();
    let new = made["conversation"]["new"].as_str().expect("a session");
    let switched = spoken
        .run(&["switch", "idea", "--yes"], None)
        .expect_code(0);
    let line = format!("continue with:  claude --resume {new}");
    assert!(switched.stdout.contains(&line), "{switched}");
    let listed = spoken
        .run(&["branch", "list", "-v"], None)
        .expect_code(0)
        .stdout;
    for session in [new, &session] {
        assert!(
            listed.contains(&format!("claude --resume {session}")),
            "{listed}"
        );
    }
    let back = spoken
        .run(&["switch", "main", "--yes"], None)
        .expect_code(0);
    let line = format!("claude --resume {session}");
    assert!(back.stdout.contains(&line), "{back}");
    // an agent's conversation is not forked without the files
    let alone = spoken.run(&["fork", "t3", "x", "--scope", "conversation"], None);
    assert!(alone.stderr.contains("--scope both"), "{alone}");
    assert_eq!(alone.code, 2);
    assert!(world.json(["branch", "list"]).to_string().contains("idea"));
}
