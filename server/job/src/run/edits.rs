//! Edits of the workflow while its job stands: the steps that have not run take the new text.
//!
//! A step is matched by its id, else by its content, its name, or its place after a step that is matched.

use std::fs;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::state::JobState;
use crate::template::TokenKind;
use crate::workflow::{self, Body, StepsBody, Workflow, WorkflowStep};

use super::additions::{KnownParts, SeenWorkflow};
use super::frame::Frame;
use super::job::{JobRun, JobSetup};
use super::listing::steps_listing;
use super::standing::StandingJob;

/// Place of steps that are no longer in the workflow. Their posts still run, under keys that no step has.
const REMOVED: usize = 10_000;

impl StandingJob {
    /// Reads the workflow anew if its text has changed. A text with problems changes nothing.
    pub fn workflow(&mut self) -> &mut SeenWorkflow {
        let (setup, seen) = (&mut self.run.setup, &mut self.seen);
        match read_anew(setup, seen) {
            Ok(Some((workflow, body))) => {
                let root = &setup.repository.root;
                let listing = |body: &StepsBody| steps_listing(body, root, &setup.options.actions);
                let known = seen.known.take();
                let known = known.unwrap_or_else(|| KnownParts::of(&listing(&setup.body)));
                seen.additions = known.additions(listing(&body), &workflow.file);
                seen.known = Some(known);
                seen.problem = None;
                setup.workflow = Arc::new(workflow);
                setup.body = Arc::new(body);
            }
            Ok(None) => {}
            Err(reason) => seen.problem = Some(format!("{reason} The steps stay as they were.")),
        }
        seen
    }

    /// Reads the workflow anew if its text has changed, and lets the steps ahead and the variables take it up. Returns sentences for
    /// people.
    pub fn take_up_workflow(&mut self) -> Vec<String> {
        let mut notes: Vec<String> = self.workflow().problem().cloned().into_iter().collect();
        notes.extend(take_up_variables(&mut self.run));
        let steps = Arc::new(self.run.setup.body.steps.clone());
        if let Some(top) = self.run.frames.first()
            && *top.steps != *steps
        {
            notes.extend(take_up_steps(&mut self.run, &steps));
        }
        notes
    }
}

/// The workflow and the job, if the text has changed since it was read last. Err: a sentence about its problems.
fn read_anew(
    setup: &JobSetup,
    seen: &mut SeenWorkflow,
) -> Result<Option<(Workflow, StepsBody)>, String> {
    let file = setup.workflow.file.clone();
    let path = setup.repository.root.join(&file);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string());
    if seen.text == text {
        return Ok(None);
    }
    seen.text.clone_from(&text);
    let text = text.map_err(|error| format!("{file} cannot be read: {error}."))?;
    let (workflow, problems) = workflow::read(&file, &text);
    let Some(workflow) = workflow else {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return Err(format!("The workflow has problems: {}.", all.join("; ")));
    };
    let id = setup.name.key();
    let job = workflow.jobs.iter().find(|job| job.id.value == id);
    let job = job.ok_or_else(|| format!("The job {id} is no longer in {file}."))?;
    let Body::Steps(body) = &job.body else {
        return Err(format!("The job {id} in {file} has no steps now."));
    };
    let body = body.as_ref().clone();
    Ok(Some((workflow, body)))
}

/// Gives the variables of the workflow and of the job the values of a run that begins now, but for those that were set since.
fn take_up_variables(run: &mut JobRun) -> Vec<String> {
    let (workflow, body) = (&run.setup.workflow, &run.setup.body);
    let declared = match run.setup.declared(workflow, body) {
        Ok(declared) => declared,
        Err(reason) => return vec![format!("{reason} The variables stay as they were.")],
    };
    let change = run.state.declare(declared);
    let mut notes = Vec::new();
    if !change.taken.is_empty() {
        let names = change.taken.join(", ");
        notes.push(format!("Variables of the workflow were taken up: {names}."));
    }
    if !change.kept.is_empty() {
        let names = change.kept.join(", ");
        notes.push(format!(
            "Variables of the workflow that a step or you have set since stay: {names}. `:env NAME=VALUE` sets one."
        ));
    }
    notes
}

/// Lets the steps ahead take the new text. Steps that have run keep their results.
fn take_up_steps(run: &mut JobRun, new: &Arc<Vec<WorkflowStep>>) -> Vec<String> {
    let top = &run.frames[0];
    let (old, next) = (Arc::clone(&top.steps), top.next);
    let matched = matched(&old, new);
    let last = matched[..next].iter().flatten().max();
    let new_next = last.map_or(0, |last| last + 1);
    let notes = notes(&old, new, &matched, next, new_next);
    let place_of = |place: usize| -> usize {
        let found = matched.get(place).copied().flatten();
        found.unwrap_or(REMOVED + place)
    };
    rename(&mut run.state, &old, new, &matched, &place_of);
    let posts = std::mem::take(&mut run.posts);
    for (key, mut post) in posts {
        move_path(&mut post.open.name.path, &place_of);
        run.posts.insert(moved_key(&key, &place_of), post);
    }
    for frame in run.frames.iter_mut().skip(1) {
        move_frame(frame, &place_of);
    }
    let top = &mut run.frames[0];
    top.steps = Arc::clone(new);
    top.next = new_next;
    notes
}

