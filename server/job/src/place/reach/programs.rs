//! Programs that reach out of a run, by their names and their first words.

/// Programs that reach out by whichever words.
const ALWAYS: [&str; 68] = [
    "ansible",
    "ansible-playbook",
    "apk",
    "apt",
    "apt-get",
    "aptitude",
    "at",
    "aws",
    "az",
    "brew",
    "buildah",
    "choco",
    "corepack",
    "cosign",
    "crontab",
    "dnf",
    "doas",
    "docker",
    "docker-compose",
    "dpkg",
    "emerge",
    "firebase",
    "flatpak",
    "fly",
    "flyctl",
    "ftp",
    "gcloud",
    "gh",
    "glab",
    "goreleaser",
    "gsutil",
    "helm",
    "heroku",
    "hub",
    "kubectl",
    "lftp",
    "nc",
    "ncat",
    "netcat",
    "netlify",
    "nix-env",
    "oras",
    "pacman",
    "podman",
    "pulumi",
    "rclone",
    "rustup",
    "rustup-init",
    "s3cmd",
    "scp",
    "semantic-release",
    "sendmail",
    "service",
    "sftp",
    "skopeo",
    "snap",
    "socat",
    "ssh",
    "su",
    "sudo",
    "surge",
    "systemctl",
    "telnet",
    "terraform",
    "vercel",
    "winget",
    "wrangler",
    "yum",
];

/// Programs with the words that reach out: one of them is the first word after the options.
const BY_WORD: [(&str, &[&str]); 37] = [
    ("anaconda", &["upload"]),
    ("bun", &["publish"]),
    ("cargo", &["publish", "login", "owner", "yank", "release"]),
    ("changeset", &["publish"]),
    ("composer", &["global"]),
    ("conda", &["install", "update"]),
    ("deno", &["publish", "deploy"]),
    ("flit", &["publish"]),
    ("gem", &["push", "yank", "signin"]),
    ("git", &["push", "send-email", "send-pack"]),
    ("hatch", &["publish"]),
    ("jsr", &["publish"]),
    ("lerna", &["publish"]),
    ("maturin", &["publish", "upload"]),
    ("mix", &["hex.publish"]),
    ("mvn", &["deploy", "release:perform"]),
    ("mvnw", &["deploy", "release:perform"]),
    (
        "npm",
        &[
            "publish",
            "unpublish",
            "login",
            "adduser",
            "deprecate",
            "dist-tag",
            "owner",
            "access",
            "token",
        ],
    ),
    ("nuget", &["push"]),
    ("nx", &["release"]),
    ("ovsx", &["publish"]),
    ("pdm", &["publish"]),
    ("pixi", &["upload"]),
    ("pkg", &["install", "upgrade"]),
    ("pnpm", &["publish", "unpublish", "login"]),
    ("poetry", &["publish"]),
    ("port", &["install", "upgrade"]),
    ("pyenv", &["install", "uninstall", "global"]),
    ("rsync", &[]),
    ("sbt", &["publish", "publishSigned"]),
    ("scoop", &["install", "update"]),
    ("twine", &["upload", "register"]),
    ("uv", &["publish"]),
    ("vsce", &["publish"]),
    ("yarn", &["publish", "login", "unpublish"]),
    ("zig", &["publish"]),
    (
        "zypper",
        &["install", "in", "update", "up", "dup", "remove"],
    ),
];

/// Programs that run the program after them.
const WRAPPERS: [&str; 14] = [
    "bunx", "builtin", "command", "env", "exec", "ionice", "nice", "nohup", "npx", "pnpx",
    "setsid", "stdbuf", "timeout", "xargs",
];

const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Options of curl and wget that send something.
const SENDING: [&str; 14] = [
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--json",
    "-F",
    "--form",
    "-T",
    "--upload-file",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
];

