//! `cat`: one file of a checkpoint, and text that an editor had not saved.

use std::ffi::{OsStr, OsString};

use backstitch_core::Unsaved;
use backstitch_core::model::{ContentId, NodeId, RelPath};
use clap::Args;
use serde_json::json;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, reads};
use crate::cli::complete;
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::query::show::{FileAt, file_at};
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out;
use crate::{render, to_protocol};

/// Print a file's content at a checkpoint, byte for byte
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch cat t4 src/main.rs\n  \
        backstitch cat c12 logo.png > old.png\n  \
        backstitch cat t4 src/main.rs --unsaved   text that an editor had not saved\n\n{REVISIONS}")
)]
pub struct CatArgs {
    /// Checkpoint to read from
    #[arg(add = complete::revisions())]
    pub rev: String,
    /// File to print
    pub path: OsString,
    /// Print text that an editor had not saved by then, instead of the file on disk. N picks one of several
    /// editors, in the order that `show` lists them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub unsaved: Option<u16>,
}

impl TerminalCommand for CatArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("cat")
    }
}

impl OnHistory for CatArgs {
    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        match self.unsaved {
            None => cat(context, &self.rev, &self.path),
            Some(number) => cat_unsaved(context, &self.rev, &self.path, number),
        }
    }
}

fn cat(context: &mut CommandContext, rev: &str, typed: &OsStr) -> CliResult<()> {
    let shown = typed.to_string_lossy();
    let is_directory = || CliError::usage(format!("{shown} is a directory"));
    context.node(rev)?;
    let path = context.path(typed)?.ok_or_else(is_directory)?;
    context.require(&path)?;
    let (id, file) = file_at(&context.engine, rev, &path)?;
    match file {
        FileAt::Content(content) => content_answer(context, id, &path, &content),
        FileAt::Unknown => Err(CliError::not_found(format!(
            "the content of {} at {rev} is not known: it was first scanned later",
            path.display()
        ))
        .hint("files that were ignored or never scanned have no earlier states")),
        FileAt::Absent => Err(CliError::not_found(format!(
            "{} is not recorded at {rev}",
            path.display()
        ))
        .hint(format!(
            "`backstitch log --path {}` shows when it changed",
            render::argument(&path.display())
        ))),
        FileAt::NotKept(why) => {
            let why = render::not_kept(why).replace('_', " ");
            Err(CliError::refused(format!(
                "the content of {} at {rev} is not kept: {why}",
                path.display()
            )))
        }
    }
}

fn content_answer(
    context: &CommandContext,
    id: NodeId,
    path: &RelPath,
    content: &ContentId,
) -> CliResult<()> {
    if context.out.json {
        return out::answer(json!({
            "checkpoint": id.to_string(),
            "path": to_protocol::text(path.bytes()),
            "content": to_protocol::text(&context.engine.content(content)?),
        }));
    }
    let mut unwritten = None;
    let read = context.engine.read(content, &mut |bytes| {
        out::content(bytes).map_err(|e| {
            unwritten = Some(e);
            backstitch_core::Error::CalledOff
        })
    });
    match unwritten {
        Some(e) => Err(e),
        None => Ok(read?),
    }
}

/// Prints text of a file that an editor had not saved. `number` selects an editor, in the order of `show`.
fn cat_unsaved(
    context: &mut CommandContext,
    rev: &str,
    typed: &OsStr,
    number: u16,
) -> CliResult<()> {
    let id = context.node(rev)?;
    let shown = typed.to_string_lossy();
    let is_directory = || CliError::usage(format!("{shown} is a directory"));
    let path = context.path(typed)?.ok_or_else(is_directory)?;
    let all = context.engine.documents().unsaved_at(id)?;
    let of_it: Vec<&Unsaved> = all.iter().filter(|u| u.path == path).collect();
    let Some(found) = of_it.get(usize::from(number) - 1) else {
        let path = path.display();
        let reason = match of_it.len() {
            0 => format!("no editor had unsaved text of {path} at {rev}"),
            1 => format!("one editor had unsaved text of {path} at {rev}, and no other"),
            count => format!("{count} editors had unsaved text of {path} at {rev}, not more"),
        };
        return Err(
            CliError::not_found(reason).hint("leave out --unsaved to print the file on disk")
        );
    };
    if of_it.len() > 1 {
        let (count, editor) = (of_it.len(), render::clean(&found.editor));
        let note = format!(
            "showing unsaved text {number} of {count}, from {editor}; --unsaved=N selects another"
        );
        context.out.note("note", &note);
    }
    content_answer(context, id, &path, &found.content)
}
