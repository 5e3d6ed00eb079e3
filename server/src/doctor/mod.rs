//! `backstitch doctor`: whether everything that has to work together does, and how to mend what does not. Owns what is
//! looked at; it mends nothing itself.

mod hooks;

use std::path::Path;

use backstitch_core::config::Config;
use backstitch_core::health::{self, Health};
use backstitch_core::{Engine, Workspace, retention};
use serde::Serialize;

use crate::render;

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    Good,
    /// It works, though not as it should.
    Warning,
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub about: &'static str,
    pub state: CheckState,
    pub said: String,
    /// What to do, where there is something to do.
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

    fn of(
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

/// Looks at everything.
pub fn examine(workspace: &Workspace, config: &Config) -> Vec<Finding> {
    let health = health::of(workspace);
    let mut all = place(&health);
    all.extend(tree(&workspace.root, &health));
    all.extend(store(workspace, config));
    all.extend(settings(workspace, config));
    all.extend(hooks::examine(&workspace.root));
    all
}

const STORE: &str = "store";

/// Where the store is.
fn place(health: &Health) -> Vec<Finding> {
    let dir = health.dir.display();
    let mut all = Vec::new();
    if health.is_remote {
        all.push(Finding::of(
            STORE,
            CheckState::Warning,
            format!("{dir} is on a network or FUSE file system: it works without a write-ahead log there, and slower"),
            "a directory on a disk of this machine is faster: set `store.dir` in your own config.toml",
        ));
    }
    if health.read_only {
        all.push(Finding::of(
            STORE,
            CheckState::Wrong,
            format!("{dir} cannot be written: nothing is recorded, and gaps cannot be noted"),
            "look at the permissions and the mount of it, or set `store.dir` in your own config.toml",
        ));
    }
    if health.is_nearly_full() {
        let free = health.free.map(render::bytes).unwrap_or_default();
        all.push(Finding::of(
            STORE,
            CheckState::Wrong,
            format!("{free} are left on the disk of {dir}: what agents do may not be recorded"),
            "free some disk space; `backstitch gc --dry-run` says what old checkpoints take",
        ));
    }
    if let Some((path, mode)) = health.open.first() {
        let more = match health.open.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        all.push(Finding::of(
            STORE,
            CheckState::Warning,
            format!(
                "{} can be used by others (mode {mode:o}){more}",
                path.display()
            ),
            format!("`chmod -R go= {dir}` makes it yours alone"),
        ));
    }
    if all.is_empty() {
        let free = health.free.map(render::bytes);
        let free = free.map_or_else(String::new, |free| format!(", {free} are free"));
        let size = render::bytes(health.size);
        all.push(Finding::good(
            STORE,
            format!("{dir}: {size}, yours alone{free}"),
        ));
    }
    all
}

/// Where the files are.
fn tree(root: &Path, health: &Health) -> Option<Finding> {
    health.tree_is_remote.then(|| {
        Finding::of(
            "files",
            CheckState::Warning,
            format!(
                "{} is on a network or FUSE file system: every look at it takes longer, and what other machines \
                 change is seen by the next one only",
                root.display()
            ),
            "a clone on a disk of this machine is faster",
        )
    })
}

/// What is in the store.
fn store(workspace: &Workspace, config: &Config) -> Vec<Finding> {
    let about = "history";
    let engine = match Engine::open_existing(workspace) {
        Ok(engine) => engine,
        Err(backstitch_core::Error::NoStore(_)) => {
            return vec![Finding::good(about, "nothing is recorded here yet")];
        }
        Err(error) => {
            return vec![Finding::of(
                about,
                CheckState::Wrong,
                error.to_string(),
                "`backstitch verify` says what can still be read; your files are untouched",
            )];
        }
    };
    let mut all = Vec::new();
    match engine.quick_check() {
        Ok(wrong) if wrong.is_empty() => {}
        Ok(wrong) => all.push(Finding::of(
            about,
            CheckState::Wrong,
            format!("the database is damaged: {}", wrong.join("; ")),
            "`backstitch verify` names all that is lost; the rest can be read",
        )),
        Err(error) => all.push(Finding::of(
            about,
            CheckState::Wrong,
            error.to_string(),
            "`backstitch verify` names all that is lost; the rest can be read",
        )),
    }
    let status = match engine.status() {
        Ok(status) => status,
        Err(error) => {
            all.push(Finding::of(
                about,
                CheckState::Wrong,
                error.to_string(),
                "`backstitch verify` says more",
            ));
            return all;
        }
    };
    if let Some(operation) = status.open_operation {
        all.push(Finding::of(
            about,
            CheckState::Warning,
            format!("{operation} was interrupted"),
            "the next `backstitch log` finishes or undoes it",
        ));
    }
    if !status.gaps.is_empty() {
        all.push(Finding::of(
            about,
            CheckState::Warning,
            format!(
                "{} could not be recorded",
                render::plural(status.gaps.len(), "event", "events")
            ),
            "the next checkpoint says which: `backstitch checkpoint`, then `backstitch show @`",
        ));
    }
    if status.coverage.pending {
        all.push(Finding::of(
            about,
            CheckState::Warning,
            "a scan ran out of time, and has not been finished",
            "`backstitch scan` finishes it",
        ));
    }
    if let Some(most) = config.most_bytes()
        && retention::near(status.live_bytes, most)
    {
        all.push(Finding::of(
            about,
            CheckState::Warning,
            format!(
                "{} of the {} that it may take are used",
                render::bytes(status.live_bytes),
                render::bytes(most)
            ),
            "`backstitch gc --dry-run` says what would go; `store.maxBytes` sets the limit",
        ));
    }
    if all.is_empty() {
        let count = usize::try_from(status.nodes).unwrap_or_default();
        let count = render::plural(count, "checkpoint", "checkpoints");
        all.push(Finding::good(
            about,
            format!("{count}, the database is whole"),
        ));
    }
    all
}

fn settings(workspace: &Workspace, config: &Config) -> Vec<Finding> {
    let about = "settings";
    let mut problems = config.problems();
    problems.extend(health::nothing_recorded(workspace, config));
    if problems.is_empty() {
        return vec![Finding::good(about, "nothing is wrong in them")];
    }
    let one = |problem| {
        Finding::of(
            about,
            CheckState::Warning,
            problem,
            "mend that line; `backstitch status -v` says what holds",
        )
    };
    problems.into_iter().map(one).collect()
}

/// A path as people write it.
fn shown(path: &Path) -> String {
    render::clean(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neither can be mounted everywhere: what is said follows from what was found.
    #[test]
    fn what_is_remote_is_named_each_for_itself() {
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
            let all = place(&health)
                .into_iter()
                .chain(tree(Path::new("/work"), &health));
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
