//! Weaknesses of the record and of the breakpoints of a workspace, each with its place. Hooks may be switched off or gone, and
//! variables may be those of a project. Agents may decide, change settings, or try to make a decision. One list, which `status`,
//! `doctor`, `setup --status` and the editors show. Reads only.

use std::path::{Path, PathBuf};

use backstitch_agents::switches::{self, FoundSwitch, OFF, SWITCH, SwitchedBy};
use backstitch_agents::{self as agents, Agent, Hooks, installed};
use backstitch_control::{Attempt, Breakpoint, Control, RegionState, now};
use backstitch_core::config::Config;
use backstitch_core::{Engine, Workspace, user_config};
use serde_json::{Value, json};

use crate::control::line_texts::region_now;
use crate::control::words;
use crate::host::messages;
use crate::host::turned_away::TurnedAway;
use crate::host::used_stores::{self, EarlierStore};
use crate::opening;
use crate::render;

/// Time for which a change of settings and an attempt are reported, in microseconds.
const TOLD: i64 = 24 * 3600 * 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeaknessKind {
    /// A setting or a variable ends the hooks of an agent.
    HooksOff,
    /// The hooks that setup wrote are not in their file.
    HooksGone,
    /// Some events of an agent have no hook, or one for some calls alone.
    HooksMissing,
    /// A project's file sets a variable of ours for an agent's hooks, which do not heed it.
    VariableOfProject,
    /// Hooks use another store than before.
    StoreChanged,
    /// The history was removed from its place.
    HistoryRemoved,
    AgentsDecide,
    /// Settings changed while an agent's call ran.
    SettingsChanged,
    /// The lines of a breakpoint are gone, so that it holds nothing.
    LinesGone,
    /// An agent tried to decide.
    Attempt,
}

impl WeaknessKind {
    /// True if nothing that the agent does is recorded or held.
    pub fn is_off(self) -> bool {
        matches!(self, Self::HooksOff | Self::HooksGone)
    }

    fn name(self) -> &'static str {
        match self {
            Self::HooksOff => "hooks_off",
            Self::HooksGone => "hooks_gone",
            Self::HooksMissing => "hooks_missing",
            Self::VariableOfProject => "variable_of_project",
            Self::StoreChanged => "store_changed",
            Self::HistoryRemoved => "history_removed",
            Self::AgentsDecide => "agents_decide",
            Self::SettingsChanged => "settings_changed",
            Self::LinesGone => "lines_gone",
            Self::Attempt => "attempt",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakness {
    pub kind: WeaknessKind,
    pub agent: Option<&'static str>,
    pub said: String,
    /// The next step for the user.
    pub fix: String,
}

impl Weakness {
    /// The same with texts that a file of a project cannot forge lines with: names and values come from there.
    fn visible(self) -> Self {
        Self {
            said: render::clean(&self.said),
            fix: render::clean(&self.fix),
            ..self
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        format!("{}; {}", self.said, self.fix)
    }

    pub fn json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "agent": self.agent,
            "message": self.said,
            "fix": self.fix,
        })
    }
}

/// Returns all weaknesses of a workspace, the gravest first.
pub fn of(workspace: &Workspace, config: &Config) -> Vec<Weakness> {
    let mut all: Vec<Weakness> = agents::AGENTS
        .iter()
        .flat_map(|agent| of_agent(*agent, Some(&workspace.root)))
        .collect();
    all.extend(own_environment());
    if let Some(place) = config.agents_may_control_at() {
        all.push(Weakness {
            kind: WeaknessKind::AgentsDecide,
            agent: None,
            said: format!("{place}: agents may decide on their own calls (`agents.allowControl`)"),
            fix: "take that line out if you did not write it".to_owned(),
        });
    }
    all.extend(earlier_stores(workspace, config));
    all.extend(changed_settings(workspace));
    all.extend(lost_lines(workspace));
    all.extend(attempts(workspace));
    all.sort_by_key(|one| one.kind);
    all.into_iter().map(Weakness::visible).collect()
}

/// Returns those of one agent: of the user's files, and of a project's.
pub fn of_agent(agent: &dyn Agent, project: Option<&Path>) -> Vec<Weakness> {
    let name = agent.name();
    let mut all: Vec<Weakness> = switches::off_settings(agent, project)
        .into_iter()
        .filter_map(weakness)
        .collect();
    let dir = project.unwrap_or(Path::new("/"));
    let variables = switches::variables(agent, dir).into_iter();
    let user = switches::variables_of_user(agent).into_iter();
    all.extend(variables.chain(user).filter_map(weakness));
    for file in installed::gone(agent) {
        let of_project = project.is_some_and(|root| file.starts_with(root));
        if of_project || agent.settings(None).contains(&file) {
            all.push(Weakness {
                kind: WeaknessKind::HooksGone,
                agent: Some(name),
                said: format!(
                    "the hooks of {name} that setup wrote are gone from {}: nothing it does is recorded, and no breakpoint \
                     holds it",
                    shown(&file)
                ),
                fix: format!(
                    "`backstitch setup {name}` adds them; `backstitch setup {name} --uninstall` if you removed them"
                ),
            });
        }
    }
    all.extend(missing_hooks(agent, project));
    all.into_iter().map(Weakness::visible).collect()
}

