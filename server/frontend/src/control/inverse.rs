//! The inverse of a prediction: the input with which a tool writes the text that a user wants. Pure. Every answer is
//! predicted again before it is returned, so it leads to that text byte for byte.

mod patches;

use std::path::{Path, PathBuf};

use backstitch_core::diff::{self, FileDiff, Hunk, Side};
use serde_json::{Value, json};

use super::predict::{
    CallForm, InputField, Outlook, PredictedContent, PredictedFile, Prediction, ReadFile, Text,
    form, pairs, predict,
};

/// Answer of [`inverse`]: the whole new input, or the reason why the tool cannot do this, in plain English, for people,
/// without a full stop.
pub type Inverse = Result<Value, String>;

/// Returns the whole new input with which the call writes the wanted texts. `wanted` has paths that [`predict`] named,
/// each once; the files of a patch that it does not name stay as they are predicted. The other fields of the input stay,
/// except for the option that replaces every match.
pub fn inverse(
    tool: &str,
    input: &Value,
    cwd: &Path,
    wanted: &[(PathBuf, Vec<u8>)],
    read: ReadFile,
) -> Inverse {
    let call = ToolInput {
        tool,
        input,
        cwd,
        read,
    };
    let files = match predict(tool, input, cwd, read) {
        Prediction::Files(files) => files,
        Prediction::Unpredicted { reason, .. } => return Err(reason.to_owned()),
        Prediction::Reads { .. } => return Err("the call only reads".to_owned()),
    };
    for (path, text) in wanted {
        let Some(file) = files.iter().find(|file| file.path == *path) else {
            return Err(format!("the call does not write {}", path.display()));
        };
        if PredictedContent::of(text.clone()).text().is_none() {
            return Err(format!(
                "the text for {} is binary or too large",
                path.display()
            ));
        }
        if matches!(
            file.before,
            PredictedContent::Size(_) | PredictedContent::Unknown
        ) {
            return Err(format!(
                "{} is binary, too large or not readable",
                path.display()
            ));
        }
    }
    let form = form(tool, input);
    if let CallForm::Patch(_) = form {
        return patches::inverse(&call, &files, wanted);
    }
    let (Some(file), [(_, text)]) = (files.first(), wanted) else {
        return Err("the call writes one file, and one text is needed".to_owned());
    };
    let text = std::str::from_utf8(text).map_err(|_| "the text is not UTF-8".to_owned())?;
    match form {
        CallForm::Replace(_) => call.replacement(file, text),
        CallForm::Write(_) => call.whole(file, text),
        CallForm::Notebook => call.notebook(file, text),
        CallForm::Blocks => call.blocks(file, text),
        CallForm::Insert => Err("an insertion cannot be changed into another edit".to_owned()),
        CallForm::Texts(_) => Err("an edit inside an editor cannot be changed".to_owned()),
        CallForm::Several(_) => Err("the call writes several files".to_owned()),
        CallForm::Read => Err("the call only reads".to_owned()),
        CallForm::ShellPatch(_) | CallForm::Patch(_) | CallForm::Shell(_) | CallForm::Other => {
            Err("the text of a command cannot be derived from files".to_owned())
        }
    }
}

struct ToolInput<'a> {
    tool: &'a str,
    input: &'a Value,
    cwd: &'a Path,
    read: ReadFile<'a>,
}

