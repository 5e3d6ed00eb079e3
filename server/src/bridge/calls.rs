//! Calls of a program: recorded, compared with breakpoints, and held.

use std::path::Path;
use std::time::Duration;

use backstitch_control::condition;
use backstitch_control::{
    Ability, Breakpoint, BreakpointId, CallMoment, CheckedCall, Control, FunctionFacts, HeldCall,
    Hit, Match, NewFunctionCall, PauseHit, PauseId, ProgramPause, StackFrame, Subject, Trigger,
    check_call, compare_function, now,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::rpc::Refusal;
use super::session::{BridgeShared, Connected, Outcome, call_of, locked};
use crate::render;

/// Time of a condition.
const CONDITION_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
pub(super) struct CallBegin {
    function: String,
    #[serde(default = "inline")]
    kind: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    thread: String,
    #[serde(default)]
    parent: Option<i64>,
    #[serde(default)]
    stack: Vec<StackFrame>,
    #[serde(default)]
    key: Option<String>,
}

fn inline() -> String {
    "inline".to_owned()
}

#[derive(Deserialize)]
pub(super) struct CallEnd {
    call: i64,
    function: String,
    #[serde(default = "returned")]
    outcome: String,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    thread: String,
    #[serde(default)]
    stack: Vec<StackFrame>,
    #[serde(default)]
    key: Option<String>,
    /// False: the call did not run, and nothing stops after it.
    #[serde(default = "yes")]
    ran: bool,
}

fn returned() -> String {
    "returned".to_owned()
}

fn yes() -> bool {
    true
}

/// Characters of a label that are kept.
const LONGEST_LABEL: usize = 500;

#[derive(Deserialize)]
pub(super) struct PauseOpen {
    label: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    thread: String,
    #[serde(default)]
    call: Option<i64>,
    #[serde(default)]
    stack: Vec<StackFrame>,
    #[serde(default)]
    key: Option<String>,
}

/// A place at which a program may be paused.
struct StopPoint<'a> {
    function: &'a str,
    moment: CallMoment,
    call: Option<i64>,
    thread: &'a str,
    args: &'a Value,
    stack: &'a [StackFrame],
    can: &'a [Ability],
    /// None: whatever breakpoints say.
    why: Option<String>,
    failed: bool,
    /// The program's own name of its request: the same one if a bridge died meanwhile, and it asks the next one.
    key: Option<&'a str>,
}

