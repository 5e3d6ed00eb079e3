//! Conversations that were made, as clients and scripts get them.

use backstitch_core::model::OpId;
use backstitch_core::{Conversation, ConversationRecords, Engine};
use backstitch_protocol::ListedConversation;

use super::words::{CommandText, way_of};
use crate::terminal::error::{CliError, CliResult};
use crate::to_protocol;

/// A conversation for clients and scripts.
pub fn listed(engine: &Engine, one: &Conversation) -> CliResult<ListedConversation> {
    let (turn, session) = ConversationRecords::of(engine).turn_of(one)?;
    let command = CommandText::read(&one.command);
    let command = command.ok_or_else(|| CliError::failed("the command line cannot be read"))?;
    let branches = engine.history().branches()?.into_iter();
    let mut branch = branches.filter(|branch| one.branch == Some(branch.id));
    Ok(ListedConversation {
        agent: session.agent,
        session: session.native,
        turn: format!("t{}", turn.number),
        prompt: turn.prompt,
        how: way_of(one.how).to_owned(),
        branch: branch.next().map(|branch| branch.name),
        summary: one.summary.clone(),
        used: one.used.is_some(),
        operation: one.operation.map(|op| op.to_string()),
        new: one.native.clone(),
        cwd: to_protocol::path(&command.cwd),
        argv: command.argv,
        prefilled: command.has_prompt,
    })
}

/// The conversation that went back with the files of an operation.
pub fn conversation_of(engine: &Engine, operation: OpId) -> CliResult<Option<ListedConversation>> {
    let made = ConversationRecords::of(engine).made()?;
    let found = made.iter().find(|one| one.operation == Some(operation));
    found.map(|one| listed(engine, one)).transpose()
}

/// The newest conversation that ends before a turn, or the newest of all.
pub fn newest_conversation(
    engine: &Engine,
    rev: Option<&str>,
) -> CliResult<Option<ListedConversation>> {
    let records = ConversationRecords::of(engine);
    let turn = match rev {
        Some(rev) => Some(records.turn_at(engine.history().resolve(rev)?)?.turn),
        None => None,
    };
    let made = records.made()?;
    let found = made
        .iter()
        .find(|one| turn.as_ref().is_none_or(|turn| turn.id == one.turn));
    found.map(|one| listed(engine, one)).transpose()
}