impl ToolInput<'_> {
    /// True if an input leads to this text, and the tool does not refuse it.
    fn leads_to(&self, input: &Value, text: &str) -> bool {
        match predict(self.tool, input, self.cwd, self.read) {
            Prediction::Files(files) => matches!(&files[..], [file] if is(file, text)),
            Prediction::Unpredicted { .. } | Prediction::Reads { .. } => false,
        }
    }

    /// The input with other values for some fields.
    fn with(&self, fields: &[(&str, Value)]) -> Value {
        let mut input = self.input.clone();
        for (name, value) in fields {
            input[*name] = value.clone();
        }
        input
    }

    fn whole(&self, file: &PredictedFile, text: &str) -> Inverse {
        let name = InputField::Content
            .name(self.input)
            .ok_or("the input has no text")?;
        let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lf = plain.replace("\r\n", "\n");
        [text, plain, &lf]
            .iter()
            .map(|text| self.with(&[(name, json!(text))]))
            .find(|input| self.leads_to(input, text))
            .ok_or_else(|| match &file.outlook {
                Outlook::Fails(reason) => reason.clone(),
                _ => "the tool changes the line endings or the byte-order mark of such a file"
                    .to_owned(),
            })
    }

    fn replacement(&self, file: &PredictedFile, text: &str) -> Inverse {
        let before = match &file.before {
            PredictedContent::Absent => None,
            content => Some(content.text().ok_or("the file is not text")?),
        };
        if before == Some(text.as_bytes()) {
            return Err("the text is what the file has already; skip the call instead".to_owned());
        }
        let bodies = bodies(before.unwrap_or_default(), text)?;
        let several = self.input.get("edits").is_some();
        if several && let Some(input) = self.separate_pairs(&bodies, text) {
            return Ok(input);
        }
        Pairs::of(&bodies)
            .map(|(old, new)| self.with_pairs(&[(old.to_owned(), new.to_owned())]))
            .find(|input| self.leads_to(input, text))
            .ok_or_else(|| self.not_expressible(file))
    }

    /// One pair for each changed region, each unique in the text that the pairs before it leave.
    fn separate_pairs(&self, bodies: &Bodies, text: &str) -> Option<Value> {
        let (old, new) = (lines(&bodies.old), lines(&bodies.new));
        let hunks = hunks(&bodies.old, &bodies.new);
        if hunks.len() < 2 {
            return None;
        }
        let mut now = bodies.old.clone();
        let mut pairs = Vec::new();
        // from the end, so that the lines before a region are still those of the old text
        for hunk in hunks.iter().rev() {
            let mut goal: String = old[..hunk.old.start].concat();
            goal.push_str(&new[hunk.new.start..].concat());
            let step = Bodies {
                old: now,
                new: goal,
            };
            let (from, to) = Pairs::of(&step).find(|(from, _)| is_unique(&step.old, from))?;
            pairs.push((from.to_owned(), to.to_owned()));
            now = step.new;
        }
        let input = self.with_pairs(&pairs);
        // an edit of what an earlier one wrote may be refused
        let files = predict(self.tool, &input, self.cwd, self.read);
        let is_certain = match &files {
            Prediction::Files(files) => files.iter().all(|file| file.outlook == Outlook::Certain),
            Prediction::Unpredicted { .. } | Prediction::Reads { .. } => false,
        };
        (is_certain && self.leads_to(&input, text)).then_some(input)
    }

    /// The input with these pairs, under the names that it has for the fields.
    fn with_pairs(&self, pairs: &[(String, String)]) -> Value {
        let edits = self.input.get("edits");
        let fields = edits.and_then(|edits| edits.get(0)).unwrap_or(self.input);
        let new_name = InputField::New.name(fields).unwrap_or("new_string");
        let old_name = InputField::Old.name(fields).unwrap_or(match new_name {
            "newString" => "oldString",
            "new_str" => "old_str",
            "new_text" => "old_text",
            _ => "old_string",
        });
        let fill = |fields: &Value, (old, new): &(String, String)| {
            let mut fields = fields.clone();
            fields[old_name] = json!(old);
            fields[new_name] = json!(new);
            if let Some(all) = InputField::All.name(&fields) {
                fields[all] = json!(false);
            }
            fields
        };
        if edits.is_none() {
            return fill(self.input, &pairs[0]);
        }
        let edits: Vec<Value> = pairs.iter().map(|pair| fill(fields, pair)).collect();
        self.with(&[("edits", json!(edits))])
    }

    fn not_expressible(&self, file: &PredictedFile) -> String {
        let asks_for_more = pairs(self.input).is_none();
        match &file.outlook {
            _ if asks_for_more => "the input lacks the new text".to_owned(),
            Outlook::Fails(reason) if file.before == PredictedContent::Absent => reason.clone(),
            _ => "the tool cannot write this text: it keeps the line endings, the byte-order mark \
                  or the end of such a file"
                .to_owned(),
        }
    }

    fn notebook(&self, file: &PredictedFile, text: &str) -> Inverse {
        const ONLY_TEXT: &str = "only the text of the call's own cell can be changed here";
        let predicted = file.after.text().ok_or("the notebook is not predicted")?;
        let read = |bytes| serde_json::from_slice::<Value>(bytes).ok();
        let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (before, after) = (
            read(predicted).ok_or("the notebook is not JSON")?,
            read(plain.as_bytes()).ok_or("the wanted text is not JSON")?,
        );
        let cells = |notebook: &Value| notebook["cells"].as_array().cloned().unwrap_or_default();
        let (before, after) = (cells(&before), cells(&after));
        if before.len() != after.len() {
            return Err(ONLY_TEXT.to_owned());
        }
        let changed = before.iter().zip(&after).find(|(old, new)| old != new);
        let (_, cell) = changed.ok_or(ONLY_TEXT)?;
        let source = match &cell["source"] {
            Value::String(text) => text.clone(),
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            _ => return Err(ONLY_TEXT.to_owned()),
        };
        let input = self.with(&[("new_source", json!(source))]);
        if self.leads_to(&input, text) {
            Ok(input)
        } else {
            Err(ONLY_TEXT.to_owned())
        }
    }

    fn blocks(&self, file: &PredictedFile, text: &str) -> Inverse {
        let before = file.before.text().ok_or("the file is not there")?;
        let bodies = bodies(before, text)?;
        Pairs::of(&bodies)
            .map(|(old, new)| {
                let diff = format!("------- SEARCH\n{old}=======\n{new}+++++++ REPLACE\n");
                self.with(&[("diff", json!(diff))])
            })
            .find(|input| self.leads_to(input, text))
            .ok_or_else(|| self.not_expressible(file))
    }
}

