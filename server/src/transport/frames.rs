//! Guards the transport, which ends at the first message that it cannot read: only complete messages of the protocol
//! pass. A placeholder replaces each other message, so that it gets its error in order.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tower_lsp::jsonrpc::{Request, Response};

use crate::json_text::strict;

/// Method of the placeholder for a message that cannot be read.
pub const UNREADABLE: &str = "backstitch/unreadable";

/// Maximum length of a message in bytes; a longer one is skipped.
const MAX_MESSAGE: u64 = 512 << 20;
/// Maximum length of a header line; a longer one is not a header.
const MAX_HEADER_LINE: u64 = 4096;
/// Number of bytes kept of such a line, which may end with the next header.
const HEADER_TAIL: usize = 4096;
const PIPE_SIZE: usize = 64 << 10;

/// Returns the input without messages at which the transport would fail.
pub fn guarded(from: impl AsyncRead + Unpin + Send + 'static) -> DuplexStream {
    let (mut to, guarded) = tokio::io::duplex(PIPE_SIZE);
    tokio::spawn(async move {
        let mut messages = MessageFrames::new(from);
        while let Ok(Some(body)) = messages.next().await {
            let head = format!("Content-Length: {}\r\n\r\n", body.len());
            let written = async {
                to.write_all(head.as_bytes()).await?;
                to.write_all(&body).await
            };
            if written.await.is_err() {
                return;
            }
        }
    });
    guarded
}

struct MessageFrames<R> {
    from: BufReader<R>,
    /// Length of the message whose header is being read.
    length: Option<u64>,
}

impl<R: AsyncRead + Unpin> MessageFrames<R> {
    fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
            length: None,
        }
    }

    /// Returns the next message, or a placeholder for one that cannot be read; None at the end.
    async fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        while let Some(line) = self.line().await? {
            let line = line.trim_ascii();
            if line.is_empty() {
                match self.length.take() {
                    Some(length) => return self.body(length).await.map(Some),
                    None => continue,
                }
            }
            let text = String::from_utf8_lossy(line).to_ascii_lowercase();
            if text.starts_with("content-type:") {
                continue;
            }
            // A message with a wrong length ends in the middle of a line, and the next header follows there.
            let found = text.rsplit_once("content-length:");
            self.length = found.and_then(|(_, value)| value.trim().parse().ok());
            if found.is_none_or(|(before, _)| !before.is_empty()) {
                return Ok(Some(unreadable("no header of the protocol")));
            }
        }
        Ok(None)
    }

    /// Reads a header line; of one that is too long, only its end.
    async fn line(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        loop {
            let read = (&mut self.from)
                .take(MAX_HEADER_LINE)
                .read_until(b'\n', &mut line)
                .await?;
            if read == 0 {
                return Ok((!line.is_empty()).then_some(line));
            }
            if line.ends_with(b"\n") {
                return Ok(Some(line));
            }
            let surplus = line.len().saturating_sub(HEADER_TAIL);
            line.drain(..surplus);
        }
    }

    async fn body(&mut self, length: u64) -> std::io::Result<Vec<u8>> {
        if length > MAX_MESSAGE {
            let mut rest = (&mut self.from).take(length);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
            return Ok(unreadable(&format!("{length} bytes are too many")));
        }
        let mut body = Vec::new();
        let read = (&mut self.from).take(length).read_to_end(&mut body).await?;
        if u64::try_from(read) != Ok(length) {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let Err(error) = readable(&body) else {
            return Ok(body);
        };
        // a text may have half of a surrogate pair, as one that was cut in an emoji
        let whole = std::str::from_utf8(&body).ok().map(|_| strict(&body));
        if let Some(whole) = whole.filter(|whole| readable(whole.as_bytes()).is_ok()) {
            return Ok(whole.into_bytes());
        }
        Ok(unreadable(&error.to_string()))
    }
}

