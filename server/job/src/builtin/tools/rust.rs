//! `dtolnay/rust-toolchain`, `actions-rs/toolchain` and `actions-rust-lang/setup-rust-toolchain`: toolchains of the user's rustup,
//! whose files the run's own one has.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::installed::{Tool, answer, choose};
use super::version::{ToolVersion, VersionRange};
use super::wanted::{file, first_line, toml_value};
use super::{ActionCall, ActionResult, Builtin, BuiltinError, absent, outputs, say_used};

pub(super) const RUST: Tool = Tool {
    name: "Rust",
    program: "rustc",
    arguments: &["--version"],
    programs: &["rustc", "cargo", "rustdoc"],
    managers: &[],
    system: &[],
};

const CHANNELS: [&str; 3] = ["stable", "beta", "nightly"];

/// A toolchain that has been found.
struct Toolchain {
    /// Its directory, with `bin` and `lib`.
    dir: PathBuf,
    version: ToolVersion,
    /// Answer of `rustc -vV`.
    details: String,
}

/// Parts that a step wants of a toolchain.
#[derive(Default)]
struct ToolchainParts {
    components: Vec<String>,
    targets: Vec<String>,
}

/// Finds the toolchain that an action with these inputs wants.
pub(super) fn check(builtin: Builtin, call: &ActionCall<'_>) -> Result<(), BuiltinError> {
    let (wanted, parts) = match builtin {
        Builtin::ActionsRsToolchain => wanted_by_actions_rs(call)?,
        Builtin::SetupRustToolchain => wanted_by_setup(call)?,
        _ => wanted_by_dtolnay(call)?,
    };
    find_whole(call, &wanted, &parts).map(drop)
}

pub(in super::super) fn dtolnay(call: &mut ActionCall<'_>) -> Result<ActionResult, BuiltinError> {
    let (wanted, parts) = wanted_by_dtolnay(call)?;
    let found = set_up(call, &wanted, &parts)?;
    let mut done = outputs([("cachekey", cache_key(&found.details)), ("name", wanted)]);
    done.environment = unset(
        call,
        &[("CARGO_INCREMENTAL", "0"), ("CARGO_TERM_COLOR", "always")],
    );
    Ok(done)
}

fn wanted_by_dtolnay(call: &ActionCall<'_>) -> Result<(String, ToolchainParts), BuiltinError> {
    let inputs = call.given();
    let (branch, of_branch) = branch(call.version);
    let wanted = match (inputs.text("toolchain"), branch) {
        ("", Some(branch)) => branch,
        ("", None) => {
            return Err(
                "'toolchain' is a required input: name a version or a channel"
                    .to_owned()
                    .into(),
            );
        }
        (given, _) => given,
    };
    let components = match inputs.text("components") {
        "" => of_branch,
        given => given,
    };
    let parts = ToolchainParts {
        components: list(components),
        targets: list(&format!(
            "{},{}",
            inputs.text("targets"),
            inputs.text("target")
        )),
    };
    Ok((wanted.to_owned(), parts))
}

/// Toolchain and components of a branch of `dtolnay/rust-toolchain`. The main one, its tag and commits name no toolchain.
fn branch(version: &str) -> (Option<&str>, &'static str) {
    let version = match version.strip_prefix('v') {
        Some(number) if number.contains('.') => number,
        _ => version,
    };
    let is_commit = version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    match version {
        "clippy" => (Some("nightly"), "clippy"),
        "miri" => (Some("nightly"), "miri,rust-src"),
        "master" | "v1" => (None, ""),
        _ if is_commit => (None, ""),
        toolchain => (Some(toolchain), ""),
    }
}

