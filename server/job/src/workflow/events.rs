//! `on`: events, and the inputs of those that are started with some.

use super::conversion::{ConversionError, Problems, boolean, located, mapping, sequence, text};
use super::cron;
use super::model::{InputKind, WorkflowCall, WorkflowInput};
use crate::position::Located;
use crate::template::{TemplateToken, TokenKind};

/// `on` of a workflow.
#[derive(Debug, Default)]
pub(super) struct Events {
    pub all: Vec<(Located<String>, Option<TemplateToken>)>,
    pub dispatch_inputs: Vec<WorkflowInput>,
    pub call: Option<WorkflowCall>,
}

pub(super) fn convert(
    token: &TemplateToken,
    problems: &mut Problems<'_>,
) -> Result<Events, ConversionError> {
    let mut on = Events::default();
    match &token.kind {
        TokenKind::Sequence(items) => {
            for item in items {
                on.add(located(item, "on")?, None, problems)?;
            }
        }
        TokenKind::Mapping(entries) => {
            for (key, value) in entries {
                let event = located(key, "event name")?;
                let value = Some(value).filter(|value| value.kind != TokenKind::Null);
                on.add(event, value, problems)?;
            }
        }
        _ => on.add(located(token, "on")?, None, problems)?,
    }
    Ok(on)
}

impl Events {
    fn add(
        &mut self,
        event: Located<String>,
        settings: Option<&TemplateToken>,
        problems: &mut Problems<'_>,
    ) -> Result<(), ConversionError> {
        let what = format!("event {}", event.value);
        match (event.value.as_str(), settings) {
            ("workflow_call", None) => self.call = Some(WorkflowCall::default()),
            ("workflow_call", Some(settings)) => {
                self.call = Some(call(mapping(settings, &what)?, problems)?);
            }
            ("workflow_dispatch", Some(settings)) => {
                for (key, value) in mapping(settings, &what)? {
                    if key.as_text() == Some("inputs") {
                        self.dispatch_inputs = inputs(value, false, problems)?;
                    }
                }
            }
            ("schedule", Some(settings)) => schedule(sequence(settings, &what)?, problems)?,
            _ => {}
        }
        self.all.push((event, settings.cloned()));
        Ok(())
    }
}

fn schedule(items: &[TemplateToken], problems: &mut Problems<'_>) -> Result<(), ConversionError> {
    for item in items {
        for (key, value) in mapping(item, "event schedule")? {
            if key.as_text() == Some("cron") && !cron::is_valid(text(value, "schedule cron")?) {
                let message = "Invalid cron expression. Expected format: '* * * * *' (minute hour day month weekday)";
                problems.add(value.range, message);
            }
        }
    }
    Ok(())
}

fn call(
    settings: &[(TemplateToken, TemplateToken)],
    problems: &mut Problems<'_>,
) -> Result<WorkflowCall, ConversionError> {
    let mut call = WorkflowCall::default();
    for (key, value) in settings {
        match key.as_text() {
            Some("inputs") => call.inputs = inputs(value, true, problems)?,
            Some("secrets") => {
                for (name, settings) in mapping(value, "workflow dispatch inputs")? {
                    let required = settings.get("required");
                    let is_required =
                        required.is_some_and(|token| token.kind == TokenKind::Bool(true));
                    call.secrets
                        .push((text(name, "secret name")?.to_owned(), is_required));
                }
            }
            Some("outputs") => {
                for (name, settings) in mapping(value, "workflow outputs")? {
                    if let Some(value) = settings.get("value") {
                        let name = text(name, "output name")?.to_owned();
                        call.outputs.push((name, value.clone()));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(call)
}

fn inputs(
    token: &TemplateToken,
    takes_expressions: bool,
    problems: &mut Problems<'_>,
) -> Result<Vec<WorkflowInput>, ConversionError> {
    let mut inputs = Vec::new();
    for (name, settings) in mapping(token, "workflow dispatch inputs")? {
        let name = text(name, "input name")?.to_owned();
        inputs.push(input(name, settings, takes_expressions, problems)?);
    }
    Ok(inputs)
}

fn input(
    name: String,
    token: &TemplateToken,
    takes_expressions: bool,
    problems: &mut Problems<'_>,
) -> Result<WorkflowInput, ConversionError> {
    let mut input = WorkflowInput {
        name,
        kind: InputKind::String,
        required: false,
        default: None,
        options: Vec::new(),
    };
    let mut has_options = false;
    for (key, value) in mapping(token, "input configuration")? {
        match key.as_text() {
            Some("required") => input.required = boolean(value, "input required")?,
            Some("default") => input.default = Some(value.clone()),
            Some("type") => {
                input.kind = match text(value, "input type")? {
                    "boolean" => InputKind::Boolean,
                    "number" => InputKind::Number,
                    "choice" => InputKind::Choice,
                    "environment" => InputKind::Environment,
                    _ => InputKind::String,
                };
            }
            Some("options") => {
                has_options = true;
                for option in sequence(value, "input options")? {
                    input
                        .options
                        .push(text(option, "input options item")?.to_owned());
                }
            }
            _ => {}
        }
    }
    if let Some(default) = &input.default
        && !(takes_expressions && default.is_expression())
    {
        problems.note(check_default(default, input.kind));
    }
    if input.kind == InputKind::Choice {
        if input.options.is_empty() {
            problems.add(token.range, "Missing 'options' for choice input");
        }
    } else if has_options {
        let message = "Input type is not 'choice', but 'options' is defined";
        problems.add(token.range, message);
    }
    Ok(input)
}

fn check_default(default: &TemplateToken, kind: InputKind) -> Result<(), ConversionError> {
    match kind {
        InputKind::Boolean => boolean(default, "input default").map(drop),
        InputKind::String | InputKind::Choice | InputKind::Environment => {
            text(default, "input default").map(drop)
        }
        InputKind::Number => Ok(()),
    }
}
