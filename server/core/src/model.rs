//! The words of the history as types: ids, images, changes, nodes, coverage. Owns no behaviour beyond
//! reading and printing itself; everything here is immutable once stored.

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
    /// One path in one node. Ids grow with time, so their order is the order of age.
    ChangeId
);
id!(
    /// A file's identity: survives renames, and deletion followed by creation at the same path.
    FileId
);
id!(
    /// A conversation of one agent, as this store numbers it.
    SessionId
);
id!(
    /// A prompt and all that follows from it.
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
    /// A directory that this store keeps the history of.
    RootId
);
id!(
    /// A line of history with a name.
    BranchId
);
id!(
    /// A language server, as the store numbers it. A number never comes back.
    EditorId
);

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

/// The names under which version control keeps its own things.
pub(crate) const VCS: [&[u8]; 3] = [b".git", b".jj", b".hg"];

/// True if a file system may take this name for one of `VCS`: some ignore the case, and HFS+ ignores characters that
/// have no width, as git has them in `next_hfs_char`.
pub(crate) fn is_vcs(name: &[u8]) -> bool {
    let folded = |name: &[u8]| VCS.iter().any(|vcs| name.eq_ignore_ascii_case(vcs));
    if folded(name) || name.is_ascii() {
        return folded(name);
    }
    let without_width = |c: char| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain: String = String::from_utf8_lossy(name)
        .chars()
        .filter(|c| without_width(*c))
        .collect();
    folded(plain.as_bytes())
}

impl RelPath {
    /// None for what is not a plain relative path: absolute, empty, or with `.`, `..` or NUL.
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

    /// True if a part of it is a folder, or a file, of version control.
    pub fn is_in_vcs(&self) -> bool {
        self.0.split(|b| *b == b'/').any(is_vcs)
    }

    /// Whether this is `dir` itself or lies below it.
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
pub(crate) fn os_bytes(s: &std::ffi::OsStr) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    s.as_bytes().to_vec()
}

#[cfg(unix)]
pub(crate) fn bytes_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    Absent,
    /// Permission bits (0o7777) and content.
    File {
        mode: u32,
        content: ContentId,
        size: u64,
    },
    /// A file that never changed, whose content is a blob of git's and not in the store. What is known of the disk
    /// may be this, what is recorded never is.
    InGit {
        mode: u32,
        size: u64,
        object: gix_hash::ObjectId,
    },
    /// A link; its target is the content.
    Symlink {
        content: ContentId,
    },
    /// Something is there, but its content is not kept.
    Opaque(Opaque),
}

/// Why a content is not kept.
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

    /// Whether it is a file that is not held in memory whole.
    pub(crate) fn is_large(&self) -> bool {
        matches!(self, Self::File { size, .. } if *size >= crate::store::LARGE)
    }

    /// Whether it is a file that is not compared by lines: that takes several times its size of memory.
    pub fn is_too_long(&self) -> bool {
        matches!(self, Self::File { size, .. } if *size >= crate::merge::LONGEST)
    }

    /// The blob of git's that it is, where only git has it.
    pub(crate) fn object(&self) -> Option<gix_hash::ObjectId> {
        match self {
            Self::InGit { object, .. } => Some(*object),
            _ => None,
        }
    }

    /// The mode as git writes it; None where nothing of the kind exists.
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

/// A file's state: where it is and what it is. `None` of it means: deleted, or not yet created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placed {
    pub path: RelPath,
    pub image: Image,
}

pub type FileVersion = Option<Placed>;

/// How sure an attribution is. Kept apart for session and step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    Certain,
    /// One of several overlapping calls of one session.
    Group,
    Uncertain,
}

/// Who made a change. No session: the user, or a writer nobody told of.
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

/// Whether a change counts in the sets of what is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Somebody's edit: a member of the sets.
    Edit,
    /// The effect of a rewind, revert, undo or redo: it moves edits in and out, and is none itself.
    Restore,
}

/// One file in one node.
#[derive(Clone, Debug)]
pub struct Change {
    pub id: ChangeId,
    pub node: NodeId,
    pub file: FileId,
    pub role: Role,
    pub before: FileVersion,
    pub after: FileVersion,
    pub origin: Origin,
    /// How many directories above the path came into being with it.
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
    /// The writer: for a turn and its steps.
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    pub call: Option<CallId>,
    pub label: Option<String>,
    /// What whoever made it by hand wrote of it.
    pub description: Option<String>,
    /// Microseconds since 1970, UTC.
    pub time: i64,
    pub git: GitHead,
    pub coverage: Coverage,
    /// It stands for several, which became one with their age.
    pub squashed: Option<Squashed>,
}

/// What became one checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Squashed {
    pub checkpoints: u64,
    pub turns: u64,
    /// Of the oldest, in microseconds since 1970.
    pub since: i64,
    /// By their names, in their order.
    pub agents: Vec<String>,
}

/// Where git stood: the commit of HEAD, and the branch unless detached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitHead {
    pub head: Option<String>,
    pub branch: Option<String>,
}

/// What a checkpoint could and could not capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Paths captured in this node's look at the disk.
    pub captured: u64,
    /// Paths and directories passed over because the rules say so.
    pub ignored: u64,
    /// A scan goes on in the background; what it finds is not in here yet.
    #[serde(default)]
    pub pending: bool,
    pub items: Vec<CoverageItem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageItem {
    /// As bytes; outside paths are absolute.
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
    /// By the settings, which no tool overrules.
    Excluded,
    Unreadable,
    Special,
    /// A capture that did not happen: a hook that failed, a deadline, a store not writable.
    Failed,
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
        }
    }
}

impl Coverage {
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
    /// Printed `t4`; runs through the workspace.
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
    /// Runs through the session and never restarts.
    pub iteration: i64,
    /// Overlapping calls of one session that may write anything share one.
    pub group: Option<CallId>,
}
