//! If each agent is recorded: its hooks are there, and run a program that exists. Owns the judgement and its words;
//! `repair` has hooks that run no program, or one that will go, run one that stays.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstitch_agents::program::{self, Trouble};
use backstitch_agents::settings_file::resolve_links;
use backstitch_agents::{self as agents, Agent, HookEdit, Hooks, UNTRUSTED};
use serde_json::{Value, json};

use super::{SetupOutcome, SetupRequest, SetupResult};
use crate::render;
use crate::safeguards::{self, Weakness, WeaknessKind};

/// One settings file with hooks of ours in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    settings: PathBuf,
    /// It is one of the project's, not the user's.
    of_project: bool,
    command: String,
    trouble: Option<Trouble>,
    /// A text with this command that is not as setup writes it.
    altered: Option<String>,
}

impl Place {
    /// A project's hooks come from whoever made the project: one that only looks like ours records nothing for certain.
    fn works(&self) -> bool {
        let stops = self.trouble.as_ref().is_some_and(Trouble::stops);
        !(stops || self.of_project && self.altered.is_some())
    }
}

/// A settings file that was looked at, and our hooks in it.
struct SettingsHooks {
    path: PathBuf,
    of_project: bool,
    hooks: Result<Hooks>,
}

/// A fault of the hooks, and its remedy.
struct HookAdvice {
    reason: String,
    fix: String,
    repair: Option<Repair>,
    of_project: bool,
}

/// How it stands with one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecording {
    pub agent: &'static str,
    /// How the agent was found on this machine.
    pub found: Option<String>,
    pub on: bool,
    /// Why it is off, or will be.
    pub reason: Option<String>,
    /// The next step for the user.
    pub fix: Option<String>,
    pub repair: Option<Repair>,
    /// Everything that weakens its record.
    pub weak: Vec<Weakness>,
    /// Number of our hooks that the agent skips until its user trusts them.
    pub untrusted: usize,
    /// The place to repair is a project's.
    of_project: bool,
    places: Vec<Place>,
}

/// How much a repair changes that is the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The hooks run a program in our own place: no question is needed.
    Automatic,
    /// The user may have put that program there.
    Ask,
}

impl AgentRecording {
    /// The weakness by which it is recorded in part.
    pub fn missing_hooks(&self) -> Option<&Weakness> {
        let mut all = self.weak.iter();
        all.find(|one| one.kind == WeaknessKind::HooksMissing)
    }

    /// Hooks that run no program, or one that will go. Those that stop the recording come first.
    fn broken_hooks(&self) -> Option<HookAdvice> {
        let bad = self.places.iter().filter(|place| place.trouble.is_some());
        let place = bad.min_by_key(|place| place.works())?;
        let trouble = place.trouble.as_ref()?;
        let settings = place.settings.display();
        // a project's settings may be shared with others
        let automatic = trouble.is_ours() && !place.of_project;
        Some(HookAdvice {
            reason: format!("the hooks in {settings} {}", trouble.said()),
            fix: program::fix(self.agent, place.of_project),
            repair: Some(if automatic {
                Repair::Automatic
            } else {
                Repair::Ask
            }),
            of_project: place.of_project,
        })
    }

    /// Hooks that are not as setup writes them.
    fn altered_hooks(&self) -> Option<HookAdvice> {
        let place = self.places.iter().find(|place| place.altered.is_some())?;
        let settings = place.settings.display();
        let text = render::cut(&render::one_line(place.altered.as_ref()?), 200);
        let scope = if place.of_project {
            " --scope project"
        } else {
            ""
        };
        Some(HookAdvice {
            reason: format!("a hook in {settings} is not one that setup writes: `{text}`"),
            fix: format!(
                "look at it; `backstitch setup {}{scope}` puts Backstitch's own in its place",
                self.agent
            ),
            repair: None,
            of_project: place.of_project,
        })
    }

