//! Facts about a call that a breakpoint asks for only if everything else lets it through: from the history, the files,
//! and jq. Each is looked up once.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use backstitch_control::{
    Breakpoint, BreakpointId, BreakpointSpec, CallFacts, CallLookup, CallMoment, ChangedLines,
    Control, Hit, LineRange, RegionState, SearchedFiles, Trigger, TurnFacts, fixed_start, follow,
};
use backstitch_core::{Engine, Error, Result, SessionFacts, Workspace};

use super::predict::{self, FileNow, Outlook, PredictedFile, Prediction};
use crate::opening;
use backstitch_control::condition::{
    self, Condition, ConditionChange, ConditionInput, ConditionTurn,
};
use serde_json::Value;

/// Maximum number of entries of directories that are read for one word of a command.
const MAX_WALK: usize = 5000;
/// Files of a tool of an unknown form that are looked at.
const MAX_UNKNOWN: usize = 64;
/// Microseconds of a minute.
const MINUTE: i64 = 60 * 1_000_000;

/// The call that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct CallAt<'a> {
    pub workspace: &'a Workspace,
    pub facts: CallFacts<'a>,
    pub cwd: &'a Path,
    /// The agent's own ids of the turn and of the call.
    pub prompt_id: Option<&'a str>,
    pub call: Option<&'a str>,
    /// The id under which its pauses and triggers are stored.
    pub call_id: &'a str,
    pub transcript: Option<&'a str>,
    /// Text of the error of a call that failed.
    pub error: Option<&'a str>,
    /// A look back at a call that ran before anything was checked: nothing is counted, and its changes are those that it
    /// made. Its moment is "before". None: the call is looked at now.
    pub past: Option<PastCall>,
}

/// A call that ran before its breakpoints were checked.
#[derive(Clone, Copy, Debug)]
pub struct PastCall {
    /// The session's number of calls has it.
    pub is_counted: bool,
}

/// Looks facts up, and keeps them.
#[derive(Debug)]
pub struct Lookup<'a> {
    at: CallAt<'a>,
    control: &'a Control,
    breakpoints: &'a [Breakpoint],
    engine: OnceCell<Option<Engine>>,
    session: Option<SessionFacts>,
    predicted: Option<Vec<ChangedLines>>,
    changed: Option<Vec<ChangedLines>>,
    input: Option<ConditionInput>,
}

impl<'a> Lookup<'a> {
    pub fn new(at: CallAt<'a>, control: &'a Control, breakpoints: &'a [Breakpoint]) -> Self {
        Self {
            at,
            control,
            breakpoints,
            engine: OnceCell::new(),
            session: None,
            predicted: None,
            changed: None,
            input: None,
        }
    }

    /// The history. None: nothing is recorded yet.
    fn engine(&self) -> Result<Option<&Engine>> {
        if self.engine.get().is_none() {
            let opened = match Engine::open_with(self.at.workspace, opening::HOOK.existing()) {
                Ok(engine) => Some(engine),
                Err(Error::NoStore(_)) => None,
                Err(error) => return Err(error),
            };
            let _ = self.engine.set(opened);
        }
        Ok(self.engine.get().and_then(Option::as_ref))
    }

    /// Text of the error of a call that failed.
    pub fn error(&self) -> Option<&str> {
        self.at.error
    }

