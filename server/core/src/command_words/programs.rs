//! Programs whose arguments have a meaning here: shells, those that run another command, change the directory, search a tree,
//! or only read. Tables, and how options are told from arguments. Pure.

/// Programs that run the command which follows, with their own options before it.
const RUNNERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "command",
    "builtin",
    "exec",
    "nohup",
    "nice",
    "ionice",
    "time",
    "timeout",
    "stdbuf",
    "setsid",
    "xargs",
    "tmux",
    "screen",
    "docker-compose",
    "nerdctl",
    "parallel",
    "watch",
    "strace",
    "ltrace",
    "chroot",
    "unshare",
    "busybox",
    "su",
    "runuser",
    "flock",
    "chrt",
    "taskset",
    "script",
    "find",
    "fd",
    "docker",
    "podman",
    "kubectl",
    "ssh",
    "npx",
    "bunx",
    "pnpx",
    "uv",
    "uvx",
    "poetry",
    "pipenv",
    "direnv",
    "mise",
    "nix",
    "nix-shell",
    "systemd-run",
    "firejail",
    "bwrap",
    "entr",
    "gosu",
    "hyperfine",
    "watchexec",
    "nodemon",
    "concurrently",
    "chokidar",
    "pkexec",
    "sg",
    "setpriv",
    "prlimit",
    "numactl",
    "cpulimit",
    "valgrind",
    "gdb",
    "perf",
    "unbuffer",
    "xvfb-run",
    "dbus-run-session",
    "fakeroot",
    "proot",
    "rlwrap",
    "torsocks",
    "proxychains",
    "proxychains4",
    "chronic",
    "nsenter",
    "lxc-attach",
    "toolbox",
    "wsl",
    "mosh",
    "pssh",
    "pdsh",
    "dotenv",
    "dotenvx",
    "env-cmd",
    "cross-env",
    "cross-env-shell",
    "caffeinate",
    "tini",
    "dumb-init",
    "catchsegv",
    "su-exec",
    "s6-setuidgid",
    "setarch",
    "linux32",
    "linux64",
    "eatmydata",
    "nocache",
    "faketime",
    "cgexec",
    "rr",
    "heaptrack",
    "mpirun",
    "mpiexec",
    "srun",
    "torify",
    "tsocks",
    "sem",
    "xterm",
    "gnome-terminal",
    "konsole",
    "alacritty",
    "kitty",
    "wezterm",
    "foot",
    "repeat",
    "system",
    "spawn",
];

/// Shells: the text after `-c` is a command.
const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "mksh",
    "ash",
    "fish",
    "rbash",
    "yash",
    "nu",
    "pwsh",
    "powershell",
    "cmd",
    "cmd.exe",
    "powershell.exe",
];

/// Options of `ssh` that take the next word.
const SSH_VALUES: &str = "BbcDEeFIiJLlmOopQRSWw";

/// Words of a shell's grammar that stand before a command.
pub(super) const KEYWORDS: &[&str] = &[
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "while",
    "until",
    "do",
    "done",
    "{",
    "}",
    "!",
    "esac",
    "coproc",
    "begin",
    "and",
    "or",
    "not",
    "noglob",
    "nocorrect",
];

/// Words that begin a group of commands, and those that end one.
pub(super) const OPENERS: &[&str] = &["{", "if", "while", "until", "for", "select", "case"];
pub(super) const CLOSERS: &[&str] = &["}", "fi", "done", "esac"];

/// Programs that change no file that they name, unless their output is redirected.
const READERS: &[&str] = &[
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "bat",
    "grep",
    "egrep",
    "fgrep",
    "rgrep",
    "rg",
    "ag",
    "ack",
    "ls",
    "tree",
    "wc",
    "stat",
    "file",
    "diff",
    "cmp",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "cksum",
    "hexdump",
    "xxd",
    "od",
    "strings",
    "nl",
    "tac",
    "cut",
    "uniq",
    "comm",
    "fold",
    "jq",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "du",
    "echo",
    "printf",
    "test",
    "[",
    "[[",
    "cd",
    "pushd",
    "which",
    "type",
    "column",
    "rev",
    "base64",
    "zcat",
];

/// Commands of git that change no file of the working tree.
const GIT_READERS: &[&str] = &[
    "show",
    "log",
    "diff",
    "status",
    "blame",
    "grep",
    "ls-files",
    "ls-tree",
    "cat-file",
    "rev-parse",
    "describe",
    "shortlog",
    "annotate",
];

/// Programs that look at a directory that they name, and not at what is below it.
const SHALLOW: &[&str] = &[
    "cd", "pushd", "mkdir", "ls", "stat", "test", "[", "[[", "realpath", "readlink", "basename",
    "dirname", "touch", "rmdir",
];

