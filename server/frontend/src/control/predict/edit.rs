//! Tools that replace text in a file, or write a file as a whole. Owns their rules, apart from each agent's own, which
//! are a [`EditRules`].

use std::path::{Path, PathBuf};

use backstitch_agents::edit_rules::{Bom, EditRules, Ends};
use backstitch_agents::{CLAUDE_RULES, CLINE_RULES};
use serde_json::Value;

use super::blocks;
use super::edit_effect::EditEffect;
use super::form::InputField;
use super::replacement::{Pair, edit};
use super::text::{NotText, Text, mostly_crlf, to_crlf, to_lf};
use super::{FileNow, Outlook, PredictedContent, PredictedFile, ReadFile, ResolvedPath, resolve};

/// Returns the replacements of an input, in order. None: a field is missing or has another type.
pub fn pairs(input: &Value) -> Option<Vec<Pair<'_>>> {
    let pair = |fields| {
        Some(Pair {
            old: InputField::Old.text(fields).unwrap_or_default(),
            new: InputField::New.text(fields)?,
            all: InputField::All.is_true(fields),
        })
    };
    match input.get("edits") {
        Some(edits) => edits.as_array()?.iter().map(pair).collect(),
        None => Some(vec![pair(input)?]),
    }
}

/// Predicts one or several replacements in a file.
pub fn replace(dialect: &EditRules, input: &Value, path: PathBuf, read: ReadFile) -> PredictedFile {
    let found = match find(dialect, &path, read) {
        Ok(found) => found,
        Err(failed) => return *failed,
    };
    let Some(pairs) = pairs(input).filter(|pairs| !pairs.is_empty()) else {
        let reason = "the input lacks the old or the new text";
        return PredictedFile::fails(path, found.content(), reason);
    };
    let is_notebook = path.extension().is_some_and(|end| end == "ipynb");
    if is_notebook && *dialect == CLAUDE_RULES && found.exists() {
        let reason = "Claude Code edits a notebook only with NotebookEdit";
        return PredictedFile::fails(path, found.content(), reason);
    }
    let file = found.edited(dialect, path, |text| edit(dialect, text, &pairs));
    with_doubt(dialect, file)
}

/// Predicts a file that is written as a whole.
pub fn write(dialect: &EditRules, input: &Value, path: PathBuf, read: ReadFile) -> PredictedFile {
    let found = match find(dialect, &path, read) {
        Ok(found) => found,
        Err(failed) => return *failed,
    };
    let content = InputField::Content.text(input).unwrap_or_default();
    let rules = &dialect.write;
    if rules.refuses_existing && found.exists() {
        let reason = "the file exists already";
        return PredictedFile::fails(path, found.content(), reason);
    }
    let folder = path.parent().map(read);
    if rules.refuses_new_folder && matches!(folder, Some(Ok(FileNow::Absent))) {
        return PredictedFile::fails(path, found.content(), "its folder does not exist");
    }
    let (mut after, mut doubt) = (content.to_owned(), None);
    let mut bom = false;
    match &found.now {
        FileNow::File(bytes) => {
            if rules.keeps_crlf && has_crlf(bytes) {
                after = to_crlf(&after);
            }
            match Text::decode(bytes) {
                Ok(text) if text.bom && rules.bom == Bom::Kept => {
                    bom = !after.starts_with('\u{feff}');
                }
                Ok(text) if text.bom && rules.bom == Bom::KeptOrLost => {
                    doubt =
                        Some("the file has a byte-order mark, which the tool may keep".to_owned());
                }
                Err(NotText::Utf16Le) => {
                    doubt = Some("the file is UTF-16, and may stay so".to_owned());
                }
                _ => {}
            }
        }
        FileNow::TooLarge(_) if rules.keeps_crlf || rules.bom != Bom::Lost => {
            doubt = Some("the file is too large to look at its line endings".to_owned());
        }
        _ => {}
    }
    let after = PredictedContent::of(Text::encode(bom, &after));
    let before = found.content();
    let file = PredictedFile::new(path, before, after, outlook(doubt));
    with_doubt(dialect, found.through_link(file))
}

/// Predicts Cline's SEARCH and REPLACE blocks.
pub fn blocks(input: &Value, path: PathBuf, read: ReadFile) -> PredictedFile {
    let dialect = &CLINE_RULES;
    let found = match find(dialect, &path, read) {
        Ok(found) => found,
        Err(failed) => return *failed,
    };
    let diff = input
        .get("diff")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(blocks) = blocks::parse(diff) else {
        let reason = "the SEARCH and REPLACE blocks are not complete";
        return PredictedFile::fails(path, found.content(), reason);
    };
    let file = found.edited(dialect, path, |text| blocks::apply(text, &blocks));
    with_doubt(dialect, file)
}

/// Predicts Cline's insertion before a line, counted from 1.
pub fn insert(input: &Value, path: PathBuf, read: ReadFile) -> PredictedFile {
    let dialect = &CLINE_RULES;
    let found = match find(dialect, &path, read) {
        Ok(found) => found,
        Err(failed) => return *failed,
    };
    let line = input.get("insert_line").and_then(Value::as_u64);
    let new = InputField::New.text(input).unwrap_or_default();
    let file = found.edited(dialect, path, |text| {
        let Some(text) = text else {
            return EditEffect::Refused("the file does not exist".to_owned());
        };
        let lf = to_lf(text);
        let mut lines: Vec<&str> = lf.split('\n').collect();
        let at = line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
        match at.filter(|&at| at <= lines.len()) {
            Some(at) => {
                let new = to_lf(new);
                lines.splice(at..at, new.split('\n'));
                let after = lines.join("\n");
                EditEffect::Text(if text.contains("\r\n") {
                    to_crlf(&after)
                } else {
                    after
                })
            }
            None => EditEffect::Refused("there is no such line".to_owned()),
        }
    });
    with_doubt(dialect, file)
}

