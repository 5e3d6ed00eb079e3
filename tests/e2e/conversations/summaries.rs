//! A long conversation that is made short: a summary takes the place of a part.

use serde_json::json;

use super::{Spoken, made_so_far, record, said};

/// A command that sums up, and keeps the text that it was given.
const SUMS_UP: &str = "[summarize]\ncommand = 'cat > \"$HOME/given\"; echo \"  SHORT  \"'\n";

/// The model gets the kept part and the summary, in order.
fn summarized(agent: &'static str, from: bool) {
    let Some(spoken) = Spoken::new("summarized", agent) else {
        return;
    };
    let world = &spoken.world;
    world.configure(SUMS_UP);
    let side = if from { "--from" } else { "--up-to" };
    let report = spoken.say(&spoken.before_the_last(&format!("summarize t3 {side} --yes")));
    let turns = report["turns"].as_array().expect("turns");
    assert_ne!(turns[3]["session"], turns[4]["session"], "{report:#}");
    let given = world.read(world.home.join("given"));
    let request = spoken.request("prompt again").to_string();
    let (kept, part) = if from {
        (
            ["prompt alpha", "prompt bravo"],
            ["prompt charlie", "prompt delta"],
        )
    } else {
        (
            ["prompt charlie", "prompt delta"],
            ["prompt alpha", "prompt bravo"],
        )
    };
    for prompt in kept {
        assert!(
            request.contains(prompt) && !given.contains(prompt),
            "{prompt}"
        );
    }
    for prompt in part {
        assert!(!request.contains(prompt), "{prompt}: {request}");
        assert!(given.contains(&format!("User: {prompt}\n")), "{given}");
    }
    assert!(given.contains("Assistant: answer"), "{given}");
    let summary = request.find("Summary of the earlier part of this conversation:");
    let summary = summary.unwrap_or_else(|| panic!("{request}"));
    assert!(request[summary..].contains("SHORT"), "{request}");
    let place = request.find(kept[0]).expect("a prompt");
    assert_eq!(summary > place, from, "{request}");
    // the files are those of the last turn, and the next one adds its line
    let main = world.read("main.txt");
    assert!(main.starts_with("start\n1\n2\n3\n4\n"), "{main}");
    assert_eq!(main.lines().count(), 6, "{main}");
}

/// S3-054: summarize from here.
#[test]
fn s3_054_summary_from_a_turn_in_claude_code() {
    summarized("claude", true);
}

/// S3-055: summarize up to here.
#[test]
fn s3_055_summary_up_to_a_turn_in_claude_code() {
    summarized("claude", false);
}

/// S3-054: summarize from here.
#[test]
fn s3_054_summary_from_a_turn_in_codex() {
    summarized("codex", true);
}

/// S3-055: summarize up to here.
#[test]
fn s3_055_summary_up_to_a_turn_in_codex() {
    summarized("codex", false);
}

/// A summary that fails, is empty, or is too long changes nothing. A dry run shows it, and makes nothing. The agent itself sums up
/// where no command is set, and that is not a turn.
#[test]
fn summaries_that_fail_change_nothing() {
    let Some((spoken, session)) = said("summaries_that_fail_change_nothing", "claude") else {
        return;
    };
    let world = &spoken.world;
    let before = (
        record(&spoken, &session).1,
        spoken.records().len(),
        made_so_far(world),
    );
    let now = || {
        (
            record(&spoken, &session).1,
            spoken.records().len(),
            made_so_far(world),
        )
    };
    let summarize = ["summarize", "t3", "--from", "--yes"];
    for (command, reason) in [
        (
            "echo no key >&2; exit 3",
            "failed with exit status: 3; it said: no key",
        ),
        ("cat > /dev/null", "wrote nothing"),
        ("yes | head -c 10000000", "wrote more than 64 KiB"),
        ("printf '\\377'", "not UTF-8"),
        ("no-such-program", "not found"),
    ] {
        world.configure(&format!("[summarize]\ncommand = {command:?}\n"));
        let said = spoken.run(&summarize, None).expect_code(1).stderr;
        assert!(said.contains(reason), "{said}");
        assert!(said.contains("nothing was changed"), "{said}");
        assert_eq!(now(), before, "{command}");
    }
    world.configure(SUMS_UP);
    let shown = spoken.run(&["summarize", "t3", "--from", "--dry-run"], None);
    let shown = shown.expect_code(0).stdout;
    assert!(shown.contains("  SHORT\n"), "{shown}");
    assert!(
        shown.contains("summary from t3 “prompt charlie”"),
        "{shown}"
    );
    let none = spoken.run(&["summarize", "t1", "--up-to", "--yes"], None);
    assert!(
        none.expect_code(1)
            .stderr
            .contains("nothing comes before t1")
    );
    assert_eq!(now(), before);
    // a project's file names no command
    world.write(
        ".backstitch.toml",
        "[summarize]\ncommand = 'touch bad; echo bad'\n",
    );
    let made = spoken.run(&["summarize", "t3", "--up-to", "--yes", "--json"], None);
    let made = made.expect_code(0).json();
    let made = &made["conversation"];
    assert!(made["summary"].to_string().contains("SHORT"), "{made:#}");
    assert_eq!(
        (&made["kept"], &made["prompt"]),
        (&json!(3), &json!("")),
        "{made:#}"
    );
    assert!(!world.exists("bad"));
    let listed = spoken
        .run(&["conversation", "list"], None)
        .expect_code(0)
        .stdout;
    assert!(listed.contains("summary up to t3"), "{listed}");
}
