//! Entry point of all messages. Notifications that change the server's state are handled here, at once and in the
//! order in which they came, before the transport runs handlers concurrently. A panic in a request becomes that
//! request's error.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use backstitch_protocol::{REQUESTS, RequestSpec};
use serde::de::Error as _;
use serde_json::{Value, from_value, json};
use tower::Service;
use tower_lsp::LspService;
use tower_lsp::gen_lsp_types::{
    CreateFilesParams, DeleteFilesParams, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, RenameFilesParams,
    TextDocumentContentChangeEvent as Change, WorkDoneProgressCancelParams,
};
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

use super::backend::Backend;
use super::from_proto;
use crate::host::progress::CANCELLATION;
use crate::lsp::handler::failure::Failure;
use crate::lsp::handler::progress::TrackedRequest;
use crate::lsp::messages::{arguments as messages, refusal};
use crate::lsp::session::ServerState;
use crate::lsp::session::running::Running;
use crate::transport::frames::UNREADABLE;
use crate::transport::isolation::isolated;

#[derive(Debug)]
pub struct Ingress {
    inner: LspService<Backend>,
    server: Arc<ServerState>,
}

impl Ingress {
    pub fn new(inner: LspService<Backend>) -> Self {
        let server = inner.inner().server.clone();
        Self { inner, server }
    }
}

type ResponseFuture<E> = Pin<Box<dyn Future<Output = Result<Option<Response>, E>> + Send>>;

impl Service<Request> for Ingress {
    type Response = Option<Response>;
    type Error = <LspService<Backend> as Service<Request>>::Error;
    type Future = ResponseFuture<Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if is_notification(request.method())
            && let Some(id @ (Id::Number(_) | Id::String(_))) = request.id()
        {
            // a sender that gives an id waits for an answer
            let mut error = Error::method_not_found();
            error.message = refusal::no_request(request.method()).into();
            let error = Response::from_error(id.clone(), error);
            return Box::pin(std::future::ready(Ok(Some(error))));
        }
        if STATE_NOTIFICATIONS.contains(&request.method()) {
            apply_notification(&self.server, request);
            return Box::pin(std::future::ready(Ok(None)));
        }
        if request.method() == UNREADABLE {
            let error = Response::from_error(Id::Null, Error::parse_error());
            return Box::pin(std::future::ready(Ok(Some(error))));
        }
        if request.method() == "exit" {
            self.server.client.exit();
        }
        if cancels_tracked(&self.server.running, &request) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        let id = request.id().cloned();
        let method = request.method().to_owned();
        let called = self.inner.call(with_params(request));
        let tracked = id.clone().filter(|_| runs_to_end(&method));
        let tracked = tracked.map(|id| TrackedRequest::begin(&self.server, id));
        let name = method.clone();
        Box::pin(isolated(method, id, async move {
            let answer = match tracked {
                Some(tracked) => {
                    CANCELLATION
                        .scope(tracked.cancellation.clone(), called)
                        .await
                }
                None => called.await,
            };
            answer.map(|answer| answer.map(|answer| with_plain_error(&name, answer)))
        }))
    }
}

/// True for requests that change files or the history. They run to their end after a cancellation, and their answer
/// reports the result.
fn runs_to_end(method: &str) -> bool {
    let changes = |request: &RequestSpec| request.effect.changes();
    method == "workspace/executeCommand" || own_request(method).is_some_and(changes)
}

fn own_request(method: &str) -> Option<&'static RequestSpec> {
    REQUESTS.iter().find(|request| request.method == method)
}

/// True if this cancels a request that runs to its end. The library would answer that nothing was done.
fn cancels_tracked(running: &Running, request: &Request) -> bool {
    if request.method() != "$/cancelRequest" {
        return false;
    }
    let id = request.params().and_then(|params| params.get("id"));
    let id = id.and_then(|id| from_value::<Id>(id.clone()).ok());
    id.is_some_and(|id| running.cancel_request(&id))
}

/// Gives our own requests an object of parameters: the library refuses a request without any.
fn with_params(request: Request) -> Request {
    if own_request(request.method()).is_none() {
        return request;
    }
    let (method, id, params) = request.into_parts();
    let params = params.filter(|params| !params.is_null());
    let request = Request::build(method).params(params.unwrap_or_else(|| json!({})));
    match id {
        Some(id) => request.id(id).finish(),
        None => request.finish(),
    }
}

