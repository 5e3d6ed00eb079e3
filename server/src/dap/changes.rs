//! Files that a step changed, with their contents before and after it.

use backstitch_core::Delta;
use backstitch_core::model::NodeId;
use backstitch_job::session::{JobSession, StepAttempt};
use serde_json::{Value, json};

use crate::file_changes::FileChange;

/// A changed file of the workspace.
#[derive(Clone, Debug)]
pub struct ChangedPath {
    /// Relative to the workspace.
    pub path: String,
    pub delta: Delta,
}

/// A text that a client asks for by its number.
#[derive(Clone, Debug)]
pub enum SourceText {
    /// The script of a step, with a title.
    Script(String, String),
    /// A side of a changed file.
    Old(ChangedPath),
    New(ChangedPath),
}

impl ChangedPath {
    fn status(&self) -> &'static str {
        match (&self.delta.old, &self.delta.new) {
            (None, _) => "added",
            (_, None) => "deleted",
            (Some(_), Some(_)) => "modified",
        }
    }
}

impl SourceText {
    pub fn is_same_script(&self, other: &SourceText) -> bool {
        match (self, other) {
            (SourceText::Script(title, text), SourceText::Script(other_title, other_text)) => {
                title == other_title && text == other_text
            }
            _ => false,
        }
    }
}

/// Files of the workspace that differ between two checkpoints.
pub fn changed_between(
    session: &JobSession,
    from: NodeId,
    to: NodeId,
) -> Result<Vec<ChangedPath>, String> {
    let place = session.job().place();
    let prefix = place.workspace.strip_prefix(&place.files);
    let prefix = prefix.unwrap_or(&place.workspace).to_string_lossy();
    let all = session.engine().comparer().compare(from, to);
    let all = all.map_err(|error| error.to_string())?.into_iter();
    let own = all.filter_map(|delta| {
        let placed = delta.new.as_ref().or(delta.old.as_ref())?;
        let path = String::from_utf8_lossy(placed.path.bytes()).into_owned();
        let path = path.strip_prefix(&*prefix)?.strip_prefix('/')?.to_owned();
        // git writes these files
        let is_of_git = path.starts_with(".git/") || path.contains("/.git/");
        (!is_of_git).then_some(ChangedPath { path, delta })
    });
    Ok(own.collect())
}

/// The attempt whose files a frame shows: that of a checkpoint, or else the last one that ended.
pub fn attempt_at(session: &JobSession, point: Option<usize>) -> Option<&StepAttempt> {
    let attempts = session.attempts().all();
    let Some(point) = point.and_then(|place| session.points().all().get(place)) else {
        return attempts.last();
    };
    let is_its = |one: &&StepAttempt| {
        one.number == point.attempt
            && one.step.path == point.step.path
            && one.step.part == point.step.part
    };
    attempts.iter().rev().find(is_its)
}

/// The files that the step of a frame changed, and its attempt.
fn changed_at(
    session: &JobSession,
    point: Option<usize>,
) -> Result<(&StepAttempt, Vec<ChangedPath>), String> {
    let attempt = attempt_at(session, point);
    let attempt = attempt.ok_or_else(|| match session.attempts().all() {
        [] => "No step has ended, so none has changed files.",
        _ => "The step has not ended, so it has changed no files.",
    })?;
    let changed = changed_between(session, attempt.before(), attempt.after())?;
    Ok((attempt, changed))
}

/// Names of the files that the step of a frame changed, with the kind of the change.
pub fn changed_files(session: &JobSession, point: Option<usize>) -> Result<Value, String> {
    let (_, changed) = changed_at(session, point)?;
    let files = changed.iter().map(|one| {
        let path = session.job().mask(&one.path);
        (path, Value::from(one.status()))
    });
    Ok(Value::Object(files.collect()))
}

/// The answer to `backstitchChanges`. `sources`: gives a text a number.
pub fn changes_of(
    session: &JobSession,
    point: Option<usize>,
    mut number: impl FnMut(SourceText) -> u32,
) -> Result<Value, String> {
    let (attempt, changed) = changed_at(session, point)?;
    let files = changed.into_iter().map(|one| {
        let status = one.status();
        let before = one
            .delta
            .old
            .as_ref()
            .map(|_| number(SourceText::Old(one.clone())));
        let after = one
            .delta
            .new
            .as_ref()
            .map(|_| number(SourceText::New(one.clone())));
        json!({
            "path": session.job().mask(&one.path), "status": status,
            "before": before.unwrap_or(0), "after": after.unwrap_or(0),
        })
    });
    let files: Vec<Value> = files.collect();
    let title = format!("{} (attempt {})", attempt.step.name, attempt.number);
    Ok(json!({"title": session.job().mask(&title), "files": files}))
}

/// The content of a source, without secrets. Err: it is not a text.
pub fn content_of(session: &JobSession, source: &SourceText) -> Result<String, String> {
    let (changed, is_new) = match source {
        SourceText::Script(_, text) => return Ok(session.job().mask(text)),
        SourceText::Old(changed) => (changed, false),
        SourceText::New(changed) => (changed, true),
    };
    let loaded = FileChange::load(session.engine(), &changed.delta);
    let loaded = loaded.map_err(|error| error.to_string())?;
    let text = match loaded.texts(usize::MAX) {
        Some([old, new]) => if is_new { new } else { old }.unwrap_or_default(),
        None => String::from_utf8_lossy(&loaded.words()).into_owned(),
    };
    Ok(session.job().mask(&text))
}
