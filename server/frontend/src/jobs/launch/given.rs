//! Values that the user gives a run: pairs, inputs, outputs, and the event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backstitch_job::expr::{Dict, Value};
use backstitch_job::repository::ProjectRepository;
use backstitch_job::run::WorkflowEvent;
use backstitch_job::state::EnvVariables;
use backstitch_job::template::TokenKind;
use backstitch_job::workflow::{InputKind, Workflow, WorkflowInput};

use crate::terminal::error::{CliError, CliResult, ExitKind};

use super::arguments::JobLaunch;
use super::files::{pairs_of, text_of};

/// The event whose inputs the user gives.
const DISPATCH: &str = "workflow_dispatch";

/// The trigger of a workflow that others call. Run directly it has inputs, too.
const CALL: &str = "workflow_call";

pub fn pair_of(option: &str, text: &str) -> CliResult<(String, String)> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = pair.ok_or_else(|| {
        CliError::usage(format!("{option} {text}: no '='")).hint("write NAME=VALUE")
    })?;
    Ok((name.to_owned(), value.to_owned()))
}

pub fn dict_of(option: &str, file: Option<&Path>) -> CliResult<Dict> {
    let mut dict = Dict::default();
    let pairs = file.map(|file| pairs_of(option, file)).transpose()?;
    for (name, value) in pairs.unwrap_or_default() {
        dict.set(&name, value.into());
    }
    Ok(dict)
}

pub fn outputs_of(args: &JobLaunch) -> CliResult<GivenOutputs> {
    let mut given = GivenOutputs::default();
    for text in &args.outputs {
        let (place, value) = pair_of(args.names.output, text)?;
        let (part, name) = place.split_once('.').ok_or_else(|| {
            CliError::usage(format!("{} {text}: no '.'", args.names.output))
                .hint("write STEP.NAME=VALUE, or needs.JOB.NAME=VALUE")
        })?;
        let of_job = (part == "needs").then(|| name.split_once('.')).flatten();
        let (all, part, name) = match of_job {
            Some((job, name)) => (&mut given.jobs, job, name),
            None => (&mut given.steps, part, name),
        };
        all.entry(part.to_owned()).or_default().set(name, &value);
    }
    Ok(given)
}

/// Outputs that the user gives, by the ids of their steps and jobs.
#[derive(Default)]
pub struct GivenOutputs {
    pub steps: BTreeMap<String, EnvVariables>,
    pub jobs: BTreeMap<String, EnvVariables>,
}

/// Inputs of an event that has some, with the types that the workflow declares (J19).
pub fn inputs_of(args: &JobLaunch, workflow: &Workflow) -> CliResult<Dict> {
    let (event, name) = (event_name(args, workflow), args.names.input);
    let declared = match (event.as_str(), &workflow.call) {
        (DISPATCH, _) => workflow.dispatch_inputs.as_slice(),
        (CALL, Some(call)) => call.inputs.as_slice(),
        _ if args.inputs.is_empty() => return Ok(Dict::default()),
        _ => {
            return Err(
                CliError::usage(format!("{name}: the event {event} has no inputs")).hint(format!(
                    "leave `{}` out, or name {DISPATCH} or {CALL}",
                    args.names.event
                )),
            );
        }
    };
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for text in &args.inputs {
        let (input, value) = pair_of(name, text)?;
        if !declared.iter().any(|known| known.name == input) {
            let known: Vec<&str> = declared.iter().map(|input| input.name.as_str()).collect();
            return Err(CliError::usage(format!(
                "{name} {input}: {} declares no such input",
                workflow.file
            ))
            .hint(if known.is_empty() {
                format!("declare it below `{event}`, or leave the option out")
            } else {
                format!("its inputs: {}", known.join(", "))
            }));
        }
        given.insert(input, value);
    }
    let mut inputs = Dict::default();
    for input in declared {
        let missing = |why: &str| {
            CliError::usage(format!("{name} {}=VALUE is missing: {why}", input.name))
                .hint("give it a value")
        };
        let default = match input.default.as_ref().map(|token| &token.kind) {
            Some(TokenKind::Text(text)) => Some(text.clone()),
            Some(TokenKind::Bool(value)) => Some(value.to_string()),
            Some(TokenKind::Number(value)) => Some(Value::Number(*value).to_text()),
            Some(TokenKind::Expression(_)) if !given.contains_key(&input.name) => {
                return Err(missing("its default is an expression"));
            }
            Some(_) => Some(String::new()),
            None => None,
        };
        let Some(text) = given.remove(&input.name).or(default) else {
            if input.required {
                return Err(missing(&format!("{} requires this input", workflow.file)));
            }
            // as GitHub documents it for a workflow that is called
            if event == CALL {
                inputs.set(&input.name, empty_value(input.kind));
            }
            continue;
        };
        let value = input_value(name, input, text)?;
        inputs.set(&input.name, value);
    }
    Ok(inputs)
}