pub(in super::super) fn actions_rs(
    call: &mut ActionCall<'_>,
) -> Result<ActionResult, BuiltinError> {
    let (wanted, parts) = wanted_by_actions_rs(call)?;
    let found = set_up(call, &wanted, &parts)?;
    let rustc = found.details.lines().next().unwrap_or_default();
    let short = rustc.strip_prefix("rustc ").unwrap_or(rustc).to_owned();
    let hash = detail(&found.details, "commit-hash")
        .unwrap_or_default()
        .to_owned();
    let cargo = version_line(call, &found.dir.join("bin/cargo"));
    Ok(outputs([
        ("rustc", short),
        ("rustc_hash", hash),
        ("cargo", cargo),
        ("rustup", String::new()),
    ]))
}

fn wanted_by_actions_rs(call: &ActionCall<'_>) -> Result<(String, ToolchainParts), BuiltinError> {
    let inputs = call.given();
    let wanted = match inputs.text("toolchain") {
        "" => in_file(call)?.map(|(toolchain, _)| toolchain).ok_or_else(|| {
            "toolchain input was not given and repository does not have a rust-toolchain file: add one of them".to_owned()
        })?,
        given => given.to_owned(),
    };
    let parts = ToolchainParts {
        components: list(inputs.text("components")),
        targets: list(inputs.text("target")),
    };
    Ok((wanted, parts))
}

pub(in super::super) fn setup_rust_toolchain(
    call: &mut ActionCall<'_>,
) -> Result<ActionResult, BuiltinError> {
    let inputs = call.given();
    let (wanted, parts) = wanted_by_setup(call)?;
    let found = set_up(call, &wanted, &parts)?;
    let cargo = version_line(call, &found.dir.join("bin/cargo"));
    let mut done = outputs([
        ("rustc-version", found.version.to_string()),
        ("cargo-version", cargo),
        ("rustup-version", String::new()),
        ("cachekey", cache_key(&found.details)),
    ]);
    let flags = inputs
        .0
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("rustflags"));
    let flags = flags.map_or("-D warnings", |(_, flags)| flags.as_str());
    let mut wanted = vec![
        ("CARGO_INCREMENTAL", "0"),
        ("CARGO_PROFILE_DEV_DEBUG", "0"),
        ("CARGO_TERM_COLOR", "always"),
        ("RUST_BACKTRACE", "short"),
    ];
    if !flags.is_empty() && call.variable("CARGO_BUILD_RUSTFLAGS").is_none() {
        wanted.push(("RUSTFLAGS", flags));
    }
    done.environment = unset(call, &wanted);
    Ok(done)
}

fn wanted_by_setup(call: &ActionCall<'_>) -> Result<(String, ToolchainParts), BuiltinError> {
    let inputs = call.given();
    let mut parts = ToolchainParts {
        components: list(inputs.text("components")),
        targets: list(inputs.text("target")),
    };
    let wanted = match (inputs.text("toolchain"), in_file(call)?) {
        ("", Some((toolchain, of_file))) => {
            parts.components.extend(of_file.components);
            parts.targets.extend(of_file.targets);
            toolchain
        }
        ("", None) => "stable".to_owned(),
        // the first one of several is the default
        (given, _) => list(given).first().cloned().unwrap_or_default(),
    };
    for other in list(inputs.text("toolchain")).iter().skip(1) {
        find(call, other)?;
    }
    Ok((wanted, parts))
}

