//! The run's own Python environment, for steps that install packages without making one.
//!
//! `pip install` writes beside the interpreter if it can. An interpreter of pyenv, or one of the system for root, is the user's.
//! So the run has an environment that sees its packages and takes new ones.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::host::Host;
use super::shims::{real_program, shell_word};
use super::{RunPlace, write_program};
use crate::step::shell::find_program;

/// Time that Python has to make an environment.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Minor versions of Python 3 that may be here by their names.
const MINORS: std::ops::RangeInclusive<u32> = 6..=20;

/// Script that makes an environment in its first argument, if packages would go beside the interpreter.
const SCRIPT: &str = "\
import os, sys, sysconfig
if not os.access(sysconfig.get_path('purelib'), os.W_OK):
    sys.exit(3)
import venv
venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(sys.argv[1])
";

/// Directory for the front of PATH; none where Python is missing or cannot write beside itself.
pub(super) fn make(place: &RunPlace, host: &Host) -> io::Result<Option<PathBuf>> {
    let path = host.path().join(":");
    let Some(python) = find_program("python3", &path, Path::new("/")) else {
        return Ok(None);
    };
    let environment = place.dir.join("files").join("python");
    let bin = environment.join("bin");
    if bin.join("python3").exists() {
        return Ok(Some(bin));
    }
    let mut command = std::process::Command::new(&python);
    command
        .args(["-I", "-c", SCRIPT])
        .arg(&environment)
        .current_dir(&place.temp)
        .env_clear()
        .env("PATH", &path)
        .env("HOME", &place.home);
    let made = crate::program::run(command, TIMEOUT);
    if !made.is_ok_and(|made| made.is_success) {
        return Ok(None);
    }
    let python = shell_word(&bin.join("python3"));
    for name in ["pip", "pip3"] {
        write_program(
            &bin.join(name),
            &format!("#!/bin/sh\nexec {python} -m pip \"$@\"\n"),
        )?;
    }
    Ok(Some(bin))
}

/// Makes shims for interpreters by their versions, such as `python3.12`. Their environments are made when a step starts one.
pub(super) fn make_shims(place: &RunPlace, host: &Host, shims: &Path) -> io::Result<()> {
    for minor in MINORS {
        let name = format!("python3.{minor}");
        if let Some(real) = real_program(&name, host) {
            let environment = shell_word(&place.files.join(&name));
            let (real, script) = (shell_word(&real), shell_word(Path::new(SCRIPT)));
            let text = format!(
                "#!/bin/sh\ndir={environment}\n[ -x \"$dir/bin/python\" ] || {real} -I -c {script} \"$dir\" 2>/dev/null || \
                 exec {real} \"$@\"\nexec \"$dir/bin/python\" \"$@\"\n"
            );
            write_program(&shims.join(&name), &text)?;
        }
    }
    Ok(())
}
