//! The domain types of the history: ids, images, changes, nodes, coverage. They have no behaviour beyond parsing and
//! printing, and are immutable once stored.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub i64);
    };
}

id!(
    /// A node of the history; printed `c12`.
    NodeId
);
id!(
    /// A change of one path in one node. Ids grow with time, so their order is the order of age.
    ChangeId
);
id!(
    /// A file's identity: survives renames, and deletion followed by creation at the same path.
    FileId
);
id!(
    /// A conversation of one agent, as numbered by this store.
    SessionId
);
id!(
    /// A prompt and everything that follows from it.
    TurnId
);
id!(
    /// One tool call.
    CallId
);
id!(
    /// A rewind, revert, undo, redo; printed `op3`.
    OpId
);
id!(
    /// A directory whose history this store holds.
    RootId
);
id!(
    /// A line of history with a name.
    BranchId
);
id!(
    /// A language server, as numbered by this store. A number is never reused.
    EditorId
);

impl SessionId {
    /// Letter of the session for people: A for the first one of the store, then B … Z, AA, AB …
    #[must_use]
    pub fn letter(self) -> String {
        let mut letters = Vec::new();
        let mut left = self.0.max(1);
        while left > 0 {
            left -= 1;
            let place = u8::try_from(left % 26).unwrap_or(0);
            letters.push(char::from(b'A' + place));
            left /= 26;
        }
        letters.iter().rev().collect()
    }

    /// Reads a letter: `None` for other texts.
    #[must_use]
    pub fn from_letter(text: &str) -> Option<Self> {
        let mut number: i64 = 0;
        for byte in text.bytes() {
            let place = byte
                .is_ascii_uppercase()
                .then(|| i64::from(byte - b'A') + 1)?;
            number = number.checked_mul(26)?.checked_add(place)?;
        }
        (number > 0).then_some(Self(number))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op{}", self.0)
    }
}

/// The BLAKE3 hash of a content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentId(pub [u8; 32]);

impl ContentId {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// A path relative to the root, in the bytes that the directory lists; `/` between components,
/// never absolute, never with `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// Returns None if the path is not a plain relative path: absolute, empty, or with `.`, `..` or NUL.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let plain = !bytes.contains(&0)
            && bytes
                .split(|b| *b == b'/')
                .all(|part| !matches!(part, b"" | b"." | b".."));
        plain.then_some(Self(bytes))
    }

    pub fn from_path(path: &Path) -> Option<Self> {
        Self::new(os_bytes(path.as_os_str()))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn to_path(&self) -> PathBuf {
        bytes_path(&self.0)
    }

    /// Lossy, for people.
    pub fn display(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The directory part and the name.
    pub fn split(&self) -> (&[u8], &[u8]) {
        match self.0.iter().rposition(|b| *b == b'/') {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (b"", &self.0),
        }
    }

    pub fn parent(&self) -> Option<Self> {
        let (dir, _) = self.split();
        (!dir.is_empty()).then(|| Self(dir.to_vec()))
    }

    /// Another name in the same directory.
    pub fn sibling(&self, name: &[u8]) -> Option<Self> {
        match self.split() {
            (b"", _) => Self::new(name),
            (dir, _) => Self::new([dir, b"/", name].concat()),
        }
    }

    /// True if a part of it has the name of a folder, or a file, of version control.
    pub fn is_in_vcs(&self) -> bool {
        crate::vcs::is_in_named(&self.0)
    }

    /// True if this is `dir` itself or below it.
    pub fn within(&self, dir: &[u8]) -> bool {
        self.0 == dir
            || dir.is_empty()
            || (self.0.starts_with(dir) && self.0.get(dir.len()) == Some(&b'/'))
    }
}

impl Serialize for RelPath {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(from)?;
        Self::new(bytes).ok_or_else(|| serde::de::Error::custom("no relative path"))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.display())
    }
}

#[cfg(unix)]
pub fn os_bytes(s: &std::ffi::OsStr) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    s.as_bytes().to_vec()
}

#[cfg(unix)]
pub fn bytes_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Content and type of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    Absent,
    /// Permission bits (0o7777) and content.
    File {
        mode: u32,
        content: ContentId,
        size: u64,
    },
    /// A file that never changed, whose content is a git blob and not in the store. Occurs in file states, never
    /// in recorded changes.
    InGit {
        mode: u32,
        size: u64,
        object: gix_hash::ObjectId,
    },
    /// A link; its target is the content.
    Symlink {
        content: ContentId,
    },
    /// The path exists, but its content was not captured.
    Opaque(Opaque),
}

