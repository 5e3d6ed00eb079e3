//! Templates: YAML that a schema has checked, with expressions where the schema allows them.

mod token;

pub use token::{Expression, Token, TokenKind};
