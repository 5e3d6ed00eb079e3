//! Keeps the handler of a request apart from the transport: a panic costs the request, not the server.

use tower_lsp::jsonrpc::{Error, Id, Response};

/// Starts a handler in its own task, at once. Returns its answer; a panic becomes the request's error.
pub fn isolated<E: Send + 'static>(
    method: String,
    id: Option<Id>,
    handler: impl Future<Output = Result<Option<Response>, E>> + Send + 'static,
) -> impl Future<Output = Result<Option<Response>, E>> + Send {
    let answer = tokio::spawn(handler);
    async move {
        match answer.await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::error!("{method}: {error}");
                Ok(id.map(|id| Response::from_error(id, Error::internal_error())))
            }
        }
    }
}
