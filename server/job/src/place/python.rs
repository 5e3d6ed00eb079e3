//! The run's own Python environments, for steps that install packages without making one.
//!
//! `pip install` writes beside the interpreter if it can. An interpreter of pyenv, or one of the system for root, is the user's.
//! So each interpreter has an environment in the run that sees its packages and takes new ones. The first start makes it.

use std::io;
use std::path::{Path, PathBuf};

use super::host::Host;
use super::shims::{real_program, shell_word};
use super::{RunPlace, write_program};
use crate::step::shell::find_program;

/// Minor versions of Python 3 that may be here by their names.
const MINORS: std::ops::RangeInclusive<u32> = 6..=20;

/// Script that makes an environment, its first argument, if packages would go beside the interpreter. Else it leaves a file
/// `….none`. Two first starts at once make two, and the later one gives way.
const SCRIPT: &str = "\
import os, shutil, sys, sysconfig, venv
final = sys.argv[1]
if os.access(sysconfig.get_path('purelib'), os.W_OK):
    made = '%s.%d' % (final, os.getpid())
    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(made)
    try:
        os.rename(made, final)
    except OSError:
        shutil.rmtree(made)
else:
    open(final + '.none', 'w').close()
";

/// True for a file that an environment has before packages come into it. `path`: below the files of the run.
pub(super) fn is_of_environment(path: &str) -> bool {
    let (top, rest) = path.split_once('/').unwrap_or((path, ""));
    let (name, mark) = top.split_once(['.']).map_or((top, ""), |(name, _)| {
        (name, top.rsplit('.').next().unwrap_or_default())
    });
    if name != "python" && name != "python3" {
        return false;
    }
    let program = rest.strip_prefix("bin/").unwrap_or_default();
    let is_program = program.to_ascii_lowercase().starts_with("activate")
        || program.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.') == "python";
    mark == "none" && rest.is_empty()
        || is_program
        || matches!(rest, "pyvenv.cfg" | ".gitignore" | "lib64")
}

/// An interpreter of the user that has a shim.
struct Interpreter {
    name: String,
    /// The program that PATH gives, which may be a version manager's shim. It makes the environment.
    chosen: PathBuf,
    /// The program itself, for steps without an environment.
    real: PathBuf,
    environment: PathBuf,
}

/// Makes shims for interpreters and pip. Returns the directory for the programs that packages bring, after the shims on PATH.
pub(super) fn make(place: &RunPlace, host: &Host, shims: &Path) -> io::Result<Option<PathBuf>> {
    for minor in MINORS {
        let name = format!("python3.{minor}");
        if let Some(real) = real_program(&name, host) {
            let environment = place.files.join(&name);
            let chosen = real.clone();
            let interpreter = Interpreter {
                name,
                chosen,
                real,
                environment,
            };
            interpreter.write(place, host, shims)?;
        }
    }
    let path = host.path().join(":");
    let Some(chosen) = find_program("python3", &path, Path::new("/")) else {
        return Ok(None);
    };
    let environment = place.files.join("python");
    for name in ["python3", "python"] {
        let interpreter = Interpreter {
            name: name.to_owned(),
            chosen: chosen.clone(),
            real: real_program("python3", host).unwrap_or_else(|| chosen.clone()),
            environment: environment.clone(),
        };
        interpreter.write(place, host, shims)?;
    }
    let python = shell_word(&shims.join("python3"));
    for name in ["pip", "pip3"] {
        write_program(
            &shims.join(name),
            &format!("#!/bin/sh\nexec {python} -m pip \"$@\"\n"),
        )?;
    }
    Ok(Some(environment.join("bin")))
}

impl Interpreter {
    fn write(&self, place: &RunPlace, host: &Host, shims: &Path) -> io::Result<()> {
        let path = host.path().join(":");
        let [chosen, real, environment, home, path, script] = [
            &self.chosen,
            &self.real,
            &self.environment,
            &place.home,
            Path::new(&path),
            Path::new(SCRIPT),
        ]
        .map(shell_word);
        let text = format!(
            "#!/bin/sh\ndir={environment}\n[ -x \"$dir/bin/python\" ] || [ -e \"$dir.none\" ] || \
             env -i PATH={path} HOME={home} {chosen} -I -c {script} \"$dir\" 2>/dev/null\n\
             [ -x \"$dir/bin/python\" ] || exec {real} \"$@\"\nexec \"$dir/bin/python\" \"$@\"\n"
        );
        write_program(&shims.join(&self.name), &text)
    }
}
