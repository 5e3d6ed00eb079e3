//! Lenses, actions and hovers in the code, and the notifications that refresh them.

use backstitch_protocol::REWIND_LENS;
use serde_json::{Value, json};

use super::client::{Client, Editor};
use crate::support::scenarios::{FIVE_LINES, SEVEN_LINES, two_files};

fn without_age(title: &str) -> String {
    title
        .rsplit_once(" · ")
        .map_or(title, |(title, _)| title)
        .to_owned()
}

/// A lens appears in every editor above an agent's change, as soon as another process records it.
#[test]
fn a_lens_appears_when_an_agent_writes() {
    for editor in Editor::ALL {
        let world = two_files(FIVE_LINES);
        world.ok(["checkpoint"]);
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        assert_eq!(client.lenses("a.txt"), []);
        let mut agent = world.agent();
        agent.prompt("make it two");
        agent.edit("a.txt", "two\n", "2\ntwo and a half\n");
        agent.stop();
        if matches!(editor, Editor::Vscode | Editor::Nvim) {
            client.until(|client| client.refreshed > 0);
        }
        client.reload("a.txt");
        let lenses = client.lenses("a.txt");
        let titles: Vec<(u64, String)> = lenses
            .iter()
            .map(|(line, title, _)| (*line, without_age(title)))
            .collect();
        assert_eq!(
            titles,
            [
                (0, "1 checkpoint".into()),
                (1, format!("{REWIND_LENS} · turn 1 “make it two”")),
                (1, "fork".into()),
                (1, "diff".into()),
            ],
            "{editor:?}"
        );
        assert_eq!(lenses[1].2["arguments"][0]["rev"], "t1");
        client.leave();
    }
}

/// Helix and Emacs draw no lenses: the same commands are offered as code actions.
#[test]
fn every_lens_is_also_a_code_action() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Helix);
    client.open("a.txt");
    let titles: Vec<String> = client
        .actions("a.txt", 1..2)
        .into_iter()
        .map(|(title, _)| without_age(&title))
        .collect();
    assert_eq!(
        titles,
        [
            "Rewind to before turn 1 “make it two”",
            "Rewind this file to before turn 1 “make it two”",
            "Rewind these lines to before turn 1",
            "Revert only turn 1 “make it two”",
            "Show what turn 1 changed here",
            "Show changes since before turn 1 “make it two”",
            "Fork from before turn 1 “make it two”",
            "Make a checkpoint",
            "Show the timeline",
            "Stop agents here",
        ]
    );
    client.leave();
}

#[test]
fn a_hover_names_the_author_of_a_line() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it *two*");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    let hover = |client: &mut Client, line: u64| {
        let uri = client.uri("a.txt");
        let params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": 0 },
        });
        client.ok("textDocument/hover", params)
    };
    let told = hover(&mut client, 1);
    let text = told["contents"]["value"].as_str().expect("text");
    assert!(
        text.starts_with("**turn 1** “make it \\*two\\*”  \nclaude-code Edit · c"),
        "{text}"
    );
    assert!(text.ends_with("\n\n```diff\n-two\n+2\n```"), "{text}");
    assert!(hover(&mut client, 0).is_null(), "nobody's line");
    // some editors show backslashes: only characters with a meaning have one
    let (typed, shown) = (
        "a `b_c` [d](e) _f_ g_h <i> \\* ~/j k! $5 & 1 < 2 | l > m * n",
        "a `b_c` \\[d](e) `_f_` g_h \\<i> \\\\\\* ~/j k! $5 & 1 < 2 | l > m * n",
    );
    agent.prompt(typed);
    agent.edit("a.txt", "three\n", "3\n");
    agent.stop();
    client.reload("a.txt");
    let told = hover(&mut client, 2);
    let text = told["contents"]["value"].as_str().expect("text");
    assert!(text.contains(&format!("“{shown}”")), "{text}");
    client.leave();
}

/// Lenses and blame use the lines of the editor, including typed text.
#[test]
fn blame_follows_typed_text() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.type_over("a.txt", "one\n", "one\nmy own\nlines\n");
    let lenses = client.lenses("a.txt");
    assert_eq!(lenses[1].0, 3, "{lenses:?}");
    let uri = client.uri("a.txt");
    let blame = client.ok("backstitch/blame", json!({ "uri": uri }));
    let by: Vec<&str> = blame["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| run["by"].as_str().expect("who"))
        .collect();
    assert_eq!(by, ["before", "unsaved", "agent", "before"]);
    client.leave();
}

