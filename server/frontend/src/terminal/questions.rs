//! Questions that the user answers on the terminal.

use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;

use super::error::CliResult;
use super::out::{QUESTIONS, clear_progress};
use super::paint;

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
    /// Plan once more, with the work of the other sessions.
    TheirsToo,
}

/// Asks about a plan that can take the work of other sessions along.
pub fn ask_or_theirs_too(question: &str) -> CliResult<Confirmation> {
    let answer = answer_to(&format!("{question} [y/N, a: theirs too]"))?.unwrap_or_default();
    Ok(match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Confirmation::Yes,
        "a" | "all" => Confirmation::TheirsToo,
        _ => Confirmation::No,
    })
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
