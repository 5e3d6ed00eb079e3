//! Prediction of the files that an agent's tool call would write. Owns the shapes of the answer and the choice of the
//! tool's rules. Pure: reads files only through the caller's function, writes nothing.
//!
//! The rules are those of the real tools, compared with them byte for byte: Claude Code 2.1.332, Codex 0.169,
//! opencode 1.18.33, Gemini CLI 0.61, Qwen Code 0.24.4, Copilot CLI 1.0.102. Cline's are read from its sources. A
//! result that was not seen with the real tool is [`Outlook::Unsure`].

mod blocks;
mod edit;
mod edit_effect;
mod form;
mod notebook;
mod patch;
mod replacement;
mod shell;
mod text;

use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

pub(super) use edit::pairs;
pub use form::EDITOR_TEXTS;
pub(super) use form::{CallForm, InputField, form};
pub(super) use patch::{FilePatch, apply as apply_patch, parse as parse_patch};
pub(super) use text::Text;

/// Files above this size are named with their size only (bytes).
pub const MAX_PREDICTED: u64 = 1 << 20;

/// A path as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNow {
    Absent,
    File(Vec<u8>),
    /// A file above [`MAX_PREDICTED`], with its size in bytes.
    TooLarge(u64),
    /// A symlink, with its target as an absolute path.
    Link(PathBuf),
    Directory,
}

/// Reads a path as it is now: [`read_disk`], or a view of it with an editor's unsaved texts.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<FileNow>;

/// Answer of [`predict`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prediction {
    /// The files that the call would write, in its order.
    Files(Vec<PredictedFile>),
    /// Nothing is predicted, because of `reason`. `names`: absolute paths that the input may mean, at most
    /// 256.
    Unpredicted {
        reason: &'static str,
        names: Vec<PathBuf>,
    },
    /// The call changes nothing. `names`: absolute paths that it reads.
    Reads { names: Vec<PathBuf> },
}

/// One file that a call would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredictedFile {
    /// Absolute and without `.` and `..`.
    pub path: PathBuf,
    /// The path that the file has now, if the call moves it. A move over an existing file is reported as two files instead.
    pub moved_from: Option<PathBuf>,
    pub before: PredictedContent,
    /// The content after the call, also if it fails: then mostly the same as `before`.
    pub after: PredictedContent,
    pub outlook: Outlook,
}

/// Content of a predicted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredictedContent {
    Absent,
    /// Text: UTF-8 without NUL bytes, at most [`MAX_PREDICTED`] bytes.
    Text(Vec<u8>),
    /// Binary, or too large to show: the size in bytes.
    Size(u64),
    Unknown,
}

/// Certainty of a prediction. The texts are reasons in plain English, for people, without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The tool writes exactly this.
    Certain,
    Unsure(String),
    /// The tool refuses the call.
    Fails(String),
}

impl PredictedContent {
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(bytes) => Some(bytes),
            Self::Absent | Self::Size(_) | Self::Unknown => None,
        }
    }

    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        if size > MAX_PREDICTED || bytes.contains(&0) || std::str::from_utf8(&bytes).is_err() {
            Self::Size(size)
        } else {
            Self::Text(bytes)
        }
    }
}

/// Predicts the files that a call would write. `tool` and `input` are as the agent names them to its hook; a relative
/// path is one from `cwd`, which is absolute.
pub fn predict(tool: &str, input: &Value, cwd: &Path, read: ReadFile) -> Prediction {
    let files = match form(tool, input) {
        CallForm::Replace(dialect) => {
            one(input, cwd, |path| edit::replace(dialect, input, path, read))
        }
        CallForm::Write(dialect) => one(input, cwd, |path| edit::write(dialect, input, path, read)),
        CallForm::Blocks => one(input, cwd, |path| edit::blocks(input, path, read)),
        CallForm::Insert => one(input, cwd, |path| edit::insert(input, path, read)),
        CallForm::Notebook => one(input, cwd, |path| notebook::predict(input, path, read)),
        CallForm::Patch(text) => patch::predict(text, cwd, read),
        CallForm::ShellPatch(text) => patch::predict(text.patch, &absolute(cwd, &text.dir), read)
            .into_iter()
            .map(|file| file.doubted("the patch is part of a shell command"))
            .collect(),
        CallForm::Texts(texts) => texts
            .iter()
            .filter_map(|file| in_editor(file, cwd, read))
            .collect(),
        CallForm::Shell(command) => {
            return Prediction::Unpredicted {
                reason: "the effects of a shell command are not predicted",
                names: shell::names(&command, cwd),
            };
        }
        CallForm::Several(edits) => edits
            .iter()
            .filter_map(|edit| match predict(tool, edit, cwd, read) {
                Prediction::Files(files) => Some(files),
                Prediction::Unpredicted { .. } | Prediction::Reads { .. } => None,
            })
            .flatten()
            .map(|file| file.doubted("the tool is not known"))
            .collect(),
        CallForm::Read => {
            return Prediction::Reads {
                names: paths_within(input, cwd),
            };
        }
        CallForm::Other => {
            return Prediction::Unpredicted {
                reason: "this is not a known edit tool",
                names: named_paths(input, cwd),
            };
        }
    };
    Prediction::Files(files)
}

