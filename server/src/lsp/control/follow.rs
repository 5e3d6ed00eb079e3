//! Announces held calls: to Backstitch's own clients by notifications, to all others by a question. Notices calls whose
//! hook died.

use std::collections::{BTreeMap, HashMap};
use std::future::{Future as _, poll_fn};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use backstitch_control::{
    Attempt, Breakpoint, ChangedInput, Control, Hit, Pause, PauseFilter, PauseId, PauseOutcome,
    PauseState, ReplEntry, ReplFilter, ReplSession,
};
use backstitch_core::{Result, Workspace};
use backstitch_protocol as protocol;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tower_lsp::Client;
use tower_lsp::gen_lsp_types::MessageType;

use super::{decisions, face};
use crate::control::predict::read_disk;
use crate::control::{follow_renames, shown, view};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::ask::ask_for;
use crate::lsp::handler::notifications::{
    BreakpointsNotification, HitNotification, PauseChangedNotification, PauseNotification,
    ReplChangedNotification, ReplOutputNotification, ResumeNotification,
};
use crate::lsp::messages::control as messages;
use crate::lsp::session::ServerState;
use crate::lsp::session::control_state::{HeldHere, Shown};
use crate::to_protocol;

/// Interval at which hooks that died are noticed while a call is held.
const TICK: Duration = Duration::from_millis(250);
/// Maximum number of calls whose end is awaited although their hook died.
const MAX_LOST: usize = 100;
/// Maximum number of log points that are announced at once.
const MAX_HITS: usize = 100;

/// Time after which a question that stands is taken for one that a person sees. An editor that cannot ask says so at once.
const SHOWN_AFTER: Duration = Duration::from_millis(150);
/// Time for which a user has to be idle until a lost question is asked again: at first, and at last.
const ASKED_AGAIN: [Duration; 2] = [Duration::from_secs(3), Duration::from_mins(1)];
/// Number of times that a question is asked of an editor that has never answered one.
const MAX_UNHEARD: u32 = 3;
/// Time for which a question about a held call stands.
const QUESTION: Duration = Duration::from_hours(24);
/// Editors that show questions, by a part of their names in small letters.
const SHOWING: &[&str] = &[
    "helix",
    "eglot",
    "emacs",
    "lsp-mode",
    "vim",
    "kakoune",
    "kak-lsp",
    "sublime",
    "zed",
    "kate",
    "visual studio code",
];

/// A pause as it was announced.
#[derive(Clone, Debug, PartialEq)]
struct ToldPause {
    state: PauseState,
    is_decided: bool,
    draft: Option<ChangedInput>,
}

