//! Command files: the texts that a step writes to `GITHUB_ENV`, `GITHUB_OUTPUT`, `GITHUB_STATE`, `GITHUB_PATH` and
//! `GITHUB_STEP_SUMMARY`.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Bytes that a step's summary may have, as on GitHub.
pub const MAX_SUMMARY: u64 = 1024 * 1024;

/// Bytes that another command file may have.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The files of one step. Their paths are the same at each run of the step.
#[derive(Clone, Debug)]
pub struct CommandFiles {
    pub env: PathBuf,
    pub output: PathBuf,
    pub path: PathBuf,
    pub state: PathBuf,
    pub summary: PathBuf,
}

/// Content of a step's command files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCommands {
    pub env: Vec<(String, String)>,
    pub outputs: Vec<(String, String)>,
    /// Directories in the order of the file.
    pub path: Vec<String>,
    pub state: Vec<(String, String)>,
    pub summary: String,
    /// Sentences about files that are wrong. Each fails the step, but for those of the summary.
    pub errors: Vec<String>,
    /// Sentences that do not fail the step.
    pub warnings: Vec<String>,
}

impl CommandFiles {
    /// Files in `dir`, named after the step.
    pub fn of(dir: &Path, step: &str) -> CommandFiles {
        let file = |kind: &str| dir.join(format!("{kind}_{step}"));
        CommandFiles {
            env: file("set_env"),
            output: file("set_output"),
            path: file("add_path"),
            state: file("save_state"),
            summary: file("step_summary"),
        }
    }

    fn all(&self) -> [&PathBuf; 5] {
        [
            &self.env,
            &self.output,
            &self.path,
            &self.state,
            &self.summary,
        ]
    }

    /// Makes all files empty (J2, J7).
    pub fn reset(&self) -> io::Result<()> {
        for file in self.all() {
            if let Some(dir) = file.parent() {
                fs::create_dir_all(dir)?;
            }
            // a step may have made it unreadable, or replaced it
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => fs::write(file, "")?,
            }
        }
        Ok(())
    }

    /// Variables that name the files.
    pub fn variables(&self) -> [(&'static str, &Path); 5] {
        [
            ("GITHUB_ENV", &self.env),
            ("GITHUB_OUTPUT", &self.output),
            ("GITHUB_PATH", &self.path),
            ("GITHUB_STATE", &self.state),
            ("GITHUB_STEP_SUMMARY", &self.summary),
        ]
    }

    /// Reads all files after the step.
    pub fn read(&self) -> FileCommands {
        let mut written = FileCommands::default();
        // as on GitHub, the pairs before a bad line count
        let pairs_of = |name: &str, file: &Path, written: &mut FileCommands| {
            let mut all = Vec::new();
            let read = text_of(file).and_then(|text| pairs_into(&text, &mut all));
            if let Err(reason) = read {
                written.errors.push(format!(
                    "Unable to process file command '{name}' successfully."
                ));
                written.errors.push(reason);
            }
            all
        };
        written.env = pairs_of("env", &self.env, &mut written);
        written.outputs = pairs_of("output", &self.output, &mut written);
        written.state = pairs_of("state", &self.state, &mut written);
        if let Some(place) = written
            .env
            .iter()
            .position(|(name, _)| name.eq_ignore_ascii_case("NODE_OPTIONS"))
        {
            written.env.remove(place);
            let error = "Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.";
            // the step does not fail by it
            written.warnings.push(error.to_owned());
        }
        match text_of(&self.path) {
            Ok(text) => written.path.extend(
                lines(&text)
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned),
            ),
            Err(reason) => written.errors.push(reason),
        }
        match fs::metadata(&self.summary).map(|file| file.len()) {
            Ok(size) if size > MAX_SUMMARY => written.warnings.push(format!(
                "$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k, got {}k.",
                size / 1024
            )),
            _ => match text_of(&self.summary) {
                Ok(text) => written.summary = text,
                Err(reason) => written.warnings.push(reason),
            },
        }
        written
    }
}

