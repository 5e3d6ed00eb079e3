//! The actions on held calls that the command line and the language server share.

use backstitch_core::control::{
    Ability, CallMoment, Control, Decided, Pause, PauseDecision, StepUntil,
};
use backstitch_core::model::{NodeId, OpId};
use backstitch_core::restore::{Goal, OnConflict, Request};
use backstitch_core::{Engine, Error, LogFilter, Result};

use backstitch_protocol::PredictResult;
use serde_json::Value;

use super::predict::read_disk;
use super::{details, words};
use crate::render;

/// Returns the call at which the next stop is: `over`, `into`, `out`, `file` or `turn`. None: there is no such step.
pub fn step_until(pause: &Pause, how: &str) -> Option<StepUntil> {
    let call = &pause.call;
    Some(match how {
        "over" => StepUntil::Over {
            thread: call.subagent.clone(),
        },
        "into" => StepUntil::Into,
        "out" if call.subagent.is_none() => StepUntil::Turn { turn: call.turn },
        "out" => StepUntil::Out { turn: call.turn },
        "file" => StepUntil::File {
            paths: call.files.clone(),
        },
        "turn" => StepUntil::Turn { turn: call.turn },
        _ => return None,
    })
}

/// Takes out the last `steps` steps of the held call's session, as a rewind does, and tells the agent. Nothing changes on a
/// conflict, or if another decision was first.
pub fn back(
    engine: &mut Engine,
    control: &Control,
    pause: &Pause,
    steps: usize,
    on_conflict: OnConflict,
    face: &str,
) -> Result<Decided> {
    // no step is taken out for a call that gets no answer
    if !pause.state.is_open() || pause.decision.is_some() {
        return Err(Error::Usage(format!(
            "{} is decided already, and no step was taken out; `backstitch rewind` takes steps out without a held call",
            pause.id
        )));
    }
    if !pause.call.can.contains(&Ability::Back) {
        return Err(Error::Usage(format!(
            "{} cannot be told of steps that were taken out; `backstitch rewind` takes them out",
            pause.call.agent
        )));
    }
    let in_force = in_force(engine, &pause.call.session)?;
    let taken: Vec<NodeId> = in_force.iter().copied().take(steps).collect();
    if steps == 0 {
        return Err(Error::Usage("`back` takes at least 1 step out".to_owned()));
    }
    if taken.is_empty() {
        return Err(Error::Usage(
            "this session has no step that can be taken out".to_owned(),
        ));
    }
    if taken.len() < steps {
        return Err(Error::Usage(format!(
            "this session has only {} that can be taken out",
            crate::render::plural(taken.len(), "step", "steps")
        )));
    }
    let request = Request {
        goal: Goal::Revert(taken),
        session: Some(pause.call.session.clone()),
        on_conflict,
        ..Request::new(Goal::Redo)
    };
    let applied = engine.restore_mut().apply(&request, None, &mut |_| {})?;
    // calls that ran at the same time go together
    let left = match self::in_force(engine, &pause.call.session) {
        Ok(left) => left,
        Err(error) => return Err(put_back(engine, applied.operation, error)),
    };
    let gone = in_force.iter().rev().filter(|node| !left.contains(node));
    let names: Vec<String> = gone.map(ToString::to_string).collect();
    let decision = PauseDecision::Back {
        message: words::back(
            names.len(),
            &names.join(", "),
            pause.call.moment == CallMoment::After,
        ),
    };
    control
        .decide(pause.id, &decision, None, face)
        .map_err(|error| put_back(engine, applied.operation, error))
}

/// Returns the steps of a session that are in force, the newest first.
fn in_force(engine: &Engine, session: &str) -> Result<Vec<NodeId>> {
    let entries = engine.history().log(&LogFilter {
        session: Some(session.to_owned()),
        kind: Some(backstitch_core::model::Kind::Step),
        ..LogFilter::default()
    })?;
    let in_force = entries.iter().filter(|entry| !entry.taken_out);
    Ok(in_force.map(|entry| entry.node.id).collect())
}

/// Puts steps back whose removal was no decision any more. `why` is the refusal of it.
fn put_back(engine: &mut Engine, operation: Option<OpId>, why: Error) -> Error {
    let Some(operation) = operation else {
        return why;
    };
    let request = Request::new(Goal::Undo(Some(operation)));
    match engine.restore_mut().apply(&request, None, &mut |_| {}) {
        Ok(_) => Error::Usage(format!("{why}; the steps that were taken out are put back")),
        Err(error) => Error::Usage(format!(
            "{why}; the steps that were taken out cannot be put back ({error}): see `backstitch undo {operation}`"
        )),
    }
}

/// The reason why a changed input is not sent, and the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    pub reason: String,
    pub hint: &'static str,
}

/// Returns the decision to go on with this input, with its prediction. One that the tool would refuse, or that lacks fields of
/// the call's own or has them in another type, is a problem; the input as it was is no change. Programs check theirs.
pub fn changed(
    pause: &Pause,
    input: Value,
) -> std::result::Result<(PauseDecision, PredictResult), InputProblem> {
    let own = details::input(pause);
    let shown = details::predicted(pause, input, &read_disk);
    if shown.input == own {
        return Ok((PauseDecision::Continue, shown));
    }
    let decision = PauseDecision::Change {
        input: shown.input.clone(),
    };
    if pause.is_program {
        return Ok((decision, shown));
    }
    let problem = |reason: String, hint| Err(InputProblem { reason, hint });
    if !shown.input.is_object() {
        return problem("the input of a tool is a JSON object".to_owned(), WHOLE);
    }
    let left_out = details::left_out(pause, &shown.input);
    if !left_out.is_empty() {
        let fields = left_out.join("`, `");
        return problem(
            format!(
                "this input has no `{fields}`, which the call has: the agent takes it as a whole"
            ),
            WHOLE,
        );
    }
    let kind = |value: &Value| std::mem::discriminant(value);
    let other = own.as_object().into_iter().flatten().find(|(name, value)| {
        !value.is_null()
            && shown
                .input
                .get(name)
                .is_some_and(|new| kind(new) != kind(value))
    });
    if let Some((name, _)) = other {
        let name = render::clean(name);
        return problem(
            format!("`{name}` of this input has another type than that of the call"),
            WHOLE,
        );
    }
    if let Some(file) = shown.predicted.iter().find(|file| file.fails) {
        let why = file.why.as_deref().unwrap_or("it says no more");
        let tool = render::clean(&pause.call.tool);
        return problem(
            format!("{tool} will refuse this input: {}", render::clean(why)),
            "change the input, or add --force; the call stays held",
        );
    }
    Ok((decision, shown))
}

const WHOLE: &str = "`backstitch inspect --json` prints the whole input; --force sends it as it is";
