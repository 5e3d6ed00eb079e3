//! Checks of agents: found, new enough, set up, and able to fire a hook, which is tried once.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{CheckState, Finding, shown};
use crate::agent_hooks::program;
use crate::agent_hooks::{self, claude_code};
use crate::agents;
use crate::render;

/// Maximum time for an agent's `--version` or a hook.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn examine(root: &Path) -> Vec<Finding> {
    let name = agents::claude_code::NAME;
    let hint = format!("`backstitch setup {name}` sets it up to report what it does");
    let settings = agent_hooks::settings_of_claude_code(root);
    let has_any = |path: &PathBuf| agent_hooks::hooks_in(path).is_ok_and(|found| !found.is_empty());
    if agent_hooks::found().is_empty() && !settings.iter().any(has_any) {
        let said = "no agent was found on this machine";
        return vec![Finding::new(name, CheckState::Warning, said, hint)];
    }
    let mut all = Vec::new();
    all.extend(version(name));
    let mut commands: Vec<(String, PathBuf)> = Vec::new();
    for path in &settings {
        match agent_hooks::hooks_in(path) {
            Ok(found) if found.is_empty() => {}
            Ok(found) => {
                all.extend(missing(name, path, &found));
                for (_, command) in found {
                    if commands.iter().all(|(known, _)| *known != command) {
                        commands.push((command, path.clone()));
                    }
                }
            }
            Err(error) => all.push(Finding::new(
                name,
                CheckState::Wrong,
                format!("{error:#}"),
                "the agent cannot read its settings either: fix that file",
            )),
        }
        if agent_hooks::hooks_disabled(path) {
            all.push(Finding::new(
                name,
                CheckState::Wrong,
                format!("{} disables all hooks", shown(path)),
                "remove `disableAllHooks` from it",
            ));
        }
    }
    if commands.is_empty() {
        let problem = "it does not report what it does: its settings have no Backstitch hooks";
        all.push(Finding::new(name, CheckState::Wrong, problem, hint.clone()));
    }
    for (command, path) in commands {
        let trouble = program::trouble(&command);
        let of_project = path.starts_with(root.join(".claude"));
        if let Some(trouble) = &trouble {
            let (state, begin) = if trouble.stops() {
                (CheckState::Wrong, "does not work: ")
            } else {
                (CheckState::Warning, "needs a repair: ")
            };
            let said = trouble.said().replacen("run ", "it runs ", 1);
            all.push(Finding::new(
                name,
                state,
                format!(
                    "the hook in {} {begin}{}",
                    shown(&path),
                    render::clean(&said)
                ),
                program::fix(name, of_project),
            ));
        }
        if trouble.is_some_and(|trouble| trouble.stops()) {
            continue;
        }
        all.push(match test_hook(&command) {
            Ok(duration) => Finding::good(
                name,
                format!(
                    "its hook in {} fires and is recorded ({} ms)",
                    shown(&path),
                    duration.as_millis()
                ),
            ),
            Err(error) => Finding::new(
                name,
                CheckState::Wrong,
                format!("the hook in {} does not work: {error}", shown(&path)),
                hint.clone(),
            ),
        });
    }
    all
}

/// Checks the agent's version.
fn version(name: &'static str) -> Option<Finding> {
    let program = agent_hooks::claude_on_path()?;
    let mut command = Command::new(&program);
    command.arg("--version");
    let output = match run(&mut command, b"") {
        Ok((stdout, _)) => stdout,
        Err(why) => {
            return Some(Finding::new(
                name,
                CheckState::Warning,
                format!("{} --version: {why}", shown(&program)),
                "check that it starts at all",
            ));
        }
    };
    let number = output.split_whitespace().next().unwrap_or_default();
    let mut parts = number.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
        return Some(Finding::new(
            name,
            CheckState::Warning,
            format!("{} does not print its version", shown(&program)),
            "check that it is the real program",
        ));
    };
    let (min_major, min_minor) = agents::claude_code::MIN_VERSION;
    if (major, minor) < (min_major, min_minor) {
        return Some(Finding::new(
            name,
            CheckState::Wrong,
            format!("version {number} is too old: it does not report everything that it does"),
            format!("update it to {min_major}.{min_minor} or later"),
        ));
    }
    Some(Finding::good(name, format!("version {number}")))
}

/// Reports events without a Backstitch hook.
fn missing(name: &'static str, path: &Path, found: &[(String, String)]) -> Option<Finding> {
    let missing: Vec<&str> = claude_code::EVENTS
        .iter()
        .filter(|event| found.iter().all(|(at, _)| at != *event))
        .copied()
        .collect();
    (!missing.is_empty()).then(|| {
        Finding::new(
            name,
            CheckState::Wrong,
            format!("{} has no hook for {}", shown(path), missing.join(", ")),
            format!("`backstitch setup {name}` adds the missing hooks"),
        )
    })
}

/// Runs the hook's command as the agent would, in a scratch workspace with its own store. Returns the duration, or an
/// error if the event is not recorded there.
fn test_hook(command: &str) -> Result<Duration, String> {
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
    let isolate = |command: &mut Command| {
        command
            .current_dir(&root)
            .env("XDG_STATE_HOME", scratch.path().join("state"))
            .env("XDG_CONFIG_HOME", scratch.path().join("config"))
            .env("CLAUDE_PROJECT_DIR", &root);
        // on macOS the state is always below the home directory
        #[cfg(target_os = "macos")]
        command.env("HOME", scratch.path());
    };
    let mut hook = shell(command);
    isolate(&mut hook);
    let (_, duration) = run(&mut hook, payload.to_string().as_bytes())?;
    let mut log = Command::new(std::env::current_exe().map_err(failed)?);
    log.arg("--workspace").arg(&root).args(["log", "--json"]);
    isolate(&mut log);
    let (log, _) = run(&mut log, b"")?;
    let log: Value = serde_json::from_str(&log).map_err(|e| e.to_string())?;
    let rows = log["checkpoints"].as_array().map_or(&[][..], Vec::as_slice);
    if rows.iter().any(|row| row["prompt"] == prompt) {
        Ok(duration)
    } else {
        Err("it ran, but nothing was recorded".to_owned())
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

/// Runs a command and returns its stdout and duration. Fails if it does not start, exits with an error, writes to
/// stderr, or does not end in time.
fn run(command: &mut Command, input: &[u8]) -> Result<(String, Duration), String> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // a command may succeed without reading its input
        let _ = stdin.write_all(input);
    }
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", TIMEOUT.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let duration = start.elapsed();
    let text = |from: Option<&mut dyn std::io::Read>| {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let _ = from.take(1 << 20).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let stdout = text(child.stdout.as_mut().map(|s| s as &mut dyn std::io::Read));
    let stderr = text(child.stderr.as_mut().map(|s| s as &mut dyn std::io::Read));
    let message = stderr.lines().next().unwrap_or_default().trim();
    match (status.success(), message) {
        (true, "") => Ok((stdout, duration)),
        (_, "") => Err(format!("it ended with {status}")),
        (_, message) => Err(message.to_owned()),
    }
}
