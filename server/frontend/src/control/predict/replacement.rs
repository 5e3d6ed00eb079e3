//! Replacement of a text in a text, by the rules of a tool. Pure.

use backstitch_agents::edit_rules::{DeletesLine, Dollars, EditRules, Ends, Fills};

use super::edit_effect::EditEffect;
use super::text::{count, is_mixed, to_crlf, to_lf};

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// Every match is replaced.
    pub all: bool,
}

/// Applies the pairs one after the other. None: no file.
pub fn edit(dialect: &EditRules, text: Option<&str>, pairs: &[Pair]) -> EditEffect {
    let mut text = text.map(str::to_owned);
    let mut doubt = None;
    for (number, pair) in pairs.iter().enumerate() {
        let earlier = pairs[..number].iter();
        let place = |reason: String| match pairs.len() {
            1 => reason,
            _ => format!("edit {}: {reason}", number + 1),
        };
        if dialect.edits_as_one
            && !pair.old.is_empty()
            && earlier
                .map(|pair| pair.new)
                .any(|new| new.contains(pair.old))
        {
            let reason = "its old text is part of an earlier edit's new text".to_owned();
            doubt = Some(place(reason));
        }
        text = match edit_once(dialect, text.as_deref(), pair) {
            EditEffect::Text(after) => Some(after),
            EditEffect::Perhaps(after, reason) => {
                doubt = doubt.or(Some(place(reason)));
                Some(after)
            }
            EditEffect::Open(reason) => return EditEffect::Open(place(reason)),
            EditEffect::Refused(reason) if number > 0 && !dialect.edits_as_one => {
                let reason = format!("{}; the edits before it may stay", place(reason));
                return EditEffect::Open(reason);
            }
            EditEffect::Refused(reason) => return EditEffect::Refused(place(reason)),
        };
    }
    match (text, doubt) {
        (Some(text), None) => EditEffect::Text(text),
        (Some(text), Some(doubt)) => EditEffect::Perhaps(text, doubt),
        (None, _) => EditEffect::Refused("there is no edit".to_owned()),
    }
}

fn edit_once(dialect: &EditRules, text: Option<&str>, pair: &Pair) -> EditEffect {
    let same = "old and new text are the same";
    if pair.old == pair.new && dialect.fills == Fills::NewOrBlank {
        return EditEffect::Refused(same.to_owned());
    }
    let Some(text) = text else {
        return create(dialect, pair);
    };
    if pair.old.is_empty() {
        return fill(dialect, text, pair.new);
    }
    let (old, new) = adapt(dialect, text, pair);
    if old == new {
        return match dialect.fills {
            Fills::Empty => EditEffect::Text(text.to_owned()),
            _ => EditEffect::Refused(same.to_owned()),
        };
    }
    let matches = count(text, &old);
    let overlapping = text.find(&old) != text.rfind(&old);
    match matches {
        0 => return not_found(dialect, text, &old, &new, pair.all),
        1 if !(overlapping && dialect.several_may_match) || pair.all => {}
        _ if pair.all => {}
        _ if dialect.several_may_match => {
            let reason = format!("the old text is there {} times", matches.max(2));
            return EditEffect::Open(reason);
        }
        _ => {
            let hint = if dialect.fills == Fills::Empty {
                ""
            } else {
                ", and not all are to be replaced"
            };
            return EditEffect::Refused(format!("the old text is there {matches} times{hint}"));
        }
    }
    let after = put(dialect, text, &old, &new, pair.all);
    let ends_unsure = dialect.ends == Ends::Adapted
        && dialect.fills != Fills::New
        && new.contains('\n')
        && is_mixed(text);
    let dollars_unsure = new.contains('$')
        && match dialect.dollars {
            Dollars::Plain => false,
            Dollars::InAll => pair.all,
            Dollars::Anywhere => true,
        };
    let line_unsure =
        dialect.deletes_line == DeletesLine::Maybe && new.is_empty() && !old.ends_with('\n');
    if ends_unsure {
        let reason = "the file has both kinds of line endings";
        return EditEffect::Perhaps(after, reason.to_owned());
    }
    if dollars_unsure {
        let reason = format!("{} may give $ in the new text a meaning", dialect.agent);
        return EditEffect::Perhaps(after, reason);
    }
    if line_unsure {
        let reason = format!("{} may remove the end of the line, too", dialect.agent);
        return EditEffect::Perhaps(after, reason);
    }
    EditEffect::Text(after)
}

