//! Frames of the Debug Adapter Protocol (specification, "Base protocol"): a header with a length, an empty line, and a message.

use std::io::{self, BufRead, Write};

/// Bytes of a header, and of a message, that are read.
const MAX_HEADER: u64 = 8 * 1024;
const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// The next message. None: the client has closed its side between two messages.
pub fn read(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = io::Read::take(&mut *from, MAX_HEADER).read_until(b'\n', &mut line)?;
        if read == 0 && length.is_none() {
            return Ok(None);
        }
        if line.pop() != Some(b'\n') {
            return Err(damaged("a header has no end"));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.trim().eq_ignore_ascii_case("content-length") {
            let value = value.trim();
            let parsed = value.parse::<usize>();
            length = Some(parsed.map_err(|_| damaged(&format!("the length is '{value}'")))?);
        }
    }
    let length = length.ok_or_else(|| damaged("a header has no Content-Length"))?;
    if length > MAX_MESSAGE {
        return Err(damaged(&format!(
            "a message has {length} bytes, and at most {MAX_MESSAGE} are read"
        )));
    }
    let mut message = vec![0; length];
    from.read_exact(&mut message)?;
    Ok(Some(message))
}

pub fn write(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n", message.len())?;
    to.write_all(message)?;
    to.flush()
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_one_another() {
        let mut bytes = Vec::new();
        write(&mut bytes, b"{}").expect("written");
        bytes.extend(b"Content-Type: x\ncontent-length:3\n\n[1]");
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from).expect("a frame"), Some(b"{}".to_vec()));
        assert_eq!(read(&mut from).expect("a frame"), Some(b"[1]".to_vec()));
        assert_eq!(read(&mut from).expect("the end"), None);
    }

    #[test]
    fn damaged_frames_are_refused() {
        for bytes in [
            &b"Content-Length: -1\r\n\r\n"[..],
            b"Content-Length: 99999999999\r\n\r\n",
            b"\r\n\r\n{}",
            b"Content-Length: 5\r\n\r\n{}",
            b"Content-Length: 5",
        ] {
            assert!(read(&mut &*bytes).is_err(), "{bytes:?}");
        }
        let long = vec![b'x'; 20_000];
        assert!(read(&mut long.as_slice()).is_err());
    }
}