impl ToldPause {
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
struct Announced {
    /// Held, decided and parked calls.
    open: BTreeMap<PauseId, ToldPause>,
    /// Calls whose hook died. Their agent may have run them all the same, which is found later.
    lost: Vec<PauseId>,
    breakpoints: Vec<Breakpoint>,
    hit: Option<i64>,
    /// Number of the newest pause.
    pause: Option<i64>,
    /// Row of the newest entry of a transcript.
    entry: Option<i64>,
    /// REPLs that were open.
    open_repls: Vec<String>,
    /// Row of the newest attempt of an agent to decide.
    attempt: Option<i64>,
}

impl Announced {
    /// True if a hook is paused, and may die.
    fn waits(&self) -> bool {
        self.open
            .values()
            .any(|one| one.state != PauseState::Parked)
    }
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
    /// Decisions of agents that were refused.
    attempts: Vec<Attempt>,
    newest_attempt: i64,
}

/// Handles the news about held calls of all workspaces. Runs until the server ends.
pub async fn follow(server: Arc<ServerState>, mut events: UnboundedReceiver<PathBuf>) {
    let mut all: HashMap<PathBuf, Announced> = HashMap::new();
    server.client.wait_until_ready().await;
    loop {
        let waits = all.values().any(Announced::waits);
        let root = if waits {
            tokio::time::timeout(TICK, events.recv()).await
        } else {
            Ok(events.recv().await)
        };
        let roots: Vec<PathBuf> = match root {
            Ok(Some(root)) => vec![root],
            Ok(None) => return,
            Err(_) => {
                let held = all.iter().filter(|(_, one)| one.waits());
                held.map(|(root, _)| root.clone()).collect()
            }
        };
        for root in roots {
            let Some(handle) = server.workspaces.at(&root) else {
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
            attempt: Some(0),
            ..Announced::default()
        };
        if server.control.shown.remove(handle.root()).is_some() {
            server.client.refresh_lenses();
        }
        return Ok(());
    };
    let changes = announce(announced, &rows);
    let has_changed = announced.breakpoints != rows.breakpoints;
    announced.breakpoints.clone_from(&rows.breakpoints);
    announced.hit = Some(rows.newest_hit);
    announced.pause = Some(rows.newest_pause);
    announced.entry = Some(rows.newest_entry);
    announced.attempt = Some(rows.newest_attempt);
    announced.open_repls.clone_from(&rows.open_repls);
    if has_changed || !changes.is_empty() {
        keep(server, handle, &rows);
        server.client.refresh_lenses();
    }
    tell(server, handle, &rows, &changes, has_changed).await;
    Ok(())
}

/// The pauses of which there is news.
#[derive(Default)]
struct PauseChanges {
    /// Held since the last time; also one whose decision its program refused.
    new: Vec<Pause>,
    /// No longer held.
    over: Vec<Pause>,
    /// Held with another input, or decided for their next try.
    changed: Vec<Pause>,
}

impl PauseChanges {
    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.over.is_empty() && self.changed.is_empty()
    }
}

/// Compares the pauses with those that were announced, and notes them.
fn announce(announced: &mut Announced, rows: &ControlRows) -> PauseChanges {
    let mut changes = PauseChanges::default();
    for pause in &rows.open {
        let now = ToldPause::of(pause);
        match (announced.open.get(&pause.id), pause.state) {
            (Some(told), _) if *told == now => continue,
            (Some(told), PauseState::Held) if told.state == PauseState::Held => {
                changes.changed.push(pause.clone());
            }
            (_, PauseState::Held) => changes.new.push(pause.clone()),
            (Some(told), PauseState::Parked) if told.state == PauseState::Parked => {
                changes.changed.push(pause.clone());
            }
            (Some(_), PauseState::Parked) => changes.over.push(pause.clone()),
            // one that was parked before this server came is in the lists
            _ => {}
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

/// Keeps the state for lenses and code actions.
fn keep(server: &ServerState, handle: &WorkspaceHandle, rows: &ControlRows) {
    let held = rows.open.iter().filter(|p| p.state == PauseState::Held);
    let held = held.map(|pause| {
        let shown = shown::now(pause, &read_disk);
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
    changes: &PauseChanges,
    has_changed: bool,
) {
    let own = &server.client.features().own;
    let (workspace, seq) = (to_protocol::path(handle.root()), rows.seq);
    let client = &server.client.connection;
    for pause in &rows.slipped {
        server
            .client
            .say(MessageType::Warning, messages::slipped(pause));
    }
    if let Some(newest) = rows.attempts.last() {
        let said = crate::control::words::attempt(newest);
        server.client.say(MessageType::Warning, said);
    }
    for pause in changes.over.iter().chain(&changes.changed) {
        server.control.void(handle.root(), pause.id);
    }
    for pause in changes
        .over
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
    for pause in changes.changed.iter().filter(|_| own.notifications) {
        let changed = protocol::PauseChanged {
            workspace: workspace.clone(),
            seq,
            pause: view::pause(pause),
        };
        client
            .send_notification::<PauseChangedNotification>(changed)
            .await;
    }
    for pause in &changes.new {
        if own.notifications {
            let paused = protocol::DidPause {
                workspace: workspace.clone(),
                seq,
                pause: view::pause(pause),
            };
            client.send_notification::<PauseNotification>(paused).await;
        }
        // an editor that an agent runs shows it to nobody
        let is_seen = server.is_a_persons().await;
        if is_seen && (own.panels || shows_questions(server)) {
            acknowledge(server, handle, pause.id).await;
        }
        if is_seen && !own.panels {
            tokio::spawn(question(server.clone(), handle.clone(), pause.id));
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
            hit: view::hit(hit, &rows.breakpoints),
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
    let noted = handle.control(false, move |control| {
        control.pauses().acknowledge(id, &face)
    });
    if let Err(error) = noted.await {
        tracing::info!("{id}: {error}");
    }
}

/// True if this editor shows questions to a person: it is known to, or it has answered one.
fn shows_questions(server: &ServerState) -> bool {
    let name = server.client.features().name.to_ascii_lowercase();
    server.control.has_answered.load(Ordering::Relaxed)
        || SHOWING.iter().any(|known| name.contains(known))
}

/// The end of a question.
enum Answered {
    Chosen(String),
    /// It was closed without an answer.
    Lost,
    /// The editor cannot ask.
    Never,
}

/// Asks the user about a held call, in an editor without panels. A question that is lost is asked again while the user is idle,
/// and one whose call is decided elsewhere says so.
async fn question(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>, id: PauseId) {
    let void = server.control.question(handle.root(), id);
    let mut unheard = 0;
    let mut wait = ASKED_AGAIN[0];
    while let Some(pause) = held_now(&handle, id).await {
        let shown = shown::now(&pause, &read_disk);
        match stand(&server, &handle, &pause, &shown, &void).await {
            Answered::Never => break,
            Answered::Lost => {
                unheard += 1;
                let has_answered = server.control.has_answered.load(Ordering::Relaxed);
                if !has_answered && unheard >= MAX_UNHEARD {
                    break;
                }
                until_idle(&server, wait, &void).await;
                wait = (wait * 3).min(ASKED_AGAIN[1]);
            }
            Answered::Chosen(answer) => {
                server.control.has_answered.store(true, Ordering::Relaxed);
                let fingerprint = shown.fingerprint.clone();
                if let Some(refusal) =
                    carry_out(&server, &handle, &pause, fingerprint, &answer).await
                {
                    server.client.say(MessageType::Warning, refusal);
                }
            }
        }
    }
    server.control.no_question(handle.root(), id);
}

/// Returns a call that is held now.
async fn held_now(handle: &WorkspaceHandle, id: PauseId) -> Option<Pause> {
    let pause = handle.control(false, move |control| control.pauses().get(id));
    let pause = pause.await.ok()??;
    pause.filter(|pause| pause.state == PauseState::Held)
}

/// Shows a question until it is answered. Tells the user if its call is decided elsewhere meanwhile, or runs otherwise.
async fn stand(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    pause: &Pause,
    shown: &protocol::PredictResult,
    void: &Notify,
) -> Answered {
    let text = messages::held(pause, shown);
    let offered = messages::offered_answers(pause);
    let asked = ask_for(server, MessageType::Info, &text, &offered, QUESTION);
    let mut asked = pin!(asked);
    let mut is_seen = false;
    loop {
        let seen = is_seen;
        let voided = async move {
            if seen {
                void.notified().await;
            } else {
                let _ = tokio::time::timeout(SHOWN_AFTER, void.notified()).await;
            }
        };
        let mut voided = pin!(voided);
        let answered = poll_fn(|context| match asked.as_mut().poll(context) {
            Poll::Ready(answered) => Poll::Ready(Some(answered)),
            Poll::Pending => voided.as_mut().poll(context).map(|()| None),
        });
        match answered.await {
            Some(Ok(Some(answer))) => return Answered::Chosen(answer),
            Some(Ok(None)) => return Answered::Lost,
            Some(Err(_)) => return Answered::Never,
            None => {}
        }
        if !is_seen {
            // an editor that cannot ask has said so by now
            is_seen = true;
            acknowledge(server, handle, pause.id).await;
        }
        tell_if_void(server, handle, pause).await;
    }
}

/// Tells the user what became of the call of a question that stands, if it is not held as it was.
async fn tell_if_void(server: &ServerState, handle: &WorkspaceHandle, asked: &Pause) {
    let id = asked.id;
    let now = handle.control(false, move |control| control.pauses().get(id));
    let Ok(Some(Some(now))) = now.await else {
        return;
    };
    if now.state != PauseState::Held {
        server.client.say(MessageType::Info, messages::void(&now));
    } else if now.draft != asked.draft {
        server
            .client
            .say(MessageType::Info, messages::changed(&now));
    }
}

/// Waits until the user has been idle for a time. Ends early if the call is no longer held.
async fn until_idle(server: &ServerState, wait: Duration, void: &Notify) {
    let mut left = wait;
    loop {
        if tokio::time::timeout(left, void.notified()).await.is_ok() {
            return;
        }
        let idle = server.control.idle();
        if idle >= ASKED_AGAIN[0] {
            return;
        }
        left = ASKED_AGAIN[0].saturating_sub(idle);
    }
}

/// Carries an answer out. Returns the refusal, in words.
async fn carry_out(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    pause: &Pause,
    fingerprint: String,
    answer: &str,
) -> Option<String> {
    let name = pause.id.to_string();
    let done = match answer {
        messages::CONTINUE | messages::REWIND | messages::STEP => {
            let is_step = answer == messages::STEP;
            decisions::answer(server, handle, pause, fingerprint, is_step).await
        }
        messages::DENY => decisions::deny(server, handle, protocol::RefuseParams::of(&name))
            .await
            .map(drop),
        _ => {
            let params = protocol::HeldParams::of(&name);
            let shown = decisions::inspect(server, handle, params).await;
            return shown.err().map(|failure| failure.text());
        }
    };
    let failure = done.err()?;
    let now = handle.control(false, {
        let id = pause.id;
        move |control| control.pauses().get(id)
    });
    match now.await {
        // an answer that comes late says what happened
        Ok(Some(Some(now))) if !now.is_open() => Some(messages::too_late(answer, &now)),
        _ => Some(failure.text()),
    }
}
