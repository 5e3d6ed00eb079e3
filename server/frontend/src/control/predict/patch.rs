//! Patches of Codex's `apply_patch`: their grammar, and their effect on files. The rules are those of Codex 0.169.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{FileNow, Outlook, PredictedContent, PredictedFile, ReadFile, absolute, resolve};

/// The changes of a patch, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch<'a>(pub Vec<FilePatch<'a>>);

/// One file's part of a patch, with paths as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePatch<'a> {
    Add {
        path: &'a str,
        text: String,
    },
    Delete {
        path: &'a str,
    },
    Update {
        path: &'a str,
        move_to: Option<&'a str>,
        chunks: Vec<Chunk<'a>>,
    },
}

/// A run of lines that a patch looks for and changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// A line after which the chunk is looked for: the text after `@@ `.
    pub after: Option<&'a str>,
    pub lines: Vec<Line<'a>>,
    /// The chunk ends at the end of the file.
    pub at_end: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Kept(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

const END_OF_FILE: &str = "*** End of File";

/// Parses a patch. Err: the reason why Codex refuses it.
pub fn parse(text: &str) -> Result<Patch<'_>, String> {
    let mut lines: Vec<&str> = text
        .trim()
        .lines()
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    let is_here_document = matches!(lines.first(), Some(&("<<EOF" | "<<'EOF'" | "<<\"EOF\"")))
        && lines.len() >= 4
        && lines.last().is_some_and(|line| line.ends_with("EOF"));
    if is_here_document {
        lines.pop();
        lines.remove(0);
    }
    if lines.first().map(|line| line.trim()) != Some("*** Begin Patch") {
        return Err("the patch does not start with *** Begin Patch".to_owned());
    }
    if lines.len() < 2 || lines.last().map(|line| line.trim()) != Some("*** End Patch") {
        return Err("the patch does not end with *** End Patch".to_owned());
    }
    let mut rest = &lines[1..lines.len() - 1];
    if rest
        .first()
        .is_some_and(|line| line.trim().starts_with("*** Environment ID:"))
    {
        rest = &rest[1..];
    }
    let mut changes = Vec::new();
    while let [header, body @ ..] = rest {
        let (change, used) = change(header.trim(), body)?;
        changes.push(change);
        rest = &body[used..];
    }
    Ok(Patch(changes))
}

/// Parses one file's part. Returns the number of lines used after the header, too.
fn change<'a>(header: &'a str, body: &[&'a str]) -> Result<(FilePatch<'a>, usize), String> {
    if let Some(path) = header.strip_prefix("*** Add File: ") {
        let added: Vec<&str> = body
            .iter()
            .map_while(|line| line.strip_prefix('+'))
            .collect();
        let text = added.iter().flat_map(|line| [*line, "\n"]).collect();
        return Ok((FilePatch::Add { path, text }, added.len()));
    }
    if let Some(path) = header.strip_prefix("*** Delete File: ") {
        return Ok((FilePatch::Delete { path }, 0));
    }
    let Some(path) = header.strip_prefix("*** Update File: ") else {
        return Err(format!("“{header}” is not the header of a file"));
    };
    let move_to = body
        .first()
        .and_then(|line| line.strip_prefix("*** Move to: "));
    let mut used = usize::from(move_to.is_some());
    let mut chunks = Vec::new();
    while let Some(line) = body.get(used) {
        if *line == END_OF_FILE || line.trim().is_empty() && !chunks.is_empty() {
            used += 1;
            continue;
        }
        if line.starts_with("***") {
            break;
        }
        let (chunk, lines) = chunk(&body[used..], chunks.is_empty())?;
        chunks.push(chunk);
        used += lines;
    }
    if chunks.is_empty() {
        return Err(format!("the update of {path} is empty"));
    }
    let update = FilePatch::Update {
        path,
        move_to,
        chunks,
    };
    Ok((update, used))
}

