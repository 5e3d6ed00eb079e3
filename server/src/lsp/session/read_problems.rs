//! Problems of the workflow or action that was read last.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tower_lsp::gen_lsp_types::Diagnostic;

/// Problems of one text of a document.
#[derive(Clone, Debug)]
pub struct ReadProblems {
    pub uri: String,
    pub edition: u64,
    pub items: Vec<Diagnostic>,
    /// True if they depend on other files, too.
    pub has_calls: bool,
}

/// Lets one text be read at a time, however many a client asks for. Those who waited for the same text get its answer.
#[derive(Clone, Debug, Default)]
pub struct ProblemReader(Arc<Mutex<Option<ReadProblems>>>);

impl ProblemReader {
    /// Waits for the text that is read now. The guard moves into the thread that reads the next one.
    pub async fn turn(&self) -> OwnedMutexGuard<Option<ReadProblems>> {
        self.0.clone().lock_owned().await
    }
}
