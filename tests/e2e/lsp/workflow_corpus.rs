//! Workflows and actions of published packages in an editor: a problem is shown where GitHub's parser finds one, also after a key
//! was typed.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, Editor};
use super::workflow_problems::problems;
use crate::jobs::act::packages;
use crate::jobs::real::{MIN_WORKFLOWS, script};
use crate::support::World;
use crate::support::rng::Rng;

/// Edits of each file.
const EDITS: usize = 3;

/// Beginnings of messages that GitHub's service has, and its parser for editors does not have.
const SERVICE: [&str; 4] = [
    "The identifier '",
    "Expected format {org}/{repo}",
    "Matrix ",
    ABSENT,
];

/// The files of the corpus have other names, so that those that they call are absent.
const ABSENT: &str = "Unable to find reusable workflow";

/// Line and column, from 1.
type Place = (u64, u64);

/// A file of the corpus.
struct Published {
    name: String,
    path: String,
    text: String,
    is_action: bool,
}

fn corpus(packages: &Path) -> Vec<Published> {
    let files = script("corpus.mjs", packages, b"");
    let published = |(number, file): (usize, &Value)| {
        let is_action = file["kind"] == "action";
        let path = if is_action {
            format!("actions/{number:04}/action.yml")
        } else {
            format!(".github/workflows/{number:04}.yml")
        };
        let text = file["text"].as_str().expect("a text").to_owned();
        let name = format!("{} {}", file["package"], file["file"]);
        Published {
            name,
            path,
            text,
            is_action,
        }
    };
    files.iter().enumerate().map(published).collect()
}

/// The places that GitHub's parser names in these texts, and true for a text that is not YAML.
fn githubs(packages: &Path, texts: &[(bool, String)]) -> Vec<(Vec<Place>, bool)> {
    let mut questions = String::new();
    for (is_action, text) in texts {
        let kind = if *is_action { "action" } else { "workflow" };
        let _ = writeln!(questions, "{}", json!({ "kind": kind, "text": text }));
    }
    let answers = script("oracle.mjs", packages, questions.as_bytes());
    let places = |answer: &Value| {
        let all = answer["problems"].as_array().expect("problems").iter();
        // a problem of the whole file stands at its beginning
        let number = |of: &Value| of.as_u64().unwrap_or(1);
        let mut places: Vec<Place> = all
            .map(|problem| (number(&problem["line"]), number(&problem["column"])))
            .collect();
        places.sort_unstable();
        (places, answer["syntax"] == true)
    };
    answers.iter().map(places).collect()
}

/// Places of diagnostics. The client counts in UTF-16 units, as GitHub's parser does.
fn places(found: &[Value]) -> Vec<Place> {
    let number = |of: &Value| of.as_u64().expect("a number") + 1;
    let place = |problem: &Value| {
        let start = &problem["range"]["start"];
        (number(&start["line"]), number(&start["character"]))
    };
    let mut places: Vec<Place> = found.iter().map(place).collect();
    places.sort_unstable();
    places
}

#[test]
fn published_files_have_no_false_problem() {
    let Some(packages) = packages("lsp::published_files") else {
        return;
    };
    let files = corpus(&packages);
    assert!(files.len() >= MIN_WORKFLOWS, "{}", files.len());
    let texts: Vec<(bool, String)> = files
        .iter()
        .map(|file| (file.is_action, file.text.clone()))
        .collect();
    let world = World::git();
    let mut client = Client::start(&world, Editor::Vscode);
    for (file, (theirs, _)) in files.iter().zip(githubs(&packages, &texts)) {
        client.open_with(&file.path, &file.text);
        let mut found = problems(&mut client, &file.path);
        found.retain(|problem| problem["message"] != ABSENT);
        assert_eq!(places(&found), theirs, "{}: {found:#?}", file.name);
        client.close(&file.path);
    }
    client.leave();
}

/// An edit of one line: the bytes that it replaces, and the new text. None if the line has no key.
fn edit(text: &str, rng: &mut Rng) -> Option<(std::ops::Range<usize>, String)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let number = rng.below(lines.len());
    let start: usize = lines[..number].iter().map(|line| line.len()).sum();
    let line = lines[number];
    let colon = line.find(": ").or_else(|| line.find(":\n"))?;
    let key = line[..colon].trim_start_matches([' ', '-']);
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if key.is_empty() || !key.chars().all(is_key) {
        return None;
    }
    let end = start + line.len();
    Some(match rng.below(4) {
        0 => (start + colon..start + colon, "z".to_owned()),
        1 => (start..end, String::new()),
        2 => (start..start, line.to_owned()),
        _ => (start + colon + 1..end, " ${{ wrong.name }}\n".to_owned()),
    })
}

#[test]
fn typed_problems_are_where_github_finds_them() {
    let Some(packages) = packages("lsp::typed_problems") else {
        return;
    };
    let mut rng = Rng::new(7);
    let world = World::git();
    let mut client = Client::start(&world, Editor::Vscode);
    let (mut names, mut ours, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for file in corpus(&packages) {
        client.open_with(&file.path, &file.text);
        for _ in 0..EDITS {
            let Some((bytes, new)) = edit(client.text(&file.path), &mut rng) else {
                continue;
            };
            let old = client.text(&file.path)[bytes.clone()].to_owned();
            client.replace(&file.path, bytes.clone(), &new);
            ours.push(problems(&mut client, &file.path));
            texts.push((file.is_action, client.text(&file.path).to_owned()));
            names.push(format!("{}: {new:?} for {old:?}", file.name));
            client.replace(&file.path, bytes.start..bytes.start + new.len(), &old);
        }
        assert_eq!(client.text(&file.path), file.text);
        client.close(&file.path);
    }
    client.leave();
    let (mut equal, mut wrong, mut different) = (0, 0, String::new());
    for (place, (theirs, is_syntax)) in githubs(&packages, &texts).into_iter().enumerate() {
        // the package has other words and places for a text that is not YAML
        if is_syntax {
            assert!(!ours[place].is_empty(), "{}", names[place]);
            continue;
        }
        let is_service = |problem: &&Value| {
            let message = problem["message"].as_str().expect("a message");
            SERVICE.iter().any(|start| message.starts_with(start))
        };
        let found: Vec<Value> = ours[place]
            .iter()
            .filter(|one| !is_service(one))
            .cloned()
            .collect();
        if places(&found) == theirs {
            equal += 1;
            wrong += usize::from(!theirs.is_empty());
        } else {
            let _ = writeln!(different, "{}: {theirs:?} and {found:#?}", names[place]);
        }
    }
    println!(
        "{equal} of {} texts are equal, {wrong} of them with problems",
        texts.len()
    );
    assert!(different.is_empty(), "{different}");
    assert!(wrong >= MIN_WORKFLOWS, "{wrong}");
}
