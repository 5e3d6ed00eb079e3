//! `function`: calls of a function that a program watches.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup, FunctionFacts};
use crate::breakpoint::kind::{BreakpointKind, KindField, KindInfo, Match, SetBreakpoint};
use crate::breakpoint::patterns::{glob, is_tool};
use backstitch_core::Result;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionKind {
    /// `module.function`, `function`, or a glob.
    pub name: String,
}

impl BreakpointKind for FunctionKind {
    const INFO: KindInfo = KindInfo {
        details: "before, or with `--after` after, a call that a program watches: [REPLs](repl.md)",
        example: "shop.total",
        fields: &[
            KindField::text("name", "NAME", "`module.function`, `function`, or a glob")
                .example("shop.total"),
        ],
        is_about_programs: true,
        ..KindInfo::about_sessions("function", "Calls of a function that a program watches")
    };

    fn summary(&self) -> String {
        self.name.clone()
    }

    fn check(&self) -> Result<()> {
        glob(&self.name).map(drop)
    }

    fn limits(&self) -> Option<&'static str> {
        Some("It sees calls that a program watches, in programs that run `backstitch` clients.")
    }

    /// Programs ask about their own calls.
    fn may_match(&self, _: &CallFacts<'_>) -> bool {
        false
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        _: &CallFacts<'_>,
        _: &mut dyn CallLookup,
    ) -> Result<Match> {
        Ok(Match::No)
    }

    fn compare_function(&self, facts: &FunctionFacts<'_>) -> Match {
        let short = facts.function.rsplit('.').next().unwrap_or_default();
        let is_it = is_tool(&self.name, facts.function) || is_tool(&self.name, short);
        Match::if_true(is_it, || format!("calls {}", facts.function))
    }
}