/// An edit of a file that does not exist.
fn create(dialect: &EditRules, pair: &Pair) -> EditEffect {
    match dialect.fills {
        Fills::AnyNew => EditEffect::Text(pair.new.to_owned()),
        Fills::New | Fills::NewOrBlank if pair.old.is_empty() => {
            EditEffect::Text(pair.new.to_owned())
        }
        _ => EditEffect::Refused("the file does not exist".to_owned()),
    }
}

/// An edit without old text, in a file that exists.
fn fill(dialect: &EditRules, text: &str, new: &str) -> EditEffect {
    let may = match dialect.fills {
        Fills::NewOrBlank => text.trim().is_empty(),
        Fills::Empty => text.is_empty(),
        Fills::New | Fills::AnyNew => false,
    };
    if may {
        EditEffect::Text(new.to_owned())
    } else {
        EditEffect::Refused("the old text is empty, and the file exists already".to_owned())
    }
}

/// Returns old and new text with the line endings that the tool looks for and writes.
fn adapt(dialect: &EditRules, text: &str, pair: &Pair) -> (String, String) {
    match dialect.ends {
        Ends::Majority => (pair.old.to_owned(), pair.new.to_owned()),
        Ends::AnyCrlf { new_text: false } => (to_lf(pair.old), pair.new.to_owned()),
        Ends::Adapted if text.contains("\r\n") => (to_crlf(pair.old), to_crlf(pair.new)),
        Ends::AnyCrlf { new_text: true } | Ends::Adapted => (to_lf(pair.old), to_lf(pair.new)),
    }
}

fn put(dialect: &EditRules, text: &str, old: &str, new: &str, all: bool) -> String {
    let line;
    let deletes = new.is_empty() && !old.ends_with('\n') && dialect.deletes_line != DeletesLine::No;
    let old = if deletes {
        line = format!("{old}\n");
        if text.contains(&line) { &line } else { old }
    } else {
        old
    };
    let mut after = if all {
        text.replace(old, new)
    } else {
        text.replacen(old, new, 1)
    };
    if dialect.keeps_final_newline {
        match (text.ends_with('\n'), after.ends_with('\n')) {
            (true, false) => after.push('\n'),
            (false, true) => {
                after.pop();
            }
            _ => {}
        }
    }
    after
}

/// The old text is not in the file as it is written.
fn not_found(dialect: &EditRules, text: &str, old: &str, new: &str, all: bool) -> EditEffect {
    if dialect.is_loose {
        let reason = format!(
            "the old text is not in the file as written, but {} also looks for similar text",
            dialect.agent
        );
        return EditEffect::Open(reason);
    }
    let plain = plain_quotes(text);
    let found = plain
        .find(&plain_quotes(old))
        .filter(|_| dialect.equates_quotes);
    let Some(at) = found else {
        return EditEffect::Refused("the old text is not in the file".to_owned());
    };
    // the same number of characters: each quote is one
    let skipped = plain[..at].chars().count();
    let actual: String = text
        .chars()
        .skip(skipped)
        .take(old.chars().count())
        .collect();
    if count(text, &actual) > 1 && !all {
        let reason = "the old text is there several times, apart from the form of quotes";
        return EditEffect::Refused(reason.to_owned());
    }
    let new = curly_quotes(new, &actual);
    let after = put(dialect, text, &actual, &new, all);
    let reason = "the old text is there only with typographic quotes";
    EditEffect::Perhaps(after, reason.to_owned())
}

fn plain_quotes(text: &str) -> String {
    text.replace(['“', '”'], "\"").replace(['‘', '’'], "'")
}

/// Gives the new text the typographic quotes that `like` has.
fn curly_quotes(new: &str, like: &str) -> String {
    let (double, single) = (like.contains(['“', '”']), like.contains(['‘', '’']));
    let chars: Vec<char> = new.chars().collect();
    let opens = |at: usize| {
        at == 0
            || matches!(
                chars[at - 1],
                ' ' | '\t' | '\n' | '\r' | '(' | '[' | '{' | '—' | '–'
            )
    };
    let is_letter = |at: Option<usize>| {
        at.and_then(|at| chars.get(at))
            .is_some_and(|char| char.is_alphabetic())
    };
    let quote = |(at, &char): (usize, &char)| match char {
        '"' if double && opens(at) => '“',
        '"' if double => '”',
        '\'' if single && is_letter(at.checked_sub(1)) && is_letter(Some(at + 1)) => '’',
        '\'' if single && opens(at) => '‘',
        '\'' if single => '’',
        char => char,
    };
    chars.iter().enumerate().map(quote).collect()
}
