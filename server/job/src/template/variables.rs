//! Variables: a mapping whose values are texts.

use crate::expr::{Contexts, Value};

use super::expand::{ExpandError, expand};
use super::token::TemplateToken;

/// Names and values of a mapping such as `env` or `with`, evaluated.
pub fn expand_variables(
    token: &TemplateToken,
    contexts: &dyn Contexts,
) -> Result<Vec<(String, String)>, ExpandError> {
    match expand(token, contexts)? {
        Value::Object(mapping) => Ok(mapping
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_text()))
            .collect()),
        Value::Null => Ok(Vec::new()),
        _ => Err(ExpandError {
            range: token.range,
            message: "A mapping was expected".to_owned(),
        }),
    }
}
