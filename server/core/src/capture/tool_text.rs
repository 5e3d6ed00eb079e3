//! Texts that a tool reports, compared with the text of the file. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use super::event::{PathReport, ToolReport};
use crate::model::RelPath;

/// Returns the report on each path. `places` resolves a reported path. Several reports on one path prove nothing, since
/// each may start from the text of another.
pub(super) fn reports_by_path<'a>(
    report: &'a ToolReport,
    places: impl Fn(&Path) -> Vec<RelPath>,
) -> BTreeMap<RelPath, &'a PathReport> {
    let mut reports: BTreeMap<RelPath, Option<&PathReport>> = BTreeMap::new();
    for report in &report.paths {
        for path in places(&report.path) {
            let entry = reports.entry(path);
            entry
                .and_modify(|known| *known = None)
                .or_insert(Some(report));
        }
    }
    let only_one = |(path, report): (RelPath, Option<&'a PathReport>)| Some((path, report?));
    reports.into_iter().filter_map(only_one).collect()
}

/// True if the bytes are UTF-8 without a byte-order mark, so that a tool's report matches them.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\xef\xbb\xbf") && std::str::from_utf8(bytes).is_ok()
}

fn is_crlf(bytes: &[u8]) -> bool {
    let mut lines = bytes
        .split_inclusive(|b| *b == b'\n')
        .filter(|l| l.ends_with(b"\n"))
        .peekable();
    lines.peek().is_some() && lines.all(|l| l.ends_with(b"\r\n"))
}

/// Returns the text after a replacement that a tool reports in LF. None: the tool cannot have done this to that text.
pub(super) fn replaced(before: Vec<u8>, (old, new): (&str, &str), all: bool) -> Option<Vec<u8>> {
    let text = Some(before).filter(|before| is_plain(before))?;
    let text = String::from_utf8(text).ok()?;
    let style = if is_crlf(text.as_bytes()) {
        text.clone().into_bytes()
    } else {
        Vec::new()
    };
    let text = if style.is_empty() {
        text
    } else {
        text.replace("\r\n", "\n")
    };
    // text that is missing cannot have been replaced this way
    if !text.contains(old) || (old.is_empty() && !text.is_empty()) {
        return None;
    }
    let after = if all {
        text.replace(old, new)
    } else {
        text.replacen(old, new, 1)
    };
    Some(in_style_of(&style, &after))
}

/// Converts an LF text to the line endings of `like`.
pub(super) fn in_style_of(like: &[u8], text: &str) -> Vec<u8> {
    if is_crlf(like) && !text.contains('\r') {
        text.replace('\n', "\r\n").into_bytes()
    } else {
        text.as_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::event::Wrote;

    #[test]
    fn a_reported_text_gets_the_line_endings_of_its_file() {
        assert_eq!(in_style_of(b"a\r\nb\r\n", "x\ny\n"), b"x\r\ny\r\n");
        assert_eq!(in_style_of(b"a\r\nb\n", "x\ny\n"), b"x\ny\n");
        assert_eq!(in_style_of(b"no line ending", "x\n"), b"x\n");
        assert_eq!(in_style_of(b"a\r\n", "x\r\ny\n"), b"x\r\ny\n");
    }

    fn report(path: &str, wrote: (&str, &str)) -> PathReport {
        PathReport {
            path: path.into(),
            found: None,
            wrote: Some(Wrote::Replace {
                old: wrote.0.to_owned(),
                new: wrote.1.to_owned(),
                all: false,
            }),
        }
    }

    /// Resolves a path as below `/w`; `link` is a link to `b`.
    fn places(path: &Path) -> Vec<RelPath> {
        let own = path.strip_prefix("/w").ok().and_then(RelPath::from_path);
        let target = path.ends_with("link").then(|| RelPath::new("b")).flatten();
        own.into_iter().chain(target).collect()
    }

    #[test]
    fn each_path_has_its_own_report() {
        let all = ToolReport {
            paths: vec![
                report("/w/a", ("one", "1")),
                report("/w/b", ("two", "2")),
                report("/elsewhere/c", ("three", "3")),
            ],
            exit: None,
        };
        let reports = reports_by_path(&all, places);
        let text = |path: &str, before: &str| {
            let report = reports.get(&RelPath::new(path)?)?;
            let Some(Wrote::Replace { old, new, all }) = &report.wrote else {
                return None;
            };
            replaced(before.as_bytes().to_vec(), (old, new), *all)
        };
        assert_eq!(text("a", "one two\n").as_deref(), Some(&b"1 two\n"[..]));
        assert_eq!(text("b", "one two\n").as_deref(), Some(&b"one 2\n"[..]));
        assert_eq!(text("b", "one two\r\n").as_deref(), Some(&b"one 2\r\n"[..]));
        assert_eq!(text("b", "one\n"), None, "it has nothing to replace");
        assert_eq!(reports.len(), 2);
    }

    #[test]
    fn several_reports_on_one_path_prove_nothing() {
        let all = ToolReport {
            paths: vec![
                report("/w/a", ("one", "1")),
                report("/w/link", ("two", "2")),
                report("/w/b", ("2", "3")),
            ],
            exit: None,
        };
        let reports = reports_by_path(&all, places);
        let paths: Vec<String> = reports.keys().map(RelPath::display).collect();
        assert_eq!(paths, ["a", "link"]);
    }
}
