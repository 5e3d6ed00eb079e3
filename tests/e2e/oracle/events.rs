//! Events for the engine: those of agents, and one operation after another.

use std::fs;

use backstitch_control::{
    Ability, CallMoment, Control, HeldCall, HoldOutcome, PauseDecision, PauseState, WaitResult,
};
use backstitch_core::Engine;
use backstitch_core::capture::{
    AgentEvent, Effect, EventKind, PathReport, ToolCall, ToolReport, Wrote,
};
use backstitch_core::model::NodeId;

use super::model::{Entry, Sure, Who, hides};
use super::ops::{Decided, Edit, Op};
use super::world::{Call, Checked, RULES_FILE, World};

impl World {
    fn event(&self, who: Who, kind: EventKind) -> AgentEvent {
        AgentEvent {
            agent: "generated".into(),
            session: who.session().into(),
            transcript: None,
            prompt_id: None,
            subagent: None,
            cwd: Some(self.root.clone()),
            process: None,
            other_hooks: None,
            name: "event".into(),
            kind,
        }
    }

    fn tell(&mut self, who: Who, kind: EventKind) -> Checked {
        let event = self.event(who, kind);
        let made = self
            .engine
            .capture_mut()
            .record(&event)
            .map_err(|e| format!("{event:?}: {e}"))?;
        if made.pending {
            return Err(format!("{event:?}: a scan of so few files ran out of time"));
        }
        Ok(())
    }

    fn tool(&self, call: &Call) -> ToolCall {
        ToolCall {
            id: Some(format!("call-{}", call.number)),
            tool: if call.names.is_some() { "Edit" } else { "Bash" }.into(),
            input: b"{}".to_vec(),
            effect: match &call.names {
                Some(path) => Effect::Names(vec![self.root.join(path)]),
                None => Effect::Any { background: false },
            },
        }
    }

    /// Begins a call.
    fn open(&mut self, who: Who, names: Option<String>) -> Checked<Call> {
        self.counter += 1;
        let mut call = Call {
            number: self.counter,
            who,
            reserved: names.as_ref().map_or(Vec::new(), |p| self.leads_to(p)),
            names,
            rival: false,
        };
        self.tell(who, EventKind::Before(self.tool(&call)))?;
        if call.names.is_none() {
            self.scanned();
        }
        let disk = self.disk();
        for path in &call.reserved {
            if self.is_reserved(path) {
                continue;
            }
            let known = self.seen.contains_key(path) || !disk.contains_key(path);
            if !known && hides(self.rules_scanned.as_ref(), path) {
                self.adopted.push((path.clone(), NodeId(i64::MAX)));
                // no scan has covered it since it was written: it belongs to the adopted content
                let found = disk.get(path).and_then(Entry::text).unwrap_or_default();
                for line in found.lines() {
                    if let Some(token) = self.tokens.get_mut(line).filter(|t| t.node.is_none()) {
                        token.sure = Sure::No;
                    }
                }
            }
            self.look_at(path, &disk);
        }
        for other in &mut self.calls {
            let meet = match (&other.names, &call.names) {
                (Some(_), Some(_)) => other.reserved.iter().any(|p| call.reserved.contains(p)),
                _ => other.who != who,
            };
            if meet {
                other.rival = true;
                call.rival = true;
            }
        }
        self.calls.push(call.clone());
        self.settled("before a call")?;
        Ok(call)
    }

    /// Ends a call.
    fn close(&mut self, call: &Call, told: ToolReport, failed: bool) -> Checked {
        let kind = EventKind::After {
            call: self.tool(call),
            report: told,
            failed,
        };
        self.tell(call.who, kind)?;
        let call = self
            .calls
            .iter()
            .position(|c| c.number == call.number)
            .map(|at| self.calls.remove(at))
            .ok_or("the model lost a call")?;
        let sure = match &call.names {
            None => true,
            Some(_) => !call.rival && !failed && self.background.is_empty(),
        };
        for token in self.tokens.values_mut() {
            if token.sure == Sure::When(call.number) {
                token.sure = if sure { Sure::Yes } else { Sure::No };
                // a scan ran before this report, which does not name its changes
                token.early = call.names.is_some() && token.node.is_some();
            }
        }
        match &call.names {
            None => self.scanned(),
            Some(path) => {
                let disk = self.disk();
                for path in call.reserved.iter().chain(&self.leads_to(path)) {
                    self.look_at(path, &disk);
                }
            }
        }
        self.settled("after a call")
    }

