//! Events of agents on their way into a store, for every front end that agents report to: the workspace of a session, the
//! record of an event, and background work after it.

use std::any::Any;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use backstitch_core::capture::{AgentEvent, Effect, EventKind};
use backstitch_core::{Engine, Locate, Workspace, is_linked_worktree};

use super::binding::Binding;
use super::messages;
use super::turned_away::TurnedAway;
use super::used_stores::{self, StoreNews};
use crate::opening;
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
        if let Some(binding) = binding {
            note_unbound(binding.write(&workspace.root), warning);
        }
        Ok(workspace)
    }

    /// Returns the workspace of an event: that of its session, or the one that the session has moved to. A session moves when it
    /// starts or resumes elsewhere, or before a prompt or a call with another working directory. A call that names files in a
    /// linked worktree belongs there. Where the working directory is not a workspace, the files that a call names decide.
    pub fn locate_event(
        &self,
        event: &AgentEvent,
        cwd: Option<&Path>,
        warning: &mut Option<String>,
    ) -> Result<Workspace, String> {
        let Some(state) = backstitch_core::state_dir()
            .ok()
            .filter(|_| self.workspace.is_none())
        else {
            return self.locate((&event.agent, &event.session), cwd, warning);
        };
        let own = Binding::of(&state, &event.agent, &event.session);
        let thread = event
            .subagent
            .as_ref()
            .map(|thread| Binding::of_thread(&state, &event.agent, &event.session, thread));
        let bound = thread.as_ref().and_then(Binding::read);
        let bound = bound.or_else(|| own.read());
        let bound = bound.and_then(|root| self.find(Some(&root), &root).ok());
        if let Some(bound) = &bound {
            let named = named_dir(event, cwd);
            if let Some(worktree) = self.worktree_below(bound, named.as_deref()) {
                carry_turn(event, bound, &worktree);
                return Ok(worktree);
            }
            let Some(moved) = self.elsewhere(event, bound, cwd, named.as_deref()) else {
                return Ok(bound.clone());
            };
            let binding = thread.as_ref().unwrap_or(&own);
            note_unbound(binding.write(&moved.root), warning);
            carry_turn(event, bound, &moved);
            if thread.is_none() {
                leave(event, bound);
            }
            return Ok(moved);
        }
        let cwd = cwd.ok_or("no workspace: the working directory is gone")?;
        let refusal = match self.find(None, cwd) {
            Ok(workspace) => {
                note_unbound(own.write(&workspace.root), warning);
                return Ok(workspace);
            }
            Err(refusal) => refusal,
        };
        let away = TurnedAway::of(&state, &event.agent, &event.session);
        TurnedAway::note(&state, event, cwd, &refusal);
        let named = named_dir(event, Some(cwd));
        let Some(workspace) = named.and_then(|dir| self.existing(&dir)) else {
            return Err(refusal);
        };
        note_unbound(own.write(&workspace.root), warning);
        if let Some(prompt) = away.and_then(|away| Some((away.prompt?, away.prompt_id))) {
            begin_turn(event, &workspace, prompt);
        }
        Ok(workspace)
    }

    /// Returns the workspace that an event shows its session in now, if that is another one.
    fn elsewhere(
        &self,
        event: &AgentEvent,
        bound: &Workspace,
        cwd: Option<&Path>,
        named: Option<&Path>,
    ) -> Option<Workspace> {
        let is_start =
            matches!(&event.kind, EventKind::SessionStart { source } if source != "compact");
        let may_move = is_start
            || matches!(
                event.kind,
                EventKind::Prompt {
                    synthetic: false,
                    ..
                } | EventKind::Before(_)
                    | EventKind::Announced { .. }
                    | EventKind::Starts(_)
            );
        let cwd = cwd.filter(|cwd| may_move && *cwd != bound.root)?;
        let is_other = |found: &Workspace| found.root != bound.root;
        if let Ok(found) = self.find(None, cwd) {
            let counts = is_start || found.is_marked() || has_history(&found);
            return Some(found).filter(|found| counts && is_other(found));
        }
        // the directory is not a workspace, so the file's repository decides
        let named = named.filter(|dir| !dir.starts_with(&bound.root))?;
        self.existing(named).filter(is_other)
    }

    /// Finds a workspace that is marked as one or has a history.
    fn existing(&self, dir: &Path) -> Option<Workspace> {
        let found = self.find(None, dir).ok()?;
        (found.is_marked() || has_history(&found)).then_some(found)
    }

    /// Returns the linked worktree below a workspace that has a directory.
    fn worktree_below(&self, bound: &Workspace, dir: Option<&Path>) -> Option<Workspace> {
        let dir = dir.filter(|dir| *dir != bound.root && dir.starts_with(&bound.root))?;
        let mut within = dir.ancestors().take_while(|above| *above != bound.root);
        within.find(|above| is_linked_worktree(above))?;
        self.find(None, dir)
            .ok()
            .filter(|found| found.root != bound.root)
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
        let mut engine = Engine::open_with(workspace, opening::HOOK).map_err(|e| e.to_string())?;
        if let Some(problem) = settings_warning(&engine.config().problems()) {
            warning.get_or_insert(problem);
        }
        if self.store_dir.is_none()
            && let Some(news) = used_stores::note(workspace)
        {
            let (said, fix) = match news {
                StoreNews::Other(before) => messages::other_store(&engine.config(), &before),
                StoreNews::Removed => messages::removed_history(&workspace.store_dir),
            };
            warning.get_or_insert(format!("{said}; {fix}"));
        }
        let worktrees = engine.capture().worktrees_at_work(event);
        let recorded = engine
            .capture_mut()
            .record(event)
            .map_err(|e| e.to_string())?;
        for dir in worktrees {
            if let Err(error) = self.record_in_worktree(workspace, &dir, event) {
                warning.get_or_insert(format!("{}: {error}", dir.display()));
            }
        }
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

    /// Records a command also in a linked worktree below the workspace that it works in.
    fn record_in_worktree(
        &self,
        workspace: &Workspace,
        dir: &Path,
        event: &AgentEvent,
    ) -> Result<(), String> {
        let there = self.find(None, dir)?;
        if there.root == workspace.root {
            return Ok(());
        }
        carry_turn(event, workspace, &there);
        let event = AgentEvent {
            cwd: Some(dir.to_path_buf()),
            ..event.clone()
        };
        let mut engine = Engine::open_with(&there, opening::HOOK).map_err(|e| e.to_string())?;
        let recorded = engine.capture_mut().record(&event);
        if recorded.map_err(|e| e.to_string())?.pending {
            let scan = self.in_background(&there, &["scan"]);
            scan.map_err(|e| format!("the rest of the scan could not be started: {e}"))?;
        }
        Ok(())
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

/// Begins the turn of a session in the workspace that it moves to in the middle of it. A failure costs the turn's name.
fn carry_turn(event: &AgentEvent, from: &Workspace, to: &Workspace) {
    if !matches!(
        event.kind,
        EventKind::Before(_) | EventKind::Announced { .. } | EventKind::Starts(_)
    ) {
        return;
    }
    let prompt = Engine::open_with(from, opening::HOOK).and_then(|engine| {
        engine
            .capture()
            .prompt_at_work(&event.agent, &event.session)
    });
    if let Ok(Some(prompt)) = prompt {
        begin_turn(event, to, (prompt, event.prompt_id.clone()));
    }
}

fn begin_turn(event: &AgentEvent, to: &Workspace, (text, id): (String, Option<String>)) {
    let began = Engine::open_with(to, opening::HOOK).and_then(|mut engine| {
        let known = engine
            .capture()
            .prompt_at_work(&event.agent, &event.session)?;
        if known.as_ref() == Some(&text) {
            return Ok(());
        }
        let prompt = AgentEvent {
            prompt_id: id,
            subagent: None,
            kind: EventKind::Prompt {
                text,
                synthetic: false,
            },
            ..event.clone()
        };
        engine.capture_mut().record(&prompt).map(drop)
    });
    drop(began);
}

/// Ends the work of a session in the workspace that it leaves.
fn leave(event: &AgentEvent, from: &Workspace) {
    let left = AgentEvent {
        subagent: None,
        kind: EventKind::Stop { background: false },
        ..event.clone()
    };
    let ended = Engine::open_with(from, opening::HOOK)
        .and_then(|mut engine| engine.capture_mut().record(&left).map(drop));
    drop(ended);
}

/// True if the workspace has been recorded.
fn has_history(workspace: &Workspace) -> bool {
    workspace.store_dir.join("store.db").is_file()
}

fn note_unbound(written: std::io::Result<()>, warning: &mut Option<String>) {
    if let Err(error) = written {
        *warning = Some(format!(
            "the session could not be bound to its workspace: {error}"
        ));
    }
}

/// Returns the directory of the first file that a call names, as far as it exists.
fn named_dir(event: &AgentEvent, cwd: Option<&Path>) -> Option<PathBuf> {
    let (EventKind::Before(call)
    | EventKind::Announced { call, .. }
    | EventKind::Starts(call)
    | EventKind::After { call, .. }) = &event.kind
    else {
        return None;
    };
    let Effect::Names(paths) = &call.effect else {
        return None;
    };
    let path = match (paths.first()?, cwd) {
        (path, Some(cwd)) => cwd.join(path),
        (path, None) => path.clone(),
    };
    let dir = path.ancestors().skip(1).find(|dir| dir.is_dir())?;
    dir.canonicalize().ok()
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
