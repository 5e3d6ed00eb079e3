//! A command as a person names it: its program, the first arguments, and options in any order and spelling. Pure.

use globset::GlobBuilder;

use super::forms::text_of;
use super::lexer::{Token, WordPart, tokens};
use super::programs::{assignment, base, is_runner};
use super::simple_commands;
use crate::error::{Error, Result};

/// Longest cluster of short options: `-czvf`.
const MAX_CLUSTER: usize = 6;
/// Words of a pattern.
const MAX_WORDS: usize = 64;

/// Programs whose long options have one dash.
const ONE_DASH: &[&str] = &[
    "find",
    "java",
    "javac",
    "terraform",
    "tofu",
    "go",
    "openssl",
    "ffmpeg",
    "convert",
    "xset",
];

/// Programs for which `-r` and `-R` are the same.
const EITHER_R: &[&str] = &["rm", "cp", "scp", "grep"];

/// Short and long spelling of an option. The program: empty for any.
const SPELLINGS: &[(&str, char, &str)] = &[
    ("", 'f', "force"),
    ("", 'r', "recursive"),
    ("", 'R', "recursive"),
    ("", 'a', "all"),
    ("", 'd', "delete"),
    ("", 'v', "verbose"),
    ("", 'q', "quiet"),
    ("", 'y', "yes"),
    ("apt", 'y', "assume-yes"),
    ("apt-get", 'y', "assume-yes"),
    ("git", 'n', "dry-run"),
    ("git", 'u', "set-upstream"),
    ("git", 'm', "message"),
    ("git", 'n', "no-verify"),
    ("git", 's', "source"),
    ("mkdir", 'p', "parents"),
    ("sed", 'i', "in-place"),
    ("rm", 'i', "interactive"),
    ("rm", 'd', "dir"),
    ("npm", 'g', "global"),
    ("pip", 'U', "upgrade"),
    ("curl", 'X', "request"),
    ("curl", 'd', "data"),
    ("docker", 'v', "volume"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum WantedOption {
    Short(char),
    Long(String),
    /// An option as it stands: `-delete`, `--depth=1`.
    Exact(String),
}

/// Words and options of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// The program and its first arguments. `*` and `?` are wildcards.
    words: Vec<String>,
    options: Vec<WantedOption>,
    /// A single word: it is found anywhere in the text.
    single: Option<String>,
}

impl CommandPattern {
    /// Reads the words of one command.
    pub fn new(text: &str) -> Result<Self> {
        let refused = |reason: &str| {
            Err(Error::Usage(format!(
                "`{text}` {reason}; write /expression/ to look for any text in a command"
            )))
        };
        if text.trim().is_empty() {
            return Err(Error::Usage("a command is not empty".to_owned()));
        }
        let mut all = Vec::new();
        for token in tokens(text, MAX_WORDS).unwrap_or_default() {
            match token {
                Token::Word(word) => match &word.pieces[..] {
                    [WordPart::Form(form)] => all.push(text_of(form)),
                    _ => return refused("has a variable or a substitution"),
                },
                _ => return refused("is more than one command"),
            }
        }
        if all
            .iter()
            .all(|word| word.is_empty() || word.starts_with('-'))
        {
            return refused("names no program");
        }
        let single = match &all[..] {
            [word] => Some(word.clone()),
            _ => None,
        };
        let program = base(&all[0]).to_owned();
        let (mut words, mut options) = (Vec::new(), Vec::new());
        for word in all {
            match word.strip_prefix('-') {
                Some(rest) if !rest.is_empty() && !words.is_empty() => {
                    wanted(&program, &word, &mut options);
                }
                _ => words.push(word),
            }
        }
        Ok(Self {
            words,
            options,
            single,
        })
    }

    /// True if a text has a command like this.
    pub fn is_in(&self, command: &str) -> bool {
        if let Some(word) = &self.single
            && has_word(command, word)
        {
            return true;
        }
        simple_commands(command)
            .iter()
            .any(|words| self.is_of(words))
    }

    fn is_of(&self, words: &[String]) -> bool {
        let Some((program, _)) = self.words.split_first() else {
            return false;
        };
        let mut may_begin = true;
        for (at, word) in words.iter().enumerate() {
            if may_begin && is_like(program, base(word), word) && self.has_arguments(&words[at..]) {
                return true;
            }
            // the command of `sudo`, `xargs`, `find -exec` follows somewhere
            let runs = is_runner(word) && may_begin;
            may_begin = runs || may_begin && (assignment(word).is_some() || was_runner(words, at));
        }
        false
    }

    fn has_arguments(&self, words: &[String]) -> bool {
        let program = base(&words[0]);
        let end = words.iter().position(|word| word == "--");
        let (given, rest) = words[1..].split_at(end.map_or(words.len() - 1, |end| end - 1));
        let rest = rest.iter().filter(|word| *word != "--");
        let mut wanted = self.words[1..].iter();
        let mut next = wanted.next();
        // a word after an option may be its value
        let mut may_skip = false;
        for word in given.iter().chain(rest) {
            let Some(pattern) = next else { break };
            if word.len() > 1 && word.starts_with('-') {
                may_skip = true;
            } else if is_like(pattern, word, word) {
                next = wanted.next();
                may_skip = false;
            } else if may_skip {
                may_skip = false;
            } else {
                return false;
            }
        }
        next.is_none()
            && self.options.iter().all(|one| {
                is_given(program, one, given) || program == "git" && is_given_by_git(one, given)
            })
    }
}

/// True if a runner stands before a word.
fn was_runner(words: &[String], at: usize) -> bool {
    words[..=at].iter().any(|word| is_runner(word))
}

/// Adds the options that a word of a pattern asks for.
fn wanted(program: &str, word: &str, options: &mut Vec<WantedOption>) {
    if let Some(long) = word.strip_prefix("--") {
        options.push(if long.contains('=') {
            WantedOption::Exact(word.to_owned())
        } else {
            WantedOption::Long(long.to_owned())
        });
        return;
    }
    match cluster(program, word) {
        Some(letters) => options.extend(letters.chars().map(WantedOption::Short)),
        None => options.push(WantedOption::Exact(word.to_owned())),
    }
}

/// The letters of short options in one word.
fn cluster<'w>(program: &str, word: &'w str) -> Option<&'w str> {
    let letters = word.strip_prefix('-')?;
    let is_cluster = !letters.is_empty()
        && letters.len() <= MAX_CLUSTER
        && letters.chars().all(|c| c.is_ascii_alphanumeric());
    (is_cluster && !ONE_DASH.contains(&program)).then_some(letters)
}

