//! Requests about held calls, and the decisions on them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use backstitch_control::{
    Control, Decided, Pause, PauseDecision, PauseFilter, PauseId, StepUntil, Undone,
};
use backstitch_core::config::Config;
use backstitch_core::{Engine, Error, LogFilter};
use backstitch_protocol::{
    BackParams, BreakpointResult, DecisionResult, DraftParams, FailureKind, HeldParams,
    InjectParams, InjectResult, PauseDetails, PauseDetailsParams, PauseParams, PausesParams,
    PausesResult, PredictParams, PredictResult, RefuseParams, ResumeParams, SkipParams, StepParams,
    WantedText,
};
use serde_json::Value;
use tower_lsp::gen_lsp_types::MessageType;

use super::face;
use crate::control::acts::{self, Back, ContinueObstacle, ContinueRequest, OwnEditor, StepHow};
use crate::control::details::{self, Around};
use crate::control::predict::read_disk;
use crate::control::{shown, view};
use crate::host::progress::cancel_flag;
use crate::host::workspace::{WorkspaceHandle, WriteAccess};
use crate::lsp::commands::restore;
use crate::lsp::features::views;
use crate::lsp::handler::ask::must_ask;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::choice;
use crate::lsp::messages::control as messages;
use crate::lsp::session::{EditorClient, ServerState};
use crate::lsp::unsaved::editing::{self, EditWait, OpenDocuments};
use crate::to_protocol;

/// Number of checkpoints around a held call.
const RECENT: usize = 20;

pub async fn pauses(server: &ServerState, params: PausesParams) -> Reply<PausesResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let filter = if params.all == Some(true) {
        PauseFilter::All
    } else {
        PauseFilter::Open
    };
    let found = handle.control(false, move |control| {
        Ok(PausesResult {
            seq: control.seq()?,
            pauses: control
                .pauses()
                .list(filter)?
                .iter()
                .map(view::pause)
                .collect(),
        })
    });
    Ok(found.await?.unwrap_or(PausesResult {
        seq: 0,
        pauses: Vec::new(),
    }))
}

/// Returns a held call, and the newest commit.
async fn find(handle: &WorkspaceHandle, name: &str) -> Reply<(Pause, i64)> {
    let typed = name.to_owned();
    let found = handle.control(false, move |control| {
        Ok((control.pauses().open(Some(&typed), None)?, control.seq()?))
    });
    let missing = || {
        Failure::new(FailureKind::NotFound, messages::NOTHING_HELD)
            .hint(messages::NOTHING_HELD_HINT)
    };
    found.await?.ok_or_else(missing)
}

pub async fn details(server: &ServerState, params: PauseDetailsParams) -> Reply<PauseDetails> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let (pause, seq) = find(&handle, &params.pause).await?;
    of(&handle, pause, seq).await
}

async fn of(handle: &WorkspaceHandle, pause: Pause, seq: i64) -> Reply<PauseDetails> {
    let (id, session) = (pause.id, pause.call.session.clone());
    let others = handle.control(false, move |control| {
        let open = control.pauses().list(PauseFilter::Open)?.into_iter();
        let others = open.filter(|other| other.id != id);
        Ok(others.map(|other| messages::other_held(&other)).collect())
    });
    let others: Vec<String> = others.await?.unwrap_or_default();
    let recent = handle.ask(move |engine: &mut Engine| {
        let entries = engine.history().log(&LogFilter {
            session: Some(session),
            limit: Some(RECENT),
            ..LogFilter::default()
        })?;
        Ok(entries.iter().map(to_protocol::checkpoint).collect())
    });
    // a session may have recorded nothing yet
    let recent = recent.await.unwrap_or_default();
    let around = Around {
        recent,
        others,
        seq,
    };
    Ok(details::details(&pause, around, &read_disk))
}

pub async fn predict(server: &ServerState, params: PredictParams) -> Reply<PredictResult> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let (pause, _) = find(&handle, &params.pause).await?;
    let id = pause.id;
    if let Err(error) = handle
        .control(false, move |control| control.pauses().touch(id))
        .await
    {
        tracing::info!("{id}: {error}");
    }
    let typed = typed_input(params.input, params.input_text)?;
    wished(&pause, typed, params.then)
}