fn with_doubt(dialect: &EditRules, file: PredictedFile) -> PredictedFile {
    match dialect.doubt {
        Some(doubt) => file.doubted(doubt),
        None => file,
    }
}

fn outlook(doubt: Option<String>) -> Outlook {
    doubt.map_or(Outlook::Certain, Outlook::Unsure)
}

fn has_crlf(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\r\n")
}

/// Reads the file of a call. Err: the prediction that it fails, or that it is open.
fn find(
    dialect: &EditRules,
    path: &Path,
    read: ReadFile,
) -> Result<ResolvedPath, Box<PredictedFile>> {
    let fails = |before, reason: String| {
        Err(Box::new(PredictedFile::fails(
            path.to_owned(),
            before,
            reason,
        )))
    };
    let found = match resolve(path, read) {
        Ok(found) => found,
        Err(reason) => {
            let outlook = Outlook::Unsure(format!("the file cannot be read: {reason}"));
            let open = PredictedFile::new(
                path.to_owned(),
                PredictedContent::Unknown,
                PredictedContent::Unknown,
                outlook,
            );
            return Err(Box::new(open));
        }
    };
    if let Some(target) = found.link.as_ref().filter(|_| dialect.refuses_links) {
        let reason = format!(
            "{} does not write through a symlink; the target is {}",
            dialect.agent,
            target.display()
        );
        return fails(found.content(), reason);
    }
    match &found.now {
        FileNow::Directory => return fails(PredictedContent::Unknown, "it is a folder".to_owned()),
        FileNow::File(bytes) if dialect.refuses_binary => match Text::decode(bytes) {
            Err(reason @ (NotText::Utf16Be | NotText::Nul | NotText::NotUtf8)) => {
                let reason = format!("{}, which {} refuses", reason.reason(), dialect.agent);
                return fails(found.content(), reason);
            }
            Ok(_) | Err(NotText::Utf16Le | NotText::LateNul) => {}
        },
        _ => {}
    }
    Ok(found)
}

impl ResolvedPath {
    pub(super) fn exists(&self) -> bool {
        self.now != FileNow::Absent
    }

    pub(super) fn content(&self) -> PredictedContent {
        match &self.now {
            FileNow::Absent => PredictedContent::Absent,
            FileNow::File(bytes) => PredictedContent::of(bytes.clone()),
            FileNow::TooLarge(size) => PredictedContent::Size(*size),
            FileNow::Link(_) | FileNow::Directory => PredictedContent::Unknown,
        }
    }

    /// Names the target of a symlink as a reason for doubt.
    pub(super) fn through_link(&self, file: PredictedFile) -> PredictedFile {
        match &self.link {
            Some(target) => {
                let target = target.display();
                file.doubted(format!("it is a symlink, and the tool writes to {target}"))
            }
            None => file,
        }
    }

    /// Predicts an edit of the text. `effect` gets the text in the form that the tool edits; None: no file.
    fn edited(
        &self,
        dialect: &EditRules,
        path: PathBuf,
        effect: impl FnOnce(Option<&str>) -> EditEffect,
    ) -> PredictedFile {
        let before = self.content();
        let open = |before, reason: &str| {
            let outlook = Outlook::Unsure(reason.to_owned());
            PredictedFile::new(path.clone(), before, PredictedContent::Unknown, outlook)
        };
        let text = match &self.now {
            FileNow::File(bytes) => match Text::decode(bytes) {
                Ok(text) => Some(text),
                Err(reason) => return open(before, reason.reason()),
            },
            FileNow::TooLarge(_) => return open(before, "the file is too large to predict"),
            _ => None,
        };
        let bom = text.as_ref().is_some_and(|text| text.bom);
        let text = text.map(|text| text.text);
        let (whole_file_crlf, edited) = match (&text, dialect.ends) {
            (Some(text), Ends::Majority) => (mostly_crlf(text), Some(to_lf(text))),
            (Some(text), Ends::AnyCrlf { .. }) => (text.contains("\r\n"), Some(to_lf(text))),
            (Some(text), Ends::Adapted) => (false, Some(text.clone())),
            (None, _) => (false, None),
        };
        let encode = |after: String| {
            let after = if whole_file_crlf {
                to_crlf(&after)
            } else {
                after
            };
            PredictedContent::of(Text::encode(bom, &after))
        };
        let file = match effect(edited.as_deref()) {
            EditEffect::Text(after) => {
                PredictedFile::new(path, before, encode(after), Outlook::Certain)
            }
            EditEffect::Perhaps(after, reason) => {
                PredictedFile::new(path, before, encode(after), Outlook::Unsure(reason))
            }
            EditEffect::Open(reason) => PredictedFile::new(
                path,
                before,
                PredictedContent::Unknown,
                Outlook::Unsure(reason),
            ),
            EditEffect::Refused(reason) => return PredictedFile::fails(path, before, reason),
        };
        self.through_link(file)
    }
}