    /// The session so far.
    pub fn session(&mut self) -> Result<SessionFacts> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let facts = self.at.facts;
        let found = match self.engine()? {
            Some(engine) => {
                let history = engine.history();
                history.session_facts(facts.agent, facts.session, self.at.prompt_id)?
            }
            None => None,
        };
        let mut found = found.unwrap_or_default();
        if self.at.past.is_some_and(|past| past.is_counted)
            && let Some(turn) = found.turn.take()
        {
            // the turn as it was before the call
            let own = self.changed()?;
            let lines = |file: &ChangedLines| {
                let change = as_change(file);
                change.added + change.removed
            };
            let lines: u64 = own.iter().map(lines).sum();
            found.turn = Some(backstitch_core::SessionTurn {
                calls: turn.calls.saturating_sub(1),
                files: turn.files.saturating_sub(own.len() as u64),
                lines: turn.lines.saturating_sub(lines),
                ..turn
            });
        }
        self.session = Some(found.clone());
        Ok(found)
    }

    /// Number that the call has, or would get, in its session.
    pub fn number(&mut self) -> Result<i64> {
        let so_far = self.session()?.iterations;
        Ok(if self.is_counted() {
            so_far
        } else {
            so_far + 1
        })
    }

    /// True if the history's numbers of calls have this one.
    fn is_counted(&self) -> bool {
        match self.at.past {
            Some(past) => past.is_counted,
            None => self.at.facts.moment == CallMoment::After,
        }
    }

    /// A trigger at this call. `text`: of a log point.
    pub fn hit(&mut self, breakpoint: &Breakpoint, trigger: &Trigger, text: Option<String>) -> Hit {
        let facts = self.at.facts;
        let turn = self.session().ok().and_then(|session| session.turn);
        Hit {
            id: 0,
            breakpoint: breakpoint.id,
            kind: breakpoint.spec.kind().to_owned(),
            action: breakpoint.action,
            pause: None,
            time: backstitch_control::now(),
            agent: facts.agent.to_owned(),
            session: facts.session.to_owned(),
            subagent: facts.subagent.map(str::to_owned),
            turn: turn.map(|turn| turn.number),
            iteration: self.number().ok(),
            tool: facts.tool.to_owned(),
            call: Some(self.at.call_id.to_owned()),
            why: trigger.why.clone(),
            text,
            acted: true,
        }
    }

    /// The prediction of the call.
    fn prediction(&self) -> Prediction {
        let facts = self.at.facts;
        predict::predict(facts.tool, facts.input, self.at.cwd, &predict::read_disk)
    }

    fn condition_input(&mut self) -> Result<&ConditionInput> {
        if self.input.is_none() {
            let turn = self.session()?.turn;
            let iteration = self.iteration()?;
            let predicted = if self.at.past.is_some() {
                self.changed()?.iter().map(as_change).collect()
            } else {
                changes(&self.prediction(), &self.at.workspace.root)
            };
            let facts = self.at.facts;
            self.input = Some(ConditionInput {
                tool: facts.tool.to_owned(),
                input: facts.input.clone(),
                at: facts.moment,
                agent: facts.agent.to_owned(),
                session: facts.session.to_owned(),
                subagent: facts.subagent.map(str::to_owned),
                turn: ConditionTurn {
                    number: turn.as_ref().map(|turn| turn.number),
                    prompt: turn.as_ref().map(|turn| turn.prompt.clone()),
                    calls: turn.as_ref().map_or(0, |turn| turn.calls),
                    files: turn.as_ref().map_or(0, |turn| turn.files),
                    seconds: turn.map_or(0, |turn| seconds_since(turn.started)),
                },
                iteration,
                cwd: facts.cwd.to_owned(),
                paths: facts.paths.to_vec(),
                predicted,
                error: self.at.error.map(str::to_owned),
            });
        }
        match &self.input {
            Some(input) => Ok(input),
            None => Err(Error::Usage("the call has no facts".to_owned())),
        }
    }

    /// Text of a log point.
    pub fn log_text(&mut self, breakpoint: BreakpointId, template: &str) -> String {
        let rendered = match self.condition_input() {
            Ok(input) => condition::render(template, input),
            Err(error) => Err(error.to_string()),
        };
        match rendered {
            Ok(rendered) => {
                if let Some(problem) = &rendered.problem {
                    self.problem(breakpoint, problem);
                }
                rendered.text
            }
            Err(problem) => {
                self.problem(breakpoint, &problem);
                template.to_owned()
            }
        }
    }
}

fn as_change(lines: &ChangedLines) -> ConditionChange {
    ConditionChange {
        path: lines.path.clone(),
        added: lines.added.len() as u64,
        removed: lines
            .ranges
            .iter()
            .map(|range| u64::from(range.count))
            .sum(),
    }
}

/// Lines that a prediction adds and removes, by file.
fn changes(prediction: &Prediction, root: &Path) -> Vec<ConditionChange> {
    will_write(prediction)
        .map(|file| {
            let side = |content: &predict::PredictedContent| content.text().map(<[u8]>::to_vec);
            let (old, new) = (side(&file.before), side(&file.after));
            let (added, removed) = backstitch_core::diff::counts(
                old.as_deref().unwrap_or_default(),
                new.as_deref().unwrap_or_default(),
            );
            ConditionChange {
                path: relative(root, &file.path),
                added: added as u64,
                removed: removed as u64,
            }
        })
        .collect()
}

