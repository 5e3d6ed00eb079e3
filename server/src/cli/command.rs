//! A command of the command line: its declaration, its traits and its code. Owns the macro that lists commands.

use backstitch_protocol::Effect;

use super::context::CommandContext;
use super::control_context::ControlContext;
use super::options::GlobalArgs;
use crate::terminal::error::{CliError, CliResult};
use crate::terminal::out::Out;

/// A command as it was typed, without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredCommand {
    pub name: &'static str,
    pub effect: Effect,
}

/// A command that changes nothing.
pub fn reads(name: &'static str) -> DeclaredCommand {
    let effect = Effect::Reads;
    DeclaredCommand { name, effect }
}

/// A command that adds to the history, and takes nothing away.
pub fn records(name: &'static str) -> DeclaredCommand {
    let effect = Effect::Records;
    DeclaredCommand { name, effect }
}

/// A command that decides for the user. It is refused from inside an agent.
pub fn decides(name: &'static str) -> DeclaredCommand {
    let effect = Effect::Decides;
    DeclaredCommand { name, effect }
}

/// A command that restores files, or frees space: a dry run shows what it would do.
pub fn decides_unless(is_dry: bool, name: &'static str) -> DeclaredCommand {
    if is_dry { reads(name) } else { decides(name) }
}

/// The arguments of a command.
pub trait TerminalCommand {
    /// Returns its name and its effect. There is no default: an agent is refused by it.
    fn declared(&self) -> DeclaredCommand;
}

/// A command on the history of a workspace.
pub trait OnHistory: TerminalCommand {
    fn traits(&self) -> Traits {
        Traits::default()
    }

    fn run(self, context: &mut CommandContext) -> CliResult<()>;
}

/// A command about breakpoints and held calls.
pub trait OnCalls: TerminalCommand {
    fn run(self, context: &ControlContext) -> CliResult<()>;
}

/// Properties of a command on the history.
#[derive(Clone, Copy, Default)]
pub struct Traits {
    /// It only shows something that may be long.
    pub paged: bool,
    /// It creates the history of a workspace that has none.
    pub records: bool,
    /// Prints its empty list, where it lists something before anything is recorded.
    pub empty: Option<fn(&GlobalArgs, &Out) -> CliResult<()>>,
    /// Explains an error in terms of this command.
    pub explain: Option<fn(CliError) -> CliError>,
}

/// A group of commands in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpGroup {
    History,
    Restore,
    Branches,
    Review,
    AgentsAtWork,
    Programs,
    Jobs,
    SetUp,
    Maintenance,
}

impl HelpGroup {
    /// All groups, in the order of the help.
    pub const ALL: [Self; 9] = [
        Self::History,
        Self::Restore,
        Self::Branches,
        Self::Review,
        Self::AgentsAtWork,
        Self::Programs,
        Self::Jobs,
        Self::SetUp,
        Self::Maintenance,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::History => "History",
            Self::Restore => "Restore",
            Self::Branches => "Branches",
            Self::Review => "Review",
            Self::AgentsAtWork => "Agents at work",
            Self::Programs => "Programs",
            Self::Jobs => "CI jobs",
            Self::SetUp => "Set up",
            Self::Maintenance => "Maintenance",
        }
    }
}

/// The place of a command in the help.
#[derive(Clone, Copy, Debug)]
pub struct HelpPlace {
    /// Name of the command, with a capital letter.
    pub variant: &'static str,
    pub group: HelpGroup,
    /// Number within the group, from 1.
    pub position: usize,
}

/// Lists commands. `Log(LogArgs) in History at 1` makes a subcommand for `clap`, its place in the help, and the dispatch to
/// the traits of `LogArgs`. A row without a place is hidden in the help. The order of the rows is that of completions.
macro_rules! commands {
    ($(#[$about:meta])* pub enum $list:ident $(: $kind:ident)? {
        $($(#[$attribute:meta])* $variant:ident($args:ident) $(in $group:ident at $position:literal)?,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        pub enum $list {
            $($(#[$attribute])* $variant($args),)*
        }

        impl $list {
            /// Places of the commands of this list that the help shows.
            pub const HELP_PLACES: &[HelpPlace] = &[$($(HelpPlace {
                variant: stringify!($variant),
                group: HelpGroup::$group,
                position: $position,
            },)?)*];
        }

        impl $crate::cli::command::TerminalCommand for $list {
            fn declared(&self) -> $crate::cli::command::DeclaredCommand {
                match self {
                    $(Self::$variant(args) => $crate::cli::command::TerminalCommand::declared(args),)*
                }
            }
        }

        $crate::cli::command::commands!(@dispatch [$($kind)?] $list $($variant)*);
    };
    (@dispatch [] $list:ident $($variant:ident)*) => {};
    (@dispatch [OnHistory] $list:ident $($variant:ident)*) => {
        impl $crate::cli::command::OnHistory for $list {
            fn traits(&self) -> $crate::cli::command::Traits {
                match self {
                    $(Self::$variant(args) => $crate::cli::command::OnHistory::traits(args),)*
                }
            }

            fn run(self, context: &mut $crate::cli::context::CommandContext) -> $crate::terminal::error::CliResult<()> {
                match self {
                    $(Self::$variant(args) => $crate::cli::command::OnHistory::run(args, context),)*
                }
            }
        }
    };
    (@dispatch [OnCalls] $list:ident $($variant:ident)*) => {
        impl $crate::cli::command::OnCalls for $list {
            fn run(self, context: &$crate::cli::control_context::ControlContext) -> $crate::terminal::error::CliResult<()> {
                match self {
                    $(Self::$variant(args) => $crate::cli::command::OnCalls::run(args, context),)*
                }
            }
        }
    };
}
pub(super) use commands;
