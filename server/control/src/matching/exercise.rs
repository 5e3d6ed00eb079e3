//! Calls with arbitrary texts, for the fuzz targets and the tests.

use serde_json::json;

use super::{CallFacts, CallLookup, Trigger, check, may_match};
use crate::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointScope, BreakpointSpec, CallMoment,
    ChangedLines, LineRange, TurnFacts,
};
use backstitch_core::Result;

/// Answers everything with the same text.
struct Texts<'t>(&'t str);

impl CallLookup for Texts<'_> {
    fn iteration(&mut self) -> Result<u32> {
        Ok(1)
    }

    fn turn(&mut self) -> Result<TurnFacts> {
        Ok(TurnFacts::default())
    }

    fn tokens(&mut self) -> Result<Option<u64>> {
        Ok(Some(u64::MAX))
    }

    fn changed(&mut self) -> Result<Vec<ChangedLines>> {
        let text = self.0;
        Ok(vec![ChangedLines::between(
            text,
            b"a\nb\n",
            text.as_bytes(),
        )])
    }

    fn predicted(&mut self) -> Result<Vec<ChangedLines>> {
        self.changed()
    }

    fn region(&mut self, _: BreakpointId) -> Result<Option<LineRange>> {
        Ok(Some(LineRange {
            start: u32::MAX,
            count: u32::MAX,
        }))
    }

    fn triggered_before(&mut self, _: BreakpointId) -> Result<bool> {
        Ok(false)
    }

    fn has_below(&mut self, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }

    fn was_let_go(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn condition(&mut self, jq: &str) -> Result<bool, String> {
        Err(jq.to_owned())
    }

    fn count(&mut self, _: BreakpointId) -> Result<Option<i64>> {
        Ok(Some(i64::MAX))
    }

    fn passed_by(&mut self, _: &Trigger) {}

    fn problem(&mut self, _: BreakpointId, what: &str) {
        panic!("an accepted expression cannot be used: {what}");
    }
}

pub(super) fn exercise(spec: BreakpointSpec, text: &str) {
    let breakpoint = Breakpoint {
        id: BreakpointId(1),
        name: String::new(),
        spec,
        moment: CallMoment::Before,
        scope: BreakpointScope::default(),
        condition: None,
        hits_when: None,
        action: BreakpointAction::Pause,
        message: None,
        once: false,
        enabled: true,
        hits: 0,
        unattended: None,
        made_by: String::new(),
        created: 0,
        problem: None,
    };
    let breakpoints = [breakpoint];
    let paths = [text.to_owned()];
    for moment in [CallMoment::Before, CallMoment::After] {
        let facts = CallFacts {
            moment,
            agent: text,
            session: text,
            subagent: Some(text),
            tool: text,
            input: &json!({ text: [text] }),
            unreadable: None,
            command: Some(text),
            paths: &paths,
            mentioned: &paths,
            only_read: &[],
            searched: &[],
            reads: false,
            cwd: text,
            failed: true,
            writes_named: false,
        };
        let checked = check(&breakpoints, &facts, &mut Texts(text)).expect("checked");
        assert!(checked.stop.is_none() || may_match(&breakpoints, &facts));
    }
}
