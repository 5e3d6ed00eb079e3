//! The catalogue of the kinds of breakpoints: one file and one row a kind.

mod any;
mod budget;
mod command;
mod content;
mod error;
mod function;
mod iteration;
mod line;
mod path;
mod pattern;
mod step;
mod tool;
mod turn;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::{
    BreakpointKind, FieldForm, KindInfo, Match, PathReader, SetBreakpoint, SetLines, TriggerSides,
};
use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment, FunctionFacts};
use backstitch_core::{Error, Result};

pub use any::AnyKind;
pub use budget::{BudgetKind, BudgetOf};
pub use command::CommandKind;
pub use content::ContentKind;
pub use error::FailedCallKind;
pub use function::FunctionKind;
pub use iteration::IterationKind;
pub use line::LineKind;
pub use path::PathKind;
pub use pattern::PatternKind;
pub use step::{StepKind, StepUntil};
pub use tool::ToolKind;
pub use turn::TurnKind;

/// Declares the kinds. The order is that of lists.
macro_rules! kinds {
    ($($name:ident($kind:ty),)*) => {
        /// Kind of a breakpoint, with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "lowercase")]
        pub enum BreakpointSpec {
            $($name($kind),)*
        }

        const KINDS: &[KindInfo] = &[$(<$kind>::INFO,)*];

        /// Name of a kind, for tests that make breakpoints of each.
        #[cfg(test)]
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum KindName {
            $($name,)*
        }

        #[cfg(test)]
        impl KindName {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];
        }

        $(impl From<$kind> for BreakpointSpec {
            fn from(kind: $kind) -> Self {
                Self::$name(kind)
            }
        })*

        impl BreakpointSpec {
            /// Declaration of its kind.
            pub fn info(&self) -> &'static KindInfo {
                match self {
                    $(Self::$name(_) => const { &<$kind>::INFO },)*
                }
            }

            /// The parameters in one line, as in lists: `Bash`, `src/**`, `src/auth.rs:10-20`.
            pub fn summary(&self) -> String {
                match self {
                    $(Self::$name(kind) => kind.summary(),)*
                }
            }

            /// Checks expressions, patterns and numbers. Err: the reason, for the user.
            pub fn check(&self) -> Result<()> {
                match self {
                    $(Self::$name(kind) => kind.check(),)*
                }
            }

            /// The limits of the kind in one line, for the person who makes such a breakpoint. None: it has none that
            /// surprise.
            pub fn limits(&self) -> Option<&'static str> {
                match self {
                    $(Self::$name(kind) => kind.limits(),)*
                }
            }

            /// The pattern of paths to which the breakpoint is limited.
            pub fn paths(&self) -> Option<&str> {
                match self {
                    $(Self::$name(kind) => kind.paths(),)*
                }
            }

            /// The lines of a file that it is about.
            pub fn lines(&self) -> Option<SetLines<'_>> {
                match self {
                    $(Self::$name(kind) => kind.lines(),)*
                }
            }

            /// The turn whose first call it stops.
            pub fn turn(&self) -> Option<u32> {
                match self {
                    $(Self::$name(kind) => kind.turn(),)*
                }
            }

            /// The name of the tool whose calls it stops, or a glob.
            pub fn tool(&self) -> Option<&str> {
                match self {
                    $(Self::$name(kind) => kind.tool(),)*
                }
            }

            /// True if it stops the next call, whichever that is.
            pub fn is_next_call(&self) -> bool {
                match self {
                    $(Self::$name(kind) => kind.is_next_call(),)*
                }
            }

            fn reads_input(&self) -> bool {
                match self {
                    $(Self::$name(kind) => kind.reads_input(),)*
                }
            }

            fn may_match_readable(&self, facts: &CallFacts<'_>) -> bool {
                match self {
                    $(Self::$name(kind) => kind.may_match(facts),)*
                }
            }

            fn compare_readable(
                &self,
                set: SetBreakpoint,
                facts: &CallFacts<'_>,
                lookup: &mut dyn CallLookup,
            ) -> Result<Match> {
                match self {
                    $(Self::$name(kind) => kind.compare(set, facts, lookup),)*
                }
            }

            /// Compares the breakpoint with a program's call.
            pub fn compare_function(&self, facts: &FunctionFacts<'_>) -> Match {
                match self {
                    $(Self::$name(kind) => kind.compare_function(facts),)*
                }
            }

            fn read_typed(
                kind: &str,
                fields: &mut Map<String, Value>,
                paths: &dyn PathReader,
            ) -> Result<()> {
                $(if kind == <$kind>::INFO.name {
                    return <$kind>::read_typed(fields, paths);
                })*
                Err(no_kind(kind))
            }
        }
    };
}

