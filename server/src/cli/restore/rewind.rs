//! `rewind`: returns to the state before a turn or at a checkpoint.

use backstitch_core::model::{NodeId, Session};
use backstitch_core::restore::{Goal, Request, Scope};
use backstitch_core::{ConversationHow, Entry, LAST_TURN, LogFilter};
use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, decides_unless};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::cli::restore::conversation::{ConversationRun, make_alone, planned};
use crate::cli::restore::job::RestoreRun;
use crate::cli::restore::options::{RestoreArgs, SelectionArgs, request};
use crate::cli::restore::run::run;
use crate::conversation::ConversationWanted;
use crate::restore_plan;
use crate::terminal::error::{CliError, CliResult};

/// Restore files to the state before a turn or at a checkpoint; your own edits stay
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch rewind                       undo the agent's last turn\n  \
        backstitch rewind t4 --dry-run          show what would happen\n  \
        backstitch rewind t4                    undo the agent's work from turn 4 on\n  \
        backstitch rewind t4 --path src/main.rs\n  \
        backstitch rewind c12 --exact           restore exactly that state, without your later edits\n  \
        backstitch rewind t4 --scope both       the conversation, too\n  \
        backstitch rewind --iteration 7\n  \
        backstitch rewind \"before the refactoring\"\n\n{REVISIONS}")
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct RewindArgs {
    /// Turn or checkpoint to return to [default: the state before the agent's last turn]
    #[arg(add = complete::revisions())]
    pub rev: Option<String>,
    /// Rewind to the state after this tool call of the session
    #[arg(long, value_name = "N", conflicts_with = "rev")]
    pub iteration: Option<i64>,
    /// Restore exactly the state of the target; everyone's later edits are undone
    #[arg(long)]
    pub exact: bool,
    /// Undo the work of all agents since, not only of the turn's own session; your edits stay
    #[arg(long, conflicts_with_all = ["session", "exact"])]
    pub all_sessions: bool,
    /// Keep your own edits, even if `restore.default` is exact
    #[arg(long, conflicts_with = "exact")]
    pub merge: bool,
    /// Continue the agent's conversation in this terminal afterwards
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub restore: RestoreArgs,
}

impl TerminalCommand for RewindArgs {
    fn declared(&self) -> DeclaredCommand {
        decides_unless(self.restore.confirm.dry_run, "rewind")
    }
}

impl OnHistory for RewindArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        rewind(context, &self)
    }
}

fn rewind(context: &mut CommandContext, options: &RewindArgs) -> CliResult<()> {
    let by_default = || !options.merge && context.engine.config().rewinds_exactly();
    let mut request = Request {
        exact: options.exact || by_default(),
        all_sessions: options.all_sessions,
        ..request(
            context,
            Goal::Redo,
            Some(&options.selection),
            &options.restore,
        )?
    };
    request.goal = Goal::Rewind(match (options.rev.as_deref(), options.iteration) {
        (None, Some(number)) => iteration(context, number, options.selection.session.as_deref())?,
        (Some(LAST_TURN) | None, _) => {
            let last = restore_plan::last_turn(&mut context.engine, &request)?;
            name_skipped(context, &last.skipped);
            last.start
        }
        (Some(rev), _) => context.node_now(rev)?,
    });
    let Goal::Rewind(at) = request.goal else {
        return Ok(());
    };
    let rewound = ConversationWanted::of(ConversationHow::Rewind);
    let conversation = match request.scope {
        Scope::Code if options.open => {
            return Err(
                CliError::usage("--open: files have no conversation to continue")
                    .hint("--scope both rewinds the agent's conversation, too"),
            );
        }
        Scope::Code => None,
        Scope::Conversation => {
            let alone = planned(context, at, &rewound, options.open)?;
            return make_alone(context, alone, &options.restore.confirm);
        }
        Scope::Both => Some(planned(context, at, &rewound, options.open)?),
    };
    request.conversation = conversation.as_ref().map(ConversationRun::half);
    run(
        context,
        RestoreRun {
            before: None,
            conversation,
            request,
            rev: options.rev.clone(),
            options: &options.restore.confirm,
            keeps_uncertain: options.selection.keeps_uncertain(),
        },
    )
}

/// Notes turns that were skipped, since nothing of them is in force.
pub fn name_skipped(context: &CommandContext, turns: &[i64]) {
    if turns.is_empty() {
        return;
    }
    let names: Vec<String> = turns.iter().map(|number| format!("t{number}")).collect();
    let names = names.join(", ");
    let note = format!("nothing of {names} is in force; this undoes the turn before");
    context.out.note("note", &note);
}

/// Returns the checkpoint of a tool call, by its number in the session. A call that changed nothing has no
/// checkpoint; the newest one before it has the same state.
fn iteration(context: &CommandContext, number: i64, session: Option<&str>) -> CliResult<NodeId> {
    let entries = context.engine.history().log(&LogFilter {
        session: session.map(str::to_owned),
        ..LogFilter::default()
    })?;
    let mut reaching: Vec<&Session> = Vec::new();
    for entry in &entries {
        if let (Some(call), Some(session)) = (&entry.call, &entry.session)
            && call.iteration >= number
            && reaching.iter().all(|known| known.id != session.id)
        {
            reaching.push(session);
        }
    }
    let session = match reaching.as_slice() {
        [session] if number > 0 => session.id,
        [] | [_] => {
            return Err(
                CliError::not_found(format!("no checkpoint of iteration {number}")).hint(
                    "`backstitch log --json` lists the iteration of each step; --session names the session",
                ),
            );
        }
        several => {
            let mut letters: Vec<String> = several.iter().map(|s| s.id.letter()).collect();
            letters.sort();
            return Err(CliError::usage(format!(
                "several sessions have an iteration {number}: {}",
                letters.join(", ")
            ))
            .hint("--session selects one"));
        }
    };
    let of_session = || {
        let own = move |entry: &&Entry| entry.session.as_ref().is_some_and(|s| s.id == session);
        entries.iter().filter(own)
    };
    let at = |entry: &&Entry| entry.call.as_ref().map(|call| call.iteration);
    let found = of_session()
        .find(|entry| at(entry) == Some(number))
        .or_else(|| of_session().find(|entry| at(entry).is_some_and(|n| n < number)))
        // The session had changed nothing yet.
        .or_else(|| {
            let mut turns =
                of_session().filter(|entry| entry.turn.is_some() && entry.call.is_none());
            turns.next_back()
        });
    found
        .map(|entry| entry.node.id)
        .ok_or_else(|| CliError::not_found(format!("no checkpoint of iteration {number}")))
}
