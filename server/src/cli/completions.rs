//! `completions`: the script that completes words in a shell.

use clap::Args;

use crate::cli::command::{DeclaredCommand, TerminalCommand, reads};
use crate::cli::complete;
use crate::terminal::error::CliResult;
use crate::terminal::out;

/// Print a script that completes commands, revisions, branches and sessions in a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Add this to the file that your shell reads at its start:\n  \
        bash  source <(backstitch completions bash)   in ~/.bashrc\n  \
        zsh   source <(backstitch completions zsh)    in ~/.zshrc, after compinit\n  \
        fish  backstitch completions fish | source    in ~/.config/fish/config.fish\n\n\
        Examples:\n  \
        backstitch completions bash\n  \
        backstitch show t<TAB>          the turns, with their prompts\n  \
        backstitch switch <TAB>         the branches"
)]
pub struct CompletionsArgs {
    /// Name of the shell
    pub shell: clap_complete::Shell,
}

impl TerminalCommand for CompletionsArgs {
    fn declared(&self) -> DeclaredCommand {
        reads("completions")
    }
}

impl CompletionsArgs {
    /// Prints the script.
    pub fn run(&self) -> CliResult<()> {
        out::content(&complete::script(self.shell)?)
    }
}
