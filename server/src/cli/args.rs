//! The commands of the command line. A row is the one declaration of a command: it names its arguments, beside which its code
//! stands, and its place in the help.

use clap::Parser;

use super::branches::ancestor::AncestorArgs;
use super::branches::branch::BranchArgs;
use super::branches::fork::ForkArgs;
use super::branches::switch::SwitchArgs;
use super::branches::tag::TagArgs;
use super::command::{HelpGroup, HelpPlace, commands};
use super::completions::CompletionsArgs;
use super::control::back::BackArgs;
use super::control::breakpoint::BreakpointArgs;
use super::control::debug::DebugArgs;
use super::control::deny::DenyArgs;
use super::control::inject::InjectArgs;
use super::control::inspect::InspectArgs;
use super::control::pause::PauseArgs;
use super::control::pauses::PausesArgs;
use super::control::repl::ReplArgs;
use super::control::resume::ResumeArgs;
use super::control::skip::SkipArgs;
use super::control::step::StepArgs;
use super::control::stop::StopArgs;
use super::front_ends::{
    AcpArgs, BridgeArgs, DapArgs, DemoArgs, DoctorArgs, HookArgs, LspArgs, McpArgs, SetupArgs,
};
use super::history::blame::BlameArgs;
use super::history::cat::CatArgs;
use super::history::checkpoint::CheckpointArgs;
use super::history::conversation::ConversationArgs;
use super::history::diff::DiffArgs;
use super::history::log::LogArgs;
use super::history::oplog::OplogArgs;
use super::history::show::ShowArgs;
use super::jobs::JobArgs;
use super::options::GlobalArgs;
use super::restore::materialize::MaterializeArgs;
use super::restore::redo::RedoArgs;
use super::restore::revert::RevertArgs;
use super::restore::rewind::RewindArgs;
use super::restore::summarize::SummarizeArgs;
use super::restore::undo::UndoArgs;
use super::review::ReviewArgs;
use super::store::clear::ClearArgs;
use super::store::gc::GcArgs;
use super::store::init::InitArgs;
use super::store::scan::ScanArgs;
use super::store::stats::StatsArgs;
use super::store::status::StatusArgs;
use super::store::verify::VerifyArgs;

#[derive(Debug, Parser)]
#[command(
    name = "backstitch",
    version,
    about = "Checkpoint everything a coding agent does in a workspace, and rewind any of it",
    after_help = "Start here:\n  \
        backstitch demo                 try it in a scratch directory\n  \
        backstitch setup                record what your agents do\n  \
        backstitch log                  show what happened in this workspace\n  \
        backstitch rewind               undo the agent's last turn\n  \
        backstitch rewind t4            undo the agent's work since before turn 4\n  \
        backstitch undo                 undo the rewind",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: CliCommand,
}

commands! {
    /// A command, of this or of another front end.
    pub enum CliCommand {
        Demo(DemoArgs) in SetUp at 1,
        Setup(SetupArgs) in SetUp at 2,
        Status(StatusArgs) in Maintenance at 1,
        Doctor(DoctorArgs) in Maintenance at 2,
        Init(InitArgs) in SetUp at 3,
        #[command(flatten)]
        History(HistoryCommand),
        #[command(flatten)]
        Held(HeldCommand),
        Job(JobArgs) in Jobs at 1,
        Bridge(BridgeArgs),
        Acp(AcpArgs),
        Hook(HookArgs),
        Lsp(LspArgs),
        Mcp(McpArgs),
        Dap(DapArgs),
        Completions(CompletionsArgs) in SetUp at 4,
    }
}

commands! {
    /// A command on the history of a workspace.
    pub enum HistoryCommand: OnHistory {
        Checkpoint(CheckpointArgs) in History at 6,
        Log(LogArgs) in History at 1,
        Show(ShowArgs) in History at 2,
        Diff(DiffArgs) in History at 3,
        Cat(CatArgs) in History at 4,
        Blame(BlameArgs) in History at 5,
        Review(ReviewArgs) in Review at 1,
        Rewind(RewindArgs) in Restore at 1,
        Revert(RevertArgs) in Restore at 2,
        Undo(UndoArgs) in Restore at 3,
        Redo(RedoArgs) in Restore at 4,
        Conversation(ConversationArgs) in Restore at 6,
        Summarize(SummarizeArgs) in Restore at 7,
        Fork(ForkArgs) in Branches at 2,
        Switch(SwitchArgs) in Branches at 3,
        Branch(BranchArgs) in Branches at 1,
        Tag(TagArgs) in History at 7,
        Ancestor(AncestorArgs) in Branches at 4,
        Oplog(OplogArgs) in History at 8,
        Materialize(MaterializeArgs) in Restore at 5,
        Verify(VerifyArgs) in Maintenance at 4,
        Gc(GcArgs) in Maintenance at 5,
        Stats(StatsArgs) in Maintenance at 3,
        Clear(ClearArgs) in Maintenance at 6,
        Scan(ScanArgs),
    }
}

commands! {
    /// A command about breakpoints and held calls.
    pub enum HeldCommand: OnCalls {
        Breakpoint(BreakpointArgs) in AgentsAtWork at 1,
        Pauses(PausesArgs) in AgentsAtWork at 3,
        Pause(PauseArgs) in AgentsAtWork at 5,
        Resume(ResumeArgs) in AgentsAtWork at 6,
        Step(StepArgs) in AgentsAtWork at 7,
        Skip(SkipArgs) in AgentsAtWork at 8,
        Deny(DenyArgs) in AgentsAtWork at 9,
        Stop(StopArgs) in AgentsAtWork at 10,
        Inject(InjectArgs) in AgentsAtWork at 12,
        Back(BackArgs) in AgentsAtWork at 11,
        Inspect(InspectArgs) in AgentsAtWork at 4,
        Debug(DebugArgs) in AgentsAtWork at 2,
        Repl(ReplArgs) in Programs at 1,
    }
}

/// Returns the places of all commands in the help, in no order.
pub fn help_places() -> impl Iterator<Item = &'static HelpPlace> {
    [
        CliCommand::HELP_PLACES,
        HistoryCommand::HELP_PLACES,
        HeldCommand::HELP_PLACES,
    ]
    .into_iter()
    .flatten()
}
