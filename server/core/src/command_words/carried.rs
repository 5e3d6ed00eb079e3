//! Commands that stand in the arguments of a program which runs them: `git bisect run`, `npm exec`, `tar --to-command`. Tables,
//! and how such an argument is told from the others. Pure.

use super::programs::{assignment, base};

/// Commands of a program that run the words which follow. Two words: a command and its own command.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("git", &["submodule", "foreach"]),
    ("git", &["bisect", "run"]),
    ("npm", &["exec"]),
    ("npm", &["x"]),
    ("pnpm", &["exec"]),
    ("pnpm", &["dlx"]),
    ("yarn", &["exec"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("lerna", &["exec"]),
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("micromamba", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("rye", &["run"]),
    ("asdf", &["exec"]),
    ("pyenv", &["exec"]),
    ("rbenv", &["exec"]),
    ("opam", &["exec"]),
    ("stack", &["exec"]),
    ("cabal", &["exec"]),
    ("mix", &["cmd"]),
    ("op", &["run"]),
    ("doppler", &["run"]),
    ("aws-vault", &["exec"]),
    ("heroku", &["run"]),
    ("lxc", &["exec"]),
    ("incus", &["exec"]),
    ("oc", &["exec"]),
    ("oc", &["rsh"]),
    ("crictl", &["exec"]),
    ("machinectl", &["shell"]),
    ("distrobox", &["enter"]),
    ("toolbox", &["run"]),
    ("vagrant", &["ssh"]),
    ("minikube", &["ssh"]),
    ("gcloud", &["compute", "ssh"]),
    ("ip", &["netns", "exec"]),
    ("adb", &["shell"]),
    ("hdc", &["shell"]),
];

/// Options whose value is a command, of a program or of one of its commands. One letter is a short option.
const OPTIONS: &[(&str, &str, &[&str])] = &[
    ("git", "rebase", &["x", "exec"]),
    ("git", "difftool", &["x", "extcmd"]),
    (
        "git",
        "filter-branch",
        &[
            "tree-filter",
            "index-filter",
            "env-filter",
            "msg-filter",
            "parent-filter",
            "commit-filter",
            "tag-name-filter",
            "setup",
        ],
    ),
    ("cargo", "watch", &["s", "shell"]),
    ("fly", "ssh", &["C", "command"]),
    ("flyctl", "ssh", &["C", "command"]),
    ("env", "", &["S", "split-string"]),
    ("sg", "", &["c"]),
    ("su", "", &["command"]),
    ("runuser", "", &["command"]),
    ("script", "", &["command"]),
    (
        "tar",
        "",
        &[
            "checkpoint-action",
            "to-command",
            "I",
            "use-compress-program",
        ],
    ),
    ("rsync", "", &["e", "rsh", "rsync-path"]),
    ("ssh", "", &["o"]),
    ("man", "", &["P", "pager"]),
    ("vi", "", &["c", "cmd"]),
    ("vim", "", &["c", "cmd"]),
    ("nvim", "", &["c", "cmd"]),
    ("ansible", "", &["a", "args"]),
    ("nc", "", &["c", "e"]),
    ("ncat", "", &["c", "e", "sh-exec", "exec"]),
    ("make", "", &["eval"]),
    ("gmake", "", &["eval"]),
    ("expect", "", &["c"]),
    ("fzf", "", &["preview"]),
    ("just", "", &["c", "command"]),
    ("gdb", "", &["eval-command"]),
    ("lldb", "", &["o", "one-line"]),
    ("sbatch", "", &["wrap"]),
];

/// Signs before the command in the value of such an option, or in an argument.
const BEFORE_COMMANDS: &[&str] = &[
    "exec=",
    "EXEC:",
    "SYSTEM:",
    "ProxyCommand=",
    "ProxyCommand ",
    "LocalCommand=",
    ":!",
    "!",
    "shell ",
    "platform shell ",
];

/// Variables of the environment whose value a program runs. Each begins at any `_` of a longer name: `GIT_EDITOR`.
const VARIABLES: &[&str] = &[
    "EDITOR", "PAGER", "VISUAL", "BROWSER", "ASKPASS", "COMMAND", "DIFF",
];

/// Ends of the names of git's settings whose value is a command.
const SETTINGS: &[&str] = &[
    "editor",
    "pager",
    "sshcommand",
    "external",
    "command",
    "textconv",
    "driver",
    "cmd",
    "clean",
    "smudge",
    "process",
    "helper",
    "program",
    "fsmonitor",
    "difffilter",
    "askpass",
];

/// Returns the texts of the commands in the arguments of a program. `words` begins with the program.
pub(super) fn commands_in(words: &[String]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = base(program);
    let mut found = Vec::new();
    for (of, path) in SUBCOMMANDS {
        if *of != name {
            continue;
        }
        if let Some(rest) = after(arguments, path).filter(|rest| !rest.is_empty()) {
            // own options may come first, so that each word may begin the command
            found.push(format!("npx {}", shell_text(rest)));
        }
    }
    for (of, command, options) in OPTIONS {
        let is_meant =
            *of == name && (command.is_empty() || after(arguments, &[command]).is_some());
        if is_meant {
            let values = values(arguments, options).into_iter();
            found.extend(values.map(|value| bare(value).to_owned()));
        }
    }
    match name {
        "git" => git_settings(arguments, &mut found),
        "alias" => found.extend(
            arguments
                .iter()
                .filter_map(|word| Some(word.split_once('=')?.1.to_owned())),
        ),
        "socat" => found.extend(arguments.iter().map(|word| bare(word).to_owned())),
        "gdb" => found.extend(
            arguments
                .windows(2)
                .filter(|pair| ["-ex", "-iex"].contains(&pair[0].as_str()))
                .filter_map(|pair| {
                    BEFORE_COMMANDS
                        .iter()
                        .find_map(|sign| pair[1].strip_prefix(sign))
                })
                .map(str::to_owned),
        ),
        "vi" | "vim" | "nvim" => found.extend(
            arguments
                .iter()
                .filter_map(|word| Some(bare(word.strip_prefix('+')?).to_owned())),
        ),
        _ => {}
    }
    found
}

/// Returns the values of variables that a program runs, among the words before it.
pub(super) fn commands_in_variables(words: &[String]) -> Vec<String> {
    let is_run = |name: &str| {
        VARIABLES.iter().any(|end| {
            name.strip_suffix(end)
                .is_some_and(|start| start.is_empty() || start.ends_with('_'))
        })
    };
    let set = words.iter().filter_map(|word| assignment(word));
    set.filter(|(name, value)| is_run(name) && value.contains(' '))
        .map(|(_, value)| value.to_owned())
        .collect()
}

/// Joins words so that a shell reads the same ones.
fn shell_text(words: &[String]) -> String {
    let quoted = |word: &String| {
        let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The words after a command of a program. None: it is another command.
fn after<'w>(arguments: &'w [String], path: &[&str]) -> Option<&'w [String]> {
    let mut rest = arguments;
    for step in path {
        let is_option = |at: usize| rest[at].starts_with('-');
        // a word after an option may be its value
        let at = (0..rest.len()).find(|at| {
            rest[*at] == *step || !is_option(*at) && (*at == 0 || !is_option(*at - 1))
        })?;
        if rest[at] != *step {
            return None;
        }
        rest = &rest[at + 1..];
    }
    Some(rest)
}

/// The values of options: in the next word, after `=`, or directly after a letter.
fn values<'w>(arguments: &'w [String], options: &[&str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).map(String::as_str);
        for option in options {
            let is_short = option.len() == 1;
            let start = if is_short { "-" } else { "--" };
            let rest = word
                .strip_prefix(start)
                .and_then(|word| word.strip_prefix(option));
            let value = match rest {
                Some("") => next(),
                Some(rest) if !is_short => rest.strip_prefix('='),
                Some(rest) if rest.contains(' ') => Some(rest),
                _ if is_short && is_cluster(word) && word.ends_with(option) => next(),
                _ => None,
            };
            found.extend(value);
        }
    }
    found
}

