//! Settings that others wrote: of another form of JSON, with a key twice, or no file at all. Nothing waits, panics or is lost.

use std::fs;

use serde_json::Value;

use crate::support::{World, finish};

/// Runs a command that must end by itself.
fn ends(world: &World, args: &[&str]) -> crate::support::Output {
    let mut command = world.command("timeout");
    command
        .arg("60")
        .arg(world.backstitch().get_program())
        .args(args);
    let output = finish(&mut command, b"");
    assert_ne!(output.code, 124, "{args:?} waits: {output}");
    output
}

fn fifo(path: &std::path::Path) {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).expect("a directory");
    }
    let _ = fs::remove_file(path);
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a fifo");
}

/// Gemini CLI and Qwen Code take comments in their settings: setup adds its hooks beside them and removes only these.
#[test]
fn comments_in_settings_stay() {
    for agent in ["gemini", "qwen"] {
        let world = World::git();
        let settings = world.home.join(format!(".{agent}/settings.json"));
        fs::create_dir(settings.parent().expect("a directory")).expect("a directory");
        let before = "// mine\n{\n  /* theme */ \"ui\": { \"theme\": \"x // y\" }, // why\n  \"hooks\": {}\n}\n";
        fs::write(&settings, before).expect("written");
        world.ok(["setup", agent]);
        let text = fs::read_to_string(&settings).expect("there");
        for comment in ["// mine\n", "/* theme */", "// why\n"] {
            assert!(text.contains(comment), "{agent}: {text}");
        }
        assert!(text.contains(&format!("hook {agent}")), "{text}");
        let status = world.ok(["setup", agent, "--status"]).stdout;
        assert!(status.contains("recording is on"), "{status}");
        // a comment from after the setup stays, too
        fs::write(&settings, text.replace("// mine\n", "// mine\n// later\n")).expect("written");
        world.ok(["setup", agent, "--uninstall"]);
        let text = fs::read_to_string(&settings).expect("there");
        assert!(
            text.contains("// later\n") && text.contains("// why\n"),
            "{text}"
        );
        assert!(!text.contains("hook "), "{text}");

        fs::write(&settings, before).expect("written");
        let _ = fs::remove_file(settings.with_file_name("settings.json.backstitch-backup"));
        world.ok(["setup", agent]);
        world.ok(["setup", agent, "--uninstall"]);
        assert_eq!(
            fs::read_to_string(&settings).expect("there"),
            before,
            "{agent}"
        );
    }
    // Claude Code does not
    let world = World::git();
    let settings = world.home.join(".claude/settings.json");
    fs::create_dir(world.home.join(".claude")).expect("a directory");
    fs::write(&settings, "{ // x\n}\n").expect("written");
    let output = world.run(["setup", "claude-code"]).expect_code(1);
    assert!(
        output
            .stderr
            .contains("claude-code reads JSON without comments"),
        "{output}"
    );
    assert_eq!(fs::read_to_string(&settings).expect("there"), "{ // x\n}\n");
}

/// Claude Code reads settings with a byte order mark, which stays. Others do not, and setup says so.
#[test]
fn a_byte_order_mark_stays_or_is_named() {
    let world = World::git();
    for (dir, agent, takes) in [
        (".claude", "claude-code", true),
        (".gemini", "gemini", false),
    ] {
        let settings = world.home.join(dir).join("settings.json");
        fs::create_dir(world.home.join(dir)).expect("a directory");
        let before = "\u{feff}{\"model\": {}}\n";
        fs::write(&settings, before).expect("written");
        let output = world.run(["setup", agent]);
        let text = fs::read_to_string(&settings).expect("there");
        if takes {
            assert_eq!(output.code, 0, "{output}");
            assert!(
                text.starts_with("\u{feff}{") && text.contains("hook "),
                "{text}"
            );
            world.ok(["setup", agent, "--uninstall"]);
        } else {
            assert_eq!(output.code, 1, "{output}");
            assert!(output.stderr.contains("byte order mark"), "{output}");
        }
        assert_eq!(fs::read_to_string(&settings).expect("there"), before);
    }
}

