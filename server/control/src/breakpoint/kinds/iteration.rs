//! `iteration`: the call with a number in its session.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup};
use crate::breakpoint::kind::{
    BreakpointKind, FieldForm, KindField, KindInfo, Match, SetBreakpoint,
};
use backstitch_core::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IterationKind {
    pub number: u32,
}

impl BreakpointKind for IterationKind {
    const INFO: KindInfo = KindInfo {
        details: "before the call with this number in its session",
        example: "20",
        fields: &[KindField::text("number", "NUMBER", "Number, from 1")
            .of(FieldForm::Number)
            .example("20")],
        ..KindInfo::about_sessions("iteration", "The call with this number in its session")
    };

    fn summary(&self) -> String {
        self.number.to_string()
    }

    fn check(&self) -> Result<()> {
        if self.number == 0 {
            let reason = "iterations of a session count from 1";
            return Err(Error::Usage(reason.to_owned()));
        }
        Ok(())
    }

    fn compare(
        &self,
        set: SetBreakpoint,
        _: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        // calls that run at the same time may get the same number
        let is_reached = lookup.passes_iteration(set.id, self.number)?;
        Ok(Match::if_true(is_reached, || {
            format!("call {} of its session", self.number)
        }))
    }
}
