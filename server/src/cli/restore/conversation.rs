//! The conversation of an agent that goes back, with its files or alone.

use std::env;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;

use backstitch_core::launch;
use backstitch_core::model::{ConversationId, NodeId};
use backstitch_core::restore::ConversationHalf;
use serde_json::json;

use crate::cli::context::CommandContext;
use crate::cli::restore::options::ConfirmArgs;
use crate::conversation::{
    CommandText, ConversationPlan, ConversationWanted, MadeConversation, ReadConversation,
    branch_conversation, command_text, old_session, remove_left,
};
use crate::render::{BOLD, DIM, clean};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::{out, questions};
use crate::to_protocol;

/// The conversation of a restore.
#[derive(Debug)]
pub struct ConversationRun {
    pub plan: ConversationPlan,
    /// The session, once it is made.
    pub made: Option<MadeConversation>,
    /// The command line is run afterwards.
    pub opens: bool,
}

/// Plans a conversation of a turn. Remains of others, after a kill, are removed first.
pub fn planned(
    context: &mut CommandContext,
    at: NodeId,
    wanted: &ConversationWanted<'_>,
    opens: bool,
) -> CliResult<ConversationRun> {
    let read = conversation_at(context, at)?;
    ConversationRun::of(context, read, wanted, opens)
}

/// Reads the conversation of a turn. Remains of others, after a kill, are removed first.
pub fn conversation_at(context: &mut CommandContext, at: NodeId) -> CliResult<ReadConversation> {
    for sentence in remove_left(&mut context.engine)? {
        context.out.note("note", &sentence);
    }
    ReadConversation::at(&context.engine, at)
}

impl ConversationRun {
    pub fn of(
        context: &CommandContext,
        read: ReadConversation,
        wanted: &ConversationWanted<'_>,
        opens: bool,
    ) -> CliResult<ConversationRun> {
        Ok(ConversationRun {
            plan: ConversationPlan::of(&context.engine, read, wanted)?,
            made: None,
            opens,
        })
    }

    /// Makes the session. Returns its row, which the branch or the restore completes.
    pub fn make(&mut self, context: &mut CommandContext) -> CliResult<ConversationId> {
        let made = self.plan.make(&mut context.engine)?;
        let id = made.id;
        self.made = Some(made);
        Ok(id)
    }

    /// Its half of a restore, before it is made.
    pub fn half(&self) -> ConversationHalf {
        self.plan.half(None)
    }

    /// The lines of a plan.
    pub fn show(&self, context: &CommandContext) -> CliResult<()> {
        if context.out.json {
            return Ok(());
        }
        let paint = context.out.paint;
        let mut text = format!(
            "{}  {}\n",
            paint.on(BOLD, "conversation"),
            clean(&self.plan.line())
        );
        for note in self.plan.notes() {
            text.push_str(&paint.on(DIM, &format!("  {note}\n")));
        }
        context.out.text(&text)
    }

    pub fn json(&self) -> serde_json::Value {
        to_protocol::value(&match &self.made {
            Some(made) => made.shape(&self.plan),
            None => self.plan.shape(None),
        })
    }

    /// Shows how the conversation continues, or continues it.
    pub fn show_opening(&self, context: &CommandContext) -> CliResult<()> {
        let Some(made) = &self.made else {
            return Ok(());
        };
        show_opening(context, &made.command, self.plan.prompt(), self.opens)
    }
}

/// Shows how a conversation continues, or continues it. `prompt`: the one that is ready to be edited.
pub fn show_opening(
    context: &CommandContext,
    command: &CommandText,
    prompt: &str,
    opens: bool,
) -> CliResult<()> {
    if opens {
        return Err(open(command));
    }
    if context.out.json {
        return Ok(());
    }
    let here = env::current_dir().unwrap_or_default();
    let line = command_text(command, &here);
    let mut text = format!("continue with:  {}\n", context.out.paint.on(BOLD, &line));
    if !command.has_prompt && !prompt.is_empty() {
        text.push_str("then say it again, or better:\n");
        for line in prompt.lines() {
            let _ = writeln!(text, "  {}", clean(line));
        }
    }
    context.out.text(&text)
}

/// Shows how the old conversation continues, once a restore that had one is undone.
pub fn old_conversation(context: &CommandContext, operation: &str) -> CliResult<()> {
    let Some(command) = old_session(&context.engine, operation)? else {
        return Ok(());
    };
    let here = env::current_dir().unwrap_or_default();
    let line = context.out.paint.on(BOLD, &command_text(&command, &here));
    context
        .out
        .remark(&format!("The old conversation continues with:  {line}\n"))
}

/// Shows how the conversation of a branch continues, once the files are those of the branch.
pub fn show_of_branch(context: &CommandContext, branch: &str) -> CliResult<()> {
    if context.out.json {
        return Ok(());
    }
    let branch = context.engine.forks().branch(branch)?;
    let Some(command) = branch_conversation(&context.engine, &branch)? else {
        return Ok(());
    };
    let here = env::current_dir().unwrap_or_default();
    let line = context.out.paint.on(BOLD, &command_text(&command, &here));
    context.out.remark(&format!("continue with:  {line}\n"))
}

/// Runs a command line in place of this program. Returns the error of its start.
fn open(command: &CommandText) -> CliError {
    let Some((program, arguments)) = command.argv.split_first() else {
        return CliError::failed("the command line of the conversation is empty");
    };
    let started = launch::program(program);
    let error = match started {
        Ok(mut agent) => agent.args(arguments).current_dir(&command.cwd).exec(),
        Err(error) => error,
    };
    CliError::failed(format!("{program} cannot be started: {error}"))
        .hint("the conversation is there: `backstitch conversation` prints its command line")
}

/// Makes a conversation alone. The files stay as they are.
pub fn make_alone(
    context: &mut CommandContext,
    mut run: ConversationRun,
    options: &ConfirmArgs,
) -> CliResult<()> {
    let basis = &run.plan.basis;
    if options.plan.as_ref().is_some_and(|plan| plan != basis) {
        return Err(
            CliError::refused("the plan has changed since: nothing was changed")
                .hint("`--dry-run` shows the present one"),
        );
    }
    if options.dry_run {
        if context.out.json {
            let document = json!({"conversation": run.json(), "fingerprint": basis});
            return out::answer(document);
        }
        run.show(context)?;
        let fingerprint = format!("--plan {basis}");
        let plan = context.out.paint.on(BOLD, &fingerprint);
        return context.out.remark(&format!(
            "Nothing was changed. {plan} applies exactly this plan, or refuses.\n"
        ));
    }
    run.show(context)?;
    let asks = !options.yes && !context.out.json && questions::can_ask();
    if asks && !questions::ask("Make this conversation? The files stay as they are.")? {
        return Err(CliError::declined());
    }
    run.make(context)?;
    if let Some(made) = &run.made {
        made.finish(&mut context.engine)?;
    }
    if context.out.json && !run.opens {
        return out::answer(json!({"conversation": run.json()}));
    }
    run.show_opening(context)
}