/// True if a command reaches out of the run.
pub(super) fn reaches_out(words: &[String]) -> bool {
    let is_socket = |word: &String| word.starts_with("/dev/tcp/") || word.starts_with("/dev/udp/");
    if words.iter().any(is_socket) {
        return true;
    }
    let words = unwrapped(words);
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let program = base_name(program);
    match program {
        "curl" | "wget" => sends(rest),
        "python" | "python3" | "py" => module(rest).is_some_and(reaches_out),
        "gradle" | "gradlew" => rest
            .iter()
            .any(|word| word.starts_with("publish") || word.contains(":publish")),
        "dotnet" => starts_with(rest, &["nuget", "push"]),
        "yarn" if starts_with(rest, &["npm", "publish"]) => true,
        "npm" | "pnpm" if is_global_install(rest) => true,
        "rsync" => rest
            .iter()
            .any(|word| !word.starts_with('-') && word.contains(':')),
        "pnpm" | "yarn" | "npm" if starts_with(rest, &["exec"]) || starts_with(rest, &["dlx"]) => {
            reaches_out(&rest[1..])
        }
        "uv" | "poetry" | "hatch" | "pdm" | "bundle"
            if starts_with(rest, &["run"]) || starts_with(rest, &["exec"]) =>
        {
            reaches_out(&rest[1..])
        }
        _ => {
            let named = BY_WORD.iter().find(|(name, _)| *name == program);
            ALWAYS.contains(&program)
                || named.is_some_and(|(name, reaching)| {
                    first_word(name, rest).is_some_and(|word| reaching.contains(&word))
                })
        }
    }
}

/// True for a program that fetches a text.
pub(super) fn downloads(words: &[String]) -> bool {
    let words = unwrapped(words);
    words
        .first()
        .is_some_and(|program| matches!(base_name(program), "curl" | "wget" | "fetch"))
}

/// True for a shell, also as root.
pub(super) fn is_shell(words: &[String]) -> bool {
    let mut words = unwrapped(words);
    while let Some((program, rest)) = words.split_first()
        && matches!(base_name(program), "sudo" | "doas")
    {
        let options = rest.iter().take_while(|word| word.starts_with('-')).count();
        words = unwrapped(&rest[options..]);
    }
    words
        .first()
        .is_some_and(|program| SHELLS.contains(&base_name(program)))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The command without programs that only start it.
fn unwrapped(mut words: &[String]) -> &[String] {
    while let Some((program, rest)) = words.split_first()
        && WRAPPERS.contains(&base_name(program))
    {
        let is_of_wrapper = |word: &&String| {
            word.starts_with('-')
                || word.contains('=')
                || word.starts_with(|c: char| c.is_ascii_digit())
        };
        let own = rest.iter().take_while(is_of_wrapper).count();
        words = &rest[own..];
    }
    words
}

/// The first word that is neither an option nor the value of one.
fn first_word<'a>(program: &str, words: &'a [String]) -> Option<&'a str> {
    let with_value: &[&str] = match program {
        "git" => &["-C", "-c", "--git-dir", "--work-tree"],
        "cargo" => &["-C", "--config", "--color", "-Z"],
        "npm" | "pnpm" | "yarn" => &[
            "-w",
            "--workspace",
            "--prefix",
            "-C",
            "--dir",
            "--cwd",
            "--filter",
        ],
        "mvn" | "mvnw" => &["-f", "-pl", "-P", "-s"],
        _ => &[],
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if with_value.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with(['-', '+']) && !is_goal_before(program, word) {
            return Some(word);
        }
    }
    None
}

/// True for goals of Maven that may stand before one that reaches out.
fn is_goal_before(program: &str, word: &str) -> bool {
    program.starts_with("mvn")
        && matches!(word, "clean" | "package" | "verify" | "install" | "test")
}

fn starts_with(words: &[String], wanted: &[&str]) -> bool {
    words.len() >= wanted.len()
        && words
            .iter()
            .zip(wanted)
            .all(|(word, wanted)| word == wanted)
}

/// Words behind `-m`.
fn module(words: &[String]) -> Option<&[String]> {
    let place = words.iter().position(|word| word == "-m")?;
    Some(&words[place + 1..])
}

fn is_global_install(words: &[String]) -> bool {
    let installs = words
        .iter()
        .any(|word| matches!(word.as_str(), "i" | "install" | "add" | "link"));
    installs
        && words
            .iter()
            .any(|word| matches!(word.as_str(), "-g" | "--global"))
}

fn sends(words: &[String]) -> bool {
    let mut before = "";
    words.iter().any(|word| {
        let name = word.split('=').next().unwrap_or(word);
        let is_method =
            matches!(before, "-X" | "--request" | "--method") && word != "GET" && word != "HEAD";
        before = word;
        is_method
            || SENDING.contains(&name)
            || matches!(word.as_str(), "-XPOST" | "-XPUT" | "-XDELETE" | "-XPATCH")
    })
}
