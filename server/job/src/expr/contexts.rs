//! Types between an expression and its surroundings.

use super::value::Value;

/// Contexts and functions that a key allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    pub contexts: Vec<&'static str>,
    /// Functions beside those that hold everywhere, with their least and greatest number of arguments.
    pub functions: Vec<(&'static str, usize, usize)>,
}

/// An error of an expression, in GitHub's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    pub message: String,
}

impl ExpressionError {
    pub fn new(message: impl Into<String>) -> ExpressionError {
        ExpressionError {
            message: message.into(),
        }
    }

    /// The message without the position and the expression.
    pub fn description(&self) -> &str {
        let place = self.message.find(". Located at position ");
        place.map_or(&*self.message, |place| &self.message[..place])
    }
}

/// Values and functions that an evaluation asks for.
pub trait Contexts {
    /// The value of a context such as `github`; null if there is none of this name. The name is as it stands in the
    /// expression, and has no case. Each call returns a copy of the same object, so that a context is equal to itself.
    fn context(&self, name: &str) -> Value;

    /// The result of a function that depends on the run: `success`, `failure`, `always`, `cancelled`, `hashFiles`. The
    /// name is spelled so; any other function comes as it stands in the expression.
    fn function(&self, name: &str, arguments: &[Value]) -> Result<Value, ExpressionError>;
}