fn titles(actions: Vec<(String, Value)>) -> Vec<String> {
    actions
        .into_iter()
        .map(|(title, _)| without_age(&title))
        .collect()
}

/// Undo and redo are offered only while there is something to undo or to redo.
#[test]
fn undo_and_redo_are_offered_when_they_do_something() {
    let world = two_files(FIVE_LINES);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::with(
        &world,
        Editor::Nvim,
        &json!({ "reloadsFromDisk": true, "notifications": true }),
    );
    client.open("a.txt");
    let offered = |client: &mut Client| titles(client.actions("a.txt", 4..5));
    assert_eq!(
        offered(&mut client),
        ["Make a checkpoint", "Show the timeline", "Stop agents here"]
    );
    client.command(
        "backstitch.rewind",
        json!({ "rev": "t1", "confirm": false }),
    );
    client.reload("a.txt");
    assert_eq!(offered(&mut client)[0], "Undo the last rewind");
    assert_eq!(offered(&mut client).len(), 4);
    client.command("backstitch.undo", json!({ "confirm": false }));
    client.reload("a.txt");
    assert_eq!(offered(&mut client)[0], "Redo the rewind");
    assert_eq!(offered(&mut client).len(), 4);
    client.leave();
}

/// An agent wrote the first line: the file's lens would stand at the same place, so it is left out. The lenses of one run
/// have distinct characters, by which clients sort them.
#[test]
fn one_line_has_one_group_of_lenses() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("write it");
    agent.write("new.txt", "one\ntwo\n");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("new.txt");
    let uri = client.uri("new.txt");
    let lenses = client.ok(
        "textDocument/codeLens",
        json!({ "textDocument": { "uri": uri } }),
    );
    let starts: Vec<&Value> = lenses
        .as_array()
        .expect("lenses")
        .iter()
        .map(|lens| &lens["range"]["start"])
        .collect();
    let at = |character: u64| json!({ "line": 0, "character": character });
    assert_eq!(starts, [&at(0), &at(1), &at(2)]);
    client.open("a.txt");
    let lines: Vec<u64> = client.lenses("a.txt").iter().map(|lens| lens.0).collect();
    assert_eq!(
        lines,
        [0, 1, 1, 1],
        "the file's lens has its line for itself"
    );
    client.leave();
}

/// The short form: one group for each turn in a file, at its first run of lines, and none for the file.
#[test]
fn short_lenses_stand_once_for_each_turn() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("first");
    agent.edit("a.txt", "two\n", "2\n");
    agent.edit("a.txt", "six\n", "6\n");
    agent.edit("b.txt", "other", "another");
    agent.prompt("second");
    agent.edit("a.txt", "four\n", "4\n");
    agent.stop();
    let own = json!({ "lensForm": "short", "notifications": true, "reloadsFromDisk": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let lenses = client.lenses("a.txt");
    let shown: Vec<(u64, &str)> = lenses
        .iter()
        .map(|(line, title, _)| (*line, title.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (1, "Revert turn"),
            (1, "Revert here"),
            (1, "Diff"),
            (3, "Revert turn"),
            (3, "Revert here"),
            (3, "Diff"),
        ]
    );
    // `Revert turn` reverts exactly that turn, in all files; the second turn stays
    let mut revert_turn = lenses[0].2.clone();
    assert_eq!(revert_turn["command"], "backstitch.revert");
    revert_turn["arguments"][0]["confirm"] = json!(false);
    client.run(&revert_turn);
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("four", "4"));
    assert_eq!(world.read("b.txt"), "other\n");
    world.ok(["undo", "-y"]);
    // `Revert here` takes the first turn out of this file alone; the second turn stays
    let mut revert_here = lenses[1].2.clone();
    assert_eq!(revert_here["command"], "backstitch.revert");
    revert_here["arguments"][0]["confirm"] = json!(false);
    client.run(&revert_here);
    assert_eq!(world.read("a.txt"), SEVEN_LINES.replace("four", "4"));
    assert_eq!(world.read("b.txt"), "another\n");
    client.leave();
}