/// Programs whose `-C` or long option names the directory in which they run.
const MOVERS: &[(&str, &[&str])] = &[
    ("git", &["-C", "--work-tree"]),
    ("make", &["-C", "--directory"]),
    ("gmake", &["-C", "--directory"]),
    ("ninja", &["-C"]),
    ("env", &["-C", "--chdir"]),
    ("tar", &["-C", "--directory"]),
    ("cargo", &["-C"]),
    ("go", &["-C"]),
    ("pnpm", &["-C", "--dir"]),
    ("npm", &["--prefix", "-C"]),
    ("yarn", &["--cwd"]),
    ("bun", &["--cwd"]),
    ("uv", &["--directory"]),
    ("poetry", &["-C", "--directory"]),
    ("hg", &["-R", "--cwd"]),
    ("sudo", &["-D", "--chdir"]),
    ("docker", &["--project-directory"]),
];

/// Options whose value is a text for people, and names no file.
const TEXTS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "-m",
            "--message",
            "--author",
            "--date",
            "--format",
            "--pretty",
        ],
    ),
    ("gh", &["-t", "--title", "-b", "--body", "-m"]),
    ("hg", &["-m", "--message"]),
    ("jj", &["-m", "--message"]),
];

/// Options of programs that search, whose value is the next word.
const SEARCH_VALUES: &[&str] = &[
    "-A",
    "-B",
    "-C",
    "-m",
    "-e",
    "-f",
    "-g",
    "-t",
    "-T",
    "-j",
    "-M",
    "-r",
    "-E",
    "-d",
    "-D",
    "--after-context",
    "--before-context",
    "--context",
    "--max-count",
    "--regexp",
    "--file",
    "--glob",
    "--iglob",
    "--type",
    "--type-not",
    "--threads",
    "--max-columns",
    "--replace",
    "--encoding",
    "--max-depth",
    "--include",
    "--exclude",
    "--exclude-dir",
    "--color",
    "--sort",
    "--sortr",
    "--maxdepth",
    "--extension",
    "--pre",
];

/// The last part of a program's path: `rm` for `/bin/rm`.
pub(super) fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&base(program))
}

/// True for a shell whose command is all the words after the option.
pub(super) fn joins_words(program: &str) -> bool {
    ["cmd", "pwsh", "powershell"].contains(&base(program).trim_end_matches(".exe"))
}

pub(super) fn is_runner(program: &str) -> bool {
    RUNNERS.contains(&base(program))
}

/// True for the code of a language in an argument: `python3 -c`, `node -e`.
pub(super) fn is_interpreter(program: &str) -> bool {
    let name = base(program).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    [
        "python",
        "pypy",
        "node",
        "deno",
        "bun",
        "ruby",
        "perl",
        "php",
        "lua",
        "Rscript",
        "awk",
        "gawk",
        "mawk",
        "tclsh",
        "osascript",
        "julia",
        "elixir",
        "groovy",
        "guile",
        "tsx",
        "ts-node",
        "emacs",
    ]
    .contains(&name)
}

/// True for an assignment: `NAME=value`.
pub(super) fn assignment(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim_end_matches('+');
    let mut chars = name.chars();
    let first = chars.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

/// The place of the program that a command runs in the end: after `sudo -u me`, `env X=1`, `timeout 5`.
pub(super) fn program_at(words: &[String]) -> usize {
    const PLAIN: &[&str] = &[
        "sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "ionice", "time",
        "timeout", "stdbuf", "setsid", "busybox", "xargs", "gosu",
    ];
    /// Options of these programs that take the next word, as letters and as words.
    const LETTERS: &str = "ugncpksioeCDILPd";
    const VALUES: &[&str] = &[
        "--user",
        "--group",
        "--signal",
        "--kill-after",
        "--adjustment",
        "--chdir",
    ];
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if assignment(word).is_some() {
            at += 1;
            continue;
        }
        if !PLAIN.contains(&base(word)) {
            break;
        }
        let runner = base(word);
        at += 1;
        let mut may_be_time = runner == "timeout" || runner == "gosu";
        while let Some(option) = words.get(at) {
            if option.starts_with('-') {
                let mut letters = option.chars().skip(1);
                let is_letter = letters
                    .next()
                    .is_some_and(|letter| LETTERS.contains(letter));
                let has_value =
                    is_letter && letters.next().is_none() || VALUES.contains(&option.as_str());
                at += 1 + usize::from(has_value);
            } else if assignment(option).is_some() {
                at += 1;
            } else if may_be_time {
                may_be_time = false;
                at += 1;
            } else {
                break;
            }
        }
    }
    at.min(words.len())
}

