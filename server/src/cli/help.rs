//! The help of the program, which lists its commands in groups, and of each command: its examples stand first. Owns their form;
//! `args` declares the place of each command, and each command its examples.

use std::fmt::Write as _;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};
use unicode_width::UnicodeWidthStr;

use super::args::{Cli, help_places};
use super::command::{HelpGroup, HelpPlace};
use crate::terminal::width;

/// Columns of a command's name.
const NAMES: usize = 12;
/// Columns before a command's summary.
const INDENT: usize = NAMES + 4;
/// Maximum columns of the help, as in that of each command.
const MAX_WIDTH: usize = 100;
/// Beginning of the examples in the text after a command's options.
const EXAMPLES: &str = "Examples:\n";
/// Columns before the comment of an example that has a line to itself.
const COMMENT_INDENT: usize = 6;

/// Returns an error that shows help as help in its form; any other error as it is.
pub fn shown(error: clap::Error) -> clap::Error {
    match error.kind() {
        // parsed again: the form is made only when it is shown
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            command().try_get_matches().err().unwrap_or(error)
        }
        _ => error,
    }
}

fn command() -> Command {
    let command = Cli::command();
    let columns = width::width().min(MAX_WIDTH);
    let header = command.get_styles().get_header();
    let lists = lists(&command, columns);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}{{after-help}}\n\n{lists}{header}Options:{header:#}\n{{options}}"
    );
    command
        .help_template(template)
        .mut_subcommands(|command| with_examples_first(command, columns))
}

/// Puts the examples of a command, and of those below it, above its arguments.
fn with_examples_first(command: Command, columns: usize) -> Command {
    let command = command.mut_subcommands(|command| with_examples_first(command, columns));
    let after = command.get_after_help().map(ToString::to_string);
    let after = after.unwrap_or_default();
    let Some((before, rest)) = after.split_once(EXAMPLES) else {
        return command;
    };
    let (examples, notes) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let notes = [before.trim_end(), notes].join("\n\n");
    let header = command.get_styles().get_header();
    let shown = format!(
        "{header}Examples:{header:#}\n{}",
        fitting(examples, columns)
    );
    command
        .before_help(shown)
        .after_help(notes.trim().to_owned())
        .help_template(
            "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}",
        )
}

/// Puts the comment of an example below it where both together are wider than the terminal.
fn fitting(examples: &str, columns: usize) -> String {
    let mut text = String::new();
    for line in examples.lines() {
        let parts = line.trim_start().split_once("  ");
        match parts.filter(|_| line.width() > columns) {
            Some((example, comment)) => {
                let comment = width::wrapped(comment.trim_start(), columns, COMMENT_INDENT);
                writeln!(text, "  {example}\n{:COMMENT_INDENT$}{comment}", "").ok();
            }
            None => writeln!(text, "{line}").unwrap_or_default(),
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn lists(command: &Command, width: usize) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for group in HelpGroup::ALL {
        writeln!(text, "{header}{}:{header:#}", group.title()).ok();
        for listed in members(group)
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

/// Returns the names of the commands in a group, in their order.
fn members(group: HelpGroup) -> Vec<String> {
    let mut places: Vec<&HelpPlace> = help_places().filter(|place| place.group == group).collect();
    places.sort_by_key(|place| place.position);
    let names = places
        .iter()
        .map(|place| place.variant.to_ascii_lowercase());
    names.collect()
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
        let mut grouped: Vec<String> = HelpGroup::ALL.into_iter().flat_map(members).collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
    }

    #[test]
    fn positions_in_a_group_are_consecutive() {
        for group in HelpGroup::ALL {
            let places = help_places().filter(|place| place.group == group);
            let mut positions: Vec<usize> = places.map(|place| place.position).collect();
            positions.sort_unstable();
            let all: Vec<usize> = (1..=positions.len()).collect();
            assert_eq!(positions, all, "{}", group.title());
        }
    }

    #[test]
    fn a_comment_that_does_not_fit_has_its_line() {
        let examples = "  backstitch rewind t4   undo turn 4\n  backstitch undo";
        assert_eq!(fitting(examples, 80), examples);
        assert_eq!(
            fitting(examples, 24),
            "  backstitch rewind t4\n      undo turn 4\n  backstitch undo"
        );
    }

    #[test]
    fn examples_stand_above_the_arguments() {
        for (name, after) in [("rewind", "Arguments:"), ("undo", "Options:")] {
            let error = command().try_get_matches_from(["backstitch", name, "-h"]);
            let help = error
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            let place = |text| {
                help.find(text)
                    .unwrap_or_else(|| panic!("no {text} in {help}"))
            };
            assert!(place("Examples:") < place(after), "{help}");
            assert_eq!(help.matches("Examples:").count(), 1, "{help}");
        }
    }

    #[test]
    fn a_list_has_each_command_with_its_summary_and_alias() {
        let lists = lists(&Cli::command(), usize::MAX);
        let undo = format!(
            "  \u{1b}[1m{:<NAMES$}\u{1b}[0m  Undo the last operation, such as a rewind, revert or switch\n",
            "undo"
        );
        for line in [undo.as_str(), "[alias: timeline]\n"] {
            assert!(lists.contains(line), "{lists}");
        }
        assert!(!lists.contains("\u{1b}[1mhook"), "{lists}");
    }
}
