//! The trait of an agent whose conversations can be continued from an earlier turn: bytes of its record in, values out. Nothing
//! is written and no process is started here. New ids and the time are given in, so that a result is a value that tests compare.

mod errors;
mod find;
mod text;

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use errors::{Nearest, Refused, Unreadable};
pub use find::{WantedTurn, find};
pub use text::{Excerpts, MAX_RESULT, excerpt, new_id, plain_text, rfc3339, title};

/// The conversations of an agent, as its own record has them.
pub trait Conversations: Sync {
    /// Returns the place of the record.
    fn source(&self, place: &RecordPlace) -> RecordSource;

    /// Returns the beginning of a record that is kept in that of another session. The bytes given to all other functions are
    /// that session's first `bytes` bytes, with its own base before them, followed by this record.
    fn base(&self, _record: &[u8]) -> Option<RecordBase> {
        None
    }

    /// Returns the prompts of all branches of the record: those of the open branch first, in order, then those of the others.
    /// A prompt on several branches is listed once.
    fn turns(&self, record: &[u8]) -> Result<Vec<RecordedPrompt>, Unreadable>;

    /// Returns the messages of one part, in order, as plain text.
    fn messages(&self, record: &[u8], part: &RecordPart) -> Result<Vec<PlainMessage>, Refused>;

    /// Plans the new conversation. A file that it contains was read back already and tells the planned turns.
    fn cut(&self, record: &[u8], request: &CutRequest<'_>) -> Result<NewConversation, Refused>;

    /// Returns the prompts that a record tells its agent: those that the model is shown when the conversation continues.
    fn tells(&self, record: &[u8]) -> Result<Vec<ToldTurn>, Unreadable>;

    /// Returns the command line that opens a conversation, with the prompt ready to be edited where the agent can do that.
    /// An empty prompt is left out. It never has a permission mode.
    fn opening(&self, made: &Made, prompt: &str) -> CommandLine;

    /// Returns the command that sums up the text on its stdin, and ends. It begins no session and calls no tool. Empty: there is none.
    fn summarizer(&self) -> &'static [&'static str] {
        &[]
    }

    /// True if the agent makes the session only when it opens the file of a new conversation. The agent then chooses the id.
    fn opens_copies(&self) -> bool {
        false
    }

    /// Returns the directory whose folders [`CutRequest::folders`] lists. None: it is not asked for.
    fn folders(&self, _place: &RecordPlace, _record: Option<&Path>) -> Option<PathBuf> {
        None
    }
}

/// Facts that lead to the record of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordPlace {
    /// The agent's own id of the session.
    pub session: String,
    /// Path that the agent's hooks reported last. A hint: the file may be elsewhere.
    pub transcript: Option<PathBuf>,
    /// Working directory of the session, without symbolic links.
    pub directory: PathBuf,
    /// The agent's directory of settings, as `places.user_dir()` of its declaration has it.
    pub home: Option<PathBuf>,
}

/// The place of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// Candidates, in the order in which they are tried. The first file that exists is the record.
    Files(Vec<RecordCandidate>),
    /// A command whose stdout is the record.
    Command(Vec<String>),
}

/// A file that may be the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordCandidate {
    File(PathBuf),
    /// The newest file with this end of its name, in a folder `depth` levels below `root` (0: in `root` itself).
    Search {
        root: PathBuf,
        depth: usize,
        suffix: String,
    },
}

/// The beginning of a record, in the record of the session from which its session was forked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordBase {
    pub session: String,
    /// Length of the part, in bytes of that session's own file.
    pub bytes: usize,
}

/// A prompt of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPrompt {
    pub anchor: Anchor,
    /// The text as it was sent.
    pub text: String,
    /// Microseconds since 1970.
    pub time: Option<i64>,
    /// Number of its branch; 0 is the open one.
    pub branch: usize,
    /// Number of prompts on its branch before it.
    pub before: usize,
}

/// A prompt's place in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Id of the row, or of the turn: unique in the record.
    pub row: String,
    /// Id of the turn, as the agent's hooks report it.
    pub native: Option<String>,
}

/// The new conversation, as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCut {
    /// Everything before the prompt.
    Before(Anchor),
    /// Everything before the prompt, then one message with this summary of the rest.
    SummaryOfRest(Anchor, String),
    /// One message with this summary of everything before the prompt, then the prompt and the rest.
    SummaryOfStart(Anchor, String),
}

impl SessionCut {
    pub fn anchor(&self) -> &Anchor {
        match self {
            Self::Before(anchor)
            | Self::SummaryOfRest(anchor, _)
            | Self::SummaryOfStart(anchor, _) => anchor,
        }
    }
}

/// A request for a new conversation, with all that it depends on.
#[derive(Clone, Debug)]
pub struct CutRequest<'a> {
    pub place: &'a RecordPlace,
    /// Path at which the record was found. None: it is a kept copy.
    pub record: Option<&'a Path>,
    pub cut: &'a SessionCut,
    /// Another working directory, without symbolic links.
    pub into: Option<&'a Path>,
    /// Id of the new session, a UUID in its usual form. An agent that names its sessions itself ignores it.
    pub session: &'a str,
    /// Microseconds since 1970.
    pub now: i64,
    /// Names of the folders in [`Conversations::folders`]. Needed for another directory only.
    pub folders: &'a [String],
}

