//! `backstitch setup` with the real binary: it adds its hooks next to existing ones, and removes only its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Output, World, finish};

const FOREIGN: &str = r#"{
  "model": "opus",
  "hooks": {
    "PostToolUse": [
      { "matcher": "Edit", "hooks": [{ "type": "command", "command": "prettier --write" }] }
    ]
  },
  "permissions": { "allow": ["Bash(ls)"] }
}
"#;

/// Commands of all hooks, with the event of each.
fn hooks(settings: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        for hook in groups
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|g| g["hooks"].as_array().into_iter().flatten())
        {
            found.push((
                event.clone(),
                hook["command"].as_str().unwrap_or("").to_owned(),
            ));
        }
    }
    found
}

#[test]
fn setup_is_idempotent_and_removal_leaves_no_trace() {
    for (scope, place) in [("user", "home"), ("project", "work")] {
        let world = World::git();
        let root = if place == "home" {
            &world.home
        } else {
            &world.root
        };
        let settings = root.join(".claude/settings.json");
        fs::create_dir(root.join(".claude")).expect("a directory");
        fs::write(&settings, FOREIGN).expect("settings");
        let args = ["setup", "claude-code", "--scope", scope];

        let print = world.ok(args.iter().chain(&["--print"]));
        assert_eq!(fs::read_to_string(&settings).expect("there"), FOREIGN);
        let first = world.ok(args);
        assert!(
            first.stdout.contains("hooks for") && first.stdout.contains("backup: "),
            "{first}"
        );
        let written = fs::read_to_string(&settings).expect("there");
        assert_eq!(
            print.stdout.trim(),
            written.trim(),
            "--print shows what is written"
        );

        let value: Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(value["model"], "opus");
        assert_eq!(value["permissions"]["allow"][0], "Bash(ls)");
        let all = hooks(&value);
        assert!(
            all.contains(&("PostToolUse".into(), "prettier --write".into())),
            "{all:?}"
        );
        for event in [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "Stop",
            "SubagentStop",
            "SessionEnd",
            "PreCompact",
            "PermissionRequest",
        ] {
            let ours = all
                .iter()
                .filter(|(e, c)| e == event && bare(c).ends_with(" hook claude-code"));
            assert_eq!(ours.count(), 1, "{event} in {all:?}");
        }

        let again = world.ok(args);
        assert!(again.stdout.contains("already set up"), "{again}");
        assert_eq!(fs::read_to_string(&settings).expect("there"), written);
        let out = world.ok(args.iter().chain(&["--uninstall"]));
        assert!(out.stdout.contains("hooks removed from"), "{out}");
        assert_eq!(fs::read_to_string(&settings).expect("there"), FOREIGN);
        let nothing = world.ok(args.iter().chain(&["--uninstall"]));
        assert!(nothing.stdout.contains("no hooks to remove"), "{nothing}");
    }
}

/// Entries that the user adds after the setup stay when the hooks are removed.
#[test]
fn entries_added_after_the_setup_stay() {
    let world = World::git();
    world.ok(["setup", "claude-code"]);
    let settings = world.home.join(".claude/settings.json");
    let mut value: Value =
        serde_json::from_slice(&fs::read(&settings).expect("there")).expect("JSON");
    value["theme"] = "dark".into();
    fs::write(&settings, value.to_string()).expect("written");
    world.ok(["setup", "claude-code", "--uninstall"]);
    let value: Value = serde_json::from_slice(&fs::read(&settings).expect("there")).expect("JSON");
    assert_eq!(value, serde_json::json!({"theme": "dark"}));
}

/// The written command really records, from any directory, with nothing but the agent's environment.
#[test]
fn the_written_hook_command_records() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.ok(["setup", "claude-code"]);
    let settings = fs::read(world.home.join(".claude/settings.json")).expect("there");
    let value: Value = serde_json::from_slice(&settings).expect("JSON");
    let (_, command) = hooks(&value)
        .into_iter()
        .find(|(event, _)| event == "SessionStart")
        .expect("a hook");
    let mut shell: Command = world.command("sh");
    shell.args(["-c", &command]).current_dir(&world.home);
    let payload = serde_json::json!({"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": world.root});
    let output = crate::support::finish(&mut shell, payload.to_string().as_bytes()).expect_code(0);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    assert_eq!(world.history(), ["\"start\""]);
}

