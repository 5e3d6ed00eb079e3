//! The line of a silent step, drawn each second.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::terminal::error::CliResult;

use super::screen::RunScreen;

/// Interval in which the line is drawn.
const TICK: Duration = Duration::from_secs(1);

/// A thread that shows the step at work each second, until it is dropped.
pub struct Ticker {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub fn start(screen: &Arc<Mutex<RunScreen>>) -> CliResult<Ticker> {
        let (end, ended) = channel();
        let screen = Arc::clone(screen);
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
                    screen.tick();
                }
            })?;
        Ok(Ticker {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // a panic of the thread has been reported
            let _ = thread.join();
        }
    }
}