/// True if a side of a predicted file has no text that can be compared.
fn is_unknown(file: &PredictedFile) -> bool {
    use predict::PredictedContent::{Size, Unknown};
    [&file.before, &file.after]
        .iter()
        .any(|side| matches!(side, Size(_) | Unknown))
}

/// The files that a call may write: also one whose text cannot be read here, whatever the prediction says of the tool.
fn may_write(prediction: &Prediction) -> impl Iterator<Item = &PredictedFile> {
    let files = match prediction {
        Prediction::Files(files) => files.as_slice(),
        Prediction::Unpredicted { .. } | Prediction::Reads { .. } => &[],
    };
    files
        .iter()
        .filter(|file| is_unknown(file) || !matches!(file.outlook, Outlook::Fails(_)))
}

/// The files that a call would write, unless the tool will refuse it.
fn will_write(prediction: &Prediction) -> impl Iterator<Item = &PredictedFile> {
    let files = match prediction {
        Prediction::Files(files) => files.as_slice(),
        Prediction::Unpredicted { .. } | Prediction::Reads { .. } => &[],
    };
    files
        .iter()
        .filter(|file| !matches!(file.outlook, Outlook::Fails(_)))
}

impl CallLookup for Lookup<'_> {
    fn passes_iteration(&mut self, breakpoint: BreakpointId, number: u32) -> Result<bool> {
        let now = self.iteration()?;
        if now <= number {
            return Ok(now == number);
        }
        let facts = self.at.facts;
        let session = (facts.agent, facts.session);
        let made = self.breakpoints.iter().find(|one| one.id == breakpoint);
        let (Some(made), Some(engine)) = (made, self.engine()?) else {
            return Ok(false);
        };
        let history = engine.history();
        // a session that was past this call when the breakpoint was made never makes it
        let was = history.iterations_before(facts.agent, facts.session, made.created)?;
        Ok(was < i64::from(number) && !self.control.hits().has_in(breakpoint, session)?)
    }

    fn iteration(&mut self) -> Result<u32> {
        let number = self.number()?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn turn(&mut self) -> Result<TurnFacts> {
        let own = u64::from(self.at.facts.moment == CallMoment::After);
        let Some(turn) = self.session()?.turn else {
            return Ok(TurnFacts::default());
        };
        let minutes = (backstitch_control::now() - turn.started).max(0) / MINUTE;
        Ok(TurnFacts {
            number: Some(turn.number),
            is_first_call: turn.calls == own,
            calls: turn.calls,
            files: turn.files,
            lines: turn.lines,
            minutes: minutes.unsigned_abs(),
        })
    }

    fn tokens(&mut self) -> Result<Option<u64>> {
        let agent = crate::agents::agent(self.at.facts.agent);
        Ok(agent
            .zip(self.at.transcript)
            .and_then(|(agent, path)| agent.tokens(Path::new(path), self.at.prompt_id)))
    }

    fn changed(&mut self) -> Result<Vec<ChangedLines>> {
        if self.changed.is_none() {
            self.changed = Some(self.changes_of_step()?);
        }
        Ok(self.changed.clone().unwrap_or_default())
    }

    fn predicted(&mut self) -> Result<Vec<ChangedLines>> {
        if self.at.past.is_some() {
            return self.changed();
        }
        if let Some(predicted) = &self.predicted {
            return Ok(predicted.clone());
        }
        let prediction = self.prediction();
        let lines = |file: &PredictedFile| {
            let path = inside(&self.at.workspace.root, &file.path);
            let side =
                |content: &predict::PredictedContent| content.text().unwrap_or_default().to_vec();
            ChangedLines {
                unknown: is_unknown(file),
                ..ChangedLines::between(&path, &side(&file.before), &side(&file.after))
            }
        };
        let mut predicted: Vec<ChangedLines> = may_write(&prediction).map(lines).collect();
        if matches!(prediction, Prediction::Unpredicted { .. }) {
            predicted.extend(self.unknown_writes());
        }
        self.predicted = Some(predicted);
        Ok(self.predicted.clone().unwrap_or_default())
    }

    fn region(&mut self, breakpoint: BreakpointId) -> Result<Option<LineRange>> {
        let spec = self.breakpoints.iter().find(|one| one.id == breakpoint);
        let Some(BreakpointSpec::Line(set)) = spec.map(|one| &one.spec) else {
            return Ok(None);
        };
        let (path, lines) = (&*set.path, set.lines());
        let Some((_, base)) = self.control.breakpoints().region_base(breakpoint)? else {
            return Ok(Some(lines));
        };
        let now = match self.at.facts.moment {
            CallMoment::Before if self.at.past.is_none() => {
                read_file(&self.at.workspace.root.join(path)).ok().flatten()
            }
            CallMoment::Before | CallMoment::After => self.before_step(path)?,
        };
        Ok(match follow(&base, lines, &now.unwrap_or_default()) {
            RegionState::Present(range) => Some(range),
            RegionState::Gone => None,
        })
    }

    fn triggered_before(&mut self, breakpoint: BreakpointId) -> Result<bool> {
        let facts = self.at.facts;
        let Some(call) = self.at.call else {
            return Ok(false);
        };
        self.control
            .hits()
            .has(breakpoint, (facts.agent, facts.session), call)
    }

    fn has_below(&mut self, dir: &str, pattern: &str) -> Result<bool> {
        let Ok(pattern) = backstitch_control::glob(pattern) else {
            return Ok(true);
        };
        let root = &self.at.workspace.root;
        let is_match = |path: &str| pattern.is_match(path);
        Ok(any_below(
            root,
            &root.join(dir),
            &is_match,
            &mut MAX_WALK.clone(),
        ))
    }

    fn is_searched(&mut self, search: &SearchedFiles, pattern: &str) -> Result<bool> {
        Ok(has_both(&self.at.workspace.root, search, pattern))
    }

    fn was_let_go(&mut self) -> Result<bool> {
        let facts = self.at.facts;
        match self.at.call {
            Some(call) => self
                .control
                .pauses()
                .was_let_go((facts.agent, facts.session), call),
            None => Ok(false),
        }
    }

    fn condition(&mut self, jq: &str) -> Result<bool, String> {
        let condition = Condition::compile(jq)?;
        let input = self.condition_input().map_err(|error| error.to_string())?;
        condition.holds(input)
    }

    fn count(&mut self, breakpoint: BreakpointId) -> Result<Option<i64>> {
        if self.at.past.is_some() {
            let found = self.breakpoints.iter().find(|one| one.id == breakpoint);
            return Ok(found.map(|one| one.hits + 1));
        }
        self.control.breakpoints().count_hit(breakpoint)
    }

    fn passed_by(&mut self, trigger: &Trigger) {
        if self.at.past.is_some() {
            return;
        }
        let found = self
            .breakpoints
            .iter()
            .find(|one| one.id == trigger.breakpoint);
        // only these kinds look at both sides of a call
        if let Some(breakpoint) = found
            && let BreakpointSpec::Path(_) | BreakpointSpec::Line(_) = breakpoint.spec
        {
            let hit = Hit {
                acted: false,
                ..self.hit(breakpoint, trigger, None)
            };
            let _ = self.control.hits().record(&hit);
        }
    }

    fn problem(&mut self, breakpoint: BreakpointId, what: &str) {
        if self.at.past.is_some() {
            return;
        }
        // the call matters more than the note
        let _ = self.control.breakpoints().note_problem(breakpoint, what);
    }
}