#[test]
fn unsupported_setups_are_named() {
    let world = World::git();
    let output = world.run(["setup", "ed"]).expect_code(2);
    assert!(
        output.stderr.contains("`ed`") && output.stderr.contains("claude-code"),
        "{output}"
    );
    let mut command = world.backstitch();
    command.arg("setup").env("PATH", "/nowhere");
    let output = crate::support::finish(&mut command, b"").expect_code(3);
    assert!(output.stderr.contains("no agent was found"), "{output}");
    fs::create_dir(world.home.join(".claude")).expect("a directory");
    let found = world.json(["setup"]);
    assert_eq!(found["agents"][0]["agent"], "claude-code");
    assert_eq!(found["agents"][0]["outcome"], "written");

    let settings = world.home.join(".claude/settings.json");
    fs::write(&settings, "{\n  broken").expect("written");
    let output = world.run(["setup", "claude-code"]).expect_code(1);
    assert!(
        output.stderr.contains("settings.json") && output.stderr.contains("line 2"),
        "{output}"
    );
    assert_eq!(fs::read_to_string(&settings).expect("there"), "{\n  broken");
}

/// Helix: other servers, comments and order stay; a second setup changes nothing; removal restores the exact file.
#[test]
fn helix_gets_the_server_beside_others() {
    const MINE: &str = "# mine\n[[language]]\nname = \"rust\"\nauto-format = true # always\n";
    for (scope, place) in [
        ("user", "config/helix/languages.toml"),
        ("project", "work/.helix/languages.toml"),
    ] {
        let world = World::git();
        let settings = world.root.parent().expect("a parent").join(place);
        fs::create_dir_all(settings.parent().expect("a parent")).expect("a directory");
        fs::write(&settings, MINE).expect("written");
        let args = ["setup", "helix", "--scope", scope];
        let read = || fs::read_to_string(&settings).expect("there");

        let print = world.ok(args.iter().chain(&["--print"]));
        assert_eq!(read(), MINE);
        let done = world.ok(args).stdout;
        // the entries that another language needs are shown
        let entry = "[[language]]\nname = \"kotlin\"\nlanguage-servers = [";
        assert!(done.contains(entry), "{done}");
        let written = read();
        assert_eq!(print.stdout, written);
        for part in [
            "# mine\n",
            "auto-format = true # always\nlanguage-servers = [\"rust-analyzer\", \"backstitch\"]\n",
            "[language-server.backstitch]\n",
            "args = [\"lsp\"]\n",
            "[language.debugger]\nname = \"backstitch-job\"\n",
        ] {
            assert!(written.contains(part), "{part} in {written}");
        }
        let again = world.ok(args);
        assert!(again.stdout.contains("already set up"), "{again}");
        assert_eq!(read(), written);
        world.ok(args.iter().chain(&["--uninstall"]));
        assert_eq!(read(), MINE);
        let nothing = world.ok(args.iter().chain(&["--uninstall"]));
        assert!(nothing.stdout.contains("nothing to remove"), "{nothing}");

        fs::write(&settings, "[broken").expect("written");
        let output = world.run(args).expect_code(1);
        assert!(output.stderr.contains("was not changed"), "{output}");
        assert_eq!(read(), "[broken");
    }
}

