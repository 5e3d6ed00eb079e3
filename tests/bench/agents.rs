//! Hooks of every agent around an edit, next to those of Claude Code in the same run: payloads that real agents sent, or that
//! their documents show (`tests/agents/payloads`).

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use backstitch_agents::{AGENTS, agent};
use backstitch_core::capture::{Effect, EventKind};
use serde_json::Value;

use crate::measure::alternating;
use crate::place::Place;
use crate::rows::Report;
use crate::table::Goal;

/// Runs per median.
const RUNS: usize = 51;

/// The recorded payloads around an edit of `src/main.rs` by an agent.
struct EditPayloads {
    agent: &'static str,
    before: String,
    after: String,
}

impl EditPayloads {
    /// Finds the payload before an edit, and the one after it: the first of each by the names of their files.
    fn of(name: &str) -> Result<Self> {
        let agent = agent(name).with_context(|| format!("no agent {name}"))?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/payloads");
        let folder = folder.join(agent.name().trim_end_matches("-code"));
        let files = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
        paths.sort();
        let (mut before, mut after) = (None, None);
        for path in paths {
            let text = fs::read_to_string(&path)?;
            let Ok(event) = agent.parse(text.as_bytes()) else {
                continue;
            };
            let Some(call) = event.kind.call() else {
                continue;
            };
            let is_edit = matches!(&call.effect, Effect::Names(paths) if !paths.is_empty());
            if !is_edit || !text.contains("src/main.rs") || event.subagent.is_some() {
                continue;
            }
            match event.kind {
                EventKind::Before(_) => _ = before.get_or_insert(text),
                EventKind::After { failed: false, .. } => _ = after.get_or_insert(text),
                _ => {}
            }
        }
        Ok(Self {
            agent: agent.name(),
            before: before.with_context(|| format!("{name}: no payload before an edit"))?,
            after: after.with_context(|| format!("{name}: no payload after an edit"))?,
        })
    }
}

pub fn measure(report: &mut Report, place: &Place<'_>, name: &str, edited: &str) -> Result<()> {
    let other = place.another()?;
    other.write_edited(edited, 8 << 10)?;
    let own = place.another()?;
    own.write_edited(edited, 8 << 10)?;
    let calls = Cell::new(0);
    let claude = EditPayloads::of("claude-code")?;
    for agent in AGENTS.iter().filter(|agent| agent.name() != claude.agent) {
        let edit = EditPayloads::of(agent.name())?;
        let times = alternating(
            RUNS,
            || around(&own, &edit, edited, &calls),
            || around(&other, &claude, edited, &calls),
        )?;
        report.times(
            name,
            agent.spec().title,
            "the two hooks of Claude Code",
            &times,
            Goal::Ratio(1.1),
        );
    }
    Ok(())
}

/// Sends the payloads before and after an edit. Returns the time of both hooks.
fn around(
    place: &Place<'_>,
    edit: &EditPayloads,
    edited: &str,
    calls: &Cell<usize>,
) -> Result<Duration> {
    calls.set(calls.get() + 1);
    let call = Value::from(format!("call_{}", calls.get()));
    let send = |text: &str| -> Result<Duration> {
        let root = place.root.to_string_lossy();
        let text = text
            .replace("src/main.rs", edited)
            .replace("/home/dev/project", &root);
        let mut payload: Value = serde_json::from_str(&text)?;
        for id in ["/tool_use_id", "/tool_call/id", "/tool_result/id"] {
            if let Some(id) = payload.pointer_mut(id) {
                *id = call.clone();
            }
        }
        place.hook_of(edit.agent, payload.to_string().as_bytes())
    };
    Ok(send(&edit.before)? + send(&edit.after)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_payloads_around_an_edit() {
        for agent in AGENTS {
            EditPayloads::of(agent.name()).unwrap();
        }
    }
}