/// Predicts a held call with another input, or with the one that writes these texts.
fn wished(
    pause: &Pause,
    input: Option<Value>,
    then: Option<Vec<WantedText>>,
) -> Reply<PredictResult> {
    if let Some(input) = input {
        return Ok(shown::predicted(pause, input, &read_disk));
    }
    let then = then.unwrap_or_default();
    shown::wanted(pause, &then, &read_disk).map_err(|reason| {
        Failure::new(FailureKind::Refused, messages::not_invertible(&reason))
            .hint(messages::NOT_INVERTIBLE_HINT)
    })
}

/// Sets the input with which a held call runs, for all who see it.
pub async fn draft(server: &ServerState, params: DraftParams) -> Reply<PauseDetails> {
    let handle = targets::workspace_handle(server, &params.place())?;
    let (pause, _) = find(&handle, &params.pause).await?;
    pause.check_changeable()?;
    let typed = typed_input(params.input, params.input_text)?;
    let input = if typed.is_some() || params.then.is_some() {
        Some(wished(&pause, typed, params.then)?.input)
    } else {
        None
    };
    let (id, face) = (pause.id, face(&server.client));
    let set = handle.control(false, move |control| {
        acts::set_input(control, &pause, input, &face)?;
        Ok((
            control.pauses().open(Some(&id.to_string()), None)?,
            control.seq()?,
        ))
    });
    let (pause, seq) = set
        .await?
        .ok_or_else(|| Failure::new(FailureKind::NotFound, messages::NOTHING_HELD))?;
    of(&handle, pause, seq).await
}

/// Returns the input that a user typed, as a value or as a JSON text.
fn typed_input(input: Option<Value>, text: Option<String>) -> Reply<Option<Value>> {
    let Some(text) = text else {
        return Ok(input);
    };
    let read = serde_json::from_str(&text);
    read.map(Some)
        .map_err(|error| Failure::usage(messages::not_json(&error.to_string())))
}

/// Finds the held call of a command: the named one, the only one, or the one that the user chooses.
pub(super) async fn chosen(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    named: Option<&str>,
) -> Reply<Pause> {
    if let Some(name) = named {
        return Ok(find(handle, name).await?.0);
    }
    let open = handle.control(false, |control| control.pauses().list(PauseFilter::Open));
    let mut open = open.await?.unwrap_or_default();
    match open.len() {
        0 => Err(Failure::new(FailureKind::NotFound, messages::NOTHING_HELD)
            .hint(messages::NOTHING_HELD_HINT)),
        1 => Ok(open.remove(0)),
        _ => {
            let titles: Vec<String> = open.iter().map(messages::offered).collect();
            let mut offered: Vec<&str> = titles.iter().map(String::as_str).collect();
            offered.push(choice::CANCEL);
            let answer =
                must_ask(client, MessageType::Info, messages::WHICH_CALL, &offered).await?;
            let at = titles
                .iter()
                .position(|title| Some(title) == answer.as_ref());
            at.map(|at| open.remove(at)).ok_or_else(Failure::cancelled)
        }
    }
}

/// Stores a decision, and says so.
async fn decide(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    pause: &Pause,
    decision: PauseDecision,
) -> Reply<DecisionResult> {
    let (id, face) = (pause.id, face(client));
    let decided = handle.control(false, move |control| {
        control.pauses().decide(id, &decision, None, &face)
    });
    let decided = decided
        .await?
        .ok_or_else(|| Failure::new(FailureKind::NotFound, messages::NOTHING_HELD))?;
    after(client, handle, decided).await
}

/// Waits for what a decision brings about, and says so.
async fn after(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    undone: Undone,
) -> Reply<DecisionResult> {
    let decided = carried_out(handle, undone).await?;
    Ok(report_decided(client, &decided))
}

