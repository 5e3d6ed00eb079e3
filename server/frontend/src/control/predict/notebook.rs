//! Claude Code's edits of Jupyter notebooks. The tool parses the whole file, and writes it as JavaScript's
//! `JSON.stringify` does with an indent of one space.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::form::InputField;
use super::text::{Text, mostly_crlf, to_crlf, to_lf};
use super::{FileNow, Outlook, PredictedContent, PredictedFile, ReadFile, resolve};

/// Stands for the id of a new cell, which the tool draws.
const NEW_ID: &str = "00000000";

pub fn predict(input: &Value, path: PathBuf, read: ReadFile) -> PredictedFile {
    let open = |path, before, reason: String| {
        PredictedFile::new(
            path,
            before,
            PredictedContent::Unknown,
            Outlook::Unsure(reason),
        )
    };
    let found = match resolve(&path, read) {
        Ok(found) => found,
        Err(reason) => {
            let reason = format!("the file cannot be read: {reason}");
            return open(path, PredictedContent::Unknown, reason);
        }
    };
    let before = found.content();
    let refused = |path, before, reason: &str| PredictedFile::fails(path, before, reason);
    if found.link.is_some() {
        return refused(path, before, "Claude Code does not write through a symlink");
    }
    if path.extension().is_none_or(|end| end != "ipynb") {
        return refused(path, before, "the file is not a notebook");
    }
    let bytes = match &found.now {
        FileNow::File(bytes) => bytes,
        FileNow::TooLarge(_) => {
            return open(path, before, "the file is too large to predict".to_owned());
        }
        FileNow::Absent => return refused(path, before, "the file does not exist"),
        FileNow::Link(_) | FileNow::Directory => return refused(path, before, "it is a folder"),
    };
    let text = match Text::decode(bytes) {
        Ok(text) if text.bom => {
            let reason = "Claude Code cannot read a notebook with a byte-order mark";
            return refused(path, before, reason);
        }
        Ok(text) => text.text,
        Err(reason) => return open(path, before, reason.reason().to_owned()),
    };
    let Ok(mut notebook) = serde_json::from_str::<Value>(&to_lf(&text)) else {
        return refused(path, before, "the notebook is not JSON");
    };
    let edited = match Edit::of(input) {
        Ok(edit) => edit.apply(&mut notebook),
        Err(reason) => Err(reason),
    };
    let doubt = match edited {
        Ok(doubt) => doubt,
        Err(reason) => return refused(path, before, &reason),
    };
    let mut after = String::new();
    let is_exact = print(&notebook, 0, &mut after);
    if text.ends_with('\n') {
        after.push('\n');
    }
    if mostly_crlf(&text) {
        after = to_crlf(&after);
    }
    let doubt = doubt.or_else(|| {
        (!is_exact).then(|| "the notebook has numbers that JavaScript may write anew".to_owned())
    });
    let outlook = doubt.map_or(Outlook::Certain, Outlook::Unsure);
    PredictedFile::new(
        path,
        before,
        PredictedContent::of(after.into_bytes()),
        outlook,
    )
}

/// Change of a cell.
struct Edit<'a> {
    mode: Mode,
    cell: Option<&'a str>,
    kind: Option<&'a str>,
    source: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Replace,
    /// A new cell after the named one, or at the start.
    Insert,
    Delete,
}

impl<'a> Edit<'a> {
    fn of(input: &'a Value) -> Result<Self, String> {
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        let mode = match field("edit_mode") {
            None | Some("replace") => Mode::Replace,
            Some("insert") => Mode::Insert,
            Some("delete") => Mode::Delete,
            Some(mode) => return Err(format!("“{mode}” is not a mode of an edit")),
        };
        debug_assert!(
            InputField::Path.name(input).is_some(),
            "the form has a path"
        );
        let edit = Self {
            mode,
            cell: field("cell_id"),
            kind: field("cell_type"),
            source: field("new_source").ok_or("the input has no text for the cell")?,
        };
        if mode == Mode::Insert && edit.kind.is_none() {
            return Err("a new cell needs a type".to_owned());
        }
        if mode != Mode::Insert && edit.cell.is_none() {
            return Err("the input names no cell".to_owned());
        }
        Ok(edit)
    }

