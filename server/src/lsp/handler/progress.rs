//! `$/progress` of long work, and requests that answer although they were cancelled. Progress is shown after a delay,
//! to clients that support it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use backstitch_core::Progress;
use serde_json::{Value, json};
use tokio::sync::watch;
use tower_lsp::gen_lsp_types::{
    LspNotificationMethod, MessageDirection, Notification, WorkDoneProgressCreateParams,
    WorkDoneProgressCreateRequest,
};
use tower_lsp::jsonrpc::Id;

use crate::host::progress::{Cancellation, WorkDone};
use crate::lsp::messages::progress as messages;
use crate::lsp::session::ServerState;
use crate::lsp::session::running::name;

/// Work that is done within this time shows no progress.
const SHOW_AFTER: Duration = Duration::from_millis(500);
/// Interval of progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// A request that always answers its result, even if it was cancelled too late.
#[derive(Debug)]
pub struct TrackedRequest {
    server: Arc<ServerState>,
    id: Id,
    pub cancellation: Arc<Cancellation>,
}

impl TrackedRequest {
    pub fn begin(server: &Arc<ServerState>, id: Id) -> Self {
        let cancellation = server.running.begin_request(id.clone());
        let server = server.clone();
        Self {
            server,
            id,
            cancellation,
        }
    }
}

impl Drop for TrackedRequest {
    fn drop(&mut self) {
        // the server may be ending: work that has not begun must not begin
        self.cancellation.cancel();
        self.server.running.end_request(&self.id);
    }
}

/// Runs a piece of work, and shows its progress if it takes long. `flag`: cancels it.
pub async fn with<T, W: Future<Output = T>>(
    server: &Arc<ServerState>,
    title: String,
    flag: Arc<AtomicBool>,
    work: impl FnOnce(WorkDone) -> W,
) -> T {
    let (shown, receiver) = WorkDone::new(flag.clone());
    let work = work(shown);
    if !server.client.features().progress {
        return work.await;
    }
    let reporter = tokio::spawn(show(server.clone(), title, flag, receiver));
    let done = work.await;
    // the reporter ends by itself, since its channel closes with the work
    drop(reporter);
    done
}

async fn show(
    server: Arc<ServerState>,
    title: String,
    flag: Arc<AtomicBool>,
    mut progress: watch::Receiver<Option<Progress>>,
) {
    let over = async |progress: &mut watch::Receiver<Option<Progress>>, limit| {
        let closed = async { while progress.changed().await.is_ok() {} };
        tokio::time::timeout(limit, closed).await.is_ok()
    };
    if over(&mut progress, SHOW_AFTER).await {
        return;
    }
    let token = server.running.begin_work(flag);
    let create = WorkDoneProgressCreateParams {
        token: token.clone(),
    };
    let created = server
        .client
        .connection
        .send_request::<WorkDoneProgressCreateRequest>(create);
    if matches!(
        tokio::time::timeout(crate::lsp::session::ANSWER, created).await,
        Ok(Ok(()))
    ) {
        let say = async |value: Value| {
            let params = json!({ "token": name(&token), "value": value });
            server
                .client
                .connection
                .send_notification::<ProgressNotification>(params)
                .await;
        };
        say(json!({ "kind": "begin", "title": title, "cancellable": true })).await;
        while !over(&mut progress, REPORT_INTERVAL).await {
            let now = *progress.borrow();
            if let Some(now) = now {
                let percentage = now
                    .total
                    .filter(|total| *total > 0)
                    .map(|total| (now.done * 100 / total).min(100));
                let mut report = json!({ "kind": "report", "message": messages::report(&now) });
                if let Some(percentage) = percentage {
                    report["percentage"] = percentage.into();
                }
                say(report).await;
            }
        }
        say(json!({ "kind": "end" })).await;
    }
    server.running.end_work(&token);
}

/// `$/progress`, whose value has three forms.
#[derive(Debug)]
struct ProgressNotification;

impl Notification for ProgressNotification {
    type Params = Value;
    const METHOD: LspNotificationMethod<'static> = LspNotificationMethod::Custom("$/progress");
    const MESSAGE_DIRECTION: MessageDirection = MessageDirection::ServerToClient;
}
