//! Work that the client can cancel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use dashmap::DashMap;
use tower_lsp::gen_lsp_types::ProgressToken;
use tower_lsp::jsonrpc::Id;

use crate::host::progress::Cancellation;

/// Cancellable work, by the client's progress tokens and by its requests.
#[derive(Debug, Default)]
pub struct Running {
    count: AtomicU32,
    flags: DashMap<String, Arc<AtomicBool>>,
    requests: DashMap<Id, Arc<Cancellation>>,
}

impl Running {
    /// Notes a request that answers its result even if it is cancelled.
    pub fn begin_request(&self, id: Id) -> Arc<Cancellation> {
        let cancellation = Arc::<Cancellation>::default();
        self.requests.insert(id, cancellation.clone());
        cancellation
    }

    pub fn end_request(&self, id: &Id) {
        self.requests.remove(id);
    }

    /// Returns a new progress token, with which the client can cancel the work.
    pub fn begin_work(&self, flag: Arc<AtomicBool>) -> ProgressToken {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let token = ProgressToken::String(format!("backstitch-{number}"));
        self.flags.insert(name(&token), flag);
        token
    }

    pub fn end_work(&self, token: &ProgressToken) {
        self.flags.remove(&name(token));
    }

    /// Cancels a request. Returns true if the request answers by itself.
    pub fn cancel_request(&self, id: &Id) -> bool {
        let found = self.requests.get(id);
        found.map(|request| request.cancel()).is_some()
    }

    /// Cancels the work of a progress token.
    pub fn cancel_work(&self, token: &ProgressToken) {
        if let Some(flag) = self.flags.get(&name(token)) {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// Returns the token as text.
pub fn name(token: &ProgressToken) -> String {
    match token {
        ProgressToken::Int(number) => number.to_string(),
        ProgressToken::String(name) => name.clone(),
    }
}