/// Reason why a content was not captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opaque {
    TooLarge,
    Unreadable,
    /// A socket, device, fifo, or a directory where a file was.
    Special,
}

impl Image {
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    pub fn content(&self) -> Option<ContentId> {
        match self {
            Self::File { content, .. } | Self::Symlink { content } => Some(*content),
            Self::Absent | Self::InGit { .. } | Self::Opaque(_) => None,
        }
    }

    /// True if it is a file too large to be held in memory whole.
    pub(crate) fn is_large(&self) -> bool {
        matches!(self, Self::File { size, .. } if *size >= crate::content::LARGE)
    }

    /// True if it is a file too large to compare by lines, which takes several times its size of memory.
    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::File { size, .. } if *size >= crate::content::MAX_MERGE_BYTES)
    }

    /// Returns the git blob of a content that only git has.
    pub(crate) fn object(&self) -> Option<gix_hash::ObjectId> {
        match self {
            Self::InGit { object, .. } => Some(*object),
            _ => None,
        }
    }

    /// Returns the mode as git writes it. None if git has no such entry.
    pub fn git_mode(&self) -> Option<u32> {
        match self {
            Self::File { mode, .. } | Self::InGit { mode, .. } if mode & 0o111 != 0 => {
                Some(0o100_755)
            }
            Self::File { .. } | Self::InGit { .. } => Some(0o100_644),
            Self::Symlink { .. } => Some(0o120_000),
            Self::Absent | Self::Opaque(_) => None,
        }
    }
}

/// Path and image of a file. As a `FileVersion`, None means deleted or not created yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    pub path: RelPath,
    pub image: Image,
}

pub type FileVersion = Option<Placed>;

/// Certainty of an attribution. Session and step each have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    Certain,
    /// One of several overlapping calls of one session.
    Group,
    Uncertain,
}

/// Author of a change. No session: the user, or an unreported process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    pub session: Option<SessionId>,
    pub call: Option<CallId>,
    pub session_certainty: Certainty,
    pub step_certainty: Certainty,
}

impl Origin {
    pub const USER: Self = Self {
        session: None,
        call: None,
        session_certainty: Certainty::Certain,
        step_certainty: Certainty::Certain,
    };

    pub fn is_uncertain(&self) -> bool {
        self.session_certainty == Certainty::Uncertain
    }
}

/// Role of a change in the sets of edits in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An edit by an agent or the user: a member of the sets.
    Edit,
    /// The effect of a rewind, revert, undo or redo. It adds and removes members, and is not a member itself.
    Restore,
}

/// Change of one file in one node.
#[derive(Clone, Debug)]
pub struct Change {
    pub id: ChangeId,
    pub node: NodeId,
    pub file: FileId,
    pub role: Role,
    pub before: FileVersion,
    pub after: FileVersion,
    pub origin: Origin,
    /// Number of directories above the path that were created with it.
    pub made_dirs: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Turn,
    Step,
    Manual,
    External,
    Rewind,
    Squash,
    Import,
}

impl Kind {
    /// The kinds that a history made here has.
    pub const LISTED: [Self; 6] = [
        Self::Turn,
        Self::Step,
        Self::Manual,
        Self::External,
        Self::Rewind,
        Self::Squash,
    ];
    pub const ALL: [Self; 7] = [
        Self::Turn,
        Self::Step,
        Self::Manual,
        Self::External,
        Self::Rewind,
        Self::Squash,
        Self::Import,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Step => "step",
            Self::Manual => "manual",
            Self::External => "external",
            Self::Rewind => "rewind",
            Self::Squash => "squash",
            Self::Import => "import",
        }
    }
}

/// A node of the history: the state after its own changes.
#[derive(Clone, Debug)]
pub struct Node {
    pub id: NodeId,
    pub parent: Option<NodeId>,
    pub depth: i64,
    pub kind: Kind,
    pub branch: BranchId,
    /// Author of a turn and its steps.
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub call: Option<CallId>,
    pub label: Option<String>,
    /// Description given by the user who made the checkpoint.
    pub description: Option<String>,
    /// Microseconds since 1970, UTC.
    pub time: i64,
    pub git: GitHead,
    pub coverage: Coverage,
    /// Set if retention squashed several checkpoints into this one.
    pub squashed: Option<Squashed>,
}

/// Counts of the checkpoints squashed into one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squashed {
    pub checkpoints: u64,
    pub turns: u64,
    /// Time of the oldest one, in microseconds since 1970.
    pub since: i64,
    /// Names of the agents, sorted.
    pub agents: Vec<String>,
}

/// Git's position: the commit of HEAD, and the branch unless detached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitHead {
    pub head: Option<String>,
    pub branch: Option<String>,
}

