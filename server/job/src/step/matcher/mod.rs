//! Problem matchers: patterns that find messages with their places in the output of steps.
//!
//! A job has one list of matchers. Each step reads its lines with all of them, and begins with no line found.

mod config;
mod ecmascript;

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::report::{Annotation, Level};
use config::{Matcher, MatcherPattern, MessagePart, is_owner};

/// The matchers of a job, the newest first.
#[derive(Clone, Debug, Default)]
pub struct JobMatchers(Arc<Mutex<Vec<Arc<Matcher>>>>);

/// The matchers of a step at work.
#[derive(Debug, Default)]
pub struct StepMatchers {
    job: JobMatchers,
    running: Vec<RunningMatcher>,
    /// Paths of messages are relative to it.
    workspace: PathBuf,
}

/// A matcher, and the lines that its patterns but the last one have found.
#[derive(Debug)]
struct RunningMatcher {
    matcher: Arc<Matcher>,
    found: Vec<Option<FoundParts>>,
}

/// Parts of a message, by [`MessagePart`].
type FoundParts = [Option<String>; MessagePart::ALL.len()];

/// Result of a line.
#[derive(Debug, Default)]
pub struct MatchedLine {
    pub annotation: Option<Annotation>,
    /// Sentences of `::debug::`.
    pub debug: Vec<String>,
    /// Sentences about matchers that were removed.
    pub warnings: Vec<String>,
}

impl JobMatchers {
    /// The matchers for a step that begins.
    pub fn for_step(&self, workspace: &Path) -> StepMatchers {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        StepMatchers {
            job: self.clone(),
            running: all.iter().cloned().map(RunningMatcher::new).collect(),
            workspace: workspace.to_owned(),
        }
    }

    /// The texts of all matchers, the newest first: a value that [`JobMatchers::set`] takes.
    pub fn texts(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|matcher| matcher.text.clone()).collect()
    }

    /// Replaces all matchers. A text that is not one is left out.
    pub fn set(&self, texts: &[String]) {
        let read = texts.iter().filter_map(|text| config::parse_one(text).ok());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *all = read.map(Arc::new).collect();
    }

    /// Puts these in front, in place of those with the same owners.
    fn add(&self, new: &[Arc<Matcher>]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| !new.iter().any(|new| is_owner(&new.owner, &known.owner)));
        all.splice(0..0, new.iter().cloned());
    }

    fn remove(&self, owner: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| !is_owner(&known.owner, owner));
    }
}

impl StepMatchers {
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Adds the matchers of a file for this step and those after it. Returns their owners. The error is a sentence.
    pub fn add(&mut self, file: &str) -> Result<Vec<String>, String> {
        let new = config::read(&self.workspace.join(file))?;
        let new: Vec<Arc<Matcher>> = new.into_iter().map(Arc::new).collect();
        self.job.add(&new);
        for matcher in &new {
            self.running
                .retain(|known| !is_owner(&known.matcher.owner, &matcher.owner));
        }
        let running = new.iter().cloned().map(RunningMatcher::new);
        self.running.splice(0..0, running);
        Ok(new.iter().map(|matcher| matcher.owner.clone()).collect())
    }

    /// Removes the matcher of an owner for this step and those after it.
    pub fn remove(&mut self, owner: &str) {
        self.job.remove(owner);
        self.running
            .retain(|known| !is_owner(&known.matcher.owner, owner));
    }

    /// Removes the matchers that a file has. The error is a sentence.
    pub fn remove_of(&mut self, file: &str) -> Result<(), String> {
        for matcher in config::read(&self.workspace.join(file))? {
            self.remove(&matcher.owner);
        }
        Ok(())
    }

    /// Reads a line without its line end and without colors. The first matcher that finds a message ends what others have begun.
    pub fn read(&mut self, line: &str) -> MatchedLine {
        let mut result = MatchedLine::default();
        let mut place = 0;
        while place < self.running.len() {
            let running = &mut self.running[place];
            let found = match running.read(line) {
                Ok(found) => found,
                Err(reason) => {
                    let owner = &running.matcher.owner;
                    result.warnings.push(format!(
                        "Removing issue matcher '{owner}': a line took too long. Error: {reason}"
                    ));
                    self.running.remove(place);
                    continue;
                }
            };
            if let Some(parts) = found {
                for (other, running) in self.running.iter_mut().enumerate() {
                    if other != place {
                        running.reset();
                    }
                }
                result.annotation = annotation(&parts, &self.workspace, &mut result.debug);
                if result.annotation.is_some() {
                    break;
                }
            }
            place += 1;
        }
        result
    }
}

impl RunningMatcher {
    fn new(matcher: Arc<Matcher>) -> RunningMatcher {
        let found = vec![None; matcher.patterns.len() - 1];
        RunningMatcher { matcher, found }
    }

    fn reset(&mut self) {
        self.found.fill(None);
    }