/// True if a file is predicted to have this text.
fn is(file: &PredictedFile, text: &str) -> bool {
    file.after.text() == Some(text.as_bytes()) && !matches!(file.outlook, Outlook::Fails(_))
}

/// Two texts as edit tools see them: in LF, without a byte-order mark.
struct Bodies {
    old: String,
    new: String,
}

fn bodies(before: &[u8], text: &str) -> Result<Bodies, String> {
    let body = |bytes: &[u8]| {
        Text::decode(bytes)
            .map(|text| text.text.replace("\r\n", "\n"))
            .map_err(|reason| reason.reason().to_owned())
    };
    Ok(Bodies {
        old: body(before)?,
        new: body(text.as_bytes())?,
    })
}

/// The changed regions of two texts in LF.
fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    diff::hunks(&FileDiff {
        old: Some(as_side(old)),
        new: Some(as_side(new)),
    })
}

fn as_side(text: &str) -> Side<'_> {
    Side {
        path: b"text",
        mode: 0o100_644,
        bytes: text.as_bytes(),
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn is_unique(text: &str, part: &str) -> bool {
    !part.is_empty() && text.find(part) == text.rfind(part)
}

/// Pairs of old and new text that cover all changes, the smallest first: the changed lines, and then ever more lines
/// around them, up to the whole text. Only those whose old text is unique, besides the last.
struct Pairs<'a> {
    bodies: &'a Bodies,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    /// Equal lines at both ends.
    head: usize,
    tail: usize,
    /// Lines of context; None: all were tried.
    context: Option<usize>,
}

impl<'a> Pairs<'a> {
    fn of(bodies: &'a Bodies) -> Self {
        let (old, new) = (lines(&bodies.old), lines(&bodies.new));
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let room = old.len().min(new.len()) - head;
        let (ends, others) = (old.iter().rev(), new.iter().rev());
        let tail = ends
            .zip(others)
            .take(room)
            .take_while(|(a, b)| a == b)
            .count();
        Self {
            bodies,
            old,
            new,
            head,
            tail,
            context: Some(0),
        }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        const LINE_BY_LINE: usize = 32;
        let size = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
        loop {
            let context = self.context?;
            let start = self.head.saturating_sub(context);
            let tail = self.tail.saturating_sub(context);
            let is_all = start == 0 && tail == 0;
            self.context = (!is_all).then(|| match context {
                0..LINE_BY_LINE => context + 1,
                _ => context * 2,
            });
            let from = size(&self.old[..start]);
            let rest = size(&self.old[self.old.len() - tail..]);
            let part = |text: &'a str| &text[from..text.len() - rest];
            let (old, new) = (part(&self.bodies.old), part(&self.bodies.new));
            debug_assert_eq!(size(&self.new[..start]), from, "the ends are equal");
            if is_all || is_unique(&self.bodies.old, old) {
                return Some((old, new));
            }
        }
    }
}

#[cfg(test)]
mod tests;