/// Returns a path relative to the root, if it is below it.
fn below(root: &Path, path: &str) -> String {
    let relative = Path::new(path).strip_prefix(root);
    relative.map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

impl BridgeShared {
    pub(super) fn call_begin(&self, begin: &CallBegin) -> Outcome {
        let program = self.program()?;
        if let Some(id) = self.opened_before(&program, begin.key.as_deref())? {
            let call = locked(&self.control).programs().call_of_pause(id)?;
            return Ok(json!({ "call": call, "pause": id.to_string() }));
        }
        let call = locked(&self.control)
            .programs()
            .begin_call(&NewFunctionCall {
                process: program.process,
                parent: begin.parent,
                function: begin.function.clone(),
                kind: begin.kind.clone(),
                thread: begin.thread.clone(),
                args: begin.args.to_string(),
            })?;
        let stop = StopPoint {
            function: &begin.function,
            moment: CallMoment::Before,
            call: Some(call),
            thread: &begin.thread,
            args: &begin.args,
            stack: &begin.stack,
            can: &[
                Ability::Continue,
                Ability::Skip,
                Ability::Replace,
                Ability::Change,
                Ability::Deny,
            ],
            why: None,
            failed: false,
            key: begin.key.as_deref(),
        };
        let paused = self.check_breakpoints(&program, &stop)?;
        Ok(json!({ "call": call, "pause": paused.map(|id| id.to_string()) }))
    }

    pub(super) fn call_end(&self, end: &CallEnd) -> Outcome {
        let program = self.program()?;
        let result = end.result.to_string();
        locked(&self.control)
            .programs()
            .end_call(end.call, &end.outcome, Some(&result))?;
        if !end.ran || end.outcome == "skipped" {
            return Ok(json!({ "pause": null }));
        }
        let failed = end.outcome == "raised";
        let stop = StopPoint {
            function: &end.function,
            moment: CallMoment::After,
            call: Some(end.call),
            thread: &end.thread,
            args: &end.result,
            stack: &end.stack,
            can: &[Ability::Continue, Ability::Replace, Ability::Deny],
            why: None,
            failed,
            key: end.key.as_deref(),
        };
        let paused = self.check_breakpoints(&program, &stop)?;
        Ok(json!({ "pause": paused.map(|id| id.to_string()) }))
    }

    pub(super) fn pause_open(&self, open: &PauseOpen) -> Outcome {
        let program = self.program()?;
        let label = render::shortened(&open.label, LONGEST_LABEL);
        let stop = StopPoint {
            function: &label,
            moment: CallMoment::Before,
            call: open.call,
            thread: &open.thread,
            args: &open.args,
            stack: &open.stack,
            can: &[Ability::Continue, Ability::Deny],
            why: Some(format!("pause(\"{label}\")")),
            failed: false,
            key: open.key.as_deref(),
        };
        let paused = self.check_breakpoints(&program, &stop)?;
        Ok(json!({ "pause": paused.map(|id| id.to_string()) }))
    }

    /// Holds the program if it asks for it, or a breakpoint says so.
    fn check_breakpoints(
        &self,
        program: &Connected,
        stop: &StopPoint<'_>,
    ) -> Result<Option<PauseId>, Refusal> {
        if let Some(id) = self.opened_before(program, stop.key)? {
            return Ok(Some(id));
        }
        let control = locked(&self.control);
        if let Some(why) = &stop.why {
            return self.hold(&control, program, stop, None, why);
        }
        let breakpoints = control.breakpoints().all()?;
        let mut rest = &*breakpoints;
        let mut call = ProgramCall {
            control: &control,
            program,
            stop,
        };
        loop {
            let checked = check_call(rest, &mut call)?;
            let find = |trigger: &Trigger| rest.iter().position(|one| one.id == trigger.breakpoint);
            for trigger in &checked.logged {
                if let Some(at) = find(trigger) {
                    call.log(&rest[at], &trigger.why)?;
                }
            }
            let stop_at = checked.stop.as_ref();
            let Some((trigger, at)) = stop_at.and_then(|one| Some((one, find(one)?))) else {
                return Ok(None);
            };
            let held = self.hold(&control, program, stop, Some(&rest[at]), &trigger.why)?;
            if held.is_some() {
                return Ok(held);
            }
            // its breakpoint for one hit has held another call at the same time
            rest = &rest[at + 1..];
        }
    }

    fn hold(
        &self,
        control: &Control,
        program: &Connected,
        stop: &StopPoint<'_>,
        breakpoint: Option<&Breakpoint>,
        why: &str,
    ) -> Result<Option<PauseId>, Refusal> {
        let call = HeldCall {
            subject: Subject::Program,
            breakpoint: breakpoint.map(|one| one.id),
            hit: breakpoint.map(PauseHit::of),
            why: why.to_owned(),
            root: self.workspace.root.clone(),
            agent: program.language.clone(),
            session: program.session.clone(),
            iteration: stop.call,
            tool: stop.function.to_owned(),
            call: stop.key.map_or_else(
                || {
                    let call = stop.call.unwrap_or_default();
                    format!("{}/{call}/{}", stop.thread, now())
                },
                call_of,
            ),
            moment: stop.moment,
            input: stop.args.to_string(),
            cwd: Some(program.cwd.clone().into()),
            files: stop
                .stack
                .last()
                .map(|frame| below(&self.workspace.root, &frame.path))
                .into_iter()
                .collect(),
            can: stop.can.to_vec(),
            agent_process: program.process_id,
            ..HeldCall::default()
        };
        let at = ProgramPause {
            process: program.process,
            call: stop.call,
            stack: stop.stack,
        };
        let trigger = breakpoint.map(|one| hit(one, program, stop, why));
        let once = breakpoint.is_some_and(|one| one.once);
        let held = control
            .programs()
            .hold(&call, &at, trigger.as_ref(), once)?;
        Ok(held.map(|hold| {
            let id = hold.id;
            locked(&self.state).holds.insert(id, hold);
            id
        }))
    }
}

/// The document that conditions and log texts see.
fn document(program: &Connected, stop: &StopPoint<'_>) -> Value {
    json!({
        "function": stop.function,
        "args": stop.args,
        "at": if stop.moment == CallMoment::Before { "before" } else { "after" },
        "thread": stop.thread,
        "language": program.language,
        "cwd": program.cwd,
    })
}

/// A program's call, as breakpoints are compared with it.
struct ProgramCall<'a> {
    control: &'a Control,
    program: &'a Connected,
    stop: &'a StopPoint<'a>,
}

