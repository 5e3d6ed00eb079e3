//! The program's side of pauses: its calls, its pauses, and the evaluations that it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use backstitch_control::{
    Ability, Breakpoint, BreakpointAction, CallMoment, Control, EvalAnswer, EvalId, FunctionFacts,
    HeldCall, Hit, Hold, NewFunctionCall, ObjectValue, Pause, PauseDecision, PauseHit, PauseId,
    PauseOutcome, PauseState, ProcessId, ProgramHello, ProgramPause, StackFrame, Subject,
    ancestors, now, stops_function,
};
use backstitch_core::Workspace;
use backstitch_core::config::Config;
use base64::Engine as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::rpc::{self, Message, Refusal};
use crate::control::silence::{SilenceLimits, SilentState, age};
use crate::json_text;
use crate::render;
use backstitch_control::condition;

/// Maximum time of a poll.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Time of a condition.
const CONDITION: Duration = Duration::from_millis(100);

pub struct Bridge {
    shared: Arc<BridgeShared>,
}

/// Shared by the threads that answer polls.
struct BridgeShared {
    workspace: Workspace,
    control: Mutex<Control>,
    state: Mutex<BridgeState>,
}

#[derive(Default)]
struct BridgeState {
    program: Option<Connected>,
    holds: BTreeMap<PauseId, Hold>,
    /// Sessions whose inputs this program has evaluated, by pause.
    served: BTreeMap<PauseId, BTreeSet<String>>,
    /// Number of decisions that the program refused. Polls of before count no more: the program polls anew.
    refusals: u64,
}

#[derive(Clone)]
struct Connected {
    process: i64,
    language: String,
    /// Names the program in scopes and lists: `<pid>-<start>`.
    session: String,
    /// The program's process, if this bridge runs inside it. A number that a program only claims is nobody's.
    process_id: Option<ProcessId>,
    cwd: String,
}

