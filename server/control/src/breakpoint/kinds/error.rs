//! `error`: calls that failed.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment, FunctionFacts};
use crate::breakpoint::kind::{
    BreakpointKind, KindField, KindInfo, Match, SetBreakpoint, TriggerSides,
};
use crate::breakpoint::patterns::{glob, is_tool};
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedCallKind {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

impl FailedCallKind {
    fn is_of(&self, tool: &str) -> bool {
        self.tool.as_deref().is_none_or(|name| is_tool(name, tool))
    }
}

impl BreakpointKind for FailedCallKind {
    const INFO: KindInfo = KindInfo {
        details: "after a failed call, before the model sees the error",
        example: "--tool Bash",
        fields: &[
            KindField::text("tool", "TOOL", "Only of this tool; a name, or a glob")
                .example("Bash")
                .optional(),
        ],
        // a call fails after it ran
        sides: TriggerSides::After,
        ..KindInfo::about_sessions("error", "Failed calls, before the model sees the error")
    };

    fn summary(&self) -> String {
        self.tool.clone().unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        self.tool
            .as_deref()
            .map_or(Ok(()), |tool| glob(tool).map(drop))
    }

    fn may_match(&self, facts: &CallFacts<'_>) -> bool {
        facts.failed && self.is_of(facts.tool)
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        facts: &CallFacts<'_>,
        _: &mut dyn CallLookup,
    ) -> Result<Match> {
        Ok(Match::Yes(format!("{} failed", facts.tool)))
    }

    fn compare_function(&self, facts: &FunctionFacts<'_>) -> Match {
        let has_failed = facts.moment == CallMoment::After && facts.failed;
        Match::if_true(has_failed && self.is_of(facts.function), || {
            format!("{} failed", facts.function)
        })
    }
}