/// A file of many turns has lenses for the newest of them, and one that leads to the others.
#[test]
fn the_newest_turns_have_lenses_and_one_lens_leads_to_the_others() {
    let lines: Vec<String> = (1..=25).map(|n| format!("line {n}\n")).collect();
    let world = two_files(&lines.concat());
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    for n in 1..=25 {
        agent.prompt(&format!("number {n}"));
        agent.edit("a.txt", &format!("line {n}\n"), &format!("{n}\n"));
        agent.stop();
    }
    for (form, shown) in [("short", 5), ("full", 20)] {
        let own = json!({ "lensForm": form, "notifications": true, "reloadsFromDisk": true });
        let mut client = Client::with(&world, Editor::Vscode, &own);
        client.open("a.txt");
        let lenses = client.lenses("a.txt");
        let (earlier, others): (Vec<_>, Vec<_>) = lenses
            .iter()
            .partition(|(_, title, _)| *title == format!("{} earlier turns…", 25 - shown));
        let [(0, _, command)] = earlier.as_slice() else {
            panic!("{form}: {lenses:?}");
        };
        assert_eq!(command["command"], "backstitch.timeline");
        assert_eq!(command["arguments"][0]["uri"], client.uri("a.txt"));
        let oldest = 25 - shown;
        let newest = others.iter().filter(|(line, ..)| *line >= oldest).count();
        assert_eq!(newest as u64, 3 * shown, "{form}: {lenses:?}");
        // the full form has one of the file, too
        let at_top = others.len() - newest;
        assert_eq!(at_top, usize::from(form == "full"), "{form}: {lenses:?}");
        client.leave();
    }
}

/// On request, code actions are three, on an agent's lines only, and hovers leave the user's own lines alone.
#[test]
fn actions_and_hovers_keep_to_the_agents_lines() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    world.write("a.txt", world.read("a.txt").replace("five", "5"));
    world.ok(["checkpoint"]);
    let own = json!({ "codeActions": "agentLines", "hover": "agent" });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    assert_eq!(
        titles(client.actions("a.txt", 1..2)),
        [
            "Rewind these lines to before “make it two”",
            "Revert “make it two” in this file",
            "Revert “make it two”",
        ]
    );
    assert_eq!(client.actions("a.txt", 4..5), []);
    let uri = client.uri("a.txt");
    let at = |line: u64| json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": 0 } });
    assert!(client.ok("textDocument/hover", at(4)).is_null());
    assert!(client.ok("textDocument/hover", at(1)).is_object());
    client.leave();
    let mut client = Client::with(&world, Editor::Vscode, &json!({ "hover": "off" }));
    client.open("a.txt");
    assert!(client.ok("textDocument/hover", at(1)).is_null());
    client.leave();
}

/// *Revert* reverts that turn alone. A rewind says how many later turns go, and is offered where there are any.
#[test]
fn an_action_says_if_later_turns_go() {
    let world = two_files(SEVEN_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    for (prompt, old, new) in [
        ("first", "two", "2"),
        ("second", "four", "4"),
        ("third", "six", "6"),
    ] {
        agent.prompt(prompt);
        agent.edit("a.txt", old, new);
        agent.stop();
    }
    let mut other = world.agent();
    other.prompt("another session");
    other.edit("b.txt", "other", "another");
    other.stop();
    let own =
        json!({ "codeActions": "agentLines", "notifications": true, "reloadsFromDisk": true });
    let mut client = Client::with(&world, Editor::Vscode, &own);
    client.open("a.txt");
    let all = client.actions("a.txt", 1..2);
    assert_eq!(
        titles(all.clone()),
        [
            "Rewind these lines to before “first”",
            "Revert “first” in this file",
            "Revert “first”",
            "Rewind to before “first” and 2 later turns",
        ]
    );
    let run = |client: &mut Client, at: usize| {
        let mut command = all[at].1.clone();
        command["arguments"][0]["confirm"] = json!(false);
        client.run(&command);
    };
    for at in 0..3 {
        run(&mut client, at);
        let rest = SEVEN_LINES.replace("four", "4").replace("six", "6");
        assert_eq!(world.read("a.txt"), rest, "{at}");
        world.ok(["undo", "-y"]);
    }
    run(&mut client, 3);
    assert_eq!(world.read("a.txt"), SEVEN_LINES);
    assert_eq!(world.read("b.txt"), "another\n");
    client.leave();
}

/// A client that reloads a file after the refresh of its lenses is informed once more, when it has the new text.
#[test]
fn lenses_are_refreshed_after_a_reload() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut client = Client::start(&world, Editor::Nvim);
    client.open("a.txt");
    client.lenses("a.txt");
    let mut agent = world.agent();
    agent.prompt("make it two");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    client.until(|client| client.refreshed > 0);
    client.idle();
    let refreshed = client.refreshed;
    client.reload("a.txt");
    client.until(|client| client.refreshed > refreshed);
    let lines: Vec<u64> = client.lenses("a.txt").iter().map(|lens| lens.0).collect();
    assert_eq!(lines, [0, 1, 1, 1]);
    client.leave();
}

