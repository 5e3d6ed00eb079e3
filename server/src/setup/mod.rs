//! `backstitch setup`: sets up agents to report what they do, and editors to show it. Owns the edits of their settings;
//! `editors` owns the formats of editors, and `recording` the check that agents are recorded.

mod editors;
mod recording;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use backstitch_agents::settings_file::remove_unfinished;
use backstitch_agents::{self as agents, Agent, HookEdit, SettingsPlan, installed, program};
use serde_json::Value;

pub use recording::{facts as recording_facts, recordings, repair};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupRequest<'a> {
    /// Root of one project. None sets up all projects of the user.
    pub project: Option<&'a Path>,
    pub uninstall: bool,
    /// Only print the settings.
    pub print: bool,
    /// Calls do not run whose hook failed in any way.
    pub strict: bool,
}

/// Result for one agent's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupResult {
    pub agent: &'static str,
    /// Path by which the agent was found; None if the user named it.
    pub found: Option<String>,
    pub settings: PathBuf,
    pub outcome: SetupOutcome,
    pub events: &'static [&'static str],
    /// Backup that this call created.
    pub backup: Option<PathBuf>,
    /// The whole new file, written or not; or the lines to add to it.
    pub text: String,
    /// Further advice.
    pub note: Option<&'static str>,
    /// The program that the hooks run now.
    pub program: Option<PathBuf>,
}

/// Advice on hooks that are strict.
const STRICT: &str = "Its hooks are strict: a tool call whose hook fails in any way is blocked. To end that: `backstitch setup --uninstall`, then `backstitch setup`.";

/// Advice on a trust that could not be undone.
const TRUST: &str = "It did not answer, and may still trust the hooks that are gone.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupOutcome {
    Written,
    /// The settings were already right.
    Unchanged,
    /// Printed, not written.
    Printed,
    /// Only the entries are printed, because the file is not valid JSON.
    PrintedEntries,
    /// Lines for a file that only its user can edit.
    ByHand,
}

impl SetupOutcome {
    pub fn is_printed(self) -> bool {
        matches!(self, Self::Printed | Self::PrintedEntries | Self::ByHand)
    }
}

impl SetupResult {
    pub fn is_editor(&self) -> bool {
        editors::is_known(self.agent)
    }
}

pub fn known() -> Vec<&'static str> {
    let agents = agents::AGENTS.iter().map(|agent| agent.name());
    agents.chain(editors::known()).collect()
}

pub fn is_known(name: &str) -> bool {
    agents::agent(name).is_some() || editors::is_known(name)
}

/// Sets up one agent.
pub fn run(agent: &str, found: Option<String>, request: SetupRequest) -> Result<SetupResult> {
    if editors::is_known(agent) {
        return editors::run(agent, request);
    }
    let Some(agent) = agents::agent(agent) else {
        bail!("there is nothing to set up for `{agent}`")
    };
    let settings = agent.settings(request.project).into_iter().next();
    let settings =
        settings.context("the home directory is unknown; --scope project works without it")?;
    let program = (!request.uninstall).then(program::for_hooks).transpose()?;
    let (plan, is_invalid) = match &program {
        None => (agent.plan(&settings, HookEdit::Uninstall)?, false),
        Some(program) => install(agent, &settings, program, request)?,
    };
    let mut trust_stays = false;
    let (outcome, backup) = if request.print {
        let outcome = if is_invalid {
            SetupOutcome::PrintedEntries
        } else {
            SetupOutcome::Printed
        };
        (outcome, None)
    } else {
        if !request.uninstall {
            program::prepared()?;
        }
        let places = [Some(plan.path()), plan.path().parent()];
        places.into_iter().flatten().for_each(remove_unfinished);
        if plan.is_change() {
            let forgotten = request.uninstall.then(|| agent.forget_trust(&settings));
            trust_stays = forgotten.is_some_and(|forgotten| forgotten.is_err());
            (SetupOutcome::Written, plan.carry_out()?)
        } else {
            (SetupOutcome::Unchanged, None)
        }
    };
    let is_there = !request.uninstall && !outcome.is_printed();
    if is_there {
        installed::note(agent.name(), &settings)?;
    } else if request.uninstall && !outcome.is_printed() {
        installed::forget(agent.name(), &settings)?;
    }
    let strict = is_there && agent.examine(&settings)?.blocks_if_killed;
    if request.uninstall && outcome == SetupOutcome::Written && !settings.is_file() {
        // Setup created these directories for its files. One stays that has anything else in it.
        for dir in settings.ancestors().take(3) {
            let home = agents::home();
            let is_above = request.project.is_some_and(|root| root.starts_with(dir))
                || home.is_some_and(|home| home.starts_with(dir));
            if is_above || std::fs::remove_dir(dir).is_err() && dir != settings {
                break;
            }
        }
    }
    Ok(SetupResult {
        agent: agent.name(),
        found,
        settings: plan.path().to_owned(),
        outcome,
        events: agent.spec().events,
        backup,
        text: plan.text(),
        note: strict.then_some(STRICT).or(trust_stays.then_some(TRUST)),
        program,
    })
}

/// Plans the hooks of an agent. True if the file is not valid JSON, and the plan has only the entries, to be printed.
fn install(
    agent: &dyn Agent,
    settings: &Path,
    program: &Path,
    request: SetupRequest<'_>,
) -> Result<(SettingsPlan, bool)> {
    let command = command(agent.name(), program)?;
    let command = command.as_str();
    let strict = request.strict;
    match agent.plan(settings, HookEdit::Install { command, strict }) {
        Err(error) if request.print && is_invalid_json(&error) => {
            let entries = HookEdit::Entries { command, strict };
            Ok((agent.plan(settings, entries)?, true))
        }
        plan => Ok((plan?, false)),
    }
}

