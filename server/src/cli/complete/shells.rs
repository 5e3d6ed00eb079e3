//! The shells that complete: the script that each loads, the line that it asks about, and candidates in its form.

use std::ffi::OsString;
use std::io;

use backstitch_core::{is_plain_in_shells, shell_word};
use clap_complete::Shell;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::{Elvish, EnvCompleter, Fish, Powershell};

use super::line::{Quote, Syntax, TypedWord, split};
use crate::render;

/// Set by the shell's script when it asks for completions.
pub const VARIABLE: &str = "BACKSTITCH_COMPLETE";
/// Columns that a description has at least, else it is left out.
const MIN_ABOUT: usize = 10;
/// Values of bash's `COMP_TYPE` with which it lists the candidates: after the second Tab, or by its settings.
const LISTED_BY_BASH: [&str; 3] = ["63", "33", "64"];

// Passes the line, since bash splits words at `=` and `:`. An answer is read line by line: no pattern in it is replaced.
const BASH: &str = r#"_backstitch() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(VARIABLE=bash PROGRAM -- "${COMP_LINE:0:COMP_POINT}" "$2" "$COMP_TYPE" "${COLUMNS:-80}" 2>/dev/null)
    compopt +o nospace 2>/dev/null
    if [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _backstitch backstitch
else
    complete -o nospace -o bashdefault -F _backstitch backstitch
fi
"#;

// `~/` stays out of the candidates, since zsh would quote it.
const ZSH: &str = r#"#compdef backstitch
_backstitch() {
    local -a found directories others
    local candidate value
    found=("${(@f)$(VARIABLE=zsh PROGRAM -- "${(@)words[1,CURRENT-1]}" "$QIPREFIX$PREFIX" 2>/dev/null)}")
    [[ -z $QIPREFIX ]] && compset -P '\~/'
    for candidate in $found; do
        value="${${candidate//\\:/}%%:*}"
        if [[ $value == */ ]]; then
            directories+=("${candidate%/}")
        else
            others+=("$candidate")
        fi
    done
    (( $#directories )) && _describe -V 'values' directories -S '/' -r '/'
    (( $#others )) && _describe -V 'values' others
}

compdef _backstitch backstitch
"#;

/// A line that a shell asks about.
pub struct TypedLine {
    shell: Shell,
    /// The words before the one that is completed, with the command.
    before: Vec<String>,
    current: TypedWord,
    bash: Bash,
}

/// The state of bash: it replaces only a part of a word, and lists candidates by itself.
#[derive(Default)]
struct Bash {
    /// The start of the current word, which stays in the line.
    kept: TypedWord,
    lists: bool,
    columns: usize,
}

impl TypedLine {
    /// Reads what the script of a shell passed to this process. None: this is an ordinary run.
    pub fn of_process() -> Option<Self> {
        let shell = std::env::var(VARIABLE).ok()?.parse().ok()?;
        let passed = std::env::args_os().skip_while(|word| word != "--").skip(1);
        let passed = passed.map(|word| word.to_string_lossy().into_owned());
        Some(Self::read(shell, passed.collect()))
    }

    fn read(shell: Shell, mut passed: Vec<String>) -> Self {
        let mut bash = Bash::default();
        let (mut words, current) = match shell {
            Shell::Bash => {
                let mut passed = passed.into_iter();
                let mut words = split(&passed.next().unwrap_or_default());
                let current = words.pop().unwrap_or_default();
                let replaced = passed.next().unwrap_or_default();
                let kept = current.raw.strip_suffix(&replaced).unwrap_or_default();
                bash.kept = TypedWord::read(kept, Syntax::Posix);
                let kind = passed.next().unwrap_or_default();
                bash.lists = LISTED_BY_BASH.contains(&kind.as_str());
                bash.columns = passed.next().and_then(|n| n.parse().ok()).unwrap_or(80);
                (words, current)
            }
            Shell::Zsh => {
                let current = passed.pop().unwrap_or_default();
                let words = passed.iter().map(|raw| TypedWord::read(raw, Syntax::Posix));
                (words.collect(), TypedWord::read(&current, Syntax::Posix))
            }
            // the last word is as it is typed, the others are not
            Shell::Fish => {
                let current = passed.pop().unwrap_or_default();
                (plain(passed), TypedWord::read(&current, Syntax::Fish))
            }
            _ => {
                let current = passed.pop().into_iter().collect();
                (plain(passed), plain(current).pop().unwrap_or_default())
            }
        };
        let home = std::env::home_dir();
        let before = words.drain(..).map(|word| word.expanded(home.as_deref()));
        Self {
            shell,
            before: before.collect(),
            current,
            bash,
        }
    }

    /// True after `--`, where no option follows.
    pub fn is_after_separator(&self) -> bool {
        self.before.iter().any(|word| word == "--")
    }

    /// Returns the value of an option that is typed before the current word.
    pub fn option(&self, name: &str) -> Option<&str> {
        let value = |(at, word): (usize, &String)| match word.strip_prefix(name)? {
            "" => self.before.get(at + 1).map(String::as_str),
            rest => {
                let start = word.len() - rest.len();
                self.before[at][start..].strip_prefix('=')
            }
        };
        self.before.iter().enumerate().find_map(value)
    }

    /// Returns the words, the last of which is completed.
    pub fn words(&self) -> Vec<OsString> {
        let words = self.before.iter().chain([&self.current.text]);
        words.map(OsString::from).collect()
    }

    /// Returns the candidates as the shell reads them. Options are offered where a dash is typed, or where nothing else fits.
    pub fn answer(&self, found: &[CompletionCandidate]) -> String {
        let found = found.iter().map(|candidate| {
            let about = candidate.get_help().map(ToString::to_string);
            let about = about.as_deref().and_then(|about| about.lines().next());
            let value = candidate.get_value().to_string_lossy().into_owned();
            (value, about.unwrap_or_default().to_owned())
        });
        // a name with a line end or a sequence for the terminal cannot be shown
        let mut found: Vec<(String, String)> = found
            .filter(|(value, _)| !value.chars().any(char::is_control))
            .collect();
        let is_option = |value: &str| value.starts_with('-');
        if self.current.text.is_empty() && found.iter().any(|(value, _)| !is_option(value)) {
            found.retain(|(value, _)| !is_option(value));
        }
        let lines: Vec<String> = match self.shell {
            Shell::Bash => self.bash.answer(found),
            Shell::Zsh => found.iter().filter_map(|one| self.in_zsh(one)).collect(),
            Shell::Elvish => found.into_iter().map(|(value, _)| value).collect(),
            Shell::PowerShell => found
                .into_iter()
                .map(|(value, about)| with_tab(&in_powershell(&value), &about))
                .collect(),
            _ => found
                .iter()
                .map(|(value, about)| with_tab(value, about))
                .collect(),
        };
        lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// zsh quotes by itself. A colon ends the value.
    fn in_zsh(&self, (value, about): &(String, String)) -> Option<String> {
        let value = if self.current.raw.starts_with("~/") {
            value.strip_prefix("~/")?
        } else {
            value
        };
        let value = value.replace('\\', "\\\\").replace(':', "\\:");
        Some(if about.is_empty() {
            value
        } else {
            format!("{value}:{}", about.replace('\\', "\\\\"))
        })
    }
}

impl Bash {
    /// bash inserts a candidate as it is into the line that it runs later. Names of branches, tags and files, which others
    /// make, are quoted for it. A list of several has descriptions, which bash does not insert.
    fn answer(&self, found: Vec<(String, String)>) -> Vec<String> {
        let found = found.into_iter().filter_map(|(value, about)| {
            let rest = value.strip_prefix(&self.kept.text)?;
            Some((in_bash(rest, self.kept.quote), about))
        });
        let found: Vec<(String, String)> = found.collect();
        if !self.lists || found.len() < 2 {
            return found.into_iter().map(|(value, _)| value).collect();
        }
        let widths = found.iter().map(|(value, _)| render::columns(value));
        let width = widths.max().unwrap_or_default();
        // brackets, two blanks, and one column that stays free
        let room = self.columns.saturating_sub(width + 5);
        let line = |(value, about): (String, String)| {
            if about.is_empty() || room < MIN_ABOUT {
                return value;
            }
            let blanks = " ".repeat(width - render::columns(&value) + 2);
            format!("{value}{blanks}({})", render::cut(&about, room))
        };
        found.into_iter().map(line).collect()
    }
}

/// Returns words that the shell has read already.
fn plain(words: Vec<String>) -> Vec<TypedWord> {
    let plain = |text: String| TypedWord {
        raw: text.clone(),
        text,
        quote: Quote::None,
    };
    words.into_iter().map(plain).collect()
}

fn with_tab(value: &str, about: &str) -> String {
    match about {
        "" => value.to_owned(),
        about => format!("{value}\t{about}"),
    }
}

/// Returns a text as it continues a word of bash that is in these quotes.
fn in_bash(text: &str, quote: Quote) -> String {
    let quoted = |c: char| match (quote, c) {
        (Quote::Single, '\'') => r"'\''".to_owned(),
        (Quote::Double, '"' | '\\' | '$' | '`') => format!("\\{c}"),
        // the history is searched in these quotes, too
        (Quote::Double, '!') => r#""'!'""#.to_owned(),
        // a home directory that is typed stays one
        (Quote::None, c) if !is_plain_in_shells(c) && c != '~' => format!("\\{c}"),
        _ => c.to_string(),
    };
    text.chars().map(quoted).collect()
}

/// PowerShell inserts a candidate as it is, too.
fn in_powershell(value: &str) -> String {
    // `@` and `,` have a meaning there
    let is_plain = |c: char| is_plain_in_shells(c) && !"@%,".contains(c);
    if value.chars().all(is_plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "''"))
    }
}

/// Returns the script that a shell loads. None: the shell has none.
pub fn script(shell: Shell, program: &str) -> io::Result<Option<Vec<u8>>> {
    let own = |text: &str| {
        let text = text.replace("VARIABLE", VARIABLE);
        text.replace("PROGRAM", &shell_word(program)).into_bytes()
    };
    let registered: &dyn EnvCompleter = match shell {
        Shell::Bash => return Ok(Some(own(BASH))),
        Shell::Zsh => return Ok(Some(own(ZSH))),
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        _ => return Ok(None),
    };
    let mut script = Vec::new();
    registered.write_registration(VARIABLE, "backstitch", "backstitch", program, &mut script)?;
    Ok(Some(script))
}
