//! Generated calls against a slow reference.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const CASES: u32 = 2000;

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(CASES)
    }
}

/// Lines with few different texts, so that matches repeat.
pub(in crate::control) fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof!["[ab]{0,2}", "é😀|“q”|\ta|  b |\\$&|\"x\""];
    let end = prop_oneof![4 => Just("\n"), 3 => Just("\r\n"), 1 => Just("mixed")];
    (
        vec(line, 0..9),
        end,
        any::<bool>(),
        any::<bool>(),
        vec(any::<bool>(), 9),
    )
        .prop_map(|(lines, end, has_last, has_bom, crlf)| {
            let mut text = if has_bom {
                "\u{feff}".to_owned()
            } else {
                String::new()
            };
            for (number, line) in lines.iter().enumerate() {
                text.push_str(line);
                let end = match end {
                    "mixed" if crlf[number] => "\r\n",
                    "mixed" => "\n",
                    end => end,
                };
                if has_last || number + 1 < lines.len() {
                    text.push_str(end);
                }
            }
            text
        })
}

/// The text after Claude Code's Edit, character by character; None: refused. Quotes are left out.
fn edited(before: &str, old: &str, new: &str, all: bool) -> Option<String> {
    let (bom, body) = match before.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", before),
    };
    let ends = body.matches('\n').count();
    let crlf = body.matches("\r\n").count();
    let is_crlf = crlf > ends - crlf;
    let body: Vec<char> = body.replace("\r\n", "\n").chars().collect();
    let mut old: Vec<char> = old.chars().collect();
    if old == new.chars().collect::<Vec<_>>() {
        return None;
    }
    let at = |at: usize, part: &[char]| body[at..].starts_with(part);
    if old.is_empty() {
        let is_blank = body.iter().all(|char| char.is_whitespace());
        return is_blank.then(|| finished(bom, new, is_crlf));
    }
    let places = |part: &[char]| {
        let (mut places, mut next) = (Vec::new(), 0);
        for start in 0..body.len() {
            if start >= next && at(start, part) {
                places.push(start);
                next = start + part.len();
            }
        }
        places
    };
    let found = places(&old);
    if found.is_empty() || found.len() > 1 && !all {
        return None;
    }
    let with_end: Vec<char> = old.iter().copied().chain(['\n']).collect();
    if new.is_empty() && old.last() != Some(&'\n') && !places(&with_end).is_empty() {
        old = with_end;
    }
    let mut found = places(&old);
    if !all {
        found.truncate(1);
    }
    let (mut after, mut next) = (String::new(), 0);
    while next < body.len() {
        if found.contains(&next) {
            after.push_str(new);
            next += old.len();
        } else {
            after.push(body[next]);
            next += 1;
        }
    }
    Some(finished(bom, &after, is_crlf))
}

fn finished(bom: &str, text: &str, is_crlf: bool) -> String {
    let text = if is_crlf {
        text.split("\r\n")
            .collect::<Vec<_>>()
            .join("\n")
            .split('\n')
            .collect::<Vec<_>>()
            .join("\r\n")
    } else {
        text.to_owned()
    };
    format!("{bom}{text}")
}

/// One step of an edited list of lines.
#[derive(Clone, Debug)]
enum Step {
    Keep,
    Remove,
    Add(String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Keep),
        2 => Just(Step::Remove),
        2 => "[abx ]{0,3}|é|\\+|-|@@".prop_map(Step::Add),
    ];
    vec(step, 1..14)
}