/// Waits beside all other requests until a decision is carried out.
async fn carried_out(handle: &WorkspaceHandle, undone: Undone) -> Reply<Decided> {
    let workspace = handle.workspace().clone();
    let is_over = cancel_flag();
    let waited = tokio::task::spawn_blocking(move || {
        let control = Control::open_existing(&workspace)?.ok_or(Error::CalledOff)?;
        let one = Config::of(&workspace).eval_timeout();
        undone.carried_out(&control, one, &|| is_over.load(Ordering::Relaxed))
    });
    let waited = waited.await.map_err(|error| {
        tracing::error!("a decision: {error}");
        Failure::new(FailureKind::Failed, messages::NOTHING_HELD)
    })?;
    Ok(waited?)
}

fn report_decided(client: &EditorClient, decided: &Decided) -> DecisionResult {
    let outcome = decided.decision.outcome().name().to_owned();
    client.report(messages::decided(&decided.pause, &outcome));
    DecisionResult {
        pause: view::pause(&decided.pause),
        outcome,
    }
}

/// Lets a held call continue with the input that was shown, or with another one.
async fn continue_call(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    pause: Pause,
    wish: ContinueRequest,
    step: Option<StepUntil>,
) -> Reply<DecisionResult> {
    let face = face(client);
    let continued = acts::check_continue(&pause, &wish).map_err(obstacle)?;
    let decided = handle.control(false, move |control| {
        let decided = acts::continue_call(control, &pause, &continued, step.as_ref(), &face);
        Ok(decided.map(|decided| (decided, continued.shown)))
    });
    let decided = decided
        .await?
        .ok_or_else(|| Failure::new(FailureKind::NotFound, messages::NOTHING_HELD))?;
    let (decided, _) = decided.map_err(obstacle)?;
    after(client, handle, decided).await
}

fn obstacle(obstacle: ContinueObstacle) -> Box<Failure> {
    match obstacle {
        ContinueObstacle::Stale => {
            Failure::new(FailureKind::Stale, messages::STALE).hint(messages::STALE_HINT)
        }
        ContinueObstacle::Input(problem) => {
            Failure::new(FailureKind::Refused, problem.reason).hint(messages::FORCE_HINT)
        }
        ContinueObstacle::Error(error) => error.into(),
    }
}

/// Carries out the answer to a question about a held call: it continues as it was shown.
pub(super) async fn answer(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    pause: &Pause,
    fingerprint: String,
    is_step: bool,
) -> Reply<()> {
    let wish = ContinueRequest {
        fingerprint: Some(fingerprint),
        // the question said what fails
        force: true,
        ..ContinueRequest::default()
    };
    let now = find(handle, &pause.id.to_string()).await?.0;
    let step = is_step.then(|| StepHow::Over.until(&now));
    continue_call(client, handle, now, wish, step)
        .await
        .map(drop)
}

pub async fn resume(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: ResumeParams,
) -> Reply<DecisionResult> {
    let pause = chosen(client, handle, params.pause.as_deref()).await?;
    let wish = ContinueRequest {
        input: typed_input(params.input, params.input_text)?,
        fingerprint: params.fingerprint.map(String::from),
        force: params.force == Some(true),
    };
    continue_call(client, handle, pause, wish, None).await
}

pub async fn step(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: StepParams,
) -> Reply<DecisionResult> {
    let pause = chosen(client, handle, params.pause.as_deref()).await?;
    let how = params.how.as_deref().unwrap_or("over");
    let how = StepHow::named(how)
        .map_err(|all| Failure::usage(messages::not_one_of("how", how, &all)))?;
    let until = how.until(&pause);
    let wish = ContinueRequest {
        input: typed_input(params.input, params.input_text)?,
        fingerprint: params.fingerprint.map(String::from),
        force: params.force == Some(true),
    };
    continue_call(client, handle, pause, wish, Some(until)).await
}

pub async fn skip(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: SkipParams,
) -> Reply<DecisionResult> {
    let pause = chosen(client, handle, params.pause.as_deref()).await?;
    let value = params.value.filter(|value| !value.trim().is_empty());
    let decision = value.map_or(PauseDecision::Skip, |value| PauseDecision::Replace {
        value,
    });
    decide(client, handle, &pause, decision).await
}

