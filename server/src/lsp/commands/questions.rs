//! Questions of a command without a target: the workspace, a turn, a branch or the name of a tag.

use std::path::Path;
use std::sync::Arc;

use backstitch_core::model::Kind;
use backstitch_core::{Entry, LogFilter};
use backstitch_protocol::{FailureKind, Where};
use tower_lsp::gen_lsp_types::MessageType;

use crate::host::workspace::WorkspaceHandle;
use crate::lsp::handler::ask::must_ask;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets::{candidates, workspace_handle};
use crate::lsp::messages::{self, Now, choice, refusal};
use crate::lsp::session::{EditorClient, ServerState};

/// Maximum number of turns that a question offers.
const MAX_OFFERED: usize = 6;

/// Like `workspace_handle`, for a command: asks the user if several workspaces are possible.
pub async fn find_workspace(server: &ServerState, here: &Where) -> Reply<Arc<WorkspaceHandle>> {
    let candidates = candidates(&server.workspaces);
    if here.uri.is_some() || here.workspace.is_some() || candidates.len() < 2 {
        return workspace_handle(server, here);
    }
    let offered = candidates.iter().take(MAX_OFFERED);
    let offered = offered.map(|handle| {
        let root = handle.root().display().to_string();
        (root.clone(), root)
    });
    let chosen = choose(&server.client, messages::WHICH_WORKSPACE, offered.collect()).await?;
    let chosen = Path::new(&chosen);
    let mut found = candidates
        .into_iter()
        .filter(|handle| handle.root() == chosen);
    found.next().ok_or_else(Failure::cancelled)
}

/// Asks the user to choose one of the newest turns.
pub async fn ask_turn(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    question: &str,
) -> Reply<String> {
    let turns = handle
        .ask(|engine| {
            engine.history().log(&LogFilter {
                kind: Some(Kind::Turn),
                limit: Some(MAX_OFFERED),
                ..LogFilter::default()
            })
        })
        .await?;
    let now = Now::read();
    let title = |entry: &Entry| {
        let turn = entry.turn.as_ref()?;
        let title = messages::offered(turn, &now.ago(entry.node.time));
        Some((title, format!("t{}", turn.number)))
    };
    let offered: Vec<(String, String)> = turns.iter().filter_map(title).collect();
    if offered.is_empty() {
        return Err(Failure::new(FailureKind::NotFound, refusal::NO_TURN));
    }
    choose(client, question, offered).await
}

pub async fn ask_branch(client: &EditorClient, handle: &WorkspaceHandle) -> Reply<String> {
    let branches = handle.ask(|engine| engine.history().branches()).await?;
    let others = branches.iter().filter(|b| !b.current && !b.deleted);
    let offered: Vec<(String, String)> = others
        .map(|branch| (branch.name.clone(), branch.name.clone()))
        .collect();
    if offered.is_empty() {
        return Err(
            Failure::new(FailureKind::NotFound, refusal::NO_BRANCH).hint(refusal::NO_BRANCH_HINT)
        );
    }
    choose(client, messages::WHICH_BRANCH, offered).await
}

async fn choose(
    client: &EditorClient,
    question: &str,
    offered: Vec<(String, String)>,
) -> Reply<String> {
    let mut titles: Vec<&str> = offered.iter().map(|(title, _)| title.as_str()).collect();
    titles.push(choice::CANCEL);
    let chosen = must_ask(client, MessageType::Info, question, &titles).await?;
    let chosen = chosen.ok_or_else(Failure::cancelled)?;
    let found = offered.into_iter().find(|(title, _)| *title == chosen);
    found.map(|(_, value)| value).ok_or_else(Failure::cancelled)
}

/// Asks for a tag's name. LSP has no text input, so some names are offered.
pub async fn ask_tag(client: &EditorClient, handle: &WorkspaceHandle) -> Reply<String> {
    let taken = handle.ask(|engine| engine.forks().tags()).await?;
    let free = |base: &str| {
        let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        names.find(|name| taken.iter().all(|tag| tag.name != *name))
    };
    let names = messages::TAGS.iter().filter_map(|base| free(base));
    let offered = names.map(|name| (name.clone(), name)).collect();
    choose(client, messages::WHICH_TAG, offered).await
}
