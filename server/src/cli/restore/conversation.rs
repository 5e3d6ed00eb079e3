//! The conversation of an agent that goes back, with its files or alone.

use std::env;
use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;

use backstitch_core::model::NodeId;
use backstitch_core::{ConversationHow, launch};
use serde_json::json;

use crate::cli::context::CommandContext;
use crate::cli::restore::options::ConfirmArgs;
use crate::conversation::{
    CommandText, ConversationPlan, ConversationWanted, MadeConversation, command_text, old_session,
    remove_left,
};
use crate::render::{BOLD, DIM, clean};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::{out, questions};

/// The conversation of a restore.
#[derive(Debug)]
pub struct ConversationRun {
    pub plan: ConversationPlan,
    /// The session, once it is made.
    pub made: Option<MadeConversation>,
    /// The command line is run afterwards.
    pub opens: bool,
}

/// Plans a conversation that ends before a turn. Remains of others, after a kill, are removed first.
pub fn planned(
    context: &mut CommandContext,
    at: NodeId,
    how: ConversationHow,
    opens: bool,
) -> CliResult<ConversationRun> {
    for sentence in remove_left(&mut context.engine)? {
        context.out.note("note", &sentence);
    }
    let into = None;
    let plan = ConversationPlan::of(&context.engine, &ConversationWanted { at, how, into })?;
    Ok(ConversationRun {
        plan,
        made: None,
        opens,
    })
}

impl ConversationRun {
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
        let made = self.made.as_ref();
        self.plan
            .json(made.map(|made| (made.session.as_deref(), &made.command)))
    }

    /// Shows how the conversation continues, or continues it.
    pub fn show_opening(&self, context: &CommandContext) -> CliResult<()> {
        let Some(made) = &self.made else {
            return Ok(());
        };
        show_opening(
            context,
            &made.command,
            &self.plan.turn.turn.prompt,
            self.opens,
        )
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

/// Makes a conversation that goes back alone. The files stay as they are.
pub fn rewind_alone(
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
    let made = run.plan.make(&mut context.engine)?;
    made.finish(&mut context.engine)?;
    run.made = Some(made);
    if context.out.json && !run.opens {
        return out::answer(json!({"conversation": run.json()}));
    }
    run.show_opening(context)
}
