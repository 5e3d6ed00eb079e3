//! Secrets in the output of commands: it is masked before it is stored or shown. Pure but for [`secret_values`], which reads
//! the environment.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The text in place of a secret.
const MASK: &str = "***";
/// Letters of a value that can be told from ordinary words.
const SHORTEST: usize = 6;

/// Ends of the names of variables and fields that hold a secret, in capitals.
const NAMES: [&str; 16] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "API_KEY",
    "APIKEY",
    "API-KEY",
    "ACCESS_KEY",
    "ACCESS-KEY",
    "PRIVATE_KEY",
    "PRIVATE-KEY",
    "AUTHTOKEN",
    "CREDENTIALS",
];

/// True of `GITHUB_TOKEN`, `apiKey` and `private-key`; not of `tokenizer`, `MAX_TOKENS` and `PASSWORD_FILE`, nor of `PWD`.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let plain = matches!(&*name, "PWD" | "OLDPWD" | "PASS");
    !plain && NAMES.iter().any(|end| name.ends_with(end))
}

/// True of a value that may be a secret: no path, no number, no expression of a program.
fn may_be_secret(value: &str) -> bool {
    let value = value.trim();
    let is_path = value.starts_with(['/', '~', '.']) || value.starts_with('$');
    let is_number = value.chars().all(|c| c.is_ascii_digit());
    let is_code = value.contains(['(', '{', '[', '<']);
    !(value.len() < 4 || is_path || is_number || is_code)
}

/// A shape of a secret, with the decision on what was found. Its groups are `name`, `value` and what stays around them.
struct Shape {
    found: Regex,
    is_it: Check,
}

/// Decides on something that was found.
type Check = fn(&Captures<'_>) -> bool;

fn part<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |part| part.as_str())
}

fn named(found: &Captures<'_>) -> bool {
    is_secret(part(found, "name")) && may_be_secret(part(found, "value"))
}

fn always(_: &Captures<'_>) -> bool {
    true
}

fn has_digit(found: &Captures<'_>) -> bool {
    part(found, "value").contains(|c: char| c.is_ascii_digit())
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let shapes: [(&str, Check); 7] = [
        // private keys, whole or cut, also as a text in JSON and in a diff
        (
            r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<value>[A-Za-z0-9+/=\s\\:,-]*?)(?P<after>-----END [A-Z ]*PRIVATE KEY-----|[^A-Za-z0-9+/=\s\\:,-]|\z)",
            always,
        ),
        // headers
        (
            r#"(?P<before>(?i-u:authorization|x-api-key|private-token)["']?[ \t]*[:=][ \t]*["']?(?:[A-Za-z]+[ \t]+)?)(?P<value>[^\s"']{6,})"#,
            |found| {
                let scheme = part(found, "value").to_ascii_lowercase();
                !matches!(&*scheme, "bearer" | "basic" | "digest")
            },
        ),
        (
            r"(?P<before>\b[Bb]earer[ \t]+)(?P<value>[A-Za-z0-9._~+/=-]{12,})",
            has_digit,
        ),
        // the password in a URL, or a token in place of a name
        (
            r#"(?P<before>[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^\s/:@"']*:)?)(?P<value>[^\s@"']{3,})(?P<after>@)"#,
            |found| part(found, "before").ends_with(':') || part(found, "value").len() >= 16,
        ),
        // assignments of an environment, wherever in a line
        (
            r#"(?m)(?P<name>\b[A-Z][A-Z0-9_]*)(?P<between>=)(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"'][^\n]*)"#,
            named,
        ),
        // fields of JSON, YAML, INI and code, with a text in quotes, or the whole rest of a line
        (
            r#"(?P<name>\b[A-Za-z_][A-Za-z0-9_.-]*)(?P<between>\\?["']?[ \t]*[:=][ \t]*\\?["'])(?P<value>[^"'\\\n]{4,})"#,
            named,
        ),
        // tokens that their makers gave a beginning: GitHub, GitLab, npm, Slack, AWS, Google, Stripe, Hugging Face, Anthropic and
        // OpenAI, JSON Web Tokens
        (
            r"(?P<before>\b|_)(?P<value>gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|npm_[A-Za-z0-9]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|[sr]k_(?:live|test)_\w{10,}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})",
            has_digit,
        ),
    ];
    // tests compile all of them
    let compiled = shapes.into_iter().filter_map(|(text, is_it)| {
        let found = Regex::new(text).ok()?;
        Some(Shape { found, is_it })
    });
    compiled.collect()
});

