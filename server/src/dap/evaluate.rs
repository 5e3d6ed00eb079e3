//! Answers that need the job: lines of the console, expressions, and new values.

use backstitch_job::session::{JobSession, value_text};
use serde_json::{Value, json};

use super::shared::SharedJob;
use crate::jobs::launch::announcement::added_lines;
use crate::jobs::words::{StepAnswer, execute};

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
    },
    Set(NewValue),
}

/// A new value of a variable.
#[derive(Debug)]
pub struct NewValue {
    pub request: i64,
    pub command: &'static str,
    /// The context, and the keys to its part.
    pub scope: String,
    pub keys: Vec<String>,
    pub name: String,
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
    let (request, command, (result, answered)) = match asked {
        JobQuestion::Line { request, text } => (*request, "evaluate", line(session, shared, text)),
        JobQuestion::Expression { request, text } => {
            let result = expression(session, shared, text);
            (*request, "evaluate", (result, AfterAnswer::Stays))
        }
        JobQuestion::Set(new) => {
            let set = set(session, new);
            let result = set.map(|()| {
                let shown = session.job().mask(&new.value);
                json!({"value": shown, "variablesReference": 0})
            });
            (new.request, new.command, (result, AfterAnswer::Stays))
        }
    };
    let reply = JobAnswer {
        request,
        command,
        result: result.map_err(|reason| session.job().mask(&reason)),
    };
    (reply, answered)
}

fn expression(session: &mut JobSession, shared: &SharedJob, text: &str) -> Result<Value, String> {
    let value = session.evaluate(text)?;
    // a list or an object can be opened
    let parts = session.evaluate(&format!("toJSON({})", inner(text)));
    let parts = parts.map(|parts| session.job().mask(&value_text(&parts)));
    let parts: Option<Value> = parts
        .ok()
        .and_then(|parts| serde_json::from_str(&parts).ok());
    let parts = parts.filter(|parts| parts.is_object() || parts.is_array());
    let reference = parts.map_or(0, |parts| shared.variables().result(parts).1);
    let shown = session.job().mask(&value_text(&value));
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

/// An expression without `${{ }}`.
fn inner(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("${{");
    inner
        .and_then(|inner| inner.strip_suffix("}}"))
        .unwrap_or(text)
}

fn set(session: &mut JobSession, new: &NewValue) -> Result<(), String> {
    match (new.scope.as_str(), new.keys.as_slice()) {
        ("env", []) => session.set_variable(&new.name, &new.value),
        ("steps", [step, outputs]) if outputs == "outputs" => {
            session.set_output(step, &new.name, &new.value)
        }
        (scope, _) => Err(format!(
            "{scope} {} is read-only: variables of env and outputs of steps can be set.",
            new.name
        )),
    }
}
