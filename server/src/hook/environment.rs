//! The environment of a hook. An agent hands variables of a project's files to its hooks, so a clone, or the agent itself,
//! could switch a hook off with them, or lead it to another store. The hook runs itself again without those.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use backstitch_agents::switches::{self, SwitchedBy};
use backstitch_agents::{self as agents, Agent};
use backstitch_control::agent_processes;

/// Name of the process once it has left the project's variables. No variable can claim it.
const LEFT: &str = "backstitch (own environment)";

/// Runs this process again without the variables of ours that a project's files set: with the value that the agent
/// itself was started with, if there is one. Returns if there are none.
pub fn leave_projects(args: &[OsString]) {
    if std::env::args_os().next().is_some_and(|name| name == LEFT) {
        return;
    }
    let agent = args.iter().find_map(|arg| agents::agent(arg.to_str()?));
    let Some(agent) = agent.filter(|agent| !agent.spec().variable_files.is_empty()) else {
        return;
    };
    let foreign = foreign(agent);
    if foreign.is_empty() {
        return;
    }
    let own = environment_of_agent();
    let mut command = Command::new(own_program());
    command.arg0(LEFT).args(std::env::args_os().skip(1));
    for name in foreign {
        match own.get(OsStr::new(&name)) {
            Some(value) => command.env(&name, value),
            None => command.env_remove(&name),
        };
    }
    // it returns only if it fails
    let _ = command.exec();
}

fn own_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"))
}

/// Returns the variables of ours that are set here and in a file of the project.
fn foreign(agent: &dyn Agent) -> Vec<String> {
    let project = agent.spec().project_variable.and_then(std::env::var_os);
    let project = project.map(PathBuf::from).filter(|dir| dir.is_dir());
    let cwd = std::env::current_dir().ok();
    let mut dirs: Vec<PathBuf> = project.into_iter().chain(cwd).collect();
    dirs.dedup();
    let found = dirs.iter().flat_map(|dir| of_project(agent, dir));
    let mut names: Vec<String> = found
        .filter(|name| std::env::var_os(name).is_some())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn of_project(agent: &dyn Agent, dir: &Path) -> impl Iterator<Item = String> {
    let found = switches::variables(agent, dir).into_iter();
    found
        .filter(|one| one.of_project)
        .filter_map(|one| match one.what {
            SwitchedBy::Variable { name, .. } => Some(name),
            SwitchedBy::Setting(_) => None,
        })
}

/// Returns the variables that the agent was started with, before it read a file. Empty where the system does not tell.
fn environment_of_agent() -> HashMap<OsString, OsString> {
    // an agent may start itself again with what it has read: the first one counts
    let first = agent_processes().into_iter().next_back();
    let bytes =
        first.and_then(|process| std::fs::read(format!("/proc/{}/environ", process.pid)).ok());
    let bytes = bytes.unwrap_or_default();
    let entry = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let value = OsString::from_vec(entry[at + 1..].to_vec());
        Some((OsStr::from_bytes(&entry[..at]).to_owned(), value))
    };
    bytes.split(|byte| *byte == 0).filter_map(entry).collect()
}