/// Variables that no step before has set.
fn unset(call: &ActionCall<'_>, wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    let free = wanted
        .iter()
        .filter(|(name, _)| call.variable(name).is_none());
    free.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn list(text: &str) -> Vec<String> {
    let words = text.split([',', '\n', ' ']).map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Toolchain and parts of `rust-toolchain.toml` or `rust-toolchain`.
fn in_file(call: &ActionCall<'_>) -> Result<Option<(String, ToolchainParts)>, BuiltinError> {
    for name in ["rust-toolchain.toml", "rust-toolchain"] {
        let Some(text) = file(call, name)? else {
            continue;
        };
        if let Some(channel) = toml_value(&text, "toolchain", "channel") {
            let array = |key: &str| {
                let line = text.lines().find(|line| line.trim_start().starts_with(key));
                let value = line
                    .and_then(|line| line.split_once('='))
                    .map_or("", |(_, value)| value);
                list(&value.replace(['[', ']', '"', '\''], " "))
            };
            let parts = ToolchainParts {
                components: array("components"),
                targets: array("targets"),
            };
            return Ok(Some((channel, parts)));
        }
        if let Some(line) = first_line(&text).filter(|line| !line.starts_with('[')) {
            return Ok(Some((line.to_owned(), ToolchainParts::default())));
        }
    }
    Ok(None)
}

/// Finds a toolchain with its parts, and makes it the default of the run.
fn set_up(
    call: &mut ActionCall<'_>,
    wanted: &str,
    parts: &ToolchainParts,
) -> Result<Toolchain, BuiltinError> {
    let found = find_whole(call, wanted, parts)?;
    make_default(call, wanted, &found)?;
    say_used(call, &format!("Rust {}", found.version), wanted, None);
    Ok(found)
}

/// Finds a toolchain with its parts.
fn find_whole(
    call: &ActionCall<'_>,
    wanted: &str,
    parts: &ToolchainParts,
) -> Result<Toolchain, BuiltinError> {
    let found = find(call, wanted)?;
    for component in &parts.components {
        if !has_component(&found.dir, component) {
            return Err(absent(
                &RUST,
                &format!("{wanted} with the component {component}"),
                &[found.version],
            ));
        }
    }
    for target in &parts.targets {
        if !found
            .dir
            .join("lib/rustlib")
            .join(target)
            .join("lib")
            .is_dir()
        {
            return Err(absent(
                &RUST,
                &format!("{wanted} with the target {target}"),
                &[found.version],
            ));
        }
    }
    Ok(found)
}

fn find(call: &ActionCall<'_>, wanted: &str) -> Result<Toolchain, BuiltinError> {
    let is_channel = CHANNELS.contains(&wanted);
    let range = VersionRange::parse(wanted).filter(|_| !is_channel);
    let mut others = Vec::new();
    let mut found: Option<Toolchain> = None;
    for (name, dir) in toolchains(call) {
        let is_named = name == wanted
            || name
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.starts_with('-') && !is_date(rest));
        let Some(toolchain) = toolchain(call, dir) else {
            continue;
        };
        let fits = range
            .as_ref()
            .is_some_and(|range| range.contains(&toolchain.version));
        if is_named {
            return Ok(toolchain);
        }
        let is_newer = found
            .as_ref()
            .is_none_or(|best| toolchain.version.is_newer_than(&best.version));
        if fits && is_newer {
            found = Some(toolchain);
        } else {
            others.push(toolchain.version);
        }
    }
    // without rustup the compiler on PATH has to fit
    if found.is_none() && toolchains(call).is_empty() && (wanted == "stable" || range.is_some()) {
        let range = range.unwrap_or_else(|| VersionRange::any(wanted));
        let tool = choose(call, &RUST, &range).map_err(|others| absent(&RUST, wanted, &others))?;
        let root = answer(call, &tool.program, &["--print", "sysroot"])
            .map(|text| PathBuf::from(text.trim()));
        found = root.and_then(|root| toolchain(call, root));
    }
    found.ok_or_else(|| absent(&RUST, wanted, &others))
}

/// True for the rest of a name such as `nightly-2024-01-01`.
fn is_date(rest: &str) -> bool {
    let digits = rest
        .trim_start_matches('-')
        .bytes()
        .take(4)
        .filter(u8::is_ascii_digit);
    digits.count() == 4
}

fn rustup_home(call: &ActionCall<'_>) -> Option<PathBuf> {
    call.variable("RUSTUP_HOME").map(PathBuf::from)
}

fn toolchains(call: &ActionCall<'_>) -> Vec<(String, PathBuf)> {
    let dir = rustup_home(call).map(|home| home.join("toolchains"));
    let entries = dir
        .and_then(|dir| fs::read_dir(dir).ok())
        .into_iter()
        .flatten()
        .flatten();
    let mut all: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            Some((
                entry.file_name().into_string().ok()?,
                entry.path().canonicalize().ok()?,
            ))
        })
        .collect();
    all.sort();
    all
}

