//! Shells of `run` steps: the command line for a script, as GitHub's runner makes it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A script and the program that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptShell {
    /// Name of the program, or its path.
    pub program: String,
    /// Arguments as the runner shows them, with `{0}` for the script.
    pub arguments: Vec<String>,
    /// Extension of the script's file, such as `.sh`.
    pub extension: &'static str,
    /// Text before and after the script.
    pub before: &'static str,
    pub after: &'static str,
}

impl ScriptShell {
    /// The command of `shell:`, or the default one; `has_bash` tells if `bash` is on PATH.
    pub fn of(shell: Option<&str>, has_bash: bool) -> Result<ScriptShell, String> {
        let plain = |line: &str, extension| {
            let mut words = split(line).into_iter();
            ScriptShell {
                program: words.next().unwrap_or_default(),
                arguments: words.collect(),
                extension,
                before: "",
                after: "",
            }
        };
        Ok(match shell {
            None if has_bash => plain("bash -e {0}", ".sh"),
            Some("bash") => plain("bash --noprofile --norc -e -o pipefail {0}", ".sh"),
            None | Some("sh") => plain("sh -e {0}", ".sh"),
            Some("python") => plain("python {0}", ".py"),
            Some(name @ ("pwsh" | "powershell")) => ScriptShell {
                program: name.to_owned(),
                arguments: vec!["-command".to_owned(), ". '{0}'".to_owned()],
                extension: ".ps1",
                before: "$ErrorActionPreference = 'stop'\n",
                after: "\nif ((Test-Path -LiteralPath variable:\\LASTEXITCODE)) { exit $LASTEXITCODE }",
            },
            Some(custom) if custom.contains("{0}") => {
                let program = split(custom).into_iter().next().unwrap_or_default();
                let name = Path::new(&program)
                    .file_stem()
                    .map(|name| name.to_string_lossy().into_owned());
                let extension = match name.as_deref() {
                    Some("bash" | "sh") => ".sh",
                    Some("python") => ".py",
                    Some("pwsh" | "powershell") => ".ps1",
                    Some("cmd") => ".cmd",
                    _ => "",
                };
                plain(custom, extension)
            }
            Some(other) => {
                return Err(format!(
                    "Invalid shell option '{other}'. Shell must be a valid built-in (bash, sh, cmd, powershell, pwsh) or a format \
                     string containing '{{0}}'"
                ));
            }
        })
    }

    /// Arguments with the script's path in them.
    pub fn arguments_for(&self, script: &Path) -> Vec<OsString> {
        let script = script.to_string_lossy();
        let filled = self
            .arguments
            .iter()
            .map(|argument| argument.replace("{0}", &script));
        filled.map(OsString::from).collect()
    }

    /// The text of the script's file.
    pub fn script(&self, script: &str) -> String {
        let script = script.replace("\r\n", "\n");
        format!("{}{script}{}", self.before, self.after)
    }

    /// The command line as the log shows it.
    pub fn shown(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        words.cloned().collect::<Vec<_>>().join(" ")
    }
}

/// Words of a command line; double quotes keep one together.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' | '\t' | '\n' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// The file of a program: the first executable of this name on PATH.
pub fn find_program(name: &str, path: &str, directory: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        let file = directory.join(name);
        return is_executable(&file).then_some(file);
    }
    let places = path.split(':').filter(|place| !place.is_empty());
    let files = places.map(|place| directory.join(place).join(name));
    files.into_iter().find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(shell: Option<&str>) -> String {
        ScriptShell::of(shell, true).expect("a shell").shown()
    }

    #[test]
    fn shells_are_started_as_by_the_runner() {
        assert_eq!(shown(None), "bash -e {0}");
        assert_eq!(
            ScriptShell::of(None, false).expect("sh").shown(),
            "sh -e {0}"
        );
        assert_eq!(
            shown(Some("bash")),
            "bash --noprofile --norc -e -o pipefail {0}"
        );
        assert_eq!(shown(Some("perl {0}")), "perl {0}");
        let custom = ScriptShell::of(Some("bash -c \"source x; . {0}\""), true).expect("custom");
        assert_eq!(
            custom.arguments_for(Path::new("/t/a.sh")),
            ["-c", "source x; . /t/a.sh"]
        );
        assert!(ScriptShell::of(Some("perl"), true).is_err());
    }
}
