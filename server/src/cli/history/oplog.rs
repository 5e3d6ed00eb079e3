//! `oplog`: the operations so far.

use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::context::CommandContext;
use crate::render::{self, BLUE, DIM, MAGENTA, YELLOW};
use crate::terminal::error::CliResult;
use crate::terminal::line::TextLine;
use crate::terminal::out::{self, Out};
use crate::{restore_words, to_protocol};

/// Show the operations so far: rewinds, reverts, undos, redos, switches, forks, tags and renames
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  backstitch oplog\n  backstitch oplog --json")]
pub struct OplogArgs;

impl TerminalCommand for OplogArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("oplog")
    }
}

impl OnHistory for OplogArgs {
    fn traits(&self) -> Traits {
        Traits {
            paged: true,
            empty: Some(|_, out| no_operations(out)),
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        oplog(context)
    }
}

fn no_operations(out: &Out) -> CliResult<()> {
    if out.json {
        return out::answer(json!({ "operations": [] }));
    }
    out.text("No operations yet: `backstitch rewind` records the first.\n")
}

fn oplog(context: &mut CommandContext) -> CliResult<()> {
    let operations = context.engine.history().operations()?;
    if context.out.json {
        let shape = |done| {
            Ok(to_protocol::operation(
                done,
                &context.engine.history().subject(done)?,
            ))
        };
        let operations = operations.iter().map(shape);
        let operations = operations.collect::<CliResult<Vec<_>>>()?;
        return out::answer(json!({ "operations": operations }));
    }
    if operations.is_empty() {
        return no_operations(context.out);
    }
    let mut text = String::new();
    for operation in &operations {
        let subject = context.engine.history().subject(operation)?;
        let mut what = restore_words::noun(&subject);
        if let Some(by) = operation.undone_by {
            what = format!("{what}  undone by {by}");
        }
        let state = operation.state.name();
        let note = if state == "done" {
            String::new()
        } else {
            format!("  {state}")
        };
        let names = operation.kind.names_only();
        let size = if names {
            format!("  {}", render::clean(&operation.detail))
        } else {
            format!("  {}", render::plural(operation.files, "file", "files"))
        };
        let line = TextLine::new()
            .column(MAGENTA, &operation.id.to_string(), 6)
            .column(
                BLUE,
                &operation.node.map(|id| id.to_string()).unwrap_or_default(),
                8,
            )
            .plain(what)
            .add(DIM, size)
            .add(YELLOW, note)
            .right(context.out.paint.ago(operation.time));
        text.push_str(&line.draw(context.out.paint));
        if !names && !operation.detail.is_empty() {
            let detail = format!("      ! {}\n", render::clean(&operation.detail));
            text.push_str(&context.out.paint.on(YELLOW, &detail));
        }
    }
    context.out.text(&text)
}
