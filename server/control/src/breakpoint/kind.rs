//! A kind of breakpoint: its declaration, from which help, editors' lists and tables are made, and its behaviour.

use serde_json::{Map, Value};

use super::BreakpointId;
use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment, FunctionFacts};
use crate::regions::LineRange;
use backstitch_core::Result;

/// Declaration of a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// As in `backstitch breakpoint add KIND`, and in JSON.
    pub name: &'static str,
    /// One line about the calls that it stops, for help, lists and tables.
    pub summary: &'static str,
    /// The calls that it stops, in full: Markdown, for the table in the documentation.
    pub details: &'static str,
    /// An example of its arguments on the command line.
    pub example: &'static str,
    /// Its parameters, as a person types them. Required ones come first.
    pub fields: &'static [KindField],
    pub sides: TriggerSides,
    /// True for a kind that is about a call itself, and not about the session that makes it.
    pub is_about_calls: bool,
    /// True for a kind that stops programs, and no agent.
    pub is_about_programs: bool,
    /// True: commands set it, as `pause` and the steps. It is in no list.
    pub is_internal: bool,
}

/// A parameter of a kind, as it is typed.
#[derive(Clone, Copy, Debug)]
pub struct KindField {
    pub name: &'static str,
    /// One line for help, and for the question of an editor.
    pub help: &'static str,
    /// An example of a value.
    pub example: &'static str,
    /// Placeholder in help.
    pub placeholder: &'static str,
    pub form: FieldForm,
    pub is_required: bool,
}

/// Form of a typed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    Text,
    /// A glob of paths. The name of a file that exists is taken literally.
    Paths,
    /// A file of the workspace with lines: `src/auth.rs:10-20`.
    Lines,
    /// A whole number from 1.
    Number,
    Flag,
    Choice(&'static [&'static str]),
}

/// Sides of a call on which a kind triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerSides {
    /// The side for which the breakpoint was set.
    Chosen,
    /// Also after the call: a change that nobody could predict is found then.
    ChosenAndAfter,
    After,
}

/// Paths as a front end takes them: relative to the directory of a terminal, or to the workspace.
pub trait PathReader {
    /// Returns a typed path or glob as a glob relative to the root.
    fn pattern(&self, typed: &str) -> Result<String>;
    /// Returns a typed file as a path relative to the root.
    fn file(&self, typed: &str) -> Result<String>;
}

/// The breakpoint whose parameters are compared.
#[derive(Clone, Copy, Debug)]
pub struct SetBreakpoint {
    pub id: BreakpointId,
    /// The side of calls for which it was set.
    pub moment: CallMoment,
}

/// Lines of a file, as a breakpoint was set on them.
#[derive(Clone, Copy, Debug)]
pub struct SetLines<'a> {
    /// Relative to the root.
    pub path: &'a str,
    pub range: LineRange,
}

/// Result of the comparison of one breakpoint with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// The reason in words.
    Yes(String),
    No,
    /// The breakpoint's expression cannot be used. Such a breakpoint triggers, as with a failed condition.
    Unusable(String),
}

impl Match {
    pub(crate) fn if_true(is_match: bool, why: impl FnOnce() -> String) -> Self {
        if is_match { Self::Yes(why()) } else { Self::No }
    }
}

impl SetBreakpoint {
    /// True if the breakpoint, which is set before calls, has triggered at this call before it ran. Also if it would have,
    /// and another one held the call: it was looked at once, and resumed. `is_named`: the call names the file.
    pub(super) fn was_before(
        self,
        is_named: impl FnOnce() -> bool,
        lookup: &mut dyn CallLookup,
    ) -> Result<bool> {
        Ok(self.moment == CallMoment::Before
            && (lookup.triggered_before(self.id)? || (is_named() && lookup.was_let_go()?)))
    }
}

/// The parameters of a breakpoint, with the behaviour of its kind.
pub trait BreakpointKind {
    const INFO: KindInfo;

    /// The parameters in one line, as in lists: `Bash`, `src/**`, `src/auth.rs:10-20`.
    fn summary(&self) -> String;

    /// Checks expressions, patterns and numbers. Err: the reason, for the user.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The limits of the kind in one line, for the person who makes such a breakpoint. None: it has none that surprise.
    fn limits(&self) -> Option<&'static str> {
        None
    }

    /// The pattern of paths to which the breakpoint is limited.
    fn paths(&self) -> Option<&str> {
        None
    }

    /// The lines of a file that it is about.
    fn lines(&self) -> Option<SetLines<'_>> {
        None
    }

    /// The turn whose first call it stops.
    fn turn(&self) -> Option<u32> {
        None
    }

    /// The name of the tool whose calls it stops, or a glob.
    fn tool(&self) -> Option<&str> {
        None
    }

    /// True if it stops the next call, whichever that is.
    fn is_next_call(&self) -> bool {
        false
    }

    /// True if it compares the input of a call before it runs.
    fn reads_input(&self) -> bool {
        false
    }

    /// False if tool, kind and named paths tell that the call cannot match. Compares no expression.
    fn may_match(&self, _facts: &CallFacts<'_>) -> bool {
        true
    }

    /// Compares the breakpoint with an agent's call.
    fn compare(
        &self,
        set: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match>;

    /// Compares the breakpoint with a program's call.
    fn compare_function(&self, _facts: &FunctionFacts<'_>) -> Match {
        Match::No
    }

    /// Rewrites typed fields as the kind's parameters.
    fn read_typed(_fields: &mut Map<String, Value>, _paths: &dyn PathReader) -> Result<()> {
        Ok(())
    }
}

impl KindField {
    /// A text that is required.
    pub(super) const fn text(
        name: &'static str,
        placeholder: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            help,
            example: "",
            placeholder,
            form: FieldForm::Text,
            is_required: true,
        }
    }

    pub(super) const fn of(self, form: FieldForm) -> Self {
        Self { form, ..self }
    }

    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    pub(super) const fn optional(self) -> Self {
        Self {
            is_required: false,
            ..self
        }
    }
}

impl KindInfo {
    /// A kind about calls themselves, on the side for which a breakpoint is set.
    pub(super) const fn about_calls(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            details: "",
            example: "",
            fields: &[],
            sides: TriggerSides::Chosen,
            is_about_calls: true,
            is_about_programs: false,
            is_internal: false,
        }
    }

    /// A kind about the session that makes a call.
    pub(super) const fn about_sessions(name: &'static str, summary: &'static str) -> Self {
        Self {
            is_about_calls: false,
            ..Self::about_calls(name, summary)
        }
    }
}