#[test]
fn a_key_that_stands_twice_is_named_and_nothing_is_changed() {
    for (agent, file) in [
        ("claude-code", ".claude/settings.json"),
        ("gemini", ".gemini/settings.json"),
        ("cursor", ".cursor/hooks.json"),
    ] {
        let world = World::git();
        let settings = world.home.join(file);
        fs::create_dir(settings.parent().expect("a directory")).expect("a directory");
        for text in [
            r#"{"hooks":{"Stop":[]},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say"}]}]}}"#,
            r#"{"hooks":{},"hooks":{}}"#,
            r#"{"hooks":{"a":[]},"x":1,"\u0068ooks":{"b":[]}}"#,
        ] {
            fs::write(&settings, text).expect("written");
            let output = world.run(["setup", agent]).expect_code(1);
            assert!(
                output.stderr.contains("has the key `hooks` twice"),
                "{output}"
            );
            assert_eq!(fs::read_to_string(&settings).expect("there"), text);
        }
    }
}

/// A clone's files that are fifos are never waited for.
#[test]
fn a_fifo_stops_nothing() {
    let world = World::committed(&[("a.txt", "one\n"), (".gitattributes", "* text\n")]);
    for file in [
        ".claude/settings.json",
        ".gemini/settings.json",
        ".cursor/hooks.json",
        ".codex/hooks.json",
    ] {
        fifo(&world.path(file));
    }
    fifo(&world.path(".opencode/plugins/backstitch.js"));
    for args in [
        &["doctor"][..],
        &["setup", "--status"],
        &["setup", "--repair", "--scope", "project"],
        &["setup", "claude-code", "--scope", "project"],
    ] {
        ends(&world, args);
    }
    let git = |name: &str| world.path(".git").join(name);
    for file in [
        "HEAD",
        "index",
        "config",
        "packed-refs",
        "info/attributes",
        "commondir",
        "objects/info/alternates",
    ] {
        let was = fs::read(git(file)).ok();
        fifo(&git(file));
        world.write("a.txt", format!("{file}\n"));
        for args in [&["checkpoint"][..], &["status"], &["diff"], &["log"]] {
            ends(&world, args);
        }
        let payload = serde_json::json!({
            "session_id": "s", "transcript_path": git(file), "cwd": world.root,
            "hook_event_name": "UserPromptSubmit", "prompt": file,
        });
        let mut hook = world.command("timeout");
        hook.arg("60")
            .arg(world.backstitch().get_program())
            .args(["hook", "claude-code"]);
        let output = finish(&mut hook, payload.to_string().as_bytes());
        assert_ne!(output.code, 124, "the hook waits for {file}: {output}");
        fs::remove_file(git(file)).expect("removed");
        if let Some(was) = was {
            fs::write(git(file), was).expect("written");
        }
    }
}

/// A setup that is killed leaves a file, and the next one removes it.
#[test]
fn a_killed_setup_leaves_nothing_for_long() {
    let world = World::git();
    world.ok(["setup", "claude-code"]);
    let left = world.home.join(".claude/.backstitch-new-4194303-Ab3dEf");
    let foreign = world.home.join(".claude/.backstitch-new-mine");
    fs::write(&left, "{}").expect("written");
    fs::write(&foreign, "{}").expect("written");
    world.ok(["setup", "claude-code"]);
    assert!(!left.exists() && foreign.exists());
}

/// JSON on a pipe keeps its value, whatever a name has.
#[test]
fn json_on_a_pipe_is_whole() {
    let world = World::committed(&[("a\u{202e}.txt", "one\n")]);
    world.ok(["checkpoint"]);
    world.write("a\u{202e}.txt", "two\n");
    world.ok(["checkpoint"]);
    let diff: Value = world.json(["show", "c3", "--patch"]);
    assert!(diff.to_string().contains("a\u{202e}.txt"), "{diff}");
}
