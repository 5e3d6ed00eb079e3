//! Hooks of every agent around an edit, next to those of Claude Code in the same run: payloads that real agents sent, or that
//! their documents show (`tests/agents/payloads`).

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::measure::alternating;
use crate::place::Place;
use crate::rows::Report;
use crate::table::Goal;

/// Runs per median.
const RUNS: usize = 51;

/// An agent's name for `backstitch hook`, the folder of its payloads, those before and after an edit, and the row.
type Agent = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const CLAUDE: Agent = (
    "claude-code",
    "claude",
    "PreToolUse-Edit",
    "PostToolUse-Edit",
    "",
);
// a payload is known of every agent: one that is missing does not compile
const AGENTS: [Agent; backstitch_agents::AGENTS.len() - 1] = [
    (
        "codex",
        "codex",
        "PreToolUse-apply_patch",
        "PostToolUse-apply_patch",
        "two hooks of Codex",
    ),
    (
        "opencode",
        "opencode",
        "tool.execute.before-edit",
        "tool.execute.after-edit",
        "two hooks of opencode",
    ),
    (
        "copilot",
        "copilot",
        "PreToolUse-Edit",
        "PostToolUse-Edit",
        "two hooks of Copilot",
    ),
    (
        "gemini",
        "gemini",
        "BeforeTool-replace",
        "AfterTool-replace",
        "two hooks of Gemini",
    ),
    (
        "qwen",
        "qwen",
        "PreToolUse-edit",
        "PostToolUse-edit",
        "two hooks of Qwen Code",
    ),
    (
        "cline",
        "cline",
        "tool_call-editor",
        "tool_result-editor",
        "two hooks of Cline",
    ),
    (
        "cursor",
        "cursor",
        "preToolUse-Write",
        "postToolUse-Write",
        "two hooks of Cursor",
    ),
    (
        "devin",
        "devin",
        "pre_write_code",
        "post_write_code",
        "two hooks of Devin Desktop",
    ),
];

pub fn measure(report: &mut Report, place: &Place<'_>, name: &str, edited: &str) -> Result<()> {
    let other = place.another()?;
    other.write_edited(edited, 8 << 10)?;
    let own = place.another()?;
    own.write_edited(edited, 8 << 10)?;
    let calls = Cell::new(0);
    for agent in AGENTS {
        let times = alternating(
            RUNS,
            || around(&own, agent, edited, &calls),
            || around(&other, CLAUDE, edited, &calls),
        )?;
        report.times(
            name,
            agent.4,
            "those of Claude Code",
            &times,
            Goal::Ratio(1.1),
        );
    }
    Ok(())
}

/// Sends the payloads before and after an edit. Returns the time of both hooks.
fn around(place: &Place<'_>, agent: Agent, edited: &str, calls: &Cell<usize>) -> Result<Duration> {
    let (name, folder, before, after, _) = agent;
    let payloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents/payloads");
    calls.set(calls.get() + 1);
    let call = Value::from(format!("call_{}", calls.get()));
    let send = |file: &str| -> Result<Duration> {
        let path = payloads.join(folder).join(format!("{file}.json"));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
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
        place.hook_of(name, payload.to_string().as_bytes())
    };
    Ok(send(before)? + send(after)?)
}
