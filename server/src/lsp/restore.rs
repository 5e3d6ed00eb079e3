//! A restore from an editor: its plan, shown in a few words and confirmed, carried out, and told. What it does
//! is the engine's decision; here is only who is asked and in which order.

use std::sync::Arc;

use backstitch_core::model::RelPath;
use backstitch_core::restore::{ActionKind, Goal, OnConflict, Plan, Request};
use backstitch_core::{Engine, Error};
use serde_json::Value;
use tower_lsp::gen_lsp_types::MessageType;

use super::ask::ask;
use super::commands::{Restoring, request};
use super::failure::{Failure, Outcome};
use super::room::Room;
use super::session::Session;
use super::views;
use super::words::{choice, plan as words};
use crate::shape;

/// How often a plan is made anew because something changed while it was shown.
const TRIES: usize = 4;

/// A restore as asked for.
#[derive(Clone, Debug)]
pub struct Job {
    room: Arc<Room>,
    request: Request,
    /// `rewind to`, as people read it.
    verb: &'static str,
    /// What was named.
    rev: Option<String>,
    confirm: bool,
    /// The plan that was shown before.
    shown: Option<String>,
}

impl Job {
    pub fn new(
        room: Arc<Room>,
        verb: &'static str,
        rev: Option<String>,
        typed: &Restoring,
    ) -> Outcome<Self> {
        let mut request = request(&room, typed)?;
        if let ("switch to", Some(branch)) = (verb, &rev) {
            request.goal = Goal::Switch {
                branch: branch.clone(),
                carry: typed.carry,
            };
        }
        Ok(Self {
            room,
            request,
            verb,
            rev,
            confirm: typed.confirm.unwrap_or(typed.plan.is_none()),
            shown: typed.plan.clone(),
        })
    }

    /// What the words that were typed mean now.
    fn resolved(&self, engine: &Engine) -> backstitch_core::Result<Request> {
        let mut request = self.request.clone();
        let rev = self.rev.as_deref();
        request.goal = match (self.verb, rev) {
            ("rewind to", Some(rev)) => Goal::Rewind(engine.resolve(rev)?),
            ("revert", Some(rev)) => Goal::Revert(vec![engine.resolve(rev)?]),
            ("undo", op) => Goal::Undo(op.map(|op| engine.resolve_op(op)).transpose()?),
            ("switch to", _) => request.goal,
            _ => Goal::Redo,
        };
        Ok(request)
    }
}

/// A plan as it is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    pub plan: Plan,
    pub document: Value,
    pub title: String,
}

/// The dry run.
pub async fn plan(session: &Session, job: &Job) -> Outcome<Shown> {
    let mine = job.clone();
    let open = session.documents.of(&job.room);
    let abilities = session.abilities().clone();
    let planned = job.room.act(false, move |engine| {
        let mut request = mine.resolved(engine)?;
        session_open(&mut request, &open, &abilities);
        let plan = engine.plan(&request)?;
        let title = words::title(mine.verb, mine.rev.as_deref(), &plan);
        let document = shape::plan(&plan, mine.rev.as_deref(), "code");
        Ok(Shown {
            plan,
            document,
            title,
        })
    });
    Ok(planned.await?)
}
