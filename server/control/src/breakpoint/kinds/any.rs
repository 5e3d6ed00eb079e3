//! `any`: the next call. `pause` and the steps set it.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup, CallMoment, FunctionFacts};
use crate::breakpoint::kind::{BreakpointKind, KindInfo, Match, SetBreakpoint};
use backstitch_core::Result;

const WHY: &str = "the next call";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnyKind {}

impl BreakpointKind for AnyKind {
    const INFO: KindInfo = KindInfo {
        is_internal: true,
        ..KindInfo::about_sessions("any", "The next call")
    };

    fn summary(&self) -> String {
        String::new()
    }

    fn is_next_call(&self) -> bool {
        true
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        _: &CallFacts<'_>,
        _: &mut dyn CallLookup,
    ) -> Result<Match> {
        Ok(Match::Yes(WHY.to_owned()))
    }

    fn compare_function(&self, facts: &FunctionFacts<'_>) -> Match {
        Match::if_true(facts.moment == CallMoment::Before, || WHY.to_owned())
    }
}