/// A patch of a whole file in one chunk, and the lines after it.
fn whole_file(lines: &[&str], steps: &[Step]) -> (String, Vec<String>) {
    let (mut patch, mut after, mut next) = (String::from("@@\n"), Vec::new(), 0);
    for step in steps {
        match (step, lines.get(next)) {
            (Step::Add(line), _) => {
                patch.push_str(&format!("+{line}\n"));
                after.push(line.clone());
            }
            (Step::Keep, Some(line)) => {
                patch.push_str(&format!(" {line}\n"));
                after.push((*line).to_owned());
                next += 1;
            }
            (Step::Remove, Some(line)) => {
                patch.push_str(&format!("-{line}\n"));
                next += 1;
            }
            (_, None) => {}
        }
    }
    for line in lines.iter().skip(next) {
        patch.push_str(&format!(" {line}\n"));
        after.push((*line).to_owned());
    }
    (patch, after)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn edits_are_those_of_the_reference(
        before in text(), from in 0_usize..30, length in 0_usize..6, new in text(), all in any::<bool>(),
    ) {
        let body = before.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let old: String = body.chars().skip(from).take(length).collect();
        let new = new.trim_start_matches('\u{feff}');
        let input = json!({"file_path": "f", "old_string": old, "new_string": new, "replace_all": all});
        let file = Disk::of(&[("f", &before)]).only("Edit", &input);
        match edited(&before, &old, new, all) {
            Some(after) => {
                prop_assert_eq!(file.outlook, Outlook::Certain);
                prop_assert_eq!(file.after, PredictedContent::of(after.into_bytes()));
            }
            None => prop_assert!(matches!(file.outlook, Outlook::Fails(_)), "{:?}", file),
        }
    }

    #[test]
    fn patches_are_those_of_the_reference(
        files in vec((vec("[ab]{0,2}|é x|  c", 0..8), any::<bool>(), any::<bool>(), steps(), any::<bool>()), 1..4),
    ) {
        let mut disk = Disk::default();
        let mut patch = String::from("*** Begin Patch\n");
        let mut expected = Vec::new();
        for (number, (lines, is_crlf, has_last, steps, moves)) in files.iter().enumerate() {
            let end = if *is_crlf && lines.len() > 1 { "\r\n" } else { "\n" };
            let mut before = lines.join(end);
            if *has_last && !lines.is_empty() {
                before.push_str(end);
            }
            // an empty line without an ending is not a line
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let lines = match lines.split_last() {
                Some((&"", rest)) if !has_last => rest,
                _ => &lines[..],
            };
            let (chunk, after) = whole_file(lines, steps);
            if chunk == "@@\n" {
                continue;
            }
            let path = format!("f{number}");
            disk = disk.with(&format!("/w/{path}"), FileNow::File(before.clone().into()));
            patch.push_str(&format!("*** Update File: {path}\n"));
            if *moves {
                patch.push_str(&format!("*** Move to: to/{path}\n"));
            }
            patch.push_str(&chunk);
            let after = after.iter().flat_map(|line| [line.as_str(), end]).collect::<String>();
            expected.push((path, *moves, after));
        }
        patch.push_str("*** End Patch\n");
        let files = disk.files("apply_patch", &json!({"command": patch}));
        prop_assert_eq!(files.len(), expected.len());
        for (file, (path, moves, after)) in files.iter().zip(expected) {
            prop_assert_eq!(&file.outlook, &Outlook::Certain, "{}", patch);
            let at = |path: String| PathBuf::from(format!("/w/{path}"));
            let (to, from) = if moves {
                (at(format!("to/{path}")), Some(at(path)))
            } else {
                (at(path), None)
            };
            prop_assert_eq!((&file.path, &file.moved_from), (&to, &from));
            prop_assert_eq!(&file.after, &PredictedContent::of(after.into_bytes()), "{}", patch);
        }
    }

    /// Nothing that a model sends ends in a panic.
    #[test]
    fn any_input_is_answered(
        tool in "Edit|MultiEdit|edit|editor|replace_in_file|NotebookEdit|apply_patch|Bash",
        before in text(),
        patch in vec("@@( [ab]{1,2})?|[ +-][ab]{0,2}||\\*\\*\\* (Add|Update|Delete) File: f|\\*\\*\\* Move to: (f|g)|\\*\\*\\* End of File", 0..9),
        name in "command|diff|new_source|old_string|edits|content",
        value in any::<Option<u32>>(),
    ) {
        let patch = format!("*** Begin Patch\n{}\n*** End Patch", patch.join("\n"));
        let mut input = json!({"path": "f", "command": patch, "diff": before, "cell_id": "cell-0"});
        input[name] = json!(value);
        let disk = Disk::of(&[("f", &before)]);
        predict(&tool, &input, Path::new("/w"), &|path| disk.read(path));
        predict("apply_patch", &json!({"patch": patch}), Path::new("/w"), &|path| disk.read(path));
    }
}
