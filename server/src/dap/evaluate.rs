//! Answers that need the job: lines of the console, expressions, and new values.

use backstitch_job::session::{
    GivenContext, JobSession, StopPlace, evaluate_before, new_terminal_folder, set_given,
    value_text, wait_for_terminal,
};
use backstitch_job::state::StepOutcome;
use serde_json::{Value, json};

use super::changes::{SourceText, changed_files, changes_of, content_of};
use super::shared::SharedJob;
use super::view::{AskedScope, process_values};
use crate::jobs::launch::announcement::added_lines;
use crate::jobs::words::{LineEffect, StepAnswer, effect_of, execute, shell_text};

/// A question of a client, with the number of its request.
#[derive(Debug)]
pub enum JobQuestion {
    /// A line of the console: a word, a shell command, or an expression.
    Line {
        request: i64,
        text: String,
    },
    Expression {
        request: i64,
        text: String,
        /// The checkpoint of a step that has run, in whose contexts it is evaluated.
        point: Option<usize>,
    },
    Set(NewValue),
    Source {
        request: i64,
        source: SourceText,
    },
    /// Files that a step changed: the one before which a checkpoint is, or the last one.
    Changes {
        request: i64,
        point: Option<usize>,
    },
    /// Parts of a scope whose values are not in a view, from `start` on; a count of 0 means all.
    Scope {
        request: i64,
        reference: u32,
        start: usize,
        count: usize,
    },
}

impl JobQuestion {
    /// The number of the request, and the name of its answer.
    pub fn request(&self) -> (i64, &'static str) {
        match self {
            JobQuestion::Line { request, .. } | JobQuestion::Expression { request, .. } => {
                (*request, "evaluate")
            }
            JobQuestion::Set(new) => (new.request, new.command),
            JobQuestion::Source { request, .. } => (*request, "source"),
            JobQuestion::Changes { request, .. } => (*request, "backstitchChanges"),
            JobQuestion::Scope { request, .. } => (*request, "variables"),
        }
    }

    /// The effect of the answer on the place of the job.
    pub fn effect(&self) -> LineEffect {
        match self {
            JobQuestion::Line { text, .. } => effect_of(text.trim()),
            JobQuestion::Set(_) => LineEffect::Stays,
            JobQuestion::Expression { .. }
            | JobQuestion::Source { .. }
            | JobQuestion::Changes { .. }
            | JobQuestion::Scope { .. } => LineEffect::Reads,
        }
    }

    /// True if the answer may change the job.
    pub fn may_change(&self) -> bool {
        self.effect() != LineEffect::Reads
    }
}

/// A new value of a variable.
#[derive(Debug)]
pub struct NewValue {
    pub request: i64,
    pub command: &'static str,
    /// The context, the keys to a part of it, and the name there.
    pub keys: Vec<String>,
    pub value: String,
}

/// The state of the job after an answer.
#[derive(Debug)]
pub enum AfterAnswer {
    Stays,
    /// It stands elsewhere, or at the same place again.
    Moved,
    Quit,
}

/// The answer to a question, which is sent once the job stands again.
#[derive(Debug)]
pub struct JobAnswer {
    pub request: i64,
    pub command: &'static str,
    /// A body, or a sentence. None of them has secrets.
    pub result: Result<Value, String>,
}

/// Answers a question.
pub fn answer(
    session: &mut JobSession,
    shared: &SharedJob,
    asked: &JobQuestion,
) -> (JobAnswer, AfterAnswer) {
    let (request, command) = asked.request();
    let stays = |result| (result, AfterAnswer::Stays);
    let (result, answered) = match asked {
        JobQuestion::Line { text, .. } => shared.asking(request, || line(session, shared, text)),
        JobQuestion::Expression { text, point, .. } => {
            stays(expression(session, shared, text, *point))
        }
        JobQuestion::Set(new) => {
            let was = session.stop().clone();
            let set = set(session, new);
            let shown = session.job().mask(&new.value);
            let result = set.map(|()| json!({"value": shown, "variablesReference": 0}));
            let has_moved = matches!(was, StopPlace::Failed(..))
                && !matches!(session.stop(), StopPlace::Failed(..));
            let answered = if has_moved {
                AfterAnswer::Moved
            } else {
                AfterAnswer::Stays
            };
            (result, answered)
        }
        JobQuestion::Source { source, .. } => {
            let content = content_of(session, source);
            stays(content.map(|content| json!({"content": content})))
        }
        JobQuestion::Changes { point, .. } => {
            let number = |source| shared.source_number(source);
            stays(changes_of(session, *point, number))
        }
        JobQuestion::Scope {
            reference,
            start,
            count,
            ..
        } => stays(scope(session, shared, *reference, *start, *count)),
    };
    let reply = JobAnswer {
        request,
        command,
        result: result.map_err(|reason| session.job().mask(&reason)),
    };
    (reply, answered)
}

/// The parts of a scope whose values the job gives.
fn scope(
    session: &JobSession,
    shared: &SharedJob,
    reference: u32,
    start: usize,
    count: usize,
) -> Result<Value, String> {
    let asked = shared.variables().asked(reference);
    if let Some(asked) = asked {
        let values = match asked {
            AskedScope::Changes(point) => changed_files(session, point)?,
            AskedScope::Processes => process_values(session),
        };
        shared.variables().give(reference, values);
    }
    let parts = shared.variables().parts(reference, start, count);
    let parts = parts.ok_or_else(|| format!("The reference {reference} is of an earlier stop."))?;
    Ok(json!({"variables": parts}))
}

