//! Problems of a conversion: those that it notes, and those that end a part of it.

use crate::position::{Located, Range, WorkflowProblem};
use crate::template::{TemplateToken, TokenKind};

/// Problems of one file, in the order in which they are found.
#[derive(Debug)]
pub(crate) struct Problems<'a> {
    file: &'a str,
    found: Vec<WorkflowProblem>,
}

/// A problem that ends the conversion of a job, a step or a setting.
#[derive(Debug)]
pub(crate) struct ConversionError {
    pub range: Range,
    pub message: String,
}

impl<'a> Problems<'a> {
    pub fn new(file: &'a str) -> Problems<'a> {
        let found = Vec::new();
        Problems { file, found }
    }

    pub fn add(&mut self, range: Range, message: impl Into<String>) {
        self.found.push(WorkflowProblem {
            file: self.file.to_owned(),
            range: Some(range),
            message: message.into(),
        });
    }

    /// The value; none for an error, which becomes a problem.
    pub fn note<T>(&mut self, result: Result<T, ConversionError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(error.range, error.message);
                None
            }
        }
    }

    pub fn into_vec(self) -> Vec<WorkflowProblem> {
        self.found
    }
}

fn unexpected_type(token: &TemplateToken, what: &str, expected: &str) -> ConversionError {
    let message = format!(
        "Unexpected type '{}' encountered while reading '{what}'. The type '{expected}' was expected.",
        token.type_name()
    );
    ConversionError {
        range: token.range,
        message,
    }
}

/// The text of a token. `what` names it in the message.
pub(crate) fn text<'t>(token: &'t TemplateToken, what: &str) -> Result<&'t str, ConversionError> {
    token
        .as_text()
        .ok_or_else(|| unexpected_type(token, what, "StringToken"))
}

pub(crate) fn located(
    token: &TemplateToken,
    what: &str,
) -> Result<Located<String>, ConversionError> {
    Ok(Located {
        value: text(token, what)?.to_owned(),
        range: token.range,
    })
}

pub(crate) fn boolean(token: &TemplateToken, what: &str) -> Result<bool, ConversionError> {
    match token.kind {
        TokenKind::Bool(value) => Ok(value),
        _ => Err(unexpected_type(token, what, "BooleanToken")),
    }
}

pub(crate) fn mapping<'t>(
    token: &'t TemplateToken,
    what: &str,
) -> Result<&'t [(TemplateToken, TemplateToken)], ConversionError> {
    match &token.kind {
        TokenKind::Mapping(entries) => Ok(entries),
        _ => Err(unexpected_type(token, what, "MappingToken")),
    }
}

pub(crate) fn sequence<'t>(
    token: &'t TemplateToken,
    what: &str,
) -> Result<&'t [TemplateToken], ConversionError> {
    match &token.kind {
        TokenKind::Sequence(items) => Ok(items),
        _ => Err(unexpected_type(token, what, "SequenceToken")),
    }
}
