//! Single keys of a terminal, without Enter.

use std::io::{self, IsTerminal as _, Stdin};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcsetattr,
};

/// Interval at which a wait looks for other news.
const TICK: Duration = Duration::from_millis(100);
/// Time within which the other bytes of a key follow the first.
const OF_ONE_KEY: Duration = Duration::from_millis(20);
/// Bytes that a terminal sends for these keys.
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const ESCAPE: u8 = 0x1b;
/// Bytes between the beginning and the end of a key.
const MAX_NUMBERS: usize = 16;
/// The value with which a terminal sends no signal for a key.
const DISABLED: u8 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPress {
    Char(char),
    Enter,
    Tab,
    Escape,
    /// F1 to F12.
    Function(u8),
    ShiftFunction(u8),
    /// Ctrl-C, Ctrl-D, or a terminal that is gone.
    End,
    /// A key without a meaning here, such as an arrow.
    Other,
}

/// The end of a wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Waited<T> {
    Key(KeyPress),
    News(T),
}

/// Reads keys from stdin. The terminal sends and shows whole lines but for the time of a wait. No byte after a key is read
/// with it: it may be the beginning of an answer that the key asks for.
#[derive(Debug)]
pub struct Keys {
    stdin: Stdin,
}

impl Keys {
    /// None: stdin is not a terminal.
    pub fn of_terminal() -> Option<Self> {
        let stdin = io::stdin();
        stdin.is_terminal().then_some(Self { stdin })
    }

