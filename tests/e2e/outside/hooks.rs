//! Hooks in a clone's agent settings: compared with what setup writes, never run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use backstitch_agents::AGENTS;
use serde_json::Value;

use crate::support::{Output, World, binary, finish};

/// A clone that names each of our programs, too, for a search path with the current directory.
fn clone() -> World {
    let world = World::committed(&[("a.txt", "one\n")]);
    let mark = mark(&world);
    for name in [
        "backstitch",
        "git",
        "sh",
        "less",
        "claude",
        "gemini",
        "codex",
    ] {
        world.write(name, format!("#!/bin/sh\ntouch '{}'\n", mark.display()));
        world.set_mode(name, 0o755);
    }
    world
}

/// The file that a command of the clone would make.
fn mark(world: &World) -> PathBuf {
    world.home.join("RAN")
}

/// The files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != ".git" {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

/// Writes the settings of a project as setup writes them, with another command in place of ours.
fn plant(world: &World, agent: &str, command: &str) -> PathBuf {
    world.ok(["setup", agent, "--scope", "project"]);
    let own = format!("{} hook {agent}", binary::path().display());
    let in_json = Value::from(command).to_string();
    let in_json = &in_json[1..in_json.len() - 1];
    let program = Value::from(binary::path().display().to_string()).to_string();
    let mut planted = None;
    for path in files(&world.root) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let other = match path.extension().and_then(|e| e.to_str()) {
            Some("json") => text.replace(&own, in_json),
            // a plugin names the program alone: after ours, the rest is part of the name
            Some("js") => {
                let first = command.split(' ').next().unwrap_or_default();
                let is_own = Path::new(first) == binary::path();
                let name = if is_own { command } else { first };
                text.replace(&program, &Value::from(name).to_string())
            }
            _ => text.replace(&own, command),
        };
        if other != text {
            fs::write(&path, other).expect("written");
            planted = Some(path);
        }
    }
    planted.unwrap_or_else(|| panic!("no hook of {agent} was found"))
}

/// Runs a command in the clone with the current directory first on the search path.
fn run(world: &World, args: &[&str]) -> Output {
    let mut command = world.backstitch();
    let path = std::env::var("PATH").expect("a path");
    command.args(args).env("PATH", format!(".::{path}"));
    finish(&mut command, b"")
}

#[test]
fn hooks_of_a_project_are_compared_and_never_run() {
    for agent in AGENTS.iter().map(|agent| agent.name()) {
        let world = clone();
        let mark = mark(&world);
        let (root, touch) = (world.root.display(), format!("touch '{}'", mark.display()));
        let own = binary::path().display();
        for command in [
            format!("{root}/backstitch hook {agent}"),
            format!("./backstitch hook {agent}"),
            format!("/proc/self/cwd/backstitch hook {agent}"),
            format!("\"/proc/$PPID/cwd/backstitch\" hook {agent}"),
            format!("backstitch $({touch}) hook {agent}"),
            format!("backstitch `{touch}` hook {agent}"),
            format!("backstitch -V & {touch} & : hook {agent}"),
            format!("{own} hook {agent}; {touch}"),
            format!("{own} hook {agent} --limit 9; {touch}"),
            format!("{own} -V\n{touch}\n: hook {agent}"),
        ] {
            let file = plant(&world, agent, &command);
            let planted = fs::read_to_string(&file).expect("there");
            for args in [
                &["doctor"][..],
                &["doctor", "--json"],
                &["setup", "--status"],
                &["setup", agent, "--status", "--json"],
                &["setup", "--repair"],
                &["status"],
                &["log"],
                &["setup", agent, "--print"],
            ] {
                let output = run(&world, args);
                assert!(!mark.exists(), "{agent}: {args:?} runs {command}: {output}");
            }
            let after = fs::read_to_string(&file).expect("there");
            assert_eq!(after, planted, "{agent}: {command}");
            world.ok(["setup", agent, "--scope", "project"]);
            world.ok(["setup", agent, "--scope", "project", "--uninstall"]);
            assert!(!mark.exists(), "{agent}: setup runs {command}");
            // remains of another form are no hook of ours
            for path in files(&world.root) {
                let is_settings = path
                    .strip_prefix(&world.root)
                    .is_ok_and(|p| p.starts_with(".") || p.to_string_lossy().starts_with('.'));
                if is_settings {
                    fs::remove_file(path).expect("removed");
                }
            }
        }
    }
}

