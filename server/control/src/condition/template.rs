//! Texts of log points: `agent edits {.tool}: {.paths[0]}`. Between braces is jq, `{{` and `}}` are braces. Pure.

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPart {
    Text(String),
    Jq(String),
}

/// Splits a text into its parts. Err: the reason, for the user.
pub fn parts(text: &str) -> Result<Vec<TextPart>, String> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let (brace, after) = rest[at..].split_at(1);
        if let Some(after) = after.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        let column = text[..text.len() - after.len()].chars().count();
        if brace == "}" {
            return Err(format!(
                "the message has a `}}` without a `{{` at character {column}; write }}}} for a brace"
            ));
        }
        let Some(end) = end_of_jq(after) else {
            return Err(format!(
                "the message has a `{{` without a `}}` at character {column}; write {{{{ for a brace"
            ));
        };
        if !plain.is_empty() {
            parts.push(TextPart::Text(std::mem::take(&mut plain)));
        }
        parts.push(TextPart::Jq(after[..end].to_owned()));
        rest = &after[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(TextPart::Text(plain));
    }
    Ok(parts)
}

/// Returns the place of the brace that ends jq. Braces of objects and in strings are part of it.
fn end_of_jq(text: &str) -> Option<usize> {
    // open braces, strings and parentheses (`\(` in a string ends with one)
    let mut open = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (open.last(), c) {
            (Some('"'), '\\') => {
                if let Some((_, '(')) = chars.next() {
                    open.push('(');
                }
            }
            (Some('"'), c) if c != '"' => {}
            (None, '}') => return Some(at),
            (Some('"'), '"') | (Some('{'), '}') | (Some('('), ')') => drop(open.pop()),
            (_, '"' | '{' | '(') => open.push(c),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts, jq between `<>`.
    fn split(text: &str) -> String {
        match parts(text) {
            Ok(parts) => parts
                .iter()
                .map(|part| match part {
                    TextPart::Text(text) => text.clone(),
                    TextPart::Jq(jq) => format!("<{jq}>"),
                })
                .collect(),
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn parts_of_a_text() {
        assert_eq!(split(""), "");
        assert_eq!(split("no jq"), "no jq");
        assert_eq!(
            split("edits {.tool}: {.paths[0]}!"),
            "edits <.tool>: <.paths[0]>!"
        );
        assert_eq!(split("{{x}} {.a}"), "{x} <.a>");
        assert_eq!(split("{ {a: {b: .c}} | .a}"), "< {a: {b: .c}} | .a>");
        assert_eq!(split(r#"{"}" + .x}"#), r#"<"}" + .x>"#);
        assert_eq!(split(r#"{"a\"}\({x: "}"})}"}"#), r#"<"a\"}\({x: "}"})}">"#);
    }

    #[test]
    fn braces_without_their_partner_are_refused() {
        assert_eq!(
            split("näh {.tool"),
            "error: the message has a `{` without a `}` at character 5; write {{ for a brace"
        );
        assert_eq!(
            split("a } b"),
            "error: the message has a `}` without a `{` at character 3; write }} for a brace"
        );
        // the braces of an object at the start are the ones that stand for braces
        assert_eq!(
            split("{{a: {b: .c}} | .a}"),
            "error: the message has a `}` without a `{` at character 13; write }} for a brace"
        );
        assert_eq!(
            split("{\"}"),
            "error: the message has a `{` without a `}` at character 1; write {{ for a brace"
        );
    }
}