    /// Hooks that setup wrote and that are gone, or none at all.
    fn absent_hooks(&self, files: &[SettingsHooks]) -> Option<HookAdvice> {
        let advice = |reason, fix| HookAdvice {
            reason,
            fix,
            repair: None,
            of_project: false,
        };
        if let Some(part) = self.missing_hooks() {
            return Some(advice(part.said.clone(), part.fix.clone()));
        }
        if !self.places.is_empty() {
            return None;
        }
        Some(
            match files.iter().find_map(|file| file.hooks.as_ref().err()) {
                Some(error) => advice(
                    format!("{error:#}"),
                    "the agent cannot read its settings either: fix that file".to_owned(),
                ),
                None => advice(
                    "it is not set up".to_owned(),
                    format!("`backstitch setup {}` sets it up", self.agent),
                ),
            },
        )
    }

    /// Takes a setting into account that turns recording off. `place`: its file and line.
    pub fn turn_off(&mut self, place: &str) {
        self.on = false;
        self.reason = Some(format!("{place}: `checkpoints.automatic` is false"));
        self.fix = Some("take that line out to have it recorded".to_owned());
    }

    /// Takes into account if the agent runs the hooks at all, where it asks its user for trust. Starts a program of the agent.
    pub fn ask_for_trust(&mut self, dir: &Path) {
        let agent = agents::agent(self.agent).filter(|_| self.on);
        let Some(skipped) = agent.and_then(|agent| agent.untrusted(dir)) else {
            return;
        };
        let name = self.agent;
        let why = match skipped {
            Ok(skipped) if skipped.is_empty() => return,
            Ok(skipped) => {
                self.untrusted = skipped.len();
                "it skips the hooks, which its user has not trusted".to_owned()
            }
            Err(error) => format!("it cannot be checked if it runs the hooks: {error:#}"),
        };
        self.on = false;
        self.reason = Some(why);
        self.fix = Some(format!(
            "`backstitch setup {name} --trust` has it trust them"
        ));
    }
}

/// Each agent that is found on this machine, or has hooks of ours, with the project's settings beside the user's.
pub fn recordings(project: Option<&Path>) -> Vec<AgentRecording> {
    let all = agents::AGENTS
        .iter()
        .map(|agent| recording(*agent, project));
    all.filter(|recording| recording.found.is_some() || !recording.places.is_empty())
        .collect()
}

fn recording(agent: &dyn Agent, project: Option<&Path>) -> AgentRecording {
    let files = settings_files(agent, project);
    let places: Vec<Place> = files
        .iter()
        .filter_map(|file| Some((file, file.hooks.as_ref().ok()?)))
        .flat_map(|(file, hooks)| places(&file.path, file.of_project, hooks))
        .collect();
    let mut recording = AgentRecording {
        agent: agent.name(),
        found: agent.found(),
        on: false,
        reason: None,
        fix: None,
        repair: None,
        weak: safeguards::of_agent(agent, project),
        untrusted: 0,
        of_project: false,
        places,
    };
    if let Some(off) = recording.weak.iter().find(|one| one.kind.is_off()) {
        recording.reason = Some(off.said.clone());
        recording.fix = Some(off.fix.clone());
        if off.kind == WeaknessKind::HooksOff {
            return recording;
        }
    }
    recording.on = recording.places.iter().any(Place::works);
    let of_project_alone = recording.places.iter().all(|place| place.of_project);
    if let Some(fix) = project
        .filter(|_| recording.on && of_project_alone)
        .and_then(|project| agent.distrusts(project))
    {
        recording.on = false;
        recording.reason = Some(UNTRUSTED.to_owned());
        recording.fix = Some(fix);
        return recording;
    }
    let is_told = recording.reason.is_some();
    let advice = recording
        .broken_hooks()
        .or_else(|| recording.altered_hooks())
        .or_else(|| recording.absent_hooks(&files).filter(|_| !is_told));
    if let Some(advice) = advice {
        recording.reason = Some(advice.reason);
        recording.fix = Some(advice.fix);
        recording.repair = advice.repair;
        recording.of_project = advice.of_project;
    }
    recording
}