fn toolchain(call: &ActionCall<'_>, dir: PathBuf) -> Option<Toolchain> {
    let details = answer(call, &dir.join("bin/rustc"), &["-vV"])?;
    let version = ToolVersion::find(details.lines().next()?)?;
    Some(Toolchain {
        dir,
        version,
        details,
    })
}

fn has_component(dir: &Path, component: &str) -> bool {
    let any = |files: &[&str]| files.iter().any(|file| dir.join(file).exists());
    match component.strip_suffix("-preview").unwrap_or(component) {
        "clippy" => any(&["bin/cargo-clippy"]),
        "rustfmt" => any(&["bin/rustfmt"]),
        "miri" => any(&["bin/cargo-miri"]),
        "rust-analyzer" => any(&["bin/rust-analyzer"]),
        "rust-src" => any(&["lib/rustlib/src/rust/library"]),
        "rust-docs" => any(&["share/doc/rust"]),
        "cargo" => any(&["bin/cargo"]),
        "rustc" | "rust-std" => any(&["bin/rustc"]),
        "llvm-tools" => {
            let targets = fs::read_dir(dir.join("lib/rustlib"))
                .into_iter()
                .flatten()
                .flatten();
            targets
                .into_iter()
                .any(|target| target.path().join("bin/llvm-profdata").exists())
        }
        _ => false,
    }
}

/// Gives the toolchain its name in the run's rustup, and makes it the default there.
fn make_default(
    call: &ActionCall<'_>,
    wanted: &str,
    found: &Toolchain,
) -> Result<(), BuiltinError> {
    let Some(home) = rustup_home(call).filter(|home| home.starts_with(&call.place.files)) else {
        return Ok(());
    };
    let host = detail(&found.details, "host").unwrap_or_default();
    let name = if wanted.ends_with(host) {
        wanted.to_owned()
    } else {
        format!("{wanted}-{host}")
    };
    let link = home.join("toolchains").join(&name);
    let failed = |error: std::io::Error| {
        format!("the toolchain {wanted} cannot be set up: {error}: make room for it")
    };
    if !name.contains('/') && fs::symlink_metadata(&link).is_err() {
        fs::create_dir_all(home.join("toolchains")).map_err(failed)?;
        symlink(&found.dir, &link).map_err(failed)?;
    }
    let file = home.join("settings.toml");
    let settings = fs::read_to_string(&file).unwrap_or_default();
    let mut text = format!("default_toolchain = {}\n", serde_json::Value::from(name));
    let others = settings
        .lines()
        .filter(|line| !line.trim_start().starts_with("default_toolchain"));
    for line in others {
        text.push_str(line);
        text.push('\n');
    }
    if !settings.contains("version") {
        text.insert_str(0, "version = \"12\"\n");
    }
    fs::write(&file, text).map_err(failed)?;
    Ok(())
}

fn detail<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    details
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

/// Date and hash of the compiler, as `dtolnay/rust-toolchain` has them.
fn cache_key(details: &str) -> String {
    let date = detail(details, "commit-date")
        .unwrap_or_default()
        .replace('-', "");
    let hash = detail(details, "commit-hash").unwrap_or_default();
    format!("{date}{hash}").chars().take(12).collect()
}

fn version_line(call: &ActionCall<'_>, program: &Path) -> String {
    let text = answer(call, program, &["--version"]).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    line.split_once(' ')
        .map_or(line, |(_, version)| version)
        .to_owned()
}
