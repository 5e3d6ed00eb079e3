//! Tools that replace text in a file, or write a file as a whole. Owns their rules, apart from each agent's own, which
//! are a [`EditRules`].

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::form::InputField;
use super::text::{NotText, Text, count, is_mixed, mostly_crlf, to_crlf, to_lf};
use super::{FileNow, Outlook, PredictedContent, PredictedFile, ReadFile, ResolvedPath, resolve};
use crate::agents::edit_rules::{Bom, DeletesLine, Dollars, EditRules, Ends, Fills};
use crate::agents::{CLAUDE_RULES, CLINE_RULES};

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// Every match is replaced.
    pub all: bool,
}

/// Effect of an edit on a text.
enum EditEffect {
    Text(String),
    /// The text, and a reason for doubt.
    Perhaps(String, String),
    /// An effect that cannot be predicted, with the reason.
    Open(String),
    Refused(String),
}

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
    let Some(blocks) = parse_blocks(diff) else {
        let reason = "the SEARCH and REPLACE blocks are not complete";
        return PredictedFile::fails(path, found.content(), reason);
    };
    let file = found.edited(dialect, path, |text| apply_blocks(text, &blocks));
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

/// Applies the pairs one after the other. None: no file.
fn edit(dialect: &EditRules, text: Option<&str>, pairs: &[Pair]) -> EditEffect {
    let mut text = text.map(str::to_owned);
    let mut doubt = None;
    for (number, pair) in pairs.iter().enumerate() {
        let earlier = pairs[..number].iter();
        let place = |reason: String| match pairs.len() {
            1 => reason,
            _ => format!("edit {}: {reason}", number + 1),
        };
        if dialect.edits_as_one
            && !pair.old.is_empty()
            && earlier
                .map(|pair| pair.new)
                .any(|new| new.contains(pair.old))
        {
            let reason = "its old text is part of an earlier edit's new text".to_owned();
            doubt = Some(place(reason));
        }
        text = match edit_once(dialect, text.as_deref(), pair) {
            EditEffect::Text(after) => Some(after),
            EditEffect::Perhaps(after, reason) => {
                doubt = doubt.or(Some(place(reason)));
                Some(after)
            }
            EditEffect::Open(reason) => return EditEffect::Open(place(reason)),
            EditEffect::Refused(reason) if number > 0 && !dialect.edits_as_one => {
                let reason = format!("{}; the edits before it may stay", place(reason));
                return EditEffect::Open(reason);
            }
            EditEffect::Refused(reason) => return EditEffect::Refused(place(reason)),
        };
    }
    match (text, doubt) {
        (Some(text), None) => EditEffect::Text(text),
        (Some(text), Some(doubt)) => EditEffect::Perhaps(text, doubt),
        (None, _) => EditEffect::Refused("there is no edit".to_owned()),
    }
}

fn edit_once(dialect: &EditRules, text: Option<&str>, pair: &Pair) -> EditEffect {
    let same = "old and new text are the same";
    if pair.old == pair.new && dialect.fills == Fills::NewOrBlank {
        return EditEffect::Refused(same.to_owned());
    }
    let Some(text) = text else {
        return create(dialect, pair);
    };
    if pair.old.is_empty() {
        return fill(dialect, text, pair.new);
    }
    let (old, new) = adapt(dialect, text, pair);
    if old == new {
        return match dialect.fills {
            Fills::Empty => EditEffect::Text(text.to_owned()),
            _ => EditEffect::Refused(same.to_owned()),
        };
    }
    let matches = count(text, &old);
    let overlapping = text.find(&old) != text.rfind(&old);
    match matches {
        0 => return not_found(dialect, text, &old, &new, pair.all),
        1 if !(overlapping && dialect.several_may_match) || pair.all => {}
        _ if pair.all => {}
        _ if dialect.several_may_match => {
            let reason = format!("the old text is there {} times", matches.max(2));
            return EditEffect::Open(reason);
        }
        _ => {
            let hint = if dialect.fills == Fills::Empty {
                ""
            } else {
                ", and not all are to be replaced"
            };
            return EditEffect::Refused(format!("the old text is there {matches} times{hint}"));
        }
    }
    let after = put(dialect, text, &old, &new, pair.all);
    let ends_unsure = dialect.ends == Ends::Adapted
        && dialect.fills != Fills::New
        && new.contains('\n')
        && is_mixed(text);
    let dollars_unsure = new.contains('$')
        && match dialect.dollars {
            Dollars::Plain => false,
            Dollars::InAll => pair.all,
            Dollars::Anywhere => true,
        };
    let line_unsure =
        dialect.deletes_line == DeletesLine::Maybe && new.is_empty() && !old.ends_with('\n');
    if ends_unsure {
        let reason = "the file has both kinds of line endings";
        return EditEffect::Perhaps(after, reason.to_owned());
    }
    if dollars_unsure {
        let reason = format!("{} may give $ in the new text a meaning", dialect.agent);
        return EditEffect::Perhaps(after, reason);
    }
    if line_unsure {
        let reason = format!("{} may remove the end of the line, too", dialect.agent);
        return EditEffect::Perhaps(after, reason);
    }
    EditEffect::Text(after)
}