/// The user's own configuration stays, whatever it contains; changes since the setup stay, too.
#[test]
fn helix_is_left_as_it_was() {
    let world = World::git();
    let settings = world.config.join("helix/languages.toml");
    fs::create_dir_all(settings.parent().expect("a parent")).expect("a directory");
    let read = || fs::read_to_string(&settings).expect("there");
    let tables = "# mine\n[[language]]\nname=\"rust\"\n# why\nlanguage-servers=[\"rust-analyzer\", {name=\"efm\", only-features=[\"format\"]}]\n";
    for mine in [
        tables,
        "[[language]]\nname = \"rust\"\nlanguage-servers = [\"rust-analyzer\"]\n",
        "[[language]]\nname = \"go\"\nlanguage-servers = [ \"gopls\",\n  \"backstitch\" ]\n\n[language-server.backstitch]\ncommand=\"mine\"\n",
        "[[language]]\nname = \"rust\"\n",
        "# only a comment",
    ] {
        fs::write(&settings, mine).expect("written");
        world.ok(["setup", "helix"]);
        world.ok(["setup", "helix"]);
        assert_ne!(read(), mine);
        world.ok(["setup", "helix", "--uninstall"]);
        assert_eq!(read(), mine);
    }
    fs::write(&settings, tables).expect("written");
    world.ok(["setup", "helix"]);
    let later = "\n[language-server.efm]\ncommand = \"efm\"\n";
    fs::write(&settings, read() + later).expect("written");
    world.ok(["setup", "helix", "--uninstall"]);
    assert_eq!(read().trim_end(), (tables.to_owned() + later).trim_end());
    // the current text is what the next removal restores
    let now = read().replace("# why", "# another reason");
    fs::write(&settings, &now).expect("written");
    world.ok(["setup", "helix"]);
    world.ok(["setup", "helix", "--uninstall"]);
    assert_eq!(read(), now);
}

/// Neovim gets a separate file, which never replaces another one.
#[test]
fn neovim_gets_a_file_of_its_own() {
    let world = World::git();
    let file = world.config.join("nvim/plugin/backstitch.lua");
    let written = world.json(["setup", "nvim"]);
    assert_eq!(written["agents"][0]["agent"], "neovim");
    assert_eq!(written["agents"][0]["kind"], "editor");
    let text = fs::read_to_string(&file).expect("there");
    assert!(text.contains("vim.lsp.enable('backstitch')"), "{text}");
    let again = world.ok(["setup", "neovim"]);
    assert!(again.stdout.contains("already set up"), "{again}");
    world.ok(["setup", "neovim", "--uninstall"]);
    assert!(!file.exists());
    fs::write(&file, "-- mine").expect("written");
    world.run(["setup", "neovim"]).expect_code(1);
    world.ok(["setup", "neovim", "--uninstall"]);
    assert_eq!(fs::read_to_string(&file).expect("there"), "-- mine");
}

/// `NVIM_APPNAME` names another directory of settings, below the same one.
#[test]
fn neovim_may_have_another_name() {
    let world = World::git().with("NVIM_APPNAME", "editors/second");
    world.ok(["setup", "neovim"]);
    assert!(
        world
            .config
            .join("editors/second/plugin/backstitch.lua")
            .exists()
    );
    assert!(!world.config.join("nvim").exists());
    world.ok(["setup", "neovim", "--uninstall"]);
    let outside = World::git().with("NVIM_APPNAME", "../elsewhere");
    outside.ok(["setup", "neovim"]);
    assert!(outside.config.join("nvim/plugin/backstitch.lua").exists());
}

/// Configuration that only the user can edit is printed: the lines on stdout, their place on stderr.
#[test]
fn other_editors_are_told_what_to_add() {
    let world = World::git();
    for (editor, place, part) in [
        ("emacs", "emacs/init.el", "eglot-server-programs"),
        ("kakoune", "kak/kakrc", "lsp_servers"),
        ("sublime", "LSP.sublime-settings", "\"selector\""),
        (
            "vscode",
            "Code/User/settings.json",
            "backstitch.server.path",
        ),
    ] {
        let output = world.ok(["setup", editor]);
        assert!(output.stdout.contains(part), "{output}");
        assert!(output.stderr.contains(place), "{output}");
    }
    let emacs = world.ok(["setup", "emacs"]).stdout;
    assert!(
        emacs.contains("dape-configs") && emacs.contains("(\"dap\")"),
        "{emacs}"
    );
    for editor in ["sublime", "vscode"] {
        let output = world.ok(["setup", editor]);
        let _: Value = serde_json::from_str(&output.stdout).expect("JSON");
    }
    assert!(!world.config.join("emacs").exists());
}

