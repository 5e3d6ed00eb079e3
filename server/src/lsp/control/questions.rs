//! Questions about held calls, in an editor without panels: each is asked until it is answered or its call is decided
//! elsewhere.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use backstitch_control::{Pause, PauseId, PauseState};
use backstitch_protocol as protocol;
use tokio::sync::Notify;
use tower_lsp::gen_lsp_types::MessageType;

use super::{decisions, face};
use crate::control::predict::read_disk;
use crate::control::shown;
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::ask::ask_for;
use crate::lsp::messages::{control as messages, known_editors};
use crate::lsp::session::control_state::ControlState;
use crate::lsp::session::{EditorClient, ServerState};

/// Time after which a question that stands is taken for one that a person sees. An editor that cannot ask says so at once.
const SHOWN_AFTER: Duration = Duration::from_millis(150);

/// Time for which a user has to be idle until a lost question is asked again: at first, and at last.
const ASKED_AGAIN: [Duration; 2] = [Duration::from_secs(3), Duration::from_mins(1)];

/// Number of times that a question is asked of an editor that has never answered one.
const MAX_UNHEARD: u32 = 3;

/// Time for which a question about a held call stands.
const QUESTION: Duration = Duration::from_hours(24);

/// Notes that this editor shows a held call to a person.
pub async fn acknowledge(client: &EditorClient, handle: &WorkspaceHandle, id: PauseId) {
    let face = format!("{} {}", face(client), std::process::id());
    let noted = handle.control(false, move |control| {
        control.pauses().acknowledge(id, &face)
    });
    if let Err(error) = noted.await {
        tracing::info!("{id}: {error}");
    }
}

/// True if this editor shows questions to a person: it is known to, or it has answered one.
pub fn shows_questions(server: &ServerState) -> bool {
    server.control.has_answered.load(Ordering::Relaxed)
        || known_editors::shows_questions(&server.client.features().name)
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
pub async fn ask(server: Arc<ServerState>, handle: Arc<WorkspaceHandle>, id: PauseId) {
    let void = server.control.question(handle.root(), id);
    let mut unheard = 0;
    let mut wait = ASKED_AGAIN[0];
    while let Some(pause) = held_now(&handle, id).await {
        let shown = shown::now(&pause, &read_disk);
        match stand(&server.client, &handle, &pause, &shown, &void).await {
            Answered::Never => break,
            Answered::Lost => {
                unheard += 1;
                let has_answered = server.control.has_answered.load(Ordering::Relaxed);
                if !has_answered && unheard >= MAX_UNHEARD {
                    break;
                }
                until_idle(&server.control, wait, &void).await;
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
    client: &EditorClient,
    handle: &Arc<WorkspaceHandle>,
    pause: &Pause,
    shown: &protocol::PredictResult,
    void: &Notify,
) -> Answered {
    let text = messages::held(pause, shown);
    let offered = messages::offered_answers(pause);
    let asked = ask_for(client, MessageType::Info, &text, &offered, QUESTION);
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
            acknowledge(client, handle, pause.id).await;
        }
        tell_if_void(client, handle, pause).await;
    }
}

/// Tells the user what became of the call of a question that stands, if it is not held as it was.
async fn tell_if_void(client: &EditorClient, handle: &WorkspaceHandle, asked: &Pause) {
    let id = asked.id;
    let now = handle.control(false, move |control| control.pauses().get(id));
    let Ok(Some(Some(now))) = now.await else {
        return;
    };
    if now.state != PauseState::Held {
        client.say(MessageType::Info, messages::void(&now));
    } else if now.draft != asked.draft {
        client.say(MessageType::Info, messages::changed(&now));
    }
}

/// Waits until the user has been idle for a time. Ends early if the call is no longer held.
async fn until_idle(control: &ControlState, wait: Duration, void: &Notify) {
    let mut left = wait;
    loop {
        if tokio::time::timeout(left, void.notified()).await.is_ok() {
            return;
        }
        let idle = control.idle();
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
            decisions::answer(&server.client, handle, pause, fingerprint, is_step).await
        }
        messages::DENY => {
            decisions::deny(&server.client, handle, protocol::RefuseParams::of(&name))
                .await
                .map(drop)
        }
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
