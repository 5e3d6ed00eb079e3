//! The rows of breakpoints and held calls, and what changed in them since they were announced. Announces nothing.

use std::collections::BTreeMap;

use backstitch_control::{
    Attempt, Breakpoint, ChangedInput, Control, Hit, Pause, PauseFilter, PauseId, PauseState,
    ReplEntry, ReplFilter, ReplSession,
};
use backstitch_core::{Result, Workspace};

use crate::control::follow_renames;

/// Maximum number of calls whose end is awaited although their hook died.
const MAX_LOST: usize = 100;

/// Maximum number of log points that are announced at once.
const MAX_HITS: usize = 100;

/// A pause as it was announced.
#[derive(Clone, Debug, PartialEq)]
struct AnnouncedPause {
    state: PauseState,
    is_decided: bool,
    draft: Option<ChangedInput>,
}

impl AnnouncedPause {
    fn of(pause: &Pause) -> Self {
        Self {
            state: pause.state,
            is_decided: pause.decision.is_some(),
            draft: pause.draft.clone(),
        }
    }
}

/// The part of a workspace's state that was announced.
#[derive(Clone, Default)]
pub struct Announced {
    /// Held, decided and parked calls.
    open: BTreeMap<PauseId, AnnouncedPause>,
    /// Calls whose hook died. Their agent may have run them all the same, which is found later.
    lost: Vec<PauseId>,
    pub breakpoints: Vec<Breakpoint>,
    pub hit: Option<i64>,
    /// Number of the newest pause.
    pub pause: Option<i64>,
    /// Row of the newest entry of a transcript.
    pub entry: Option<i64>,
    /// REPLs that were open.
    pub open_repls: Vec<String>,
    /// Row of the newest attempt of an agent to decide.
    pub attempt: Option<i64>,
}

impl Announced {
    /// The state without any rows: all that come are news.
    pub fn nothing() -> Self {
        Self {
            hit: Some(0),
            pause: Some(0),
            entry: Some(0),
            attempt: Some(0),
            ..Self::default()
        }
    }

    /// True if a hook is paused, and may die.
    pub fn waits(&self) -> bool {
        self.open
            .values()
            .any(|one| one.state != PauseState::Parked)
    }
}

/// The rows of a workspace now.
pub struct ControlRows {
    pub seq: i64,
    /// Held, decided and parked calls.
    pub open: Vec<Pause>,
    /// Calls that were held when they were announced, and are no longer open.
    pub over: Vec<Pause>,
    /// Calls that ran unasked: their hook died.
    pub slipped: Vec<Pause>,
    pub breakpoints: Vec<Breakpoint>,
    pub lines: Vec<(Breakpoint, Vec<u8>)>,
    pub hits: Vec<Hit>,
    pub newest_hit: i64,
    pub newest_pause: i64,
    /// New entries of transcripts, each with its session.
    pub entries: Vec<(ReplSession, ReplEntry)>,
    pub newest_entry: i64,
    /// REPLs that were opened or closed.
    pub repls: Vec<ReplSession>,
    pub open_repls: Vec<String>,
    /// Decisions of agents that were refused.
    pub attempts: Vec<Attempt>,
    pub newest_attempt: i64,
}