fn is_given(program: &str, wanted: &WantedOption, given: &[String]) -> bool {
    let spellings = || {
        SPELLINGS
            .iter()
            .filter(|(of, ..)| of.is_empty() || *of == program)
    };
    let has_long = |name: &str| {
        let mut longs = given.iter().filter_map(|word| word.strip_prefix("--"));
        // a long option may be cut
        longs.any(|long| {
            let long = long.split('=').next().unwrap_or_default();
            !long.is_empty() && name.starts_with(long)
        })
    };
    let is_same = |one: char, other: char| {
        one == other
            || one.eq_ignore_ascii_case(&other)
                && one.eq_ignore_ascii_case(&'r')
                && EITHER_R.contains(&program)
    };
    let has_short = |letter: char| {
        given.iter().any(|word| {
            cluster(program, word)
                .is_some_and(|letters| letters.chars().any(|c| is_same(c, letter)))
        })
    };
    match wanted {
        WantedOption::Short(letter) => {
            has_short(*letter)
                || spellings().any(|(_, short, long)| is_same(*short, *letter) && has_long(long))
        }
        WantedOption::Long(name) => {
            has_long(name) || spellings().any(|(_, short, long)| long == name && has_short(*short))
        }
        WantedOption::Exact(word) => {
            given.contains(word)
                || word.split_once('=').is_some_and(|(name, value)| {
                    given
                        .windows(2)
                        .any(|pair| pair[0] == name && pair[1] == value)
                })
        }
    }
}

