//! The help of the program, which lists its commands in groups. Owns the groups.

use std::fmt::Write as _;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use super::args::Cli;
use crate::terminal::width;

/// The commands that the help lists. Agents, editors and hooks call the others.
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "History",
        &[
            "log",
            "show",
            "diff",
            "cat",
            "blame",
            "checkpoint",
            "tag",
            "oplog",
        ],
    ),
    (
        "Restore",
        &["rewind", "revert", "undo", "redo", "materialize"],
    ),
    ("Branches", &["branch", "fork", "switch", "ancestor"]),
    ("Review", &["review"]),
    (
        "Agents at work",
        &[
            "breakpoint",
            "debug",
            "pauses",
            "inspect",
            "pause",
            "resume",
            "step",
            "skip",
            "deny",
            "stop",
            "back",
            "inject",
        ],
    ),
    ("Programs", &["repl"]),
    ("Set up", &["demo", "setup", "init", "completions"]),
    (
        "Maintenance",
        &["status", "doctor", "stats", "verify", "gc", "clear"],
    ),
];

/// Columns of a command's name.
const NAMES: usize = 11;
/// Columns before a command's summary.
const INDENT: usize = NAMES + 4;
/// Maximum columns of the help, as in that of each command.
const MAX_WIDTH: usize = 100;

/// Returns an error that shows help with the commands in groups; any other error as it is.
pub fn grouped(error: clap::Error) -> clap::Error {
    match error.kind() {
        // parsed again: the groups are written only when they are shown
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            command().try_get_matches().err().unwrap_or(error)
        }
        _ => error,
    }
}

fn command() -> Command {
    let command = Cli::command();
    let header = command.get_styles().get_header();
    let lists = lists(&command, width::width().min(MAX_WIDTH));
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{lists}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

fn lists(command: &Command, width: usize) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (group, names) in GROUPS {
        writeln!(text, "{header}{group}:{header:#}").ok();
        for listed in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let name = listed.get_name();
            let summary = width::wrapped(&summary(listed), width, INDENT);
            writeln!(text, "  {literal}{name:<NAMES$}{literal:#}  {summary}").ok();
        }
        text.push('\n');
    }
    text
}

fn summary(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string);
    let mut text = about.unwrap_or_default();
    for alias in command.get_visible_aliases() {
        write!(text, " [alias: {alias}]").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut visible: Vec<&str> = visible.map(Command::get_name).collect();
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut grouped: Vec<&str> = grouped.collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn a_list_has_each_command_with_its_summary_and_alias() {
        let lists = lists(&Cli::command(), usize::MAX);
        for line in [
            "  \u{1b}[1mundo       \u{1b}[0m  Undo the last operation, such as a rewind, revert or switch\n",
            "[alias: timeline]\n",
        ] {
            assert!(lists.contains(line), "{lists}");
        }
        assert!(!lists.contains("\u{1b}[1mhook"), "{lists}");
    }
}
