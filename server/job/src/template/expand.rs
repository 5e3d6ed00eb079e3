//! Values of tokens: their expressions evaluated.

use std::collections::HashSet;
use std::sync::Arc;

use super::token::{TemplateToken, TokenKind};
use crate::expr::{Contexts, Dict, ExpressionError, Value, evaluate};
use crate::position::Range;

/// An error of an evaluation, with the range of the token that has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpandError {
    pub range: Range,
    pub message: String,
}

/// The value of a token: its expressions are evaluated, mappings are objects, sequences are arrays.
///
/// A sequence as the value of an item adds its own items, and `${{ insert }}` adds the entries of a mapping.
pub fn expand(token: &TemplateToken, contexts: &dyn Contexts) -> Result<Value, ExpandError> {
    match &token.kind {
        TokenKind::Null => Ok(Value::Null),
        TokenKind::Bool(value) => Ok(Value::Bool(*value)),
        TokenKind::Number(value) => Ok(Value::Number(*value)),
        TokenKind::Text(text) => Ok(text.as_str().into()),
        TokenKind::Expression(expression) => {
            evaluate(&expression.text, contexts).map_err(|error| at(token, error))
        }
        TokenKind::Insert => Err(error(
            token,
            "The directive 'insert' is not allowed in this context. Directives are not supported for expressions that are \
             embedded within a string. Directives are only supported when the entire value is an expression.",
        )),
        TokenKind::Sequence(items) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                match (expand(item, contexts)?, &item.kind) {
                    (Value::Array(nested), TokenKind::Expression(_)) => {
                        values.extend(nested.iter().cloned());
                    }
                    (value, _) => values.push(value),
                }
            }
            Ok(values.into())
        }
        TokenKind::Mapping(entries) => expand_mapping(entries, contexts),
    }
}

/// The text of a scalar, as GitHub's runner makes it: `true` for true, empty for null.
pub fn expand_text(token: &TemplateToken, contexts: &dyn Contexts) -> Result<String, ExpandError> {
    Ok(expand_scalar(token, contexts)?.to_text())
}

/// The value of a scalar that is true or false.
pub fn expand_bool(token: &TemplateToken, contexts: &dyn Contexts) -> Result<bool, ExpandError> {
    match expand_scalar(token, contexts)? {
        Value::Bool(value) => Ok(value),
        value => Err(unexpected(token, &value)),
    }
}

/// The value of a scalar that is a number.
pub fn expand_number(token: &TemplateToken, contexts: &dyn Contexts) -> Result<f64, ExpandError> {
    match expand_scalar(token, contexts)? {
        Value::Number(value) => Ok(value),
        value => Err(unexpected(token, &value)),
    }
}

fn expand_scalar(token: &TemplateToken, contexts: &dyn Contexts) -> Result<Value, ExpandError> {
    match expand(token, contexts)? {
        Value::Array(_) => Err(error(token, "A sequence was not expected")),
        Value::Object(_) => Err(error(token, "A mapping was not expected")),
        value => Ok(value),
    }
}

fn expand_mapping(
    entries: &[(TemplateToken, TemplateToken)],
    contexts: &dyn Contexts,
) -> Result<Value, ExpandError> {
    let mut names = HashSet::new();
    let mut result = Dict::default();
    let mut add = |key: &TemplateToken, name: &str, value: Value| {
        if !names.insert(name.to_lowercase()) {
            return Err(error(key, &format!("'{name}' is already defined")));
        }
        result.set(name, value);
        Ok(())
    };
    for (key, token) in entries {
        if key.kind == TokenKind::Insert {
            let Value::Object(inserted) = expand(token, contexts)? else {
                return Err(error(token, "Expected a mapping"));
            };
            for (name, value) in inserted.iter() {
                add(key, name, value.clone())?;
            }
            continue;
        }
        let name = expand(key, contexts)?;
        if !name.is_primitive() {
            return Err(error(key, "Expected a string"));
        }
        add(key, &name.to_text(), expand(token, contexts)?)?;
    }
    Ok(Value::Object(Arc::new(result)))
}

fn unexpected(token: &TemplateToken, value: &Value) -> ExpandError {
    error(token, &format!("Unexpected value '{}'", value.to_text()))
}

fn at(token: &TemplateToken, error: ExpressionError) -> ExpandError {
    ExpandError {
        range: token.range,
        message: error.message,
    }
}

fn error(token: &TemplateToken, message: &str) -> ExpandError {
    at(token, ExpressionError::new(message))
}

#[cfg(test)]
mod tests;
