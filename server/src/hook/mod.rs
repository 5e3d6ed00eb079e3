//! `backstitch hook AGENT`: an agent tells of an event on stdin, and goes on. Owns the promise that
//! the agent is never broken: always exit 0, nothing on stdout (an empty answer means "go on"), and
//! any trouble is one line on stderr and a gap in the record. Starts nothing that takes time.

mod binding;

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::{Engine, Locate, Workspace, record_gap};

use crate::agents::{self, Agent};
use binding::Binding;

/// A payload beyond this is not read into memory.
const PAYLOAD_LIMIT: u64 = 256 << 20;

/// What follows `hook` on the command line. Read by hand: the hook runs around every tool call.
#[derive(Debug, Default)]
struct Invocation {
    agent: Option<String>,
    workspace: Option<PathBuf>,
    store_dir: Option<PathBuf>,
}

/// Runs the hook on the arguments after the word `hook`.
pub fn run(args: impl Iterator<Item = OsString>) {
    // The one line on stderr is ours; a panic's own report would be more.
    std::panic::set_hook(Box::new(|_| {}));
    let invocation = Invocation::read(args);
    let mut workspace = None;
    let mut remark = None;
    let recorded = AssertUnwindSafe(|| record(&invocation, &mut workspace, &mut remark));
    let outcome = catch_unwind(recorded)
        .unwrap_or_else(|panic| Err(format!("internal error: {}", panic_text(panic.as_ref()))));
    let Err(trouble) = outcome else {
        if let Some(remark) = remark {
            say(&remark);
        }
        return;
    };
    say(&trouble);
    // What went wrong once may go wrong again.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(workspace) = workspace.or_else(|| invocation.locate_without_event()) {
            record_gap(&workspace, &trouble);
        }
    }));
}

/// Records one event. The workspace is handed out as soon as it is known, for the gap of a failure;
/// the remark is what went wrong and is no gap.
fn record(
    invocation: &Invocation,
    found: &mut Option<Workspace>,
    remark: &mut Option<String>,
) -> Result<(), String> {
    let payload = read_payload(std::io::stdin().lock())?;
    let name = invocation.agent.as_deref().ok_or("hook: no agent named")?;
    let agent = agents::agent(name).ok_or_else(|| format!("hook: unknown agent `{name}`"))?;
    let event = (agent.parse)(&payload).map_err(|e| e.to_string())?;
    drop(payload);
    let workspace = found.insert(invocation.locate(agent, &event, remark)?);
    let mut engine = Engine::open_for_hook(workspace).map_err(|e| e.to_string())?;
    if let Some(wrong) = settings_remark(&engine.config().problems()) {
        remark.get_or_insert(wrong);
    }
    let recorded = engine.record(&event).map_err(|e| e.to_string())?;
    // the process ends: what closing would do, the kernel does
    let engine = std::mem::ManuallyDrop::new(engine);
    if recorded.pending {
        invocation
            .in_background(workspace, &["scan"])
            .map_err(|e| format!("the rest of the scan could not be started: {e}"))?;
    }
    // the agent has stopped: nobody waits
    let is_over = matches!(event.kind, EventKind::Stop { .. } | EventKind::SessionEnd);
    if is_over
        && engine.gc_is_due().unwrap_or(false)
        && let Err(error) = invocation.in_background(workspace, &["gc", "--if-due"])
    {
        remark.get_or_insert(format!("old checkpoints could not be made one: {error}"));
    }
    Ok(())
}

/// What is wrong in files of settings, in one line.
fn settings_remark(problems: &[String]) -> Option<String> {
    let (first, more) = problems.split_first()?;
    Some(match more.len() {
        0 => first.clone(),
        more => format!("{first} (and {more} more: `backstitch status` has them)"),
    })
}

fn read_payload(mut input: impl Read) -> Result<Vec<u8>, String> {
    let mut payload = Vec::new();
    let read = input
        .by_ref()
        .take(PAYLOAD_LIMIT + 1)
        .read_to_end(&mut payload);
    read.map_err(|e| format!("the payload cannot be read: {e}"))?;
    if payload.len() as u64 > PAYLOAD_LIMIT {
        drop(payload);
        // Read on, or the agent's write fails.
        let _ = std::io::copy(&mut input, &mut std::io::sink());
        return Err(format!(
            "a payload above {} MiB was not recorded",
            PAYLOAD_LIMIT >> 20
        ));
    }
    Ok(payload)
}

