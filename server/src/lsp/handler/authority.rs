//! Decisions in a server that an agent runs: they are refused, as on the command line.

use std::sync::Arc;

use backstitch_core::Workspace;
use backstitch_protocol::{Effect, FailureKind};

use super::failure::{Failure, Reply};
use crate::control::guard::{self, Face, RefusedDecision};
use crate::lsp::messages::refusal;
use crate::lsp::session::ServerState;

impl ServerState {
    /// Fails for a command or a request that decides, if this server runs inside an agent.
    pub async fn check_effect(&self, effect: Effect, name: &str) -> Reply<()> {
        if effect != Effect::Decides {
            return Ok(());
        }
        let _turn = self.in_order.lock().await;
        match self.refused(name).await? {
            None => Ok(()),
            Some(refusal) => {
                Err(Failure::new(FailureKind::Refused, refusal.reason).hint(refusal.hint))
            }
        }
    }

    /// True if questions of this server may be answered by a person: it runs inside no agent.
    pub async fn is_a_persons(self: &Arc<Self>) -> bool {
        let places = self.workspaces();
        let editor = self.client.features().name.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let face = Face::Server(&editor);
            let mut found = places.iter().map(|place| guard::check(Some(place), face));
            found.all(|found| matches!(found, Ok(None)))
        });
        asked.await.unwrap_or_default()
    }

    /// Returns the refusal of a decision. An agent at work in any of the workspaces is one.
    async fn refused(&self, name: &str) -> Reply<Option<RefusedDecision>> {
        let places = self.workspaces();
        let (editor, name) = (self.client.features().name.clone(), name.to_owned());
        let asked = tokio::task::spawn_blocking(move || {
            let face = Face::Server(&editor);
            let all: Vec<Option<&Workspace>> = if places.is_empty() {
                vec![None]
            } else {
                places.iter().map(Some).collect()
            };
            for place in all {
                let found = guard::refuse(place, face, &name)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok::<_, backstitch_core::Error>(None)
        });
        match asked.await {
            Ok(found) => Ok(found?),
            Err(error) => {
                tracing::error!("the guard: {error}");
                Err(Failure::new(FailureKind::Failed, refusal::FAILED))
            }
        }
    }

    fn workspaces(&self) -> Vec<Workspace> {
        let all = self.workspaces.all().into_iter();
        all.map(|handle| handle.workspace().clone()).collect()
    }
}