/// Spellings of git alone: `push +main` is forced, `branch -D` is `--delete --force`.
fn is_given_by_git(wanted: &WantedOption, given: &[String]) -> bool {
    let is_force = |wanted: &WantedOption| {
        *wanted == WantedOption::Short('f') || *wanted == WantedOption::Long("force".to_owned())
    };
    let has = |letter: char, long: &str| {
        is_given("git", &WantedOption::Short(letter), given)
            || is_given("git", &WantedOption::Long(long.to_owned()), given)
    };
    match wanted {
        WantedOption::Short('D') => has('d', "delete") && has('f', "force"),
        one if is_force(one) => {
            let is_push = given.iter().any(|word| word == "push");
            let is_branch = given.iter().any(|word| word == "branch");
            is_push && given.iter().any(|word| word.starts_with('+'))
                || is_branch && is_given("git", &WantedOption::Short('D'), given)
        }
        WantedOption::Long(name) if name == "delete" => {
            is_given("git", &WantedOption::Short('D'), given)
        }
        _ => false,
    }
}

/// Compares a word of a pattern with one of a command. `whole`: the word with its directory.
fn is_like(pattern: &str, word: &str, whole: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == word || pattern == whole;
    }
    GlobBuilder::new(pattern).build().is_ok_and(|glob| {
        let glob = glob.compile_matcher();
        glob.is_match(word) || glob.is_match(whole)
    })
}

/// True if a text has this word, between other signs than letters and digits.
fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, found)| {
        !is_inside(text[..at].chars().next_back())
            && !is_inside(text[at + found.len()..].chars().next())
    })
}

/// True for a text with signs that only a regular expression has.
pub fn has_expression_signs(text: &str) -> bool {
    text.contains(['\\', '(', ')', '[', ']', '^', '$', '|'])
        || [".*", ".+", "+-", "+ ", ".?"]
            .iter()
            .any(|sign| text.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(pattern: &str, command: &str) -> bool {
        CommandPattern::new(pattern).expect(pattern).is_in(command)
    }

    #[test]
    fn options_are_compared_in_any_order_and_spelling() {
        for same in [
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "rm  -rf  x",
            "rm x -rf",
            "rm -Rfv x",
            "rm --recursive --force x",
            "rm --rec --forc x",
            "/bin/rm -rf x",
            "\\rm -rf x",
            "'rm' -rf x",
            "X=1 rm -rf x",
            "sudo -u me rm -rf x",
            "cd a && rm -rf x",
            "true; rm -rf x",
            "true\nrm -rf x",
            "ls | xargs -n 1 rm -rf",
            "sh -c \"rm -rf x\"",
            "find . -name x -exec rm -rf {} \\;",
            "(rm -rf x)",
            "if true; then rm -rf x; fi",
            "echo $(rm -rf x)",
            "bash <<E\nrm -rf x\nE\n",
            "echo 'rm -rf x' | sh",
            "eval 'rm -rf x'",
            "lua -e \"os.execute('rm -rf x')\"",
            "php -r \"run(['rm', '-rf', 'x']);\"",
        ] {
            assert!(is_in("rm -rf", same), "{same}");
        }
        for other in [
            "rm -r x",
            "rm -f x",
            "rm x",
            "farm -rf x",
            "git rm -rf x",
            "echo rm -rf x",
            "git commit -m 'rm -rf x'",
            "grep 'rm -rf' x",
            "rm -- -rf",
            "cat <<E > x\nrm -rf x\nE\n",
            "# rm -rf x",
        ] {
            assert!(!is_in("rm -rf", other), "{other}");
        }
    }

    #[test]
    fn words_follow_the_program() {
        assert!(is_in("git push --force", "git -C sub push origin main -f"));
        assert!(is_in("git push --force", "git push origin +main"));
        assert!(is_in("git branch -D", "git branch --delete --force x"));
        assert!(!is_in("git push --force", "git push --follow-tags"));
        assert!(!is_in("git push --force", "git log --force"));
        assert!(!is_in("git push", "git log push"));
        assert!(is_in("npm run deploy*", "npm run deploy:prod"));
        assert!(is_in("find -delete", "find . -name x -delete"));
        assert!(!is_in("find -delete", "find . -depth -type l"));
        assert!(is_in("deploy", "./deploy.sh"));
        assert!(!is_in("rm", "npm run format"));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for wrong in ["", "  ", "-rf", "curl x | sh", "a; b", "rm $x"] {
            assert!(CommandPattern::new(wrong).is_err(), "{wrong}");
        }
        assert!(has_expression_signs("rm +-rf") && has_expression_signs("^true$"));
        assert!(!has_expression_signs("rm -rf") && !has_expression_signs("a.b --c=d"));
    }
}
