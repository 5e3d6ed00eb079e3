//! The subject of a pause: it says which decisions there are, who carries them out, and what silence means.

use serde::{Deserialize, Serialize};

/// A fact about a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fact {
    /// The program evaluates the values of a decision, and is held on if it cannot.
    Evaluates,
    /// An agent may try it again: a decision then waits for that.
    IsTriedAgain,
    /// The next call of the same agent can be held.
    HasNext,
    /// Inputs can be evaluated at it.
    HasRepl,
    /// Its input is that of a tool, so that the files that it writes can be predicted.
    IsTool,
    /// Another process holds it when its holder dies.
    IsTakenOver,
}

/// Declares the subjects, each with its facts.
macro_rules! subjects {
    ($($(#[$about:meta])* $name:ident: [$($fact:ident),*],)+) => {
        /// That which is held.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Subject {
            $($(#[$about])* $name,)+
        }

        impl Subject {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            fn facts(self) -> &'static [Fact] {
                match self {
                    $(Self::$name => &[$(Fact::$fact),*],)+
                }
            }
        }
    };
}

subjects! {
    /// A tool call of an agent. Its hook holds it, or the proxy between agent and editor.
    #[default]
    Call: [IsTriedAgain, HasNext, HasRepl, IsTool],
    /// An edit by an agent inside an editor. The editor's language server holds it, and the agent's process is the editor.
    Edit: [IsTriedAgain, HasNext, HasRepl, IsTool],
    /// A program: one of its calls, or a line. Its bridge holds it.
    Program: [Evaluates, HasNext, HasRepl, IsTakenOver],
    /// A rewind that an agent proposes. No tool runs: the process that holds it carries it out.
    Proposal: [],
}

impl Subject {
    fn has(self, fact: Fact) -> bool {
        self.facts().contains(&fact)
    }

    /// True if the program evaluates the values of a decision, and is held on if it cannot.
    pub fn evaluates(self) -> bool {
        self.has(Fact::Evaluates)
    }

    /// True if an agent may try it again: a decision then waits for that.
    pub fn is_tried_again(self) -> bool {
        self.has(Fact::IsTriedAgain)
    }

    /// True if the next call of the same agent can be held.
    pub fn has_next(self) -> bool {
        self.has(Fact::HasNext)
    }

    /// True if inputs can be evaluated at it.
    pub fn has_repl(self) -> bool {
        self.has(Fact::HasRepl)
    }

    /// True if its input is that of a tool, so that the files that it writes can be predicted.
    pub fn is_tool(self) -> bool {
        self.has(Fact::IsTool)
    }

    /// True if another process holds it when its holder dies.
    pub fn is_taken_over(self) -> bool {
        self.has(Fact::IsTakenOver)
    }
}
