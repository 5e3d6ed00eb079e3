//! A tool call of the agent, put together from its messages. Pure: files are read through the caller's function.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backstitch_core::capture::{Effect, ToolCall, ToolReport};
use serde_json::{Value, json};

use super::message::{Diff, ToolUpdate};
use super::names::{self, ToolFacts};
use super::report::{FileFacts, FileText, predicted, report};
use crate::control::predict::EDITOR_TEXTS;

/// Reads a file, as far as it is a text of a usual size.
pub type ReadFileText<'a> = &'a dyn Fn(&Path) -> FileText;

/// Most files of a call of which the text is kept.
const MAX_FILES: usize = 64;

/// State of a call that a message tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallProgress {
    /// It is prepared, or waits for its user.
    Pending,
    Running,
    Ended {
        failed: bool,
    },
}

/// Files that a call may write, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Reads,
    Names,
    Any,
}

/// A file before a call.
#[derive(Clone, Debug, Default)]
struct Seen {
    text: FileText,
    /// The agent waited meanwhile.
    is_exact: bool,
}

/// A call that has not ended.
#[derive(Debug, Default)]
pub struct OpenCall {
    tool: Option<String>,
    kind: Option<String>,
    first_title: Option<String>,
    title: Option<String>,
    input: Option<String>,
    paths: Vec<PathBuf>,
    diffs: Vec<Diff>,
    exit: Option<i64>,
    /// Texts of its files before it, and those that the client wrote for it.
    seen: BTreeMap<PathBuf, Seen>,
    written: BTreeMap<PathBuf, FileText>,
    /// Its effect and the number of its paths as they were told.
    opened: Option<(Reach, usize)>,
    /// The moment before it ran was reported.
    pub started: bool,
    /// The agent asked before it ran.
    pub asked: bool,
    /// The user, or a breakpoint, refused it.
    pub refused: bool,
}

