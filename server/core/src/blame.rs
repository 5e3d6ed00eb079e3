//! Blame: the author of each line of a file. Owns the result and its sources; `annotate` walks the
//! recorded states, `runs` is the pure part.
//!
//! Blame sees through rewinds, undo, redo and reverts: a line that they restore keeps its author.
//! It reads one file only, and writes nothing but a cache.

mod annotate;
mod authors;
mod runs;

use std::cell::RefCell;
use std::sync::Arc;

use crate::content::is_text;
use crate::diff::{count_lines, line_changes};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::history::{self, Ancestry, SetHash};
use crate::model::{
    Certainty, ChangeId, ContentId, FileId, Image, NodeId, Opaque, RelPath, Session, Turn,
};
use crate::shell_word::shell_word;
use crate::store::tables::{changed_files, root};
use crate::system::read_small;
use crate::worktree::disk::DiskEntry;
use crate::worktree::ignore_rules::{Rules, was_ignored};
use crate::worktree::{backed_content, file_state};
use annotate::{Annotator, CacheUpdate};
use runs::{Owner, Runs};

/// The text of a file to annotate.
#[derive(Clone, Copy, Debug)]
pub enum Against<'t> {
    /// The current file on disk.
    Disk,
    Node(NodeId),
    /// An editor's text. Lines that are neither recorded nor on disk are not saved yet.
    Text(&'t [u8]),
}

/// The author of each line of a text.
#[derive(Clone, Debug)]
pub struct Blame {
    pub text: Vec<u8>,
    /// All lines in order; neighbouring runs have different authors.
    pub runs: Vec<BlameRun>,
}

/// Consecutive lines with one author.
#[derive(Clone, Debug)]
pub struct BlameRun {
    /// The number of the first line, from 1.
    pub start: usize,
    /// At least 1.
    pub count: usize,
    pub author: Arc<Author>,
}

/// The author of a line, and the time.
#[derive(Clone, Debug)]
pub struct Author {
    pub by: By,
    /// None: not recorded, or there from the start.
    pub change: Option<ChangeId>,
    pub node: Option<NodeId>,
    /// Microseconds since 1970.
    pub time: Option<i64>,
}

#[derive(Clone, Debug)]
pub enum By {
    Agent(AgentWork),
    /// Also unrecorded changes on disk, unless an open call may have written them.
    User,
    /// Unknown author, not even the session is known.
    Unknown,
    /// The line was there when the file was first recorded.
    Before,
    /// The user's, only in the editor.
    Unsaved,
}

/// The agent's work in which a line was written.
#[derive(Clone, Debug)]
pub struct AgentWork {
    pub session: Arc<Session>,
    pub session_certainty: Certainty,
    pub step_certainty: Certainty,
    pub turn: Option<Arc<Turn>>,
    pub tool: Option<String>,
    /// The number of the tool call in its session.
    pub iteration: Option<i64>,
    pub subagent: Option<String>,
}

impl Blame {
    /// Returns each line with its number, from 1, its text with terminator, and its author.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &[u8], &Author)> {
        let authors = self.runs.iter().flat_map(|run| {
            let numbers = run.start..run.start + run.count;
            numbers.map(|number| (number, &*run.author))
        });
        self.text
            .split_inclusive(|b| *b == b'\n')
            .zip(authors)
            .map(|(line, (number, author))| (number, line, author))
    }
}

/// A file's recorded state.
struct RecordedState {
    /// None: never changed since it was first recorded.
    file: Option<FileId>,
    set: SetHash,
    content: ContentId,
}

/// Cache use during one query; updates are written at its end.
struct Cache {
    used: bool,
    updates: RefCell<Vec<CacheUpdate>>,
}

/// Owners of unrecorded lines: on disk, and in an editor.
const ON_DISK: Owner = Owner::Change(ChangeId(i64::MAX));
const IN_EDITOR: Owner = Owner::Change(ChangeId(i64::MAX - 1));

