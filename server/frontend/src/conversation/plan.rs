//! The plan of a conversation that goes back. Nothing is written.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use backstitch_agents::conversations::{
    Anchor, CommandLine, Conversations, CutRequest, Made, NewConversation, Placement, RecordPlace,
    SessionCut, excerpt,
};
use backstitch_agents::{AGENTS, Agent};
use backstitch_core::{
    Conversation, ConversationHow, ConversationRecords, ConversationTurn, Engine,
};
use backstitch_protocol::PlannedConversation;
use serde_json::Value;

use super::read::{ReadConversation, refused};
use super::record::{self, ReadRecord};
use super::words::{CommandText, way_of};
use crate::terminal::error::CliResult;
use crate::to_protocol;

/// Programs of agents whose open conversations are known by a file, and their own commands that go back.
const OWN_WAYS: [(&str, &str); 2] = [("claude-code", "/rewind"), ("codex", "Esc Esc")];

/// A conversation that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct ConversationWanted<'a> {
    pub how: ConversationHow,
    /// Another directory in which it continues.
    pub into: Option<&'a Path>,
    /// The text in place of a part, where it is a summary.
    pub summary: Option<&'a str>,
}

impl ConversationWanted<'_> {
    pub fn of(how: ConversationHow) -> Self {
        Self {
            how,
            into: None,
            summary: None,
        }
    }

    fn cut(&self, anchor: Anchor) -> SessionCut {
        let text = || self.summary.unwrap_or_default().to_owned();
        match self.how {
            ConversationHow::Rewind | ConversationHow::Fork => SessionCut::Before(anchor),
            ConversationHow::SummaryOfRest => SessionCut::SummaryOfRest(anchor, text()),
            ConversationHow::SummaryOfStart => SessionCut::SummaryOfStart(anchor, text()),
        }
    }
}

/// A new session of an agent, as it will be made.
pub struct ConversationPlan {
    pub turn: ConversationTurn,
    pub how: ConversationHow,
    pub(super) summary: Option<String>,
    pub(super) agent: &'static dyn Agent,
    pub(super) conversations: &'static dyn Conversations,
    pub(super) new: NewConversation,
    /// Id of the new session, where it is given.
    pub(super) session: String,
    /// One that was made before, and that nobody has opened.
    pub(super) unused: Option<Conversation>,
    pub(super) directory: PathBuf,
    /// All that the new session depends on.
    pub basis: String,
    /// True if a process has the old session open. None: that is not known.
    pub is_open: Option<bool>,
}

impl fmt::Debug for ConversationPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationPlan")
            .field("turn", &self.turn)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl ConversationPlan {
    /// Plans a new session.
    pub fn of(
        engine: &Engine,
        read: ReadConversation,
        wanted: &ConversationWanted<'_>,
    ) -> CliResult<ConversationPlan> {
        let ReadConversation {
            turn,
            agent,
            conversations,
            place,
            record: ReadRecord { bytes, file },
            anchor,
        } = read;
        let into = wanted.into;
        let folders = into
            .and_then(|_| conversations.folders(&place, Some(&file)))
            .map(|dir| record::folders_in(&dir))
            .unwrap_or_default();
        let now = jiff::Timestamp::now().as_microsecond();
        let session = new_session(&place.session, now);
        let cut = wanted.cut(anchor);
        let request = CutRequest {
            place: &place,
            record: Some(&file),
            cut: &cut,
            into,
            session: &session,
            now,
            folders: &folders,
        };
        let new = conversations.cut(&bytes, &request);
        let new = new.map_err(|why| refused(&why))?;
        let mut hash = blake3::Hasher::new();
        for range in &new.basis {
            hash.update(bytes.get(range.clone()).unwrap_or_default());
        }
        let directory = into.map_or_else(|| place.directory.clone(), Path::to_owned);
        hash.update(cut.anchor().row.as_bytes());
        hash.update(directory.as_os_str().as_encoded_bytes());
        let unused = unused(engine, &turn, wanted, &directory)?;
        Ok(ConversationPlan {
            is_open: is_open(agent.name(), &place),
            basis: hash.finalize().to_hex()[..16].to_owned(),
            how: wanted.how,
            summary: wanted.summary.map(str::to_owned),
            agent,
            conversations,
            new,
            session,
            unused,
            directory,
            turn,
        })
    }

    /// The name of the agent for people.
    pub fn agent_name(&self) -> &'static str {
        self.agent.spec().page.title
    }

    /// Number of prompts that stay.
    pub fn kept(&self) -> usize {
        self.new.tells.len()
    }

    /// The command line that opens a session.
    pub(super) fn opening(&self, session: Option<String>) -> CommandLine {
        let file = match &self.new.placement {
            Placement::File { path, .. } if self.conversations.opens_copies() => Some(path.clone()),
            _ => None,
        };
        let made = Made {
            session,
            file,
            directory: self.directory.clone(),
            version: self.new.version.clone(),
        };
        self.conversations.opening(&made, self.prompt())
    }

    /// The prompt that is said again. Empty: the session tells it, or the summary does.
    pub fn prompt(&self) -> &str {
        match self.how {
            ConversationHow::Rewind | ConversationHow::Fork => &self.turn.turn.prompt,
            ConversationHow::SummaryOfRest | ConversationHow::SummaryOfStart => "",
        }
    }

    /// Id of the session that is made, as far as it is known before.
    pub(super) fn known_session(&self) -> Option<String> {
        match &self.new.placement {
            Placement::File { .. } if !self.conversations.opens_copies() => {
                Some(self.session.clone())
            }
            Placement::Fresh
            | Placement::File { .. }
            | Placement::Import { .. }
            | Placement::Serve { .. }
            | Placement::Window { .. } => None,
        }
    }

    /// The line of a plan: `before t3 “prompt charlie” · Claude Code · 2 of 4 prompts stay`.
    pub fn line(&self) -> String {
        let turn = &self.turn.turn;
        let (kept, all) = (self.kept(), self.kept() + self.new.dropped);
        format!(
            "{} t{} “{}” · {} · {kept} of {all} prompts stay",
            way_of(self.how),
            turn.number,
            excerpt(&turn.prompt),
            self.agent_name(),
        )
    }

    /// Sentences about what stays as it is, and what the person should know before.
    pub fn notes(&self) -> Vec<String> {
        let (name, own) = (self.agent_name(), self.agent.name());
        let way = OWN_WAYS.iter().find(|(agent, _)| *agent == own);
        let way = way.map_or("its own way back", |(_, way)| way);
        let mut all = Vec::new();
        match self.is_open {
            Some(true) => all.push(format!(
                "The conversation is open in {name}. It stays as it is. Exit it and run the line below, or use {way} there."
            )),
            Some(false) => {}
            None => all.push(format!(
                "If the conversation is open in {name}, it stays as it is: exit it and run the line below, or use {way} there."
            )),
        }
        if matches!(self.new.placement, Placement::Fresh) {
            all.push("Nothing comes before: the line begins a new conversation, without options that the old one began with.".to_owned());
        }
        if self.unused.is_some() {
            all.push(
                "The session that was made before and that nobody has opened is used.".to_owned(),
            );
        }
        all
    }

    /// The plan for clients and scripts. `made`: the id of the new session, and its command line.
    pub fn shape(&self, made: Option<(Option<&str>, &CommandText)>) -> PlannedConversation {
        let command = made.map(|(_, command)| command);
        PlannedConversation {
            agent: self.agent.name().to_owned(),
            session: self.turn.session.native.clone(),
            turn: format!("t{}", self.turn.turn.number),
            kept: self.kept(),
            dropped: self.new.dropped,
            line: self.line(),
            notes: self.notes(),
            prompt: self.prompt().to_owned(),
            open: self.is_open,
            tokens: self.new.tokens,
            summary: self.summary.clone(),
            new: made.and_then(|(session, _)| session).map(str::to_owned),
            argv: command.map(|command| command.argv.clone()),
            cwd: command.map(|command| to_protocol::path(&command.cwd)),
            prefilled: command.map(|command| command.has_prompt),
        }
    }
}