/// The script of a shell that is called with `-c`, and its place.
pub(super) fn script_of_shell(words: &[String]) -> Option<usize> {
    let has_c = |word: &String| match word.strip_prefix(['-', '/']) {
        Some(letters) if letters.eq_ignore_ascii_case("command") => true,
        Some(letters) if word.starts_with('/') => letters.eq_ignore_ascii_case("c"),
        Some(letters) => !letters.starts_with('-') && letters.contains('c'),
        None => word == "--command",
    };
    let at = words.iter().skip(1).position(has_c)? + 2;
    // options may follow: `bash -c -e '…'`
    (at..words.len()).find(|at| !words[*at].starts_with('-'))
}

/// A program that runs the text of its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextReader {
    Shell,
    /// A shell that another program starts, or one at another place.
    OtherShell,
    /// A makefile.
    Make,
    /// Code of another language.
    Interpreter,
}

/// Returns the way in which a command runs the text of its standard input. `words` begins with the program.
pub(super) fn reader(words: &[String]) -> Option<TextReader> {
    let (program, arguments) = words.split_first()?;
    let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.as_str()));
    let is_first = |words: &[&str]| {
        arguments
            .first()
            .is_some_and(|word| words.contains(&word.as_str()))
    };
    match base(program) {
        name if is_shell(name) => Some(TextReader::Shell),
        "." | "source" if is_first(&["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]) => {
            Some(TextReader::Shell)
        }
        "at" | "batch" | "expect" => Some(TextReader::OtherShell),
        "su" if script_of_shell(words).is_none() => Some(TextReader::OtherShell),
        "ssh" if is_only_host(arguments) => Some(TextReader::OtherShell),
        "parallel" if arguments.iter().all(|word| word.starts_with('-')) => {
            Some(TextReader::OtherShell)
        }
        "make" | "gmake" if has(&["-f-", "--file=-", "--makefile=-", "/dev/stdin"]) => {
            Some(TextReader::Make)
        }
        "make" | "gmake" => arguments
            .windows(2)
            .any(|pair| ["-f", "--file", "--makefile"].contains(&&*pair[0]) && pair[1] == "-")
            .then_some(TextReader::Make),
        _ if is_interpreter(program) => Some(TextReader::Interpreter),
        _ => (is_runner(program) && arguments.iter().any(|word| is_shell(word)))
            .then_some(TextReader::OtherShell),
    }
}

/// True for the arguments of an `ssh` that has no command.
fn is_only_host(arguments: &[String]) -> bool {
    let is_value = |at: usize| {
        let letters = arguments[at].strip_prefix('-').unwrap_or_default();
        letters
            .chars()
            .next_back()
            .is_some_and(|letter| SSH_VALUES.contains(letter))
    };
    let places = (0..arguments.len())
        .filter(|at| !arguments[*at].starts_with('-') && (*at == 0 || !is_value(*at - 1)));
    places.count() == 1
}

/// Directories that the options of a program name.
pub(super) fn directories(program: &str, arguments: &[String]) -> Vec<String> {
    let name = base(program);
    let Some((_, options)) = MOVERS.iter().find(|(mover, _)| *mover == name) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        for option in *options {
            let value = match word.strip_prefix(option) {
                Some("") => arguments.get(at + 1).map(String::as_str),
                Some(rest) if option.starts_with("--") => rest.strip_prefix('='),
                Some(rest) => Some(rest.strip_prefix('=').unwrap_or(rest)),
                None => None,
            };
            found.extend(value.map(str::to_owned));
        }
    }
    found
}

/// The places of arguments that are texts for people.
pub(super) fn texts(program: &str, arguments: &[String]) -> Vec<usize> {
    let name = base(program);
    let Some((_, options)) = TEXTS.iter().find(|(of, _)| *of == name) else {
        return Vec::new();
    };
    let is_text = |word: &str| {
        // `-am`, `--message=…`
        let is_cluster = word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
        options.contains(&word) || is_cluster && options.contains(&"-m")
    };
    let is_joined = |word: &str| {
        let mut long = options.iter().filter(|option| option.starts_with("--"));
        long.any(|option| {
            word.strip_prefix(option)
                .is_some_and(|rest| rest.starts_with('='))
        })
    };
    let places = (0..arguments.len())
        .filter(|at| is_joined(&arguments[*at]) || *at > 0 && is_text(&arguments[at - 1]));
    places.collect()
}

/// True if a command changes no file that it names.
pub(super) fn only_reads(program: &str, arguments: &[String]) -> bool {
    let name = base(program);
    let has = |option: &str| arguments.iter().any(|word| word == option);
    match name {
        "git" => {
            let mut words = arguments.iter().filter(|word| !word.starts_with('-'));
            let writes = arguments.iter().any(|word| word.starts_with("--output"));
            // the first word may be the value of -C
            let mut first = words.by_ref().take(2);
            !writes && first.any(|word| GIT_READERS.contains(&word.as_str()))
        }
        "find" | "fd" => !arguments.iter().any(|word| {
            [
                "-delete",
                "-exec",
                "-execdir",
                "-ok",
                "-okdir",
                "-x",
                "-X",
                "--exec",
                "--exec-batch",
            ]
            .contains(&word.as_str())
                || word.starts_with("-fprint")
        }),
        "sort" => !has("-o") && !arguments.iter().any(|word| word.starts_with("--output")),
        "sed" => !arguments.iter().any(|word| {
            word.starts_with("--in-place")
                || word.starts_with('-') && !word.starts_with("--") && word.contains('i')
        }),
        name => READERS.contains(&name),
    }
}

