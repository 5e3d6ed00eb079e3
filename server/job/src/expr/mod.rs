//! GitHub's expressions: their check against the contexts of a key, and their evaluation.

mod value;

pub use value::{Dict, Value};

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

/// Values and functions that an evaluation asks for.
pub trait Contexts {
    /// The value of a context such as `github`; null if there is none of this name.
    fn context(&self, name: &str) -> Value;

    /// The result of a function that depends on the run: `success`, `failure`, `always`, `cancelled`, `hashFiles`.
    fn function(&self, name: &str, arguments: &[Value]) -> Result<Value, ExpressionError>;
}
