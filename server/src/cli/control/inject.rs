//! `inject`: sends a text to the model of an agent.

use backstitch_agents::{self as agents, AnswerPart};
use backstitch_control::WaitingMessage;
use clap::Args;
use serde_json::{Value, json};

use crate::cli::command::{DeclaredCommand, OnCalls, TerminalCommand, decides, reads};
use crate::cli::complete;
use crate::cli::control_context::{CLIENT, ControlContext};
use crate::render::{self, BOLD, DIM, PLAIN};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::line::TextLine;
use crate::terminal::out;

/// Send a text to the model of an agent, with its next event
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch inject \"the tests are in tests/unit\"")]
pub struct InjectArgs {
    /// Text for the model
    #[arg(required_unless_present_any = ["list", "withdraw"])]
    pub text: Option<String>,
    /// List the texts that are not sent yet
    #[arg(long, conflicts_with_all = ["text", "session"])]
    pub list: bool,
    /// Withdraw a text that is not sent yet, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["text", "session", "list"])]
    pub withdraw: Option<i64>,
    /// Only this session [default: the next event of any]
    #[arg(short, long, value_name = "ID", add = complete::sessions())]
    pub session: Option<String>,
}

impl TerminalCommand for InjectArgs {
    fn declared(&self) -> DeclaredCommand {
        if self.list {
            reads("inject")
        } else {
            decides("inject")
        }
    }
}

impl OnCalls for InjectArgs {
    fn run(self, context: &ControlContext) -> CliResult<()> {
        inject(context, &self)
    }
}

fn inject(context: &ControlContext, options: &InjectArgs) -> CliResult<()> {
    if options.list {
        return waiting(context);
    }
    if let Some(number) = options.withdraw {
        return withdraw(context, number);
    }
    let control = context.create()?;
    let session = context.known_session(options.session.as_deref())?;
    if let Some(agent) = context.agent_of(session.as_deref())?
        && !agents::takes(&agent, AnswerPart::Note)
    {
        return Err(
            CliError::refused(format!("{agent} takes no text for its model"))
                .hint("`backstitch deny -m TEXT` has one for the model of a held call"),
        );
    }
    let text = options.text.as_deref().unwrap_or_default();
    let number = control
        .messages()
        .inject(None, session.as_deref(), text, CLIENT)?;
    if context.out.json {
        return out::answer(json!({ "injected": true, "number": number }));
    }
    context.out.remark(&format!(
        "The text goes to the model with the next event that can carry it. `backstitch inject --withdraw {number}` takes it \
         back until then.\n"
    ))
}

/// Lists the texts that wait for an event.
fn waiting(context: &ControlContext) -> CliResult<()> {
    let waiting = match context.existing()? {
        Some(control) => control.messages().waiting()?,
        None => Vec::new(),
    };
    if context.out.json {
        let waiting: Vec<Value> = waiting
            .iter()
            .map(|one| {
                json!({
                    "number": one.id,
                    "agent": one.agent,
                    "session": one.session,
                    "text": one.text,
                    "made": crate::to_protocol::time(one.made),
                })
            })
            .collect();
        return out::answer(json!({ "waiting": waiting }));
    }
    if waiting.is_empty() {
        return context.out.text("No text waits.\n");
    }
    let line = |one: &WaitingMessage| {
        TextLine::new()
            .column(BOLD, &one.id.to_string(), 4)
            .add(PLAIN, render::cut(&render::clean(&one.text), 100))
            .add(
                DIM,
                match &one.session {
                    Some(session) => format!("  for {}", render::clean(session)),
                    None => "  for the session that reports next".to_owned(),
                },
            )
            .right(context.out.paint.ago(one.made))
            .draw(context.out.paint)
    };
    let text: String = waiting.iter().map(line).collect();
    context.out.text(&text)
}

fn withdraw(context: &ControlContext, number: i64) -> CliResult<()> {
    let withdrawn = match context.existing()? {
        Some(control) => control.messages().withdraw(number)?,
        None => false,
    };
    if !withdrawn {
        return Err(CliError::not_found(format!("no text {number} waits")).hint(
            "`backstitch inject --list` lists those that do; a sent one cannot be withdrawn",
        ));
    }
    if context.out.json {
        return out::answer(json!({ "withdrawn": number }));
    }
    context
        .out
        .remark(&format!("Text {number} is withdrawn.\n"))
}
