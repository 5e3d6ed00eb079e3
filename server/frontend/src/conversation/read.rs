//! The conversation of a turn: its agent, and its place in the record.

use std::fmt;
use std::path::PathBuf;

use backstitch_agents::conversations::{
    Anchor, Conversations, RecordPart, RecordPlace, RecordedPrompt, Refused, WantedTurn, find,
    plain_text,
};
use backstitch_agents::{AGENTS, Agent};
use backstitch_core::model::NodeId;
use backstitch_core::{ConversationHow, ConversationRecords, ConversationTurn, Engine};
use serde_json::json;

use super::record::{self, ReadRecord};
use crate::terminal::error::{CliError, CliResult, ExitKind};

/// The record of a conversation, with the prompt of one of its turns.
pub struct ReadConversation {
    pub turn: ConversationTurn,
    pub(super) agent: &'static dyn Agent,
    pub(super) conversations: &'static dyn Conversations,
    pub(super) place: RecordPlace,
    pub(super) record: ReadRecord,
    pub(super) anchor: Anchor,
}

impl fmt::Debug for ReadConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadConversation")
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl ReadConversation {
    /// Reads the conversation of the turn that begins at a node.
    pub fn at(engine: &Engine, node: NodeId) -> CliResult<ReadConversation> {
        let turn = ConversationRecords::of(engine).turn_at(node);
        let turn = turn.map_err(|error| CliError {
            kind: ExitKind::Usage,
            ..error.into()
        })?;
        let agent = AGENTS.iter().find(|one| one.name() == turn.session.agent);
        let found = agent.and_then(|agent| Some((*agent, agent.conversations()?)));
        let (agent, conversations) = found.ok_or_else(|| {
            CliError::refused(format!(
                "the conversation of t{} is one of {}, and going back is not supported for this agent yet",
                turn.turn.number, turn.session.agent
            ))
            .hint("--scope code rewinds the files alone")
        })?;
        let directory = engine.root().to_owned();
        let place = RecordPlace {
            session: turn.session.native.clone(),
            transcript: turn.session.transcript.clone().map(PathBuf::from),
            directory: directory.canonicalize().unwrap_or(directory),
            home: agent.spec().places.user_dir(),
        };
        let name = agent.spec().page.title;
        let record = record::read(name, conversations, &place)?;
        let prompts = conversations.turns(&record.bytes);
        let prompts = prompts.map_err(|why| refused(&why.into()))?;
        let prompt =
            recorded(&prompts, &turn, earlier(engine, &turn)?).map_err(|why| refused(&why))?;
        Ok(ReadConversation {
            anchor: prompt.anchor.clone(),
            turn,
            agent,
            conversations,
            place,
            record,
        })
    }

    /// The name of the agent in commands and settings.
    pub fn agent(&self) -> &'static str {
        self.agent.name()
    }

    /// The command that sums up, where the settings name none.
    pub fn summarizer(&self) -> &'static [&'static str] {
        self.conversations.summarizer()
    }

    /// The part that a summary replaces, as plain text. Empty: nothing is there.
    pub fn part(&self, how: ConversationHow) -> CliResult<String> {
        let part = match how {
            ConversationHow::SummaryOfStart => RecordPart::Before(self.anchor.clone()),
            ConversationHow::SummaryOfRest | ConversationHow::Rewind | ConversationHow::Fork => {
                RecordPart::From(self.anchor.clone())
            }
        };
        let messages = self.conversations.messages(&self.record.bytes, &part);
        let messages = messages.map_err(|why| refused(&why))?;
        Ok(plain_text(&messages))
    }
}

/// The number of prompts with which the session of a turn began: one that was made has those of the session before it.
fn earlier(engine: &Engine, turn: &ConversationTurn) -> CliResult<usize> {
    let records = ConversationRecords::of(engine);
    let made = records.made()?;
    let mut session = turn.session.native.clone();
    let mut count = 0;
    for _ in 0..=made.len() {
        let Some(one) = made
            .iter()
            .find(|one| one.native.as_ref() == Some(&session))
        else {
            break;
        };
        let (old, _) = records.turn_of(one)?;
        let old = records.turn_at(old.node)?;
        count += old.before;
        session = old.session.native;
    }
    Ok(count)
}

/// The prompt of a turn in the record: by one of the agent's ids, or else by order and text.
fn recorded<'p>(
    prompts: &'p [RecordedPrompt],
    turn: &ConversationTurn,
    earlier: usize,
) -> Result<&'p RecordedPrompt, Refused> {
    let wanted = |native| WantedTurn {
        native,
        text: &turn.turn.prompt,
        before: earlier + turn.before,
    };
    // an id that is in no record finds nothing: those of Qwen Code's hooks are in none
    let has_ids = prompts.iter().any(|prompt| prompt.anchor.native.is_some());
    if !has_ids {
        return find(prompts, &wanted(None));
    }
    let mut last = None;
    for native in &turn.natives {
        match find(prompts, &wanted(Some(native))) {
            Ok(prompt) => return Ok(prompt),
            Err(why) => last = Some(why),
        }
    }
    match last {
        // the agent gives ids, and has none of this turn
        Some(why) => Err(why),
        None => find(prompts, &wanted(None)),
    }
}

pub(super) fn refused(why: &Refused) -> CliError {
    let kind = json!({"conversation": {"refused": why.kind()}});
    CliError::refused(why.to_string())
        .hint(why.hint())
        .answer(kind)
}
