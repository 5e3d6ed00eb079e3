//! Events of agents on their way into a store, for every front end that agents report to: the workspace of a session, the
//! record of an event, and background work after it.

use std::any::Any;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use backstitch_core::capture::{AgentEvent, EventKind};
use backstitch_core::{Engine, Locate, OpenOptions, Workspace};

use super::binding::Binding;
use crate::render;

/// Workspace and store, as far as the command line names them.
#[derive(Clone, Copy, Debug)]
pub struct EventPlace<'a> {
    pub workspace: Option<&'a Path>,
    pub store_dir: Option<&'a Path>,
}

impl EventPlace<'_> {
    /// Returns the workspace that the session of an agent is bound to. Binds an unbound session.
    pub fn locate(
        &self,
        (agent, session): (&str, &str),
        cwd: Option<&Path>,
        warning: &mut Option<String>,
    ) -> Result<Workspace, String> {
        let state = backstitch_core::state_dir().ok();
        let binding = state.map(|dir| Binding::of(&dir, agent, session));
        if self.workspace.is_none()
            && let Some(root) = binding.as_ref().and_then(Binding::read)
            && let Ok(workspace) = self.find(Some(&root), &root)
        {
            return Ok(workspace);
        }
        let cwd = cwd.ok_or("no workspace: the working directory is gone")?;
        let workspace = self.find(self.workspace, cwd)?;
        if let Some(binding) = binding
            && let Err(error) = binding.write(&workspace.root)
        {
            *warning = Some(format!(
                "the session could not be bound to its workspace: {error}"
            ));
        }
        Ok(workspace)
    }

    pub fn find(&self, workspace: Option<&Path>, cwd: &Path) -> Result<Workspace, String> {
        let locate = Locate {
            workspace,
            store_dir: self.store_dir,
            cwd,
        };
        Workspace::find(&locate).map_err(|e| e.to_string())
    }

    /// Records one event. Returns the engine that did it. Sets `warning` for an error that is not a gap.
    pub fn record(
        &self,
        workspace: &Workspace,
        event: &AgentEvent,
        warning: &mut Option<String>,
    ) -> Result<Engine, String> {
        let mut engine =
            Engine::open_with(workspace, OpenOptions::HOOK).map_err(|e| e.to_string())?;
        if let Some(problem) = settings_warning(&engine.config().problems()) {
            warning.get_or_insert(problem);
        }
        let recorded = engine
            .capture_mut()
            .record(event)
            .map_err(|e| e.to_string())?;
        if recorded.pending {
            self.in_background(workspace, &["scan"])
                .map_err(|e| format!("the rest of the scan could not be started: {e}"))?;
        }
        // the agent has stopped and does not wait
        let is_over = matches!(event.kind, EventKind::Stop { .. } | EventKind::SessionEnd);
        if is_over
            && engine.retention().gc_is_due().unwrap_or(false)
            && let Err(error) = self.in_background(workspace, &["gc", "--if-due"])
        {
            warning.get_or_insert(format!("old checkpoints could not be squashed: {error}"));
        }
        Ok(engine)
    }

    /// Runs a backstitch command on the workspace, detached from the agent.
    fn in_background(&self, workspace: &Workspace, args: &[&str]) -> std::io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([OsStr::new("--workspace"), workspace.root.as_os_str()]);
        if let Some(dir) = &self.store_dir {
            command.arg("--store-dir").arg(std::path::absolute(dir)?);
        }
        command
            .args(args)
            .current_dir(&workspace.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A signal to the agent's process group must not end it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map(drop)
    }
}

/// Describes the problems in settings files in one line.
fn settings_warning(problems: &[String]) -> Option<String> {
    let (first, more) = problems.split_first()?;
    Some(match more.len() {
        0 => first.clone(),
        more => format!("{first} (and {more} more: `backstitch status` lists them)"),
    })
}

/// Prints one line to stderr, and ignores errors.
pub fn print(text: &str) {
    let line = render::one_line(text.lines().next().unwrap_or_default());
    let _ = writeln!(std::io::stderr(), "backstitch: {line}");
}

/// Returns the text of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn panic_text_is_extracted() {
        let panic = catch_unwind(|| panic!("number {}", 7)).unwrap_err();
        assert_eq!(panic_text(panic.as_ref()), "number 7");
    }
}