#[derive(Deserialize)]
struct CallBegin {
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
struct CallEnd {
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
struct PauseOpen {
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Poll {
    pause: String,
    #[serde(default)]
    wait_ms: u64,
    /// The program says if it could evaluate the expressions of a decision, which is open until then.
    #[serde(default)]
    confirms: bool,
}

#[derive(Deserialize)]
struct PauseRefuse {
    pause: String,
    error: String,
}

#[derive(Deserialize)]
struct PauseParams {
    pause: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EvalResult {
    eval_id: i64,
    #[serde(default)]
    result: String,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    cid: Option<String>,
    /// The bytes of the value in base64.
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    view: Value,
}

/// A place at which a program may stand still.
struct StopPlace<'a> {
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

type Outcome = Result<Value, Refusal>;

fn wrong(reason: impl std::fmt::Display) -> Refusal {
    Refusal {
        code: rpc::WRONG_PARAMS,
        message: reason.to_string(),
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(wrong)
}

/// Returns a path relative to the root, if it is below it.
fn below(root: &Path, path: &str) -> String {
    let relative = Path::new(path).strip_prefix(root);
    relative.map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

fn pause_id(name: &str) -> Result<PauseId, Refusal> {
    let number = name.strip_prefix('p').unwrap_or(name).parse();
    number.map(PauseId).map_err(|_| Refusal {
        code: rpc::UNKNOWN,
        message: format!("there is no pause `{name}`"),
    })
}

/// Returns the process of this number if it is an ancestor of this one, and is not the first of the system.
fn above(pid: u32) -> Option<ProcessId> {
    let mut all = ancestors(std::process::id()).into_iter();
    all.find(|process| process.pid == pid && pid > 1)
}

/// The stored name of a request.
fn call_of(key: &str) -> String {
    format!("key {key}")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    pub fn new(workspace: Workspace, control: Control) -> Self {
        Self {
            shared: Arc::new(BridgeShared {
                workspace,
                control: Mutex::new(control),
                state: Mutex::default(),
            }),
        }
    }

    /// Handles one message. Polls wait on threads of their own.
    pub fn take(&self, line: &[u8]) {
        let read = serde_json::from_slice(line);
        // names of files and texts of a program need not be Unicode
        let read = read.or_else(|_| serde_json::from_str(&json_text::strict(line)));
        let message: Message = match read {
            Ok(message) => message,
            Err(error) => {
                let code = if error.is_data() {
                    rpc::NOT_A_REQUEST
                } else {
                    rpc::NOT_JSON
                };
                return rpc::refuse(None, code, &error.to_string());
            }
        };
        let shared = self.shared.clone();
        // in the order of the messages: a refusal ends the polls before it, and none after it
        let refusals = locked(&shared.state).refusals;
        if matches!(&*message.method, "pause/poll" | "repl/poll") {
            std::thread::spawn(move || shared.answer(message, refusals));
        } else {
            shared.answer(message, refusals);
        }
    }

    /// The program is gone: its pauses are over.
    pub fn end(&self) {
        let control = locked(&self.shared.control);
        let mut state = locked(&self.shared.state);
        for (id, _) in std::mem::take(&mut state.holds) {
            let _ = control
                .pauses()
                .end(id, PauseState::Lost, Some(PauseOutcome::Lost));
        }
        if let Some(program) = &state.program {
            let _ = control.programs().ended(program.process, &program.session);
            // a workspace may have programs, and no agent whose hooks do it
            let config = Config::of(&self.shared.workspace);
            let _ = control.gc_if_due(Some(config.keep_days()), config.most_bytes());
        }
    }
}

impl BridgeShared {
    /// `refusals`: their number when the message came.
    fn answer(&self, message: Message, refusals: u64) {
        let outcome = self.handle(&message.method, message.params, refusals);
        let Some(id) = message.id else {
            return;
        };
        match outcome {
            Ok(result) => rpc::answer(&id, &result),
            Err(refusal) => rpc::refuse(Some(&id), refusal.code, &refusal.message),
        }
    }

    fn handle(&self, method: &str, params: Value, refusals: u64) -> Outcome {
        match method {
            "hello" => self.hello(&read(params)?),
            "call/begin" => self.call_begin(&read(params)?),
            "call/end" => self.call_end(&read(params)?),
            "pause/open" => self.pause_open(&read(params)?),
            "pause/take" => self.pause_take(&read(params)?),
            "pause/confirm" => self.pause_confirm(&read(params)?),
            "pause/refuse" => self.pause_refuse(&read(params)?),
            "pause/withdraw" => self.pause_withdraw(&read(params)?),
            "pause/poll" => self.pause_poll(&read(params)?),
            "repl/poll" => self.repl_poll(&read(params)?, refusals),
            "repl/result" => self.repl_result(read(params)?),
            _ => Err(Refusal {
                code: rpc::NO_METHOD,
                message: format!("there is no method `{method}`"),
            }),
        }
    }

    fn program(&self) -> Result<Connected, Refusal> {
        let state = locked(&self.state);
        state.program.clone().ok_or_else(|| Refusal {
            code: rpc::NOT_A_REQUEST,
            message: "the first message is `hello`".to_owned(),
        })
    }

    fn hello(&self, hello: &ProgramHello) -> Outcome {
        let control = locked(&self.control);
        let process = control.programs().connect(hello)?;
        let functions: Vec<String> = control
            .breakpoints()
            .all()?
            .into_iter()
            .filter(|one| one.enabled && one.spec.kind() == "function")
            .map(|one| one.spec.summary())
            .collect();
        locked(&self.state).program = Some(Connected {
            process,
            language: hello.language.clone(),
            session: format!(
                "{}-{}.{:06}",
                hello.pid,
                hello.started / 1_000_000,
                hello.started % 1_000_000
            ),
            process_id: above(hello.pid),
            cwd: hello.cwd.clone(),
        });
        let config = Config::of(&self.workspace);
        let timeout = u64::try_from(config.eval_timeout().as_millis()).unwrap_or(u64::MAX);
        Ok(json!({
            "process": process,
            "evalTimeoutMs": timeout,
            "maxObject": config.max_object(),
            "functions": functions,
        }))
    }

    fn call_begin(&self, begin: &CallBegin) -> Outcome {
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
        let stop = StopPlace {
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
        let paused = self.stop(&program, &stop)?;
        Ok(json!({ "call": call, "pause": paused.map(|id| id.to_string()) }))
    }

    fn call_end(&self, end: &CallEnd) -> Outcome {
        let program = self.program()?;
        let result = end.result.to_string();
        locked(&self.control)
            .programs()
            .end_call(end.call, &end.outcome, Some(&result))?;
        if !end.ran || end.outcome == "skipped" {
            return Ok(json!({ "pause": null }));
        }
        let failed = end.outcome == "raised";
        let stop = StopPlace {
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
        let paused = self.stop(&program, &stop)?;
        Ok(json!({ "pause": paused.map(|id| id.to_string()) }))
    }

    fn pause_open(&self, open: &PauseOpen) -> Outcome {
        let program = self.program()?;
        let label = render::shortened(&open.label, LONGEST_LABEL);
        let stop = StopPlace {
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
        let paused = self.stop(&program, &stop)?;
        Ok(json!({ "pause": paused.map(|id| id.to_string()) }))
    }

    /// Holds the program if it asks for it, or a breakpoint says so.
    fn stop(&self, program: &Connected, stop: &StopPlace<'_>) -> Result<Option<PauseId>, Refusal> {
        if let Some(id) = self.opened_before(program, stop.key)? {
            return Ok(Some(id));
        }
        let control = locked(&self.control);
        if let Some(why) = &stop.why {
            return self.hold(&control, program, stop, None, why);
        }
        let facts = FunctionFacts {
            agent: &program.language,
            session: &program.session,
            thread: stop.thread,
            function: stop.function,
            moment: stop.moment,
            failed: stop.failed,
        };
        for breakpoint in control.breakpoints().all()? {
            let Some(why) = stops_function(&breakpoint, &facts) else {
                continue;
            };
            if !Self::holds(&control, &breakpoint, program, stop) {
                continue;
            }
            let Some(hits) = control.breakpoints().count_hit(breakpoint.id)? else {
                continue;
            };
            if breakpoint.hits_when.is_some_and(|when| !when.acts_at(hits)) {
                continue;
            }
            match breakpoint.action {
                BreakpointAction::Pause => {
                    let held = self.hold(&control, program, stop, Some(&breakpoint), &why)?;
                    if held.is_some() {
                        return Ok(held);
                    }
                }
                // a denial is refused when it is made
                BreakpointAction::Log | BreakpointAction::Deny => {
                    let hit = hit(&breakpoint, program, stop, &why);
                    let text = match &breakpoint.message {
                        Some(template) => log_text(&control, &breakpoint, template, program, stop),
                        None => why,
                    };
                    let hit = Hit {
                        text: Some(text),
                        ..hit
                    };
                    control.hits().record_only(&hit, breakpoint.once)?;
                }
            }
        }
        Ok(None)
    }

    /// True if the condition of a breakpoint holds. One that fails counts as met, and is noted.
    fn holds(
        control: &Control,
        breakpoint: &Breakpoint,
        program: &Connected,
        stop: &StopPlace<'_>,
    ) -> bool {
        let Some(jq) = &breakpoint.condition else {
            return true;
        };
        let document = document(program, stop);
        match condition::outputs(jq, &document, CONDITION) {
            Ok(outputs) => !matches!(
                outputs.first().map(String::as_str),
                None | Some("null" | "false")
            ),
            Err(problem) => {
                let _ = control.breakpoints().note_problem(breakpoint.id, &problem);
                true
            }
        }
    }

    fn hold(
        &self,
        control: &Control,
        program: &Connected,
        stop: &StopPlace<'_>,
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

    /// Returns the pause that a bridge opened for the same request before it died, and holds it from here on.
    fn opened_before(
        &self,
        program: &Connected,
        key: Option<&str>,
    ) -> Result<Option<PauseId>, Refusal> {
        let Some(key) = key else {
            return Ok(None);
        };
        let control = locked(&self.control);
        let found = control
            .programs()
            .pause_of((&program.language, &program.session), &call_of(key))?;
        let Some(id) = found else {
            return Ok(None);
        };
        if !self.is_own(id)
            && let Some((_, hold)) = control.programs().take_over(id)?
        {
            locked(&self.state).holds.insert(id, hold);
        }
        Ok(Some(id))
    }

    fn is_own(&self, id: PauseId) -> bool {
        locked(&self.state).holds.contains_key(&id)
    }

    /// Takes a pause over from a bridge that died.
    fn pause_take(&self, take: &PauseParams) -> Outcome {
        let id = self.own_pause(&take.pause)?.id;
        if self.is_own(id) {
            let held = format!("{:?}", PauseState::Held);
            return Ok(json!({ "pause": id.to_string(), "state": held }));
        }
        let control = locked(&self.control);
        let (pause, hold) = control
            .programs()
            .take_over(id)?
            .ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?;
        locked(&self.state).holds.insert(id, hold);
        Ok(json!({ "pause": id.to_string(), "state": format!("{:?}", pause.state) }))
    }

    /// The program has evaluated the expressions of a decision, and goes on.
    fn pause_confirm(&self, confirmed: &PauseParams) -> Outcome {
        let pause = self.own_pause(&confirmed.pause)?;
        self.keep(pause.id)?;
        if let Some(decision) = &pause.decision {
            self.answered(pause.id, decision.outcome())?;
        }
        Ok(json!({}))
    }

    /// The program could not evaluate the expressions of a decision, and is held as before.
    fn pause_refuse(&self, refused: &PauseRefuse) -> Outcome {
        let pause = self.own_pause(&refused.pause)?;
        self.keep(pause.id)?;
        locked(&self.state).refusals += 1;
        let is_held = locked(&self.control)
            .programs()
            .refuse_decision(pause.id, &refused.error)?;
        Ok(json!({ "held": is_held }))
    }

    /// Holds a pause that another bridge had when it died.
    fn keep(&self, id: PauseId) -> Result<(), Refusal> {
        if !self.is_own(id)
            && let Some((_, hold)) = locked(&self.control).programs().take_over(id)?
        {
            locked(&self.state).holds.insert(id, hold);
        }
        Ok(())
    }

    /// Finds a pause of this program.
    fn own_pause(&self, name: &str) -> Result<Pause, Refusal> {
        let program = self.program()?;
        let id = pause_id(name)?;
        let is_its_own = |there: &Pause| {
            (&there.call.agent, &there.call.session) == (&program.language, &program.session)
        };
        let pause = locked(&self.control).pauses().get(id)?.filter(is_its_own);
        Ok(pause.ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?)
    }

    /// Ends a pause that the program needs no more: its task was cancelled.
    fn pause_withdraw(&self, withdrawn: &PauseParams) -> Outcome {
        let id = self.own_pause(&withdrawn.pause)?.id;
        let control = locked(&self.control);
        let ended = control
            .pauses()
            .end(id, PauseState::Ended, Some(PauseOutcome::Ended))?;
        drop(control);
        self.forget(id);
        Ok(json!({ "withdrawn": ended }))
    }

    /// Waits for the decision on a pause.
    fn pause_poll(&self, poll: &Poll) -> Outcome {
        let id = self.own_pause(&poll.pause)?.id;
        let control = Control::open_for_hook(&self.workspace)?;
        let watch = control.watch();
        let until = Instant::now() + Duration::from_millis(poll.wait_ms).min(MAX_WAIT);
        let mut limits = None;
        loop {
            let pause = control
                .pauses()
                .get(id)?
                .ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?;
            if let Some(decision) = &pause.decision {
                if !(poll.confirms && decision.is_evaluated()) {
                    self.answered(id, decision.outcome())?;
                }
                return Ok(json!({ "action": action(decision) }));
            }
            if pause.state != PauseState::Held {
                self.forget(id);
                return Ok(json!({ "action": { "kind": "continue" } }));
            }
            let limits = limits.get_or_insert_with(|| self.limits(&control, &pause));
            let next = match limits.look(&control, id, &pause.call)? {
                SilentState::Held { until } => until,
                SilentState::Decided | SilentState::Parked { .. } => continue,
            };
            if Instant::now() >= until {
                return Ok(json!({ "action": null }));
            }
            watch.wait_as_holder(next.into_iter().chain([until]).min());
        }
    }

    /// The limits of a pause, with the rule of its breakpoint.
    fn limits(&self, control: &Control, pause: &Pause) -> SilenceLimits {
        let breakpoints = control.breakpoints().all().unwrap_or_default();
        let own = breakpoints
            .iter()
            .find(|one| Some(one.id) == pause.call.breakpoint);
        let unattended = own.and_then(|one| one.unattended);
        // another bridge may have held it before
        let now = Instant::now();
        let began = now.checked_sub(age(pause.made)).unwrap_or(now);
        SilenceLimits::new(&self.workspace, unattended, began, None)
    }

    /// Notes that the program has the decision.
    fn answered(&self, id: PauseId, outcome: PauseOutcome) -> Result<(), Refusal> {
        let control = locked(&self.control);
        control
            .pauses()
            .end(id, PauseState::Answered, Some(outcome))?;
        drop(control);
        self.forget(id);
        Ok(())
    }

    fn forget(&self, id: PauseId) {
        let mut state = locked(&self.state);
        state.holds.remove(&id);
        if let Some(sessions) = state.served.remove(&id) {
            for session in sessions {
                rpc::notify("repl/closed", &json!({ "session": session }));
            }
        }
    }

    /// Waits for an input to evaluate.
    fn repl_poll(&self, poll: &Poll, at_begin: u64) -> Outcome {
        let id = self.own_pause(&poll.pause)?.id;
        let control = Control::open_for_hook(&self.workspace)?;
        let watch = control.watch();
        let until = Instant::now() + Duration::from_millis(poll.wait_ms).min(MAX_WAIT);
        let refusals = || locked(&self.state).refusals;
        loop {
            self.tell_closed(&control, id)?;
            let is_held = control
                .pauses()
                .get(id)?
                .is_some_and(|pause| pause.state == PauseState::Held);
            if is_held && let Some(request) = control.repls().take_eval(id)? {
                if refusals() != at_begin {
                    control.repls().untake_evals(id)?;
                    return Ok(json!({ "evalId": null }));
                }
                let mut state = locked(&self.state);
                let served = state.served.entry(id).or_default();
                served.insert(request.session.clone());
                return Ok(json!({
                    "evalId": request.id.0,
                    "pause": id.to_string(),
                    "session": request.session,
                    "expression": request.expression,
                    "timeoutMs": request.timeout,
                }));
            }
            let pause = control
                .pauses()
                .get(id)?
                .ok_or_else(|| backstitch_core::Error::UnknownPause(id.to_string()))?;
            if Instant::now() >= until || pause.state != PauseState::Held || refusals() != at_begin
            {
                return Ok(json!({ "evalId": null }));
            }
            watch.wait_as_holder(Some(until));
        }
    }

    /// Tells the program of sessions that were closed, so that it drops their names.
    fn tell_closed(&self, control: &Control, id: PauseId) -> Result<(), Refusal> {
        let served = locked(&self.state).served.get(&id).cloned();
        for session in served.unwrap_or_default() {
            let is_closed = control
                .repls()
                .get(&session)?
                .is_none_or(|session| session.closed.is_some());
            if is_closed {
                let mut state = locked(&self.state);
                let was_there = state.served.get_mut(&id);
                if was_there.is_some_and(|all| all.remove(&session)) {
                    drop(state);
                    rpc::notify("repl/closed", &json!({ "session": session }));
                }
            }
        }
        Ok(())
    }

    fn repl_result(&self, result: EvalResult) -> Outcome {
        let value = match (result.cid, result.data) {
            (Some(cid), Some(data)) => {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(data)
                    .map_err(|error| wrong(format!("`data` is not base64: {error}")))?;
                let limit = Config::of(&self.workspace).max_object();
                let is_kept = u64::try_from(bytes.len()).is_ok_and(|size| size <= limit);
                is_kept.then(|| ObjectValue {
                    cid,
                    bytes,
                    view: result.view.to_string(),
                })
            }
            _ => None,
        };
        let answer = EvalAnswer {
            result: result.result,
            stdout: result.stdout,
            error: result.error,
            value,
        };
        let control = locked(&self.control);
        let entry = control
            .repls()
            .answer_eval(EvalId(result.eval_id), &answer)?;
        Ok(json!({ "index": entry.map(|entry| entry.number) }))
    }
}

/// The document that conditions and log texts see.
fn document(program: &Connected, stop: &StopPlace<'_>) -> Value {
    json!({
        "function": stop.function,
        "args": stop.args,
        "at": if stop.moment == CallMoment::Before { "before" } else { "after" },
        "thread": stop.thread,
        "language": program.language,
        "cwd": program.cwd,
    })
}

/// The text of a log point with its values. One that is missing is noted, and its jq stands in the text.
fn log_text(
    control: &Control,
    breakpoint: &Breakpoint,
    template: &str,
    program: &Connected,
    stop: &StopPlace<'_>,
) -> String {
    let (text, problem) = match condition::render_with(template, document(program, stop)) {
        Ok(rendered) => (rendered.text, rendered.problem),
        Err(problem) => (template.to_owned(), Some(problem)),
    };
    if let Some(problem) = problem {
        // the text matters more than the note
        let _ = control.breakpoints().note_problem(breakpoint.id, &problem);
    }
    text
}

fn hit(breakpoint: &Breakpoint, program: &Connected, stop: &StopPlace<'_>, why: &str) -> Hit {
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

/// A decision as the program carries it out.
fn action(decision: &PauseDecision) -> Value {
    match decision {
        PauseDecision::Change { input } => json!({ "kind": "modify", "args": input }),
        PauseDecision::Replace { value } => json!({ "kind": "replace", "value": value }),
        PauseDecision::Skip => json!({ "kind": "skip" }),
        PauseDecision::Deny { message } => json!({ "kind": "raise", "error": message }),
        PauseDecision::Stop { message } => {
            json!({ "kind": "raise", "error": message.as_deref().unwrap_or("stopped") })
        }
        PauseDecision::Back { .. } | PauseDecision::Ask | PauseDecision::Continue => {
            json!({ "kind": "continue" })
        }
    }
}
