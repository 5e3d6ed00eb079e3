//! Requests that the thread of the job answers, since they need the job as it stands.

use dapts::{
    CancelArguments, DataBreakpointAccessType, DataBreakpointInfoArguments,
    DataBreakpointInfoResponse, EvaluateArguments, EvaluateArgumentsContext,
    SetExpressionArguments, SetVariableArguments, SourceArguments, VariablesArguments,
    VariablesArgumentsFilter,
};
use serde::Deserialize;

use super::data::{JobData, settable};
use super::evaluate::{JobQuestion, NewValue};
use super::request::{DapBody, DapRequest, body};
use super::server::DapServer;
use super::shared::JobPhase;
use super::view::{JobView, RUNNING_FRAME};
use crate::jobs::words::is_expression;

/// Signs at the beginning of words and commands of the console.
const CONSOLE_SIGNS: [char; 2] = ['!', ':'];

/// Asks the job, or answers with the reason why it is not asked.
pub fn ask(server: &DapServer, request: &DapRequest) {
    let asked = match request.command.as_str() {
        "evaluate" => evaluate(server, request),
        "setVariable" => set_variable(server, request),
        "setExpression" => set_expression(request),
        "source" => source(server, request),
        "variables" => scope(request),
        _ => changes(server, request),
    };
    let reason = match asked {
        Ok(asked) => {
            if server.ask(asked) {
                return;
            }
            "The job does not stand: pause it first.".to_owned()
        }
        Err(reason) => reason,
    };
    server
        .client
        .refuse(request.number, &request.command, &reason);
}

fn evaluate(server: &DapServer, request: &DapRequest) -> Result<JobQuestion, String> {
    let wanted: EvaluateArguments = request.read()?;
    let view = server.shared.view();
    let is_console = wanted.context == Some(EvaluateArgumentsContext::Repl);
    let point = match wanted.frame_id {
        // people type ahead of the frames that their client shows
        Some(id) if is_console && view.is_earlier(id) => None,
        Some(RUNNING_FRAME) if server.shared.phase() == JobPhase::Running => None,
        Some(id) => point_of(&view, id)?,
        None => None,
    };
    let (request, text) = (request.number, wanted.expression);
    let is_line = match wanted.context {
        // at a step that has run an expression is of that step, and a word is for the job as it is
        Some(EvaluateArgumentsContext::Repl) => point.is_none() || !is_expression(text.trim()),
        // Helix names no context
        None => text.trim_start().starts_with(CONSOLE_SIGNS),
        Some(_) => false,
    };
    Ok(if is_line {
        JobQuestion::Line { request, text }
    } else {
        JobQuestion::Expression {
            request,
            text,
            point,
        }
    })
}

/// The checkpoint of a frame of a step that has run. None: the frame is of now.
fn point_of(view: &JobView, frame: u64) -> Result<Option<usize>, String> {
    let found = view.frame(frame);
    let found = found.ok_or_else(|| format!("The frame {frame} is of an earlier stop."))?;
    Ok(found.point.filter(|_| found.has_run))
}

fn set_variable(server: &DapServer, request: &DapRequest) -> Result<JobQuestion, String> {
    let wanted: SetVariableArguments = request.read()?;
    let known = server.shared.variables();
    let place = known.settable(wanted.variables_reference);
    let (scope, mut keys) = place.ok_or("A step that has run keeps the values that it had.")?;
    keys.insert(0, scope);
    keys.push(wanted.name);
    Ok(JobQuestion::Set(NewValue {
        request: request.number,
        command: "setVariable",
        keys,
        value: wanted.value,
    }))
}

fn set_expression(request: &DapRequest) -> Result<JobQuestion, String> {
    let wanted: SetExpressionArguments = request.read()?;
    let text = wanted.expression.trim();
    let inner = text.strip_prefix("${{");
    let inner = inner.and_then(|inner| inner.strip_suffix("}}"));
    let keys = settable(inner.unwrap_or(text))?;
    Ok(JobQuestion::Set(NewValue {
        request: request.number,
        command: "setExpression",
        keys,
        value: wanted.value,
    }))
}

fn source(server: &DapServer, request: &DapRequest) -> Result<JobQuestion, String> {
    let wanted: SourceArguments = request.read()?;
    let inner = wanted.source.and_then(|source| source.source_reference);
    let number = inner.unwrap_or(wanted.source_reference);
    let source = server.shared.source(number);
    let source =
        source.ok_or_else(|| format!("There is no source with the reference {number}."))?;
    Ok(JobQuestion::Source {
        request: request.number,
        source,
    })
}

/// Arguments of `backstitchChanges`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangesArguments {
    /// The frame of a step; none is the step that ended last.
    frame_id: Option<u64>,
}

fn changes(server: &DapServer, request: &DapRequest) -> Result<JobQuestion, String> {
    let wanted: Option<ChangesArguments> = request.read()?;
    let view = server.shared.view();
    let point = match wanted.and_then(|wanted| wanted.frame_id) {
        None => None,
        Some(id) => point_of(&view, id)?,
    };
    Ok(JobQuestion::Changes {
        request: request.number,
        point,
    })
}

/// The first of the variables that a client wants, and their number; 0 means all.
pub fn range_of(wanted: &VariablesArguments) -> (usize, usize) {
    let at =
        |number: Option<u64>| usize::try_from(number.unwrap_or_default()).unwrap_or(usize::MAX);
    (at(wanted.start), at(wanted.count))
}

/// True for a request for values that the job has not given yet.
pub fn wants_asked(server: &DapServer, request: &DapRequest) -> bool {
    let wanted = request.read::<VariablesArguments>().ok();
    let named = wanted.filter(|wanted| wanted.filter != Some(VariablesArgumentsFilter::Indexed));
    let asked = named.and_then(|wanted| {
        let known = server.shared.variables();
        known.asked(wanted.variables_reference)
    });
    asked.is_some()
}

fn scope(request: &DapRequest) -> Result<JobQuestion, String> {
    let wanted: VariablesArguments = request.read()?;
    let (start, count) = range_of(&wanted);
    Ok(JobQuestion::Scope {
        request: request.number,
        reference: wanted.variables_reference,
        start,
        count,
    })
}

/// Data that a client may watch: a variable that it shows, an expression, or a file.
pub fn data_info(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: DataBreakpointInfoArguments = request.read()?;
    let text = match wanted.variables_reference {
        None | Some(0) => Some(wanted.name.clone()),
        Some(reference) => {
            let known = server.shared.variables();
            known.expression_in(reference, &wanted.name)
        }
    };
    let data = text.map_or_else(
        || Err(format!("{} is not a value of a context.", wanted.name)),
        |text| JobData::parse_in(&text, &server.shared.view().workspace),
    );
    body(match data {
        Ok(data) => DataBreakpointInfoResponse {
            access_types: Some(vec![DataBreakpointAccessType::Write]),
            can_persist: Some(true),
            data_id: Some(data.text()),
            description: data.words(),
        },
        Err(reason) => DataBreakpointInfoResponse {
            access_types: None,
            can_persist: None,
            data_id: None,
            description: reason,
        },
    })
}

/// Ends the command that runs in the console.
pub fn cancel(server: &DapServer, request: &DapRequest) -> DapBody {
    let wanted: Option<CancelArguments> = request.read()?;
    let number = wanted.and_then(|wanted| wanted.request_id);
    let number = number.and_then(|number| i64::try_from(number).ok());
    if let (Some(number), Some(stop)) = (number, &server.stop)
        && server.shared.asks(number)
    {
        stop.request();
    }
    Ok(None)
}
