//! `conversation`: the sessions of agents that were made to end before a turn, and the command lines that open them.

use backstitch_agents::AGENTS;
use backstitch_agents::conversations::excerpt;
use backstitch_core::ConversationRecords;
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides, reads};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::cli::restore::conversation::show_opening;
use crate::conversation::{CommandText, listed, way_of};
use crate::render::{BOLD, DIM};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out;

/// The word that lists all conversations.
const LIST: &str = "list";

/// Show how to continue a conversation that was rewound
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch conversation          the newest one\n  \
        backstitch conversation t4       the newest one that ends before turn 4\n  \
        backstitch conversation t4 --open\n  \
        backstitch conversation list\n\n{REVISIONS}")
)]
pub struct ConversationArgs {
    /// Turn before which the conversation ends, or `list` [default: the newest conversation]
    #[arg(add = complete::revisions())]
    pub rev: Option<String>,
    /// Continue it in this terminal
    #[arg(long)]
    pub open: bool,
}

impl TerminalCommand for ConversationArgs {
    fn declared(&self) -> DeclaredCommand {
        if self.open {
            decides("conversation --open")
        } else {
            reads("conversation")
        }
    }
}

impl OnHistory for ConversationArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        if self.rev.as_deref() == Some(LIST) {
            return list(context);
        }
        let made = ConversationRecords::of(&context.engine).made()?;
        let turn = match &self.rev {
            None => None,
            Some(rev) => {
                let node = context.node_now(rev)?;
                Some(ConversationRecords::of(&context.engine).turn_at(node)?.turn)
            }
        };
        let mut all = made.iter();
        let found = all.find(|one| turn.as_ref().is_none_or(|turn| turn.id == one.turn));
        let found = found.and_then(|one| Some((one, CommandText::read(&one.command)?)));
        let Some((found, command)) = found else {
            if turn.is_none() {
                return no_conversation(context);
            }
            let place = turn.map_or_else(String::new, |turn| format!(" before t{}", turn.number));
            return Err(
                CliError::not_found(format!("no conversation was made{place}")).hint(
                    "`backstitch rewind t4 --scope conversation` makes one that ends before t4",
                ),
            );
        };
        if context.out.json && !self.open {
            return out::answer(json!({"conversation": listed(&context.engine, found)?}));
        }
        let (turn, _) = ConversationRecords::of(&context.engine).turn_of(found)?;
        show_opening(context, &command, &turn.prompt, self.open)
    }
}

fn list(context: &CommandContext) -> CliResult<()> {
    let made = ConversationRecords::of(&context.engine).made()?;
    if context.out.json {
        let rows = made.iter().map(|one| listed(&context.engine, one));
        let rows: Vec<_> = rows.collect::<CliResult<_>>()?;
        return out::answer(json!({"conversations": rows}));
    }
    if made.is_empty() {
        return no_conversation(context);
    }
    for one in &made {
        let (turn, session) = ConversationRecords::of(&context.engine).turn_of(one)?;
        let agent = AGENTS.iter().find(|agent| agent.name() == session.agent);
        let agent = agent.map_or(session.agent.as_str(), |agent| agent.spec().page.title);
        let used = if one.used.is_some() {
            ""
        } else {
            "  not opened yet"
        };
        let line = TextLine::new()
            .add(BOLD, format!("{} t{}", way_of(one.how), turn.number))
            .add(
                crate::render::PLAIN,
                format!("  “{}”", excerpt(&turn.prompt)),
            )
            .add(
                DIM,
                format!(
                    "  {agent}  {}{used}",
                    one.native.as_deref().unwrap_or("new")
                ),
            );
        context.out.text(&line.draw(context.out.paint))?;
    }
    Ok(())
}

fn no_conversation(context: &CommandContext) -> CliResult<()> {
    if context.out.json {
        return out::answer(json!({"conversation": null}));
    }
    context.out.remark("No conversation was made yet.\n")
}