fn readable(body: &[u8]) -> serde_json::Result<()> {
    // the transport ends at invalid UTF-8, even in an unused field
    std::str::from_utf8(body).map_err(serde::de::Error::custom)?;
    if !body.trim_ascii_start().starts_with(b"{") {
        // serde would accept an array for an object
        return Err(serde::de::Error::custom("a message is an object"));
    }
    let members: Members = serde_json::from_slice(body)?;
    if members.method.is_none() {
        return serde_json::from_slice::<Response>(body).map(|_| ());
    }
    if members.result || members.error {
        // the transport would take it for an answer, and its sender would wait for one
        return Err(serde::de::Error::custom(
            "a message asks or answers, not both",
        ));
    }
    serde_json::from_slice::<Request>(body).map(|_| ())
}

/// Members that tell a request from a response, without deserializing the rest of a message.
#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    method: Option<IgnoredAny>,
    #[serde(default, deserialize_with = "is_present")]
    result: bool,
    #[serde(default, deserialize_with = "is_present")]
    error: bool,
}

/// True also if the member is null.
fn is_present<'de, D: Deserializer<'de>>(member: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(member).map(|_| true)
}

fn unreadable(why: &str) -> Vec<u8> {
    tracing::warn!("a message that cannot be read: {why}");
    let placeholder = json!({ "jsonrpc": "2.0", "method": UNREADABLE, "params": { "why": why } });
    placeholder.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn passed(bytes: &[u8]) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut messages = MessageFrames::new(bytes);
            let mut all = Vec::new();
            while let Ok(Some(body)) = messages.next().await {
                let message: Value = serde_json::from_slice(&body).unwrap();
                all.push(message["method"].as_str().unwrap_or("response").to_owned());
            }
            all
        })
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn half_a_surrogate_pair_passes() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"a\ud83d"}}"#;
        assert_eq!(passed(framed(body).as_bytes()), ["x"]);
    }

    #[test]
    fn only_messages_pass() {
        let good = framed(r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#);
        let answer = framed(r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
        for bad in [
            "{",
            "[]",
            "[\"2.0\",\"exit\"]",
            "null",
            "5",
            "{\"jsonrpc\":\"2.0\"}",
            "{\"method\":5}",
            "\u{0}",
        ] {
            let all = passed(format!("{good}{}{answer}", framed(bad)).as_bytes());
            assert_eq!(all, ["initialized", UNREADABLE, "response"], "{bad}");
        }
        let foreign = b"Content-Length: 27\r\n\r\n{\"method\":\"x\",\"other\":\"\xff\xfe\"}";
        let version = b"Content-Length: 43\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"other\":\"\xff\xfe\"}";
        assert_eq!(passed(foreign), [UNREADABLE]);
        assert_eq!(passed(version), [UNREADABLE]);
        let typed = format!("Content-Type: x; charset=utf-8\r\n{good}");
        assert_eq!(passed(typed.as_bytes()), ["initialized"]);
        assert_eq!(
            passed(format!("what is this\r\n{good}").as_bytes()),
            [UNREADABLE, "initialized"]
        );
        assert_eq!(passed(b"Content-Length: 10\r\n\r\n{"), Vec::<String>::new());
    }

    /// A wrong length loses only the bytes that it covers, not everything that follows.
    #[test]
    fn the_next_header_is_found() {
        let body = r#"{"jsonrpc":"2.0","method":"shutdown","id":1}"#;
        let good = framed(body);
        for wrong in [0, 1, body.len() - 1, body.len() + 1, body.len() + 18] {
            let framed_wrong = format!("Content-Length: {wrong}\r\n\r\n{body}");
            let all = passed(format!("{framed_wrong}{good}{good}{good}").as_bytes());
            assert_eq!(
                all[all.len() - 2..],
                ["shutdown", "shutdown"],
                "{wrong}: {all:?}"
            );
        }
        let noise = "x".repeat(3 * 4096 + 7);
        let all = passed(format!("{noise}{good}{good}").as_bytes());
        assert_eq!(all, [UNREADABLE, "shutdown", "shutdown"]);
    }
}
