//! Checks that each agent is recorded: its hooks exist, and run a program that exists. Owns the check and its texts;
//! `repair` changes hooks whose program is missing or will be deleted.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::{SetupOutcome, SetupRequest, SetupResult};
use crate::agent_hooks::program::{self, Trouble};
use crate::agent_hooks::{self, claude_code};
use crate::agents;
use crate::settings_file::JsonSettings;

/// One settings file with hooks of ours in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    settings: PathBuf,
    /// True for a file of the project, false for one of the user.
    of_project: bool,
    command: String,
    trouble: Option<Trouble>,
}

/// Result of the check of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRecording {
    pub agent: &'static str,
    /// How the agent was found on this machine.
    pub found: Option<String>,
    pub on: bool,
    /// Reason why it is off, or will be.
    pub reason: Option<String>,
    /// Advice to the user.
    pub fix: Option<String>,
    pub repair: Option<Repair>,
    /// True if the file to repair is the project's.
    of_project: bool,
    places: Vec<Place>,
}

/// Consent that a repair needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// The hooks run a program in a place of our own: no question is needed.
    Automatic,
    /// The user may have put that program there.
    Ask,
}

/// Checks each agent that is found on this machine or has hooks of ours, in the settings of the project and
/// of the user.
pub fn recordings(project: Option<&Path>) -> Vec<AgentRecording> {
    let found = agent_hooks::found();
    let name = agents::claude_code::NAME;
    let found = found.into_iter().find(|(agent, _)| *agent == name);
    let recording = recording(name, found.map(|(_, why)| why), project);
    let is_known = recording.found.is_some() || !recording.places.is_empty();
    is_known.then_some(recording).into_iter().collect()
}

fn recording(agent: &'static str, found: Option<String>, project: Option<&Path>) -> AgentRecording {
    let user = agent_hooks::settings_of_user();
    let own = project.map_or_else(Vec::new, agent_hooks::settings_of_project);
    let files = user.map(|path| (path, false)).into_iter();
    let files: Vec<_> = files
        .chain(own.into_iter().map(|path| (path, true)))
        .collect();
    let places: Vec<Place> = files
        .iter()
        .flat_map(|(path, of)| places(path, *of))
        .collect();
    let mut recording = AgentRecording {
        agent,
        found,
        on: false,
        reason: None,
        fix: None,
        repair: None,
        of_project: false,
        places,
    };
    if let Some((path, _)) = files
        .iter()
        .find(|(path, _)| agent_hooks::is_switched_off(path))
    {
        recording.reason = Some(format!("{} switches all hooks off", path.display()));
        recording.fix = Some("take `disableAllHooks` out of it".to_owned());
        return recording;
    }
    let works = |place: &Place| {
        place
            .trouble
            .as_ref()
            .is_none_or(|trouble| !trouble.stops())
    };
    recording.on = recording.places.iter().any(works);
    let bad = recording
        .places
        .iter()
        .filter(|place| place.trouble.is_some());
    // a problem that stops the recording comes first
    let bad = bad.min_by_key(|place| works(place)).cloned();
    if let Some((place, trouble)) = bad.and_then(|bad| Some((bad.clone(), bad.trouble?))) {
        let settings = place.settings.display();
        recording.reason = Some(format!("the hooks in {settings} {}", trouble.said()));
        recording.fix = Some(program::fix(agent, place.of_project));
        recording.of_project = place.of_project;
        // a project's settings may be shared with others
        let automatic = trouble.is_ours() && !place.of_project;
        recording.repair = Some(if automatic {
            Repair::Automatic
        } else {
            Repair::Ask
        });
    } else if recording.places.is_empty() {
        let unreadable = files
            .iter()
            .find_map(|(path, _)| agent_hooks::hooks_in(path).err());
        recording.reason = Some(match &unreadable {
            Some(error) => format!("{error:#}"),
            None => "it is not set up".to_owned(),
        });
        recording.fix = Some(match unreadable {
            Some(_) => "the agent cannot read its settings either: fix that file".to_owned(),
            None => format!("`backstitch setup {agent}` sets it up"),
        });
    }
    recording
}

/// Returns the distinct commands of our hooks in a settings file.
fn places(settings: &Path, of_project: bool) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (_, command) in agent_hooks::hooks_in(settings).unwrap_or_default() {
        if places.iter().any(|known| known.command == command) {
            continue;
        }
        places.push(Place {
            settings: settings.to_owned(),
            of_project,
            trouble: program::trouble(&command),
            command,
        });
    }
    places
}

/// Repairs the hooks of an agent that run no existing program, in each settings file of the scope. Files without hooks
/// of ours stay unchanged.
pub fn repair(agent: &'static str, request: SetupRequest<'_>) -> Result<Vec<SetupResult>> {
    let files = match request.project {
        Some(root) => agent_hooks::settings_of_project(root),
        None => agent_hooks::settings_of_user().into_iter().collect(),
    };
    let mut all = Vec::new();
    for path in files {
        let settings = JsonSettings::read(&path)?;
        let places = places(&path, request.project.is_some());
        let troubles: Vec<&Trouble> = places.iter().filter_map(|p| p.trouble.as_ref()).collect();
        let mut done = SetupResult {
            agent,
            found: None,
            settings: settings.file.path.clone(),
            outcome: SetupOutcome::Unchanged,
            events: claude_code::EVENTS,
            backup: None,
            text: String::new(),
            note: None,
            program: None,
        };
        let mut is_refreshed = false;
        for trouble in &troubles {
            if let (Trouble::Outdated(kept), false) = (trouble, request.print) {
                is_refreshed |= program::refresh(kept)?;
                done.program = Some(kept.clone());
            }
        }
        let is_rewritten = troubles.iter().any(|t| !matches!(t, Trouble::Outdated(_)));
        if is_rewritten {
            let program = super::hooks_program(request.print)?;
            let mut value = settings.value.clone();
            claude_code::add(&mut value, &super::command(agent, &program)?)?;
            done.text = settings.text_of(&value);
            done.program = Some(program);
            if request.print {
                done.outcome = SetupOutcome::Printed;
            } else {
                done.backup = settings.write(&value)?;
                done.outcome = SetupOutcome::Written;
            }
        } else if is_refreshed {
            done.outcome = SetupOutcome::Written;
        }
        if !places.is_empty() {
            all.push(done);
        }
    }
    Ok(all)
}

/// Returns the result as JSON.
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
        "scope": if recording.of_project { "project" } else { "user" },
        "hooks": recording.places.iter().map(place).collect::<Vec<_>>(),
    })
}
