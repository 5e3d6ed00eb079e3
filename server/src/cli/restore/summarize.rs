//! `summarize`: a new session of the agent, with a summary in place of a part of its conversation.

use backstitch_core::ConversationHow;
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::cli::restore::conversation::{ConversationRun, conversation_at, make_alone};
use crate::cli::restore::options::ConfirmArgs;
use crate::conversation::{ConversationWanted, Summarizer, summary_message};
use crate::render::{DIM, clean};
use crate::terminal::editor;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::questions;

/// Continue a conversation with a summary in place of a part
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch summarize t4 --from          turn 4 and all after it become a summary\n  \
        backstitch summarize t4 --up-to         all before turn 4 becomes a summary\n  \
        backstitch summarize t4 --from --edit   change the summary first\n\n{REVISIONS}\n\n\
        The agent itself writes the summary, or the command of the setting `summarize.command`, which gets the text \
        on its stdin. Files stay as they are, and so does the old session.")
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct SummarizeArgs {
    /// Turn at which the part begins or ends
    #[arg(add = complete::revisions())]
    pub rev: String,
    /// Summarise the turn and all after it
    #[arg(long, required_unless_present = "up_to")]
    pub from: bool,
    /// Summarise all before the turn
    #[arg(long, conflicts_with = "from")]
    pub up_to: bool,
    /// Edit the summary before it is used
    #[arg(long)]
    pub edit: bool,
    /// Continue the conversation in this terminal afterwards
    #[arg(long)]
    pub open: bool,
    /// Show the summary and the plan without making the conversation
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long, visible_alias = "force")]
    pub yes: bool,
}

impl TerminalCommand for SummarizeArgs {
    fn declared(&self) -> DeclaredCommand {
        decides_unless(self.dry_run, "summarize")
    }
}

impl OnHistory for SummarizeArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        if self.edit && !questions::can_ask() {
            return Err(CliError::usage("an editor needs a terminal")
                .hint("without --edit the summary is used as it is"));
        }
        let at = context.node_now(&self.rev)?;
        let read = conversation_at(context, at)?;
        let how = if self.from {
            ConversationHow::SummaryOfRest
        } else {
            ConversationHow::SummaryOfStart
        };
        let part = read.part(how)?;
        let number = read.turn.turn.number;
        if part.is_empty() {
            let reason = format!("nothing comes before t{number} in its conversation");
            return Err(
                CliError::refused(reason).hint("--from summarises the turn and all after it")
            );
        }
        let setting = context.engine.config().summarizer();
        let summary = Summarizer::of(&read, setting.as_deref())?.run(&part)?;
        // a turn of the part
        let turn = if self.from { number } else { number - 1 };
        let mut message = summary_message(&summary, turn.max(1));
        if self.edit {
            message = edited(&message)?;
        }
        if !context.out.json {
            let paint = context.out.paint;
            let lines = message.lines();
            let lines = lines.map(|line| paint.on(DIM, &format!("  {}", clean(line))) + "\n");
            let shown: String = lines.collect();
            context.out.text(&format!("{shown}\n"))?;
        }
        let wanted = ConversationWanted {
            summary: Some(&message),
            ..ConversationWanted::of(how)
        };
        let run = ConversationRun::of(context, read, &wanted, self.open)?;
        let confirm = ConfirmArgs {
            dry_run: self.dry_run,
            ..ConfirmArgs::only(self.yes)
        };
        make_alone(context, run, &confirm)
    }
}

/// The summary as the user wants it.
fn edited(message: &str) -> CliResult<String> {
    let edited = editor::edit(("backstitch-summary-", ".md"), message)?;
    let text = String::from_utf8_lossy(&edited.bytes).trim().to_owned();
    if !edited.is_taken || text.is_empty() {
        let reason = format!("{} gave no summary: nothing was changed", edited.editor);
        return Err(CliError::failed(reason));
    }
    Ok(text)
}