    /// Waits for a key. `show` shows the prompt: by then the terminal sends single keys, so that a Ctrl-C that answers the
    /// prompt is one of them. `news` is asked between, and ends the wait with a value.
    pub fn wait<T, E: From<io::Error>>(
        &mut self,
        show: impl FnOnce() -> io::Result<()>,
        mut news: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Waited<T>, E> {
        let mode = SingleKeys::begin()?;
        show()?;
        loop {
            if let Some(news) = news()? {
                return Ok(Waited::News(news));
            }
            // a shell that had the terminal meanwhile gives it back with its lines
            mode.again();
            if let Some(key) = self.read()? {
                return Ok(Waited::Key(key));
            }
        }
    }

    /// Shows a prompt, and waits for the next key.
    pub fn next_key(&mut self, show: impl FnOnce() -> io::Result<()>) -> io::Result<KeyPress> {
        match self.wait(show, || Ok::<_, io::Error>(None::<()>))? {
            Waited::Key(key) => Ok(key),
            Waited::News(()) => Ok(KeyPress::Other),
        }
    }

    /// Drops keys that were pressed before the user saw what they would act on.
    pub fn forget(&mut self) {
        tcflush(&self.stdin, QueueSelector::IFlush).ok();
    }

    /// Returns a key that comes within a tick.
    fn read(&self) -> io::Result<Option<KeyPress>> {
        let mut bytes = Vec::new();
        bytes.extend(self.byte(TICK)?);
        while parse(&bytes) == Parsed::Part {
            let Some(byte) = self.byte(OF_ONE_KEY)? else {
                return Ok(Some(alone(&bytes)));
            };
            bytes.push(byte);
        }
        Ok(match parse(&bytes) {
            Parsed::Key(key) => Some(key),
            Parsed::None | Parsed::Part => None,
        })
    }

    fn byte(&self, time: Duration) -> io::Result<Option<u8>> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or_default();
            let mut waits = [PollFd::new(&self.stdin, PollFlags::IN)];
            match poll(&mut waits, Some(&left)) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut buffer = [0];
        match rustix::io::read(&self.stdin, &mut buffer) {
            Ok(0) | Err(Errno::IO) => Ok(Some(CTRL_D)),
            Ok(_) => Ok(Some(buffer[0])),
            Err(Errno::INTR | Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The terminal sends each key at once, and shows none. Dropped, it does as before.
struct SingleKeys {
    stdin: Stdin,
    before: Termios,
}

impl SingleKeys {
    fn begin() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mode = Self { stdin, before };
        mode.set();
        Ok(mode)
    }

    fn set(&self) {
        let mut modes = self.before.clone();
        modes
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        // Ctrl-Z still suspends
        modes.special_codes[SpecialCodeIndex::VINTR] = DISABLED;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&self.stdin, OptionalActions::Now, &modes).ok();
    }

    fn again(&self) {
        let now = tcgetattr(&self.stdin);
        if now.is_ok_and(|now| now.local_modes.contains(LocalModes::ICANON)) {
            self.set();
        }
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        tcsetattr(&self.stdin, OptionalActions::Now, &self.before).ok();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parsed {
    /// There is no byte.
    None,
    /// More bytes belong to the key.
    Part,
    Key(KeyPress),
}

/// Reads the bytes of one key.
fn parse(bytes: &[u8]) -> Parsed {
    let Some(first) = bytes.first() else {
        return Parsed::None;
    };
    Parsed::Key(match first {
        &CTRL_C | &CTRL_D => KeyPress::End,
        b'\r' | b'\n' => KeyPress::Enter,
        b'\t' => KeyPress::Tab,
        &ESCAPE => return escaped(&bytes[1..]),
        b' '..=b'~' => KeyPress::Char(char::from(*first)),
        0xc0.. => match std::str::from_utf8(bytes) {
            Ok(text) => text.chars().next().map_or(KeyPress::Other, KeyPress::Char),
            Err(error) if error.error_len().is_none() => return Parsed::Part,
            Err(_) => KeyPress::Other,
        },
        _ => KeyPress::Other,
    })
}

/// The key whose other bytes do not come.
fn alone(bytes: &[u8]) -> KeyPress {
    if bytes == [ESCAPE] {
        KeyPress::Escape
    } else {
        KeyPress::Other
    }
}

/// Reads what follows an Escape: `[ numbers final`, or `O final`.
fn escaped(rest: &[u8]) -> Parsed {
    let (Some(kind), last) = (rest.first(), rest.last()) else {
        return Parsed::Part;
    };
    match (kind, &rest[1..], last) {
        (b'O' | b'[', [], _) => Parsed::Part,
        (b'O', [letter @ b'P'..=b'S'], _) => Parsed::Key(KeyPress::Function(letter - b'P' + 1)),
        (b'[', numbers, Some(b'~')) => {
            let numbers = std::str::from_utf8(&numbers[..numbers.len() - 1]);
            Parsed::Key(function_key(numbers.unwrap_or_default()))
        }
        (b'[', numbers, Some(0x20..=0x3f)) if numbers.len() < MAX_NUMBERS => Parsed::Part,
        _ => Parsed::Key(KeyPress::Other),
    }
}

fn function_key(numbers: &str) -> KeyPress {
    let (code, modifier) = numbers.split_once(';').unwrap_or((numbers, "1"));
    let number = match code.parse::<u8>().unwrap_or_default() {
        code @ 11..=15 => code - 10,
        code @ 17..=21 => code - 11,
        code @ 23..=24 => code - 12,
        _ => return KeyPress::Other,
    };
    match modifier {
        "1" => KeyPress::Function(number),
        "2" => KeyPress::ShiftFunction(number),
        _ => KeyPress::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_keys() {
        for (bytes, key) in [
            (&b"c"[..], KeyPress::Char('c')),
            (b"\r", KeyPress::Enter),
            (b"\n", KeyPress::Enter),
            (b"\t", KeyPress::Tab),
            (b"\x03", KeyPress::End),
            (b"\x04", KeyPress::End),
            (b"\x1bc", KeyPress::Other),
            (b"\x1b[15~", KeyPress::Function(5)),
            (b"\x1b[21~", KeyPress::Function(10)),
            (b"\x1b[23~", KeyPress::Function(11)),
            (b"\x1b[23;2~", KeyPress::ShiftFunction(11)),
            (b"\x1b[23;5~", KeyPress::Other),
            (b"\x1bOP", KeyPress::Function(1)),
            (b"\x1bOA", KeyPress::Other),
            (b"\x1b[A", KeyPress::Other),
            (b"\x1b[1;5C", KeyPress::Other),
            ("ä".as_bytes(), KeyPress::Char('ä')),
            ("☃".as_bytes(), KeyPress::Char('☃')),
            (b"\xc3c", KeyPress::Other),
            (b"\x80", KeyPress::Other),
            (b"\x01", KeyPress::Other),
        ] {
            for end in 1..bytes.len() {
                let part = parse(&bytes[..end]);
                assert_eq!(part, Parsed::Part, "{:?}", &bytes[..end]);
            }
            assert_eq!(parse(bytes), Parsed::Key(key), "{bytes:?}");
        }
        assert_eq!(parse(b""), Parsed::None);
        assert_eq!(alone(b"\x1b"), KeyPress::Escape);
        assert_eq!(alone(b"\x1b["), KeyPress::Other);
    }
}