/// Zed gets a separate extension, which the user installs in Zed; files that Zed builds are removed with it, and
/// nothing else.
#[test]
fn zed_gets_an_extension() {
    let world = World::git();
    let dir = world.home.join(".local/share/backstitch/zed");
    let read = |name: &str| fs::read_to_string(dir.join(name)).expect("there");

    let print = world.ok(["setup", "zed", "--print"]);
    assert!(!dir.exists());
    let written = world.ok(["setup", "zed"]);
    for part in ["zed: install dev extension", &*dir.to_string_lossy()] {
        assert!(written.stdout.contains(part), "{part} in {written}");
    }
    for name in [
        "extension.toml",
        "Cargo.toml",
        "src/lib.rs",
        "binary",
        "backstitch-job.json",
    ] {
        let shown = format!("==> {name} <==\n{}", read(name));
        assert!(print.stdout.contains(&shown), "{name} in {print}");
    }
    let manifest: toml_edit::DocumentMut = read("extension.toml").parse().expect("TOML");
    assert_eq!(manifest["id"].as_str(), Some("backstitch"));
    let languages = &manifest["language_servers"]["backstitch"]["languages"];
    assert!(languages.as_array().is_some_and(|all| all.len() > 100));
    let schema = manifest["debug_adapters"]["backstitch-job"]["schema_path"].as_str();
    let schema: Value = serde_json::from_str(&read(schema.expect("a path"))).expect("JSON");
    assert!(schema["properties"]["workflow"].is_object(), "{schema}");
    let cargo: toml_edit::DocumentMut = read("Cargo.toml").parse().expect("TOML");
    assert_eq!(cargo["lib"]["crate-type"][0].as_str(), Some("cdylib"));
    // where Zed finds no other server, the extension runs this binary
    let mut program = Command::new(read("binary").trim_end());
    let version = crate::support::finish(program.arg("--version"), b"").expect_code(0);
    assert!(version.stdout.starts_with("backstitch "), "{version}");

    let again = world.ok(["setup", "zed"]);
    assert!(again.stdout.contains("already set up"), "{again}");
    fs::write(dir.join("src/lib.rs"), "// of an older version").expect("written");
    let mended = world.json(["setup", "zed"]);
    assert_eq!(mended["agents"][0]["outcome"], "written");
    assert!(read("src/lib.rs").contains("language_server_command"));

    for built in ["Cargo.lock", "extension.wasm", "target/release/a"] {
        let path = dir.join(built);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, "built").expect("written");
    }
    fs::write(dir.join("notes.txt"), "mine").expect("written");
    world.ok(["setup", "zed", "--uninstall"]);
    let left = fs::read_dir(&dir).expect("there");
    let left: Vec<_> = left
        .map(|entry| entry.expect("there").file_name())
        .collect();
    assert_eq!(left, ["notes.txt"]);
    let nothing = world.ok(["setup", "zed", "--uninstall"]);
    assert!(nothing.stdout.contains("nothing to remove"), "{nothing}");
    world.run(["setup", "zed"]).expect_code(1);
    fs::remove_file(dir.join("notes.txt")).expect("removed");
    world.ok(["setup", "zed"]);
    world.ok(["setup", "zed", "--uninstall"]);
    assert!(!dir.exists());
    world
        .run(["setup", "zed", "--scope", "project"])
        .expect_code(1);
}

/// The binary in the folder of an extension, as an editor installs it there.
fn extension(world: &World, version: &str) -> PathBuf {
    let name = format!("backstitch.backstitch-{version}");
    let bin = world.home.join(".vscode/extensions").join(name).join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    let program = bin.join("backstitch");
    let built = world.backstitch().get_program().to_owned();
    fs::hard_link(&built, &program)
        .or_else(|_| fs::copy(&built, &program).map(drop))
        .expect("a program");
    program
}

fn uninstall(program: &Path) {
    let folder = program.ancestors().nth(2).expect("a folder");
    fs::remove_dir_all(folder).expect("removed");
}

fn with(world: &World, program: &Path, args: &[&str]) -> Output {
    finish(world.command(program).args(args), b"")
}

/// The command of a hook without its limit and the guard for a killed hook.
fn bare(command: &str) -> &str {
    let own = command.split("; ").next().unwrap_or(command);
    own.split(" --limit ").next().unwrap_or(own)
}