    /// Ends a session's calls that never reported.
    fn presumed(&mut self, who: Who) -> bool {
        let (over, open) = std::mem::take(&mut self.calls)
            .into_iter()
            .partition::<Vec<_>, _>(|c| c.who == who);
        self.calls = open;
        for token in self.tokens.values_mut() {
            if let Some(call) = over.iter().find(|c| token.sure == Sure::When(c.number)) {
                // an interrupted command has done what it did, if it was alone
                let alone = !call.rival && self.background.is_empty();
                token.sure = if call.names.is_none() && alone {
                    Sure::Yes
                } else {
                    Sure::No
                };
            }
        }
        // unrecorded changes of the user are found together with theirs
        if over.iter().any(|c| c.names.is_none()) {
            for token in self.tokens.values_mut().filter(|t| t.node.is_none()) {
                token.sure = Sure::No;
            }
        }
        !over.is_empty()
    }

    /// Runs one operation, except restores.
    pub fn run(&mut self, op: &Op) -> Checked {
        match op {
            Op::User(edits) => {
                for edit in edits {
                    self.edit(edit, Who::User, None);
                }
                Ok(())
            }
            Op::Named { who, edit, told } => {
                let Some(path) = self.subject(edit, &self.disk()) else {
                    return Ok(());
                };
                let call = self.open(*who, Some(path.clone()))?;
                let found = self
                    .disk()
                    .get(&path)
                    .and_then(Entry::text)
                    .map(str::to_owned);
                self.edit(edit, *who, Some(&call));
                let wrote = self
                    .disk()
                    .get(&path)
                    .and_then(Entry::text)
                    .map(str::to_owned);
                let told = match (told, wrote) {
                    (true, Some(wrote)) => ToolReport {
                        paths: vec![PathReport {
                            path: self.root.join(&path),
                            found,
                            wrote: Some(Wrote::Whole(wrote)),
                        }],
                        ..ToolReport::default()
                    },
                    _ => ToolReport::default(),
                };
                self.close(&call, told, false)
            }
            Op::Held {
                who,
                edit,
                meanwhile,
                decided,
            } => self.held(*who, edit, meanwhile, decided),
            Op::Shell { who, edits } => {
                let call = self.open(*who, None)?;
                for edit in edits {
                    self.edit(edit, *who, Some(&call));
                }
                self.close(&call, ToolReport::default(), false)
            }
            Op::Open { who, edit } => {
                let names = match edit {
                    Some(edit) => match self.subject(edit, &self.disk()) {
                        None => return Ok(()),
                        named => named,
                    },
                    None => None,
                };
                self.open(*who, names).map(|_| ())
            }
            Op::Work { call, edits } => {
                let Some(call) = self.nth_call(*call) else {
                    return Ok(());
                };
                for edit in edits {
                    let subject = self.subject(edit, &self.disk());
                    if call.names.is_none() || (call.names == subject && !edit.names_another()) {
                        self.edit(edit, call.who, Some(&call));
                    }
                }
                Ok(())
            }
            Op::Close { call, failed } => match self.nth_call(*call) {
                Some(call) => self.close(&call, ToolReport::default(), *failed),
                None => Ok(()),
            },
            Op::Prompt(who) => {
                let text = "a prompt".to_owned();
                self.tell(
                    *who,
                    EventKind::Prompt {
                        text,
                        synthetic: false,
                    },
                )?;
                self.presumed(*who);
                self.scanned();
                self.settled("a prompt")
            }
            Op::Stop { who, background } => {
                let background = *background;
                self.tell(*who, EventKind::Stop { background })?;
                // the end of a background command triggers a scan, too: its changes are not the user's
                let ended = !background && self.background.contains(who);
                if self.presumed(*who) || ended {
                    self.scanned();
                }
                if background {
                    // unrecorded changes may be that command's
                    for token in self.tokens.values_mut().filter(|t| t.node.is_none()) {
                        token.sure = Sure::No;
                    }
                    self.background.insert(*who);
                } else {
                    self.background.remove(who);
                }
                self.settled("a stop")
            }
            Op::Look => {
                self.engine
                    .capture_mut()
                    .record_changes()
                    .map_err(|e| format!("look: {e}"))?;
                self.asked();
                self.settled("a look")
            }
            Op::ThereAndBack { node, who } => {
                let node = self.nth_node(*node);
                self.away_and_home(node, *who)
            }
            Op::Checkpoint => {
                self.engine
                    .capture_mut()
                    .checkpoint(None)
                    .map_err(|e| format!("checkpoint: {e}"))?;
                self.asked();
                self.settled("a checkpoint")
            }
            Op::Reopen => {
                self.engine = Engine::open(&self.workspace).map_err(|e| format!("open: {e}"))?;
                self.engine.capture_mut().set_always_scan();
                self.settled("opened again")
            }
            Op::Rewind(_)
            | Op::Revert { .. }
            | Op::RevertBoth { .. }
            | Op::Undo { .. }
            | Op::RevertMany { .. }
            | Op::Name { .. }
            | Op::Switch { .. }
            | Op::Ancestor { .. }
            | Op::Collect { .. }
            | Op::Elsewhere { .. }
            | Op::Redo => self.restore_op(op),
        }
    }

