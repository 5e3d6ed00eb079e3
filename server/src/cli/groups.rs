//! The help of the program, which lists its commands in groups. Owns their form; `args` declares the place of each command.

use std::fmt::Write as _;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory};

use super::args::{Cli, help_places};
use super::command::{HelpGroup, HelpPlace};
use crate::terminal::width;

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