/// Authors of lines.
#[derive(Clone, Copy, Debug)]
pub struct Blamer<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Authors of lines.
    pub fn blamer(&self) -> Blamer<'_> {
        Blamer { engine: self }
    }
}

impl Blamer<'_> {
    /// Returns the author of each line of the file at `path`.
    pub fn blame(self, path: &RelPath, target: Against<'_>) -> Result<Blame> {
        let cache = Cache {
            used: true,
            updates: RefCell::default(),
        };
        let blame = self.annotate_text(path, target, &cache)?;
        for update in cache.updates.take() {
            update.write(&self.engine.store);
        }
        Ok(blame)
    }

    /// Like `blame`, without the cache of earlier queries. For tests of the cache.
    #[doc(hidden)]
    pub fn blame_uncached(self, path: &RelPath, target: Against<'_>) -> Result<Blame> {
        let cache = Cache {
            used: false,
            updates: RefCell::default(),
        };
        self.annotate_text(path, target, &cache)
    }

    fn annotate_text(self, path: &RelPath, target: Against<'_>, cache: &Cache) -> Result<Blame> {
        let _moment = self.engine.store.reading()?;
        match target {
            Against::Node(node) => {
                let recorded = self.recorded_at(path, node)?;
                let text = self.engine.store.content(&recorded.content)?;
                refuse_binary(path, &text)?;
                let runs = self.owners(&recorded, &text, cache)?;
                self.answer(path, text, &runs)
            }
            Against::Disk => {
                let mut entry = self.engine.capture().expected_entry(path)?;
                let text = text_of(path, &mut entry)?;
                let recorded = self.recorded_now(path, &entry)?;
                if recorded.is_none() && !self.is_recorded(path)? {
                    self.refuse_ignored(path)?;
                }
                let runs = self.on_disk(recorded.as_ref(), &entry.image, &text, cache)?;
                self.answer(path, text, &runs)
            }
            Against::Text(text) => {
                refuse_binary(path, text)?;
                let entry = self.engine.capture().expected_entry(path)?;
                if entry.is_dir {
                    return Err(directory(path));
                }
                let recorded = self.recorded_now(path, &entry)?;
                let (saved, runs) = match (&entry.image, &entry.bytes, &recorded) {
                    (Image::File { .. }, Some(bytes), _) => {
                        let runs = self.on_disk(recorded.as_ref(), &entry.image, bytes, cache)?;
                        (bytes.clone(), runs)
                    }
                    (_, _, Some(recorded)) => {
                        let text = self.engine.store.content(&recorded.content)?;
                        let runs = self.owners(recorded, &text, cache)?;
                        (text, runs)
                    }
                    _ => (Vec::new(), Runs::default()),
                };
                let runs = runs.carried(&line_changes(&saved, text), IN_EDITOR);
                self.answer(path, text.to_vec(), &runs)
            }
        }
    }

    /// Returns the owners of the file on disk: `image`, with this text.
    fn on_disk(
        self,
        recorded: Option<&RecordedState>,
        image: &Image,
        text: &[u8],
        cache: &Cache,
    ) -> Result<Runs> {
        let Some(recorded) = recorded else {
            return Ok(Runs::all(count_lines(text), ON_DISK));
        };
        if image.content() == Some(recorded.content) {
            return self.owners(recorded, text, cache);
        }
        let recorded_text = self.engine.store.content(&recorded.content)?;
        let runs = self.owners(recorded, &recorded_text, cache)?;
        Ok(runs.carried(&line_changes(&recorded_text, text), ON_DISK))
    }

    fn owners(self, recorded: &RecordedState, text: &[u8], cache: &Cache) -> Result<Runs> {
        let (set, content) = (recorded.set, recorded.content);
        let lines = count_lines(text);
        let Some(file) = recorded.file else {
            return Ok(Runs::all(lines, Owner::Before));
        };
        let conn = &self.engine.store.conn;
        if cache.used
            && let Some(runs) = annotate::cached(conn, file, set, content, lines)?
        {
            return Ok(runs);
        }
        let annotator = Annotator::new(&self.engine.store, file, cache.used)?;
        let runs = annotator.owners(set, content, text)?;
        if cache.used {
            let head = self.head_now()?;
            let head = head.map_or(Ok(set), |head| history::set_at(conn, file, head))?;
            let update = annotator.cache_update((set, content, &runs), head);
            cache.updates.borrow_mut().push(update);
        }
        Ok(runs)
    }

    /// Returns the recorded state of the file at this path now; None: nothing is recorded.
    fn recorded_now(self, path: &RelPath, entry: &DiskEntry) -> Result<Option<RecordedState>> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let mut row = file_state::get(conn, root, path)?;
        if row.is_none()
            && let Some(stat) = &entry.stat
            && let Some(from) = file_state::path_of(conn, root, stat)?
            && self.engine.root.stat(&from).is_none()
        {
            // moved, which is not recorded yet
            row = file_state::get(conn, root, &from)?;
        }
        let Some((content, file)) = row.and_then(|row| match row.image {
            Image::File { content, .. } => Some((content, row.file)),
            Image::Absent | Image::InGit { .. } | Image::Symlink { .. } | Image::Opaque(_) => None,
        }) else {
            return Ok(None);
        };
        let set = match (file, self.head_now()?) {
            (Some(file), Some(head)) => history::set_at(conn, file, head)?,
            _ => SetHash::EMPTY,
        };
        Ok(Some(RecordedState { file, set, content }))
    }

    /// True if any state of a path is recorded: rules no longer hide it then.
    fn is_recorded(self, path: &RelPath) -> Result<bool> {
        let (conn, root) = (&self.engine.store.conn, self.engine.here.root);
        let row = file_state::get(conn, root, path)?;
        Ok(row.is_some_and(|row| !matches!(row.image, Image::Absent)))
    }

    /// Returns the head, even if another process has switched branches meanwhile.
    fn head_now(self) -> Result<Option<NodeId>> {
        root::head(&self.engine.store.conn, self.engine.here.root)
    }

    fn recorded_at(self, path: &RelPath, node: NodeId) -> Result<RecordedState> {
        let (conn, ancestry) = (
            &self.engine.store.conn,
            Ancestry::new(&self.engine.store.conn),
        );
        history::node(conn, node)?;
        let mut found = None;
        for file in changed_files::at_path(conn, path)? {
            if self.engine.history().known_at(&ancestry, file, node)?
                && let Some(placed) = history::state_at(&ancestry, file, node)?
                && placed.path == *path
            {
                found = Some((Some(file), placed.image));
            }
        }
        // no change names it, so it is unchanged since it was first recorded
        if found.is_none()
            && let Some(row) =
                file_state::get(conn, self.engine.here.root, path)?.filter(|r| r.file.is_none())
            && row
                .since
                .map_or(Ok(true), |since| ancestry.is_ancestor(since, node))?
        {
            found = Some((None, row.image));
        }
        if found.is_none() {
            let tree = self.engine.history().placed_at(node)?;
            if let Some((image, file)) = tree.get(path) {
                found = Some((
                    *file,
                    backed_content::materialize(conn, self.engine.here.root, path, *image)?,
                ));
            }
        }
        match found {
            Some((_, image)) if image.is_too_long() => Err(too_long(path)),
            Some((file, Image::File { content, .. })) => Ok(RecordedState {
                file,
                set: file.map_or(Ok(SetHash::EMPTY), |f| history::set_at(conn, f, node))?,
                content,
            }),
            Some((_, Image::Symlink { .. })) => Err(link(path)),
            Some((_, Image::Opaque(why))) => Err(not_kept(path, why)),
            Some((_, Image::Absent)) | None if self.engine.root.read_entry(path)?.is_dir => {
                Err(directory(path))
            }
            Some((_, Image::Absent | Image::InGit { .. })) | None => {
                Err(missing(path, &format!("at {node}")))
            }
        }
    }

    /// True if the current rules hide a path.
    pub(crate) fn is_hidden(self, path: &RelPath) -> bool {
        let base = Rules::base(&self.engine.root.excludes());
        let mut text =
            |file: &RelPath| read_small(&self.engine.root.path.join(file.to_path()), false);
        was_ignored(&base, path, &mut text)
    }

    /// Returns an error for an ignored file: without a record, its lines must not count as the
    /// user's.
    fn refuse_ignored(self, path: &RelPath) -> Result<()> {
        if self.is_hidden(path) {
            return Err(Error::refused(
                format!(
                    "{} is not recorded: your ignore rules exclude it",
                    path.display()
                ),
                "it will be recorded once an edit tool names it, or the rules change",
            ));
        }
        Ok(())
    }

    fn answer(self, path: &RelPath, text: Vec<u8>, runs: &Runs) -> Result<Blame> {
        let mut authors = self.authors(path, runs)?;
        let unknown = || Arc::new(Author::unrecorded(By::Before));
        let mut start = 1;
        let runs = runs.iter().map(|(count, owner)| {
            let author = Arc::clone(authors.entry(owner).or_insert_with(unknown));
            let run = BlameRun {
                start,
                count,
                author,
            };
            start += count;
            run
        });
        let runs = runs.collect();
        Ok(Blame { text, runs })
    }
}

