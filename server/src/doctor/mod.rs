//! `backstitch doctor`: checks the store, the history, the settings and the agents, and says how to fix problems. It
//! fixes nothing itself.

mod hooks;
mod jobs;

use std::path::Path;

use backstitch_control::{Control, PauseFilter, PauseState};
use backstitch_core::config::Config;
use backstitch_core::health::{self, Health};
use backstitch_core::{Engine, Error, Status, Workspace, retention};
use serde::Serialize;

use crate::control::shown;
use crate::host::turned_away::TurnedAway;
use crate::opening;
use crate::render;
use crate::safeguards::{self, Weakness, WeaknessKind};

/// Result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    Good,
    /// It works, but not well.
    Warning,
    Wrong,
}

/// One checked item.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub about: &'static str,
    pub state: CheckState,
    pub said: String,
    /// Advice, if something is to be done.
    pub hint: Option<String>,
}

impl Finding {
    fn good(about: &'static str, said: impl Into<String>) -> Self {
        Self {
            about,
            state: CheckState::Good,
            said: said.into(),
            hint: None,
        }
    }

    fn new(
        about: &'static str,
        state: CheckState,
        said: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            about,
            state,
            said: said.into(),
            hint: Some(hint.into()),
        }
    }
}

/// Runs all checks.
pub fn examine(workspace: &Workspace, config: &Config) -> Vec<Finding> {
    let health = health::of(workspace);
    let mut all = store_location(&health);
    all.extend(worktree(&workspace.root, &health));
    all.extend(store(workspace, config));
    all.extend(control(workspace));
    all.extend(settings(workspace, config));
    all.extend(safeguards::of(workspace, config).into_iter().map(weakness));
    all.extend(hooks::examine(
        &workspace.root,
        config.records_automatically(),
    ));
    all.extend(turned_away(&workspace.root));
    all.extend(jobs::examine(&workspace.root));
    all
}

fn weakness(one: Weakness) -> Finding {
    let state = if one.kind.is_off() || one.kind == WeaknessKind::HooksMissing {
        CheckState::Wrong
    } else {
        CheckState::Warning
    };
    Finding::new(one.agent.unwrap_or("safeguards"), state, one.said, one.fix)
}

/// Names sessions whose work in the workspace is not recorded.
fn turned_away(root: &Path) -> Option<Finding> {
    let said = safeguards::turned_away(&TurnedAway::recent(root))?;
    Some(Finding::new(
        "sessions",
        CheckState::Warning,
        said,
        safeguards::NEXT_STEP_OF_TURNED_AWAY,
    ))
}

const STORE: &str = "store";

/// Checks the store's directory.
fn store_location(health: &Health) -> Vec<Finding> {
    let dir = health.dir.display();
    let mut all = Vec::new();
    if health.is_remote {
        all.push(Finding::new(
            STORE,
            CheckState::Warning,
            format!("{dir} is on a network or FUSE file system: the store works without a write-ahead log there, and is slower"),
            "a directory on a disk of this machine is faster: set `store.dir` in your own config.toml",
        ));
    }
    if health.read_only {
        all.push(Finding::new(
            STORE,
            CheckState::Wrong,
            format!("{dir} is not writable: nothing is recorded"),
            "check its permissions and its mount, or set `store.dir` in your own config.toml",
        ));
    }
    if health.is_nearly_full() {
        let free = health.free.map(render::bytes).unwrap_or_default();
        all.push(Finding::new(
            STORE,
            CheckState::Wrong,
            format!("{free} are left on the disk of {dir}: recording may fail"),
            "free some disk space; `backstitch gc --dry-run` shows the size of old checkpoints",
        ));
    }
    if let Some((path, mode)) = health.open.first() {
        let more = match health.open.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        all.push(Finding::new(
            STORE,
            CheckState::Warning,
            format!(
                "{} is accessible to other users (mode {mode:o}){more}",
                path.display()
            ),
            format!("`chmod -R go= {dir}` makes it private"),
        ));
    }
    if all.is_empty() {
        let free = health.free.map(render::bytes);
        let free = free.map_or_else(String::new, |free| format!(", {free} are free"));
        let size = render::bytes(health.size);
        all.push(Finding::good(
            STORE,
            format!("{dir}: {size}, private{free}"),
        ));
    }
    all
}

/// Checks the workspace's file system.
fn worktree(root: &Path, health: &Health) -> Option<Finding> {
    health.tree_is_remote.then(|| {
        Finding::new(
            "files",
            CheckState::Warning,
            format!(
                "{} is on a network or FUSE file system: scans are slower, and changes from other machines \
                 are found only by the next scan",
                root.display()
            ),
            "a clone on a disk of this machine is faster",
        )
    })
}

const HISTORY: &str = "history";

/// Checks the history in the store.
fn store(workspace: &Workspace, config: &Config) -> Vec<Finding> {
    let engine = match Engine::open_with(workspace, opening::COMMAND.existing()) {
        Ok(engine) => engine,
        Err(error) => return vec![unopened(&error)],
    };
    let mut all: Vec<Finding> = damage(&engine).into_iter().collect();
    let status = match engine.status() {
        Ok(status) => status,
        Err(error) => {
            all.push(Finding::new(
                HISTORY,
                CheckState::Wrong,
                error.to_string(),
                "`backstitch verify` shows details",
            ));
            return all;
        }
    };
    all.extend(unfinished(&status));
    all.extend(nearly_at_limit(&status, config));
    if all.is_empty() {
        let count = usize::try_from(status.nodes).unwrap_or_default();
        let count = render::plural(count, "checkpoint", "checkpoints");
        all.push(Finding::good(
            HISTORY,
            format!("{count}, the database is intact"),
        ));
    }
    all
}