/// `point`: the checkpoint of a step that has run, in whose contexts it is evaluated.
fn expression(
    session: &mut JobSession,
    shared: &SharedJob,
    text: &str,
    point: Option<usize>,
) -> Result<Value, String> {
    let mut evaluate = |text: &str| match point {
        Some(place) => evaluate_before(session, place, text),
        None => session.evaluate(text),
    };
    let value = evaluate(text)?;
    // a list or an object can be opened
    let parts = evaluate(&format!("toJSON({})", inner(text)));
    let parts = parts.map(|parts| session.job().mask(&value_text(&parts)));
    let parts: Option<Value> = parts
        .ok()
        .and_then(|parts| serde_json::from_str(&parts).ok());
    let parts = parts.filter(|parts| parts.is_object() || parts.is_array());
    // hovers and views show the first line of a value
    let shown = match &parts {
        Some(parts) => parts.to_string(),
        None => session.job().mask(&value_text(&value)),
    };
    let reference = parts.map_or(0, |parts| shared.variables().result(parts).1);
    Ok(json!({"result": shown, "variablesReference": reference}))
}

fn line(
    session: &mut JobSession,
    shared: &SharedJob,
    text: &str,
) -> (Result<Value, String>, AfterAnswer) {
    let mut executed = execute(session, text.trim());
    if let Ok(StepAnswer::Asks(added)) = &executed {
        // the person who types has the console before them
        let added = added.clone();
        let lines = added_lines(&added).join("\n");
        shared.client.say(&session.job().mask(&lines));
        session.agree(&added);
        executed = execute(session, text.trim());
    }
    let body = |said: &str| Ok(json!({"result": said, "variablesReference": 0}));
    match executed {
        Ok(StepAnswer::OpensShell) => {
            let ended = terminal_shell(session, shared);
            let ended = ended.and_then(|said| body(&session.job().mask(&said)));
            (ended, AfterAnswer::Stays)
        }
        Ok(StepAnswer::Ran { said, .. }) if said.is_empty() => (body("exit 0"), AfterAnswer::Stays),
        // the client has the output of a command
        Ok(StepAnswer::Said(said) | StepAnswer::Ran { said, .. }) => {
            (body(&session.job().mask(&said)), AfterAnswer::Stays)
        }
        Ok(StepAnswer::Moved(said)) => {
            let said = session.job().mask(&said.unwrap_or_default());
            (body(&said), AfterAnswer::Moved)
        }
        Ok(StepAnswer::Quit) => (body(""), AfterAnswer::Quit),
        Ok(StepAnswer::Asks(_)) => {
            let reason = "The workflow has changed once more: give the word again.";
            (Err(reason.to_owned()), AfterAnswer::Stays)
        }
        Err(reason) => (Err(reason), AfterAnswer::Stays),
    }
}

/// Waits for a shell on a terminal of the client. Returns the names of variables that it has set, in words.
fn terminal_shell(session: &mut JobSession, shared: &SharedJob) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = new_terminal_folder(session);
    let program = [own.as_path(), "job".as_ref(), "shell".as_ref(), &folder];
    let program = program.map(|part| part.to_string_lossy().into_owned());
    let name = &session.job().job_name().name;
    let title = session.job().mask(&format!("{name} (job)"));
    let directory = &session.job().place().workspace;
    if !shared.client.run_in_terminal(&title, directory, &program) {
        return Err("This client opens no terminals: write !COMMAND.".to_owned());
    }
    let end = wait_for_terminal(session)?;
    Ok(match shell_text(&end) {
        said if said.is_empty() => "Nothing is set.".to_owned(),
        said => said,
    })
}

/// An expression without `${{ }}`.
fn inner(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("${{");
    inner
        .and_then(|inner| inner.strip_suffix("}}"))
        .unwrap_or(text)
}

fn set(session: &mut JobSession, new: &NewValue) -> Result<(), String> {
    let keys: Vec<&str> = new.keys.iter().map(String::as_str).collect();
    match keys.as_slice() {
        ["env", name] => session.set_variable(name, &new.value),
        ["steps", step, "outputs", name] => session.set_output(step, name, &new.value),
        ["steps", step, "outcome" | "conclusion"] => {
            match session.stop() {
                StopPlace::Failed(name, _) if name.id == *step => {}
                _ => {
                    return Err(format!(
                        "The job does not stand at a failure of {step}: the result of a step can be set there alone."
                    ));
                }
            }
            session.set_outcome(outcome_of(&new.value)?)
        }
        ["vars", name] => set_given(session, GivenContext::Vars, name, &new.value),
        ["inputs", name] => set_given(session, GivenContext::Inputs, name, &new.value),
        ["PATH", place] => set_given(session, GivenContext::Path, place, &new.value),
        ["job", "status"] => session.set_outcome(outcome_of(&new.value)?),
        keys => Err(format!(
            "{} is read-only. Those of env, vars, inputs and PATH can be set, outputs of steps, and the result of a step that failed.",
            keys.join(".")
        )),
    }
}

fn outcome_of(text: &str) -> Result<StepOutcome, String> {
    StepOutcome::parse(text)
        .ok_or_else(|| format!("{text}: write success, failure, cancelled or skipped."))
}
