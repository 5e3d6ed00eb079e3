//! `turn`: the first call of a turn.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::breakpoint::facts::{CallFacts, CallLookup};
use crate::breakpoint::kind::{
    BreakpointKind, KindField, KindInfo, Match, PathReader, SetBreakpoint,
};
use backstitch_core::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnKind {
    /// `t4` is 4.
    pub number: u32,
}

impl BreakpointKind for TurnKind {
    const INFO: KindInfo = KindInfo {
        details: "before the first call of this turn",
        example: "t4",
        fields: &[KindField::text("number", "TURN", "Turn: t4, or 4").example("t4")],
        ..KindInfo::about_sessions("turn", "The first call of this turn")
    };

    fn summary(&self) -> String {
        format!("t{}", self.number)
    }

    fn turn(&self) -> Option<u32> {
        Some(self.number)
    }

    fn check(&self) -> Result<()> {
        if self.number == 0 {
            return Err(Error::Usage("turns count from 1".to_owned()));
        }
        Ok(())
    }

    fn compare(
        &self,
        _: SetBreakpoint,
        _: &CallFacts<'_>,
        lookup: &mut dyn CallLookup,
    ) -> Result<Match> {
        let turn = lookup.turn()?;
        let is_turn = turn.is_first_call && turn.number == Some(i64::from(self.number));
        Ok(Match::if_true(is_turn, || {
            format!("the first call of t{}", self.number)
        }))
    }

    fn read_typed(fields: &mut Map<String, Value>, _: &dyn PathReader) -> Result<()> {
        if let Some(Value::String(typed)) = fields.get("number") {
            let number = typed.strip_prefix('t').unwrap_or(typed).parse::<u32>();
            let number = number
                .map_err(|_| Error::Usage(format!("`{typed}` is not a turn: write t4, or 4")))?;
            fields.insert("number".to_owned(), Value::from(number));
        }
        Ok(())
    }
}