/// Says why the store was not opened.
fn unopened(error: &Error) -> Finding {
    let hint = match error {
        Error::NoStore(_) => return Finding::good(HISTORY, "nothing is recorded here yet"),
        Error::TooNew { .. } => {
            "update this Backstitch to the version that made it, or a newer one; your files are untouched"
        }
        _ => "`backstitch verify` lists what can still be read; your files are untouched",
    };
    Finding::new(HISTORY, CheckState::Wrong, error.to_string(), hint)
}

/// Checks the database.
fn damage(engine: &Engine) -> Option<Finding> {
    let said = match engine.quick_check() {
        Ok(wrong) if wrong.is_empty() => return None,
        Ok(wrong) => format!("the database is damaged: {}", wrong.join("; ")),
        Err(error) => error.to_string(),
    };
    Some(Finding::new(
        HISTORY,
        CheckState::Wrong,
        said,
        "`backstitch verify` lists everything that is lost; the rest can be read",
    ))
}

/// Names work on the history that was interrupted, and what it lacks.
fn unfinished(status: &Status) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(operation) = &status.open_operation {
        all.push(Finding::new(
            HISTORY,
            CheckState::Warning,
            format!("{operation} was interrupted"),
            "the next `backstitch log` finishes or undoes it",
        ));
    }
    if !status.gaps.is_empty() {
        all.push(Finding::new(
            HISTORY,
            CheckState::Warning,
            format!(
                "{} could not be recorded",
                render::plural(status.gaps.len(), "event", "events")
            ),
            "the next checkpoint lists them: `backstitch checkpoint`, then `backstitch show @`",
        ));
    }
    if status.coverage.pending {
        all.push(Finding::new(
            HISTORY,
            CheckState::Warning,
            "a scan ran out of time and is not finished",
            "`backstitch scan` finishes it",
        ));
    }
    all
}

/// Warns if the store has nearly its largest size.
fn nearly_at_limit(status: &Status, config: &Config) -> Option<Finding> {
    let limit = config.most_bytes()?;
    retention::near(status.live_bytes, limit).then(|| {
        Finding::new(
            HISTORY,
            CheckState::Warning,
            format!(
                "the store uses {} of its limit of {}",
                render::bytes(status.live_bytes),
                render::bytes(limit)
            ),
            "`backstitch gc --dry-run` shows what would be squashed; `store.maxBytes` sets the limit",
        )
    })
}

/// Checks the breakpoints, and reports calls that ran although they were held.
fn control(workspace: &Workspace) -> Vec<Finding> {
    let about = "breakpoints";
    let failed = |error: Error| {
        let hint = "while it is damaged, calls that a breakpoint concerns are denied; `backstitch clear` makes a new one";
        Finding::new(
            about,
            CheckState::Wrong,
            format!("control.db: {error}"),
            hint,
        )
    };
    let control = match Control::open_existing(workspace) {
        Ok(Some(control)) => control,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![failed(error)],
    };
    let found = || -> backstitch_core::Result<Vec<Finding>> {
        let mut all: Vec<Finding> = control
            .verify()?
            .into_iter()
            .map(|problem| {
                let hint =
                    "`backstitch breakpoint disable` and `enable` of one breakpoint write it anew";
                Finding::new(about, CheckState::Wrong, problem.0, hint)
            })
            .collect();
        let slipped = control.pauses().list(PauseFilter::All)?;
        let slipped = slipped
            .iter()
            .rev()
            .find(|pause| pause.state == PauseState::Slipped);
        if let Some(pause) = slipped {
            all.push(Finding::new(
                about,
                CheckState::Warning,
                format!(
                    "{} ran, although a breakpoint stops it: its hook died ({})",
                    pause.id,
                    shown::summary(pause)
                ),
                "`backstitch setup claude-code --strict` has calls blocked whose hook is killed",
            ));
        }
        if all.is_empty() {
            let breakpoints = control.breakpoints().all()?;
            let enabled = breakpoints.iter().filter(|one| one.enabled).count();
            let held = control.held()?;
            all.push(Finding::good(
                about,
                format!(
                    "{}, {}",
                    render::plural(enabled, "breakpoint is armed", "breakpoints are armed"),
                    render::plural(held, "call is held", "calls are held")
                ),
            ));
        }
        Ok(all)
    };
    found().unwrap_or_else(|error| vec![failed(error)])
}

fn settings(workspace: &Workspace, config: &Config) -> Vec<Finding> {
    let about = "settings";
    let mut problems = config.problems();
    problems.extend(health::nothing_recorded(workspace, config));
    if problems.is_empty() {
        return vec![Finding::good(about, "no problems")];
    }
    let one = |problem| {
        Finding::new(
            about,
            CheckState::Warning,
            problem,
            "fix that line; `backstitch status -v` shows the settings in force",
        )
    };
    problems.into_iter().map(one).collect()
}

/// Returns a path for display.
fn shown(path: &Path) -> String {
    render::clean(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the findings from synthetic facts, because such file systems cannot be mounted everywhere.
    #[test]
    fn remote_file_systems_are_reported_separately() {
        let said = |is_remote, tree_is_remote| -> Vec<String> {
            let health = Health {
                dir: "/state".into(),
                size: 0,
                free: None,
                is_remote,
                tree_is_remote,
                open: Vec::new(),
                read_only: false,
            };
            let all = store_location(&health)
                .into_iter()
                .chain(worktree(Path::new("/work"), &health));
            all.filter(|f| f.state == CheckState::Warning && f.hint.is_some())
                .map(|f| f.said)
                .collect()
        };
        assert_eq!(said(false, false), [""; 0]);
        assert!(said(true, false)[0].starts_with("/state is on a network"));
        assert!(said(false, true)[0].starts_with("/work is on a network"));
        assert_eq!(said(true, true).len(), 2);
    }
}