/// An edit of a file that does not exist.
fn create(dialect: &EditRules, pair: &Pair) -> EditEffect {
    match dialect.fills {
        Fills::AnyNew => EditEffect::Text(pair.new.to_owned()),
        Fills::New | Fills::NewOrBlank if pair.old.is_empty() => {
            EditEffect::Text(pair.new.to_owned())
        }
        _ => EditEffect::Refused("the file does not exist".to_owned()),
    }
}

/// An edit without old text, in a file that exists.
fn fill(dialect: &EditRules, text: &str, new: &str) -> EditEffect {
    let may = match dialect.fills {
        Fills::NewOrBlank => text.trim().is_empty(),
        Fills::Empty => text.is_empty(),
        Fills::New | Fills::AnyNew => false,
    };
    if may {
        EditEffect::Text(new.to_owned())
    } else {
        EditEffect::Refused("the old text is empty, and the file exists already".to_owned())
    }
}

/// Returns old and new text with the line endings that the tool looks for and writes.
fn adapt(dialect: &EditRules, text: &str, pair: &Pair) -> (String, String) {
    match dialect.ends {
        Ends::Majority => (pair.old.to_owned(), pair.new.to_owned()),
        Ends::AnyCrlf { new_text: false } => (to_lf(pair.old), pair.new.to_owned()),
        Ends::Adapted if text.contains("\r\n") => (to_crlf(pair.old), to_crlf(pair.new)),
        Ends::AnyCrlf { new_text: true } | Ends::Adapted => (to_lf(pair.old), to_lf(pair.new)),
    }
}

fn put(dialect: &EditRules, text: &str, old: &str, new: &str, all: bool) -> String {
    let line;
    let deletes = new.is_empty() && !old.ends_with('\n') && dialect.deletes_line != DeletesLine::No;
    let old = if deletes {
        line = format!("{old}\n");
        if text.contains(&line) { &line } else { old }
    } else {
        old
    };
    let mut after = if all {
        text.replace(old, new)
    } else {
        text.replacen(old, new, 1)
    };
    if dialect.keeps_final_newline {
        match (text.ends_with('\n'), after.ends_with('\n')) {
            (true, false) => after.push('\n'),
            (false, true) => {
                after.pop();
            }
            _ => {}
        }
    }
    after
}

/// The old text is not in the file as it is written.
fn not_found(dialect: &EditRules, text: &str, old: &str, new: &str, all: bool) -> EditEffect {
    if dialect.is_loose {
        let reason = format!(
            "the old text is not in the file as written, but {} also looks for similar text",
            dialect.agent
        );
        return EditEffect::Open(reason);
    }
    let plain = plain_quotes(text);
    let found = plain
        .find(&plain_quotes(old))
        .filter(|_| dialect.equates_quotes);
    let Some(at) = found else {
        return EditEffect::Refused("the old text is not in the file".to_owned());
    };
    // the same number of characters: each quote is one
    let skipped = plain[..at].chars().count();
    let actual: String = text
        .chars()
        .skip(skipped)
        .take(old.chars().count())
        .collect();
    if count(text, &actual) > 1 && !all {
        let reason = "the old text is there several times, apart from the form of quotes";
        return EditEffect::Refused(reason.to_owned());
    }
    let new = curly_quotes(new, &actual);
    let after = put(dialect, text, &actual, &new, all);
    let reason = "the old text is there only with typographic quotes";
    EditEffect::Perhaps(after, reason.to_owned())
}

