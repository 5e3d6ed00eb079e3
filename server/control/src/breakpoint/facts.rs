//! A call, as breakpoints compare it: the facts that cost nothing, and the questions about the rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BreakpointId;
use crate::regions::{ChangedLines, LineRange};
use backstitch_core::Result;
use backstitch_core::command_words::SearchedFiles;

/// The side of a call on which a breakpoint triggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallMoment {
    #[default]
    Before,
    After,
}

impl CallMoment {
    pub const ALL: [Self; 2] = [Self::Before, Self::After];

    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// Returns the side of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.name() == name)
    }
}

/// Facts about a call that cost nothing.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub moment: CallMoment,
    pub agent: &'a str,
    /// The agent's own id of the session.
    pub session: &'a str,
    /// None: the main thread.
    pub subagent: Option<&'a str>,
    pub tool: &'a str,
    pub input: &'a Value,
    /// Reason why the input cannot be read. Such an input counts as a match.
    pub unreadable: Option<&'a str>,
    /// Text of a shell command, for tools that are shells.
    pub command: Option<&'a str>,
    /// Paths that the call names: relative to the root with `/`, absolute if they are outside of it.
    pub paths: &'a [String],
    /// Paths that the call only mentions: words of a shell command, and paths in the input of a tool that edits nothing.
    pub mentioned: &'a [String],
    /// Those of `mentioned` that the call only reads.
    pub only_read: &'a [String],
    /// Searches of a tree for files of a pattern.
    pub searched: &'a [SearchedFiles],
    /// True if the call changes nothing.
    pub reads: bool,
    /// The directory in which the call runs. Absolute.
    pub cwd: &'a str,
    /// True if the tool reported an error.
    pub failed: bool,
    /// True if the call can have changed no file but those that it names.
    pub writes_named: bool,
}

/// Facts about the turn of a call, without the call itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnFacts {
    /// `t4` is 4. None: the call belongs to no turn.
    pub number: Option<i64>,
    pub is_first_call: bool,
    /// Calls, changed files and lines, and minutes so far.
    pub calls: u64,
    pub files: u64,
    pub lines: u64,
    pub minutes: u64,
}

/// Facts that are looked up only for a candidate.
pub trait CallLookup {
    /// Number of the call in its session. The first is 1.
    fn iteration(&mut self) -> Result<u32>;
    /// True if this is the call with a number, or the first after it where calls ran at the same time.
    fn passes_iteration(&mut self, _breakpoint: BreakpointId, number: u32) -> Result<bool> {
        Ok(self.iteration()? == number)
    }
    fn turn(&mut self) -> Result<TurnFacts>;
    /// Tokens of the turn. None: unknown.
    fn tokens(&mut self) -> Result<Option<u64>>;
    /// The changes of a call that ran.
    fn changed(&mut self) -> Result<Vec<ChangedLines>>;
    /// The predicted changes of a call that has not run. Empty if nothing is predicted.
    fn predicted(&mut self) -> Result<Vec<ChangedLines>>;
    /// Place of the region of a `line` breakpoint in the text that the change begins with: before a call the file as it
    /// is, after a call the file before its step. None: gone.
    fn region(&mut self, breakpoint: BreakpointId) -> Result<Option<LineRange>>;
    /// True if the breakpoint triggered before this call ran.
    fn triggered_before(&mut self, breakpoint: BreakpointId) -> Result<bool>;
    /// True if a file below a directory matches a pattern.
    fn has_below(&mut self, dir: &str, pattern: &str) -> Result<bool>;
    /// True if a search reads a file that matches a pattern.
    fn is_searched(&mut self, _search: &SearchedFiles, _pattern: &str) -> Result<bool> {
        Ok(false)
    }
    /// True if the call was held before it ran, and was resumed.
    fn was_let_go(&mut self) -> Result<bool>;
    /// The result of a jq condition. Err: the reason why it has none.
    fn condition(&mut self, jq: &str) -> Result<bool, String>;
    /// Raises the number of triggers by one and returns it. None: the breakpoint was removed meanwhile.
    fn count(&mut self, breakpoint: BreakpointId) -> Result<Option<i64>>;
    /// Notes a trigger that the condition on the number of hits lets pass.
    fn passed_by(&mut self, trigger: &Trigger);
    /// Notes the failure of a condition or an expression.
    fn problem(&mut self, breakpoint: BreakpointId, what: &str);
}

/// A call of a program.
#[derive(Clone, Copy, Debug)]
pub struct FunctionFacts<'a> {
    /// The language, and the program's name in scopes: `<pid>-<start>`.
    pub agent: &'a str,
    pub session: &'a str,
    pub thread: &'a str,
    /// `module.function`.
    pub function: &'a str,
    pub moment: CallMoment,
    /// True if the function raised an error.
    pub failed: bool,
}

/// A breakpoint that acts on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub breakpoint: BreakpointId,
    /// Number of this trigger. The first is 1.
    pub hits: i64,
    /// The reason in words: `names src/auth.rs`.
    pub why: String,
}

impl CallFacts<'_> {
    /// True for a call that ran and may have changed any file: changes that nobody could predict are found after it.
    pub(crate) fn may_write_any(&self) -> bool {
        self.moment == CallMoment::After && !self.writes_named
    }
}
