//! A held call with everything that a person decides by, in the protocol's form: its input, the files that it would
//! write, and the places that it stands in. Reads the files through the caller's function.

use backstitch_control::{Pause, PauseState};
use backstitch_protocol as protocol;
use serde_json::Value;

use super::predict::ReadFile;
use super::proposal::Proposal;
use super::{shown, view};
use crate::render;
use crate::to_protocol;

/// The parts of a held call's details that the caller looks up.
#[derive(Debug, Default)]
pub struct Around {
    /// Newest first.
    pub recent: Vec<protocol::Checkpoint>,
    /// In words.
    pub others: Vec<String>,
    pub seq: i64,
}

/// Returns a held call with everything that a person decides by.
pub fn details(pause: &Pause, around: Around, read: ReadFile) -> protocol::PauseDetails {
    let shown = shown::now(pause, read);
    let own = shown::own_input(&pause.call);
    let output = pause.call.output.as_deref();
    let output = output.map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into()));
    protocol::PauseDetails {
        seq: around.seq,
        pause: view::pause(pause),
        own_input: (own != shown.input).then_some(own),
        input: shown.input,
        input_text: shown.input_text,
        command: shown.command,
        problem: shown.problem,
        output: output.or_else(|| pause.call.error.clone().map(Value::from)),
        plan: Proposal::of(&pause.call).map(Proposal::plan),
        cwd: pause.call.cwd.as_deref().map(to_protocol::path),
        predicted: shown.predicted,
        unpredicted: shown.unpredicted,
        fingerprint: shown.fingerprint,
        stack: stack(pause),
        recent: around.recent,
        others: around.others,
    }
}

fn stack(pause: &Pause) -> Vec<protocol::Frame> {
    let call = &pause.call;
    let frame = |kind: &str, name: String| protocol::Frame {
        kind: kind.to_owned(),
        name,
        held: false,
    };
    let session = match &call.letter {
        Some(letter) => format!("{} {letter}", call.agent),
        None => format!("{} {}", call.agent, call.session),
    };
    let mut stack = vec![frame("session", session)];
    if let Some(turn) = call.turn {
        let prompt = call.prompt.as_deref().unwrap_or_default();
        let prompt = render::cut(&render::clean(prompt), 60);
        stack.push(frame(
            "turn",
            format!("t{turn} {prompt}").trim_end().to_owned(),
        ));
    }
    if let Some(subagent) = &call.subagent {
        stack.push(frame("subagent", subagent.clone()));
    }
    let number = call
        .iteration
        .map_or_else(String::new, |number| format!(" (call {number})"));
    stack.push(protocol::Frame {
        held: pause.state == PauseState::Held,
        ..frame("call", format!("{}{number}", call.tool))
    });
    stack
}
