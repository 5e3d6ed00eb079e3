//! Announces held calls: to Backstitch's own clients by notifications, to all others by a question. Notices calls whose
//! hook died.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use backstitch_core::control::{
    Breakpoint, Control, Hit, Pause, PauseDecision, PauseFilter, PauseId, PauseOutcome, PauseState,
    ReplEntry, ReplFilter, ReplSession, StepUntil,
};
use backstitch_core::{Error, Result, Workspace};
use backstitch_protocol as protocol;
use tokio::sync::mpsc::UnboundedReceiver;
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::MessageType;

use super::{decisions, face};
use crate::control::predict::read_disk;
use crate::control::{acts, details, moves, view};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::ask::ask;
use crate::lsp::control_state::{HeldHere, Shown};
use crate::lsp::messages::control as messages;
use crate::lsp::notifications::{
    BreakpointsNotification, HitNotification, PauseNotification, ReplChangedNotification,
    ReplOutputNotification, ResumeNotification,
};
use crate::lsp::session::ServerState;
use crate::to_protocol;

/// Interval at which hooks that died are noticed while a call is held.
const TICK: Duration = Duration::from_millis(250);
/// Maximum number of calls whose end is awaited although their hook died.
const MAX_LOST: usize = 100;
/// Maximum number of log points that are announced at once.
const MAX_HITS: usize = 100;

/// The part of a workspace's state that was announced.
#[derive(Clone, Default)]
struct Announced {
    held: BTreeMap<PauseId, PauseState>,
    /// Calls whose hook died. Their agent may have run them all the same, which is found later.
    lost: Vec<PauseId>,
    breakpoints: Vec<Breakpoint>,
    hit: Option<i64>,
    /// Number of the newest pause.
    pause: Option<i64>,
    /// Row of the newest entry of a transcript.
    entry: Option<i64>,
    /// REPLs that were open.
    open: Vec<String>,
}

/// The rows of a workspace now.
struct ControlRows {
    seq: i64,
    /// Held, decided and parked calls.
    open: Vec<Pause>,
    /// Calls that were held when they were announced, and are no longer open.
    over: Vec<Pause>,
    /// Calls that ran unasked: their hook died.
    slipped: Vec<Pause>,
    breakpoints: Vec<Breakpoint>,
    lines: Vec<(Breakpoint, Vec<u8>)>,
    hits: Vec<Hit>,
    newest_hit: i64,
    newest_pause: i64,
    /// New entries of transcripts, each with its session.
    entries: Vec<(ReplSession, ReplEntry)>,
    newest_entry: i64,
    /// REPLs that were opened or closed.
    repls: Vec<ReplSession>,
    open_repls: Vec<String>,
}

/// Handles the news about held calls of all workspaces. Runs until the server ends.
pub async fn follow(server: Arc<ServerState>, mut events: UnboundedReceiver<PathBuf>) {
    let mut all: HashMap<PathBuf, Announced> = HashMap::new();
    server.wait_until_ready().await;
    loop {
        let waits = all.values().any(|one| !one.held.is_empty());
        let root = if waits {
            tokio::time::timeout(TICK, events.recv()).await
        } else {
            Ok(events.recv().await)
        };
        let roots: Vec<PathBuf> = match root {
            Ok(Some(root)) => vec![root],
            Ok(None) => return,
            Err(_) => {
                let held = all.iter().filter(|(_, one)| !one.held.is_empty());
                held.map(|(root, _)| root.clone()).collect()
            }
        };
        for root in roots {
            let Some(handle) = server.handle_at(&root) else {
                all.remove(&root);
                continue;
            };
            let announced = all.entry(root).or_default();
            if let Err(error) = look(&server, &handle, announced).await {
                tracing::info!("{}: {error}", handle.root().display());
            }
        }
    }
}

