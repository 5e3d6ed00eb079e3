//! The program that hooks run: where it lies, if that place outlives an update, and the copy that does. Owns that copy;
//! writes no settings.
//!
//! An editor's extension lies in a folder that is named after its version, and that the editor deletes with the next
//! update. Hooks must not name a program in there. Setup copies such a program to `DATA/backstitch/bin` and names the copy.
//! The copy is replaced as a whole by a newer version, or by another build of the same version. An older version never
//! replaces it: the hooks of a newer one may have written a history that the older one cannot read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use backstitch_core::read_settings;

use crate::settings_file::{remove_unfinished, unfinished};

use super::machine::{home, on_path};

/// The folder of our extension begins with this, wherever an editor keeps extensions: `PUBLISHER.NAME-VERSION`.
const EXTENSION: &str = "backstitch.backstitch-";

/// Problem with the program of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    Missing(PathBuf),
    NotExecutable(PathBuf),
    /// It works until the editor updates its extension.
    InExtension(PathBuf),
    /// The copy is of an older version, or of another build, than this program.
    Outdated(PathBuf),
}

impl Trouble {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing",
            Self::NotExecutable(_) => "notExecutable",
            Self::InExtension(_) => "inExtension",
            Self::Outdated(_) => "outdated",
        }
    }

    pub fn program(&self) -> &Path {
        match self {
            Self::Missing(path)
            | Self::NotExecutable(path)
            | Self::InExtension(path)
            | Self::Outdated(path) => path,
        }
    }

    /// True if the hooks do nothing.
    pub fn stops(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::NotExecutable(_))
    }

    /// True if nobody needs to be asked before it is repaired: the place is one of our own.
    pub fn is_ours(&self) -> bool {
        match self {
            Self::InExtension(_) | Self::Outdated(_) => true,
            Self::Missing(path) | Self::NotExecutable(path) => {
                is_in_extension(path) || kept_place().is_some_and(|kept| kept == *path)
            }
        }
    }

    /// Describes the problem, as the end of a sentence about the hooks.
    pub fn said(&self) -> String {
        let path = self.program().display();
        match self {
            Self::Missing(_) => format!("run {path}, which does not exist"),
            Self::NotExecutable(_) => format!("run {path}, which is not executable"),
            Self::InExtension(_) => {
                format!("run {path}, which the next update of the editor's extension deletes")
            }
            Self::Outdated(_) => {
                format!("run {path}, which is not this version of Backstitch")
            }
        }
    }
}

/// Returns a sentence with the command that repairs the hooks.
pub fn fix(agent: &str, of_project: bool) -> String {
    let scope = if of_project { " --scope project" } else { "" };
    format!("`backstitch setup {agent} --repair{scope}` has them run a program that exists")
}

/// The trouble with the program that this command runs; none where there is none, or it cannot be determined.
pub fn trouble(command: &str) -> Option<Trouble> {
    let path = named(command)?;
    let meta = match fs::metadata(&path) {
        Ok(meta) if meta.is_file() => meta,
        _ => return Some(Trouble::Missing(path)),
    };
    if !is_executable(&meta) {
        return Some(Trouble::NotExecutable(path));
    }
    if is_in_extension(&path) {
        return Some(Trouble::InExtension(path));
    }
    let is_kept = kept_place().is_some_and(|kept| kept == path);
    let outdated = is_kept && this().is_ok_and(|own| is_to_replace(&own, &path));
    outdated.then_some(Trouble::Outdated(path))
}

/// The program that a shell command runs: an absolute path, or a name that is looked for on the path. None where only
/// the shell can tell.
pub fn named(command: &str) -> Option<PathBuf> {
    let word = first_word(command)?;
    if let Some(below) = word.strip_prefix("~/") {
        return Some(home()?.join(below));
    }
    if word.contains(['/', '\\']) {
        let path = PathBuf::from(word);
        return path.is_absolute().then_some(path);
    }
    on_path(&word).or(Some(PathBuf::from(word)))
}

/// The first word of a shell command without its quotes. None where something in it is expanded.
pub fn first_word(command: &str) -> Option<String> {
    let mut word = String::new();
    let mut quote = None;
    let mut rest = command.trim().chars();
    while let Some(next) = rest.next() {
        match (quote, next) {
            (None, c) if c.is_whitespace() => break,
            (None, '\'' | '"') => quote = Some(next),
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '$' | '`') => return None,
            (None, '\\') if cfg!(unix) => word.extend(rest.next()),
            (_, c) => word.push(c),
        }
    }
    (!word.is_empty() && quote.is_none()).then_some(word)
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    backstitch_core::shell_word(word)
}

/// The program that hooks are to run: this one, or the copy of it where this one does not outlive an update.
pub fn for_hooks() -> Result<PathBuf> {
    let own = this()?;
    if !is_in_extension(&own) {
        return Ok(own);
    }
    kept_place()
        .context("the home directory is unknown; XDG_DATA_HOME can name a place for the program")
}

/// True for the program that hooks are to run. The paths are compared as they stand: another one may lead here today, and
/// elsewhere later.
pub fn is_this(path: &Path) -> bool {
    for_hooks().is_ok_and(|own| own == path) || this().is_ok_and(|own| own == path)
}

/// The same, with the copy made or brought up to date.
pub fn prepared() -> Result<PathBuf> {
    let program = for_hooks()?;
    if program != this()? {
        keep(&program)?;
    }
    Ok(program)
}

/// Brings the copy up to date with this program. False if it is not older.
pub fn refresh(kept: &Path) -> Result<bool> {
    if !is_to_replace(&this()?, kept) {
        return Ok(false);
    }
    keep(kept)?;
    Ok(true)
}

