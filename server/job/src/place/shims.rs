//! Programs that stand first on the PATH of a run. The real ones look for keys in the home of the password file, or write beside
//! the user's programs.

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::host::Host;
use super::{RunPlace, WithPath, create_private, write_for_run};
use crate::step::shell::find_program;

const PROGRAMS: [&str; 3] = ["ssh", "scp", "sftp"];

/// Names of the keys that ssh uses by default.
const KEYS: [&str; 4] = ["id_rsa", "id_ecdsa", "id_ed25519", "id_dsa"];

/// Makes the directory of shims, outside of what a step back changes. A program that is not there has none.
pub(super) fn make(place: &RunPlace, host: &Host) -> io::Result<PathBuf> {
    let shims = place.dir.join("shims");
    create_private(&shims)?;
    let ssh = place.home.join(".ssh");
    let config = shims.join("ssh_config");
    write_for_run(&config, ssh_config(&ssh).as_bytes())?;
    for program in PROGRAMS {
        let Some(real) = real_program(program, host) else {
            continue;
        };
        write_program(&shims.join(program), &script(&real, &config, &ssh))?;
    }
    if let Some(real) = real_program("corepack", host) {
        write_program(&shims.join("corepack"), &corepack_script(&real, place))?;
    }
    Ok(shims)
}

/// The program that a shim of the run starts. A shim of a version manager would search PATH again, and find the run's own shim;
/// so the newest program of its versions is taken.
pub(super) fn real_program(name: &str, host: &Host) -> Option<PathBuf> {
    for dir in host.path() {
        let dir = Path::new(&dir);
        if !dir.ends_with("shims") {
            let found = find_program(name, &dir.to_string_lossy(), Path::new("/"));
            if found.is_some() {
                return found;
            }
            continue;
        }
        let versions = dir.parent().map(|root| root.join("versions"));
        let entries = versions
            .and_then(|dir| fs::read_dir(dir).ok())
            .into_iter()
            .flatten()
            .flatten();
        let programs = entries.map(|entry| entry.path().join("bin").join(name));
        let newest = programs
            .filter(|file| file.is_file())
            .max_by_key(|file| numbers(file));
        if newest.is_some() {
            return newest;
        }
    }
    None
}

/// Numbers in a path, so that 3.12 comes after 3.9.
fn numbers(path: &Path) -> Vec<u64> {
    let text = path.to_string_lossy();
    let digits = text.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

pub(crate) fn write_program(file: &Path, text: &str) -> io::Result<()> {
    write_for_run(file, text.as_bytes())?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o700)).with_path(file)
}

/// A corepack that puts its programs into the run's home and not beside Node.
pub(crate) fn corepack_script(real: &Path, place: &RunPlace) -> String {
    let (real, bin) = (shell_word(real), shell_word(&place.home.join(".local/bin")));
    format!(
        "#!/bin/sh\ncase \"$1\" in\nenable | disable)\n\twhat=$1\n\tshift\n\tmkdir -p {bin}\n\texec {real} \"$what\" \
         --install-directory {bin} \"$@\"\n\t;;\nesac\nexec {real} \"$@\"\n"
    )
}

/// Settings in place of the user's. The job's own `~/.ssh/config` is not included: a tilde in it means the user's home to ssh.
fn ssh_config(ssh: &Path) -> String {
    let known = ssh_word(&ssh.join("known_hosts"));
    format!(
        "Host *\n\tBatchMode yes\n\tControlMaster no\n\tControlPath none\n\tUserKnownHostsFile {known}\n"
    )
}

/// The shim. The keys of the run's home are options, as a `-F` of the step replaces the settings; with them ssh tries no others.
/// An agent is not forbidden: the run has no address of the user's, and a job may start its own.
fn script(real: &Path, config: &Path, ssh: &Path) -> String {
    let mut text = format!("#!/bin/sh\nexec {}", shell_word(real));
    let _ = write!(text, " -F {}", shell_word(config));
    for key in KEYS {
        let option = format!("IdentityFile={}", ssh_word(&ssh.join(key)));
        let _ = write!(text, " -o {}", shell_word(Path::new(&option)));
    }
    text.push_str(" \"$@\"\n");
    text
}

/// A path in single quotes.
pub(super) fn shell_word(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

/// A path as a value of ssh: a single `%` begins a token there.
fn ssh_word(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().replace('%', "%%"))
}
