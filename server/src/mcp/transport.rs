//! Messages over stdin and stdout, a message a line. Notes the end of stdin, so that calls which wait end, and drops
//! stray messages before the session begins, at which the library would end the server.

use rmcp::RoleServer;
use rmcp::model::{ClientRequest, GetMeta as _, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

pub struct Lines<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    has_begun: bool,
    /// True once stdin has ended.
    gone: watch::Sender<bool>,
}

impl<R: AsyncRead, W: AsyncWrite> std::fmt::Debug for Lines<R, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("has_begun", &self.has_begun)
            .finish_non_exhaustive()
    }
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub fn new(from: R, to: W, gone: watch::Sender<bool>) -> Self {
        Self {
            inner: AsyncRwTransport::new(from, to),
            has_begun: false,
            gone,
        }
    }
}

/// True for a request that begins a session: the handshake, or one that says its version itself.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().protocol_version().is_some(),
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.gone.send_replace(true);
                return None;
            };
            let JsonRpcMessage::Request(request) = &message else {
                if self.has_begun {
                    return Some(message);
                }
                continue;
            };
            self.has_begun |= begins(&request.request);
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