/// The text of a file; empty if the step removed it. A step may have put a pipe or a device in its place: neither is read,
/// since it may never end.
fn text_of(file: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("{} cannot be read: {error}", file.display());
    let opened = match open_without_waiting(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(unreadable(error)),
    };
    if !opened.metadata().map_err(unreadable)?.is_file() {
        return Err(format!(
            "{} is not read: it is not a regular file",
            file.display()
        ));
    }
    let mut bytes = Vec::new();
    let mut limited = opened.take(MAX_FILE + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!(
            "{} is not read: it has more than {MAX_FILE} bytes",
            file.display()
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

#[cfg(unix)]
fn open_without_waiting(file: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;

    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(file)
}

#[cfg(not(unix))]
fn open_without_waiting(file: &Path) -> io::Result<fs::File> {
    fs::File::open(file)
}

/// Lines as GitHub's runner reads them: elsewhere than on Windows a carriage return is a part of its line.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(without_return)
}

fn without_return(line: &str) -> &str {
    let returned = line.strip_suffix('\r').filter(|_| cfg!(windows));
    returned.unwrap_or(line)
}

/// Pairs of `name=value` and `name<<delimiter` (GitHub's workflow commands, "Multiline strings").
#[cfg(any(test, fuzzing))]
pub(crate) fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut all = Vec::new();
    pairs_into(text, &mut all)?;
    Ok(all)
}

/// Adds the pairs of a text to `all`, up to a bad line. Err: a sentence about that.
fn pairs_into(text: &str, all: &mut Vec<(String, String)>) -> Result<(), String> {
    let mut rest = text;
    while let Some((line, _, after)) = next_line(rest) {
        rest = after;
        if line.is_empty() {
            continue;
        }
        let equals = line.find('=');
        let heredoc = line.find("<<");
        match (equals, heredoc) {
            (Some(equals), heredoc) if heredoc.is_none_or(|heredoc| equals < heredoc) => {
                if equals == 0 {
                    return Err(format!("Invalid format '{line}'. Name must not be empty"));
                }
                all.push((line[..equals].to_owned(), line[equals + 1..].to_owned()));
            }
            (_, Some(heredoc)) => {
                let (name, delimiter) = (&line[..heredoc], &line[heredoc + 2..]);
                if name.is_empty() || delimiter.is_empty() {
                    return Err(format!(
                        "Invalid format '{line}'. Name must not be empty and delimiter must not be empty"
                    ));
                }
                let (value, after) = until(rest, delimiter)?;
                rest = after;
                all.push((name.to_owned(), value));
            }
            _ => return Err(format!("Invalid format '{line}'")),
        }
    }
    Ok(())
}

/// A line, its line end, and the text after it.
fn next_line(text: &str) -> Option<(&str, &str, &str)> {
    if text.is_empty() {
        return None;
    }
    let Some(end) = text.find('\n') else {
        return Some((text, "", ""));
    };
    let line = without_return(&text[..end]);
    Some((line, &text[line.len()..=end], &text[end + 1..]))
}

/// The lines up to the delimiter with their line ends, but for the last one, and the text after it.
fn until<'a>(text: &'a str, delimiter: &str) -> Result<(String, &'a str), String> {
    let mut value = String::new();
    let mut end_before = "";
    let mut rest = text;
    while let Some((line, end, after)) = next_line(rest) {
        rest = after;
        if line == delimiter {
            return Ok((value, rest));
        }
        value.push_str(end_before);
        value.push_str(line);
        end_before = end;
    }
    Err(format!(
        "Invalid value. Matching delimiter not found '{delimiter}'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        pairs(text).expect("pairs")
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn both_forms() {
        let text = "A=1\n\nB<<EOF\none\ntwo=2\nEOF\nC=x<<y\nD<<E\na\r\nb\r\nE\n";
        assert_eq!(
            read(text),
            [
                pair("A", "1"),
                pair("B", "one\ntwo=2"),
                pair("C", "x<<y"),
                pair("D", "a\r\nb\r")
            ]
        );
        // a carriage return does not end a line
        let read_with_returns = read("A=1\r\nB<<E\r\nx\r\nE\r\n");
        assert_eq!(read_with_returns, [pair("A", "1\r"), pair("B", "x\r")]);
        assert_eq!(read("E<<X\nX"), [pair("E", "")]);
        assert_eq!(read("A=\n"), [pair("A", "")]);
    }

    #[test]
    fn bad_lines_are_named() {
        let error = |text: &str| pairs(text).expect_err("an error");
        assert_eq!(error("no pair"), "Invalid format 'no pair'");
        assert_eq!(error("=x"), "Invalid format '=x'. Name must not be empty");
        assert_eq!(
            error("A<<E\nx\n"),
            "Invalid value. Matching delimiter not found 'E'"
        );
    }

    /// A second run of a step reads nothing of its first one (J2); the files are there before it begins (J7).
    #[test]
    fn j2_j7_files_are_empty_at_each_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = CommandFiles::of(dir.path(), "build");
        for _ in 0..2 {
            files.reset().expect("files");
            for (_, file) in files.variables() {
                assert_eq!(fs::read_to_string(file).expect("a file"), "");
            }
            fs::write(&files.output, "a=1\n").expect("written");
            fs::write(&files.env, "NODE_OPTIONS=x\nB=2\n").expect("written");
            let written = files.read();
            assert_eq!(written.outputs, [pair("a", "1")]);
            assert_eq!(written.env, [pair("B", "2")]);
            assert_eq!((written.errors.len(), written.warnings.len()), (0, 1));
            files.reset().expect("files");
            fs::write(&files.output, "a=1\nbad\nb=2\n").expect("written");
            let written = files.read();
            assert_eq!(written.outputs, [pair("a", "1")]);
            assert_eq!(written.errors.len(), 2);
        }
    }
}