/// A hook that only looks like ours, and one of another program, are named with the way out.
#[test]
fn a_hook_that_setup_does_not_write_is_named() {
    let world = clone();
    let said = |output: &Output| -> Vec<(String, String)> {
        let answer: Value = serde_json::from_str(&output.stdout).expect("JSON");
        let findings = answer["findings"].as_array().expect("findings").iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = findings.filter(|finding| finding["about"] == "claude-code");
        all.map(|finding| (text(&finding["said"]), text(&finding["hint"])))
            .collect()
    };
    let has = |all: &[(String, String)], part: &str| {
        let found = all.iter().find(|(said, _)| said.contains(part));
        found.unwrap_or_else(|| panic!("{part} in {all:?}")).clone()
    };
    plant(
        &world,
        "claude-code",
        "backstitch \u{202e}$(x) hook claude-code",
    );
    let all = said(&world.run(["doctor", "--json"]));
    let (_, hint) = has(
        &all,
        "is not one that setup writes, and was not tried: `backstitch \u{fffd}$(x)",
    );
    assert!(
        hint.contains("backstitch setup claude-code --scope project"),
        "{hint}"
    );
    assert!(
        all.iter()
            .all(|(said, _)| !said.contains("fires and is recorded")),
        "{all:?}"
    );
    let status = world.ok(["setup", "--status"]).stdout;
    assert!(
        status.contains("claude-code: recording is off; a hook in "),
        "{status}"
    );
    assert!(status.contains("is not one that setup writes"), "{status}");

    world.ok(["setup", "claude-code", "--scope", "project"]);
    plant(
        &world,
        "claude-code",
        &format!("{} hook claude-code", world.path("backstitch").display()),
    );
    let all = said(&world.run(["doctor", "--json"]));
    has(&all, "which is not this program, and were not tried");

    // as setup writes them: compared, too
    world.ok(["setup", "claude-code", "--scope", "project"]);
    let all = said(&world.run(["doctor", "--json"]));
    has(&all, "are as setup writes them");
    assert!(!mark(&world).exists());
}

/// The user's own hook with something behind it is not run either, and a file of the user's that lies in the clone is the clone's.
#[test]
fn only_a_hook_exactly_as_setup_writes_it_is_fired() {
    let world = clone();
    world.ok(["setup", "claude-code"]);
    let settings = world.home.join(".claude/settings.json");
    let own = format!("{} hook claude-code", binary::path().display());
    let text = fs::read_to_string(&settings).expect("there");
    let touch = format!("touch '{}'; {own}", mark(&world).display());
    fs::write(
        &settings,
        text.replace(&format!("\"{own}\""), &Value::from(touch).to_string()),
    )
    .expect("written");
    run(&world, &["doctor"]);
    assert!(!mark(&world).exists());

    let evil = World::committed(&[("a.txt", "one\n")]);
    evil.write(
        "home/x",
        format!("#!/bin/sh\ntouch '{}'\n", mark(&evil).display()),
    );
    fs::rename(evil.path("home/x"), evil.path("home/backstitch")).expect("renamed");
    fs::set_permissions(
        evil.path("home/backstitch"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("a mode");
    let command = format!(
        "{} hook claude-code",
        evil.path("home/backstitch").display()
    );
    evil.write("home/settings.json", text.replace(&own, &command));
    let mut doctor = evil.backstitch();
    // as a clone's direnv would
    doctor
        .arg("doctor")
        .env("CLAUDE_CONFIG_DIR", evil.path("home"));
    let output = finish(&mut doctor, b"");
    assert!(!mark(&evil).exists(), "{output}");
    assert!(output.stdout.contains("were not tried"), "{output}");
}
