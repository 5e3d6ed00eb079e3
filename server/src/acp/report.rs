//! The report on one file of an edit call, from the messages and the disk. Agents tell a diff of the whole file or of a part
//! of it, before or after they write. Pure.

use std::path::Path;

use backstitch_core::capture::{PathReport, Wrote};

use super::message::Diff;

/// A file at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileText {
    /// Not looked at, too large, or no text.
    #[default]
    Unknown,
    Absent,
    Present(String),
}

impl FileText {
    fn present(&self) -> Option<&str> {
        match self {
            Self::Present(text) => Some(text),
            Self::Unknown | Self::Absent => None,
        }
    }
}

/// The facts about one file of a call at its end.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts<'a> {
    /// Before the call, as far as known.
    pub seen: &'a FileText,
    /// The agent waited for that look. Else it may have written already, or been about to.
    pub is_exact: bool,
    /// Right after the client wrote it for the agent.
    pub written: Option<&'a str>,
    /// After the call.
    pub now: &'a FileText,
    pub diffs: &'a [&'a Diff],
}

/// Returns the report on a file.
pub fn report(path: &Path, facts: FileFacts<'_>) -> PathReport {
    PathReport {
        path: path.to_path_buf(),
        found: found(facts),
        wrote: wrote(facts).map(Wrote::Whole),
    }
}

/// Returns the one diff of the whole file.
fn whole(facts: FileFacts<'_>) -> Option<&Diff> {
    let [diff] = facts.diffs else { return None };
    let old = diff.old.as_deref().unwrap_or_default();
    let begins = match facts.seen {
        FileText::Present(seen) => seen == old,
        FileText::Absent => old.is_empty(),
        FileText::Unknown => false,
    };
    // an empty text is a part of every file
    let ends = !diff.new.is_empty() && facts.now.present() == Some(&diff.new);
    (begins || ends).then_some(diff)
}

/// Returns the text that the call found. None: the file was absent, or it is not known.
fn found(facts: FileFacts<'_>) -> Option<String> {
    let seen = facts.seen.present();
    let seen = seen.filter(|seen| facts.now.present() != Some(seen));
    if facts.is_exact {
        return seen.map(str::to_owned);
    }
    if let Some(diff) = whole(facts) {
        return diff.old.clone().filter(|old| !old.is_empty());
    }
    if facts.diffs.is_empty() {
        // a writer empties a file for a moment
        return seen.filter(|seen| !seen.is_empty()).map(str::to_owned);
    }
    if let Some(seen) = seen.filter(|seen| after(seen, facts).is_some()) {
        return Some(seen.to_owned());
    }
    // the call had written before the look
    let mut text = facts.now.present()?.to_owned();
    for diff in facts.diffs.iter().rev() {
        text = replaced_once(&text, &diff.new, diff.old.as_deref()?)?;
    }
    Some(text)
}

/// Returns the text that the diffs make of a text.
fn after(text: &str, facts: FileFacts<'_>) -> Option<String> {
    let with = |replace: fn(&str, &str, &str) -> Option<String>| {
        let mut text = text.to_owned();
        for diff in facts.diffs {
            text = replace(&text, diff.old.as_deref()?, &diff.new)?;
        }
        Some(text)
    };
    // a tool may replace every occurrence: the diff does not tell
    let everywhere = with(replaced_everywhere);
    let everywhere = everywhere.filter(|text| facts.now.present() == Some(text));
    everywhere.or_else(|| with(replaced_once))
}

/// Returns the text that the call wrote. None: it is not known.
fn wrote(facts: FileFacts<'_>) -> Option<String> {
    if let Some(written) = facts.written {
        return Some(written.to_owned());
    }
    if let Some(diff) = whole(facts) {
        return Some(diff.new.clone());
    }
    let now = facts.now.present()?;
    match facts.seen {
        FileText::Present(seen) if seen != now => {
            if facts.diffs.is_empty() {
                return Some(now.to_owned());
            }
            after(seen, facts).or_else(|| has_all(facts, now))
        }
        FileText::Absent => Some(now.to_owned()),
        _ => has_all(facts, now),
    }
}

/// Returns the text if it has all that was to be written.
fn has_all(facts: FileFacts<'_>, now: &str) -> Option<String> {
    let has_all = facts.diffs.iter().all(|diff| now.contains(&diff.new));
    (has_all && !facts.diffs.is_empty()).then(|| now.to_owned())
}

/// Replaces the only occurrence of a text.
fn replaced_once(text: &str, old: &str, new: &str) -> Option<String> {
    let is_only = !old.is_empty() && text.matches(old).take(2).count() == 1;
    is_only.then(|| text.replacen(old, new, 1))
}

fn replaced_everywhere(text: &str, old: &str, new: &str) -> Option<String> {
    let occurs = !old.is_empty() && text.contains(old);
    occurs.then(|| text.replace(old, new))
}