fn chunk<'a>(body: &[&'a str], is_first: bool) -> Result<(Chunk<'a>, usize), String> {
    let mut chunk = Chunk::default();
    let mut used = 1;
    match body[0].strip_prefix("@@") {
        Some(after) if after.trim().is_empty() => {}
        Some(after) if after.starts_with(' ') => chunk.after = Some(after[1..].trim_end()),
        _ if is_first => used = 0,
        _ => return Err(format!("“{}” is not the start of a chunk", body[0])),
    }
    for line in &body[used..] {
        if *line == END_OF_FILE && !chunk.lines.is_empty() {
            chunk.at_end = true;
            used += 1;
            break;
        }
        let line = match line.as_bytes().first() {
            None => Line::Kept(""),
            Some(b' ') => Line::Kept(&line[1..]),
            Some(b'-') => Line::Removed(&line[1..]),
            Some(b'+') => Line::Added(&line[1..]),
            Some(_) if chunk.lines.is_empty() => {
                return Err(format!("“{line}” is not a line of a chunk"));
            }
            Some(_) => break,
        };
        chunk.lines.push(line);
        used += 1;
    }
    if chunk.lines.is_empty() {
        return Err("a chunk has no lines".to_owned());
    }
    Ok((chunk, used))
}

/// Predicts the files of a patch. If a part is refused, Codex writes nothing.
pub fn predict(text: &str, cwd: &Path, read: ReadFile) -> Vec<PredictedFile> {
    let patch = match parse(text) {
        Ok(patch) => patch,
        Err(reason) => return refused(text, cwd, read, &reason),
    };
    let mut files = Simulation {
        read,
        now: BTreeMap::new(),
        predicted: Vec::new(),
        refused: None,
    };
    for change in &patch.0 {
        match change {
            FilePatch::Add { path, text } => files.add(absolute(cwd, Path::new(path)), text),
            FilePatch::Delete { path } => files.delete(absolute(cwd, Path::new(path))),
            FilePatch::Update {
                path,
                move_to,
                chunks,
            } => {
                let path = absolute(cwd, Path::new(path));
                let to = move_to.map(|to| absolute(cwd, Path::new(to)));
                files.update(path, to, chunks);
            }
        }
    }
    files.end()
}

