//! Programs that stand first on the PATH of a run. The real ones look for keys in the home of the password file, or write beside
//! the user's programs.

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::host::Host;
use super::{RunPlace, WithPath, create_private, write_durably};
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
    write_durably(&config, ssh_config(&ssh).as_bytes())?;
    let path = host.path().join(":");
    for program in PROGRAMS {
        let Some(real) = find_program(program, &path, Path::new("/")) else {
            continue;
        };
        write_program(&shims.join(program), &script(&real, &config, &ssh))?;
    }
    if let Some(real) = find_program("corepack", &path, Path::new("/")) {
        write_program(&shims.join("corepack"), &corepack_script(&real, place))?;
    }
    Ok(shims)
}

pub(crate) fn write_program(file: &Path, text: &str) -> io::Result<()> {
    write_durably(file, text.as_bytes())?;
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
