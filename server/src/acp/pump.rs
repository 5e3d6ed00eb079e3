//! Lines from one side to the other, byte for byte. A side that does not read makes the other one wait: at most one line of
//! each direction is in memory.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Longest line that is read as a message. A longer one continues in parts.
const LONGEST: u64 = 256 << 20;
const BUFFER: usize = 64 << 10;

/// The way to one side. Lines stay whole, whoever writes them.
#[derive(Clone)]
pub struct LineSink(Arc<Way>);

struct Way {
    writer: Mutex<Option<BufWriter<Box<dyn Write + Send>>>>,
    /// Bytes so far.
    count: AtomicU64,
    /// A write is under way.
    is_busy: AtomicBool,
}

impl fmt::Debug for LineSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineSink").finish_non_exhaustive()
    }
}

/// A line of a side.
#[derive(Debug)]
pub enum PeerLine {
    Whole(Vec<u8>),
    /// Too long to be read: it has continued already.
    TooLong,
}

impl LineSink {
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Way {
            writer: Mutex::new(Some(BufWriter::with_capacity(BUFFER, Box::new(writer)))),
            count: AtomicU64::new(0),
            is_busy: AtomicBool::new(false),
        }))
    }

    /// Writes bytes, and has them read at once. Returns false if nobody reads.
    pub fn send(&self, bytes: &[u8]) -> bool {
        self.write(bytes, true)
    }

    /// Bytes that were written so far, and if a write waits for its reader.
    pub fn progress(&self) -> (u64, bool) {
        let way = &self.0;
        (
            way.count.load(Ordering::Relaxed),
            way.is_busy.load(Ordering::Relaxed),
        )
    }

    /// Closes the way.
    pub fn close(&self) {
        let closed = self.lock().take();
        // a reader that is gone loses the rest of the buffer
        drop(closed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<BufWriter<Box<dyn Write + Send>>>> {
        let writer = &self.0.writer;
        writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, bytes: &[u8], flushes: bool) -> bool {
        let mut writer = self.lock();
        let Some(open) = writer.as_mut() else {
            return false;
        };
        self.0.is_busy.store(true, Ordering::Relaxed);
        let mut written = open.write_all(bytes);
        if flushes {
            written = written.and_then(|()| open.flush());
        }
        self.0.is_busy.store(false, Ordering::Relaxed);
        self.0
            .count
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if written.is_err() {
            if let Some(broken) = writer.take() {
                // its buffer has nowhere to go
                let _ = broken.into_parts();
            }
            return false;
        }
        true
    }
}

/// Forwards lines until the end of the input, or until nobody reads them. `take`: sees a line, and returns it if it continues.
pub fn forward(
    input: impl Read,
    out: &LineSink,
    mut take: impl FnMut(PeerLine) -> Option<Vec<u8>>,
) -> io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    loop {
        let mut line = Vec::new();
        let count = (&mut input).take(LONGEST).read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(());
        }
        let continued = if count as u64 == LONGEST && line.last() != Some(&b'\n') {
            let is_read = forward_rest(line, &mut input, out)?;
            take(PeerLine::TooLong);
            is_read
        } else {
            // more lines are there: they are flushed together
            let flushes = !input.buffer().contains(&b'\n');
            match take(PeerLine::Whole(line)) {
                Some(line) => out.write(&line, flushes),
                None => !flushes || out.write(b"", true),
            }
        };
        if !continued {
            return Ok(());
        }
    }
}

/// Forwards a line that is too long in parts. No other line comes in between.
fn forward_rest(begin: Vec<u8>, input: &mut impl io::BufRead, out: &LineSink) -> io::Result<bool> {
    let mut writer = out.lock();
    let Some(open) = writer.as_mut() else {
        return Ok(false);
    };
    if open.write_all(&begin).is_err() {
        return Ok(false);
    }
    drop(begin);
    loop {
        let part = input.fill_buf()?;
        let end = part.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(part.len(), |end| end + 1);
        if open.write_all(&part[..count]).is_err() {
            return Ok(false);
        }
        out.0.count.fetch_add(count as u64, Ordering::Relaxed);
        let is_end = end.is_some() || count == 0;
        input.consume(count);
        if is_end {
            return Ok(open.flush().is_ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    struct Sink(Sender<Vec<u8>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn forwarded(input: &[u8], take: impl FnMut(PeerLine) -> Option<Vec<u8>>) -> Vec<u8> {
        let (sender, receiver) = channel();
        let out = LineSink::new(Sink(sender));
        forward(input, &out, take).unwrap();
        out.close();
        receiver.iter().flatten().collect()
    }

    #[test]
    fn lines_go_on_byte_for_byte() {
        let odd = b"{}\r\n\n\r\n\xff\xfe\0\n  x\n\xe2\x80\xa8 last without an end";
        let whole = |line| match line {
            PeerLine::Whole(line) => Some(line),
            PeerLine::TooLong => None,
        };
        assert_eq!(forwarded(odd, whole), odd);
    }

    #[test]
    fn a_line_that_is_taken_does_not_go_on() {
        let take = |line| match line {
            PeerLine::Whole(line) if line != b"b\n" => Some(line),
            _ => None,
        };
        assert_eq!(forwarded(b"a\nb\nc\n", take), b"a\nc\n");
        assert_eq!(forwarded(b"a\nb\n", take), b"a\n");
    }
}
