//! Stored values of programs as text. A program made the view: its shape is not relied on.

use std::fmt::Write as _;

use serde_json::Value;

use crate::render;

/// Levels of fields that are shown.
const DEPTH: usize = 3;

/// Returns the view of a value in lines. `size`: bytes that are stored.
pub fn text(cid: &str, size: i64, view: &Value) -> String {
    let size = u64::try_from(size).unwrap_or(0);
    let mut text = type_of(view);
    if let Some(length) = view["length"].as_u64() {
        write!(text, ", length {length}").ok();
    }
    writeln!(
        text,
        ", {} stored\n{}\n",
        render::bytes(size),
        render::clean(cid)
    )
    .ok();
    for line in view["repr"].as_str().unwrap_or_default().lines() {
        text.push_str(&render::visible(line));
        text.push('\n');
    }
    if view["fields"].is_object() {
        text.push_str("\nFields\n");
        fields(&mut text, &view["fields"], 1);
    }
    text
}

fn type_of(view: &Value) -> String {
    render::clean(view["type"].as_str().unwrap_or("a value"))
}

fn fields(text: &mut String, of: &Value, level: usize) {
    for (name, view) in of.as_object().into_iter().flatten() {
        let indent = "  ".repeat(level);
        let repr = view["repr"].as_str().unwrap_or_default();
        writeln!(
            text,
            "{indent}{}: {} = {}",
            render::clean(name),
            type_of(view),
            render::clean(repr)
        )
        .ok();
        if level < DEPTH {
            fields(text, &view["fields"], level + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_shown_with_its_fields() {
        let view = json!({"type": "list", "repr": "[1,\u{1b}[31m 'a']", "length": 2, "fields": {
            "0": {"type": "int", "repr": "1"}, "1": {"type": "str", "repr": "'a'"},
        }});
        let shown = text("sha256:01", 2048, &view);
        assert!(
            shown.starts_with("list, length 2, 2.0 KiB stored\nsha256:01\n"),
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(
            shown.ends_with("\nFields\n  0: int = 1\n  1: str = 'a'\n"),
            "{shown}"
        );
    }

    #[test]
    fn a_view_of_any_shape_is_text() {
        for view in [
            json!(null),
            json!([1]),
            json!({"fields": {"a": 3}, "repr": 4}),
        ] {
            assert!(text("c", -1, &view).ends_with('\n'), "{view}");
        }
    }
}
