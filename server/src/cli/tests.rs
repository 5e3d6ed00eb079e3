//! Tests of all commands: their effects, their help, and their arguments.

use std::fmt::Write as _;

use backstitch_agents as agents;
use backstitch_protocol::{COMMANDS, REQUESTS};
use clap::{CommandFactory, Parser};

use super::args::{Cli, CliCommand, HistoryCommand};
use super::command::TerminalCommand;
use super::history::checkpoint::{CheckpointArgs, CheckpointCommand};

/// Command lines, at least one of each command, in the order of the help. The page has their effects; the tests of
/// the real program run those that decide.
const EXAMPLES: &[&str] = &[
    "job list",
    "job run ci.yml",
    "job debug ci.yml -j build",
    "job rm --all",
    "job step",
    "job builtin call.json",
    "job shell folder",
    "demo",
    "setup claude-code",
    "setup --repair",
    "setup --status",
    "setup claude-code --print",
    "setup claude-code --trust",
    "setup claude-code --uninstall",
    "status",
    "doctor",
    "init",
    "init sub",
    "checkpoint -m x",
    "checkpoint create x",
    "checkpoint pin @",
    "checkpoint unpin @",
    "checkpoint list",
    "log",
    "show @",
    "diff",
    "cat @ a.txt",
    "blame a.txt",
    "review",
    "review --keep",
    "review --unkeep",
    "review -i",
    "rewind t1 --yes",
    "rewind t1 --dry-run",
    "revert t1 --yes",
    "revert t1 --dry-run",
    "undo --yes",
    "undo --dry-run",
    "redo --yes",
    "redo --dry-run",
    "conversation",
    "conversation --open",
    "summarize t1 --from",
    "summarize t1 --from --dry-run",
    "fork t1 other",
    "fork t1 other --switch --yes",
    "switch main --yes",
    "switch main --dry-run",
    "branch",
    "branch t1 other",
    "branch list",
    "branch create other",
    "branch switch main --yes",
    "branch switch main --dry-run",
    "branch rename main trunk",
    "branch delete main",
    "tag",
    "tag x",
    "tag --delete x",
    "ancestor t1 @",
    "oplog",
    "materialize @ --into empty",
    "verify",
    "gc",
    "gc --dry-run",
    "gc --if-due",
    "stats",
    "clear --yes",
    "breakpoint add tool Bash",
    "breakpoint list",
    "breakpoint edit b1 --message x",
    "breakpoint hits",
    "breakpoint remove b1",
    "breakpoint enable b1",
    "breakpoint disable b1",
    "breakpoint clear",
    "pauses",
    "pauses --all",
    "pause",
    "resume",
    "step",
    "skip",
    "deny -m x",
    "stop",
    "inject x",
    "inject --list",
    "inject --withdraw 1",
    "back",
    "inspect",
    "debug",
    "repl p1 -e .",
    "repl list",
    "repl show 1-1.000001",
    "repl object sha256:0",
    "bridge",
    "acp -- agent",
    "hook claude-code",
    "lsp",
    "mcp",
    "dap",
    "completions bash",
    "scan",
];

fn parsed(line: &str) -> CliCommand {
    let words = std::iter::once("backstitch").chain(line.split(' '));
    Cli::try_parse_from(words)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
        .command
}

/// The paths of all commands that do something.
fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
    let inner: Vec<_> = command.get_subcommands().collect();
    for one in &inner {
        let name = one.get_name();
        let path = if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path} {name}")
        };
        // kinds of a breakpoint have one effect
        if path == "breakpoint add" {
            found.push(path);
        } else {
            leaves(one, &path, found);
        }
    }
    if inner.is_empty() {
        found.push(path.to_owned());
    }
}

