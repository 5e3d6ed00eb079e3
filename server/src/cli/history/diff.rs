//! `diff`: the changes between two checkpoints, or between one and the disk.

use std::ffi::OsString;

use clap::Args;

use crate::cli::command::{DeclaredCommand, OnHistory, TerminalCommand, Traits, reads};
use crate::cli::context::CommandContext;
use crate::cli::options::REVISIONS;
use crate::cli::{complete, files};
use crate::query::diff::compare;
use crate::terminal::error::CliResult;
use crate::terminal::out;

/// Show changes between two states, as a patch for `git apply`
#[derive(Debug, Args)]
#[command(
    after_help = format!("Examples:\n  \
        backstitch diff                   the newest checkpoint against the disk\n  \
        backstitch diff t4                since turn 4 began\n  \
        backstitch diff t4 t5 -- src      what turn 4 did below src\n  \
        backstitch diff t4 --word\n\n{REVISIONS}\n\n\
        With fewer than two revisions, the files on disk are scanned. Your new edits there are recorded as a \
        checkpoint.")
)]
pub struct DiffArgs {
    /// Checkpoints to compare [default: @ and the files on disk]
    #[arg(value_name = "REV", num_args = 0..=2, add = complete::revisions())]
    pub revs: Vec<String>,
    /// Show only these files or directories
    #[arg(last = true, value_name = "PATH")]
    pub paths: Vec<OsString>,
    #[command(flatten)]
    pub form: DiffForm,
}

#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct DiffForm {
    /// List changed files with line counts
    #[arg(long)]
    pub stat: bool,
    /// List changed files with A, M, D, R
    #[arg(long)]
    pub name_status: bool,
    /// Show changed words instead of lines
    #[arg(long)]
    pub word: bool,
}

impl TerminalCommand for DiffArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("diff")
    }
}

impl OnHistory for DiffArgs {
    fn traits(&self) -> Traits {
        Traits {
            paged: true,
            ..Traits::default()
        }
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()> {
        run(context, &self)
    }
}

fn run(context: &mut CommandContext, options: &DiffArgs) -> CliResult<()> {
    let paths = context.paths(&options.paths)?;
    for path in &paths {
        context.require(path)?;
    }
    let compared = compare(&mut context.engine, &options.revs, &paths, None)?;
    if context.out.json {
        return out::answer(compared.document());
    }
    let changed = &compared.files;
    let paint = context.out.paint;
    if options.form.stat {
        context.out.text(&files::stat(changed, paint))
    } else if options.form.name_status {
        context.out.text(&files::name_status(changed, paint))
    } else if options.form.word {
        changed
            .iter()
            .try_for_each(|file| context.out.bytes(&context.out.content(&file.words())))
    } else {
        files::patches(changed, context.out)
    }
}
