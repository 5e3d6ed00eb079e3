//! Lines from a client, each within the limits of the library: it drops a longer or a deeper one without a word, and its sender
//! waits for an answer. Such a line becomes a request that is none, which the library answers with an error.

use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead as _, AsyncRead, BufReader, ReadBuf};

/// Maximum length of a line in bytes, as the library has it.
const MAX_LINE: usize = 16 << 20;
/// Maximum nesting, as `serde_json` has it.
const MAX_DEPTH: usize = 127;
/// JSON that is not a request.
const NO_REQUEST: &[u8] = b"{}\n";

#[derive(Debug)]
pub struct CheckedLines<R> {
    from: BufReader<R>,
    /// The line that is being read.
    line: Vec<u8>,
    is_too_long: bool,
    /// A whole line, and the bytes of it that were handed on.
    whole: Vec<u8>,
    done: usize,
}

impl<R: AsyncRead> CheckedLines<R> {
    pub fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
            line: Vec::new(),
            is_too_long: false,
            whole: Vec::new(),
            done: 0,
        }
    }

    fn end_line(&mut self) {
        self.done = 0;
        self.whole = if self.is_too_long || is_too_deep(&self.line) {
            self.line.clear();
            NO_REQUEST.to_vec()
        } else {
            std::mem::take(&mut self.line)
        };
        self.is_too_long = false;
    }
}

/// True if a line of JSON is nested too deep to be read.
fn is_too_deep(line: &[u8]) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => depth += 1,
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

impl<R: AsyncRead + Unpin> AsyncRead for CheckedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = &mut *self;
        loop {
            let left = &this.whole[this.done..];
            if !left.is_empty() {
                let count = left.len().min(to.remaining());
                to.put_slice(&left[..count]);
                this.done += count;
                return Poll::Ready(Ok(()));
            }
            let found = ready!(Pin::new(&mut this.from).poll_fill_buf(context))?;
            let count = found.len();
            let end = found.iter().position(|byte| *byte == b'\n');
            let part = &found[..end.map_or(count, |at| at + 1)];
            if this.is_too_long || this.line.len() + part.len() > MAX_LINE {
                this.is_too_long = true;
                this.line.clear();
            } else {
                this.line.extend_from_slice(part);
            }
            let used = part.len();
            Pin::new(&mut this.from).consume(used);
            if count == 0 && this.line.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if end.is_some() || count == 0 {
                this.end_line();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn read(from: &[u8]) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut read = Vec::new();
        runtime
            .block_on(CheckedLines::new(from).read_to_end(&mut read))
            .unwrap();
        read
    }

    #[test]
    fn lines_beyond_the_limits_are_no_requests() {
        assert_eq!(read(b"{\"a\":1}\n[2]\r\n3"), b"{\"a\":1}\n[2]\r\n3");
        let deep = [b"[".repeat(128), b"]".repeat(128), b"\n1\n".to_vec()].concat();
        assert_eq!(read(&deep), b"{}\n1\n");
        let text = [b"[\"".to_vec(), b"[\\\"".repeat(500), b"\"]\n".to_vec()].concat();
        assert_eq!(read(&text), text);
        let long = [b"x".repeat(MAX_LINE + 1), b"\n2\n".to_vec()].concat();
        assert_eq!(read(&long), b"{}\n2\n");
        assert_eq!(read(b""), b"");
    }
}