    /// Holds a call at a breakpoint. It is not open yet: the edits of the user are the user's, and a denied call leaves
    /// nothing behind.
    fn held(&mut self, who: Who, edit: &Edit, meanwhile: &[Edit], decided: &Decided) -> Checked {
        let failed = |error: backstitch_core::Error| format!("the held call: {error}");
        let control = Control::open(&self.workspace).map_err(failed)?;
        self.counter += 1;
        let held = HeldCall {
            why: "every edit".into(),
            root: self.root.clone(),
            agent: "generated".into(),
            session: who.session().into(),
            tool: "Edit".into(),
            call: format!("held-{}", self.counter),
            moment: CallMoment::Before,
            input: "{}".into(),
            can: vec![Ability::Continue, Ability::Change, Ability::Deny],
            ..HeldCall::default()
        };
        let given = control.pauses().hold(&held, None, false).map_err(failed)?;
        let Some(HoldOutcome::Held(mut hold)) = given else {
            return Err(format!("not held: {given:?}"));
        };
        for edit in meanwhile {
            self.edit(edit, Who::User, None);
        }
        let (decision, runs) = match decided {
            Decided::Continue => (PauseDecision::Continue, Some(edit)),
            Decided::Change(other) => {
                let input = serde_json::json!({});
                (PauseDecision::Change { input }, Some(other))
            }
            Decided::Deny => {
                let message = "no".to_owned();
                (PauseDecision::Deny { message }, None)
            }
        };
        control
            .pauses()
            .decide_alone(hold.id, &decision, "oracle")
            .map_err(failed)?;
        let waited = hold.wait(&control, None).map_err(failed)?;
        if waited != WaitResult::Decided(decision.clone()) {
            return Err(format!("{waited:?} instead of {decision:?}"));
        }
        let outcome = Some(decision.outcome());
        control
            .pauses()
            .end(hold.id, PauseState::Answered, outcome)
            .map_err(failed)?;
        match runs {
            Some(edit) => self.run(&Op::Named {
                who,
                edit: edit.clone(),
                told: true,
            }),
            None => Ok(()),
        }
    }

    /// Takes the files to their state at a node and back, as git does with a checkout there and back, or with a stash.
    /// A prompt comes in between. Every line has its author afterwards, as before.
    fn away_and_home(&mut self, node: NodeId, who: Who) -> Checked {
        if !self.calls.is_empty() || !self.background.is_empty() {
            return Ok(());
        }
        self.run(&Op::Look)?;
        let here = self.disk();
        let there = self.expected[&node].clone();
        // a known file that the rules hide is no longer known once it was away
        if here.keys().any(|path| hides(here.get(RULES_FILE), path)) {
            return Ok(());
        }
        self.check_out(&there);
        self.run(&Op::Prompt(who))?;
        self.check_out(&here);
        self.same(&here, &self.disk())
            .map_err(|e| format!("there and back: {e}"))?;
        self.comes_back = true;
        let looked = self.run(&Op::Look);
        self.comes_back = false;
        looked
    }

    fn nth_call(&self, n: u8) -> Option<Call> {
        (!self.calls.is_empty()).then(|| self.calls[usize::from(n) % self.calls.len()].clone())
    }
}

/// A file of regions, for the property of edits that are apart.
impl World {
    pub fn put(&mut self, path: &str, text: &str) {
        self.write(path, text.as_bytes());
    }

    /// Runs a whole call that writes this text to a file.
    pub fn write_as(&mut self, who: Who, shell: bool, path: &str, text: &str) -> Checked {
        let names = (!shell).then(|| path.to_owned());
        let call = self.open(who, names)?;
        self.write(path, text.as_bytes());
        self.close(&call, ToolReport::default(), false)
    }

    /// Changes lines inside one region of `file.txt`, with its owner's usual tool.
    pub fn edit_region(
        &mut self,
        who: Who,
        shell: bool,
        (region, at, gone, n): (u8, u8, u8, u8),
    ) -> Checked {
        const FILE: &str = "file.txt";
        let call = match (who, shell) {
            (Who::User, _) => None,
            (_, true) => Some(self.open(who, None)?),
            (_, false) => Some(self.open(who, Some(FILE.to_owned()))?),
        };
        let text = fs::read_to_string(self.root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let border = |region: u8, n: u8| format!("between {region} {n}\n");
        let find = |line: String| lines.iter().position(|l| *l == line);
        let start = match region.checked_sub(1) {
            None => 0,
            Some(above) => find(border(above, 2)).ok_or("a border is lost")? + 1,
        };
        let end = find(border(region, 0)).ok_or("a border is lost")?;
        let from = start + usize::from(at) % (end - start + 1);
        let to = (from + usize::from(gone)).min(end);
        let new = self.lines(who, call.as_ref(), FILE, n, 0);
        lines.splice(from..to, new);
        self.write(FILE, lines.concat().as_bytes());
        match call {
            Some(call) => self.close(&call, ToolReport::default(), false),
            None => Ok(()),
        }
    }
}
