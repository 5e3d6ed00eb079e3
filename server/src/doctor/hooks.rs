//! Whether agents report what they do: found, new enough, set up, and, by doing it once, whether a hook really fires.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CheckState, Finding, shown};
use crate::agents;
use crate::render;
use crate::setup;

/// An agent that does not say its version by then is not asked any longer.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn examine(root: &Path) -> Vec<Finding> {
    let name = agents::claude_code::NAME;
    let hint = format!("`backstitch setup {name}` has it report what it does");
    let settings = setup::settings_of_claude_code(root);
    let has_any = |path: &PathBuf| setup::hooks_in(path).is_ok_and(|found| !found.is_empty());
    if setup::found().is_empty() && !settings.iter().any(has_any) {
        let said = "no agent was found on this machine";
        return vec![Finding::of(name, CheckState::Warning, said, hint)];
    }
    let mut all = Vec::new();
    all.extend(version(name));
    let mut commands: Vec<(String, PathBuf)> = Vec::new();
    for path in &settings {
        match setup::hooks_in(path) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => {
                all.extend(missing(name, path, &found));
                for (_, command) in found {
                    if commands.iter().all(|(known, _)| *known != command) {
                        commands.push((command, path.clone()));
                    }
                }
            }
            Err(error) => all.push(Finding::of(
                name,
                CheckState::Wrong,
                format!("{error:#}"),
                "the agent cannot read its settings either: mend that file",
            )),
        }
        if setup::is_switched_off(path) {
            all.push(Finding::of(
                name,
                CheckState::Wrong,
                format!("{} switches all hooks off", shown(path)),
                "take `disableAllHooks` out of it",
            ));
        }
    }
    if commands.is_empty() {
        let said = "it does not report what it does: no hooks of ours in its settings";
        all.push(Finding::of(name, CheckState::Wrong, said, hint.clone()));
    }
    for (command, path) in commands {
        let trouble = setup::trouble(&command);
        let of_project = path.starts_with(root.join(".claude"));
        if let Some(trouble) = &trouble {
            let (state, begin) = if trouble.stops() {
                (CheckState::Wrong, "does not work: ")
            } else {
                (CheckState::Warning, "needs a repair: ")
            };
            let said = trouble.said().replacen("run ", "it runs ", 1);
            all.push(Finding::of(
                name,
                state,
                format!(
                    "the hook in {} {begin}{}",
                    shown(&path),
                    render::clean(&said)
                ),
                setup::fix(name, of_project),
            ));
        }
        if trouble.is_some_and(|trouble| trouble.stops()) {
            continue;
        }
        all.push(match fires(&command) {
            Ok(took) => Finding::good(
                name,
                format!(
                    "its hook in {} fires, and is recorded ({} ms)",
                    shown(&path),
                    took.as_millis()
                ),
            ),
            Err(why) => Finding::of(
                name,
                CheckState::Wrong,
                format!("the hook in {} does not work: {why}", shown(&path)),
                hint.clone(),
            ),
        });
    }
    all
}

/// Which version it is, and whether that is new enough.
fn version(name: &'static str) -> Option<Finding> {
    let program = setup::claude_on_path()?;
    let mut command = Command::new(&program);
    command.arg("--version");
    let said = match run(&mut command, b"") {
        Ok((output, _)) => output,
        Err(why) => {
            return Some(Finding::of(
                name,
                CheckState::Warning,
                format!("{} --version: {why}", shown(&program)),
                "see whether it starts at all",
            ));
        }
    };
    let number = said.split_whitespace().next().unwrap_or_default();
    let mut parts = number.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return Some(Finding::of(
            name,
            CheckState::Warning,
            format!("{} does not say its version", shown(&program)),
            "see whether it is what it is called",
        ));
    };
    let (least_major, least_minor) = agents::claude_code::OLDEST;
    if (major, minor) < (least_major, least_minor) {
        return Some(Finding::of(
            name,
            CheckState::Wrong,
            format!("version {number} is too old: it does not tell of all that it does"),
            format!("update it to {least_major}.{least_minor} or later"),
        ));
    }
    Some(Finding::good(name, format!("version {number}")))
}

/// Events that have no hook of ours.
fn missing(name: &'static str, path: &Path, found: &[(String, String)]) -> Option<Finding> {
    let missing: Vec<&str> = setup::EVENTS
        .iter()
        .filter(|event| found.iter().all(|(at, _)| at != *event))
        .copied()
        .collect();
    (!missing.is_empty()).then(|| {
        Finding::of(
            name,
            CheckState::Wrong,
            format!("{} has no hook at {}", shown(path), missing.join(", ")),
            format!("`backstitch setup {name}` adds what is missing"),
        )
    })
}

/// Runs the command as the agent would, in a scratch workspace with a store of its own, and looks whether what it told
/// is recorded there.
fn fires(command: &str) -> Result<Duration, String> {
    let failed = |error: std::io::Error| error.to_string();
    let scratch = tempfile::tempdir().map_err(failed)?;
    let root = scratch.path().join("work");
    std::fs::create_dir(&root).map_err(failed)?;
    std::fs::write(root.join(".backstitch.toml"), "").map_err(failed)?;
    let prompt = "backstitch doctor";
    let payload = json!({
        "hook_event_name": "UserPromptSubmit",
        "session_id": "backstitch-doctor",
        "transcript_path": root.join("none.jsonl"),
        "cwd": root,
        "prompt": prompt,
    });
    let apart = |command: &mut Command| {
        command
            .current_dir(&root)
            .env("XDG_STATE_HOME", scratch.path().join("state"))
            .env("XDG_CONFIG_HOME", scratch.path().join("config"))
            .env("CLAUDE_PROJECT_DIR", &root);
        // there the state is below the home directory in any case
        #[cfg(target_os = "macos")]
        command.env("HOME", scratch.path());
    };
    let mut hook = shell(command);
    apart(&mut hook);
    let (_, took) = run(&mut hook, payload.to_string().as_bytes())?;
    let mut log = Command::new(std::env::current_exe().map_err(failed)?);
    log.arg("--workspace").arg(&root).args(["log", "--json"]);
    apart(&mut log);
    let (log, _) = run(&mut log, b"")?;
    let log: Value = serde_json::from_str(&log).map_err(|e| e.to_string())?;
    let rows = log["checkpoints"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.iter().any(|row| row["prompt"] == prompt) {
        Ok(took)
    } else {
        Err("it ran, and nothing was recorded".to_owned())
    }
}

fn shell(command: &str) -> Command {
    let mut shell;
    if cfg!(windows) {
        shell = Command::new("cmd");
        shell.args(["/C", command]);
    } else {
        shell = Command::new("sh");
        shell.args(["-c", command]);
    }
    shell
}

/// What it says, and how long it took. Err: it does not run, fails, complains, or does not end.
fn run(command: &mut Command, input: &[u8]) -> Result<(String, Duration), String> {
    let begun = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // who does not read it may be right nevertheless
        let _ = stdin.write_all(input);
    }
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if begun.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let took = begun.elapsed();
    let text = |from: Option<&mut dyn std::io::Read>| {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let _ = from.take(1 << 20).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let stdout = text(child.stdout.as_mut().map(|s| s as &mut dyn std::io::Read));
    let stderr = text(child.stderr.as_mut().map(|s| s as &mut dyn std::io::Read));
    let complaint = stderr.lines().next().unwrap_or_default().trim();
    match (status.success(), complaint) {
        (true, "") => Ok((stdout, took)),
        (_, "") => Err(format!("it ended with {status}")),
        (_, complaint) => Err(complaint.to_owned()),
    }
}
