//! Limits of documents: a model reads all of an answer. Long texts and lists are cut, and the document says so. Pure.

use serde_json::{Value, json};

/// Bytes of texts in one document, beyond which lists end.
const MAX_TOTAL: usize = 64 << 10;
/// Maximum length of one text in bytes.
const MAX_TEXT: usize = 2000;
/// A text up to this length is never cut: ids, paths, times.
const SHORT: usize = 200;

struct Trimmer {
    left: usize,
    cut: usize,
}

/// Cuts long texts and lists of a document, and notes it in its field `cut`, with the way to the rest.
pub fn trim(document: &mut Value, rest: &str) {
    let mut trimmer = Trimmer {
        left: MAX_TOTAL,
        cut: 0,
    };
    trimmer.walk(document);
    if trimmer.cut > 0 && document.is_object() {
        document["cut"] = json!({ "parts": trimmer.cut, "rest": rest });
    }
}

impl Trimmer {
    fn walk(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let limit = MAX_TEXT.min(self.left.max(SHORT));
                if text.len() > limit {
                    text.truncate(text.floor_char_boundary(limit));
                    text.push('…');
                    self.cut += 1;
                }
                self.left = self.left.saturating_sub(text.len());
            }
            Value::Array(items) => {
                let mut kept = 0;
                for item in items.iter_mut() {
                    if self.left == 0 {
                        break;
                    }
                    self.walk(item);
                    // an item costs something even if it has no text
                    self.left = self.left.saturating_sub(8);
                    kept += 1;
                }
                if kept < items.len() {
                    items.truncate(kept);
                    self.cut += 1;
                }
            }
            Value::Object(fields) => fields.values_mut().for_each(|field| self.walk(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_document_stays() {
        let mut document = json!({ "a": ["x", 1], "b": null });
        let same = document.clone();
        trim(&mut document, "ask");
        assert_eq!(document, same);
    }

    #[test]
    fn long_lists_and_texts_are_cut_and_ids_stay() {
        let mut document = json!({
            "text": "ä".repeat(5000),
            "list": vec!["a line of text"; 10_000],
            "id": "c12",
        });
        trim(&mut document, "ask");
        assert!(document["text"].as_str().unwrap().len() <= MAX_TEXT + 3);
        assert!(document["list"].as_array().unwrap().len() < 5000);
        assert_eq!(document["id"], "c12");
        assert_eq!(document["cut"], json!({ "parts": 2, "rest": "ask" }));
    }
}