/// Returns the one command that the hooks of the user's settings run.
fn command(world: &World) -> String {
    let settings = fs::read(world.home.join(".claude/settings.json")).expect("settings");
    let all = hooks(&serde_json::from_slice(&settings).expect("JSON"));
    let first = bare(&all.first().expect("hooks").1).to_owned();
    assert!(
        all.iter().all(|(_, command)| bare(command) == first),
        "{all:?}"
    );
    first
}

/// The answer of `setup --status` about Claude Code.
fn status(world: &World) -> Value {
    let answer = world.json(["setup", "--status"]);
    answer["agents"][0].clone()
}

/// Sends an event as the agent does; gives the exit code.
fn fire(world: &World) -> i32 {
    let payload = serde_json::json!({
        "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "go", "cwd": world.root,
    });
    let mut shell = world.command("sh");
    shell.args(["-c", &command(world)]);
    finish(&mut shell, payload.to_string().as_bytes()).code
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// An update of an editor's extension deletes the folder of the old one; the hooks continue.
#[test]
fn hooks_outlive_an_update_of_the_extension() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let old = extension(&world, "0.1.0-linux-x64");
    let print = with(&world, &old, &["setup", "claude-code", "--print"]).expect_code(0);
    let kept = world.home.join(".local/share/backstitch/bin/backstitch");
    assert!(
        print.stdout.contains(&kept.display().to_string()),
        "{print}"
    );
    assert!(!kept.exists(), "--print writes nothing");

    with(&world, &old, &["setup", "claude-code"]).expect_code(0);
    assert_eq!(
        command(&world),
        format!("{} hook claude-code", kept.display())
    );
    assert_eq!(status(&world)["recording"], true);
    uninstall(&old);
    assert_eq!(fire(&world), 0);
    assert!(world.ok(["log"]).stdout.contains("go"));

    let mut elsewhere = world.command(extension(&world, "0.1.1"));
    elsewhere
        .args(["setup", "claude-code"])
        .env("XDG_DATA_HOME", world.root.join("data"));
    finish(&mut elsewhere, b"").expect_code(0);
    let kept = world.root.join("data/backstitch/bin/backstitch");
    assert_eq!(
        command(&world),
        format!("{} hook claude-code", kept.display())
    );
}

/// The copy makes way for a newer version, whole, and never for an older one.
#[test]
fn the_programs_copy_is_only_replaced_by_a_newer_one() {
    let world = World::git();
    let bundled = extension(&world, "0.1.0");
    with(&world, &bundled, &["setup", "claude-code"]).expect_code(0);
    let kept = world.home.join(".local/share/backstitch/bin/backstitch");
    let built = fs::read(&kept).expect("the copy");

    let newer = "#!/bin/sh\necho backstitch 99.0.0\n";
    script(&kept, newer);
    with(&world, &bundled, &["setup", "claude-code"]).expect_code(0);
    with(&world, &bundled, &["setup", "--repair"]).expect_code(0);
    assert_eq!(fs::read_to_string(&kept).expect("there"), newer);

    for older in ["backstitch 0.0.9", "backstitch 0.0.1-rc.1", "what?"] {
        script(&kept, &format!("#!/bin/sh\necho {older}\n"));
        let before = status(&world);
        assert_eq!(
            (&before["recording"], &before["repair"]),
            (&true.into(), &"automatic".into())
        );
        with(&world, &bundled, &["setup", "--repair"]).expect_code(0);
        assert!(fs::read(&kept).expect("there") == built, "{older}");
        let mode = fs::metadata(&kept).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(status(&world)["repair"], Value::Null);
    }
    let beside = fs::read_dir(kept.parent().expect("a directory")).expect("there");
    assert_eq!(beside.count(), 1, "nothing is left of a replacement");
}

