//! Options that every command has, and the help about revisions.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::{Args, ValueEnum};

use crate::terminal::out::OutOptions;

/// Help of the commands that take a revision.
pub const REVISIONS: &str = "\
A REV is c12 (a checkpoint), c12^ (its parent), @ (now), @~2 (two checkpoints back), a tag, a branch, or a label in quotes. \
Or it is t4 (the state just before turn 4), or @turn (just before the agent's last turn).";

#[derive(Clone, Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Use this workspace [default: the one around the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Keep the history in this directory [default: `store.dir` in your own settings, else the user's state directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub store_dir: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only the requested output
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more details
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// When to use color
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Do not show long output in a pager
    #[arg(long, global = true)]
    pub no_pager: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

impl GlobalArgs {
    /// Returns the options for the output.
    pub fn output(&self) -> OutOptions {
        OutOptions {
            color: match self.color {
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            },
            json: self.json,
            quiet: self.quiet,
            verbose: self.verbose,
            no_pager: self.no_pager,
        }
    }
}