/// Events of an agent that no settings file has a hook of ours for, where others have one.
fn missing_hooks(agent: &dyn Agent, project: Option<&Path>) -> Option<Weakness> {
    let name = agent.name();
    let mut files = agent.settings(None);
    files.extend(project.map_or_else(Vec::new, |root| agent.settings(Some(root))));
    let examined = files.into_iter().filter_map(|file| {
        let hooks = agent.examine(&file).ok()?;
        (!hooks.entries.is_empty()).then_some((file, hooks))
    });
    let examined: Vec<(PathBuf, Hooks)> = examined.collect();
    let (file, _) = examined.first()?;
    // the doctor says what an older version has left out
    let is_old = examined.iter().any(|(_, hooks)| hooks.outdated);
    let covered = |event: &&&str| examined.iter().any(|(_, hooks)| hooks.cover(event));
    let missing = agent.spec().events.iter().filter(|event| !covered(event));
    let missing: Vec<&str> = missing.filter(|_| !is_old).copied().collect();
    let mut matchers = examined.iter().flat_map(|(_, hooks)| &hooks.entries);
    let matcher = matchers.find_map(|entry| entry.only_for.as_deref());
    let events = missing.join(", ");
    let said = match matcher {
        Some(matcher) => format!(
            "the matcher `{}` in {} has hooks for {events} run for some calls alone",
            render::clean(matcher),
            shown(file)
        ),
        None => format!("{} has no hook for {events}", shown(file)),
    };
    (!missing.is_empty()).then(|| Weakness {
        kind: WeaknessKind::HooksMissing,
        agent: Some(name),
        said: format!("{said}: what {name} does is recorded and held in part"),
        fix: format!("`backstitch setup {name}` adds the missing hooks"),
    })
}

fn weakness(found: FoundSwitch) -> Option<Weakness> {
    let name = found.agent;
    let place = format!("{}:{}", shown(&found.file), found.line);
    let off = |said: String, fix: String| Weakness {
        kind: WeaknessKind::HooksOff,
        agent: Some(name),
        said: format!("{said}: nothing {name} does is recorded, and no breakpoint holds it"),
        fix,
    };
    match found.what {
        SwitchedBy::Setting(setting) => Some(off(
            format!("{place} disables all hooks of {name}"),
            format!("take `{setting}` out of it"),
        )),
        SwitchedBy::Variable {
            name: variable,
            value,
        } if !found.of_project => {
            (variable == SWITCH && value == OFF).then(|| {
                off(
                    format!("{place} sets {SWITCH}={OFF}"),
                    "take it out of that file to have it recorded again".to_owned(),
                )
            })
        }
        SwitchedBy::Variable { name: variable, .. } => Some(Weakness {
            kind: WeaknessKind::VariableOfProject,
            agent: Some(name),
            said: format!(
                "{place} sets {variable} for the hooks of {name}: a project does not switch them off or lead them elsewhere, \
                 so they do not heed it"
            ),
            fix: "take it out of that file; `checkpoints.automatic = false` in .backstitch.toml turns recording off"
                .to_owned(),
        }),
    }
}

/// Agents that are started from here inherit the switch.
fn own_environment() -> Option<Weakness> {
    let is_off = std::env::var_os(SWITCH).is_some_and(|value| value == OFF);
    is_off.then(|| Weakness {
        kind: WeaknessKind::HooksOff,
        agent: None,
        said: format!(
            "{SWITCH}={OFF} is set in this environment: nothing is recorded or held of agents that are started from here"
        ),
        fix: format!("unset {SWITCH}, and start them again"),
    })
}

/// Breakpoints at lines that are gone: moved elsewhere by something that does not tell, or deleted.
fn lost_lines(workspace: &Workspace) -> Vec<Weakness> {
    let Ok(Some(control)) = Control::open_existing(workspace) else {
        return Vec::new();
    };
    let all = control.breakpoints().all().unwrap_or_default().into_iter();
    let is_lost = |one: &Breakpoint| {
        let region = region_now(&workspace.root, &control, one);
        one.enabled && matches!(region, Ok(Some(RegionState::Gone)))
    };
    all.filter(is_lost)
        .map(|one| Weakness {
            kind: WeaknessKind::LinesGone,
            agent: None,
            said: format!(
                "{} holds nothing now: the lines of {} are gone",
                one.id,
                one.spec.summary()
            ),
            fix: format!(
                "`backstitch breakpoint remove {}`, and set it again at the lines that you mean",
                one.id
            ),
        })
        .collect()
}