/// The command line of the old session, of a restore with a conversation that is undone. `operation`: as the plan names it, `op1`.
pub fn old_session(engine: &Engine, operation: &str) -> CliResult<Option<CommandText>> {
    let records = ConversationRecords::of(engine);
    let is_its = |one: &Conversation| one.operation.is_some_and(|op| op.to_string() == operation);
    let Some(made) = records.made()?.into_iter().find(is_its) else {
        return Ok(None);
    };
    let (_, session) = records.turn_of(&made)?;
    let agent = AGENTS.iter().find(|agent| agent.name() == session.agent);
    let conversations = agent.and_then(|agent| agent.conversations());
    let old = Made {
        session: Some(session.native),
        file: None,
        directory: engine.root().to_owned(),
        version: None,
    };
    Ok(conversations.map(|conversations| CommandText::of(conversations.opening(&old, ""))))
}

/// The id of a new session: a UUID that no other process makes.
fn new_session(of: &str, now: i64) -> String {
    let seed = format!(
        "{of} {now} {:?}",
        backstitch_core::process::ProcessId::own()
    );
    let hash = blake3::hash(seed.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    // as RFC 9562 marks random ones
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut hex = String::new();
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

/// A session that was made for the same turn, text and directory, and that nobody has opened.
fn unused(
    engine: &Engine,
    turn: &ConversationTurn,
    wanted: &ConversationWanted<'_>,
    directory: &Path,
) -> CliResult<Option<Conversation>> {
    let made = ConversationRecords::of(engine).made()?;
    let found = made.into_iter().find(|one| {
        let is_its = one.turn == turn.turn.id && one.how == wanted.how && one.used.is_none();
        let command = CommandText::read(&one.command);
        is_its
            && one.summary.as_deref() == wanted.summary
            // another branch has another conversation
            && wanted.how != ConversationHow::Fork
            && (one.native.is_some() || one.place.is_some())
            && command.is_some_and(|command| command.cwd == directory)
            && record::is_as_written(one)
    });
    Ok(found)
}

/// True if a process has a session of Claude Code open. None: it is not known.
fn is_open(agent: &str, place: &RecordPlace) -> Option<bool> {
    if agent != "claude-code" {
        return None;
    }
    let folder = place.home.as_ref()?.join("sessions");
    let mut files = std::fs::read_dir(folder).ok()?.flatten();
    let is_its = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let pid = path.file_stem()?.to_str()?.parse::<u32>().ok()?;
        let text = std::fs::read(&path).ok()?;
        let value: Value = serde_json::from_slice(&text).ok()?;
        let is_alive = backstitch_core::process::ProcessStat::of(pid).is_some();
        (value["sessionId"] == place.session.as_str() && is_alive).then_some(())
    };
    Some(files.find_map(is_its).is_some())
}
