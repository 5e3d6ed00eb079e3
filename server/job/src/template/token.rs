//! Tokens of a template.

use serde::{Deserialize, Serialize};

use crate::position::Range;

/// A value of a template, with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemplateToken {
    pub range: Range,
    pub kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TokenKind {
    Null,
    Bool(bool),
    #[serde(with = "crate::expr::number_as_text")]
    Number(f64),
    Text(String),
    /// `${{ … }}`, alone or within a text.
    Expression(Expression),
    /// `${{ insert }}` as the key of a mapping.
    Insert,
    Sequence(Vec<TemplateToken>),
    /// Keys are texts, expressions or `Insert`, in the order of the file.
    Mapping(Vec<(TemplateToken, TemplateToken)>),
}

/// An expression without its `${{ }}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expression {
    /// The text to evaluate. A text with expressions in it is one `format('…{0}…', …)`, as for GitHub's runner.
    pub text: String,
    /// The text as it stands in the file, if it is a whole template: `a${{ b }}c`.
    pub source: String,
}

impl TemplateToken {
    pub fn text(range: Range, text: impl Into<String>) -> TemplateToken {
        let kind = TokenKind::Text(text.into());
        TemplateToken { range, kind }
    }

    pub fn is_expression(&self) -> bool {
        matches!(self.kind, TokenKind::Expression(_) | TokenKind::Insert)
    }

    /// True if it or anything in it is an expression.
    pub fn has_expression(&self) -> bool {
        match &self.kind {
            TokenKind::Sequence(items) => items.iter().any(TemplateToken::has_expression),
            TokenKind::Mapping(entries) => entries
                .iter()
                .any(|(key, value)| key.has_expression() || value.has_expression()),
            _ => self.is_expression(),
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key of a mapping.
    pub fn get(&self, name: &str) -> Option<&TemplateToken> {
        let TokenKind::Mapping(entries) = &self.kind else {
            return None;
        };
        let found = entries.iter().find(|(key, _)| key.as_text() == Some(name));
        found.map(|(_, value)| value)
    }

    /// A scalar as GitHub writes it in a message.
    pub fn display(&self) -> String {
        match &self.kind {
            TokenKind::Bool(value) => value.to_string(),
            TokenKind::Number(value) => number_text(*value),
            TokenKind::Text(text) => text.clone(),
            TokenKind::Expression(expression) => format!("${{{{ {} }}}}", expression.text),
            TokenKind::Insert => "${{ insert }}".to_owned(),
            TokenKind::Null | TokenKind::Sequence(_) | TokenKind::Mapping(_) => String::new(),
        }
    }

    /// The name of its kind in GitHub's messages.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            TokenKind::Null => "NullToken",
            TokenKind::Bool(_) => "BooleanToken",
            TokenKind::Number(_) => "NumberToken",
            TokenKind::Text(_) => "StringToken",
            TokenKind::Expression(_) => "BasicExpressionToken",
            TokenKind::Insert => "InsertExpressionToken",
            TokenKind::Sequence(_) => "SequenceToken",
            TokenKind::Mapping(_) => "MappingToken",
        }
    }
}

/// A number as ECMAScript writes it (section 6.1.6.1.20): `1.50` is `1.5`, and 1e21 has an exponent.
pub fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}
