//! A shell on a terminal, with all that the next step finds.
//!
//! The terminal is in another process: an editor's, or that of `job debug`. The job waits for it in a script, which has written its
//! environment to a file. The shell takes it from there, and holds a pipe open until it ends. So the end of a shell that is killed is
//! seen as well.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io};

use crate::run::ShellProgram;
use crate::step::shell::find_program;

use super::JobSession;
use super::shell::{ShellEnd, pairs, run_program, word};

/// The environment of the job, as `env -0` writes it.
const START: &str = "start";
/// There once the shell begins.
const BEGUN: &str = "begun";
/// The pipe that the shell holds open.
const PIPE: &str = "pipe";
/// The environment of the shell at its end.
const END: &str = "end";

/// Seconds for which a job waits for the shell to begin.
const WAIT: u64 = 30;

/// Variables of the terminal that a shell in it has.
const OF_TERMINAL: [&str; 2] = ["TERM", "COLORTERM"];

/// The folder in which a shell and the job that waits for it will find each other. One that a kill has left is removed: a terminal
/// that opens before the job waits does not read its environment.
pub fn new_terminal_folder(session: &JobSession) -> PathBuf {
    let folder = folder_of(session);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn folder_of(session: &JobSession) -> PathBuf {
    let place = session.job().place();
    place.files.with_file_name("terminal")
}

/// Waits for the shell that [`run_terminal_shell`] runs elsewhere, and takes its variables up. Err: it has not begun, in a sentence.
pub fn wait_for_terminal(session: &mut JobSession) -> Result<ShellEnd, String> {
    let folder = folder_of(session);
    let _ = fs::remove_dir_all(&folder);
    let made = DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|error| format!("{} cannot be made: {error}.", folder.display()))?;
    let end = folder.join(END);
    let ran = run_program(
        session,
        &|path, directory| waiting(path, directory, &folder),
        &end,
    );
    let has_begun = folder.join(BEGUN).exists();
    let _ = fs::remove_dir_all(&folder);
    let ran = ran?;
    if !has_begun {
        return Err("No shell has begun on a terminal.".to_owned());
    }
    Ok(ran)
}

/// The script that waits for the shell.
fn waiting(path: &str, directory: &Path, folder: &Path) -> Result<ShellProgram, String> {
    let found = |name: &str| {
        find_program(name, path, directory).ok_or_else(|| format!("{name} is not on PATH."))
    };
    let [env, mv, mkfifo, sleep] =
        ["env", "mv", "mkfifo", "sleep"].map(|name| found(name).map(|path| word(&path)));
    let (env, mv, mkfifo, sleep) = (env?, mv?, mkfifo?, sleep?);
    let [start, part, begun, pipe] =
        [START, "part", BEGUN, PIPE].map(|name| word(&folder.join(name)));
    let tries = WAIT * 10;
    let script = format!(
        "{mkfifo} {pipe} && {env} -0 > {part} && {mv} {part} {start} || exit 1\n\
         i=0\n\
         until test -e {begun}; do\n\
         i=$((i + 1)); test $i -le {tries} || exit 1; {sleep} 0.1\n\
         done\n\
         read -r i < {pipe} || exit 0\n"
    );
    let shell = find_program("bash", path, directory).map_or_else(|| found("sh"), Ok)?;
    Ok(ShellProgram { shell, script })
}

/// Runs a shell on the terminal of this process for the job that waits in a folder.
pub fn run_terminal_shell(folder: &Path) -> io::Result<()> {
    let file = folder.join(START);
    let until = Instant::now() + Duration::from_secs(WAIT);
    let text = loop {
        match fs::read(&file) {
            Ok(text) => break text,
            Err(error) if Instant::now() > until => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    };
    fs::remove_file(&file)?;
    let variables = pairs(&text);
    let value = |name: &str| variables.iter().find(|(known, _)| known == name);
    let path = value("PATH").map_or("", |(_, value)| value);
    let directory = value("PWD").map_or(Path::new("/"), |(_, value)| Path::new(value));
    let found = |name: &str| find_program(name, path, directory);
    let absent = |name: &str| io::Error::other(format!("{name} is not on PATH"));
    let (env, mv) = (found("env"), found("mv"));
    let (env, mv) = (
        env.ok_or_else(|| absent("env"))?,
        mv.ok_or_else(|| absent("mv"))?,
    );
    let rc = folder.join("rc");
    let [part, end] = ["part", END].map(|name| word(&folder.join(name)));
    let trap = format!("{} -0 > {part} && {} {part} {end}", word(&env), word(&mv));
    // the file is named by ENV in a shell that is not bash
    let script = format!(
        "unset ENV\nPS1='(job) $ '\ntrap {} EXIT\n",
        word(Path::new(&trap))
    );
    fs::write(&rc, script)?;
    fs::write(folder.join(BEGUN), "")?;
    let pipe = OpenOptions::new().write(true).open(folder.join(PIPE))?;
    let (shell, arguments) = match found("bash") {
        Some(bash) => (
            bash,
            vec![
                OsStr::new("--noprofile"),
                OsStr::new("--rcfile"),
                rc.as_os_str(),
                OsStr::new("-i"),
            ],
        ),
        None => (
            found("sh").ok_or_else(|| absent("sh"))?,
            vec![OsStr::new("-i")],
        ),
    };
    let own = OF_TERMINAL
        .iter()
        .filter_map(|name| Some((name, env::var_os(name)?)));
    let ran = Command::new(shell)
        .args(arguments)
        .env_clear()
        .envs(own)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .env("ENV", &rc)
        .current_dir(directory)
        .status();
    drop(pipe);
    ran.map(drop)
}
