//! Conversations that were made, and summaries of a part of one.

use std::sync::Arc;

use backstitch_core::ConversationHow;
use backstitch_protocol::{
    ConversationParams, LastConversation, PlannedConversation, SummarizeParams, SummarizeResult,
};

use crate::conversation::{
    ConversationPlan, ConversationWanted, ReadConversation, Summarizer, newest_conversation,
    remove_left, summary_message,
};
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::messages::{plan as messages, refusal};
use crate::lsp::session::ServerState;
use crate::terminal::error::{CliError, CliResult};

/// The newest conversation that was made, with the command line that opens it.
pub async fn last(
    handle: &Arc<WorkspaceHandle>,
    typed: ConversationParams,
) -> Reply<LastConversation> {
    let rev = typed.rev.map(String::from);
    let found = handle.ask(move |engine| Ok(newest_conversation(engine, rev.as_deref())));
    Ok(LastConversation {
        conversation: found.await??,
    })
}

/// Sums up a part of a conversation, or makes the conversation with a summary.
pub async fn summarize(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    typed: SummarizeParams,
) -> Reply<SummarizeResult> {
    let how = match &*typed.part {
        "from" => ConversationHow::SummaryOfRest,
        "up_to" => ConversationHow::SummaryOfStart,
        other => return Err(Failure::usage(refusal::part(other))),
    };
    let turn = String::from(typed.turn);
    let Some(summary) = typed.summary else {
        return summed_up(handle, turn, how).await;
    };
    let text = summary.clone();
    let made = handle.act(false, move |WriteAccess { engine, .. }| {
        let at = engine.history().resolve(&turn)?;
        let mut make = || -> CliResult<PlannedConversation> {
            remove_left(engine)?;
            let read = ReadConversation::at(engine, at)?;
            let wanted = ConversationWanted {
                summary: Some(&text),
                ..ConversationWanted::of(how)
            };
            let plan = ConversationPlan::of(engine, read, &wanted)?;
            let made = plan.make(engine)?;
            made.finish(engine)?;
            Ok(made.shape(&plan))
        };
        Ok(make())
    });
    let conversation = made.await??;
    server.changed(handle);
    let message = format!(
        "{}.{}",
        conversation.line,
        messages::continue_with(&conversation)
    );
    server.client.report(message);
    Ok(SummarizeResult {
        summary,
        conversation: Some(conversation),
    })
}

/// A summary to be read and edited. Nothing is made.
async fn summed_up(
    handle: &Arc<WorkspaceHandle>,
    turn: String,
    how: ConversationHow,
) -> Reply<SummarizeResult> {
    let read = handle.ask(move |engine| {
        let at = engine.history().resolve(&turn)?;
        let setting = engine.config().summarizer();
        let read = || -> CliResult<(Summarizer, String, i64)> {
            let read = ReadConversation::at(engine, at)?;
            let part = read.part(how)?;
            if part.is_empty() {
                return Err(CliError::refused(refusal::NOTHING_BEFORE));
            }
            let summarizer = Summarizer::of(&read, setting.as_deref())?;
            Ok((summarizer, part, read.turn.turn.number))
        };
        Ok(read())
    });
    let (summarizer, part, number) = read.await??;
    // it takes as long as a model does, and holds up no other request
    let ran = tokio::task::spawn_blocking(move || summarizer.run(&part));
    let summary = ran.await.map_err(|_| Failure::cancelled())??;
    let turn = match how {
        ConversationHow::SummaryOfStart => number - 1,
        ConversationHow::SummaryOfRest | ConversationHow::Rewind | ConversationHow::Fork => number,
    };
    Ok(SummarizeResult {
        summary: summary_message(&summary, turn.max(1)),
        conversation: None,
    })
}
