//! Programs of the user that steps start: their versions on this machine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::place::environment::Host;
use crate::program;
use crate::step::shell::find_program;

/// Time in which a program has to say its version.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A program that steps start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostProgram {
    pub name: &'static str,
    /// The use of it in a run.
    pub needed_for: &'static str,
    /// None: it is not on PATH.
    pub version: Option<String>,
}

const PROGRAMS: [(&str, &str); 4] = [
    ("bash", "run steps"),
    ("git", "checkouts"),
    ("node", "JavaScript actions"),
    ("python", "run steps with `shell: python`"),
];

/// Looks for the programs on the user's PATH, and asks each for its version.
pub fn host_programs(host: &Host) -> Vec<HostProgram> {
    let path = host.path().join(":");
    let found = PROGRAMS.map(|(name, needed_for)| {
        // runs have a `python` where only `python3` is installed
        let names = [name, if name == "python" { "python3" } else { name }];
        let mut places = names
            .iter()
            .filter_map(|name| find_program(name, &path, Path::new("/")));
        HostProgram {
            name,
            needed_for,
            version: places.next().map(|program| version_of(&program)),
        }
    });
    found.to_vec()
}

/// The first number with a dot that a program says; empty if it says none.
fn version_of(program: &Path) -> String {
    let mut command = Command::new(program);
    command.arg("--version").current_dir("/");
    let answer = program::run(command, TIMEOUT);
    let text = answer.map_or_else(|_| String::new(), |answer| answer.stdout);
    let is_part = |c: char| c == '.' || c.is_ascii_digit();
    let words = text.split(|c: char| !is_part(c));
    let number = words
        .map(|word| word.trim_matches('.'))
        .find(|word| word.contains('.'));
    number.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_are_found_with_their_versions() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, said) in [
            ("bash", "GNU bash, version 5.2.37(1)-release"),
            ("python3", "Python 3.13.1"),
            ("node", "v22.4.0"),
        ] {
            let file = dir.path().join(name);
            fs::write(&file, format!("#!/bin/sh\necho '{said}'\n")).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let host = Host {
            variables: vec![("PATH".into(), dir.path().into())],
        };
        let found = host_programs(&host);
        let versions: Vec<_> = found
            .iter()
            .map(|one| (one.name, one.version.as_deref()))
            .collect();
        assert_eq!(
            versions,
            [
                ("bash", Some("5.2.37")),
                ("git", None),
                ("node", Some("22.4.0")),
                ("python", Some("3.13.1")),
            ]
        );
    }
}
