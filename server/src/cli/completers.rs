//! The completer of each argument, by the name of its value: an argument that takes a path completes files because its help
//! says PATH. An argument that has a completer keeps it.

use std::ffi::OsStr;

use backstitch_agents as agents;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter};

use super::{complete, jobs};

/// Returns the completer of the values with a name. None: the name is none that is completed.
fn completer(value_name: &str) -> Option<ArgValueCompleter> {
    Some(match value_name {
        "PATH" | "FILE" | "GLOB" | "FILE:A-B" => ArgValueCompleter::new(PathCompleter::any()),
        "DIR" => ArgValueCompleter::new(PathCompleter::dir()),
        "PAUSE" | "PAUSE|HOW" | "PAUSE|STEPS" => complete::pauses(),
        "BREAKPOINT" => complete::breakpoints(),
        "SESSION" => complete::repl_sessions(),
        "AGENT" | "AGENT|EDITOR" => {
            complete::words(agents::AGENTS.iter().map(|agent| agent.name()).collect())
        }
        "JOB" => ArgValueCompleter::new(jobs),
        "RUN" => ArgValueCompleter::new(runs),
        "TOOL" => complete::words(agents::tool_names()),
        _ => return None,
    })
}

/// Jobs of the workflows around the current directory, with their names.
fn jobs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let jobs = jobs::known_jobs().unwrap_or_default().into_iter();
    let fitting = jobs.filter(|(id, _)| id.starts_with(&*typed));
    fitting
        .map(|(id, about)| CompletionCandidate::new(id).help(Some(about.into())))
        .collect()
}

/// Runs of jobs that are kept.
fn runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let runs = jobs::known_runs().unwrap_or_default().into_iter();
    let fitting = runs.filter(|id| id.starts_with(&*typed));
    fitting.map(CompletionCandidate::new).collect()
}

/// Gives the arguments of a command and of its subcommands their completers.
pub fn with_completers(command: Command) -> Command {
    let completed = |arg: Arg| {
        let own = arg.get::<ArgValueCompleter>().is_some();
        let names = arg.get_value_names().unwrap_or_default();
        match names.first().and_then(|name| completer(name)) {
            Some(completer) if !own => arg.add(completer),
            _ => arg,
        }
    };
    command.mut_args(completed).mut_subcommands(with_completers)
}

/// Gives the arguments before `--` the completer of the argument after it, in a command and its subcommands. Else it is
/// never asked: clap counts the words on both sides as one sequence.
pub fn after_separator(command: Command) -> Command {
    let last = command.get_positionals().find(|arg| arg.is_last_set());
    let completer = last.and_then(|arg| arg.get::<ArgValueCompleter>().cloned());
    let completed = |arg: Arg| match &completer {
        Some(completer) if arg.is_positional() => arg.add(completer.clone()),
        _ => arg,
    };
    command.mut_args(completed).mut_subcommands(after_separator)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    /// Names of values that a shell cannot know.
    const FREE: [&str; 27] = [
        "KEY=VALUE",
        "NAME=DIR",
        "NAME=VALUE",
        "STEP",
        "STEP.NAME=VALUE",
        "EVENT",
        "CID",
        "EXPR",
        "FINGERPRINT",
        "ID",
        "INPUT",
        "JQ",
        "LABEL",
        "LEVEL",
        "LIMIT",
        "LINES",
        "N",
        "NAME",
        "NUMBER",
        "REGEX",
        "STATE",
        "TEXT",
        "TIME",
        "TO",
        "TURN",
        "WORDS",
        "WORDS|/REGEX/",
    ];

    fn unknown(command: &Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        for arg in command.get_arguments() {
            let names = arg.get_value_names().unwrap_or_default();
            let takes = arg.get_action().takes_values() && arg.get_possible_values().is_empty();
            let known = arg.get::<ArgValueCompleter>().is_some()
                || names
                    .iter()
                    .any(|name| completer(name).is_some() || FREE.contains(&name.as_str()));
            if takes && !known {
                found.push(format!("{path}: {arg} {names:?}"));
            }
        }
        for command in command.get_subcommands() {
            unknown(command, &path, found);
        }
    }

    #[test]
    fn every_value_is_completed_or_free() {
        let mut command = Cli::command();
        command.build();
        let mut found = Vec::new();
        unknown(&command, "", &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