/// Files of a patch that cannot be parsed: those that its headers name.
fn refused(text: &str, cwd: &Path, read: ReadFile, reason: &str) -> Vec<PredictedFile> {
    const HEADERS: [&str; 3] = ["*** Add File: ", "*** Delete File: ", "*** Update File: "];
    let named = |line| {
        HEADERS
            .iter()
            .find_map(|header| str::strip_prefix(line, header))
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in text.lines().map(str::trim).filter_map(named) {
        let path = absolute(cwd, Path::new(path));
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
        .into_iter()
        .map(|path| {
            let before =
                resolve(&path, read).map_or(PredictedContent::Unknown, |found| found.content());
            PredictedFile::fails(path, before, reason)
        })
        .collect()
}

/// Files while a patch is applied to them in memory.
struct Simulation<'a> {
    read: ReadFile<'a>,
    /// Contents of the paths that the patch has changed so far; None: absent.
    now: BTreeMap<PathBuf, Option<Vec<u8>>>,
    predicted: Vec<PredictedFile>,
    /// The path of the first part that is refused, with the reason.
    refused: Option<(PathBuf, String)>,
}

impl Simulation<'_> {
    fn add(&mut self, path: PathBuf, text: &str) {
        match self.look(&path) {
            Ok((_, FileNow::Directory)) => {
                self.refuse(path, PredictedContent::Unknown, "it is a folder");
            }
            Ok((before, _)) => {
                let after = Some(text.as_bytes().to_vec());
                self.change(path, before, after);
            }
            Err(reason) => self.refuse(path, PredictedContent::Unknown, &reason),
        }
    }

    fn delete(&mut self, path: PathBuf) {
        match self.look(&path) {
            Ok((_, FileNow::Directory)) => {
                self.refuse(path, PredictedContent::Unknown, "it is a folder");
            }
            Ok((before, FileNow::Absent)) => self.refuse(path, before, "the file does not exist"),
            Ok((before, _)) => self.change(path, before, None),
            Err(reason) => self.refuse(path, PredictedContent::Unknown, &reason),
        }
    }

    fn update(&mut self, path: PathBuf, to: Option<PathBuf>, chunks: &[Chunk]) {
        let (before, bytes) = match self.look(&path) {
            Ok((before, FileNow::File(bytes))) => (before, bytes),
            Ok((before, FileNow::TooLarge(_))) => {
                let outlook = Outlook::Unsure("the file is too large to predict".to_owned());
                let (path, moved_from) = match to {
                    Some(to) => (to, Some(path)),
                    None => (path, None),
                };
                let file = PredictedFile::new(path, before, PredictedContent::Unknown, outlook);
                self.predicted.push(PredictedFile { moved_from, ..file });
                return;
            }
            Ok((before, FileNow::Absent)) => {
                return self.refuse(path, before, "the file does not exist");
            }
            Ok((before, _)) => return self.refuse(path, before, "it is a folder"),
            Err(reason) => return self.refuse(path, PredictedContent::Unknown, &reason),
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return self.refuse(path, before, "the file is not UTF-8");
        };
        let after = match apply(text, chunks) {
            Ok(after) => after.into_bytes(),
            Err(reason) => return self.refuse(path, before, &reason),
        };
        let Some(to) = to else {
            return self.change(path, before, Some(after));
        };
        let there = match self.look(&to) {
            Ok((there, _)) => there,
            Err(reason) => return self.refuse(to, PredictedContent::Unknown, &reason),
        };
        if there == PredictedContent::Absent && to != path {
            self.now.insert(path.clone(), None);
            self.now.insert(to.clone(), Some(after.clone()));
            let file =
                PredictedFile::new(to, before, PredictedContent::of(after), Outlook::Certain);
            self.predicted.push(PredictedFile {
                moved_from: Some(path),
                ..file
            });
        } else {
            self.change(to, there, Some(after));
            self.change(path, before, None);
        }
    }

    /// Returns a path's content as the patch finds it.
    fn look(&self, path: &Path) -> Result<(PredictedContent, FileNow), String> {
        match self.now.get(path) {
            Some(None) => Ok((PredictedContent::Absent, FileNow::Absent)),
            Some(Some(bytes)) => Ok((
                PredictedContent::of(bytes.clone()),
                FileNow::File(bytes.clone()),
            )),
            None => {
                let found = resolve(path, self.read)
                    .map_err(|reason| format!("the file cannot be read: {reason}"))?;
                Ok((found.content(), found.now))
            }
        }
    }

    fn change(&mut self, path: PathBuf, before: PredictedContent, after: Option<Vec<u8>>) {
        self.now.insert(path.clone(), after.clone());
        let after = after.map_or(PredictedContent::Absent, PredictedContent::of);
        if let Some(known) = self.predicted.iter_mut().find(|file| file.path == path) {
            let reason = "the patch changes the file several times".to_owned();
            known.after = after;
            known.outlook = Outlook::Unsure(reason);
            return;
        }
        let file = PredictedFile::new(path, before, after, Outlook::Certain);
        let file = match resolve(&file.path, self.read) {
            Ok(found) => found.through_link(file),
            Err(_) => file,
        };
        self.predicted.push(file);
    }

    fn refuse(&mut self, path: PathBuf, before: PredictedContent, reason: &str) {
        self.refused
            .get_or_insert_with(|| (path.clone(), reason.to_owned()));
        self.predicted
            .push(PredictedFile::fails(path, before, reason));
    }

    fn end(self) -> Vec<PredictedFile> {
        let Some((path, reason)) = self.refused else {
            return self.predicted;
        };
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let whole = format!("the patch is refused as a whole: {name}: {reason}");
        let refuse = |file: PredictedFile| match &file.outlook {
            Outlook::Fails(_) => file,
            _ => PredictedFile::fails(
                file.moved_from.unwrap_or(file.path),
                file.before,
                whole.clone(),
            ),
        };
        self.predicted.into_iter().map(refuse).collect()
    }
}

/// A line of a file, without its ending.
#[derive(Clone, Copy)]
struct SourceLine<'a> {
    text: &'a str,
    /// Empty: the last line has none.
    ending: &'a str,
}

/// Splits a text at LF, CRLF and CR.
fn source_lines(text: &str) -> Vec<SourceLine<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let ending = match &rest[end..] {
            tail if tail.starts_with("\r\n") => 2,
            "" => 0,
            _ => 1,
        };
        lines.push(SourceLine {
            text: &rest[..end],
            ending: &rest[end..end + ending],
        });
        rest = &rest[end + ending..];
    }
    lines
}

