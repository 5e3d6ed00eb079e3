//! `$/progress` and cancellation of long work. Progress is shown after a delay, to clients that support it. Once
//! files change, the work runs to its end in spite of a cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use backstitch_core::{Engine, Progress};
use dashmap::DashMap;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tower_lsp::gen_lsp_types::{
    LspNotificationMethod, MessageDirection, Notification, ProgressToken,
    WorkDoneProgressCreateParams, WorkDoneProgressCreateRequest,
};
use tower_lsp::jsonrpc::Id;

use super::messages::progress as messages;
use super::session::ServerState;

/// Work that is done within this time shows no progress.
const SHOW_AFTER: Duration = Duration::from_millis(500);
/// Interval of progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

tokio::task_local! {
    /// Cancellation of the request that the current task works for.
    pub static CANCELLATION: Arc<Cancellation>;
}

/// Cancellation of a request: checked before anything is done, and while waiting for an answer.
#[derive(Debug, Default)]
pub struct Cancellation {
    /// Also set if the progress was cancelled.
    flag: Arc<AtomicBool>,
    cancelled: AtomicBool,
    notify: Notify,
}

impl Cancellation {
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.cancelled.store(true, Ordering::Relaxed);
        self.notify.notify_waiters();
    }
}

/// Returns the flag that is set when the current request is cancelled.
pub fn cancel_flag() -> Arc<AtomicBool> {
    let flag = CANCELLATION.try_with(|cancellation| cancellation.flag.clone());
    flag.unwrap_or_default()
}

/// True if the current request was cancelled, for which LSP has an error of its own.
pub fn is_cancelled() -> bool {
    let cancelled =
        CANCELLATION.try_with(|cancellation| cancellation.cancelled.load(Ordering::Relaxed));
    cancelled.unwrap_or_default()
}

/// Waits until the current request is cancelled.
pub async fn wait_for_cancellation() {
    let Ok(cancellation) = CANCELLATION.try_with(Arc::clone) else {
        return std::future::pending().await;
    };
    let notified = cancellation.notify.notified();
    if !cancellation.cancelled.load(Ordering::Relaxed) {
        notified.await;
    }
}

/// A request that always answers its result, even if it was cancelled too late.
#[derive(Debug)]
pub struct TrackedRequest {
    server: Arc<ServerState>,
    id: Id,
    pub cancellation: Arc<Cancellation>,
}

impl TrackedRequest {
    pub fn begin(server: &Arc<ServerState>, id: Id) -> Self {
        let cancellation = Arc::<Cancellation>::default();
        let requests = &server.running.requests;
        requests.insert(id.clone(), cancellation.clone());
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
        self.server.running.requests.remove(&self.id);
    }
}

/// Cancellable work, by the client's progress tokens and by its requests.
#[derive(Debug, Default)]
pub struct Running {
    count: AtomicU32,
    flags: DashMap<String, Arc<AtomicBool>>,
    requests: DashMap<Id, Arc<Cancellation>>,
}

impl Running {
    /// Cancels a request. Returns true if the request answers by itself.
    pub fn cancel_request(&self, id: &Id) -> bool {
        let found = self.requests.get(id);
        found.map(|request| request.cancel()).is_some()
    }

    /// Cancels the work of a progress token.
    pub fn cancel_work(&self, token: &ProgressToken) {
        if let Some(flag) = self.flags.get(&name(token)) {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

fn name(token: &ProgressToken) -> String {
    match token {
        ProgressToken::Int(number) => number.to_string(),
        ProgressToken::String(name) => name.clone(),
    }
}

/// Handle through which a piece of work reports progress.
#[derive(Clone, Debug)]
pub struct WorkDone {
    progress: Arc<watch::Sender<Option<Progress>>>,
    flag: Arc<AtomicBool>,
}

impl WorkDone {
    /// Reports the engine's progress and lets it be cancelled, until the guard is dropped.
    pub fn reporting<'e>(&self, engine: &'e mut Engine) -> ReportingEngine<'e> {
        let sender = self.progress.clone();
        engine.on_progress(move |progress| {
            sender.send_replace(Some(progress));
        });
        engine.call_off_with(self.flag.clone());
        ReportingEngine(engine)
    }

    pub fn report(&self, progress: Progress) {
        self.progress.send_replace(Some(progress));
    }
}

/// An engine that reports its progress.
#[derive(Debug)]
pub struct ReportingEngine<'e>(&'e mut Engine);

impl std::ops::Deref for ReportingEngine<'_> {
    type Target = Engine;
    fn deref(&self) -> &Engine {
        self.0
    }
}

impl std::ops::DerefMut for ReportingEngine<'_> {
    fn deref_mut(&mut self) -> &mut Engine {
        self.0
    }
}

impl Drop for ReportingEngine<'_> {
    fn drop(&mut self) {
        self.0.clear_progress();
    }
}

/// Runs a piece of work, and shows its progress if it takes long. `flag`: cancels it.
pub async fn with<T, W: Future<Output = T>>(
    server: &Arc<ServerState>,
    title: String,
    flag: Arc<AtomicBool>,
    work: impl FnOnce(WorkDone) -> W,
) -> T {
    let (progress, receiver) = watch::channel(None);
    let shown = WorkDone {
        progress: Arc::new(progress),
        flag: flag.clone(),
    };
    let work = work(shown);
    if !server.features().progress {
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
    let number = server.running.count.fetch_add(1, Ordering::Relaxed);
    let token = ProgressToken::String(format!("backstitch-{number}"));
    server.running.flags.insert(name(&token), flag);
    let create = WorkDoneProgressCreateParams {
        token: token.clone(),
    };
    let created = server
        .client
        .send_request::<WorkDoneProgressCreateRequest>(create);
    if matches!(
        tokio::time::timeout(super::session::ANSWER, created).await,
        Ok(Ok(()))
    ) {
        let say = async |value: Value| {
            let params = json!({ "token": name(&token), "value": value });
            server
                .client
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
    server.running.flags.remove(&name(&token));
}

/// `$/progress`, whose value has three forms.
#[derive(Debug)]
struct ProgressNotification;

impl Notification for ProgressNotification {
    type Params = Value;
    const METHOD: LspNotificationMethod<'static> = LspNotificationMethod::Custom("$/progress");
    const MESSAGE_DIRECTION: MessageDirection = MessageDirection::ServerToClient;
}