/// True if a command looks at the directories that it names and not at what is below them.
pub(super) fn is_shallow(program: &str, arguments: &[String]) -> bool {
    let is_deep_list = base(program) == "ls"
        && arguments.iter().any(|word| {
            word == "--recursive"
                || word.starts_with('-') && !word.starts_with("--") && word.contains('R')
        });
    SHALLOW.contains(&base(program)) && !is_deep_list
}

/// A search of a whole tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TreeSearch {
    /// True if no argument says where: it is the directory of the command.
    pub is_here: bool,
    /// Pattern of the files that it reads, as in `-g '*.rs'`. None: all.
    pub filter: Option<String>,
}

/// Returns the search of a tree that a command is. None: it is another command.
pub(super) fn tree_search(program: &str, arguments: &[String]) -> Option<TreeSearch> {
    let name = base(program);
    let (name, arguments) = match (name, arguments.first().map(String::as_str)) {
        ("git", Some("grep")) => ("rg", &arguments[1..]),
        // its names are given to another command
        ("git", Some("ls-files")) => ("ls-files", &arguments[1..]),
        _ => (name, arguments),
    };
    let is_cluster = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let is_recursive = |word: &str| {
        word == "--recursive"
            || word == "--dereference-recursive"
            || is_cluster(word) && word.contains(['r', 'R'])
    };
    let takes_pattern = match name {
        "grep" | "egrep" | "fgrep" => arguments
            .iter()
            .any(|word| is_recursive(word))
            .then_some(true)?,
        "rg" | "ag" | "ack" | "rgrep" => !arguments.iter().any(|word| word == "--files"),
        "find" => {
            // its places come first
            let first = arguments
                .iter()
                .find(|word| !["-H", "-L", "-P"].contains(&word.as_str()));
            let is_here = first.is_none_or(|word| word.starts_with(['-', '(', '!']));
            return Some(TreeSearch {
                is_here,
                filter: value_of(arguments, &["-name", "-iname"]),
            });
        }
        "fd" | "tree" => name == "fd",
        "ls-files" => false,
        _ => return None,
    };
    let mut gives_pattern = takes_pattern;
    let (mut places, mut at, mut only_places) = (0, 0, false);
    while let Some(word) = arguments.get(at) {
        at += 1;
        if !only_places && word == "--" {
            only_places = true;
        } else if !only_places && word.len() > 1 && word.starts_with('-') {
            if ["-e", "-f", "--regexp", "--file"].contains(&word.as_str())
                || word.starts_with("--regexp=")
                || word.starts_with("--file=")
            {
                gives_pattern = false;
            }
            let is_grep = name.contains("grep");
            // `-r`, `-E` and `-d` have a value in ripgrep alone, or are rare
            let has_value = SEARCH_VALUES.contains(&word.as_str())
                && !(is_grep && ["-r", "-E", "-T"].contains(&word.as_str()));
            at += usize::from(has_value);
        } else {
            places += 1;
        }
    }
    Some(TreeSearch {
        is_here: places <= usize::from(gives_pattern),
        filter: value_of(arguments, &["-g", "--glob", "--include"]),
    })
}

/// The value of an option that is given once, if it selects files.
fn value_of(arguments: &[String], options: &[&str]) -> Option<String> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        for option in options {
            match word.strip_prefix(option) {
                Some("") => found.extend(arguments.get(at + 1)),
                Some(rest) if rest.starts_with('=') => {
                    return Some(rest[1..].to_owned()).filter(|one| is_filter(one));
                }
                _ => {}
            }
        }
    }
    match found[..] {
        [one] => Some(one.clone()).filter(|one| is_filter(one)),
        _ => None,
    }
}

fn is_filter(pattern: &str) -> bool {
    !pattern.is_empty() && !pattern.starts_with('!')
}

/// True if a command changes the working tree as a whole.
pub(super) fn changes_tree(program: &str, arguments: &[String]) -> bool {
    let has = |words: &[&str]| arguments.iter().any(|word| words.contains(&word.as_str()));
    match (
        base(program),
        arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .map(String::as_str),
    ) {
        ("git", Some("reset")) => has(&["--hard"]),
        ("git", Some("clean")) => !has(&["-n", "--dry-run"]),
        ("git", Some("stash")) => !has(&["list", "show", "drop", "clear"]),
        _ => false,
    }
}
