//! Questions to the person at the editor. No handler waits for one: who asks runs on its own.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tower_lsp::gen_lsp_types::{MessageActionItem, MessageType};

use super::failure::{Failure, Reply};
use super::messages::refusal;
use super::progress::called_off;
use super::session::ServerState;

/// A person may think; one who went home is not waited for.
const PATIENCE: Duration = Duration::from_mins(10);

/// The answer that was chosen; None where none was.
pub async fn ask(
    session: &ServerState,
    kind: MessageType,
    question: &str,
    answers: &[&str],
) -> Option<String> {
    let chosen = must_ask(session, kind, question, answers).await;
    chosen.ok().flatten()
}

/// The same for who cannot go on without: an editor that does not ask is a failure, with the way round it.
pub async fn must_ask(
    session: &ServerState,
    kind: MessageType,
    question: &str,
    answers: &[&str],
) -> Reply<Option<String>> {
    let actions = answers.iter().map(|title| MessageActionItem {
        title: (*title).to_owned(),
        ..MessageActionItem::default()
    });
    let actions = Some(actions.collect());
    let asked = session.client.show_message_request(kind, question, actions);
    let mut asked = pin!(tokio::time::timeout(PATIENCE, asked));
    let mut off = pin!(called_off());
    let answered = poll_fn(|context| match off.as_mut().poll(context) {
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
            tracing::warn!("nobody answered within {} s", PATIENCE.as_secs());
            Ok(None)
        }
    }
}
