//! Questions to the person at the editor. No handler waits for one: who asks runs on its own.

use std::time::Duration;

use tower_lsp::gen_lsp_types::{MessageActionItem, MessageType};

use super::session::Session;

/// A person may think; one who went home is not waited for.
const PATIENCE: Duration = Duration::from_mins(10);

/// The answer that was chosen; None where none was.
pub async fn ask(
    session: &Session,
    kind: MessageType,
    question: &str,
    answers: &[&str],
) -> Option<String> {
    let actions = answers.iter().map(|title| MessageActionItem {
        title: (*title).to_owned(),
        ..MessageActionItem::default()
    });
    let actions = Some(actions.collect());
    let asked = session.client.show_message_request(kind, question, actions);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(chosen)) => chosen.map(|item| item.title),
        Ok(Err(error)) => {
            tracing::warn!("a question was not answered: {error}");
            None
        }
        Err(_) => {
            tracing::warn!("nobody answered within {} s", PATIENCE.as_secs());
            None
        }
    }
}
