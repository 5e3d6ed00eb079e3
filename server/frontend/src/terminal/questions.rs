//! Questions that the user answers on the terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;

use super::error::CliResult;
use super::keys::{KeyPress, Keys};
use super::out::{QUESTIONS, clear_progress};
use super::paint;

/// Empties the line from the cursor on.
const CLEAR_LINE: &str = "\x1b[K";

/// True if stdin and stdout are a terminal.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks a yes/no question; the default is no.
pub fn ask(question: &str) -> CliResult<bool> {
    let answer = answer_to(&format!("{question} [y/N]"))?.unwrap_or_default();
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

/// Answer to a question about a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    Yes,
    No,
    /// Show the changes of the files, and ask again.
    ShowChanges,
    /// Plan once more, with the work of the other sessions.
    TheirsToo,
}

/// Asks about a plan; without an answer it is not carried out. `theirs`: the work of other sessions can be taken along.
pub fn ask_about_plan(question: &str, theirs: bool) -> CliResult<Confirmation> {
    let more = if theirs { ", a: theirs too" } else { "" };
    let answer = answer_to(&format!("{question} [y/N, d: diff{more}]"))?.unwrap_or_default();
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Confirmation::Yes,
        "d" | "diff" => Confirmation::ShowChanges,
        "a" | "all" if theirs => Confirmation::TheirsToo,
        _ => Confirmation::No,
    })
}

/// Asks for a letter. On a terminal the key alone is the answer; else it is a line. None at the end of the input.
pub fn key_to(question: &str) -> CliResult<Option<String>> {
    let Some(mut keys) = Keys::of_terminal().filter(|_| can_ask()) else {
        return answer_to(question);
    };
    QUESTIONS.fetch_add(1, Ordering::Relaxed);
    clear_progress();
    keys.forget();
    let mut asked = format!("{question} ");
    let answer = loop {
        match keys.next_key(|| prompt(&std::mem::take(&mut asked)))? {
            KeyPress::End => break None,
            KeyPress::Enter => break Some(String::new()),
            KeyPress::Char(letter) => break Some(letter.to_string()),
            KeyPress::Tab
            | KeyPress::Escape
            | KeyPress::Function(_)
            | KeyPress::ShiftFunction(_)
            | KeyPress::Other => {}
        }
    };
    echo(answer.as_deref().unwrap_or_default())?;
    Ok(answer)
}

/// Asks a question. Returns the typed line, or None at the end of the input.
pub fn answer_to(question: &str) -> CliResult<Option<String>> {
    QUESTIONS.fetch_add(1, Ordering::Relaxed);
    clear_progress();
    let mut stdout = std::io::stdout().lock();
    write!(stdout, "{} ", paint::visible(question))?;
    stdout.flush()?;
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer)?;
    if read == 0 {
        writeln!(stdout)?;
    }
    Ok((read > 0).then_some(answer))
}

/// Shows a prompt, after which keys are read.
pub fn prompt(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(paint::visible(text).as_bytes())?;
    stdout.flush()
}

/// Shows the key that was pressed after the prompt, and ends its line.
pub fn echo(key: &str) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{}", paint::visible(key))
}

/// Empties the line of the prompt, so that a text can stand there.
pub fn empty_line() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "\r{CLEAR_LINE}")?;
    stdout.flush()
}

/// Goes back to the line of the prompt after its echo, and empties it: another prompt stands there.
pub fn take_echo_back() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "\x1b[A\r{CLEAR_LINE}")?;
    stdout.flush()
}