/// True if a settings file is readable but not valid JSON, for example because of comments.
pub fn is_invalid_json(error: &anyhow::Error) -> bool {
    error.root_cause().is::<serde_json::Error>()
}

/// Returns the command that the agent is to run at each event.
fn command(agent: &str, program: &Path) -> Result<String> {
    Ok(format!("{} hook {agent}", program::quoted(&text(program)?)))
}

/// Returns the path of this program.
fn binary() -> Result<String> {
    text(&std::env::current_exe().context("this program's own path")?)
}

fn text(program: &Path) -> Result<String> {
    let text = program.to_str();
    let text = text.with_context(|| format!("the path {} is not UTF-8", program.display()))?;
    Ok(text.to_owned())
}

/// Returns the result as JSON.
pub fn facts(done: &SetupResult) -> Value {
    serde_json::json!({
        "agent": done.agent,
        "found": done.found,
        "settings": done.settings.to_string_lossy(),
        "outcome": match done.outcome {
            SetupOutcome::Written => "written",
            SetupOutcome::Unchanged => "unchanged",
            SetupOutcome::Printed | SetupOutcome::PrintedEntries | SetupOutcome::ByHand => "printed",
        },
        "kind": if done.is_editor() { "editor" } else { "agent" },
        "note": done.note,
        "events": done.events,
        "program": done.program.as_ref().map(|path| path.to_string_lossy()),
        "backup": done.backup.as_ref().map(|path| path.to_string_lossy()),
        "content": done.outcome.is_printed().then(|| {
            serde_json::from_str(&done.text).unwrap_or_else(|_| Value::from(done.text.as_str()))
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &Path) -> SetupRequest<'_> {
        SetupRequest {
            project: Some(root),
            uninstall: false,
            print: false,
            strict: false,
        }
    }

    #[test]
    fn uninstall_after_setup_leaves_no_trace() {
        let root = tempfile::tempdir().unwrap();
        let install = project(root.path());
        let done = run("claude-code", None, install).unwrap();
        assert_eq!(done.outcome, SetupOutcome::Written);
        assert_eq!(done.backup, None, "there was nothing to back up");
        assert!(done.settings.ends_with(".claude/settings.json"));
        assert_eq!(
            run("claude-code", None, install).unwrap().outcome,
            SetupOutcome::Unchanged
        );
        let uninstall = SetupRequest {
            uninstall: true,
            ..install
        };
        assert_eq!(
            run("claude-code", None, uninstall).unwrap().outcome,
            SetupOutcome::Written
        );
        assert!(
            !done.settings.exists(),
            "uninstall removes the file that setup created"
        );
        assert!(!root.path().join(".claude").exists());
    }

    #[test]
    fn uninstall_restores_settings_byte_for_byte() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join(".claude");
        std::fs::create_dir(&dir).unwrap();
        let settings = dir.join("settings.json");
        let before = "{ \"model\": \"x\",\n\t\"hooks\": {\"Stop\": []} }";
        std::fs::write(&settings, before).unwrap();
        let done = run("claude-code", None, project(root.path())).unwrap();
        assert_eq!(
            std::fs::read_to_string(done.backup.unwrap()).unwrap(),
            before
        );
        run(
            "claude-code",
            None,
            SetupRequest {
                uninstall: true,
                ..project(root.path())
            },
        )
        .unwrap();
        assert_eq!(std::fs::read_to_string(&settings).unwrap(), before);
    }

    #[test]
    fn print_writes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let done = run(
            "claude-code",
            None,
            SetupRequest {
                print: true,
                strict: false,
                ..project(root.path())
            },
        )
        .unwrap();
        assert!(done.text.contains("hook claude-code"));
        assert!(!root.path().join(".claude").exists());
    }

    #[test]
    fn broken_settings_are_reported_with_their_line_and_not_changed() {
        let root = tempfile::tempdir().unwrap();
        let settings = root.path().join(".claude/settings.json");
        std::fs::create_dir(settings.parent().unwrap()).unwrap();
        for broken in [
            "{\n  \"a\": 1,\n}",
            "[]",
            "{\"hooks\": 1}",
            "{\"hooks\": {\"Stop\": {}}}",
        ] {
            std::fs::write(&settings, broken).unwrap();
            let error = format!(
                "{:#}",
                run("claude-code", None, project(root.path())).unwrap_err()
            );
            assert!(error.contains("settings.json"), "{error}");
            assert_eq!(std::fs::read_to_string(&settings).unwrap(), broken);
        }
        std::fs::write(&settings, "{\n  \"a\": 1,\n}").unwrap();
        let error = format!(
            "{:#}",
            run("claude-code", None, project(root.path())).unwrap_err()
        );
        assert!(error.contains("line 3"), "{error}");
        let print = SetupRequest {
            print: true,
            strict: false,
            ..project(root.path())
        };
        let done = run("claude-code", None, print).unwrap();
        assert_eq!(done.outcome, SetupOutcome::PrintedEntries);
        assert!(done.text.contains("hook claude-code"));
    }

    #[cfg(unix)]
    #[test]
    fn link_is_followed_and_mode_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("dotfiles.json");
        std::fs::write(&real, "{}").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::fs::create_dir(root.path().join(".claude")).unwrap();
        let link = root.path().join(".claude/settings.json");
        symlink("../dotfiles.json", &link).unwrap();
        run("claude-code", None, project(root.path())).unwrap();
        assert!(link.is_symlink());
        let meta = std::fs::metadata(&real).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o640);
        assert!(
            std::fs::read_to_string(&real)
                .unwrap()
                .contains("hook claude-code")
        );
    }
}