fn this() -> Result<PathBuf> {
    std::env::current_exe().context("this program's own path")
}

fn kept_place() -> Option<PathBuf> {
    let name = format!("backstitch{}", std::env::consts::EXE_SUFFIX);
    Some(backstitch_core::data_dir()?.join("bin").join(name))
}

/// Copies this program there, whole or not at all, unless what is there is newer or the same.
fn keep(place: &Path) -> Result<()> {
    let own = this()?;
    if place.exists() && !is_to_replace(&own, place) {
        return Ok(());
    }
    let doing = || format!("copying this program to {}", place.display());
    let dir = place.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).with_context(doing)?;
    remove_unfinished(dir);
    let mut from = fs::File::open(&own).with_context(doing)?;
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    let mut file = builder
        .prefix(&unfinished())
        .tempfile_in(dir)
        .with_context(doing)?;
    io::copy(&mut from, &mut file).with_context(doing)?;
    file.as_file().sync_all().with_context(doing)?;
    // a running program is not written over: its name goes to the new file
    file.persist(place).with_context(doing)?;
    Ok(())
}

/// True if the kept program makes way for this one: it is older, does not say its version, or is another build of it.
fn is_to_replace(own: &Path, kept: &Path) -> bool {
    if own == kept {
        return false;
    }
    let version = |text: &str| -> Option<Version> { text.split_whitespace().nth(1)?.parse().ok() };
    let theirs = said_version(kept).and_then(|said| version(&said));
    let ours = env!("CARGO_PKG_VERSION").parse::<Version>().ok();
    match theirs {
        None => true,
        // only an extension brings a build that is to be the copy
        Some(theirs) if Some(theirs) == ours => is_in_extension(own) && !is_same_file(own, kept),
        theirs => theirs < ours,
    }
}

/// Returns the output of a program for `--version`.
fn said_version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    let output = command.output().ok()?;
    String::from_utf8(output.stdout).ok()
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let size = |path| fs::metadata(path).map(|meta| meta.len()).ok();
    size(one) == size(other) && fs::read(one).ok() == fs::read(other).ok()
}

/// `1.2.3`; one with more behind it, as `1.2.3-rc.1`, comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    numbers: [u32; 3],
    is_release: bool,
}

impl std::str::FromStr for Version {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (plain, pre) = text.split_once('-').unwrap_or((text, ""));
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip(plain.split(['.', '+'])) {
            *number = part.parse()?;
        }
        Ok(Self {
            numbers,
            is_release: pre.is_empty(),
        })
    }
}

/// True of `…/backstitch.backstitch-VERSION/bin/PROGRAM`, there or not, and of a program in another folder of an extension.
fn is_in_extension(program: &Path) -> bool {
    let Some(bin) = program.parent().filter(|dir| dir.ends_with("bin")) else {
        return false;
    };
    let Some(folder) = bin.parent() else {
        return false;
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(EXTENSION) || is_extension(folder)
}

/// True if its manifest is one of an extension of VS Code.
fn is_extension(folder: &Path) -> bool {
    let manifest = read_settings(&folder.join("package.json")).ok();
    let manifest = manifest.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    manifest.is_some_and(|manifest| manifest["engines"]["vscode"].is_string())
}

#[cfg(unix)]
fn is_executable(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_quoted_as_one_shell_word() {
        assert_eq!(quoted("/usr/bin/backstitch"), "/usr/bin/backstitch");
        if cfg!(unix) {
            assert_eq!(quoted("/my tools/it's"), r"'/my tools/it'\''s'");
        }
    }

    #[test]
    fn the_first_word_is_read_as_a_shell_does() {
        let word = |command| first_word(command);
        assert_eq!(
            word("/x/backstitch hook a").as_deref(),
            Some("/x/backstitch")
        );
        assert_eq!(word(r"'/it'\''s/b' hook").as_deref(), Some("/it's/b"));
        assert_eq!(word("\"/a b/c\" hook").as_deref(), Some("/a b/c"));
        assert_eq!(word(r"/a\ b/c hook").as_deref(), Some("/a b/c"));
        assert_eq!(word("'$HOME/c' hook").as_deref(), Some("$HOME/c"));
        for unknown in ["$HOME/c hook", "\"$HOME/c\" hook", "", "'open"] {
            assert_eq!(word(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_folder_of_an_extension_is_known_by_its_name_or_its_manifest() {
        for place in [
            "/h/.vscode/extensions/backstitch.backstitch-0.1.0/bin/backstitch",
            "/h/.cursor/extensions/backstitch.backstitch-0.1.0-linux-x64/bin/backstitch",
        ] {
            assert!(is_in_extension(Path::new(place)), "{place}");
        }
        for place in [
            "/usr/bin/backstitch",
            "/h/backstitch.backstitch-1/backstitch",
        ] {
            assert!(!is_in_extension(Path::new(place)), "{place}");
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bin/backstitch");
        fs::write(folder.path().join("package.json"), "{}").unwrap();
        assert!(!is_in_extension(&program));
        let manifest = r#"{"engines": {"vscode": "^1.90.0"}}"#;
        fs::write(folder.path().join("package.json"), manifest).unwrap();
        assert!(is_in_extension(&program));
    }

    #[test]
    fn versions_in_order() {
        let all = ["0.1.0", "0.2.0-rc.1", "0.2.0", "0.10.0", "1.0.0"];
        let all: Vec<Version> = all.iter().map(|text| text.parse().unwrap()).collect();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        assert!("one".parse::<Version>().is_err());
    }
}
