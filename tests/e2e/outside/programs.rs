//! Programs are the user's: neither the configuration of a clone nor a program in it is started.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{World, finish};
use crate::terminal::Terminal;

/// A clone with a history that is longer than a screen, and a marker for what runs.
fn long_history() -> (World, String) {
    let world = World::committed(&[("a.txt", "one\n")]);
    for n in 1..=14 {
        world.write("a.txt", format!("{n}\n"));
        world.ok(["checkpoint", "-m", &format!("label {n}")]);
    }
    let evil = format!("touch '{}'; cat", world.home.join("RAN").display());
    (world, evil)
}

fn page(mut command: Command) -> String {
    command.args(["log", "-n", "60"]).env("TERM", "xterm");
    for name in ["PAGER", "GIT_PAGER", "BACKSTITCH_PAGER"] {
        command.env_remove(name);
    }
    let mut terminal = Terminal::sized(command, 10, 80);
    // a pager that waits for keys ends
    terminal.type_in("q");
    terminal.end().1
}

/// Neither a bare repository inside of the workspace nor the repository of the workspace names the pager; the user does.
#[test]
fn a_repository_names_no_pager() {
    let (world, evil) = long_history();
    world.git_ok(["init", "-q", "--bare", "x"]);
    world.git_ok(["-C", "x", "config", "core.pager", &evil]);
    world.git_ok(["config", "core.pager", &evil]);
    for dir in ["x", "."] {
        let mut command = world.backstitch();
        command.current_dir(world.path(dir));
        page(command);
        assert!(!world.home.join("RAN").exists(), "{dir}");
    }
    let mut command = world.backstitch();
    command.env("GIT_DIR", world.path("x"));
    page(command);
    assert!(!world.home.join("RAN").exists());

    let config = world.home.join(".gitconfig");
    let mut git = world.command("git");
    git.args(["config", "-f"])
        .arg(&config)
        .args(["core.pager", "sed s/^/paged:/"]);
    finish(&mut git, b"").expect_code(0);
    let mut command = world.backstitch();
    command
        .env("HOME", &world.home)
        .env_remove("GIT_CONFIG_GLOBAL");
    let shown = page(command);
    assert!(
        shown.lines().any(|line| line.starts_with("paged:")),
        "{shown}"
    );
}

/// A relative directory of the search path leads into the clone.
#[test]
fn a_program_of_the_current_directory_is_not_started() {
    let (world, _) = long_history();
    let mark = world.home.join("RAN");
    for name in ["git", "less", "sh", "vi", "claude"] {
        world.write(name, format!("#!/bin/sh\ntouch '{}'\n", mark.display()));
        std::fs::set_permissions(world.path(name), std::fs::Permissions::from_mode(0o755))
            .expect("a mode");
    }
    let path = std::env::var("PATH").expect("a path");
    for args in [
        &["doctor"][..],
        &["status"],
        &["diff"],
        &["checkpoint"],
        &["setup", "--status"],
    ] {
        let mut command = world.backstitch();
        command.args(args).env("PATH", format!(".:{path}:"));
        let output = finish(&mut command, b"");
        assert!(!mark.exists(), "{args:?}: {output}");
    }
    let mut command = world.backstitch();
    command.env("PATH", format!(".:{path}:"));
    page(command);
    assert!(!mark.exists());
}
