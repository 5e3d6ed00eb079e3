//! Conditions `if`, with the status that they imply.

use super::conversion::Problems;
use crate::expr::{self, Allowed};
use crate::template::{TemplateToken, TokenKind};

/// The condition of a job or step that has none.
pub(super) const DEFAULT: &str = "success()";

/// The condition as GitHub evaluates it. Without a status function it holds only after success.
pub(crate) fn condition_of(
    token: &TemplateToken,
    allowed: &Allowed,
    problems: &mut Problems<'_>,
) -> String {
    let text = match &token.kind {
        TokenKind::Expression(expression) => expression.text.clone(),
        _ => token.display().trim().to_owned(),
    };
    if text.is_empty() {
        return DEFAULT.to_owned();
    }
    let checked = expr::check(&text, allowed).and_then(|()| {
        if expr::calls_status_function(&text) {
            return Ok(text);
        }
        let text = format!("{DEFAULT} && ({text})");
        expr::check(&text, allowed).map(|()| text)
    });
    checked.unwrap_or_else(|error| {
        problems.add(token.range, error.to_string());
        DEFAULT.to_owned()
    })
}