pub async fn deny(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: RefuseParams,
) -> Reply<DecisionResult> {
    let pause = chosen(client, handle, params.pause.as_deref()).await?;
    let message = params.message.filter(|message| !message.trim().is_empty());
    let message = message.unwrap_or_else(crate::control::words::refused);
    decide(client, handle, &pause, PauseDecision::Deny { message }).await
}

pub async fn stop(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: RefuseParams,
) -> Reply<DecisionResult> {
    let pause = chosen(client, handle, params.pause.as_deref()).await?;
    let message = params.message.filter(|message| !message.trim().is_empty());
    decide(client, handle, &pause, PauseDecision::Stop { message }).await
}

/// Takes steps out as a rewind does: with the open documents of this editor, which then get their new texts.
pub async fn back(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    params: BackParams,
) -> Reply<DecisionResult> {
    let pause = chosen(&server.client, handle, params.pause.as_deref()).await?;
    let on_conflict = targets::on_conflict(params.on_conflict.as_deref())?;
    let steps = params.steps.unwrap_or(1);
    let (workspace, face) = (handle.workspace().clone(), face(&server.client));
    let _alone = handle.restoring.lock().await;
    let open = OpenDocuments::of(server, handle);
    let stepped = handle.act(false, move |WriteAccess { engine, lease }| {
        let control = Control::open(&workspace)?;
        let editor = OwnEditor {
            id: Some(lease.id()),
            open: open.documents(engine.root()),
            unreadable: open.unreadable(engine.root()),
        };
        let back = Back {
            steps,
            on_conflict,
            face: &face,
        };
        let (undone, applied) = acts::back(engine, &control, &pause, &back, &editor)?;
        // if another editor applied it, the texts are in its documents
        let texts = match &applied.by {
            None => restore::texts(engine, &applied.plan)?,
            Some(_) => Vec::new(),
        };
        Ok((undone, texts))
    });
    let stepped = stepped.await;
    server.changed(handle);
    let (undone, texts) = stepped?;
    editing::apply(server, handle, texts, EditWait::Command).await;
    after(&server.client, handle, undone).await
}

pub async fn pause(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: PauseParams,
) -> Reply<BreakpointResult> {
    let (session, all) = (params.session.map(String::from), params.all == Some(true));
    let face = face(client);
    let made = handle.control(true, move |control| {
        control.pauses().hold_next(session.as_deref(), all, &face)
    });
    let made = made
        .await?
        .ok_or_else(|| Failure::new(FailureKind::Failed, messages::NO_BREAKPOINTS))?;
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&made),
        remarks: Vec::new(),
    })
}

pub async fn inject(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: InjectParams,
) -> Reply<InjectResult> {
    let mut session = params.session.map(String::from);
    let mut agent = None;
    if let Some(name) = params.pause.as_deref() {
        let (pause, _) = find(handle, name).await?;
        session = Some(pause.call.session);
        agent = Some(pause.call.agent);
    }
    let (text, face) = (String::from(params.text), face(client));
    handle
        .control(true, move |control| {
            control
                .messages()
                .inject(agent.as_deref(), session.as_deref(), &text, &face)
        })
        .await?;
    Ok(InjectResult { injected: true })
}

/// Shows a held call, as a document where the client has no panel.
pub async fn inspect(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
    params: HeldParams,
) -> Reply<PauseDetails> {
    let pause = chosen(&server.client, handle, params.pause.as_deref()).await?;
    let id = pause.id;
    let found = of(handle, pause, 0).await?;
    if !server.client.features().own.panels {
        show(server, id, &found).await?;
    }
    Ok(found)
}

/// Opens a held call as a document.
async fn show(server: &Arc<ServerState>, id: PauseId, details: &PauseDetails) -> Reply<()> {
    let text = messages::document(details);
    views::show(server, &format!("{id}.md"), text.as_bytes()).await
}