impl CheckedCall for ProgramCall<'_> {
    fn compare(&mut self, breakpoint: &Breakpoint) -> backstitch_core::Result<Match> {
        let facts = FunctionFacts {
            agent: &self.program.language,
            session: &self.program.session,
            thread: self.stop.thread,
            function: self.stop.function,
            moment: self.stop.moment,
            failed: self.stop.failed,
        };
        Ok(compare_function(breakpoint, &facts))
    }

    fn condition(&mut self, jq: &str) -> Result<bool, String> {
        let outputs =
            condition::outputs(jq, &document(self.program, self.stop), CONDITION_TIMEOUT)?;
        let first = outputs.first().map(String::as_str);
        Ok(!matches!(first, None | Some("null" | "false")))
    }

    fn count(&mut self, breakpoint: BreakpointId) -> backstitch_core::Result<Option<i64>> {
        self.control.breakpoints().count_hit(breakpoint)
    }

    fn problem(&mut self, breakpoint: BreakpointId, what: &str) {
        // the call matters more than the note
        let _ = self.control.breakpoints().note_problem(breakpoint, what);
    }

    /// A program has no model that a denial could be told.
    fn can_be_denied(&self) -> bool {
        false
    }
}

impl ProgramCall<'_> {
    /// Records the trigger of a log point, with its text.
    fn log(&mut self, breakpoint: &Breakpoint, why: &str) -> backstitch_core::Result<()> {
        let text = match &breakpoint.message {
            Some(template) => self.log_text(breakpoint.id, template),
            None => why.to_owned(),
        };
        let hit = Hit {
            text: Some(text),
            ..hit(breakpoint, self.program, self.stop, why)
        };
        self.control.hits().record_only(&hit, breakpoint.once)?;
        Ok(())
    }

    /// The text of a log point with its values. One that is missing is noted, and its jq stands in the text.
    fn log_text(&mut self, breakpoint: BreakpointId, template: &str) -> String {
        match condition::render_with(template, document(self.program, self.stop)) {
            Ok(rendered) => {
                if let Some(problem) = rendered.problem {
                    self.problem(breakpoint, &problem);
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

fn hit(breakpoint: &Breakpoint, program: &Connected, stop: &StopPoint<'_>, why: &str) -> Hit {
    Hit {
        id: 0,
        breakpoint: breakpoint.id,
        kind: breakpoint.spec.kind().to_owned(),
        action: breakpoint.action,
        pause: None,
        time: now(),
        agent: program.language.clone(),
        session: program.session.clone(),
        subagent: None,
        turn: None,
        iteration: stop.call,
        tool: stop.function.to_owned(),
        call: None,
        why: why.to_owned(),
        text: None,
        acted: true,
    }
}