/// Calls `f` with the texts that a tool of an unknown form may write.
fn written_texts(name: &str, value: &Value, f: &mut dyn FnMut(&str)) {
    const WRITTEN: [&str; 12] = [
        "content", "text", "body", "data", "code", "value", "new", "insert", "replace", "patch",
        "diff", "line",
    ];
    match value {
        Value::String(text) => {
            let name = name.to_ascii_lowercase();
            if WRITTEN.iter().any(|word| name.contains(word)) && !name.contains("old") {
                f(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| written_texts(name, item, f)),
        Value::Object(fields) => {
            for (name, value) in fields {
                written_texts(name, value, f);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Lookup<'_> {
    /// The files that a tool of an unknown form names, if it has a text to write: as of an MCP server.
    fn unknown_writes(&self) -> Vec<ChangedLines> {
        let facts = self.at.facts;
        if facts.reads {
            return Vec::new();
        }
        let mut added = Vec::new();
        written_texts("", facts.input, &mut |text| {
            added.extend(text.lines().map(str::to_owned));
        });
        if added.is_empty() {
            return Vec::new();
        }
        let named = facts.paths.iter().chain(facts.mentioned);
        let write = |path: &String| ChangedLines {
            path: path.clone(),
            added: added.clone(),
            unknown: true,
            ..ChangedLines::default()
        };
        named.take(MAX_UNKNOWN).map(write).collect()
    }

    /// The changes of a call that ran.
    fn changes_of_step(&self) -> Result<Vec<ChangedLines>> {
        let Some(call) = self.at.call else {
            return Ok(Vec::new());
        };
        let facts = self.at.facts;
        let Some(engine) = self.engine()? else {
            return Ok(Vec::new());
        };
        let step = engine
            .history()
            .step_of_call(facts.agent, facts.session, call)?;
        let Some(step) = step else {
            return Ok(Vec::new());
        };
        let mut changed = Vec::new();
        for edit in step.changes {
            let text = |version: &backstitch_core::model::FileVersion| -> Result<Vec<u8>> {
                let content = version.as_ref().and_then(|placed| placed.image.content());
                content.map_or_else(|| Ok(Vec::new()), |id| engine.content(&id))
            };
            let sides = [&edit.change.after, &edit.change.before];
            let Some(placed) = sides.into_iter().flatten().next() else {
                continue;
            };
            let path = placed.path.display();
            let (old, new) = (text(&edit.change.before)?, text(&edit.change.after)?);
            changed.push(ChangedLines::between(&path, &old, &new));
            // a moved file is named by its old path, too
            if let Some(before) = &edit.change.before
                && before.path != placed.path
            {
                changed.push(ChangedLines {
                    path: before.path.display(),
                    ..ChangedLines::default()
                });
            }
        }
        Ok(changed)
    }

    /// The text of a file before the step of the call; without a step, as it is.
    fn before_step(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let facts = self.at.facts;
        let as_it_is = || read_file(&self.at.workspace.root.join(path)).ok().flatten();
        let (Some(engine), Some(call)) = (self.engine()?, self.at.call) else {
            return Ok(as_it_is());
        };
        let history = engine.history();
        let Some(step) = history.step_of_call(facts.agent, facts.session, call)? else {
            return Ok(as_it_is());
        };
        let is_it = |edit: &&backstitch_core::EntryChange| {
            let sides = [&edit.change.before, &edit.change.after];
            let mut sides = sides.into_iter().flatten();
            sides.any(|placed| placed.path.display() == path)
        };
        let Some(edit) = step.changes.iter().find(is_it) else {
            return Ok(as_it_is());
        };
        let before = edit.change.before.as_ref();
        let content = before.and_then(|placed| placed.image.content());
        content.map(|id| engine.content(&id)).transpose()
    }
}

/// True if a file below a directory matches, or the directory is too large to tell. `left`: entries that may be read.
fn any_below(root: &Path, dir: &Path, is_match: &dyn Fn(&str) -> bool, left: &mut usize) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return false;
    };
    for entry in entries.flatten() {
        if *left == 0 {
            return true;
        }
        *left -= 1;
        let path = entry.path();
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let found = if is_dir {
            entry.file_name() != ".git" && any_below(root, &path, is_match, left)
        } else {
            is_match(&relative(root, &path))
        };
        if found {
            return true;
        }
    }
    false
}

/// Returns the paths that a word with wildcards stands for, as a shell expands it. `word`: relative to the root.
pub fn expanded(root: &Path, word: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for part in word.split('/').filter(|part| !part.is_empty()) {
        let join = |dir: &str, name: &str| {
            if dir.is_empty() {
                name.to_owned()
            } else {
                format!("{dir}/{name}")
            }
        };
        let (fixed, is_plain) = fixed_start(part);
        if is_plain {
            found = found.iter().map(|dir| join(dir, &fixed)).collect();
            continue;
        }
        let Ok(pattern) = backstitch_control::glob(part) else {
            return Vec::new();
        };
        // `**` stands for no directory, too
        let mut next = if part == "**" {
            found.clone()
        } else {
            Vec::new()
        };
        for dir in &found {
            let Ok(entries) = std::fs::read_dir(root.join(dir)) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                // a wildcard does not stand for the first dot
                let is_hidden = name.starts_with('.') && !part.starts_with('.');
                if !is_hidden && pattern.is_match(&name) && next.len() < MAX_WALK {
                    next.push(join(dir, &name));
                }
            }
        }
        found = next;
    }
    found
}

/// True if a file of the workspace matches both patterns, or the tree is too large to tell.
fn has_both(root: &Path, search: &SearchedFiles, pattern: &str) -> bool {
    let compile = backstitch_control::glob;
    let (Ok(one), Ok(other)) = (compile(pattern), compile(&search.glob)) else {
        return true;
    };
    let is_match = |path: &str| one.is_match(path) && other.is_match(path);
    any_below(
        root,
        &root.join(&search.dir),
        &is_match,
        &mut MAX_WALK.clone(),
    )
}

/// True if a file of the workspace matches a pattern now. None: the tree is too large to tell.
pub fn matches_now(root: &Path, pattern: &str) -> Option<bool> {
    let (fixed, is_whole) = fixed_start(pattern);
    if is_whole || fixed.starts_with('/') {
        return Some(root.join(&fixed).symlink_metadata().is_ok());
    }
    let pattern = backstitch_control::glob(pattern).ok()?;
    let dir = fixed.rsplit_once('/').map_or("", |(dir, _)| dir);
    let mut left = MAX_WALK;
    let is_match = |path: &str| pattern.is_match(path);
    let found = any_below(root, &root.join(dir), &is_match, &mut left);
    (left > 0).then_some(found)
}

/// Returns the lines of a `line` breakpoint in its file as it is now. None: it is of another kind, or has no text.
pub fn region_now(
    root: &Path,
    control: &Control,
    breakpoint: &Breakpoint,
) -> Result<Option<RegionState>> {
    let BreakpointSpec::Line(set) = &breakpoint.spec else {
        return Ok(None);
    };
    let Some((_, base)) = control.breakpoints().region_base(breakpoint.id)? else {
        return Ok(None);
    };
    let now = read_file(&root.join(&set.path)).ok().flatten();
    Ok(Some(follow(&base, set.lines(), &now.unwrap_or_default())))
}

/// Returns a path relative to the root with `/`, absolute if it is outside of it.
pub fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .to_string_lossy()
        .into_owned()
}

/// As `relative`, for a path that may lead into the root through a link outside of it.
pub fn inside(root: &Path, path: &Path) -> String {
    if !path.starts_with(root)
        && let Some(real) = resolved(path)
    {
        return relative(root, &real);
    }
    relative(root, path)
}

/// Returns a path without links. Its end need not exist.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|existing| {
        let real = existing.canonicalize().ok()?;
        let rest = path.strip_prefix(existing).ok()?;
        Some(if rest.as_os_str().is_empty() {
            real
        } else {
            real.join(rest)
        })
    })
}

/// Resolves `.` and `..` without a look at the disk.
pub fn clean(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// Reads a file as it is. None: absent, or no file that has lines.
pub fn read_file(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    Ok(match predict::read_disk(path)? {
        FileNow::File(bytes) => Some(bytes),
        FileNow::Absent | FileNow::TooLarge(_) | FileNow::Link(_) | FileNow::Directory => None,
    })
}

/// Returns the text of a file of the workspace in which a `line` breakpoint is set.
pub fn text_for_lines(root: &Path, path: &str) -> Result<Vec<u8>> {
    let read = read_file(&root.join(path)).map_err(|source| Error::Io {
        what: format!("read {path}"),
        source,
    })?;
    read.ok_or_else(|| Error::NoLines(path.to_owned()))
}

fn seconds_since(started: i64) -> u64 {
    let micros = (backstitch_control::now() - started).max(0);
    micros.unsigned_abs() / 1_000_000
}