/// Coverage of a checkpoint: what it captured and what it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Number of paths captured by this node's scan.
    pub captured: u64,
    /// Number of paths and directories skipped by the ignore rules.
    pub ignored: u64,
    /// True while a background scan is still running. Its results are not included yet.
    #[serde(default)]
    pub pending: bool,
    pub items: Vec<CoverageItem>,
    /// Directories that were made, removed or got other permission bits, as far as files do not tell it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<DirChange>,
    /// Changes of the list of directories that files alone do not tell. A directory without bits is not in the list, since
    /// files tell of it, or since it is not there. None: there is none, or an older version kept `directories` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noted: Option<Vec<DirChange>>,
}

impl Coverage {
    /// Returns the changes of the list of directories that files alone do not tell. Older versions kept only those that were
    /// made, removed or changed.
    #[must_use]
    pub fn noted_changes(&self) -> &[DirChange] {
        self.noted.as_deref().unwrap_or(&self.directories)
    }

    /// Notes the changes of that list.
    pub(crate) fn set_noted(&mut self, changes: Vec<DirChange>) {
        let is_told = !changes.is_empty() || !self.directories.is_empty();
        self.noted = is_told.then_some(changes);
    }

    /// Leaves out the changes of all other directories.
    pub(crate) fn retain_dirs(&mut self, is_kept: impl Fn(&RelPath) -> bool) {
        self.directories.retain(|change| is_kept(&change.path));
        let mut noted = self.noted.take().unwrap_or_default();
        noted.retain(|change| is_kept(&change.path));
        self.set_noted(noted);
    }
}

/// Change of a directory: its permission bits before and after. None: it is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirChange {
    pub path: RelPath,
    pub before: Option<u32>,
    pub after: Option<u32>,
}

impl DirChange {
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            path: self.path.clone(),
            before: self.after,
            after: self.before,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageItem {
    /// Path as bytes. Paths outside the root are absolute.
    pub path: Vec<u8>,
    pub reason: Reason,
    #[serde(default)]
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    TooLarge,
    Outside,
    /// Excluded by the settings, which no tool overrides.
    Excluded,
    Unreadable,
    Special,
    /// A capture that failed: a hook error, a deadline, or a store that is not writable.
    Failed,
    /// A directory of version control, whatever its name.
    VersionControl,
    /// A path that the ignore rules hide, and that is gone or has changed.
    Ignored,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Outside => "outside",
            Self::Excluded => "excluded",
            Self::Unreadable => "unreadable",
            Self::Special => "special",
            Self::Failed => "failed",
            Self::VersionControl => "version_control",
            Self::Ignored => "ignored",
        }
    }
}

impl Reason {
    /// True if a path stays out of the history as long as it is as it is.
    pub(crate) fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::TooLarge | Self::Unreadable | Self::Special | Self::VersionControl
        )
    }
}

impl Coverage {
    /// The coverage without the paths that stay out of the history, whoever works: those of a scan before which nothing
    /// changed.
    pub(crate) fn without_standing(&self) -> Self {
        let mut own = self.clone();
        own.items.retain(|item| !item.reason.is_lasting());
        own
    }

    pub fn count(&self, reason: Reason) -> usize {
        self.items.iter().filter(|i| i.reason == reason).count()
    }

    pub fn note(&mut self, path: &[u8], reason: Reason, detail: impl Into<String>) {
        if !self
            .items
            .iter()
            .any(|i| i.path == path && i.reason == reason)
        {
            self.items.push(CoverageItem {
                path: path.to_vec(),
                reason,
                detail: detail.into(),
            });
        }
    }
}

#[derive(Clone, Debug)]
pub struct Session {
    pub id: SessionId,
    /// `claude-code`, `codex`, …
    pub agent: String,
    /// The agent's own id for the conversation.
    pub native: String,
    pub transcript: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Turn {
    pub id: TurnId,
    /// Printed `t4`. Unique in the workspace.
    pub number: i64,
    pub session: SessionId,
    pub prompt: String,
    pub node: NodeId,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub id: CallId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// The agent's own id of the call.
    pub native: String,
    /// The subagent that made it.
    pub subagent: Option<String>,
    pub tool: String,
    /// Number of the call within the session. Never restarts.
    pub iteration: i64,
    /// Group shared by overlapping calls of one session that may write any file.
    pub group: Option<CallId>,
    /// True if the agent reported that it failed.
    pub failed: bool,
    /// Exit status of a shell command, where the agent reports it.
    pub exit: Option<i64>,
    /// The input of a call that may write any file.
    pub input: Option<ContentId>,
}

/// Position of new nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    pub root: RootId,
    pub branch: BranchId,
}