    /// Reads a line: a pattern applies after the line before it has been found by the pattern before it. The error is about a search
    /// that was given up.
    fn read(&mut self, line: &str) -> Result<Option<FoundParts>, String> {
        let matcher = Arc::clone(&self.matcher);
        let last = matcher.patterns.len() - 1;
        for (place, pattern) in matcher.patterns.iter().enumerate().rev() {
            let before = match place.checked_sub(1) {
                None => FoundParts::default(),
                Some(before) => match self.found[before].clone() {
                    Some(found) => found,
                    None => continue,
                },
            };
            let found = search(pattern, line, &before)?;
            if place < last {
                self.found[place] = found;
                continue;
            }
            let Some(mut found) = found else {
                if place > 0 {
                    self.found[place - 1] = None;
                }
                continue;
            };
            self.reset();
            if pattern.is_loop && place > 0 {
                self.found[place - 1] = Some(before);
            }
            let severity = &mut found[MessagePart::Severity as usize];
            if severity.as_ref().is_none_or(String::is_empty) {
                *severity = Some(matcher.severity.clone());
            }
            return Ok(Some(found));
        }
        Ok(None)
    }
}

/// Searches a line, and adds what it has to the parts of the lines before it.
fn search(
    pattern: &MatcherPattern,
    line: &str,
    before: &FoundParts,
) -> Result<Option<FoundParts>, String> {
    let groups = pattern
        .regex
        .captures(line)
        .map_err(|error| error.to_string())?;
    Ok(groups.map(|groups| {
        let mut all = before.clone();
        for (part, group) in all.iter_mut().zip(pattern.groups) {
            if let Some(group) = group {
                let text = groups.get(group).map_or("", |found| found.as_str());
                part.get_or_insert_with(|| text.to_owned());
            }
        }
        all
    }))
}

/// The message of a match; none without a text, or with an unknown severity.
fn annotation(parts: &FoundParts, workspace: &Path, debug: &mut Vec<String>) -> Option<Annotation> {
    let text = |part: MessagePart| parts[part as usize].as_deref().unwrap_or_default();
    let message = text(MessagePart::Message);
    if message.trim().is_empty() {
        debug.push(
            "Skipping logging an issue for the matched line because the message is empty."
                .to_owned(),
        );
        return None;
    }
    let severity = text(MessagePart::Severity);
    let level = match severity.to_ascii_lowercase().as_str() {
        "" | "error" => Level::Error,
        "warning" => Level::Warning,
        "notice" => Level::Notice,
        _ => {
            debug.push(format!("Skipped logging an issue for the matched line because the severity '{severity}' is not supported."));
            return None;
        }
    };
    let mut number = |part: MessagePart, name: &str| {
        let text = text(part);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        if number.is_none() && !text.is_empty() {
            debug.push(format!("Unable to parse {name} number '{text}'"));
        }
        number
    };
    let (line, column) = (
        number(MessagePart::Line, "line"),
        number(MessagePart::Column, "column"),
    );
    let code = text(MessagePart::Code).trim();
    let file = match text(MessagePart::File) {
        "" => None,
        file => match relative(file, text(MessagePart::FromPath), workspace) {
            Ok(file) => Some(file),
            Err(reason) => {
                debug.push(reason);
                None
            }
        },
    };
    Some(Annotation {
        level,
        message: message.to_owned(),
        title: None,
        code: (!code.is_empty()).then(|| code.to_owned()),
        file,
        line,
        column,
    })
}

/// The path of a file in the workspace, relative to it. The error is a sentence.
fn relative(file: &str, from: &str, workspace: &Path) -> Result<String, String> {
    let mut path = PathBuf::from(file);
    if let Some(dir) = Path::new(from).parent().filter(|_| !path.is_absolute()) {
        path = dir.join(path);
    }
    let path = plain(&workspace.join(path));
    let shown = path.display();
    if !path.is_file() {
        return Err(format!(
            "Dropping file value '{shown}'. Path does not exist"
        ));
    }
    let below = |path: &Path, workspace: &Path| {
        let below = path.strip_prefix(workspace).ok()?;
        Some(below.to_string_lossy().into_owned())
    };
    // a program may name the workspace by another path to it
    let real = || below(&path.canonicalize().ok()?, &workspace.canonicalize().ok()?);
    below(&path, &plain(workspace))
        .or_else(real)
        .ok_or_else(|| {
            format!("Dropping file value '{shown}'. Path is not under the workflow repo.")
        })
}

/// The path without `.` and `..`, by its text.
fn plain(path: &Path) -> PathBuf {
    let mut all = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                all.pop();
            }
            part => all.push(part),
        }
    }
    all
}

/// The line without the codes of colors.
pub fn without_colors(line: &str) -> Cow<'_, str> {
    if !line.contains("\u{1b}[") {
        return Cow::Borrowed(line);
    }
    let mut all = String::new();
    let mut pieces = line.split("\u{1b}[");
    all.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c == ';' || c.is_ascii_digit());
        all.push_str(rest.strip_prefix('m').unwrap_or(rest));
    }
    Cow::Owned(all)
}

#[cfg(test)]
mod tests;
