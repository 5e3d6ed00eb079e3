//! `pattern`: calls whose input matches.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup};
use crate::breakpoint::kind::{BreakpointKind, KindField, KindInfo, Match, SetBreakpoint};
use crate::breakpoint::patterns::{Case, expression, input_matches};
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternKind {
    pub regex: String,
}

impl BreakpointKind for PatternKind {
    const INFO: KindInfo = KindInfo {
        details: "before a call whose input has this text; case does not matter",
        example: "password",
        fields: &[KindField::text("regex", "REGEX", "Regular expression").example("password")],
        ..KindInfo::about_calls(
            "pattern",
            "Calls whose input matches, whatever the case of letters",
        )
    };

    fn summary(&self) -> String {
        format!("/{}/", self.regex)
    }

    fn check(&self) -> Result<()> {
        expression(&self.regex, Case::Ignored)
    }

    fn limits(&self) -> Option<&'static str> {
        Some("It sees the input of calls, not the files that they read or write.")
    }

    fn reads_input(&self) -> bool {
        true
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        facts: &CallFacts<'_>,
        _: &mut dyn CallLookup,
    ) -> Result<Match> {
        Ok(input_matches(&self.regex, facts.input))
    }
}
