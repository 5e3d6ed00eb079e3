//! The subject of a pause: it says which decisions there are, who carries them out, and what silence means.

use serde::{Deserialize, Serialize};

/// That which is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A tool call of an agent. Its hook holds it, or the proxy between agent and editor.
    #[default]
    Call,
    /// An edit by an agent inside an editor. The editor's language server holds it, and the agent's process is the editor.
    Edit,
    /// A program: one of its calls, or a line. Its bridge holds it.
    Program,
    /// A rewind that an agent proposes. No tool runs: the process that holds it carries it out.
    Proposal,
}

impl Subject {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Call, Self::Edit, Self::Program, Self::Proposal];

    /// True if the program evaluates the values of a decision, and is held on if it cannot.
    pub fn evaluates(self) -> bool {
        self == Self::Program
    }

    /// True if an agent may try it again: a decision then waits for that.
    pub fn is_tried_again(self) -> bool {
        matches!(self, Self::Call | Self::Edit)
    }

    /// True if the next call of the same agent can be held.
    pub fn has_next(self) -> bool {
        self != Self::Proposal
    }

    /// True if inputs can be evaluated at it.
    pub fn has_repl(self) -> bool {
        self != Self::Proposal
    }

    /// True if its input is that of a tool, so that the files that it writes can be told beforehand.
    pub fn is_tool(self) -> bool {
        matches!(self, Self::Call | Self::Edit)
    }

    /// True if another process takes it over when its holder dies.
    pub fn is_taken_over(self) -> bool {
        self == Self::Program
    }
}
