//! GitHub's expressions: their check against the contexts of a key, and their evaluation.
//!
//! Two programs of GitHub read them: the package `@actions/expressions` reports the errors that people see, and the
//! runner evaluates. Errors and their positions are those of the package, values are those of the runner where both
//! differ. The parser is our own: `github-actions-expressions` allows any context, limits other depths, and its errors
//! lack the token that GitHub names.

mod compare;
mod contexts;
mod evaluate;
mod functions;
mod hash_files;
mod json;
mod lexer;
mod memory;
mod number;
mod operand;
mod parser;
mod paths;
mod status;
mod value;

pub use contexts::{Allowed, Contexts, ExpressionError};
pub use evaluate::{evaluate, evaluate_within, function_names};
pub use hash_files::hash_files;
pub use number::as_text as number_as_text;
pub use parser::{check, check_syntax};
pub use paths::paths;
pub use status::calls_status_function;
pub use value::{Dict, Value};

#[cfg(test)]
mod tests;
