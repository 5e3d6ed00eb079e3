//! The user's wish to end a run or to freeze a step, heard by a step that waits for its program.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// A wish that several threads share. The first one cancels the job, the second one kills it.
#[derive(Clone, Debug)]
pub struct StopRequest {
    shared: Arc<StopState>,
}

#[derive(Debug)]
struct StopState {
    wishes: AtomicU8,
    /// True while a step runs that may be frozen.
    may_freeze: AtomicBool,
    /// The user wishes to freeze it.
    freeze: AtomicBool,
    bell: UnixStream,
    heard: UnixStream,
}

impl StopRequest {
    pub fn new() -> io::Result<StopRequest> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok(StopRequest {
            shared: Arc::new(StopState {
                wishes: AtomicU8::new(0),
                may_freeze: AtomicBool::new(false),
                freeze: AtomicBool::new(false),
                bell,
                heard,
            }),
        })
    }

    /// Wishes the end of the job; the second time its end at once.
    pub fn request(&self) {
        self.shared.wishes.fetch_add(1, Ordering::SeqCst);
        // a full socket has woken the reader already
        let _ = (&self.shared.bell).write(b"s");
    }

    /// Wishes to freeze the step that runs. False if none runs that may be frozen: then nothing is wished.
    pub fn freeze(&self) -> bool {
        let may = self.shared.may_freeze.load(Ordering::SeqCst);
        if may {
            self.shared.freeze.store(true, Ordering::SeqCst);
            let _ = (&self.shared.bell).write(b"f");
        }
        may
    }

    /// Wishes to freeze the step that runs, or else the next one that runs, until the wish is forgotten.
    pub fn freeze_next(&self) {
        self.shared.freeze.store(true, Ordering::SeqCst);
        let _ = (&self.shared.bell).write(b"f");
    }

    /// Forgets a wish to freeze. True if no step has heeded it.
    pub fn forget_freeze(&self) -> bool {
        self.shared.freeze.swap(false, Ordering::SeqCst)
    }

    /// True if the step that runs now is to be frozen. The wish holds once.
    pub(super) fn heed_freeze(&self) -> bool {
        self.shared.may_freeze.load(Ordering::SeqCst) && self.forget_freeze()
    }

    /// Says that the step which runs now may be frozen, or that none may.
    pub(crate) fn set_may_freeze(&self, may: bool) {
        self.shared.may_freeze.store(may, Ordering::SeqCst);
    }

    /// Forgets the wishes for an end: they were meant for what ran, and that has ended.
    pub(crate) fn forgive(&self) {
        self.shared.wishes.store(0, Ordering::SeqCst);
        self.quiet();
    }

    /// Wishes so far, without those that were forgiven.
    pub fn wishes(&self) -> u8 {
        self.shared.wishes.load(Ordering::SeqCst)
    }

    /// Readable after a wish, until [`StopRequest::quiet`].
    pub(super) fn wish_pipe(&self) -> &UnixStream {
        &self.shared.heard
    }

    /// Takes the bytes of the bell.
    pub(super) fn quiet(&self) {
        let mut bytes = [0; 16];
        while matches!((&self.shared.heard).read(&mut bytes), Ok(count) if count > 0) {}
    }
}
