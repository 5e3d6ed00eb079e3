//! Calls in the code of any language that start a program: `os.system('…')`, `execSync("…")`. Pure.

use super::lexer::{Token, Word, WordPart};

/// Functions that run a command, or a program with arguments. The last name of a call.
const FUNCTIONS: &[&str] = &[
    "system",
    "popen",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "exec",
    "execSync",
    "execFile",
    "execFileSync",
    "execv",
    "execvp",
    "execl",
    "execlp",
    "execa",
    "execute",
    "spawn",
    "spawnSync",
    "spawnlp",
    "shell_exec",
    "passthru",
    "proc_open",
    "Command",
    "CommandContext",
    "ProcessBuilder",
    "system2",
];
/// Calls of one code that are looked at.
const MAX_CALLS: usize = 256;
/// Longest arguments of a call, in bytes.
const MAX_ARGUMENTS: usize = 16 << 10;

/// True if the tokens of a text are a call in code. A shell has no word directly before a bracket that is not closed at once.
pub(super) fn has_call(tokens: &[Token]) -> bool {
    tokens.windows(3).any(|three| {
        let [Token::Word(word), Token::Open, inside] = three else {
            return false;
        };
        matches!(inside, Token::Word(_)) && ends_with_function(word)
    })
}

fn ends_with_function(word: &Word) -> bool {
    match &word.pieces[..] {
        [.., WordPart::Form(form)] if !word.quoted => is_function(form),
        _ => false,
    }
}

/// True if a text ends with the name of such a function.
fn is_function(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = text.trim_end_matches(is_name).len();
    FUNCTIONS.contains(&&text[start..])
}

/// Returns the texts between the brackets of the calls in a code that run a command.
pub(super) fn calls(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices('(') {
        if found.len() < MAX_CALLS && is_function(code[..at].trim_end_matches(' ')) {
            found.push(arguments(&code[at + 1..]));
        }
    }
    found
}

/// The text up to the bracket that closes a call.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quote, mut is_escaped) = (1, None, false);
    for (at, c) in text.char_indices() {
        if at > MAX_ARGUMENTS {
            return &text[..at];
        }
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (_, '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return &text[..at];
                }
            }
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::lexer::tokens;
    use super::*;

    #[test]
    fn calls_that_run_commands() {
        let code = "import os\nos.system('a (b')\nprint('c')\nsubprocess.run([\n'd', f(1)])\nexec.Command(\"e\")";
        assert_eq!(calls(code), ["'a (b'", "[\n'd', f(1)]", "\"e\""]);
        assert_eq!(calls("rerun('a'); run"), [""; 0]);
    }

    #[test]
    fn code_is_told_from_a_command() {
        let is_code = |text: &str| has_call(&tokens(text, 100).expect("short"));
        for code in ["os.system('a b')", "x;\nrequire('c').execSync(\"a\")"] {
            assert!(is_code(code), "{code}");
        }
        for command in [
            "run() { a; }",
            "echo \"os.system('a b')\"",
            "grep 'run(' a",
            "run; (a)",
            "a=(b c)",
        ] {
            assert!(!is_code(command), "{command}");
        }
    }
}
