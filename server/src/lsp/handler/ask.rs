//! Questions to the user. No handler waits for an answer; the caller runs in its own task.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tower_lsp::gen_lsp_types::{MessageActionItem, MessageType};

use super::failure::{Failure, Reply};
use crate::host::progress::wait_for_cancellation;
use crate::lsp::messages::refusal;
use crate::lsp::session::EditorClient;
use crate::render;

/// Time to wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// Returns the chosen answer; None if there was none.
pub async fn ask(
    client: &EditorClient,
    kind: MessageType,
    question: &str,
    answers: &[&str],
) -> Option<String> {
    let chosen = must_ask(client, kind, question, answers).await;
    chosen.ok().flatten()
}

/// Like `ask`, for callers that need an answer. An editor that cannot ask is a failure, whose hint names a way
/// without a question.
pub async fn must_ask(
    client: &EditorClient,
    kind: MessageType,
    question: &str,
    answers: &[&str],
) -> Reply<Option<String>> {
    ask_for(client, kind, question, answers, ANSWER_TIMEOUT).await
}

/// As `must_ask`, for a question that stands as long as `limit`.
pub async fn ask_for(
    client: &EditorClient,
    kind: MessageType,
    question: &str,
    answers: &[&str],
    limit: Duration,
) -> Reply<Option<String>> {
    let actions = answers.iter().map(|title| MessageActionItem {
        title: (*title).to_owned(),
        ..MessageActionItem::default()
    });
    let actions = Some(actions.collect());
    let question = render::visible(question);
    let asked = client
        .connection
        .show_message_request(kind, question, actions);
    let mut asked = pin!(tokio::time::timeout(limit, asked));
    let mut cancellation = pin!(wait_for_cancellation());
    let answered = poll_fn(|context| match cancellation.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => asked.as_mut().poll(context).map(Some),
    });
    let Some(answered) = answered.await else {
        return Err(Failure::cancelled());
    };
    match answered {
        Ok(Ok(chosen)) => Ok(chosen.map(|item| item.title)),
        Ok(Err(error)) => {
            tracing::warn!("a question was not answered: {error}");
            Err(Failure::new(
                backstitch_protocol::FailureKind::Refused,
                refusal::CANNOT_ASK,
            )
            .hint(refusal::CANNOT_ASK_HINT))
        }
        Err(_) => {
            tracing::warn!("nobody answered within {} s", limit.as_secs());
            Ok(None)
        }
    }
}