/// Hooks that an older version wrote into an extension's folder are repaired, before and after that folder is gone.
#[test]
fn hooks_of_an_extension_are_repaired() {
    for gone in [false, true] {
        let world = World::committed(&[("a.txt", "one\n")]);
        world.ok(["setup", "claude-code"]);
        let old = extension(&world, "0.1.0");
        let settings = world.home.join(".claude/settings.json");
        let text = fs::read_to_string(&settings).expect("there");
        let built = world.backstitch().get_program().display().to_string();
        fs::write(&settings, text.replace(&built, &old.display().to_string())).expect("written");
        if gone {
            uninstall(&old);
        }
        let before = status(&world);
        assert_eq!(before["recording"], !gone, "{before}");
        assert_eq!(before["repair"], "automatic");
        let reason = before["reason"].as_str().expect("a reason");
        assert!(reason.contains(&old.display().to_string()), "{reason}");
        assert!(
            before["fix"]
                .as_str()
                .expect("a fix")
                .contains("setup claude-code --repair")
        );
        let text = world.ok(["setup", "--status"]).stdout;
        let word = if gone {
            "recording is off; "
        } else {
            "recording is on; "
        };
        assert!(text.contains(word) && text.contains("--repair"), "{text}");

        let new = extension(&world, "0.1.1");
        with(&world, &new, &["setup", "--repair"]).expect_code(0);
        assert_eq!(status(&world)["recording"], true);
        assert_eq!(status(&world)["reason"], Value::Null);
        uninstall(&new);
        assert_eq!(fire(&world), 0);
        let again = world.ok(["setup", "--repair"]);
        assert!(again.stdout.contains("nothing to repair"), "{again}");
    }
}

/// A program that the user put somewhere is missing: nothing is changed without being asked.
#[test]
fn hooks_of_a_missing_program_are_named_and_repaired() {
    let world = World::git();
    let nothing = world.ok(["setup", "--repair"]);
    assert!(
        nothing.stdout.contains("no hooks of Backstitch"),
        "{nothing}"
    );
    assert!(!world.home.join(".claude").exists());
    for (scope, dir) in [("user", &world.home), ("project", &world.root)] {
        world.ok(["setup", "claude-code", "--scope", scope]);
        let settings = dir.join(".claude/settings.json");
        let text = fs::read_to_string(&settings).expect("there");
        let built = world.backstitch().get_program().display().to_string();
        let broken = text.replace(&built, "'/my tools/backstitch'");
        fs::write(&settings, &broken).expect("written");
        let before = status(&world);
        // the user's hooks work as those of the project do not
        assert_eq!(before["recording"], scope == "project", "{before}");
        assert_eq!(
            (&before["repair"], &before["scope"]),
            (&"ask".into(), &scope.into())
        );
        let reason = before["reason"].as_str().expect("a reason");
        assert!(
            reason.contains("/my tools/backstitch, which does not exist"),
            "{reason}"
        );

        let print = world.ok(["setup", "--repair", "--print", "--scope", scope]);
        assert!(print.stdout.contains(&built), "{print}");
        assert_eq!(fs::read_to_string(&settings).expect("there"), broken);
        let done = world.ok(["setup", "--repair", "--scope", scope]);
        assert!(done.stdout.contains(&format!("run {built} now")), "{done}");
        assert_eq!(fs::read_to_string(&settings).expect("there"), text);
        assert_eq!(status(&world)["reason"], Value::Null);
    }
    let both = world.run(["setup", "--status", "--repair"]).expect_code(2);
    assert!(both.stderr.contains("cannot be used with"), "{both}");
}

/// An agent that is there and not set up, and one whose hooks are switched off, are not recorded.
#[test]
fn what_is_not_recorded_says_why() {
    let world = World::git();
    fs::create_dir(world.home.join(".claude")).expect("a directory");
    let status_of = |world: &World| {
        let now = status(world);
        assert_eq!(now["recording"], false, "{now}");
        (now["reason"].clone(), now["fix"].clone())
    };
    let (reason, fix) = status_of(&world);
    assert_eq!(reason, "it is not set up");
    assert_eq!(fix, "`backstitch setup claude-code` sets it up");
    world.ok(["setup", "claude-code"]);
    world.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    let (reason, fix) = status_of(&world);
    assert!(
        reason
            .as_str()
            .expect("a text")
            .contains("settings.local.json:1 disables all hooks"),
        "{reason}"
    );
    assert!(
        fix.as_str().expect("a text").contains("disableAllHooks"),
        "{fix}"
    );
}