/// A file of an edit inside an editor.
fn in_editor(file: &Value, cwd: &Path, read: ReadFile) -> Option<PredictedFile> {
    let path = absolute(cwd, Path::new(file.get("path")?.as_str()?));
    let before = match read(&path) {
        Ok(FileNow::File(bytes)) => PredictedContent::of(bytes),
        Ok(FileNow::TooLarge(size)) => PredictedContent::Size(size),
        Ok(FileNow::Absent) => PredictedContent::Absent,
        Ok(FileNow::Link(_) | FileNow::Directory) | Err(_) => PredictedContent::Unknown,
    };
    let after = match file.get("text").and_then(Value::as_str) {
        Some(text) => PredictedContent::of(text.as_bytes().to_vec()),
        None => PredictedContent::Absent,
    };
    Some(PredictedFile::new(path, before, after, Outlook::Certain))
}

fn one(
    input: &Value,
    cwd: &Path,
    file: impl FnOnce(PathBuf) -> PredictedFile,
) -> Vec<PredictedFile> {
    let path = InputField::Path.text(input).unwrap_or_default();
    vec![file(absolute(cwd, Path::new(path)))]
}

/// Paths in the fields of a tool that reads, also of several files.
fn paths_within(input: &Value, cwd: &Path) -> Vec<PathBuf> {
    let mut names = named_paths(input, cwd);
    for items in ["files", "paths", "file_paths"]
        .iter()
        .filter_map(|name| input.get(name)?.as_array())
    {
        for item in items.iter().take(shell::MAX_NAMES) {
            match item.as_str() {
                Some(path) => names.push(absolute(cwd, Path::new(path))),
                None => names.extend(named_paths(item, cwd)),
            }
        }
    }
    names
}

/// Paths in the fields of an unknown tool that name a path.
fn named_paths(input: &Value, cwd: &Path) -> Vec<PathBuf> {
    InputField::Path
        .text(input)
        .into_iter()
        .map(|path| absolute(cwd, Path::new(path)))
        .collect()
}

/// Reads a path from the disk, without the content of a file above [`MAX_PREDICTED`].
pub fn read_disk(path: &Path) -> io::Result<FileNow> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(FileNow::Absent);
        }
        Err(e) => return Err(e),
    };
    if found.is_symlink() {
        let target = std::fs::read_link(path)?;
        let folder = path.parent().unwrap_or(path);
        return Ok(FileNow::Link(absolute(folder, &target)));
    }
    if found.is_dir() {
        return Ok(FileNow::Directory);
    }
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if found.len() > MAX_PREDICTED {
        return Ok(FileNow::TooLarge(found.len()));
    }
    std::fs::read(path).map(FileNow::File)
}

/// Returns `path` as an absolute path from `base`, without `.` and `..`.
pub(super) fn absolute(base: &Path, path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            part => result.push(part),
        }
    }
    result
}

impl PredictedFile {
    fn new(
        path: PathBuf,
        before: PredictedContent,
        after: PredictedContent,
        outlook: Outlook,
    ) -> Self {
        Self {
            path,
            moved_from: None,
            before,
            after,
            outlook,
        }
    }

    fn fails(path: PathBuf, before: PredictedContent, reason: impl Into<String>) -> Self {
        Self::new(path, before.clone(), before, Outlook::Fails(reason.into()))
    }

    /// The same prediction, but not certain.
    fn doubted(mut self, reason: impl Into<String>) -> Self {
        if self.outlook == Outlook::Certain {
            self.outlook = Outlook::Unsure(reason.into());
        }
        self
    }
}

/// A path behind its symlinks.
struct ResolvedPath {
    now: FileNow,
    /// The end of the chain of symlinks, if the path is one.
    link: Option<PathBuf>,
}

/// Reads a path, and follows symlinks as the system does for a write.
fn resolve(path: &Path, read: ReadFile) -> Result<ResolvedPath, String> {
    const MAX_LINKS: usize = 40;
    let mut link = None;
    for _ in 0..MAX_LINKS {
        let now = read(link.as_deref().unwrap_or(path)).map_err(|e| e.to_string())?;
        match now {
            FileNow::Link(target) => link = Some(target),
            now => return Ok(ResolvedPath { now, link }),
        }
    }
    Err("too many symlinks".to_owned())
}

#[cfg(test)]
#[expect(
    clippy::format_push_string,
    clippy::unnecessary_wraps,
    clippy::too_many_lines,
    reason = "tables of cases, and stand-ins with the types of the real functions"
)]
pub(super) mod tests;
