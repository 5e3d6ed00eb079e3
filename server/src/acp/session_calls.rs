//! Open calls of a session, bounded in number.

use std::collections::HashMap;
use std::path::PathBuf;

use super::tool_call::OpenCall;

/// Most requests without an answer, and most open calls of a session. Beyond it, the state begins anew.
const MAX_OPEN: usize = 10_000;

#[derive(Debug, Default)]
pub struct SessionCalls {
    pub cwd: Option<PathBuf>,
    /// An earlier conversation is reported again: nothing of it happens now.
    pub is_loading: bool,
    pub calls: HashMap<String, OpenCall>,
    /// Order in which calls were first told, for a file that no call named.
    pub newest: Vec<String>,
    /// Calls of the proxy's own making, by the client's id of the terminal.
    pub terminals: HashMap<String, String>,
}

impl SessionCalls {
    /// Returns a call, added if it is not known: some agents ask before they tell it.
    pub fn call(&mut self, id: &str) -> &mut OpenCall {
        if !self.calls.contains_key(id) {
            self.add(id, OpenCall::default());
        }
        self.calls.entry(id.to_owned()).or_default()
    }

    pub fn add(&mut self, id: &str, call: OpenCall) {
        if self.calls.len() >= MAX_OPEN {
            self.calls.clear();
            self.newest.clear();
        }
        self.calls.insert(id.to_owned(), call);
        self.newest.push(id.to_owned());
    }

    /// Returns the newest call of a kind.
    pub fn find(&self, is_it: impl Fn(&OpenCall) -> bool) -> Option<String> {
        let newest = self.newest.iter().rev();
        newest
            .filter(|id| self.calls.get(*id).is_some_and(&is_it))
            .map(Clone::clone)
            .next()
    }
}

/// Drops all entries of a map that has grown beyond any use: the other side does not answer.
pub fn bound<T>(map: &mut HashMap<String, T>) {
    if map.len() >= MAX_OPEN {
        map.clear();
    }
}