/// Replaces the library's error about unreadable parameters, which has Rust's type names, by a plain one.
fn with_plain_error(method: &str, answer: Response) -> Response {
    let is_from_library =
        |error: &Error| error.code == ErrorCode::InvalidParams && error.data.is_none();
    match answer.into_parts() {
        (id, Err(error)) if is_from_library(&error) => {
            tracing::info!("{method}: {}", error.message);
            let failure = unreadable(method, &error.message);
            Response::from_error(id, failure.into())
        }
        (id, answer) => Response::from_parts(id, answer),
    }
}

/// Describes the library's error about parameters of LSP itself, without Rust's type names.
fn unreadable(method: &str, message: &str) -> Box<Failure> {
    Failure::usage(messages::lsp_unreadable(method, message)).hint(messages::LSP_HINT)
}

/// Notifications that change the server's state.
const STATE_NOTIFICATIONS: [&str; 10] = [
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didChangeConfiguration",
    "workspace/didCreateFiles",
    "workspace/didRenameFiles",
    "workspace/didDeleteFiles",
    "window/workDoneProgress/cancel",
];

/// True for notifications, which get no answer.
fn is_notification(method: &str) -> bool {
    // the library does not answer methods with this prefix
    let is_optional = method.starts_with("$/");
    STATE_NOTIFICATIONS.contains(&method) || method == UNREADABLE || is_optional
}

fn apply_notification(server: &Arc<ServerState>, request: Request) {
    let (method, _, params) = request.into_parts();
    let params = params.unwrap_or_default();
    let outcome = catch_unwind(AssertUnwindSafe(|| change(server, &method, params)));
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("{method}: {error}; left alone"),
        Err(_) => tracing::error!("{method}: a panic; left alone"),
    }
}

/// Reads the changes of a document. The library would take one with an unreadable range for the whole text.
fn edits(params: Value) -> serde_json::Result<DidChangeTextDocumentParams> {
    let changes = params["contentChanges"].as_array().into_iter().flatten();
    let ranged: Vec<bool> = changes.map(|change| !change["range"].is_null()).collect();
    let params: DidChangeTextDocumentParams = from_value(params)?;
    let read = params.content_changes.iter().zip(ranged);
    for (change, ranged) in read {
        if ranged && matches!(change, Change::TextDocumentContentChangeWholeDocument(_)) {
            return Err(serde_json::Error::custom("a range that is none"));
        }
    }
    Ok(params)
}

fn change(server: &Arc<ServerState>, method: &str, params: Value) -> serde_json::Result<()> {
    match method {
        "textDocument/didOpen" => {
            let document = from_value::<DidOpenTextDocumentParams>(params)?.text_document;
            server.open(document.uri.as_ref(), document.version, &document.text);
        }
        "textDocument/didChange" => {
            server.control.typed();
            let uri = params["textDocument"]["uri"].as_str().map(str::to_owned);
            let read = edits(params);
            if let (Err(_), Some(uri)) = (&read, uri) {
                server.mark_out_of_sync(&uri);
            }
            let params = read?;
            let document = &params.text_document;
            let uri = &document.text_document_identifier.uri;
            server.change(uri.as_ref(), document.version, &params.content_changes);
        }
        "window/workDoneProgress/cancel" => {
            let params: WorkDoneProgressCancelParams = from_value(params)?;
            server.running.cancel_work(&params.token);
        }
        "textDocument/didSave" => {
            let params: DidSaveTextDocumentParams = from_value(params)?;
            server.save(params.text_document.uri.as_ref());
        }
        "textDocument/didClose" => {
            let params: DidCloseTextDocumentParams = from_value(params)?;
            server.close(params.text_document.uri.as_ref());
        }
        "workspace/didChangeWorkspaceFolders" => {
            let event = from_value::<DidChangeWorkspaceFoldersParams>(params)?.event;
            server.change_folders(
                from_proto::folders(&event.added),
                &from_proto::folders(&event.removed),
            );
        }
        "workspace/didRenameFiles" => {
            for file in from_value::<RenameFilesParams>(params)?.files {
                server.renamed(file.old_uri.as_ref(), file.new_uri.as_ref());
            }
        }
        "workspace/didCreateFiles" => {
            let files = from_value::<CreateFilesParams>(params)?.files;
            server.scan_files(files.iter().map(|file| file.uri.as_ref()));
        }
        "workspace/didDeleteFiles" => {
            let files = from_value::<DeleteFilesParams>(params)?.files;
            server.scan_files(files.iter().map(|file| file.uri.as_ref()));
        }
        _ => {
            let settings = from_value::<DidChangeConfigurationParams>(params)?.settings;
            server.configure(|own| own.update(&settings));
            server.pull_settings();
        }
    }
    Ok(())
}