kinds! {
    Tool(ToolKind),
    Path(PathKind),
    Line(LineKind),
    Content(ContentKind),
    Pattern(PatternKind),
    Command(CommandKind),
    Iteration(IterationKind),
    Turn(TurnKind),
    Function(FunctionKind),
    Error(FailedCallKind),
    Budget(BudgetKind),
    Any(AnyKind),
    Step(StepKind),
}

/// The kinds that a user can set.
pub fn user_kinds() -> impl Iterator<Item = &'static KindInfo> {
    KINDS.iter().filter(|kind| !kind.is_internal)
}

fn no_kind(name: &str) -> Error {
    let known: Vec<&str> = user_kinds().map(|kind| kind.name).collect();
    Error::Usage(format!(
        "`{name}` is not a kind of breakpoint: {}",
        known.join(", ")
    ))
}

impl BreakpointSpec {
    /// Name of the kind, as in `backstitch breakpoint add KIND`.
    pub fn kind(&self) -> &'static str {
        self.info().name
    }

    /// Reads a breakpoint as a person types it, field by field. Parameters as they are in JSON are taken, too.
    pub fn typed(kind: &str, fields: Map<String, Value>, paths: &dyn PathReader) -> Result<Self> {
        let info = user_kinds().find(|info| info.name == kind);
        let info = info.ok_or_else(|| no_kind(kind))?;
        let mut fields = fields;
        for field in info.fields {
            if field.form == FieldForm::Paths
                && let Some(Value::String(typed)) = fields.get_mut(field.name)
                && !typed.is_empty()
            {
                *typed = paths.pattern(typed)?;
            }
        }
        Self::read_typed(kind, &mut fields, paths)?;
        fields.insert("kind".to_owned(), Value::from(kind));
        serde_json::from_value(Value::Object(fields))
            .map_err(|error| Error::Usage(format!("a breakpoint of the kind `{kind}`: {error}")))
    }

    /// True for a kind that is about a call itself, and not about the session that makes it.
    pub fn is_about_calls(&self) -> bool {
        self.info().is_about_calls
    }

    /// The side of a call on which this kind triggers unless the user says otherwise.
    pub fn usual_moment(&self) -> CallMoment {
        match self.info().sides {
            TriggerSides::After => CallMoment::After,
            TriggerSides::Chosen | TriggerSides::ChosenAndAfter => CallMoment::Before,
        }
    }

    /// True if a breakpoint of this kind that was set for a side is looked at on this one.
    pub fn looks_at(&self, set: CallMoment, moment: CallMoment) -> bool {
        match self.info().sides {
            TriggerSides::After => moment == CallMoment::After,
            TriggerSides::ChosenAndAfter => set == moment || moment == CallMoment::After,
            TriggerSides::Chosen => set == moment,
        }
    }

    /// True if this kind can trigger on that side of a call.
    pub fn allows(&self, moment: CallMoment) -> bool {
        self.info().sides != TriggerSides::After || moment == CallMoment::After
    }

    /// True if a call is looked at on both sides, so that one may pass it by on one of them.
    pub fn looks_at_both_sides(&self) -> bool {
        self.info().sides == TriggerSides::ChosenAndAfter
    }

    /// False if tool, kind and named paths tell that the call cannot match. Compares no expression.
    pub(crate) fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        self.unreadable(facts).is_some() || self.may_match_readable(facts)
    }

    /// Compares the breakpoint with an agent's call.
    pub(crate) fn compare(
        &self,
        set: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        match self.unreadable(facts) {
            Some(reason) => Ok(Match::Unusable(format!(
                "the input of the call cannot be read: {reason}"
            ))),
            None => self.compare_readable(set, facts, lookup),
        }
    }

    /// The reason why the input cannot be read with which this kind is compared.
    fn unreadable<'a>(&self, facts: &CallFacts<'a>) -> Option<&'a str> {
        let is_before = facts.moment == CallMoment::Before;
        facts.unreadable.filter(|_| is_before && self.reads_input())
    }
}
