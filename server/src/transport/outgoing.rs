//! Large answers on their way out. The transport keeps an answer as a tree of values, which for thousands of lenses
//! costs several times the memory of their text. So a handler leaves the text here and answers with a ticket; the
//! writer replaces the ticket by the text. All other output is unchanged.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use serde::Serialize;
use serde_json::Value;
use tokio::io::AsyncWrite;

/// Below this length in bytes the tree costs no more than the text.
const LARGE_ANSWER: usize = 4096;
/// More answers than can be under way. Older ones belong to cancelled requests.
const MAX_KEPT: usize = 2 * super::MAX_CONCURRENT;
const TICKET: &str = "backstitch:answer:";

/// Texts of answers, by the numbers of their tickets.
#[derive(Debug, Default)]
pub struct Outgoing(Mutex<Texts>);

#[derive(Debug, Default)]
struct Texts {
    next: u64,
    kept: VecDeque<(u64, String)>,
}

impl Outgoing {
    /// Returns the value that a handler answers with.
    pub fn answer(&self, answer: &impl Serialize) -> Value {
        match serde_json::to_string(answer) {
            Ok(text) if text.len() >= LARGE_ANSWER => Value::String(self.keep(text)),
            _ => serde_json::to_value(answer).unwrap_or_default(),
        }
    }

    fn keep(&self, text: String) -> String {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.next += 1;
        let number = texts.next;
        texts.kept.push_back((number, text));
        if texts.kept.len() > MAX_KEPT {
            texts.kept.pop_front();
        }
        format!("{TICKET}{number}")
    }

    fn take(&self, number: u64) -> Option<String> {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = texts.kept.iter().position(|(of, _)| *of == number)?;
        texts.kept.remove(at).map(|(_, text)| text)
    }
}

/// Writer for the transport.
#[derive(Debug)]
pub struct ResponseWriter<W> {
    to: W,
    outgoing: Arc<Outgoing>,
    /// Start of an incomplete message.
    partial: Vec<u8>,
    /// Parts to write, and the number of bytes of the first that are written.
    queue: VecDeque<Vec<u8>>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> ResponseWriter<W> {
    pub fn new(to: W, outgoing: Arc<Outgoing>) -> Self {
        Self {
            to,
            outgoing,
            partial: Vec::new(),
            queue: VecDeque::new(),
            written: 0,
        }
    }

    /// Queues the complete messages.
    fn queue_messages(&mut self) {
        while let Some((body, end)) = frame(&self.partial) {
            match spliced(&self.partial[body..end], &self.outgoing) {
                Some(parts) => self.queue.extend(parts),
                None => self.queue.push_back(self.partial[..end].to_vec()),
            }
            self.partial.drain(..end);
        }
    }

    fn poll_empty(&mut self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        while let Some(first) = self.queue.front() {
            let written =
                ready!(Pin::new(&mut self.to).poll_write(context, &first[self.written..]))?;
            if written == 0 {
                return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
            if self.written == first.len() {
                self.queue.pop_front();
                self.written = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for ResponseWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        // a client that does not read gets no more data
        ready!(self.poll_empty(context))?;
        self.partial.extend_from_slice(bytes);
        self.queue_messages();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        ready!(self.poll_empty(context))?;
        Pin::new(&mut self.to).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        ready!(self.poll_empty(context))?;
        Pin::new(&mut self.to).poll_shutdown(context)
    }
}

/// Returns the start and the end of the first message's body, once it is complete.
fn frame(bytes: &[u8]) -> Option<(usize, usize)> {
    const END: &[u8] = b"\r\n\r\n";
    let body = bytes.windows(END.len()).position(|w| w == END)? + END.len();
    let head = std::str::from_utf8(&bytes[..body]).ok()?;
    let length = head.trim_end().strip_prefix("Content-Length: ")?;
    let end = body.checked_add(length.parse().ok()?)?;
    (end <= bytes.len()).then_some((body, end))
}

/// Replaces the ticket in a message by its text; None if it has no ticket.
fn spliced(body: &[u8], outgoing: &Outgoing) -> Option<[Vec<u8>; 2]> {
    const BEFORE: &str = r#"{"jsonrpc":"2.0","result":"#;
    let rest = body.strip_prefix(BEFORE.as_bytes())?;
    let rest = rest.strip_prefix(b"\"")?.strip_prefix(TICKET.as_bytes())?;
    let close = rest.iter().position(|byte| *byte == b'"')?;
    let number = std::str::from_utf8(&rest[..close]).ok()?.parse().ok()?;
    let after = &rest[close + 1..];
    let text = outgoing.take(number).unwrap_or_else(|| "null".to_owned());
    let length = BEFORE.len() + text.len() + after.len();
    let head = format!("Content-Length: {length}\r\n\r\n{BEFORE}");
    let mut tail = text.into_bytes();
    tail.extend_from_slice(after);
    Some([head.into_bytes(), tail])
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    /// Returns the output for these messages, written in chunks of `cut` bytes.
    fn out(outgoing: &Arc<Outgoing>, messages: &[Value], cut: usize) -> Vec<Value> {
        let framed = messages.iter().map(|message| {
            let body = message.to_string();
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        });
        let framed: String = framed.collect();
        let mut written = ResponseWriter::new(Vec::new(), outgoing.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            for part in framed.as_bytes().chunks(cut) {
                written.write_all(part).await.expect("written");
            }
            written.flush().await.expect("flushed");
        });
        let mut rest = written.to.as_slice();
        let mut all = Vec::new();
        while let Some((body, end)) = frame(rest) {
            all.push(serde_json::from_slice(&rest[body..end]).expect("JSON"));
            rest = &rest[end..];
        }
        assert!(rest.is_empty(), "{rest:?}");
        all
    }

    #[test]
    fn an_answer_takes_its_tickets_place() {
        let large: Vec<String> = (0..1000).map(|n| format!("“{n}”\r\n\r\n")).collect();
        for cut in [1, 7, 100_000] {
            let outgoing = Arc::new(Outgoing::default());
            let response =
                |id: u64, result: Value| json!({"jsonrpc": "2.0", "result": result, "id": id});
            let messages = [
                response(1, outgoing.answer(&"small")),
                response(2, outgoing.answer(&large)),
                json!({"jsonrpc": "2.0", "method": "m", "params": format!("{TICKET}1")}),
                response(3, outgoing.answer(&large)),
            ];
            assert_eq!(messages[1]["result"], format!("{TICKET}1"));
            let mut whole = messages.clone();
            whole[1]["result"] = json!(large);
            whole[3]["result"] = json!(large);
            assert_eq!(out(&outgoing, &messages, cut), whole);
        }
    }

    #[test]
    fn old_answers_are_dropped() {
        let outgoing = Outgoing::default();
        for _ in 0..=MAX_KEPT {
            outgoing.keep(String::new());
        }
        assert_eq!(outgoing.take(1), None);
        assert_eq!(outgoing.take(2).as_deref(), Some(""));
    }
}
