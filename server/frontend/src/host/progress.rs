//! Progress of long work and its cancellation. Once files change, the work runs to its end in spite of a cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backstitch_core::{Engine, Progress};
use tokio::sync::{Notify, watch};

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
    pub fn cancel(&self) {
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

/// True if the current request was cancelled.
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

/// Handle through which a piece of work reports progress.
#[derive(Clone, Debug)]
pub struct WorkDone {
    progress: Arc<watch::Sender<Option<Progress>>>,
    flag: Arc<AtomicBool>,
}

impl WorkDone {
    /// Returns the handle and the receiver of its reports. `flag`: cancels the work.
    pub fn new(flag: Arc<AtomicBool>) -> (Self, watch::Receiver<Option<Progress>>) {
        let (progress, receiver) = watch::channel(None);
        let progress = Arc::new(progress);
        (Self { progress, flag }, receiver)
    }

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