fn page() -> String {
    let mut page = String::from(
        "# Effects of commands\n\n\
         Each command declares its effect: it *reads*, it *records* (adds to the history, and takes nothing away), or it \
         *decides* for\nthe user. From inside an agent the last kind is refused, whatever front end it comes by: see \
         [breakpoints](control.md#decisions-are-a-persons).\nThis page is written by `BACKSTITCH_RENEW_TYPES=1 cargo test \
         -p backstitch effects`.\n\n## Command line\n\n| command | effect |\n|---|---|\n",
    );
    for line in EXAMPLES {
        let effect = parsed(line).declared().effect.name();
        writeln!(page, "| `{line}` | {effect} |").unwrap();
    }
    page.push_str(
        "\n## Language server\n\nThe strongest effect that the arguments may give it: `backstitch/review` without an \
         action only reads, `backstitch.fork`\nwith a name and without `switch` and `backstitch.pin` record.\n\n\
         | command or request | effect |\n|---|---|\n",
    );
    for command in COMMANDS {
        let effect = command.effect.name();
        writeln!(page, "| `{}` | {effect} |", command.name).unwrap();
    }
    for request in REQUESTS {
        let effect = request.effect.name();
        writeln!(page, "| `{}` | {effect} |", request.method).unwrap();
    }
    page.push_str(
        "\n## Marks of agents\n\nEnvironment variables that agents set for the commands that they run.\n\n\
         | variable |\n|---|\n",
    );
    for mark in agents::marks() {
        writeln!(page, "| `{mark}` |").unwrap();
    }
    page
}

#[test]
fn effects_of_all_commands_are_on_their_page() {
    let mut all = Vec::new();
    leaves(&Cli::command(), "", &mut all);
    for path in all.iter().filter(|path| *path != "help") {
        let is_shown = |line: &&&str| {
            line.strip_prefix(path.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        assert!(EXAMPLES.iter().any(|line| is_shown(&line)), "{path}");
    }
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/effects.md");
    let page = page();
    if std::env::var_os("BACKSTITCH_RENEW_TYPES").is_some() {
        std::fs::write(place, &page).unwrap();
    }
    let there = std::fs::read_to_string(place).unwrap_or_default();
    assert!(
        there == page,
        "renew {place}: BACKSTITCH_RENEW_TYPES=1 cargo test -p backstitch effects"
    );
}

#[test]
fn command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_examples() {
    for command in Cli::command()
        .get_subcommands()
        .filter(|command| command.get_name() != "scan")
    {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            help.contains("Examples:"),
            "{} has no examples",
            command.get_name()
        );
    }
}

#[test]
fn diff_separates_revisions_from_paths() {
    let cli = Cli::parse_from(["backstitch", "diff", "t1", "t2", "--", "a", "b"]);
    let CliCommand::History(HistoryCommand::Diff(diff)) = cli.command else {
        panic!()
    };
    assert_eq!((diff.revs.len(), diff.paths.len()), (2, 2));
}

#[test]
fn checkpoint_has_two_forms() {
    for args in [
        &["backstitch", "checkpoint", "-m", "x"][..],
        &["backstitch", "checkpoint"],
    ] {
        assert!(Cli::try_parse_from(args).is_ok());
    }
    let cli = Cli::parse_from(["backstitch", "checkpoint", "create", "x"]);
    let CliCommand::History(HistoryCommand::Checkpoint(CheckpointArgs {
        command: Some(create),
        ..
    })) = cli.command
    else {
        panic!()
    };
    assert!(
        matches!(create, CheckpointCommand::Create { label: Some(label), description: None, pin: false } if label == "x")
    );
}

#[test]
fn rewind_takes_at_most_one_target() {
    let parse = |args: &[&str]| Cli::try_parse_from([&["backstitch", "rewind"], args].concat());
    assert!(parse(&[]).is_ok(), "the last turn");
    assert!(parse(&["t1", "--iteration", "3"]).is_err());
    assert!(parse(&["t1", "--all-sessions", "--session", "s"]).is_err());
    assert!(parse(&["--iteration", "3", "--force"]).is_ok());
    assert!(parse(&["t1", "--path", "a", "b", "--hunk", "h"]).is_ok());
}
