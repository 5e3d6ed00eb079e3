//! `budget`: each call of a turn that has used up something.

use serde::{Deserialize, Serialize};

use crate::breakpoint::facts::{CallFacts, CallLookup};
use crate::breakpoint::kind::{
    BreakpointKind, FieldForm, KindField, KindInfo, Match, SetBreakpoint,
};
use backstitch_core::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetKind {
    pub of: BudgetOf,
    pub limit: u64,
}

/// Measure of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetOf {
    Calls,
    Files,
    Lines,
    Minutes,
    Tokens,
}

impl BudgetOf {
    pub const ALL: [Self; 5] = [
        Self::Calls,
        Self::Files,
        Self::Lines,
        Self::Minutes,
        Self::Tokens,
    ];
    const NAMES: [&str; 5] = {
        let mut names = [""; 5];
        let mut at = 0;
        while at < names.len() {
            names[at] = Self::ALL[at].name();
            at += 1;
        }
        names
    };

    pub const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Files => "files",
            Self::Lines => "lines",
            Self::Minutes => "minutes",
            Self::Tokens => "tokens",
        }
    }

    /// The part that the turn has used. None: unknown.
    fn used(self, lookup: &mut dyn CallLookup) -> Result<Option<u64>> {
        Ok(match self {
            Self::Calls => Some(lookup.turn()?.calls),
            Self::Files => Some(lookup.turn()?.files),
            Self::Lines => Some(lookup.turn()?.lines),
            Self::Minutes => Some(lookup.turn()?.minutes),
            Self::Tokens => lookup.tokens()?,
        })
    }
}

impl BreakpointKind for BudgetKind {
    const INFO: KindInfo = KindInfo {
        details: "before the next call of a turn that has used it up",
        example: "calls 50",
        fields: &[
            KindField::text("of", "OF", "Unit that is counted")
                .of(FieldForm::Choice(&BudgetOf::NAMES))
                .example("calls"),
            KindField::text("limit", "LIMIT", "The limit")
                .of(FieldForm::Number)
                .example("50"),
        ],
        ..KindInfo::about_sessions(
            "budget",
            "The next call of a turn that has used up a budget",
        )
    };

    fn summary(&self) -> String {
        format!("{} {}", self.limit, self.of.name())
    }

    fn check(&self) -> Result<()> {
        if self.limit == 0 {
            return Err(Error::Usage("a budget is at least 1".to_owned()));
        }
        Ok(())
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        _: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let (limit, of) = (self.limit, self.of.name());
        let used = self.of.used(lookup)?;
        Ok(Match::if_true(used >= Some(limit), || {
            let used = used.unwrap_or_default();
            format!("the turn has used {used} of {limit} {of}")
        }))
    }
}