pub fn read(workspace: &Workspace, control: &Control, seen: &Announced) -> Result<ControlRows> {
    control.pauses().notice_lost()?;
    let open = control.pauses().list(PauseFilter::Open)?;
    let mut over = Vec::new();
    for id in seen.open.keys() {
        if open.iter().all(|pause| pause.id != *id) {
            over.extend(control.pauses().get(*id)?);
        }
    }
    let mut slipped = Vec::new();
    for id in &seen.lost {
        let now = control.pauses().get(*id)?;
        slipped.extend(now.filter(|pause| pause.state == PauseState::Slipped));
    }
    let (newest_pause, unseen) = control
        .pauses()
        .slipped_after(seen.pause.unwrap_or(i64::MAX))?;
    slipped.extend(unseen);
    let breakpoints = control.breakpoints().all()?;
    let moved = follow_renames::follow(workspace, control, &breakpoints);
    let breakpoints = moved.unwrap_or(breakpoints);
    let mut lines = Vec::new();
    for one in &breakpoints {
        if let Some((_, base)) = control.breakpoints().region_base(one.id)? {
            lines.push((one.clone(), base));
        }
    }
    let newest_hit = control.hits().newest_number()?;
    let hits = match seen.hit {
        Some(hit) if newest_hit > hit => control.hits().after(hit, MAX_HITS)?,
        _ => Vec::new(),
    };
    let newest_entry = control.repls().newest_entry()?;
    let mut entries = Vec::new();
    if let Some(entry) = seen.entry.filter(|entry| newest_entry > *entry) {
        for (_, id, entry) in control.repls().entries_after(entry, MAX_HITS)? {
            entries.push((control.repls().known(&id)?, entry));
        }
    }
    let filter = ReplFilter {
        active: Some(true),
        limit: MAX_HITS,
        ..ReplFilter::default()
    };
    let mut repls = control.repls().list(&filter)?.0;
    let open_repls: Vec<String> = repls.iter().map(|session| session.id.clone()).collect();
    repls.retain(|session| !seen.open_repls.contains(&session.id));
    for id in seen.open_repls.iter().filter(|id| !open_repls.contains(id)) {
        repls.extend(control.repls().get(id)?);
    }
    let mut attempts = control.attempts(seen.attempt.unwrap_or(0), 0)?;
    let newest_attempt = attempts.last().map(|one| one.id).or(seen.attempt);
    if seen.attempt.is_none() {
        attempts.clear();
    }
    Ok(ControlRows {
        attempts,
        newest_attempt: newest_attempt.unwrap_or(0),
        entries,
        newest_entry,
        repls,
        open_repls,
        seq: control.seq()?,
        open,
        over,
        slipped,
        breakpoints,
        lines,
        hits,
        newest_hit,
        newest_pause,
    })
}

/// The pauses of which there is news.
#[derive(Default)]
pub struct PauseChanges {
    /// Held since the last time; also one whose decision its program refused.
    pub new: Vec<Pause>,
    /// No longer held.
    pub over: Vec<Pause>,
    /// Held with another input, or decided for their next try.
    pub changed: Vec<Pause>,
}

impl PauseChanges {
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.over.is_empty() && self.changed.is_empty()
    }
}

/// Compares the pauses with those that were announced, and notes them.
pub fn compare(announced: &mut Announced, rows: &ControlRows) -> PauseChanges {
    let mut changes = PauseChanges::default();
    for pause in &rows.open {
        let now = AnnouncedPause::of(pause);
        let before = announced.open.get(&pause.id);
        if before.is_some_and(|told| *told == now) {
            continue;
        }
        let is_same = before.is_some_and(|told| told.state == pause.state);
        match pause.state {
            PauseState::Held | PauseState::Parked if is_same => {
                changes.changed.push(pause.clone());
            }
            PauseState::Held => changes.new.push(pause.clone()),
            PauseState::Parked if before.is_some() => changes.over.push(pause.clone()),
            // one that was parked before this server came is in the lists
            PauseState::Parked
            | PauseState::Decided
            | PauseState::Answered
            | PauseState::Used
            | PauseState::Expired
            | PauseState::Handed
            | PauseState::Ended
            | PauseState::Lost
            | PauseState::Slipped => {}
        }
        announced.open.insert(pause.id, now);
    }
    for pause in &rows.over {
        announced.open.remove(&pause.id);
        if pause.state == PauseState::Lost {
            announced.lost.push(pause.id);
        }
    }
    changes.over.extend(rows.over.iter().cloned());
    announced
        .lost
        .retain(|id| rows.slipped.iter().all(|pause| pause.id != *id));
    let old = announced.lost.len().saturating_sub(MAX_LOST);
    announced.lost.drain(..old);
    changes
}
