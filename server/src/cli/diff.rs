//! `diff`: the changes between two checkpoints, or between one and the disk.

use super::args;
use super::context::CommandContext;
use super::files;
use crate::query::diff::compare;
use crate::terminal::error::CliResult;
use crate::terminal::out;

pub fn run(context: &mut CommandContext, options: &args::DiffArgs) -> CliResult<()> {
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