/// The places of the old steps in the new list.
fn matched(old: &[WorkflowStep], new: &[WorkflowStep]) -> Vec<Option<usize>> {
    type Same = fn(&WorkflowStep, &WorkflowStep) -> bool;
    let passes: [Same; 3] = [
        |old, new| !is_made(&old.id) && old.id == new.id,
        |old, new| content(old) == content(new),
        |old, new| name(old).is_some() && name(old) == name(new),
    ];
    let mut found: Vec<Option<usize>> = vec![None; old.len()];
    let mut is_taken = vec![false; new.len()];
    for is_same in passes {
        for (place, step) in old.iter().enumerate() {
            if found[place].is_some() {
                continue;
            }
            let mut places = (0..new.len()).filter(|at| !is_taken[*at] && is_same(step, &new[*at]));
            if let Some(at) = places.next() {
                (found[place], is_taken[at]) = (Some(at), true);
            }
        }
    }
    for place in 0..old.len() {
        let after = match place.checked_sub(1) {
            None => Some(0),
            Some(before) => found[before].map(|at| at + 1),
        };
        if found[place].is_none()
            && let Some(at) = after.filter(|at| is_taken.get(*at) == Some(&false))
        {
            (found[place], is_taken[at]) = (Some(at), true);
        }
    }
    found
}

/// Sentences about what the edit means for the job.
fn notes(
    old: &[WorkflowStep],
    new: &[WorkflowStep],
    matched: &[Option<usize>],
    next: usize,
    new_next: usize,
) -> Vec<String> {
    let mut notes = Vec::new();
    for (place, step) in old.iter().enumerate().take(next) {
        match matched[place] {
            None => notes.push(format!(
                "{} has run, and is no longer in the workflow. Its effects stay.",
                shown(step, place)
            )),
            Some(at) if content(step) != content(&new[at]) => notes.push(format!(
                "{} has run with its earlier text: go back before it to run the new one.",
                shown(&new[at], at)
            )),
            Some(_) => {}
        }
    }
    let is_new = |at: &usize| !matched.contains(&Some(*at));
    for at in (0..new_next).filter(is_new) {
        notes.push(format!(
            "{} stands before a step that has run, so it does not run: go back before it.",
            shown(&new[at], at)
        ));
    }
    let added = (new_next..new.len()).filter(is_new).count();
    let ahead = || (next..old.len()).map(|place| (place, matched[place]));
    let removed = ahead().filter(|(_, at)| at.is_none()).count();
    let changed = ahead().filter(
        |(place, at)| matches!(at, Some(at) if content(&old[*place]) != content(&new[*at])),
    );
    let counts = [
        (changed.count(), "changed"),
        (added, "added"),
        (removed, "removed"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if !counts.is_empty() {
        notes.push(format!(
            "The workflow was read anew. Steps ahead: {}.",
            counts.join(", ")
        ));
    }
    notes
}

/// Gives results, states and posts of the steps that have run the ids and keys of the new text.
fn rename(
    state: &mut JobState,
    old: &[WorkflowStep],
    new: &[WorkflowStep],
    matched: &[Option<usize>],
    place_of: &dyn Fn(usize) -> usize,
) {
    let ids: IndexMap<&str, &str> = old
        .iter()
        .zip(matched)
        .filter_map(|(step, at)| Some((step.id.as_str(), new[(*at)?].id.as_str())))
        .collect();
    if let Some(results) = state.steps.get_mut("") {
        let renamed = std::mem::take(results).into_iter().map(|(id, result)| {
            let id = ids
                .get(id.as_str())
                .map_or(id.clone(), |id| (*id).to_owned());
            (id, result)
        });
        *results = renamed.collect();
    }
    let values = std::mem::take(&mut state.state);
    state.state = values
        .into_iter()
        .map(|(key, values)| (moved_key(&key, place_of), values))
        .collect();
    for key in &mut state.post {
        *key = moved_key(key, place_of);
    }
}

fn move_frame(frame: &mut Frame, place_of: &dyn Fn(usize) -> usize) {
    move_path(&mut frame.path, place_of);
    if let Some(composite) = &mut frame.composite {
        move_path(&mut composite.open.name.path, place_of);
    }
}

fn move_path(path: &mut [usize], place_of: &dyn Fn(usize) -> usize) {
    if let Some(first) = path.first_mut() {
        *first = place_of(*first);
    }
}

/// The key of a step (`3`, `3-1`) at its new place.
fn moved_key(key: &str, place_of: &dyn Fn(usize) -> usize) -> String {
    let (first, rest) = key.split_once('-').unwrap_or((key, ""));
    let Ok(place) = first.parse() else {
        return key.to_owned();
    };
    let first = place_of(place);
    if rest.is_empty() {
        first.to_string()
    } else {
        format!("{first}-{rest}")
    }
}

/// True for an id that the file does not have.
fn is_made(id: &str) -> bool {
    id.starts_with("__")
}

/// All of a step but for its place in the file, and an id that the file does not have.
fn content(step: &WorkflowStep) -> serde_json::Value {
    let mut step = step.clone();
    if is_made(&step.id) {
        step.id.clear();
    }
    plain(&step)
}

/// A part of a workflow without its places in the file. It can be written, since points are.
fn plain(part: &impl serde::Serialize) -> serde_json::Value {
    fn without_ranges(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.remove("range");
                fields.values_mut().for_each(without_ranges);
            }
            serde_json::Value::Array(values) => values.iter_mut().for_each(without_ranges),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
    let mut value = serde_json::to_value(part).unwrap_or_default();
    without_ranges(&mut value);
    value
}

fn name(step: &WorkflowStep) -> Option<&str> {
    match step.name.as_ref().map(|token| &token.kind) {
        Some(TokenKind::Text(text)) => Some(text),
        _ => None,
    }
}

fn shown(step: &WorkflowStep, place: usize) -> String {
    match name(step) {
        Some(name) => format!("'{name}'"),
        None => format!("Step {}", place + 1),
    }
}