/// Applies chunks to a text. Err: the reason why Codex refuses them.
pub fn apply(text: &str, chunks: &[Chunk]) -> Result<String, String> {
    let source = source_lines(text);
    let texts: Vec<&str> = source.iter().map(|line| line.text).collect();
    let ending = source.first().map_or("\n", |line| line.ending);
    let ending = if ending.is_empty() { "\n" } else { ending };
    let mut runs: Vec<Run> = Vec::new();
    let mut from = 0;
    for chunk in chunks {
        if let Some(after) = chunk.after {
            let found = seek(&texts, &[after], from, false);
            from = found.ok_or_else(|| format!("the line “{after}” is not in the file"))? + 1;
        }
        let mut old: Vec<&str> = chunk.lines.iter().filter_map(Line::old).collect();
        if old.is_empty() {
            runs.extend(Run::of(&chunk.lines, texts.len()));
            continue;
        }
        let mut lines = Cow::from(&chunk.lines);
        let mut found = seek(&texts, &old, from, chunk.at_end);
        if found.is_none() && old.last() == Some(&"") {
            // the empty line stands for the newline at the end of the file
            old.pop();
            found = seek(&texts, &old, from, chunk.at_end);
            lines = Cow::from(without_last_blank(&lines));
        }
        let at = found.ok_or_else(|| not_there(&old))?;
        runs.extend(Run::of(&lines, at));
        from = at + old.len();
    }
    // runs at the same line stay in the order of the patch
    runs.sort_by_key(|run| run.start);
    let mut after = String::with_capacity(text.len());
    let mut put = |text: &str, end: &str| {
        after.push_str(text);
        after.push_str(if end.is_empty() { ending } else { end });
    };
    let mut done = 0;
    for run in runs {
        for line in &source[done..run.start] {
            put(line.text, line.ending);
        }
        for line in run.added {
            put(line, ending);
        }
        done = run.start + run.removed;
    }
    for line in &source[done..] {
        put(line.text, line.ending);
    }
    Ok(after)
}

/// Lines next to each other that a chunk removes and adds.
struct Run<'a> {
    start: usize,
    removed: usize,
    added: Vec<&'a str>,
}

impl<'a> Run<'a> {
    /// The runs of a chunk that was found at line `at`.
    fn of(lines: &[Line<'a>], at: usize) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        let mut is_open = false;
        let mut next = at;
        for line in lines {
            if let Line::Kept(_) = line {
                is_open = false;
                next += 1;
                continue;
            }
            if !is_open {
                is_open = true;
                runs.push(Self {
                    start: next,
                    removed: 0,
                    added: Vec::new(),
                });
            }
            if let Some(run) = runs.last_mut() {
                match line {
                    Line::Added(text) => run.added.push(text),
                    Line::Removed(_) | Line::Kept(_) => {
                        run.removed += 1;
                        next += 1;
                    }
                }
            }
        }
        runs
    }
}

fn not_there(lines: &[&str]) -> String {
    let line = lines
        .iter()
        .find(|line| !line.trim().is_empty())
        .unwrap_or(&"");
    format!("the lines from “{}” on are not in the file", line.trim())
}

/// Drops the last old line, which is empty, and the last new one if it is empty, too.
fn without_last_blank<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let mut lines = lines.to_vec();
    let last_old = lines.iter().rposition(|line| line.old().is_some());
    match last_old.map(|at| (at, lines[at])) {
        Some((at, Line::Kept(text))) => lines[at] = Line::Added(text),
        Some((at, _)) => {
            lines.remove(at);
        }
        None => {}
    }
    let last_new = lines
        .iter()
        .rposition(|line| !matches!(line, Line::Removed(_)));
    if let Some(at) = last_new.filter(|&at| matches!(lines[at], Line::Added("") | Line::Kept(""))) {
        lines.remove(at);
    }
    lines
}

impl<'a> Line<'a> {
    fn old(&self) -> Option<&'a str> {
        match self {
            Self::Kept(text) | Self::Removed(text) => Some(text),
            Self::Added(_) => None,
        }
    }
}

/// Returns the first place of `pattern` in `lines`, not before `from`: as it is written, else apart from white space at
/// the ends of lines, else around them, else apart from the form of quotes, dashes and spaces.
fn seek(lines: &[&str], pattern: &[&str], from: usize, at_end: bool) -> Option<usize> {
    if pattern.is_empty() {
        return Some(from);
    }
    let last = lines.len().checked_sub(pattern.len())?;
    let first = if at_end { last.max(from) } else { from };
    let equal: [fn(&str, &str) -> bool; 4] = [
        |a, b| a == b,
        |a, b| a.trim_end() == b.trim_end(),
        |a, b| a.trim() == b.trim(),
        |a, b| a.trim().chars().map(plain).eq(b.trim().chars().map(plain)),
    ];
    equal.iter().find_map(|equal| {
        (first..=last).find(|&at| {
            let window = &lines[at..at + pattern.len()];
            window.iter().zip(pattern).all(|(a, b)| equal(a, b))
        })
    })
}

fn plain(char: char) -> char {
    match char {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        char => char,
    }
}