/// A planned conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct NewConversation {
    pub placement: Placement,
    /// Prompts that it tells, in order.
    pub tells: Vec<ToldTurn>,
    /// Number of prompts of the branch that it has no longer. A summary may have told them.
    pub dropped: usize,
    /// Parts of the record that it depends on, in bytes. A fingerprint over them ignores later rows.
    pub basis: Vec<Range<usize>>,
    /// Version of the agent that wrote the newest row it keeps.
    pub version: Option<String>,
    /// Tokens that the agent counted for the conversation at that point.
    pub tokens: Option<u64>,
}

impl NewConversation {
    /// Compares a file that was written with the plan. `record`: its bytes, read back. A server's answers were compared by
    /// [`ServerCall::requires`]: its new record may begin in that of the old session.
    pub fn verify(&self, of: &dyn Conversations, record: &[u8]) -> Result<(), Refused> {
        let told = of.tells(record)?;
        if told == self.tells {
            return Ok(());
        }
        Err(Refused::Differs {
            planned: self.tells.len(),
            told: told.len(),
        })
    }
}

/// A prompt, as a conversation tells it to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldTurn {
    /// Id of the row or of the turn, which stays the same in the new conversation.
    pub row: String,
    pub text: String,
}

/// The steps that make a new conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Placement {
    /// Nothing: no message comes before the prompt. The agent's plain command begins the conversation.
    Fresh,
    /// A new file. Its folder may be missing.
    File { path: PathBuf, bytes: Vec<u8> },
    /// A command that reads these bytes from a file, whose path is its last argument.
    Import {
        argv: Vec<String>,
        bytes: Vec<u8>,
        /// The new session's id in its stdout.
        id: Pointer,
    },
    /// Calls of a server on stdio, one after the other, each after the answer to the one before.
    Serve {
        argv: Vec<String>,
        calls: Vec<ServerCall>,
    },
    /// A request to the agent's open window.
    Window { request: Value },
}

/// A call of an agent's server: JSON-RPC in lines, without the field `jsonrpc`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerCall {
    pub method: &'static str,
    /// Null: the message has none.
    pub params: Value,
    /// False: a notification, which has no answer.
    pub is_answered: bool,
    /// The new session's id in the result of this call.
    pub new_id: Option<Pointer>,
    /// Place in `params` that takes the new session's id, known by then.
    pub takes_id: Option<Pointer>,
    /// Condition on the result. Not met: the conversation is not made.
    pub requires: Option<Requirement>,
}

/// A condition on the items of a list: a field of theirs has these values, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The list in the result.
    pub list: Pointer,
    pub field: &'static str,
    pub values: Vec<String>,
    /// True: the items of all pages have these values and no others. False: the list begins with them.
    pub is_exact: bool,
    /// Field of the result that has the next page, unless it is null. The same call takes it as its parameter `cursor`.
    pub next: &'static str,
}

impl Requirement {
    /// Compares the items of all pages read so far. `is_all`: no page follows.
    pub fn is_met(&self, items: &[Value], is_all: bool) -> bool {
        let values = items.iter().map(|item| item[self.field].as_str());
        let is_same = values
            .zip(&self.values)
            .all(|(value, wanted)| value == Some(wanted));
        let is_enough = items.len() >= self.values.len();
        is_same && is_enough && !(self.is_exact && (items.len() > self.values.len() || !is_all))
    }
}

/// A JSON pointer (RFC 6901).
pub type Pointer = &'static str;

/// A conversation that can be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// The agent's id of the session. None: a new one begins.
    pub session: Option<String>,
    /// File from which the agent makes the session when it is opened. The agent then chooses the id.
    pub file: Option<PathBuf>,
    pub directory: PathBuf,
    /// Version of the agent, as its record names it.
    pub version: Option<String>,
}

/// A command line for a terminal. It is never given to a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// True if the prompt is part of it. Otherwise the person pastes the prompt.
    pub prompt_in_it: bool,
}

/// A part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordPart {
    /// All of the open branch, from its first prompt on, also what the agent has compacted since.
    All,
    /// Everything the model is shown when the conversation continues. After a compaction: its summary, not the replaced messages.
    Shown,
    /// Everything the model had been shown before the prompt.
    Before(Anchor),
    /// The prompt and all that follows on its branch.
    From(Anchor),
    /// The prompt and what follows up to the next prompt.
    Turn(Anchor),
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageAuthor {
    User,
    Assistant,
    /// A summary that the agent put in place of earlier messages.
    Summary,
}

/// A message in plain form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainMessage {
    pub role: MessageAuthor,
    pub text: String,
    pub calls: Vec<PlainCall>,
    /// Results of tools, each cut at [`MAX_RESULT`] bytes.
    pub results: Vec<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainCall {
    pub name: String,
    /// The file, or the first line of the command, as far as the call names one.
    pub target: Option<String>,
}
