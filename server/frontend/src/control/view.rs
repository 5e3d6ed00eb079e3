//! Breakpoints and pauses in the protocol's form. Reads the files that an open pause would write.

use backstitch_control::{Breakpoint, Pause, PauseOutcome, PauseState, RegionState, Subject};
use backstitch_protocol as protocol;
use serde_json::Value;

use super::shown;
use crate::to_protocol;

pub fn breakpoint(one: &Breakpoint) -> protocol::Breakpoint {
    let mut spec = serde_json::to_value(&one.spec).unwrap_or_default();
    if let Some(fields) = spec.as_object_mut() {
        fields.shift_remove("kind");
    }
    protocol::Breakpoint {
        id: one.id.to_string(),
        name: one.name.clone(),
        kind: one.spec.kind().to_owned(),
        spec,
        summary: one.spec.summary(),
        at: one.moment.name().to_owned(),
        scope: serde_json::to_value(&one.scope).unwrap_or(Value::Null),
        when: one.condition.clone(),
        hits: one.hits_when.map(|when| when.to_string()),
        action: one.action.name().to_owned(),
        message: one.message.clone(),
        once: one.once,
        enabled: one.enabled,
        hit_count: one.hits,
        problem: one.problem.clone(),
        region: None,
        created: to_protocol::time(one.created),
    }
}

/// The lines of a `line` breakpoint. None: it is of another kind.
pub fn region(one: &Breakpoint, state: RegionState) -> Option<protocol::Region> {
    let set = one.spec.lines()?;
    let (start, count, state) = match state {
        RegionState::Present(range) => (range.start, range.count, "present"),
        RegionState::Gone => (0, 0, "gone"),
    };
    Some(protocol::Region {
        path: set.path.to_owned(),
        // the protocol counts from 0, as LSP does
        start: start.saturating_sub(1),
        count,
        state: state.to_owned(),
    })
}

pub fn pause(pause: &Pause) -> protocol::Pause {
    let call = &pause.call;
    let row = shown::row(pause);
    let by = match call.subject {
        Subject::Program => "program",
        Subject::Proposal => "proposal",
        Subject::Call | Subject::Edit => "call",
    };
    let draft = pause.draft.as_ref();
    protocol::Pause {
        id: pause.id.to_string(),
        by: by.to_owned(),
        at: call.moment.name().to_owned(),
        breakpoint: call.breakpoint.map(|id| id.to_string()),
        hit: call.hit.as_ref().map(pause_hit),
        why: call.why.clone(),
        agent: call.agent.clone(),
        session: call.session.clone(),
        letter: call.letter.clone(),
        turn: call.turn.map(|number| format!("t{number}")),
        prompt: call.prompt.clone(),
        subagent: call.subagent.clone(),
        iteration: call.iteration,
        tool: call.tool.clone(),
        summary: row.summary,
        files: row.files,
        names: call.files.clone(),
        error: call.error.clone(),
        changed_by: draft.map(|draft| draft.by.clone()),
        fingerprint: row.fingerprint,
        root: to_protocol::path(&call.root),
        made: to_protocol::time(pause.made),
        until: call.until.map(to_protocol::time),
        state: state(pause.state).to_owned(),
        outcome: pause.outcome.map(PauseOutcome::name).map(str::to_owned),
        decided_by: pause.decided_by.clone(),
        can: pause.possible().map(|can| can.name().to_owned()).collect(),
    }
}

fn pause_hit(hit: &backstitch_control::PauseHit) -> protocol::PauseHit {
    protocol::PauseHit {
        kind: hit.kind.clone(),
        summary: hit.summary.clone(),
        when: hit.when.clone(),
        hits: hit.hits.clone(),
    }
}

pub fn session(session: &backstitch_control::ReplSession) -> protocol::ReplSession {
    protocol::ReplSession {
        id: session.id.clone(),
        pause: session.pause.to_string(),
        pid: session.pid,
        process: session.process,
        function: session.function.clone(),
        letter: session.letter.clone(),
        prompt: session.prompt.clone(),
        why: session.why.clone(),
        breakpoint: session.breakpoint.map(|id| id.to_string()),
        hit: session.hit.as_ref().map(pause_hit),
        call: session.call,
        language: session.language.clone(),
        started: to_protocol::time(session.started),
        closed: session.closed.map(to_protocol::time),
        reason: session.reason.clone(),
        status: match session.closed {
            None => "active",
            Some(_) => "closed",
        }
        .to_owned(),
        entries: session.entries,
    }
}

pub fn entry(entry: &backstitch_control::ReplEntry) -> protocol::ReplEntry {
    protocol::ReplEntry {
        index: entry.number,
        input: entry.input.clone(),
        output: entry.output.clone(),
        stdout: entry.stdout.clone(),
        is_error: entry.is_error,
        cid: entry.cid.clone(),
        time: to_protocol::time(entry.time),
        ms: entry.ms,
        shows: entry.shows().to_owned(),
    }
}

/// `breakpoints`: those that are there by now.
pub fn hit(hit: &backstitch_control::Hit, breakpoints: &[Breakpoint]) -> protocol::Hit {
    let breakpoint = breakpoints.iter().find(|one| one.id == hit.breakpoint);
    protocol::Hit {
        breakpoint: hit.breakpoint.to_string(),
        kind: hit.kind.clone(),
        summary: breakpoint.map(|one| one.spec.summary()),
        when: breakpoint.and_then(|one| one.condition.clone()),
        agent: hit.agent.clone(),
        session: hit.session.clone(),
        tool: hit.tool.clone(),
        why: hit.why.clone(),
        text: hit.text.clone().unwrap_or_default(),
        time: to_protocol::time(hit.time),
    }
}

fn state(state: PauseState) -> &'static str {
    match state {
        PauseState::Held => "held",
        PauseState::Decided => "decided",
        PauseState::Answered => "answered",
        PauseState::Parked => "parked",
        PauseState::Used => "used",
        PauseState::Expired => "expired",
        PauseState::Handed => "handed",
        PauseState::Ended => "ended",
        PauseState::Lost => "lost",
        PauseState::Slipped => "slipped",
    }
}
