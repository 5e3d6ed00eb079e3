//! Progress of work that takes long: restores, and the start of a run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::json;

use super::shared::SharedJob;

/// Time after which a client hears of work.
const SHOW_AFTER: Duration = Duration::from_millis(500);

static LAST: AtomicU64 = AtomicU64::new(0);

/// Work under way, until it is dropped.
pub struct ShownProgress {
    ended: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl ShownProgress {
    /// Shows the title if the work takes long, and the client shows progress.
    pub fn of(shared: &SharedJob, title: &str) -> ShownProgress {
        let none = ShownProgress {
            ended: None,
            shown: None,
        };
        if !shared.shows_progress.load(Ordering::SeqCst) {
            return none;
        }
        let (client, title) = (shared.client.clone(), title.to_owned());
        let (ended, end) = channel();
        let shown = thread::Builder::new().name("progress".to_owned());
        let shown = shown.spawn(move || {
            if end.recv_timeout(SHOW_AFTER) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let id = LAST.fetch_add(1, Ordering::SeqCst).to_string();
            client.event("progressStart", &json!({"progressId": id, "title": title}));
            let _ = end.recv();
            client.event("progressEnd", &json!({"progressId": id}));
        });
        shown.map_or(none, |shown| ShownProgress {
            ended: Some(ended),
            shown: Some(shown),
        })
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        self.ended = None;
        if let Some(shown) = self.shown.take() {
            let _ = shown.join();
        }
    }
}
