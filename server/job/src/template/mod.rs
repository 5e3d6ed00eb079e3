//! Templates: YAML that a schema has checked, with expressions where the schema allows them.

mod expand;
mod reader;
mod scalar;
pub mod schema;
mod token;
mod variables;

pub use expand::{ExpandError, expand, expand_bool, expand_number, expand_text};
pub use reader::read;
pub use token::{Expression, TemplateToken, TokenKind, number_text};
pub use variables::expand_variables;
