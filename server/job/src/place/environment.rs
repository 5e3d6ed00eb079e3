//! The environment that the steps of a run begin with: a few variables of the user, and a home of the run's own.
//!
//! Programs that know no variable for their home read it from the password file. Those are OpenSSH, for which there are shims, and
//! Java, which gets `user.home`. A step that starts `/usr/bin/ssh` by its path, or that names a path of the user, is not held.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

pub use super::host::Host;
use super::shims::shell_word;
use super::{
    RunPlace, WithPath, cargo_home, create_private, python, rustup_home, shims, write_for_run,
};

/// A place that cannot be, to which git leads pushes: its error names it.
pub const NO_PUSH: &str = "/dev/null/backstitch-no-push/a-job-run-here-pushes-nowhere/";

/// Variables of the user that a run keeps. Names of proxies and certificates are here, since without them no network is reached.
const KEPT: [&str; 26] = [
    "ALL_PROXY",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "FTP_PROXY",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
    "USER",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Addresses that git would reach by the network.
const NETWORK: [&str; 5] = ["git://", "git@", "http://", "https://", "ssh://"];

/// A section of git's settings that leads pushes to the network, to the user's directory and to its remote nowhere.
pub(crate) fn no_push_section(place: &RunPlace) -> String {
    let mut text = format!("[url \"{NO_PUSH}\"]\n");
    let network = NETWORK.map(str::to_owned);
    for address in network.iter().chain(&place.protected) {
        let _ = writeln!(text, "\tpushInsteadOf = {}", git_value(address));
    }
    text
}

/// A value of git's settings, in quotes.
pub(crate) fn git_value(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', r"\n"))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentOptions {
    /// The user's own home instead of the run's.
    pub user_home: bool,
    /// Names of further variables to keep; a `*` at the end stands for any rest.
    pub inherit: Vec<String>,
}

/// Makes what the environment names, and returns its variables in the order of their names.
pub fn base(
    place: &RunPlace,
    host: &Host,
    options: &EnvironmentOptions,
) -> io::Result<Vec<(String, String)>> {
    let mut all = Variables::default();
    keep(&mut all, host, |name| {
        KEPT.contains(&name) || name.starts_with("LC_")
    });
    let home = match host.home().filter(|_| options.user_home) {
        Some(home) => home,
        None => place.home.clone(),
    };
    all.set("HOME", &home);
    all.set("TMPDIR", &place.tmp);
    if options.user_home {
        keep(&mut all, host, |name| name.starts_with("XDG_"));
    } else {
        private_home(&mut all, place)?;
    }
    let caches = package_caches(&mut all, place)?;
    let cargo = place.home.join(".cargo");
    cargo_home::make(&cargo, &caches.join("cargo"), host)?;
    all.set("CARGO_HOME", &cargo);
    let rustup = place.home.join(".rustup");
    rustup_home::make(&rustup, place, host)?;
    all.set("RUSTUP_HOME", &rustup);
    let shims = shims::make(place, host)?;
    let python = python::make(place, host, &shims)?;
    git_settings(&mut all, place, &shims)?;
    let mut path = vec![shims];
    path.extend(python);
    path.push(cargo.join("bin"));
    path.extend(
        [".local/bin", "go/bin", ".npm-global/bin", ".gem/bin"].map(|bin| place.home.join(bin)),
    );
    let mut path: Vec<String> = path
        .iter()
        .map(|dir| dir.to_string_lossy().into_owned())
        .collect();
    path.extend(host.path());
    all.set("PATH", path.join(":"));
    keep(&mut all, host, |name| {
        options
            .inherit
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(front) => name.starts_with(front) && !all_private(name),
                None => name == pattern,
            })
    });
    Ok(all.sorted())
}

/// True for variables that a pattern does not take from the user: only their whole names do.
fn all_private(name: &str) -> bool {
    let homes = ["HOME", "TMPDIR", "PATH", "CARGO_HOME", "RUSTUP_HOME"];
    homes.contains(&name) || name.starts_with("XDG_") || name.starts_with("GIT_")
}

#[derive(Default)]
struct Variables(Vec<(String, String)>);

impl Variables {
    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let value = value.as_ref().to_string_lossy().into_owned();
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value));
    }

    fn sorted(mut self) -> Vec<(String, String)> {
        self.0.sort();
        self.0
    }
}

/// Takes variables of the user. One that is not valid text is left out.
fn keep(all: &mut Variables, host: &Host, is_kept: impl Fn(&str) -> bool) {
    for (name, value) in &host.variables {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && is_kept(name)
        {
            all.set(name, value);
        }
    }
}

/// Places below the run's home for programs that would find those of the user without their variable.
fn private_home(all: &mut Variables, place: &RunPlace) -> io::Result<()> {
    let home = &place.home;
    let dirs = [
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
        // the user's bus, keyring and agents have their sockets in the real one
        ("XDG_RUNTIME_DIR", ".run"),
        // in its default place gpg would talk to the user's own agent, which has no other address
        ("GNUPGHOME", ".gnupg-run"),
    ];
    for (name, dir) in dirs {
        let dir = home.join(dir);
        create_private(&dir)?;
        all.set(name, &dir);
    }
    create_private(&home.join(".ssh"))?;
    // Java takes the home from the password file; Maven and Gradle have their settings and repositories there
    all.set(
        "JAVA_TOOL_OPTIONS",
        format!("\"-Duser.home={}\"", home.display()),
    );
    Ok(())
}

/// Caches that package managers share between runs, and places of what they install for all projects. By default these places lie
/// in a toolchain, which is the user's.
fn package_caches(all: &mut Variables, place: &RunPlace) -> io::Result<PathBuf> {
    let caches = place.caches.clone();
    let dirs = [
        ("NPM_CONFIG_CACHE", "npm"),
        ("YARN_CACHE_FOLDER", "yarn"),
        ("PIP_CACHE_DIR", "pip"),
        ("UV_CACHE_DIR", "uv"),
        ("GOCACHE", "go-build"),
        ("GOMODCACHE", "go-mod"),
    ];
    for (name, dir) in dirs {
        let dir = caches.join(dir);
        create_private(&dir)?;
        all.set(name, &dir);
    }
    for (name, dir) in [("NPM_CONFIG_PREFIX", ".npm-global"), ("GEM_HOME", ".gem")] {
        let dir = place.home.join(dir);
        create_private(&dir)?;
        all.set(name, &dir);
    }
    Ok(caches)
}

/// Settings of git for all repositories of the run. They lead pushes by the network nowhere, and ssh to the shim; as settings, not
/// as `GIT_SSH_COMMAND`, so that a job's own `core.sshCommand` holds.
fn git_settings(all: &mut Variables, place: &RunPlace, shims: &Path) -> io::Result<()> {
    let mut text = no_push_section(place);
    let ssh = shims.join("ssh");
    if ssh.exists() {
        let _ = writeln!(
            text,
            "[core]\n\tsshCommand = {}",
            git_value(&shell_word(&ssh))
        );
    }
    let global = place.home.join(".gitconfig");
    if !global.exists() {
        write_for_run(&global, text.as_bytes()).with_path(&global)?;
    }
    all.set("GIT_CONFIG_NOSYSTEM", "1");
    // `git config --system` writes here; only root could write the real one
    all.set("GIT_CONFIG_SYSTEM", place.home.join(".gitconfig-system"));
    all.set("GIT_TERMINAL_PROMPT", "0");
    Ok(())
}
