//! The conversation with which the work on a branch continues.

use backstitch_agents::AGENTS;
use backstitch_agents::conversations::Made;
use backstitch_core::model::Kind;
use backstitch_core::{BranchInfo, ConversationRecords, Engine, LogFilter};

use super::words::CommandText;
use crate::terminal::error::CliResult;

/// The command line of the newest conversation of a branch. Until its first turn that is the one that was created with it, and then
/// that of the newest turn. None: no agent worked there, or its conversations cannot be continued by a command line.
pub fn branch_conversation(engine: &Engine, branch: &BranchInfo) -> CliResult<Option<CommandText>> {
    let made = ConversationRecords::of(engine).made()?;
    let unused = made
        .iter()
        .find(|one| one.branch == Some(branch.id) && one.used.is_none());
    if let Some(command) = unused.and_then(|one| CommandText::read(&one.command)) {
        return Ok(Some(command));
    }
    let turns = engine.history().log(&LogFilter {
        branch: Some(branch.name.clone()),
        kind: Some(Kind::Turn),
        limit: Some(1),
        ..LogFilter::default()
    })?;
    let Some(session) = turns.into_iter().next().and_then(|turn| turn.session) else {
        return Ok(None);
    };
    let agent = AGENTS.iter().find(|agent| agent.name() == session.agent);
    let Some(conversations) = agent.and_then(|agent| agent.conversations()) else {
        return Ok(None);
    };
    // one that was made in another directory continues there
    let own = made
        .iter()
        .find(|one| one.native.as_deref() == Some(&session.native));
    let directory = own
        .and_then(|one| CommandText::read(&one.command))
        .map(|command| command.cwd)
        .or_else(|| branch.root.clone());
    let made = Made {
        session: Some(session.native),
        file: None,
        directory: directory.unwrap_or_else(|| engine.root().to_owned()),
        version: None,
    };
    Ok(Some(CommandText::of(conversations.opening(&made, ""))))
}
