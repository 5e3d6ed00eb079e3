//! The way of a job to its next stop: steps one by one, with the breakpoints between them.

use std::path::Path;
use std::sync::atomic::Ordering;

use backstitch_job::session::{Forward, JobSession, Restored, StopPlace};

use super::breakpoints::BreakpointArrival;
use super::changes::attempt_at;
use super::data::{DataBefore, JobData, changes_file, value_changed};
use super::failures::{StepFacts, StopFailure};
use super::shared::{SharedJob, StopReason};
use super::view::own_file;

/// Goes on until the way ends, a breakpoint acts, something fails, or the client pauses. None: the job has come to its end on the
/// way.
pub fn go(
    session: &mut JobSession,
    shared: &SharedJob,
    way: Forward,
) -> Result<Option<StopReason>, String> {
    let depth = depth_of(session.stop());
    loop {
        let step = one_step(shared, way);
        let watched = shared.breakpoints().data();
        let before = (!watched.is_empty()).then(|| DataBefore::of(session));
        *shared.step_facts() = StepFacts::default();
        session.forward(step)?;
        session.keep()?;
        if shared.is_leaving() {
            return run_out(session);
        }
        if let StopPlace::Frozen(_) = session.stop() {
            return Ok(Some(StopReason::of("pause")));
        }
        if let Some(failure) = failure_here(session, shared, way) {
            return Ok(Some(StopReason::failed(failure)));
        }
        let changed = before.map(|before| before.changed(session, &watched));
        if let Some(reason) = data_stop(session, shared, &changed.unwrap_or_default()) {
            return Ok(Some(reason));
        }
        let StopPlace::Before(step) = session.stop() else {
            if let StopPlace::End = session.stop() {
                return Ok(None);
            }
            // a failure at which the client does not stop
            continue;
        };
        let step = step.clone();
        if shared.pauses.swap(false, Ordering::SeqCst) {
            return Ok(Some(StopReason::of("pause")));
        }
        if let Some(reason) = arrive(session, shared) {
            return Ok(Some(reason));
        }
        if step.is_passed_over() {
            // no breakpoint acts before it
            continue;
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

/// The stop before the first step of a job that does not stand there anyway.
pub fn arrive_first(session: &mut JobSession, shared: &SharedJob) -> Option<StopReason> {
    let failure = failure_here(session, shared, Forward::On);
    let failure = failure.map(StopReason::failed);
    failure.or_else(|| arrive(session, shared))
}

/// Lets breakpoints act at the step where the job stands. A reason: the job stops.
pub fn arrive(session: &mut JobSession, shared: &SharedJob) -> Option<StopReason> {
    let StopPlace::Before(step) = session.stop() else {
        return None;
    };
    let root = &session.job().repository().root;
    let arrivals = shared.breakpoints().at(&step.name, root);
    act(session, shared, &arrivals)
}

/// The failure at which the client wants to stop here.
fn failure_here(session: &mut JobSession, shared: &SharedJob, way: Forward) -> Option<StopFailure> {
    let mut failures = StopFailure::at(session.stop(), &shared.step_facts());
    if way == Forward::On && session.job().is_within_continued() {
        for failure in &mut failures {
            failure.mark_continued();
        }
    }
    let filters = shared.breakpoints().failures.clone();
    failures.into_iter().find(|failure| {
        let mut of_kind = filters.iter().filter(|one| one.kind == failure.kind);
        of_kind.any(|one| holds(session, shared, one.condition.as_deref()))
    })
}

/// The stop after a step that changed watched data.
fn data_stop(
    session: &mut JobSession,
    shared: &SharedJob,
    changed: &[(u64, String)],
) -> Option<StopReason> {
    let arrivals = changed.iter();
    let arrivals = arrivals.filter_map(|(id, _)| shared.breakpoints().arrival(*id));
    let arrivals: Vec<BreakpointArrival> = arrivals.collect();
    let mut reason = act(session, shared, &arrivals)?;
    let sentences = changed.iter().filter(|(id, _)| reason.hit.contains(id));
    let sentences: Vec<&str> = sentences.map(|(_, text)| text.as_str()).collect();
    reason.text = Some(session.job().mask(&sentences.join("; ")));
    Some(reason)
}

/// Goes back to the newest earlier checkpoint at which a breakpoint acts, or after which watched data changed, or to the first one.
pub fn reverse(
    session: &mut JobSession,
    shared: &SharedJob,
) -> Result<(Restored, StopReason), String> {
    let root = session.job().repository().root.clone();
    let watched = shared.breakpoints().data();
    let count = session.points().available().len();
    for place in (0..count).rev() {
        let changed = data_changed_after(session, &watched, place);
        let step = session.points().all()[place].step.clone();
        let mut arrivals = shared.breakpoints().at(&step, &root);
        arrivals.retain(|one| one.log.is_none());
        if changed.is_empty() && arrivals.is_empty() {
            continue;
        }
        let restored = session.restore(place)?;
        let of_data = changed
            .iter()
            .filter_map(|(id, _)| shared.breakpoints().arrival(*id));
        arrivals.extend(of_data);
        let mut hit = arrivals.iter();
        if let Some(one) = hit.find(|one| holds(session, shared, one.condition.as_deref())) {
            let sentence = changed.iter().find(|(id, _)| *id == one.id);
            let reason = StopReason {
                hit: vec![one.id],
                text: sentence.map(|(_, text)| session.job().mask(text)),
                ..StopReason::of(one.word)
            };
            return Ok((restored, reason));
        }
    }
    session
        .restore(0)
        .map(|restored| (restored, StopReason::of("step")))
}

/// Watched data that the step after a checkpoint changed, with a sentence about each.
fn data_changed_after(
    session: &JobSession,
    watched: &[(u64, JobData)],
    place: usize,
) -> Vec<(u64, String)> {
    if watched.is_empty() {
        return Vec::new();
    }
    let points = session.points().all();
    let was = points[place].live.canonical();
    let next = points.get(place + 1);
    let is = next.map_or_else(
        || session.job().live().canonical(),
        |point| point.live.canonical(),
    );
    let attempt = attempt_at(session, Some(place));
    let changed = watched.iter().filter_map(|(id, data)| {
        let sentence = match data {
            JobData::Value(_) => value_changed(data, data.value_in(&was), data.value_in(&is))?,
            JobData::File(path) => {
                let attempt = attempt.filter(|one| changes_file(session, one, path))?;
                format!("'{}' changed {path}", attempt.step.name)
            }
        };
        Some((*id, sentence))
    });
    changed.collect()
}

/// Runs the rest of the job without a stop: a client has asked for its end.
pub fn run_out(session: &mut JobSession) -> Result<Option<StopReason>, String> {
    let stop = session.job().stop_request();
    if stop.wishes() == 0 {
        // the wish ended the step that ran, and counts for the job, too
        stop.request();
    }
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

/// Lets breakpoints act. A reason: the job stops.
fn act(
    session: &mut JobSession,
    shared: &SharedJob,
    arrivals: &[BreakpointArrival],
) -> Option<StopReason> {
    let mut hit = Vec::new();
    let mut word = "breakpoint";
    for one in arrivals {
        let condition = one.condition.as_deref();
        if !holds(session, shared, condition) || !shared.breakpoints().hit(one.id) {
            continue;
        }
        if let Some(log) = &one.log {
            let text = logged(session, log);
            shared.client.say(&text);
            continue;
        }
        word = one.word;
        hit.push(one.id);
    }
    (!hit.is_empty()).then(|| StopReason {
        hit,
        ..StopReason::of(word)
    })
}

/// A condition with an error holds: a breakpoint that nobody hears of would be lost.
fn holds(session: &mut JobSession, shared: &SharedJob, condition: Option<&str>) -> bool {
    let Some(condition) = condition else {
        return true;
    };
    session.evaluate(condition).map_or_else(
        |error| {
            let text = format!("The condition {condition} has an error: {error}");
            shared.client.say(&session.job().mask(&text));
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