fn plain_quotes(text: &str) -> String {
    text.replace(['“', '”'], "\"").replace(['‘', '’'], "'")
}

/// Gives the new text the typographic quotes that `like` has.
fn curly_quotes(new: &str, like: &str) -> String {
    let (double, single) = (like.contains(['“', '”']), like.contains(['‘', '’']));
    let chars: Vec<char> = new.chars().collect();
    let opens = |at: usize| {
        at == 0
            || matches!(
                chars[at - 1],
                ' ' | '\t' | '\n' | '\r' | '(' | '[' | '{' | '—' | '–'
            )
    };
    let is_letter = |at: Option<usize>| {
        at.and_then(|at| chars.get(at))
            .is_some_and(|char| char.is_alphabetic())
    };
    let quote = |(at, &char): (usize, &char)| match char {
        '"' if double && opens(at) => '“',
        '"' if double => '”',
        '\'' if single && is_letter(at.checked_sub(1)) && is_letter(Some(at + 1)) => '’',
        '\'' if single && opens(at) => '‘',
        '\'' if single => '’',
        char => char,
    };
    chars.iter().enumerate().map(quote).collect()
}

/// One of Cline's blocks: whole lines, each with its newline.
struct Block {
    search: String,
    replace: String,
}

fn parse_blocks(diff: &str) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    // the block that is read, and the side of it
    let mut open: Option<(Block, bool)> = None;
    for line in to_lf(diff).split_inclusive('\n') {
        let marker = line.trim_end();
        match &mut open {
            None if is_marker(marker, &['-', '<'], " SEARCH") => {
                let block = Block {
                    search: String::new(),
                    replace: String::new(),
                };
                open = Some((block, false));
            }
            None if marker.is_empty() => {}
            None => return None,
            Some((_, side @ false)) if is_marker(marker, &['='], "") => *side = true,
            Some((_, true)) if is_marker(marker, &['+', '>'], " REPLACE") => {
                blocks.extend(open.take().map(|(block, _)| block));
            }
            Some((block, false)) => block.search.push_str(line),
            Some((block, true)) => block.replace.push_str(line),
        }
    }
    (open.is_none() && !blocks.is_empty()).then_some(blocks)
}

/// At least three of one sign, and then the word.
fn is_marker(line: &str, signs: &[char], word: &str) -> bool {
    let Some(bar) = line.strip_suffix(word) else {
        return false;
    };
    signs
        .iter()
        .any(|sign| bar.len() >= 3 && bar.chars().all(|char| char == *sign))
}

/// Each block is looked for after the one before it.
fn apply_blocks(text: Option<&str>, blocks: &[Block]) -> EditEffect {
    let original = text.unwrap_or_default();
    let crlf = original.contains("\r\n");
    let text = to_lf(original);
    let (mut after, mut done) = (String::new(), 0);
    for (number, block) in blocks.iter().enumerate() {
        if block.search.is_empty() {
            if !text.is_empty() || blocks.len() > 1 {
                return EditEffect::Open(format!("block {} has nothing to search", number + 1));
            }
            return EditEffect::Text(block.replace.clone());
        }
        let Some(at) = text[done..].find(&block.search) else {
            let reason = format!("block {} is not in the file as written", number + 1);
            return EditEffect::Open(reason);
        };
        after.push_str(&text[done..done + at]);
        after.push_str(&block.replace);
        done += at + block.search.len();
    }
    after.push_str(&text[done..]);
    EditEffect::Text(if crlf { to_crlf(&after) } else { after })
}