/// Strict hooks are named, and stay strict until they are removed.
#[test]
fn strict_hooks_are_named() {
    let world = World::git();
    let plain = world.ok(["setup", "claude-code"]);
    assert!(!plain.stdout.contains("strict"), "{plain}");
    let strict = world.ok(["setup", "claude-code", "--strict"]);
    let told = "Its hooks are strict: a tool call whose hook fails in any way is blocked.";
    assert!(strict.stdout.contains(told), "{strict}");
    let again = world.ok(["setup", "claude-code"]);
    assert!(again.stdout.contains("already set up"), "{again}");
    assert!(again.stdout.contains(told), "{again}");
    world.ok(["setup", "claude-code", "--uninstall"]);
    let anew = world.ok(["setup", "claude-code"]);
    assert!(!anew.stdout.contains("strict"), "{anew}");
}

/// Copilot, Gemini and Qwen load the hooks of a project only in a folder that their user trusts: until then nothing claims that they
/// are recorded, and the next step is reported.
#[test]
fn a_folder_that_the_agent_does_not_trust_is_told() {
    let trusts = |world: &World, file: &str, text: &str| {
        let file = world.home.join(file);
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        fs::write(file, text).expect("settings");
    };
    for agent in ["copilot", "gemini", "qwen"] {
        let world = World::committed(&[("a.txt", "one\n")]);
        let root = world.root.display().to_string();
        if agent == "qwen" {
            // it asks only if its user wants that
            let asks = r#"{"security":{"folderTrust":{"enabled":true}}}"#;
            trusts(&world, ".qwen/settings.json", asks);
        }
        let done = world.ok(["setup", agent, "--scope", "project"]);
        assert!(!done.stdout.contains("are recorded"), "{done}");
        assert!(done.stderr.contains("trust the folder"), "{done}");
        let status = world.ok(["setup", "--status", agent]).stdout;
        assert!(status.contains("recording is off"), "{status}");
        assert!(status.contains("trust the folder"), "{status}");
        let doctor = world.run(["doctor"]);
        assert!(doctor.stdout.contains("trust the folder"), "{doctor}");
        let rule = serde_json::json!({ &root: "TRUST_FOLDER" }).to_string();
        match agent {
            "copilot" => {
                let folders = serde_json::json!({ "trustedFolders": [root] }).to_string();
                trusts(&world, ".copilot/config.json", &folders);
            }
            agent => trusts(&world, &format!(".{agent}/trustedFolders.json"), &rule),
        }
        let status = world.ok(["setup", "--status", agent]).stdout;
        assert!(status.contains("recording is on"), "{agent}: {status}");
    }
}

/// Codex can switch all hooks off in its own settings.
#[test]
fn hooks_that_codex_switches_off_are_told() {
    let world = World::committed(&[("a.txt", "one\n")]);
    world.run(["setup", "codex"]);
    let config = world.home.join(".codex/config.toml");
    fs::write(&config, "[features]\nhooks = false\n").expect("settings");
    let status = world.ok(["setup", "--status", "codex"]).stdout;
    assert!(
        status.contains("config.toml:2 disables all hooks of codex"),
        "{status}"
    );
    assert!(
        status.contains("take `features.hooks` out of it"),
        "{status}"
    );
    let doctor = world.run(["doctor"]).stdout;
    assert!(
        doctor.contains("config.toml:2 disables all hooks of codex"),
        "{doctor}"
    );
}

/// The first hour in a terminal: from a bare home to the first rewind. The agent's prompt is one of the steps.
#[test]
fn first_use_in_a_terminal_takes_few_steps() {
    let world = World::committed(&[("a.txt", "one\n")]);
    let began = std::time::Instant::now();
    let mut steps = 0;
    let mut step = |args: &[&str]| {
        steps += 1;
        world.ok(args).stdout
    };
    let set_up = step(&["setup", "claude-code"]);
    assert!(set_up.contains("hooks for"), "{set_up}");
    world.agent().turn("make it two", |agent| {
        agent.edit("a.txt", "one", "two");
    });
    let log = step(&["log"]);
    assert!(log.contains("make it two"), "{log}");
    step(&["rewind", "--yes"]);
    steps += 1;
    assert_eq!(world.read("a.txt"), "one\n");
    println!(
        "first use in a terminal: {steps} steps, {:?}",
        began.elapsed()
    );
    assert!(steps <= 6, "{steps}");
}