fn text_of(path: &RelPath, entry: &mut DiskEntry) -> Result<Vec<u8>> {
    match (&entry.image, entry.bytes.take()) {
        _ if entry.is_dir => Err(directory(path)),
        (Image::File { .. }, Some(bytes)) => {
            refuse_binary(path, &bytes)?;
            Ok(bytes)
        }
        (image, _) if image.is_too_long() => Err(too_long(path)),
        (Image::Symlink { .. }, _) => Err(link(path)),
        (Image::Opaque(why), _) => Err(not_kept(path, *why)),
        (Image::Absent | Image::InGit { .. } | Image::File { .. }, _) => {
            Err(missing(path, "on disk"))
        }
    }
}

fn too_long(path: &RelPath) -> Error {
    Error::refused(
        format!("{} is too large to be compared by lines", path.display()),
        Hint::terminal(format!(
            "`backstitch log --path {}` shows who changed it",
            shell_word(&path.display())
        )),
    )
}

fn refuse_binary(path: &RelPath, bytes: &[u8]) -> Result<()> {
    if is_text(bytes) {
        return Ok(());
    }
    Err(Error::refused(
        format!("{} is binary: it has no lines", path.display()),
        Hint::terminal(format!(
            "`backstitch log --path {}` shows who changed it",
            shell_word(&path.display())
        )),
    ))
}

fn link(path: &RelPath) -> Error {
    Error::refused(
        format!("{} is a symbolic link: it has no lines", path.display()),
        "name the target of the link",
    )
}

fn not_kept(path: &RelPath, why: Opaque) -> Error {
    let why = match why {
        Opaque::TooLarge => "it is too large",
        Opaque::Unreadable => "it cannot be read",
        Opaque::Special => "it is not a regular file",
    };
    Error::refused(
        format!("the content of {} is not captured: {why}", path.display()),
        Hint::terminal("`backstitch status` lists what is not captured"),
    )
}

fn directory(path: &RelPath) -> Error {
    Error::Usage(format!(
        "{} is a directory: name one file, or see `backstitch log --path {}`",
        path.display(),
        shell_word(&path.display())
    ))
}

fn missing(path: &RelPath, place: &str) -> Error {
    Error::NoFile {
        path: path.display(),
        place: place.into(),
    }
}