/// True for several short options in one word.
fn is_cluster(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| letters.chars().all(|c| c.is_ascii_alphabetic()))
}

/// The command in the value of an option.
fn bare(value: &str) -> &str {
    let starts = BEFORE_COMMANDS.iter();
    let mut commands = starts.filter_map(|start| value.strip_prefix(start));
    commands.next().unwrap_or(value)
}

/// Adds the commands in settings that git is given, or is to keep.
fn git_settings(arguments: &[String], found: &mut Vec<String>) {
    let is_option = |word: &str| ["c", "-config"].map(Some).contains(&word.strip_prefix('-'));
    let given = arguments
        .windows(2)
        .filter(|pair| is_option(&pair[0]))
        .filter_map(|pair| pair[1].split_once('='));
    let kept = after(arguments, &["config"]).unwrap_or_default();
    let kept = kept
        .windows(2)
        .map(|pair| (pair[0].as_str(), pair[1].as_str()));
    for (key, value) in given.chain(kept) {
        let key = key.to_ascii_lowercase();
        let Some((section, _)) = key.split_once('.') else {
            continue;
        };
        let end = key.rsplit('.').next().unwrap_or_default();
        let is_command = ["alias", "pager"].contains(&section) || SETTINGS.contains(&end);
        match value.strip_prefix('!') {
            _ if !is_command => {}
            Some(command) => found.push(command.to_owned()),
            None if section == "alias" => found.push(format!("git {value}")),
            None => found.push(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_programs_that_run_commands() {
        let commands = |text: &str| {
            let words: Vec<String> = text.split('|').map(str::to_owned).collect();
            commands_in(&words)
        };
        assert_eq!(commands("git|rebase|-x|a b|HEAD~1"), ["a b"]);
        assert_eq!(commands("git|-C|x|rebase|--exec=a b"), ["a b"]);
        assert_eq!(commands("git|bisect|run|a|b c"), ["npx a 'b c'"]);
        assert_eq!(commands("git|-c|alias.z=!a b|z"), ["a b"]);
        assert_eq!(commands("git|-c|alias.z=a b|z"), ["git a b"]);
        assert_eq!(commands("git|config|--global|core.editor|a b"), ["a b"]);
        assert_eq!(commands("tar|--checkpoint-action=exec=a b"), ["a b"]);
        assert_eq!(commands("env|-vS|a b"), ["a b"]);
        for other in [
            "git|clean|-x|a b",
            "git|log|bisect|run|a",
            "git|-c|user.name=a b|commit",
            "git|config|user.name|a b",
            "git|rebase|-X|ours",
            "npm|run|exec",
            "tar|-f|a b",
        ] {
            assert_eq!(commands(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn variables_that_programs_run() {
        let commands = |word: &str| commands_in_variables(&[word.to_owned()]);
        assert_eq!(commands("GIT_EDITOR=a b"), ["a b"]);
        assert_eq!(commands("PAGER=a b"), ["a b"]);
        assert_eq!(commands("MY=a b"), [""; 0]);
        assert_eq!(commands("NOTEDITOR=a b"), [""; 0]);
    }
}
