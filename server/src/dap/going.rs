//! The way of a job to its next stop: steps one by one, with the breakpoints between them.

use std::path::Path;
use std::sync::atomic::Ordering;

use backstitch_job::session::{Forward, JobSession, StopPlace};
use backstitch_job::state::StepOutcome;

use super::breakpoints::{BreakpointArrival, FAILED, FAILED_BUT_CONTINUED};
use super::shared::{SharedJob, StopReason};
use super::view::own_file;

/// Goes on until the way ends, a breakpoint acts, a step fails, or the client pauses. None: the job has come to its end on the way.
pub fn go(
    session: &mut JobSession,
    shared: &SharedJob,
    way: Forward,
) -> Result<Option<StopReason>, String> {
    let depth = depth_of(session.stop());
    loop {
        let step = one_step(shared, way);
        session.forward(step)?;
        let kept = session.keep();
        kept?;
        if shared.is_leaving() {
            return run_out(session);
        }
        match session.stop().clone() {
            StopPlace::Frozen(_) => return Ok(Some(StopReason::of("pause"))),
            StopPlace::End => return Ok(None),
            StopPlace::Failed(_, end) => {
                let continued = end.conclusion == StepOutcome::Success;
                let filter = if continued {
                    FAILED_BUT_CONTINUED
                } else {
                    FAILED
                };
                if shared
                    .breakpoints()
                    .failures
                    .iter()
                    .any(|one| one == filter)
                {
                    return Ok(Some(StopReason::of("exception")));
                }
            }
            StopPlace::Before(step) => {
                if shared.pauses.swap(false, Ordering::SeqCst) {
                    return Ok(Some(StopReason::of("pause")));
                }
                let root = session.job().repository().root.clone();
                let arrivals = shared.breakpoints().at(&step.name, &root);
                if let Some(reason) = act(session, shared, &arrivals) {
                    return Ok(Some(reason));
                }
                let is_there = match way {
                    Forward::Over => step.depth() <= depth,
                    Forward::Into => true,
                    Forward::Out => step.depth() < depth,
                    Forward::On => false,
                };
                if is_there {
                    return Ok(Some(StopReason::of("step")));
                }
            }
        }
    }
}

/// Goes back to the newest earlier checkpoint at which a breakpoint acts, or to the first one. Returns the words of the last restore.
pub fn reverse(
    session: &mut JobSession,
    shared: &SharedJob,
) -> Result<(usize, Option<StopReason>), String> {
    let root = session.job().repository().root.clone();
    let count = session.points().available().len();
    for place in (1..count).rev() {
        let step = session.points().all()[place].step.clone();
        let arrivals = shared.breakpoints().at(&step, &root);
        if arrivals.is_empty() {
            continue;
        }
        session.restore(place)?;
        let holds =
            |one: &&BreakpointArrival| one.log.is_none() && condition_holds(session, shared, one);
        let mut arrivals = arrivals.iter();
        let hit = arrivals.find(holds);
        if let Some(one) = hit {
            let reason = StopReason {
                word: word_of(one),
                hit: vec![one.id],
            };
            return Ok((place, Some(reason)));
        }
    }
    session.restore(0)?;
    Ok((0, None))
}

/// Runs the rest of the job without a stop: a client has asked for its end.
pub fn run_out(session: &mut JobSession) -> Result<Option<StopReason>, String> {
    while !matches!(session.stop(), StopPlace::End) {
        session.forward(Forward::On)?;
    }
    session.keep()?;
    Ok(None)
}

/// The step that is taken at once. Where breakpoints may stop the job on the way, each step is taken by itself.
fn one_step(shared: &SharedJob, way: Forward) -> Forward {
    let breakpoints = shared.breakpoints();
    if breakpoints.reach_inner_steps() {
        return Forward::Into;
    }
    match way {
        Forward::On if breakpoints.may_stop() => Forward::Over,
        way => way,
    }
}

/// Lets breakpoints act at the step where the job stands. A reason: the job stops.
fn act(
    session: &mut JobSession,
    shared: &SharedJob,
    arrivals: &[BreakpointArrival],
) -> Option<StopReason> {
    let mut hit = Vec::new();
    let mut word = "breakpoint";
    for one in arrivals {
        if !condition_holds(session, shared, one) || !shared.breakpoints().hit(one.id) {
            continue;
        }
        if let Some(log) = &one.log {
            let text = logged(session, log);
            shared.client.say(&text);
            continue;
        }
        word = word_of(one);
        hit.push(one.id);
    }
    (!hit.is_empty()).then_some(StopReason { word, hit })
}

fn word_of(one: &BreakpointArrival) -> &'static str {
    if one.is_of_name {
        "function breakpoint"
    } else {
        "breakpoint"
    }
}

/// A condition with an error holds: a breakpoint that nobody hears of would be lost.
fn condition_holds(session: &mut JobSession, shared: &SharedJob, one: &BreakpointArrival) -> bool {
    let Some(condition) = &one.condition else {
        return true;
    };
    session.evaluate(condition).map_or_else(
        |error| {
            shared
                .client
                .say(&format!("The condition {condition} has an error: {error}"));
            true
        },
        |value| value.is_truthy(),
    )
}

/// A text in which expressions in braces have their values.
fn logged(session: &mut JobSession, text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        shown.push_str(before);
        let Some((expression, after)) = after.split_once('}') else {
            shown.push('{');
            rest = after;
            break;
        };
        let value = session.evaluate(expression);
        let value = value.map(|value| backstitch_job::session::value_text(&value));
        shown.push_str(&value.unwrap_or_else(|error| format!("{{{error}}}")));
        rest = after;
    }
    shown.push_str(rest);
    session.job().mask(&shown)
}

fn depth_of(stop: &StopPlace) -> usize {
    match stop {
        StopPlace::Before(step) => step.depth(),
        StopPlace::Frozen(frozen) => frozen.name.path.len(),
        StopPlace::Failed(name, _) => name.path.len(),
        StopPlace::End => 1,
    }
}

/// The place of the checkpoint before the last start of a step that begins at a line.
pub fn point_at(session: &JobSession, file: &Path, line: u32) -> Option<usize> {
    let root = &session.job().repository().root;
    let mut all = session.points().available().iter();
    all.rposition(|point| own_file(root, &point.step.file) == file && point.step.line == line)
}