    /// Edits the notebook. Returns a reason for doubt, if there is one.
    fn apply(&self, notebook: &mut Value) -> Result<Option<String>, String> {
        let version = |name: &str| {
            notebook
                .get(name)
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        let has_ids = (version("nbformat"), version("nbformat_minor")) >= (4, 5);
        let cells = notebook
            .get_mut("cells")
            .and_then(Value::as_array_mut)
            .ok_or("the notebook has no cells")?;
        let at = self.cell.map(|name| find(cells, name)).transpose()?;
        match (self.mode, at) {
            (Mode::Insert, at) => {
                let kind = self.kind.unwrap_or("code");
                let mut cell = Map::new();
                cell.insert("cell_type".to_owned(), json!(kind));
                if has_ids {
                    cell.insert("id".to_owned(), json!(NEW_ID));
                }
                cell.insert("source".to_owned(), json!(self.source));
                cell.insert("metadata".to_owned(), json!({}));
                if kind == "code" {
                    cell.insert("execution_count".to_owned(), Value::Null);
                    cell.insert("outputs".to_owned(), json!([]));
                }
                cells.insert(at.map_or(0, |at| at + 1), Value::Object(cell));
                let doubt = "the tool draws the id of the new cell";
                Ok(has_ids.then(|| doubt.to_owned()))
            }
            (Mode::Delete, Some(at)) => {
                cells.remove(at);
                Ok(None)
            }
            (Mode::Replace, Some(at)) => {
                let cell = cells[at]
                    .as_object_mut()
                    .ok_or("the cell is not an object")?;
                cell.insert("source".to_owned(), json!(self.source));
                if cell.get("cell_type") == Some(&json!("code")) {
                    cell.insert("execution_count".to_owned(), Value::Null);
                    cell.insert("outputs".to_owned(), json!([]));
                }
                if let Some(kind) = self.kind {
                    cell.insert("cell_type".to_owned(), json!(kind));
                }
                Ok(None)
            }
            (Mode::Delete | Mode::Replace, None) => Err("the input names no cell".to_owned()),
        }
    }
}

/// Returns the index of a cell by its id, or by `cell-N`.
fn find(cells: &[Value], name: &str) -> Result<usize, String> {
    let by_id = cells
        .iter()
        .position(|cell| cell["id"].as_str() == Some(name));
    if let Some(at) = by_id {
        return Ok(at);
    }
    let index = name
        .strip_prefix("cell-")
        .and_then(|number| number.parse().ok());
    match index {
        Some(at) if at < cells.len() => Ok(at),
        _ => Err(format!("the notebook has no cell “{name}”")),
    }
}

/// JavaScript has no exact integers above this one.
const EXACT: u64 = 1 << 53;

/// Prints a value as `JSON.stringify(value, null, 1)` does. False: it has a number that JavaScript may print in another
/// way, or keys that it reorders.
fn print(value: &Value, depth: usize, text: &mut String) -> bool {
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', depth));
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            let mut is_exact = true;
            for (number, item) in items.iter().enumerate() {
                text.push(if number == 0 { '[' } else { ',' });
                line(text, depth + 1);
                is_exact &= print(item, depth + 1, text);
            }
            line(text, depth);
            text.push(']');
            is_exact
        }
        Value::Object(fields) if !fields.is_empty() => {
            let is_index = |key: &String| key.parse::<u32>().is_ok_and(|n| n.to_string() == *key);
            let mut is_exact = !fields.keys().any(is_index);
            for (number, (key, item)) in fields.iter().enumerate() {
                text.push(if number == 0 { '{' } else { ',' });
                line(text, depth + 1);
                text.push_str(&Value::String(key.clone()).to_string());
                text.push_str(": ");
                is_exact &= print(item, depth + 1, text);
            }
            line(text, depth);
            text.push('}');
            is_exact
        }
        Value::Number(number) => {
            text.push_str(&number.to_string());
            number.as_i64().is_some_and(|n| n.unsigned_abs() <= EXACT)
        }
        other => {
            text.push_str(&other.to_string());
            true
        }
    }
}
