//! A text as one word of a shell's command line: for commands that people copy, and for lines that setup writes. Pure.

/// Returns the text as one word that a shell takes as it is. One without signs of a shell stays as it is.
pub fn shell_word(text: &str) -> String {
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else if cfg!(windows) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// True for a character that has no meaning in any shell, wherever it stands.
pub fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_@%+=:,./-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_a_word_as_the_text() {
        for text in [
            "src/main.rs",
            "",
            "two words",
            "$(touch pwned)",
            "`id`",
            "a;b|c&d>e<f",
            "it's",
            "*",
            "~",
            "#x",
            "!x",
            "a\\b",
            "\"q\"",
            "{a,b}",
            "[x]",
            "héllo",
            "$HOME",
            "a\nb",
            "-x",
            "'",
        ] {
            let script = format!("printf %s {}", shell_word(text));
            let output = std::process::Command::new("sh")
                .arg("-c")
                .arg(script)
                .output();
            let output = output.expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
        assert_eq!(shell_word("src/main.rs"), "src/main.rs");
    }
}
