//! The name and the effect of each command of the command line: the declaration by which an agent is refused. It has no
//! default: a new command does not compile without its own.

use backstitch_protocol::Effect::{self, Decides, Reads, Records};

use super::args::{
    BranchArgs, BranchCommand, CheckpointArgs, CheckpointCommand, CliCommand, HeldCommand,
    HistoryCommand, ReviewArgs, SetupArgs, TagArgs,
};
use super::breakpoint_args::BreakpointCommand;
use super::control_args::{InjectArgs, ReplArgs, ReplCommand};

/// A command as it was typed, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredCommand {
    pub name: &'static str,
    pub effect: Effect,
}

fn of(name: &'static str, effect: Effect) -> DeclaredCommand {
    DeclaredCommand { name, effect }
}

/// The effect of a command that restores files, or frees space: a dry run shows what it would do.
fn unless(is_dry: bool) -> Effect {
    if is_dry { Reads } else { Decides }
}

impl CliCommand {
    /// Returns the declaration of this command.
    pub fn declared(&self) -> DeclaredCommand {
        match self {
            // it has a scratch directory of its own
            Self::Demo(_) => of("demo", Records),
            Self::Setup(options) => of("setup", options.effect()),
            Self::Status => of("status", Reads),
            Self::Doctor => of("doctor", Reads),
            // a workspace inside another one has its own store, in which nothing is armed
            Self::Init { .. } => of("init", Decides),
            // each request of these is declared and checked for itself
            Self::Bridge => of("bridge", Records),
            Self::Acp { .. } => of("acp", Records),
            Self::Lsp(_) => of("lsp", Records),
            Self::Mcp => of("mcp", Records),
            Self::Hook { .. } => of("hook", Records),
            Self::Completions { .. } => of("completions", Reads),
            Self::History(command) => command.declared(),
            Self::Held(command) => command.declared(),
        }
    }
}

impl HistoryCommand {
    /// Returns the declaration of this command.
    fn declared(&self) -> DeclaredCommand {
        match self {
            Self::Checkpoint(options) => options.declared(),
            Self::Log(_) => of("log", Reads),
            Self::Show(_) => of("show", Reads),
            Self::Diff(_) => of("diff", Reads),
            Self::Cat { .. } => of("cat", Reads),
            Self::Blame(_) => of("blame", Reads),
            Self::Review(options) => of("review", options.effect()),
            Self::Rewind(options) => of("rewind", unless(options.restore.confirm.dry_run)),
            Self::Revert(options) => of("revert", unless(options.restore.confirm.dry_run)),
            Self::Undo(options) => of("undo", unless(options.restore.confirm.dry_run)),
            Self::Redo(options) => of("redo", unless(options.restore.confirm.dry_run)),
            Self::Fork(options) => of("fork", if options.switch { Decides } else { Records }),
            Self::Switch(options) => of("switch", unless(options.confirm.dry_run)),
            Self::Branch(options) => options.declared(),
            Self::Tag(options) => options.declared(),
            Self::Ancestor { .. } => of("ancestor", Reads),
            Self::Oplog => of("oplog", Reads),
            // into an empty directory, with the rights of its caller
            Self::Materialize { .. } => of("materialize", Reads),
            Self::Verify => of("verify", Reads),
            // a hook runs it in the background when it is due
            Self::Gc(options) if options.if_due => of("gc", Records),
            Self::Gc(options) => of("gc", unless(options.dry_run)),
            Self::Stats => of("stats", Reads),
            Self::Clear(_) => of("clear", Decides),
            Self::Scan => of("scan", Records),
        }
    }
}

impl HeldCommand {
    /// Returns the declaration of this command.
    fn declared(&self) -> DeclaredCommand {
        match self {
            Self::Breakpoint(options) => options.command.declared(),
            Self::Pauses(_) => of("pauses", Reads),
            Self::Pause(_) => of("pause", Decides),
            Self::Resume(_) => of("resume", Decides),
            Self::Step(_) => of("step", Decides),
            Self::Skip(_) => of("skip", Decides),
            Self::Deny(_) => of("deny", Decides),
            Self::Stop(_) => of("stop", Decides),
            Self::Inject(options) => of("inject", options.effect()),
            Self::Back(_) => of("back", Decides),
            Self::Inspect(_) => of("inspect", Reads),
            Self::Debug(_) => of("debug", Decides),
            Self::Repl(options) => options.declared(),
        }
    }
}

impl SetupArgs {
    fn effect(&self) -> Effect {
        if self.status || self.print {
            Reads
        } else if self.uninstall || self.trust {
            // no more hooks; or hooks that only the user may trust
            Decides
        } else {
            Records
        }
    }
}

impl CheckpointArgs {
    fn declared(&self) -> DeclaredCommand {
        match &self.command {
            None | Some(CheckpointCommand::Create { .. }) => of("checkpoint", Records),
            Some(CheckpointCommand::Pin { .. }) => of("checkpoint pin", Records),
            // it may be squashed then
            Some(CheckpointCommand::Unpin { .. }) => of("checkpoint unpin", Decides),
            Some(CheckpointCommand::List { .. }) => of("checkpoint list", Reads),
        }
    }
}

impl ReviewArgs {
    fn effect(&self) -> Effect {
        if self.keep || self.unkeep || self.interactive {
            Decides
        } else {
            Reads
        }
    }
}

impl BranchArgs {
    fn declared(&self) -> DeclaredCommand {
        match &self.command {
            None if self.lists() => of("branch", Reads),
            None => of("branch", Records),
            Some(BranchCommand::List) => of("branch list", Reads),
            Some(BranchCommand::Create { .. }) => of("branch create", Records),
            Some(BranchCommand::Switch(options)) => {
                of("branch switch", unless(options.confirm.dry_run))
            }
            Some(BranchCommand::Rename { .. }) => of("branch rename", Decides),
            Some(BranchCommand::Delete { .. }) => of("branch delete", Decides),
        }
    }
}

impl TagArgs {
    fn declared(&self) -> DeclaredCommand {
        match (&self.delete, &self.name) {
            (Some(_), _) => of("tag --delete", Decides),
            (None, Some(_)) => of("tag", Records),
            (None, None) => of("tag", Reads),
        }
    }
}

impl BreakpointCommand {
    fn declared(&self) -> DeclaredCommand {
        match self {
            Self::Add(_) => of("breakpoint add", Decides),
            Self::List => of("breakpoint list", Reads),
            Self::Edit(_) => of("breakpoint edit", Decides),
            Self::Hits { .. } => of("breakpoint hits", Reads),
            Self::Remove { .. } => of("breakpoint remove", Decides),
            Self::Enable { .. } => of("breakpoint enable", Decides),
            Self::Disable { .. } => of("breakpoint disable", Decides),
            Self::Clear => of("breakpoint clear", Decides),
        }
    }
}

impl InjectArgs {
    fn effect(&self) -> Effect {
        if self.list { Reads } else { Decides }
    }
}

impl ReplArgs {
    fn declared(&self) -> DeclaredCommand {
        match &self.command {
            None => of("repl", Decides),
            Some(ReplCommand::List(_)) => of("repl list", Reads),
            Some(ReplCommand::Show { .. }) => of("repl show", Reads),
            Some(ReplCommand::Object { .. }) => of("repl object", Reads),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use backstitch_protocol::{COMMANDS, REQUESTS};
    use clap::{CommandFactory, Parser};

    use super::super::args::Cli;
    use super::*;
    use crate::agents;

    /// Command lines, at least one of each command, in the order of the help. The page has their effects; the tests of
    /// the real program run those that decide.
    const EXAMPLES: &[&str] = &[
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
}
