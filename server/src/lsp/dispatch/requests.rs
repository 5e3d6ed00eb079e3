//! The requests of Backstitch's own clients, each with its handler. A new request does not compile without one.

use std::sync::Arc;

use backstitch_protocol::{ApplyEditParams, ApplyEditResult, CustomRequest};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Result};

use crate::host::progress::CANCELLATION;
use crate::lsp::commands::{editor_agents, requests};
use crate::lsp::control;
use crate::lsp::features::views::{self, TextChoice};
use crate::lsp::handler::arguments;
use crate::lsp::handler::targets::workspace_handle;
use crate::lsp::session::ServerState;
use crate::to_protocol::value;
use crate::transport::outgoing::Outgoing;

/// Answers a request. Large answers go past the transport's value tree.
pub async fn run(
    server: &Arc<ServerState>,
    outgoing: &Outgoing,
    method: &'static str,
    params: Value,
) -> Result<Value> {
    let request = CustomRequest::parse(method, params).ok_or_else(Error::method_not_found)?;
    let request = request.map_err(|error| arguments::failure(method, &error))?;
    server.check_effect(request.effect(), method).await?;
    Ok(match request {
        CustomRequest::Timeline(params) => {
            outgoing.answer(&requests::timeline(server, params).await?)
        }
        CustomRequest::Checkpoint(params) => {
            outgoing.answer(&requests::checkpoint(server, params).await?)
        }
        CustomRequest::Diff(params) => outgoing.answer(&requests::diff(server, params).await?),
        CustomRequest::Plan(params) => outgoing.answer(&requests::plan(server, params).await?),
        CustomRequest::Content(params) => {
            let choice = TextChoice {
                kept: params.kept.unwrap_or_default(),
                unsaved: params.unsaved,
            };
            let content = views::content(server, &params.uri, choice).await?;
            outgoing.answer(&content)
        }
        CustomRequest::Blame(params) => {
            outgoing.answer(&requests::blame(server, &params.uri).await?)
        }
        CustomRequest::Sessions(place) => {
            outgoing.answer(&requests::sessions(server, &place).await?)
        }
        CustomRequest::Review(params) => outgoing.answer(&requests::review(server, params).await?),
        CustomRequest::Breakpoints(place) => {
            outgoing.answer(&control::breakpoints(server, &place).await?)
        }
        CustomRequest::Pauses(params) => outgoing.answer(&control::pauses(server, params).await?),
        CustomRequest::Pause(params) => outgoing.answer(&control::details(server, params).await?),
        CustomRequest::Predict(params) => outgoing.answer(&control::predict(server, params).await?),
        CustomRequest::Draft(params) => outgoing.answer(&control::draft(server, params).await?),
        CustomRequest::ReplStart(params) => {
            let handle = workspace_handle(server, &params.place())?;
            value(&control::repl::start(&server.client, &handle, params).await?)
        }
        CustomRequest::ReplEval(params) => {
            let handle = workspace_handle(server, &params.place())?;
            value(&control::repl::eval(&handle, params).await?)
        }
        CustomRequest::ReplClose(params) => {
            let handle = workspace_handle(server, &params.place())?;
            value(&control::repl::close(&server.client, &handle, params).await?)
        }
        CustomRequest::ReplShow(params) => {
            outgoing.answer(&control::repl::show(server, params).await?)
        }
        CustomRequest::ReplList(params) => {
            outgoing.answer(&control::repl::list(server, params).await?)
        }
        CustomRequest::ReplObject(params) => {
            outgoing.answer(&control::repl::object(server, params).await?)
        }
        CustomRequest::Stack(params) => {
            outgoing.answer(&control::repl::stack(server, params).await?)
        }
        CustomRequest::Calls(params) => {
            outgoing.answer(&control::repl::calls(server, params).await?)
        }
        CustomRequest::TurnBegin(params) => {
            value(&editor_agents::turn_begin(server, params).await?)
        }
        CustomRequest::TurnEnd(params) => value(&editor_agents::turn_end(server, params).await?),
        CustomRequest::ApplyEdit(params) => value(&apply_edit(server.clone(), params).await?),
    })
}

/// Applies the edit in its own task, so that dropping the request does not stop it in the middle.
async fn apply_edit(server: Arc<ServerState>, params: ApplyEditParams) -> Result<ApplyEditResult> {
    // a held edit ends with its request
    let cancellation = CANCELLATION.try_with(Arc::clone).unwrap_or_default();
    let applied = tokio::spawn(CANCELLATION.scope(cancellation, async move {
        editor_agents::apply_edit(&server, params).await
    }));
    match applied.await {
        Ok(applied) => Ok(applied?),
        Err(error) => {
            tracing::error!("an edit of an agent: {error}");
            Err(Error::internal_error())
        }
    }
}
