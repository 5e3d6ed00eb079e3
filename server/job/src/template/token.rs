//! Tokens of a template.

use crate::position::Range;

/// A value of a template, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub range: Range,
    pub kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// `${{ … }}`, alone or within a text.
    Expression(Expression),
    /// `${{ insert }}` as the key of a mapping.
    Insert,
    Sequence(Vec<Token>),
    /// Keys are texts, expressions or `Insert`, in the order of the file.
    Mapping(Vec<(Token, Token)>),
}

/// An expression without its `${{ }}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The text to evaluate. A text with expressions in it is one `format('…{0}…', …)`, as for GitHub's runner.
    pub text: String,
    /// The text as it stands in the file, if it is a whole template: `a${{ b }}c`.
    pub source: String,
}