fn read(workspace: &Workspace, control: &Control, seen: &Announced) -> Result<ControlRows> {
    control.notice_lost()?;
    let open = control.pauses(PauseFilter::Open)?;
    let mut over = Vec::new();
    for id in seen.held.keys() {
        if open.iter().all(|pause| pause.id != *id) {
            over.extend(control.pause(*id)?);
        }
    }
    let mut slipped = Vec::new();
    for id in &seen.lost {
        let now = control.pause(*id)?;
        slipped.extend(now.filter(|pause| pause.state == PauseState::Slipped));
    }
    let (newest_pause, unseen) = control.slipped_after(seen.pause.unwrap_or(i64::MAX))?;
    slipped.extend(unseen);
    let breakpoints = control.breakpoints()?;
    let moved = moves::follow(workspace, control, &breakpoints);
    let breakpoints = moved.unwrap_or(breakpoints);
    let mut lines = Vec::new();
    for one in &breakpoints {
        if let Some((_, base)) = control.region_base(one.id)? {
            lines.push((one.clone(), base));
        }
    }
    let newest_hit = control.newest_hit()?;
    let hits = match seen.hit {
        Some(hit) if newest_hit > hit => control.hits_after(hit, MAX_HITS)?,
        _ => Vec::new(),
    };
    let newest_entry = control.newest_entry()?;
    let mut entries = Vec::new();
    if let Some(entry) = seen.entry.filter(|entry| newest_entry > *entry) {
        for (_, id, entry) in control.entries_after(entry, MAX_HITS)? {
            entries.push((control.known_repl(&id)?, entry));
        }
    }
    let filter = ReplFilter {
        active: Some(true),
        limit: MAX_HITS,
        ..ReplFilter::default()
    };
    let mut repls = control.repls(&filter)?.0;
    let open_repls: Vec<String> = repls.iter().map(|session| session.id.clone()).collect();
    repls.retain(|session| !seen.open.contains(&session.id));
    for id in seen.open.iter().filter(|id| !open_repls.contains(id)) {
        repls.extend(control.repl(id)?);
    }
    Ok(ControlRows {
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

/// Reads the rows, and announces the differences to the last time.
async fn look(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    announced: &mut Announced,
) -> Result<()> {
    let seen = announced.clone();
    let workspace = handle.workspace().clone();
    let rows = handle.control(false, move |control| read(&workspace, control, &seen));
    let Some(rows) = rows.await? else {
        // there is none yet, or it was removed with the store: all that comes into it is news
        *announced = Announced {
            hit: Some(0),
            pause: Some(0),
            entry: Some(0),
            ..Announced::default()
        };
        if server.control.shown.remove(handle.root()).is_some() {
            server.refresh_lenses();
        }
        return Ok(());
    };
    let is_held = |pause: &&Pause| pause.state == PauseState::Held;
    let new: Vec<Pause> = rows
        .open
        .iter()
        .filter(is_held)
        // also one whose decision its program refused
        .filter(|pause| announced.held.get(&pause.id) != Some(&PauseState::Held))
        .cloned()
        .collect();
    let parked = rows.open.iter().filter(|pause| {
        pause.state == PauseState::Parked && announced.held.contains_key(&pause.id)
    });
    let over: Vec<Pause> = parked.chain(&rows.over).cloned().collect();
    for pause in &over {
        announced.held.remove(&pause.id);
        if pause.state == PauseState::Lost {
            announced.lost.push(pause.id);
        }
    }
    announced
        .lost
        .retain(|id| rows.slipped.iter().all(|pause| pause.id != *id));
    let old = announced.lost.len().saturating_sub(MAX_LOST);
    announced.lost.drain(..old);
    for pause in new.iter().chain(&rows.open) {
        if announced.held.contains_key(&pause.id) || pause.state == PauseState::Held {
            announced.held.insert(pause.id, pause.state);
        }
    }
    let has_changed = announced.breakpoints != rows.breakpoints;
    announced.breakpoints.clone_from(&rows.breakpoints);
    announced.hit = Some(rows.newest_hit);
    announced.pause = Some(rows.newest_pause);
    announced.entry = Some(rows.newest_entry);
    announced.open.clone_from(&rows.open_repls);
    if has_changed || !new.is_empty() || !over.is_empty() {
        keep(server, handle, &rows);
        server.refresh_lenses();
    }
    tell(server, handle, &rows, (&new, &over), has_changed).await;
    Ok(())
}

/// Keeps the state for lenses and code actions.
fn keep(server: &ServerState, handle: &WorkspaceHandle, rows: &ControlRows) {
    let held = rows.open.iter().filter(|p| p.state == PauseState::Held);
    let held = held.map(|pause| {
        let shown = details::predicted(pause, details::input(pause), &read_disk);
        let here = HeldHere {
            pause: pause.clone(),
            predicted: shown.predicted,
        };
        (pause.id, here)
    });
    let shown = Shown {
        held: held.collect(),
        lines: rows.lines.clone(),
    };
    let root = handle.root().to_path_buf();
    server.control.shown.insert(root, Arc::new(shown));
}

async fn tell(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    rows: &ControlRows,
    (new, over): (&[Pause], &[Pause]),
    has_changed: bool,
) {
    let own = &server.features().own;
    let (workspace, seq) = (to_protocol::path(handle.root()), rows.seq);
    let client = &server.client;
    for pause in &rows.slipped {
        server.say(MessageType::Warning, messages::slipped(pause));
    }
    for pause in over
        .iter()
        .chain(&rows.slipped)
        .filter(|_| own.notifications)
    {
        let outcome = pause.outcome.map_or("", PauseOutcome::name);
        let resumed = protocol::DidResume {
            workspace: workspace.clone(),
            seq,
            pause: view::pause(pause),
            outcome: outcome.to_owned(),
            by: pause.decided_by.clone(),
        };
        client
            .send_notification::<ResumeNotification>(resumed)
            .await;
    }
    for pause in new {
        if own.notifications {
            let paused = protocol::DidPause {
                workspace: workspace.clone(),
                seq,
                pause: view::pause(pause),
            };
            client.send_notification::<PauseNotification>(paused).await;
        }
        if own.panels || server.control.has_answered.load(Ordering::Relaxed) {
            acknowledge(server, handle, pause.id).await;
        }
        if !own.panels {
            tokio::spawn(question(server.clone(), handle.clone(), pause.clone()));
        }
    }
    if has_changed && own.notifications {
        let changed = protocol::BreakpointsChanged {
            workspace: workspace.clone(),
            seq,
        };
        client
            .send_notification::<BreakpointsNotification>(changed)
            .await;
    }
    if own.notifications {
        tell_repls(client, &workspace, rows).await;
    }
    let logged = rows.hits.iter().filter(|hit| hit.text.is_some());
    for hit in logged.filter(|_| own.notifications) {
        let hit = protocol::DidHit {
            workspace: workspace.clone(),
            seq,
            hit: view::hit(hit),
        };
        client.send_notification::<HitNotification>(hit).await;
    }
}

/// Sends what was asked in REPLs, and those that were opened or closed.
async fn tell_repls(client: &Client, workspace: &protocol::Text, rows: &ControlRows) {
    for (session, entry) in &rows.entries {
        let output = protocol::ReplOutput {
            workspace: workspace.clone(),
            seq: rows.seq,
            session: view::session(session),
            entry: view::entry(entry),
        };
        client
            .send_notification::<ReplOutputNotification>(output)
            .await;
    }
    for session in &rows.repls {
        let changed = protocol::ReplChanged {
            workspace: workspace.clone(),
            seq: rows.seq,
            session: view::session(session),
        };
        client
            .send_notification::<ReplChangedNotification>(changed)
            .await;
    }
}

/// Notes that this editor shows a held call to a person.
async fn acknowledge(server: &ServerState, handle: &WorkspaceHandle, id: PauseId) {
    let face = format!("{} {}", face(server), std::process::id());
    let noted = handle.control(false, move |control| control.acknowledge(id, &face));
    if let Err(error) = noted.await {
        tracing::info!("{id}: {error}");
    }
}

/// Asks the user about a held call, in an editor without panels.
async fn question(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>, pause: Pause) {
    let shown = details::predicted(&pause, details::input(&pause), &read_disk);
    let text = messages::held(&pause, &shown.predicted);
    let offered = [
        messages::CONTINUE,
        messages::STEP,
        messages::DENY,
        messages::DETAILS,
    ];
    loop {
        let Some(answer) = ask(&server, MessageType::Info, &text, &offered).await else {
            return;
        };
        server.control.has_answered.store(true, Ordering::Relaxed);
        let (decision, step) = match answer.as_str() {
            messages::CONTINUE => (PauseDecision::Continue, None),
            messages::STEP => (PauseDecision::Continue, acts::step_until(&pause, "over")),
            messages::DENY => {
                let message = crate::control::words::refused();
                (PauseDecision::Deny { message }, None)
            }
            _ => {
                acknowledge(&server, &handle, pause.id).await;
                let params = protocol::HeldParams::of(&pause.id.to_string());
                if let Err(failure) = decisions::inspect(&server, &handle, params).await {
                    server.say(MessageType::Error, failure.text());
                }
                continue;
            }
        };
        if let Err(error) = decide(&server, &handle, pause.id, decision, step).await {
            // an answer that comes late says who was first
            server.say(MessageType::Warning, error.to_string());
        }
        return;
    }
}

async fn decide(
    server: &ServerState,
    handle: &WorkspaceHandle,
    id: PauseId,
    decision: PauseDecision,
    step: Option<StepUntil>,
) -> Result<()> {
    let face = face(server);
    let decided = handle.control(false, move |control| {
        control.decide(id, &decision, step.as_ref(), &face)
    });
    let missing = || Error::NotFound {
        what: "pause",
        name: id.to_string(),
    };
    decided.await?.map(drop).ok_or_else(missing)
}