/// The value of an input that nobody gives, and that has no default.
fn empty_value(kind: InputKind) -> Value {
    match kind {
        InputKind::Boolean => false.into(),
        InputKind::Number => Value::Number(0.0),
        InputKind::String | InputKind::Choice | InputKind::Environment => "".into(),
    }
}

/// The value of an input, with the type that the workflow declares.
fn input_value(option: &str, input: &WorkflowInput, text: String) -> CliResult<Value> {
    Ok(match input.kind {
        InputKind::Boolean => match text.as_str() {
            "true" => true.into(),
            "false" => false.into(),
            _ => {
                return Err(CliError::usage(format!(
                    "{option} {}={text}: the input is a boolean",
                    input.name
                ))
                .hint("write true or false"));
            }
        },
        InputKind::Number => Value::Number(text.parse().map_err(|_| {
            CliError::usage(format!(
                "{option} {}={text}: the input is a number",
                input.name
            ))
        })?),
        InputKind::Choice if !input.options.contains(&text) => {
            return Err(CliError::usage(format!(
                "{option} {}={text}: the input has no such option",
                input.name
            ))
            .hint(format!("its options: {}", input.options.join(", "))));
        }
        InputKind::String | InputKind::Choice | InputKind::Environment => text.into(),
    })
}

/// Name of the event: as given, else that of given inputs, else `push` if it starts the workflow, else the first one that does.
fn event_name(args: &JobLaunch, workflow: &Workflow) -> String {
    let known: Vec<&str> = workflow
        .events
        .iter()
        .map(|(event, _)| event.value.as_str())
        .collect();
    let wanted: &[&str] = if args.inputs.is_empty() {
        &["push"]
    } else {
        &[DISPATCH, CALL]
    };
    let mut wanted = wanted.iter();
    let of_workflow = wanted.find(|event| known.contains(event));
    let given = args.event.as_deref();
    given
        .or(of_workflow.or(known.first()).copied())
        .unwrap_or("push")
        .to_owned()
}

/// The event: its file, or what GitHub would at least tell of it. Its inputs are texts (J19).
pub fn event_of(
    args: &JobLaunch,
    repository: &ProjectRepository,
    workflow: &Workflow,
) -> CliResult<WorkflowEvent> {
    let name = event_name(args, workflow);
    let payload = if let Some(file) = &args.event_file {
        let text = text_of(args.names.event_file, file)?;
        Value::from_json(&text).map_err(|error| {
            CliError::new(
                ExitKind::Failed,
                format!("{}: {} is not JSON: {error}", args.names.event_file, file.display()),
            )
            .hint("write the payload that GitHub sends for the event, such as {\"ref\": \"refs/heads/main\"}")
        })?
    } else {
        let mut event = Dict::default();
        event.set("ref", repository.git_ref.as_str().into());
        event.set("after", repository.sha.clone().unwrap_or_default().into());
        let mut about = Dict::default();
        about.set(
            "full_name",
            format!("{}/{}", repository.owner, repository.name).into(),
        );
        about.set("name", repository.name.as_str().into());
        about.set("default_branch", repository.default_branch.as_str().into());
        let mut owner = Dict::default();
        owner.set("login", repository.owner.as_str().into());
        about.set("owner", owner.into());
        event.set("repository", about.into());
        if name == DISPATCH {
            let mut texts = Dict::default();
            for (name, value) in inputs_of(args, workflow)?.iter() {
                texts.set(name, value.to_text().into());
            }
            event.set("inputs", texts.into());
        }
        event.into()
    };
    Ok(WorkflowEvent {
        name,
        payload,
        file: PathBuf::new(),
    })
}
