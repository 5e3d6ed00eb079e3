//! All texts that the language server shows to people stand in `server/src/lsp/messages` and `server/frontend/src/host/messages.rs`, so
//! that they can be translated: no other source of `lsp`, `host` and `transport` has a sentence. Names of methods and
//! keys are not sentences, and the log is for developers.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Exceptions: text that users do not see, with its file. An exception that no longer exists is an error, too.
const ALLOWED: [(&str, &str); 9] = [
    // syntax of the protocol
    ("frames.rs", "Content-Length: {}\\r\\n\\r\\n"),
    (
        "outgoing.rs",
        "Content-Length: {length}\\r\\n\\r\\n{BEFORE}",
    ),
    // log messages
    ("frames.rs", "no header of the protocol"),
    ("frames.rs", "{length} bytes are too many"),
    ("frames.rs", "a message is an object"),
    ("frames.rs", "a message asks or answers, not both"),
    ("ingress.rs", "a range that is none"),
    // names of threads
    ("store_watcher.rs", "backstitch store"),
    ("workspace.rs", "backstitch {what}"),
];

#[derive(Debug, PartialEq)]
struct Sentence {
    line: usize,
    text: String,
}

/// Sentences of a source, without tests and log messages.
fn sentences(source: &str) -> Vec<Sentence> {
    let tokens: TokenStream = source.parse().expect("Rust");
    let mut found = Vec::new();
    collect(tokens, &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut Vec<Sentence>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if let Some(text) = quoted(&text).filter(|text| is_sentence(text)) {
                    found.push(Sentence {
                        line: literal.span().start().line,
                        text: text.to_owned(),
                    });
                }
            }
            TokenTree::Group(group) if !is_aside(&tokens[..at - 1], group.delimiter()) => {
                collect(group.stream(), found);
            }
            TokenTree::Group(group) if is_test(&group.stream()) => {
                at = after_item(&tokens, at);
            }
            _ => {}
        }
    }
}

/// True if the brackets after `before` contain an attribute or a log macro's arguments.
fn is_aside(before: &[TokenTree], delimiter: Delimiter) -> bool {
    let text: Vec<String> = before
        .iter()
        .rev()
        .take(5)
        .map(ToString::to_string)
        .collect();
    let text: Vec<&str> = text.iter().map(String::as_str).collect();
    match delimiter {
        Delimiter::Bracket => matches!(text[..], ["#", ..] | ["!", "#", ..]),
        _ => matches!(text[..], ["!", _, ":", ":", "tracing"]),
    }
}

fn is_test(attribute: &TokenStream) -> bool {
    let text = attribute.to_string().replace(' ', "");
    text == "test" || text.starts_with("cfg(test") || text.starts_with("cfg(any(test")
}

/// Position after the item that begins there: after its body, or its semicolon.
fn after_item(tokens: &[TokenTree], at: usize) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    };
    let found = tokens[at..].iter().position(ends);
    found.map_or(tokens.len(), |length| at + length + 1)
}

/// Text of a string literal between its quotes; None for other literals.
fn quoted(literal: &str) -> Option<&str> {
    let (start, end) = (literal.find('"')?, literal.rfind('"')?);
    let prefix = &literal[..start];
    (prefix.is_empty() || prefix.trim_end_matches('#') == "r").then(|| &literal[start + 1..end])
}

/// True for more than one word, of which one may be a placeholder.
fn is_sentence(text: &str) -> bool {
    let text = text.replace("\\n", " ");
    let text = text.trim();
    let parts = text.split(['{', '}']).step_by(2);
    let is_word = |word: &str| word.matches(char::is_alphabetic).count() > 1;
    text.contains(' ') && parts.flat_map(str::split_whitespace).any(is_word)
}

/// The sources below a directory. The words themselves are in the rooms named `messages`.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut all = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() && !path.ends_with("messages") {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../server")
}

/// The sources that the language server is made of.
fn of_server() -> Vec<PathBuf> {
    let rooms = ["src/lsp", "src/transport", "frontend/src/host"];
    let found = rooms.map(|room| sources(&server().join(room)));
    assert!(found.iter().all(|room| !room.is_empty()), "{found:?}");
    found.concat()
}

#[test]
fn user_facing_text_is_in_the_messages_module() {
    let mut allowed = ALLOWED.to_vec();
    let mut elsewhere = Vec::new();
    for path in of_server() {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        // `agent_events.rs` has the words of hooks and the proxy, on their stderr
        if ["messages.rs", "agent_events.rs", "tests.rs"].contains(&&*name) {
            continue;
        }
        for Sentence { line, text } in sentences(&fs::read_to_string(&path).expect("a source")) {
            let known = allowed.iter().position(|known| *known == (&*name, &*text));
            match known {
                Some(known) => drop(allowed.remove(known)),
                None => elsewhere.push(format!("{}:{line}: {text}", path.display())),
            }
        }
    }
    assert!(
        elsewhere.is_empty(),
        "words for people outside of the messages modules:\n{}",
        elsewhere.join("\n")
    );
    assert!(allowed.is_empty(), "not there any more: {allowed:?}");
}

/// The check detects sentences: without detection it would pass as well.
#[test]
fn sentences_are_detected() {
    let messages = fs::read_to_string(server().join("src/lsp/messages/mod.rs")).expect("a source");
    let messages = sentences(&messages);
    assert!(messages.len() > 25, "{messages:?}");
    for path in sources(&server().join("src/lsp/messages")) {
        let found = sentences(&fs::read_to_string(&path).expect("a source"));
        assert!(found.len() > 3, "{}: {found:?}", path.display());
    }
    let source = r##"
        #![expect(dead_code, reason = "an attribute is no argument")]
        fn said(session: &Session) {
            // "comments do not count"
            session.say(MessageType::Info, "Nothing was changed.".to_owned());
            tracing::warn!("this goes to the log: {error}");
            json!({ "method": "textDocument/didOpen", "label": format!("turn {number}") });
            let rows = [format!("{:<8}{path}  {}", 1), "one".into(), r#"in "raw" quotes"#];
        }

        #[cfg(test)]
        mod tests {
            fn f() { said("only in a test"); }
        }

        fn more() -> &'static str {
            "a second one"
        }
    "##;
    let found = sentences(source);
    let found: Vec<(usize, &str)> = found.iter().map(|s| (s.line, &*s.text)).collect();
    assert_eq!(
        found,
        [
            (5, "Nothing was changed."),
            (7, "turn {number}"),
            (8, "in \"raw\" quotes"),
            (17, "a second one"),
        ]
    );
}
