//! `step`: the next call at which a step stops.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment, FunctionFacts};
use crate::breakpoint::kind::{BreakpointKind, KindInfo, Match, SetBreakpoint};
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepKind {
    pub how: StepUntil,
}

/// The call at which a step stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "until", rename_all = "lowercase")]
pub enum StepUntil {
    /// The next call of this thread.
    Over { thread: Option<String> },
    /// The next call of any thread.
    Into,
    /// The next call of the main thread, or of another turn. A step out of the main thread is `Turn`.
    Out { turn: Option<i64> },
    /// The next call that names another file.
    File { paths: Vec<String> },
    /// The first call of another turn.
    Turn { turn: Option<i64> },
}

impl StepUntil {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Over { .. } => "over",
            Self::Into => "into",
            Self::Out { .. } => "out",
            Self::File { .. } => "file",
            Self::Turn { .. } => "turn",
        }
    }

    /// False if the step cannot end at this call, whatever its turn.
    fn may_end(&self, facts: &CallFacts<'_>) -> bool {
        match self {
            Self::Over { thread } => thread.as_deref() == facts.subagent,
            Self::File { paths } => facts.paths.iter().any(|path| !paths.contains(path)),
            Self::Into | Self::Out { .. } | Self::Turn { .. } => true,
        }
    }

    fn ends(&self, facts: &CallFacts<'_>, lookup: &mut dyn CallLookup) -> Result<bool> {
        Ok(match self {
            Self::Over { .. } | Self::File { .. } => self.may_end(facts),
            Self::Into => true,
            Self::Out { turn } => facts.subagent.is_none() || lookup.turn()?.number != *turn,
            Self::Turn { turn } => lookup.turn()?.number != *turn,
        })
    }
}

impl BreakpointKind for StepKind {
    const INFO: KindInfo = KindInfo {
        is_internal: true,
        ..KindInfo::about_sessions("step", "The call at which a step stops")
    };

    fn summary(&self) -> String {
        self.how.name().to_owned()
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        self.how.may_end(facts)
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        facts: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let ends = self.how.ends(facts, lookup)?;
        Ok(Match::if_true(ends, || format!("step {}", self.how.name())))
    }

    fn compare_function(&self, facts: &FunctionFacts<'_>) -> Match {
        let ends = match &self.how {
            StepUntil::Over { thread } => thread.as_deref().is_none_or(|it| it == facts.thread),
            StepUntil::Into
            | StepUntil::Out { .. }
            | StepUntil::File { .. }
            | StepUntil::Turn { .. } => true,
        };
        let is_end = facts.moment == CallMoment::Before && ends;
        Match::if_true(is_end, || format!("step {}", self.how.name()))
    }
}