impl Invocation {
    fn read(mut args: impl Iterator<Item = OsString>) -> Self {
        let mut read = Self::default();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--workspace") => read.workspace = args.next().map(PathBuf::from),
                Some("--store-dir") => read.store_dir = args.next().map(PathBuf::from),
                Some(name) if read.agent.is_none() && !name.starts_with('-') => {
                    read.agent = Some(name.to_owned());
                }
                // A later version's option must not break this one.
                _ => {}
            }
        }
        read
    }

    /// The workspace that the session is bound to, else the one to bind it to.
    fn locate(
        &self,
        agent: &Agent,
        event: &AgentEvent,
        remark: &mut Option<String>,
    ) -> Result<Workspace, String> {
        let state = backstitch_core::state_dir().ok();
        let binding = state.map(|dir| Binding::of(&dir, agent.name, &event.session));
        let cwd = event.cwd.clone().filter(|dir| dir.is_dir());
        let cwd = cwd.or_else(|| self.start_dir(agent.project_dir));
        if self.workspace.is_none()
            && let Some(root) = binding.as_ref().and_then(Binding::read)
            && let Ok(workspace) = self.find(Some(&root), &root)
        {
            return Ok(workspace);
        }
        let cwd = cwd.ok_or("no workspace: the working directory is gone")?;
        let workspace = self.find(self.workspace.as_deref(), &cwd)?;
        if let Some(binding) = binding
            && let Err(error) = binding.write(&workspace.root)
        {
            *remark = Some(format!(
                "the session could not be bound to its workspace: {error}"
            ));
        }
        Ok(workspace)
    }

    /// For a gap when there is no event to go by.
    fn locate_without_event(&self) -> Option<Workspace> {
        let variable = self
            .agent
            .as_deref()
            .and_then(agents::agent)
            .map(|a| a.project_dir);
        let cwd = self.start_dir(variable.unwrap_or_default())?;
        self.find(self.workspace.as_deref(), &cwd).ok()
    }

    fn find(&self, workspace: Option<&Path>, cwd: &Path) -> Result<Workspace, String> {
        let locate = Locate {
            workspace,
            store_dir: self.store_dir.as_deref(),
            cwd,
        };
        Workspace::find(&locate).map_err(|e| e.to_string())
    }

    /// Runs a command of ours on the workspace, detached from the agent.
    fn in_background(&self, workspace: &Workspace, what: &[&str]) -> std::io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([OsStr::new("--workspace"), workspace.root.as_os_str()]);
        if let Some(dir) = &self.store_dir {
            command.arg("--store-dir").arg(std::path::absolute(dir)?);
        }
        command
            .args(what)
            .current_dir(&workspace.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A signal to the agent's group must not end it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map(drop)
    }

    fn start_dir(&self, variable: &str) -> Option<PathBuf> {
        let named = (!variable.is_empty())
            .then(|| std::env::var_os(variable))
            .flatten();
        let named = named.map(PathBuf::from).filter(|dir| dir.is_dir());
        named
            .or_else(|| self.workspace.clone())
            .or_else(|| std::env::current_dir().ok())
    }
}

/// One line on stderr, whatever becomes of it.
fn say(what: &str) {
    let line = what.lines().next().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "backstitch: {line}");
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_in_any_order_and_unknown_ones_passed_over() {
        let args = [
            "--later",
            "--store-dir",
            "/s",
            "claude-code",
            "--workspace",
            "/w",
        ];
        let read = Invocation::read(args.into_iter().map(OsString::from));
        assert_eq!(read.agent.as_deref(), Some("claude-code"));
        assert_eq!(read.store_dir.as_deref(), Some(Path::new("/s")));
        assert_eq!(read.workspace.as_deref(), Some(Path::new("/w")));
    }

    #[test]
    fn a_payload_is_read_whole() {
        assert_eq!(read_payload(&b"{}"[..]).unwrap(), b"{}");
    }

    #[test]
    fn a_panic_has_a_text() {
        let panic = catch_unwind(|| panic!("number {}", 7)).unwrap_err();
        assert_eq!(panic_text(panic.as_ref()), "number 7");
    }
}