/// Returns the values of the environment whose names say that they are secret, the longest first.
pub fn secret_values() -> Vec<String> {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let value = value.into_string().ok()?;
        let value = value.trim();
        let is_it = is_secret(name.to_str()?) && value.len() >= SHORTEST && may_be_secret(value);
        is_it.then(|| value.to_owned())
    });
    let mut values: Vec<String> = variables.collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// Masks these values, and all that has the shape of a secret.
pub fn mask(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if text.contains(secret) {
            text = text.replace(secret, MASK);
        }
    }
    for shape in &*SHAPES {
        let replaced = shape.found.replace_all(&text, |found: &Captures<'_>| {
            if !(shape.is_it)(found) {
                return found[0].to_owned();
            }
            let quote = part(found, "value")
                .chars()
                .next()
                .filter(|c| "\"'".contains(*c));
            let quote = quote.map(String::from).unwrap_or_default();
            let [before, name, between, after] =
                ["before", "name", "between", "after"].map(|name| part(found, name));
            format!("{before}{name}{between}{quote}{MASK}{quote}{after}")
        });
        if let Cow::Owned(replaced) = replaced {
            text = replaced;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_secrets_are_masked() {
        assert_eq!(SHAPES.len(), 7);
        let cases = [
            (
                "GITHUB_TOKEN=abcd\nHOME=/x\n",
                "GITHUB_TOKEN=***\nHOME=/x\n",
            ),
            ("export DB_PASSWORD='a b'\n", "export DB_PASSWORD='***'\n"),
            ("+DB_PASSWORD=hunter2\n-A=1", "+DB_PASSWORD=***\n-A=1"),
            (
                "      - POSTGRES_PASSWORD=pg",
                "      - POSTGRES_PASSWORD=pg",
            ),
            (
                "      - POSTGRES_PASSWORD=pgpg",
                "      - POSTGRES_PASSWORD=***",
            ),
            ("file:3:API_KEY=abcd", "file:3:API_KEY=***"),
            (
                "declare -x MY_TOKEN=\"abcd\"",
                "declare -x MY_TOKEN=\"***\"",
            ),
            ("MYSQL_PWD=abcd DB_PASS=abcd", "MYSQL_PWD=***"),
            (
                "Authorization: Bearer abcdefghij",
                "Authorization: Bearer ***",
            ),
            (
                "authorization: token abcdefghij",
                "authorization: token ***",
            ),
            ("curl -H 'X-Api-Key: abcdef1'", "curl -H 'X-Api-Key: ***'"),
            ("https://me:hun/ter2@host/x", "https://me:***@host/x"),
            ("https://0123456789abcdef@host", "https://***@host"),
            (
                r#"{"api_key": "0123456789a", "n": 1}"#,
                r#"{"api_key": "***", "n": 1}"#,
            ),
            (r#"{"password": "correct horse"}"#, r#"{"password": "***"}"#),
            (r#"{\"apiKey\": \"abcdef\"}"#, r#"{\"apiKey\": \"***\"}"#),
            (
                "aws_secret_access_key = \"abcd\"",
                "aws_secret_access_key = \"***\"",
            ),
            ("ghp_0123456789abcdefghijABCDEFGHIJ0123 x", "*** x"),
            (
                "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nxx\n-----END RSA PRIVATE KEY-----\nb",
                "a\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nb",
            ),
            (
                "+-----BEGIN PRIVATE KEY-----\r\n+MIIE\r\n",
                "+-----BEGIN PRIVATE KEY-----***",
            ),
            (
                r#"{"private_key": "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", "n": 1}"#,
                r#"{"private_key": "***\n", "n": 1}"#,
            ),
        ];
        for (text, masked) in cases {
            assert_eq!(mask(text, &[]), masked);
        }
    }

    #[test]
    fn code_and_prose_stay() {
        for text in [
            "let token = parse(text)?;\n",
            "token: str, password: Optional[str] = None\n",
            "a bearer of news, a bearer certificate, basic authentication, Basic functionality\n",
            "https://host:8080/path\n",
            "+    secret = settings[\"secret\"]\n",
            r#"{"tokenizer": "bert-base-uncased", "token_type": "word"}"#,
            "secretName: \"my-tls-certificate\"",
            "MAX_TOKENS=4096\nTOKEN_RE=re.compile(r'x')\nPASSWORD_FILE=/run/x\nPWD=/work\n",
            "<i class=\"sk-fading-circle-dots\">",
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
