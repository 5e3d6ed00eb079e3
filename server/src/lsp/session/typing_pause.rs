//! Waits for the end of typing, so that a burst of changes costs once.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

/// Time without a key after which a text is used.
const TYPING_PAUSE: Duration = Duration::from_millis(150);
/// Maximum delay while the user keeps typing.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// Next event of a task that works in the pauses of typing.
#[derive(Debug)]
pub enum TypingEvent<T> {
    Event(T),
    /// No more changes came for a while.
    Pause,
    /// The server ends.
    End,
}

#[derive(Debug, Default)]
pub struct TypingPause {
    first_change: Option<Instant>,
}

impl TypingPause {
    /// Notes a change: a pause follows.
    pub fn note_change(&mut self) {
        self.first_change.get_or_insert_with(Instant::now);
    }

    /// Returns the next event, or the pause after the last change.
    pub async fn next<T>(&mut self, events: &mut UnboundedReceiver<T>) -> TypingEvent<T> {
        let next = match self.first_change {
            None => events.recv().await,
            Some(first_change) => {
                let due = (first_change + MAX_DELAY).min(Instant::now() + TYPING_PAUSE);
                let Ok(next) = timeout_at(due, events.recv()).await else {
                    self.first_change = None;
                    return TypingEvent::Pause;
                };
                next
            }
        };
        next.map_or(TypingEvent::End, TypingEvent::Event)
    }
}