/// The files that only the user is to change: Backstitch's own, and those that hooks are in or are switched off by.
fn guarded_files(root: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = user_config().into_iter().collect();
    for agent in agents::AGENTS {
        files.extend(agent.settings(None));
        files.extend(agent.settings(Some(root)));
        for switch in agent.spec().off_switches {
            files.extend(switch.project.iter().map(|file| root.join(file)));
        }
    }
    files.sort();
    files.dedup();
    files
}

/// Stores that a setting has hidden lately, or with armed breakpoints.
pub fn earlier_stores(workspace: &Workspace, config: &Config) -> Vec<Weakness> {
    let all = used_stores::earlier(workspace).into_iter();
    let is_told =
        |one: &EarlierStore| one.is_armed() || one.until.is_none_or(|until| until > now() - TOLD);
    all.filter(is_told)
        .map(|one| other_store(config, &one).visible())
        .chain(removed_history(workspace))
        .collect()
}

fn removed_history(workspace: &Workspace) -> Option<Weakness> {
    used_stores::removed(workspace).filter(|time| *time > now() - TOLD)?;
    let (said, fix) = messages::removed_history(&workspace.store_dir);
    let weakness = Weakness {
        kind: WeaknessKind::HistoryRemoved,
        agent: None,
        said,
        fix,
    };
    Some(weakness.visible())
}

fn other_store(config: &Config, before: &EarlierStore) -> Weakness {
    let (said, fix) = messages::other_store(config, before);
    Weakness {
        kind: WeaknessKind::StoreChanged,
        agent: None,
        said,
        fix,
    }
}

/// A kernel stamps a file with the time of its last tick, and a call that began since then may have written it. Microseconds.
const KERNEL_TICK: i64 = 10_000;

/// Settings whose last change falls into a call of an agent.
fn changed_settings(workspace: &Workspace) -> Vec<Weakness> {
    let since = now() - TOLD;
    let newest = |file: PathBuf| {
        let meta = std::fs::metadata(&file)
            .ok()
            .filter(std::fs::Metadata::is_file)?;
        let time = meta.modified().ok()?;
        let time = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        let time = i64::try_from(time.as_micros()).ok()?;
        (time > since).then_some((file, time))
    };
    let changed: Vec<(PathBuf, i64)> = guarded_files(&workspace.root)
        .into_iter()
        .filter_map(newest)
        .collect();
    if changed.is_empty() {
        return Vec::new();
    }
    // nothing is recorded, or the history tells by itself that it cannot be read
    let Ok(engine) = Engine::open_with(workspace, opening::COMMAND.existing()) else {
        return Vec::new();
    };
    let told = changed.into_iter().filter_map(|(file, time)| {
        let by = engine.history().call_at(time, KERNEL_TICK).ok().flatten()?;
        let turn = by.turn.map(|turn| format!(" in t{turn}"));
        Some(Weakness {
            kind: WeaknessKind::SettingsChanged,
            agent: None,
            said: format!(
                "{} changed while {} ran {}{}",
                shown(&file),
                render::clean(&by.agent),
                render::clean(&by.tool),
                turn.unwrap_or_default()
            ),
            fix: "look at it: it says what is recorded and held, and who decides".to_owned(),
        })
    });
    told.collect()
}

fn attempts(workspace: &Workspace) -> Option<Weakness> {
    let all = recent_attempts(workspace);
    let newest = all.last()?;
    let more = match all.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(Weakness {
        kind: WeaknessKind::Attempt,
        agent: None,
        said: format!("{}{more}", words::attempt(newest)),
        fix: "`backstitch pauses --all` lists them".to_owned(),
    })
}

/// Returns the decisions that agents tried to make lately, oldest first.
pub fn recent_attempts(workspace: &Workspace) -> Vec<Attempt> {
    let Ok(Some(control)) = Control::open_existing(workspace) else {
        return Vec::new();
    };
    control.attempts(0, now() - TOLD).unwrap_or_default()
}

/// The next step for people whose sessions were turned away.
pub const NEXT_STEP_OF_TURNED_AWAY: &str = "start the agent in the project's directory";

/// Describes sessions that were turned away in one sentence. None: there are none.
pub fn turned_away(all: &[TurnedAway]) -> Option<String> {
    let first = all.first()?;
    let sessions = match all.len() {
        1 => format!("a session of {} was not recorded", first.agent),
        count => format!(
            "{count} sessions were not recorded, the last one of {}",
            first.agent
        ),
    };
    Some(render::clean(&format!(
        "{sessions}: it began in {}, and {}; only edits of files in a repository are recorded there",
        first.cwd.display(),
        first.reason
    )))
}

fn shown(path: &Path) -> String {
    render::clean(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_were_turned_away_are_named_with_their_place_and_the_reason() {
        let one = TurnedAway {
            agent: "codex".into(),
            session: "s".into(),
            cwd: "/h".into(),
            reason: "no".into(),
            prompt: None,
            prompt_id: None,
        };
        assert_eq!(turned_away(&[]), None);
        let said = turned_away(&[one.clone(), one]).unwrap();
        assert!(said.contains("2 sessions were not recorded"), "{said}");
        assert!(said.contains("it began in /h, and no"), "{said}");
    }
}
