//! Facts about a call that a breakpoint asks for only if everything else lets it through: from the history, the files,
//! and jq. Each is looked up once.

mod changes;

use std::cell::OnceCell;
use std::path::Path;

use backstitch_control::condition::{self, Condition, ConditionInput, ConditionTurn};
use backstitch_control::{
    Breakpoint, BreakpointId, CallFacts, CallLookup, CallMoment, ChangedLines, Control, Hit,
    LineRange, RegionState, SearchedFiles, Trigger, TurnFacts, follow,
};
use backstitch_core::{Engine, Error, Result, SessionFacts, Workspace};

use super::line_texts::read_file;
use super::matches;
use super::predict::{self, Prediction};
use crate::opening;

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
                let change = changes::as_change(file);
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
                self.changed()?.iter().map(changes::as_change).collect()
            } else {
                changes::counted(&self.prediction(), &self.at.workspace.root)
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
        let agent = backstitch_agents::agent(self.at.facts.agent);
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
        let mut predicted = changes::by_line(&prediction, &self.at.workspace.root);
        if matches!(prediction, Prediction::Unpredicted { .. }) {
            predicted.extend(changes::of_unknown_tool(&self.at.facts));
        }
        self.predicted = Some(predicted);
        Ok(self.predicted.clone().unwrap_or_default())
    }

    fn region(&mut self, breakpoint: BreakpointId) -> Result<Option<LineRange>> {
        let spec = self.breakpoints.iter().find(|one| one.id == breakpoint);
        let Some(set) = spec.and_then(|one| one.spec.lines()) else {
            return Ok(None);
        };
        let (path, lines) = (set.path, set.range);
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
        Ok(matches::has_below(&self.at.workspace.root, dir, pattern))
    }

    fn is_searched(&mut self, search: &SearchedFiles, pattern: &str) -> Result<bool> {
        Ok(matches::has_both(&self.at.workspace.root, search, pattern))
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
        if let Some(breakpoint) = found
            && breakpoint.spec.looks_at_both_sides()
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

impl Lookup<'_> {
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

fn seconds_since(started: i64) -> u64 {
    let micros = (backstitch_control::now() - started).max(0);
    micros.unsigned_abs() / 1_000_000
}