/// A prompt is foreign text: in a hover it shows as it was typed, and in a title of VS Code it is not an icon.
#[test]
fn a_prompt_is_shown_as_it_was_typed() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("say `done` in my_name - $(zap) [x](y)");
    agent.edit("a.txt", "two\n", "2\n");
    agent.stop();
    for (editor, shown) in [
        (Editor::Vscode, "turn 1 “say `done` in my_name - \\$(zap)…”"),
        (Editor::Nvim, "turn 1 “say `done` in my_name - $(zap)…”"),
    ] {
        let mut client = Client::start(&world, editor);
        client.open("a.txt");
        let title = client.lenses("a.txt")[1].1.clone();
        assert!(title.contains(shown), "{title}");
        let uri = client.uri("a.txt");
        let hover = client.ok(
            "textDocument/hover",
            json!({ "textDocument": { "uri": uri }, "position": { "line": 1, "character": 0 } }),
        );
        let text = hover["contents"]["value"].as_str().expect("text");
        assert!(
            text.starts_with("**turn 1** “say `done` in my_name - \\$(zap) \\[x](y)”"),
            "{text}"
        );
        client.leave();
    }
}

/// A8: marks that change the direction of text are made visible in lenses, actions, hovers and messages, so that a name or a
/// prompt cannot show itself as another.
#[test]
fn marks_of_direction_are_made_visible() {
    let world = two_files(FIVE_LINES);
    world.ok(["checkpoint"]);
    let mut agent = world.agent();
    agent.prompt("evil \u{202e}txt \u{2066}name\u{61c}");
    agent.edit("a.txt", "two\n", "2 \u{202e}owt\n");
    agent.bash("mv b.txt 'na\u{202e}me.txt'");
    agent.stop();
    let mut client = Client::start(&world, Editor::Vscode);
    client.open("a.txt");
    let mut shown: Vec<String> = titles(client.actions("a.txt", 1..2));
    shown.extend(client.lenses("a.txt").into_iter().map(|lens| lens.1));
    let uri = client.uri("a.txt");
    let at = json!({ "textDocument": { "uri": uri }, "position": { "line": 1, "character": 0 } });
    let hover = client.ok("textDocument/hover", at);
    shown.push(
        hover["contents"]["value"]
            .as_str()
            .expect("text")
            .to_owned(),
    );
    client.will_choose("Cancel");
    let rewind = json!({ "rev": "t1", "paths": ["na\u{202e}me.txt", "b.txt"] });
    client.command("backstitch.rewind", rewind);
    shown.append(&mut client.asked);
    shown.append(&mut client.said);
    let marks = ['\u{202e}', '\u{2066}', '\u{61c}'];
    for text in &shown {
        assert!(!text.contains(marks), "{text:?}");
    }
    assert!(
        shown.iter().any(|text| text.contains("+2 \u{fffd}owt")),
        "{shown:?}"
    );
    for args in [
        &["log"][..],
        &["log", "--graph", "--all"],
        &["show", "t1"],
        &["status", "-v"],
    ] {
        let printed = world.ok(args).stdout;
        assert!(!printed.contains(marks), "{args:?}: {printed:?}");
    }
    client.leave();
}
