//! The user's wish to end a run, heard by a step that waits for its program.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A wish that several threads share. The first one cancels the job, the second one kills it.
#[derive(Clone, Debug)]
pub struct StopRequest {
    shared: Arc<StopState>,
}

#[derive(Debug)]
struct StopState {
    wishes: AtomicU8,
    bell: UnixStream,
    heard: UnixStream,
}

impl StopRequest {
    pub fn new() -> io::Result<StopRequest> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let wishes = AtomicU8::new(0);
        Ok(StopRequest {
            shared: Arc::new(StopState {
                wishes,
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

    /// Wishes so far.
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