/// Returns the text that a file would have after diffs that have not been written yet.
pub fn predicted(now: &FileText, diffs: &[&Diff]) -> Option<String> {
    if let [diff] = diffs
        && now.present().unwrap_or_default() == diff.old.as_deref().unwrap_or_default()
    {
        return Some(diff.new.clone());
    }
    let mut text = now.present()?.to_owned();
    for diff in diffs {
        text = replaced_once(&text, diff.old.as_deref()?, &diff.new)?;
    }
    (!diffs.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> FileText {
        FileText::Present(text.to_owned())
    }

    /// The text found and the text written, with `-` for none.
    fn told(seen: &FileText, now: &FileText, diffs: &[(&str, &str)]) -> (String, String) {
        let diffs: Vec<Diff> = diffs
            .iter()
            .map(|(old, new)| Diff {
                path: "/w/a".into(),
                old: (*old != "-").then(|| (*old).to_owned()),
                new: (*new).to_owned(),
            })
            .collect();
        let diffs: Vec<&Diff> = diffs.iter().collect();
        let report = report(
            Path::new("/w/a"),
            FileFacts {
                seen,
                is_exact: false,
                written: None,
                now,
                diffs: &diffs,
            },
        );
        let wrote = match report.wrote {
            Some(Wrote::Whole(text)) => text,
            _ => "-".into(),
        };
        (report.found.unwrap_or_else(|| "-".into()), wrote)
    }

    fn pair(found: &str, wrote: &str) -> (String, String) {
        (found.into(), wrote.into())
    }

    #[test]
    fn a_diff_of_the_whole_file_is_exact_whenever_the_file_was_looked_at() {
        let diff = [("one\n", "two\n")];
        let (one, two) = (text("one\n"), text("two\n"));
        assert_eq!(told(&one, &two, &diff), pair("one\n", "two\n"));
        assert_eq!(told(&two, &two, &diff), pair("one\n", "two\n"));
        assert_eq!(
            told(&FileText::Unknown, &two, &diff),
            pair("one\n", "two\n")
        );
        // the user wrote into it since
        let both = text("two\nmine\n");
        assert_eq!(told(&one, &both, &diff), pair("one\n", "two\n"));
    }

    #[test]
    fn a_diff_of_a_part_is_laid_over_the_file() {
        let diff = [("one", "two")];
        let (before, after) = (text("a one b"), text("a two b"));
        assert_eq!(told(&before, &after, &diff), pair("a one b", "a two b"));
        // it had written before the look
        assert_eq!(told(&after, &after, &diff), pair("a one b", "a two b"));
        // the user wrote beside it
        let both = text("a two b mine");
        assert_eq!(told(&before, &both, &diff), pair("a one b", "a two b"));
        // in several places
        let (before, after) = (text("one one"), text("two two"));
        assert_eq!(told(&before, &after, &diff), pair("one one", "two two"));
        assert_eq!(told(&after, &after, &diff), pair("-", "two two"));
        // several edits
        let diffs = [("one", "two"), ("x", "y")];
        let (before, after) = (text("one x"), text("two y"));
        assert_eq!(told(&after, &after, &diffs), pair("one x", "two y"));
        assert_eq!(told(&before, &after, &diffs), pair("one x", "two y"));
    }

    #[test]
    fn a_look_in_the_middle_of_a_write_counts_for_nothing() {
        let (empty, now) = (text(""), text("two\nmine\n"));
        let whole = [("one\nmine\n", "two\nmine\n")];
        assert_eq!(
            told(&empty, &now, &whole),
            pair("one\nmine\n", "two\nmine\n")
        );
        assert_eq!(
            told(&empty, &now, &[("one", "two")]),
            pair("one\nmine\n", "two\nmine\n")
        );
        assert_eq!(told(&empty, &now, &[]), pair("-", "two\nmine\n"));
    }

    #[test]
    fn a_new_file_was_not_found() {
        let now = text("n");
        assert_eq!(told(&FileText::Absent, &now, &[("-", "n")]), pair("-", "n"));
        assert_eq!(told(&now, &now, &[("", "n")]), pair("-", "n"));
        assert_eq!(told(&FileText::Absent, &now, &[]), pair("-", "n"));
    }

    #[test]
    fn nothing_is_told_that_is_not_known() {
        let now = text("n");
        assert_eq!(told(&now, &now, &[]), pair("-", "-"));
        assert_eq!(told(&FileText::Unknown, &now, &[]), pair("-", "-"));
        assert_eq!(told(&now, &FileText::Absent, &[]), pair("n", "-"));
        // the removal of a text leaves no trace in the file
        assert_eq!(told(&now, &now, &[("gone", "")]), pair("-", "n"));
        assert_eq!(told(&now, &now, &[("x", "y")]), pair("-", "-"));
    }

    #[test]
    fn a_diff_tells_the_file_after_it() {
        let diff = |old: &str, new: &str| Diff {
            path: "/w/a".into(),
            old: Some(old.into()),
            new: new.into(),
        };
        let one = diff("one", "two");
        assert_eq!(predicted(&text("a one"), &[&one]).as_deref(), Some("a two"));
        assert_eq!(predicted(&text("one"), &[&one]).as_deref(), Some("two"));
        assert_eq!(predicted(&text("none at all"), &[&diff("x", "y")]), None);
        assert_eq!(
            predicted(&FileText::Absent, &[&diff("", "new")]).as_deref(),
            Some("new")
        );
    }
}
