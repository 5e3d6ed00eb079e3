//! Edits in another directory of the same history. An agent that names a file there works there for
//! that call, whatever directory its session belongs to.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::Capture;
use super::event::{AgentEvent, Effect, EventKind, ToolCall};
use super::write_txn::AFTER;
use super::{calls, named_paths};
use crate::engine::Engine;
use crate::error::Result;
use crate::model::RootId;
use crate::places::Workspace;
use crate::store::tables::{call, root};

type Roots = Vec<(RootId, PathBuf)>;

impl Capture<&mut Engine> {
    /// Records the parts of an event that belong to other directories there. Returns the rest, if
    /// any.
    pub(super) fn route(&mut self, e: &AgentEvent) -> Result<Option<AgentEvent>> {
        match &e.kind {
            EventKind::Before(call) => self.route_paths(e, call, EventKind::Before),
            EventKind::Announced { call, at } => {
                let at = *at;
                self.route_paths(e, call, |call| EventKind::Announced { call, at })
            }
            EventKind::Starts(call) => self.route_paths(e, call, EventKind::Starts),
            EventKind::After {
                call,
                report,
                failed,
            } => {
                let (report, failed) = (report.clone(), *failed);
                self.route_paths(e, call, |call| EventKind::After {
                    call,
                    report: report.clone(),
                    failed,
                })
            }
            EventKind::SessionStart { .. }
            | EventKind::Prompt { .. }
            | EventKind::BatchEnd
            | EventKind::SubagentStop
            | EventKind::Stop { .. }
            | EventKind::SessionEnd
            | EventKind::Compact
            | EventKind::Other => {
                if let Some(end) = end_of_thread(e) {
                    for (_, dir) in self.roots_with_open_calls(e)? {
                        self.record_elsewhere(&dir, &end);
                    }
                }
                Ok(Some(e.clone()))
            }
        }
    }

    fn route_paths(
        &mut self,
        e: &AgentEvent,
        call: &ToolCall,
        kind: impl Fn(ToolCall) -> EventKind,
    ) -> Result<Option<AgentEvent>> {
        let Effect::Names(paths) = &call.effect else {
            return Ok(Some(e.clone()));
        };
        let other_roots = self.other_roots()?;
        if other_roots.is_empty() {
            return Ok(Some(e.clone()));
        }
        let own = &self.engine.root.path;
        let mut here_paths = Vec::new();
        let mut by_root: BTreeMap<RootId, (&Path, Vec<PathBuf>)> = BTreeMap::new();
        for path in paths {
            let places = named_paths::places(own, e.cwd.as_deref(), path);
            let mut stays = places.is_empty();
            for place in places {
                // the innermost directory that contains it
                let owner = other_roots
                    .iter()
                    .filter(|(_, dir)| place.starts_with(dir))
                    .max_by_key(|(_, dir)| dir.as_os_str().len())
                    .filter(|(_, dir)| !place.starts_with(own) || dir.starts_with(own));
                match owner {
                    Some((id, dir)) => {
                        let (_, paths) = by_root.entry(*id).or_insert((dir, Vec::new()));
                        paths.push(place);
                    }
                    None => stays = true,
                }
            }
            if stays {
                here_paths.push(path.clone());
            }
        }
        if by_root.is_empty() {
            return Ok(Some(e.clone()));
        }
        let part = |id: Option<String>, paths| AgentEvent {
            kind: kind(ToolCall {
                id,
                effect: Effect::Names(paths),
                ..call.clone()
            }),
            ..e.clone()
        };
        let alone = here_paths.is_empty() && by_root.len() == 1;
        for (root, (dir, paths)) in by_root {
            // a call is one row of one directory
            let id = match &call.id {
                Some(id) if !alone => Some(format!("{id} in {}", root.0)),
                id => id.clone(),
            };
            if !self.record_elsewhere(dir, &part(id, paths.clone())) {
                // paths that cannot be recorded there count as outside here
                here_paths.extend(paths);
            }
        }
        if here_paths.is_empty() {
            // the session keeps its own directory
            let root = self.engine.here.root;
            self.engine
                .store
                .write(AFTER, |conn| calls::session(conn, root, e))?;
            return Ok(None);
        }
        Ok(Some(part(call.id.clone(), here_paths)))
    }
}

impl<E: Deref<Target = Engine>> Capture<E> {
    /// Records an event in another directory. Returns true on success.
    fn record_elsewhere(&self, dir: &Path, e: &AgentEvent) -> bool {
        let workspace = Workspace {
            root: dir.to_path_buf(),
            store_dir: self.engine.store.dir.clone(),
            shared: true,
            kind: self.engine.root.sources.kind(),
        };
        (self.engine.upper.open)(&workspace, self.engine.options)
            .and_then(|mut there| there.capture_mut().record_here(e))
            .is_ok()
    }

    fn other_roots(&self) -> Result<Roots> {
        let mut all = root::existing(&self.engine.store.conn)?;
        all.retain(|(id, _)| *id != self.engine.here.root);
        Ok(all)
    }

    /// Returns the other directories in which calls of this session are open.
    fn roots_with_open_calls(&self, e: &AgentEvent) -> Result<Roots> {
        let open = call::open_roots(
            &self.engine.store.conn,
            (&e.agent, &e.session),
            self.engine.here.root,
        )?;
        if open.is_empty() {
            return Ok(Vec::new());
        }
        let mut all = self.other_roots()?;
        all.retain(|(id, _)| open.contains(id));
        Ok(all)
    }
}

/// Returns the event to record in other directories for one that ends threads of a session.
fn end_of_thread(e: &AgentEvent) -> Option<AgentEvent> {
    match &e.kind {
        EventKind::Prompt {
            synthetic: false, ..
        } => Some(AgentEvent {
            subagent: None,
            kind: EventKind::BatchEnd,
            ..e.clone()
        }),
        EventKind::SessionStart { source } if source == "compact" => None,
        EventKind::SessionStart { .. }
        | EventKind::SessionEnd
        | EventKind::BatchEnd
        | EventKind::SubagentStop
        | EventKind::Stop { .. } => Some(e.clone()),
        EventKind::Prompt {
            synthetic: true, ..
        }
        | EventKind::Before(_)
        | EventKind::Announced { .. }
        | EventKind::Starts(_)
        | EventKind::After { .. }
        | EventKind::Compact
        | EventKind::Other => None,
    }
}