/// The settings files of an agent: the user's, then the project's.
fn settings_files(agent: &dyn Agent, project: Option<&Path>) -> Vec<SettingsHooks> {
    let user = agent.settings(None).into_iter().map(|path| (path, false));
    let own = project.map_or_else(Vec::new, |root| agent.settings(Some(root)));
    let own = own.into_iter().map(|path| (path, true));
    user.chain(own)
        .map(|(path, of_project)| SettingsHooks {
            hooks: agent.examine(&path),
            path,
            of_project,
        })
        .collect()
}

/// The different commands of our hooks in a settings file.
fn places(settings: &Path, of_project: bool, hooks: &Hooks) -> Vec<Place> {
    let place = |command: &str| {
        let its = hooks
            .entries
            .iter()
            .filter(|entry| entry.command == command);
        let mut altered = its.filter(|entry| entry.program.is_none() && !hooks.outdated);
        Place {
            settings: settings.to_owned(),
            of_project,
            trouble: program::trouble(command),
            command: command.to_owned(),
            altered: altered.next().map(|entry| entry.text.clone()),
        }
    };
    hooks.commands().into_iter().map(place).collect()
}

/// Has the hooks of an agent run a program that exists, in each settings file of the scope where they do not. Files without
/// hooks of ours are left alone.
pub fn repair(agent: &dyn Agent, request: SetupRequest<'_>) -> Result<Vec<SetupResult>> {
    let mut all = Vec::new();
    for path in agent.settings(request.project) {
        let places = places(&path, request.project.is_some(), &agent.examine(&path)?);
        if !places.is_empty() {
            all.push(repair_file(agent, &path, &places, request.print)?);
        }
    }
    Ok(all)
}

fn repair_file(
    agent: &dyn Agent,
    path: &Path,
    places: &[Place],
    print: bool,
) -> Result<SetupResult> {
    let mut done = SetupResult {
        agent: agent.name(),
        found: None,
        settings: resolve_links(path),
        outcome: SetupOutcome::Unchanged,
        events: agent.spec().events,
        backup: None,
        text: String::new(),
        note: None,
        program: None,
    };
    let troubles: Vec<&Trouble> = places.iter().filter_map(|p| p.trouble.as_ref()).collect();
    let mut is_refreshed = false;
    for trouble in &troubles {
        if let (Trouble::Outdated(kept), false) = (trouble, print) {
            is_refreshed |= program::refresh(kept)?;
            done.program = Some(kept.clone());
        }
    }
    if troubles.iter().any(|t| !matches!(t, Trouble::Outdated(_))) {
        let program = program::for_hooks()?;
        let command = super::command(agent.name(), &program)?;
        let plan = agent.plan(
            path,
            HookEdit::Install {
                command: &command,
                strict: false,
            },
        )?;
        done.text = plan.text();
        if print {
            done.program = Some(program);
            done.outcome = SetupOutcome::Printed;
        } else {
            done.program = Some(program::prepared()?);
            done.backup = plan.carry_out()?;
            done.outcome = SetupOutcome::Written;
        }
    } else if is_refreshed {
        done.outcome = SetupOutcome::Written;
    }
    Ok(done)
}

/// The facts, for JSON.
pub fn facts(recording: &AgentRecording) -> Value {
    let place = |place: &Place| {
        json!({
            "settings": place.settings.to_string_lossy(),
            "scope": if place.of_project { "project" } else { "user" },
            "command": place.command,
            "trouble": place.trouble.as_ref().map(Trouble::name),
        })
    };
    json!({
        "agent": recording.agent,
        "found": recording.found,
        "recording": recording.on,
        "reason": recording.reason,
        "fix": recording.fix,
        "repair": recording.repair.map(|repair| match repair {
            Repair::Automatic => "automatic",
            Repair::Ask => "ask",
        }),
        "safeguards": recording.weak.iter().map(Weakness::json).collect::<Vec<_>>(),
        "untrusted": recording.untrusted,
        "scope": if recording.of_project { "project" } else { "user" },
        "hooks": recording.places.iter().map(place).collect::<Vec<_>>(),
    })
}
