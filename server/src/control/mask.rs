//! Secrets in the output of commands: it is masked before it is stored or shown. Pure but for [`secret_values`], which reads
//! the environment.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The text in place of a secret.
const MASK: &str = "***";
/// Letters of a value that can be told from ordinary words.
const SHORTEST: usize = 6;
/// Words in the name of a variable that holds a secret.
const NAMES: [&str; 9] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
];

/// Expressions with the part that stays: the name before a value, or nothing.
static SHAPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let shapes = [
        // private keys, whole or cut
        r"(?s)(?P<name>-----BEGIN [A-Z ]*PRIVATE KEY-----\n).*?(?P<rest>\n-----END [A-Z ]*PRIVATE KEY-----|\z)",
        // headers
        r"(?i-u:(?P<name>\b(?:bearer|basic)[ \t]+)[a-z0-9._~+/=-]{8,})",
        // the name and the password in a URL
        r#"(?P<name>[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']+(?P<rest>@)"#,
        // lines of an environment
        r"(?m)(?P<name>^(?:export )?[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY)[A-Z0-9_]*=)\S[^\n]*",
        // fields of JSON, YAML and code, with a text in quotes
        r#"(?i-u:(?P<name>[a-z0-9_-]*(?:token|secret|passwd|password|passphrase|api[_-]?key|access[_-]?key|private[_-]?key)[a-z0-9_-]*["']?[ \t]*[:=][ \t]*["']))[^\s"']{8,}"#,
        // tokens that their makers gave a beginning: GitHub, GitLab, npm, Slack, AWS, Anthropic and OpenAI, JSON Web Tokens
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|npm_[A-Za-z0-9]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|sk-[A-Za-z0-9_-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})",
    ];
    // tests compile all of them
    shapes
        .iter()
        .filter_map(|shape| Regex::new(shape).ok())
        .collect()
});

/// Returns the values of the environment whose names say that they are secret, the longest first.
pub fn secret_values() -> Vec<String> {
    let is_secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        NAMES.iter().any(|word| name.contains(word))
    };
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let value = value.into_string().ok()?;
        (is_secret(name.to_str()?) && value.trim().len() >= SHORTEST)
            .then(|| value.trim().to_owned())
    });
    let mut values: Vec<String> = variables.collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// Masks these values, and all that has the shape of a secret.
pub fn mask(text: &str, secrets: &[String]) -> String {
    let mut text = Cow::Borrowed(text);
    for secret in secrets
        .iter()
        .filter(|secret| text.contains(*secret))
        .collect::<Vec<_>>()
    {
        text = Cow::Owned(text.replace(secret, MASK));
    }
    for shape in &*SHAPES {
        let replaced = shape.replace_all(&text, |found: &regex::Captures<'_>| {
            let part = |name| found.name(name).map_or("", |part| part.as_str());
            format!("{}{MASK}{}", part("name"), part("rest"))
        });
        if let Cow::Owned(replaced) = replaced {
            text = Cow::Owned(replaced);
        }
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_secrets_are_masked() {
        assert_eq!(SHAPES.len(), 6);
        let cases = [
            ("GITHUB_TOKEN=abc\nHOME=/x\n", "GITHUB_TOKEN=***\nHOME=/x\n"),
            ("export DB_PASSWORD='a b'\n", "export DB_PASSWORD=***\n"),
            (
                "Authorization: Bearer abcdefghij",
                "Authorization: Bearer ***",
            ),
            ("https://me:hunter2@host/x", "https://me:***@host/x"),
            (
                r#"{"api_key": "0123456789", "n": 1}"#,
                r#"{"api_key": "***", "n": 1}"#,
            ),
            ("ghp_0123456789abcdefghijABCDEFGHIJ0123 x", "*** x"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nxx\n-----END RSA PRIVATE KEY-----\nb",
                "a\n-----BEGIN RSA PRIVATE KEY-----\n***\n-----END RSA PRIVATE KEY-----\nb",
            ),
            (
                "-----BEGIN PRIVATE KEY-----\nMIIE",
                "-----BEGIN PRIVATE KEY-----\n***",
            ),
        ];
        for (text, masked) in cases {
            assert_eq!(mask(text, &[]), masked);
            assert_eq!(mask(masked, &[]), masked, "twice");
        }
    }

    #[test]
    fn code_and_prose_stay() {
        for text in [
            "let token = parse(text)?;\n",
            "token: str, password: Optional[str] = None\n",
            "a bearer of news\n",
            "https://host:8080/path\n",
            "+    secret = settings[\"secret\"]\n",
            "",
        ] {
            assert_eq!(mask(text, &[]), text);
        }
    }

    #[test]
    fn values_of_the_environment_are_masked() {
        let secrets = ["hunter22".to_owned()];
        assert_eq!(mask("x=hunter22;hunter22", &secrets), "x=***;***");
    }
}
