//! Messages between a run and the supervisor of a step, over one socket.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The program of a step. Its environment is exactly this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepProgram {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
}

/// A word of the run to the supervisor, one byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorOrder {
    /// Ask the step to end: SIGINT, later SIGTERM, at last SIGKILL.
    Cancel = b'c' as isize,
    /// Kill every descendant.
    End = b'e' as isize,
    /// Stop every descendant (SIGSTOP).
    Freeze = b'f' as isize,
    /// Let them continue.
    Thaw = b't' as isize,
}

impl SupervisorOrder {
    pub fn of(byte: u8) -> Option<SupervisorOrder> {
        let all = [
            SupervisorOrder::Cancel,
            SupervisorOrder::End,
            SupervisorOrder::Freeze,
            SupervisorOrder::Thaw,
        ];
        all.into_iter().find(|order| order.byte() == byte)
    }

    pub fn byte(self) -> u8 {
        self as u8
    }
}

/// A word of the supervisor to the run: a letter and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupervisorWord {
    /// The step's program runs, with this process id.
    Started(i32),
    /// It could not be started: an error number.
    Failed(i32),
    /// It ended with this status.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
    /// So many processes are stopped.
    Frozen(i32),
}

impl SupervisorWord {
    pub fn bytes(self) -> [u8; 5] {
        let (letter, number) = match self {
            SupervisorWord::Started(pid) => (b's', pid),
            SupervisorWord::Failed(error) => (b'!', error),
            SupervisorWord::Exited(status) => (b'x', status),
            SupervisorWord::Killed(signal) => (b'k', signal),
            SupervisorWord::Frozen(count) => (b'f', count),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [letter, a, b, c, d]
    }

    pub fn of(bytes: [u8; 5]) -> Option<SupervisorWord> {
        let [letter, a, b, c, d] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        match letter {
            b's' => Some(SupervisorWord::Started(number)),
            b'!' => Some(SupervisorWord::Failed(number)),
            b'x' => Some(SupervisorWord::Exited(number)),
            b'k' => Some(SupervisorWord::Killed(number)),
            b'f' => Some(SupervisorWord::Frozen(number)),
            _ => None,
        }
    }
}

impl StepProgram {
    /// Writes the program as texts that end with NUL, after their length in bytes.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut all = Vec::new();
        let mut put = |text: &[u8]| -> io::Result<()> {
            if text.contains(&0) {
                let text = String::from_utf8_lossy(text);
                let text: String = text.chars().take(40).collect();
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("a NUL byte is in {text:?}; no program can get it"),
                ));
            }
            all.extend_from_slice(text);
            all.push(0);
            Ok(())
        };
        put(self.program.as_os_str().as_bytes())?;
        put(self.directory.as_os_str().as_bytes())?;
        put(self.arguments.len().to_string().as_bytes())?;
        for argument in &self.arguments {
            put(argument.as_bytes())?;
        }
        for (name, value) in &self.environment {
            put(name.as_bytes())?;
            put(value.as_bytes())?;
        }
        let length = u32::try_from(all.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&all)
    }

    /// Reads what [`StepProgram::write`] wrote; none at the end of the socket.
    pub fn read(from: &mut impl Read) -> io::Result<Option<StepProgram>> {
        let mut length = [0; 4];
        match from.read_exact(&mut length) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut all = vec![0; u32::from_le_bytes(length) as usize];
        from.read_exact(&mut all)?;
        let mut texts = all
            .split(|byte| *byte == 0)
            .map(|text| OsString::from_vec(text.to_vec()))
            .collect::<Vec<_>>();
        // after the last NUL stands nothing
        texts.pop();
        let mut texts = texts.into_iter();
        let mut next = || texts.next().ok_or(io::ErrorKind::InvalidData);
        let program = next()?.into();
        let directory = next()?.into();
        let count = next()?.to_string_lossy().parse::<usize>();
        let count = count.map_err(|_| io::ErrorKind::InvalidData)?;
        let mut arguments = Vec::new();
        for _ in 0..count {
            arguments.push(next()?);
        }
        let mut environment = Vec::new();
        while let Some(name) = texts.next() {
            environment.push((name, texts.next().ok_or(io::ErrorKind::InvalidData)?));
        }
        Ok(Some(StepProgram {
            program,
            arguments,
            directory,
            environment,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_arrives_as_it_was() {
        let program = StepProgram {
            program: "/bin/sh".into(),
            arguments: vec!["-e".into(), "".into(), "a\nb".into()],
            directory: "/".into(),
            environment: vec![("A".into(), "".into()), ("B".into(), "x=y".into())],
        };
        let mut bytes = Vec::new();
        program.write(&mut bytes).expect("written");
        assert_eq!(
            StepProgram::read(&mut bytes.as_slice()).expect("read"),
            Some(program)
        );
        assert_eq!(
            StepProgram::read(&mut [].as_slice()).expect("the end"),
            None
        );
    }

    #[test]
    fn words_arrive_as_they_were() {
        for word in [
            SupervisorWord::Started(7),
            SupervisorWord::Failed(2),
            SupervisorWord::Exited(-1),
            SupervisorWord::Killed(9),
            SupervisorWord::Frozen(0),
        ] {
            assert_eq!(SupervisorWord::of(word.bytes()), Some(word));
        }
        assert_eq!(
            SupervisorOrder::of(SupervisorOrder::Freeze.byte()),
            Some(SupervisorOrder::Freeze)
        );
    }
}