impl OpenCall {
    /// A call that the proxy makes from a request of the agent that belongs to no other.
    pub fn of_request(tool: &str, path: Option<PathBuf>, input: &Value) -> Self {
        Self {
            tool: Some(tool.to_owned()),
            kind: Some(if path.is_some() { "edit" } else { "execute" }.to_owned()),
            input: Some(input.to_string()),
            paths: path.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds the news of a message.
    pub fn merge(&mut self, update: &ToolUpdate<'_>) -> Option<CallProgress> {
        let set = |to: &mut Option<String>, from: Option<String>| {
            if from.is_some() {
                *to = from;
            }
        };
        set(&mut self.tool, update.tool());
        set(&mut self.kind, update.kind());
        set(&mut self.title, update.title());
        set(&mut self.input, update.input().map(str::to_owned));
        self.exit = update.exit_code().or(self.exit);
        if self.first_title.is_none() {
            self.first_title.clone_from(&self.title);
        }
        let diffs = update.diffs();
        if !diffs.is_empty() {
            // a list in an update replaces the one before
            self.diffs = diffs;
        }
        let mut named = update.locations();
        named.extend(self.diffs.iter().map(|diff| diff.path.clone()));
        if named.is_empty() && self.paths.is_empty() {
            named.extend(self.path_in_input());
        }
        for path in named {
            self.add_path(path);
        }
        Some(match update.status()?.as_str() {
            "in_progress" => CallProgress::Running,
            "completed" => CallProgress::Ended { failed: false },
            "failed" | "cancelled" => CallProgress::Ended { failed: true },
            _ => CallProgress::Pending,
        })
    }

    fn add_path(&mut self, path: PathBuf) {
        if path.is_absolute() && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    fn path_in_input(&self) -> Option<PathBuf> {
        let input: Value = serde_json::from_str(self.input.as_deref()?).ok()?;
        let names = ["file_path", "filePath", "path", "abs_path"];
        let found = names.iter().find_map(|name| input.get(name)?.as_str());
        found.map(PathBuf::from)
    }

    fn reach(&self) -> Reach {
        if let Some((opened @ (Reach::Names | Reach::Any), _)) = self.opened {
            return opened;
        }
        match self.kind.as_deref() {
            Some("read" | "search" | "fetch" | "think" | "switch_mode") => Reach::Reads,
            Some("edit" | "delete" | "move") if !self.paths.is_empty() => Reach::Names,
            _ => Reach::Any,
        }
    }

    /// True if a message of this progress tells enough to open the call.
    pub fn can_open(&self, progress: Option<CallProgress>) -> bool {
        match progress {
            Some(CallProgress::Running) => true,
            Some(CallProgress::Pending) => {
                self.input.is_some() || !self.paths.is_empty() || !self.diffs.is_empty()
            }
            Some(CallProgress::Ended { .. }) | None => false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// True if its files are named one by one, and some of them have not been told.
    pub fn has_more_paths(&self) -> bool {
        matches!(self.opened, Some((Reach::Names, told)) if told < self.paths.len())
    }

    /// True if it is open and may write anything: scans before and after it find its changes.
    pub fn is_scanned(&self) -> bool {
        matches!(self.opened, Some((Reach::Any, _)))
    }

    /// True if it may write this file.
    pub fn may_write(&self, path: &Path) -> bool {
        match self.reach() {
            Reach::Reads => false,
            Reach::Names => self.paths.iter().any(|one| one == path),
            Reach::Any => true,
        }
    }

    /// True if it is an edit, so that a file that it did not name may be its own.
    pub fn is_edit(&self) -> bool {
        self.reach() != Reach::Reads
    }

    /// Notes that the call is reported now. `anew`: files that nothing was written to yet are read again.
    pub fn open(&mut self, read: ReadFileText<'_>, anew: bool) {
        self.opened = Some((self.reach(), self.paths.len()));
        if self.reach() != Reach::Names {
            return;
        }
        for path in self.paths.iter().take(MAX_FILES) {
            let is_new = !self.seen.contains_key(path);
            if is_new || anew && !self.written.contains_key(path) {
                let seen = Seen {
                    text: read(path),
                    is_exact: anew,
                };
                self.seen.insert(path.clone(), seen);
            }
        }
    }

    /// Notes that the client is about to write a file for this call. Returns false if it has done so before.
    pub fn before_write(&mut self, path: &Path, read: ReadFileText<'_>) -> bool {
        if self.written.contains_key(path) {
            return false;
        }
        self.add_path(path.to_path_buf());
        let seen = Seen {
            text: read(path),
            is_exact: true,
        };
        self.seen.insert(path.to_path_buf(), seen);
        self.written.insert(path.to_path_buf(), FileText::Unknown);
        true
    }

    /// Notes that the client has written a file for this call.
    pub fn after_write(&mut self, path: &Path, read: ReadFileText<'_>) {
        self.written.insert(path.to_path_buf(), read(path));
    }

    pub fn set_exit(&mut self, exit: Option<i64>) {
        self.exit = exit.or(self.exit);
    }

    /// Returns the call for the record.
    pub fn tool_call(&self, agent: &str, id: &str) -> ToolCall {
        let facts = ToolFacts {
            told: self.tool.as_deref(),
            call: id,
            title: self.first_title.as_deref(),
            kind: self.kind.as_deref(),
        };
        ToolCall {
            id: Some(id.to_owned()),
            tool: names::tool(agent, facts),
            input: self.input_text().into_bytes(),
            effect: match self.reach() {
                Reach::Reads => Effect::Reads,
                Reach::Names => Effect::Names(self.paths.clone()),
                Reach::Any => Effect::Any { background: false },
            },
        }
    }

    /// Returns the call as it starts to write: this file, or all that nothing was written to yet.
    pub fn starting(&self, agent: &str, id: &str, path: Option<&Path>) -> ToolCall {
        let mut call = self.tool_call(agent, id);
        if let Effect::Names(paths) = &mut call.effect {
            match path {
                Some(path) => *paths = vec![path.to_path_buf()],
                None => paths.retain(|path| !self.written.contains_key(path)),
            }
        }
        call
    }

    /// Returns the input as the agent tells it, else one that is made of the rest of the messages.
    fn input_text(&self) -> String {
        if let Some(input) = &self.input {
            return input.clone();
        }
        let mut input = json!({});
        if let Some(title) = &self.title {
            input["title"] = json!(title);
            if self.kind.as_deref() == Some("execute") {
                input["command"] = json!(title);
            }
        }
        if let Some(path) = self.paths.first().filter(|_| self.diffs.is_empty()) {
            input["path"] = json!(path.to_string_lossy());
        }
        input.to_string()
    }

    /// Returns the call with an input that tells the texts after it, for a person who decides on it.
    pub fn held_call(&self, agent: &str, id: &str, read: ReadFileText<'_>) -> ToolCall {
        let mut call = self.tool_call(agent, id);
        if self.input.is_some() || self.reach() != Reach::Names {
            return call;
        }
        let texts: Vec<Value> = self
            .paths
            .iter()
            .filter_map(|path| {
                let text = predicted(&read(path), &self.diffs_of(path))?;
                Some(json!({ "path": path.to_string_lossy(), "text": text }))
            })
            .collect();
        if !texts.is_empty() {
            let input = json!({ "title": self.title, EDITOR_TEXTS: texts });
            call.input = input.to_string().into_bytes();
        }
        call
    }

    fn diffs_of(&self, path: &Path) -> Vec<&Diff> {
        self.diffs.iter().filter(|diff| diff.path == path).collect()
    }

    /// Returns the report on its files at its end.
    pub fn report(&self, read: ReadFileText<'_>) -> ToolReport {
        let mut paths = Vec::new();
        if self.reach() == Reach::Names {
            for path in self.paths.iter().take(MAX_FILES) {
                let seen = self.seen.get(path).cloned().unwrap_or_default();
                let now = read(path);
                let written = match self.written.get(path) {
                    Some(FileText::Present(text)) => Some(text.as_str()),
                    _ => None,
                };
                let facts = FileFacts {
                    seen: &seen.text,
                    is_exact: seen.is_exact,
                    written,
                    now: &now,
                    diffs: &self.diffs_of(path),
                };
                paths.push(report(path, facts));
            }
        }
        ToolReport {
            paths,
            exit: self.exit,
        }
    }
}
