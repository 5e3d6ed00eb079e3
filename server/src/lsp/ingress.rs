//! The one way in. Notifications that change what the server knows are taken up here, at once and in the
//! order in which they came, before the transport lets anything run side by side. A panic in one request
//! is that request's error.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::{Value, from_value};
use tower::Service;
use tower_lsp::LspService;
use tower_lsp::gen_lsp_types::{
    DidChangeConfigurationParams, DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    WorkDoneProgressCancelParams,
};
use tower_lsp::jsonrpc::{Error, Id, Request, Response};

use super::backend::Backend;
use super::frames::UNREADABLE;
use super::from_proto;
use super::session::Session;
use super::settings::Settings;

#[derive(Debug)]
pub struct Ingress {
    inner: LspService<Backend>,
    session: Arc<Session>,
}

impl Ingress {
    pub fn new(inner: LspService<Backend>) -> Self {
        let session = inner.inner().session.clone();
        Self { inner, session }
    }
}

type Answer<E> = Pin<Box<dyn Future<Output = Result<Option<Response>, E>> + Send>>;

impl Service<Request> for Ingress {
    type Response = Option<Response>;
    type Error = <LspService<Backend> as Service<Request>>::Error;
    type Future = Answer<Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if is_told(request.method())
            && let Some(id @ (Id::Number(_) | Id::String(_))) = request.id()
        {
            // whoever gives an id waits for an answer
            let mut error = Error::method_not_found();
            error.message = format!("there is no request {}", request.method()).into();
            let error = Response::from_error(id.clone(), error);
            return Box::pin(std::future::ready(Ok(Some(error))));
        }
        if STATE.contains(&request.method()) {
            take_up(&self.session, request);
            return Box::pin(std::future::ready(Ok(None)));
        }
        if request.method() == UNREADABLE {
            let error = Response::from_error(Id::Null, Error::parse_error());
            return Box::pin(std::future::ready(Ok(Some(error))));
        }
        let id = request.id().cloned();
        let method = request.method().to_owned();
        let answer = tokio::spawn(self.inner.call(request));
        Box::pin(async move {
            match answer.await {
                Ok(answer) => answer,
                Err(error) => {
                    tracing::error!("{method}: {error}");
                    Ok(id.map(|id| Response::from_error(id, Error::internal_error())))
                }
            }
        })
    }
}

/// What changes what the server knows.
const STATE: [&str; 7] = [
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didChangeConfiguration",
    "window/workDoneProgress/cancel",
];

/// Whether it is told, and not asked.
fn is_told(method: &str) -> bool {
    // the library leaves what begins so unanswered
    let is_optional = method.starts_with("$/");
    STATE.contains(&method) || method == UNREADABLE || is_optional
}

fn take_up(session: &Session, request: Request) {
    let (method, _, params) = request.into_parts();
    let params = params.unwrap_or_default();
    let taken = catch_unwind(AssertUnwindSafe(|| change(session, &method, params)));
    match taken {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("{method}: {error}; left alone"),
        Err(_) => tracing::error!("{method}: a panic; left alone"),
    }
}

fn change(session: &Session, method: &str, params: Value) -> serde_json::Result<()> {
    match method {
        "textDocument/didOpen" => {
            let document = from_value::<DidOpenTextDocumentParams>(params)?.text_document;
            session.open(document.uri.as_ref(), document.version, &document.text);
        }
        "textDocument/didChange" => {
            let params: DidChangeTextDocumentParams = from_value(params)?;
            let document = &params.text_document;
            let uri = &document.text_document_identifier.uri;
            session.change(uri.as_ref(), document.version, &params.content_changes);
        }
        "window/workDoneProgress/cancel" => {
            let params: WorkDoneProgressCancelParams = from_value(params)?;
            session.running.cancel(&params.token);
        }
        "textDocument/didSave" => {
            let params: DidSaveTextDocumentParams = from_value(params)?;
            session.save(params.text_document.uri.as_ref());
        }
        "textDocument/didClose" => {
            let params: DidCloseTextDocumentParams = from_value(params)?;
            session.close(params.text_document.uri.as_ref());
        }
        "workspace/didChangeWorkspaceFolders" => {
            let event = from_value::<DidChangeWorkspaceFoldersParams>(params)?.event;
            session.change_folders(
                from_proto::folders(&event.added),
                &from_proto::folders(&event.removed),
            );
        }
        _ => {
            let settings = from_value::<DidChangeConfigurationParams>(params)?.settings;
            let (settings, wrong) = Settings::read(&settings);
            session.configure(settings, &wrong);
        }
    }
    Ok(())
}
