//! Breakpoints: the list, and the commands that change it.

use std::sync::Arc;

use backstitch_control::{
    Breakpoint, BreakpointAction, BreakpointScope, BreakpointSpec, CallMoment, Control, LineKind,
    NewBreakpoint, PathReader, ReadBreakpoint, TypedBreakpoint, TypedOptions, follow,
};
use backstitch_core::config::Unattended;
use backstitch_protocol::{
    self as protocol, AddBreakpointParams, BreakpointParams, BreakpointResult, BreakpointsResult,
    EditBreakpointParams, FailureKind, Name, RemovedResult, ToggleBreakpointParams, ToggleResult,
    Where,
};

use super::face;
use crate::control::{follow_renames, line_texts, view, words};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::documents::document::Documents;
use crate::lsp::features::views;
use crate::lsp::handler::failure::{Failure, Reply};
use crate::lsp::handler::targets;
use crate::lsp::messages::control as messages;
use crate::lsp::messages::refusal;
use crate::lsp::session::{EditorClient, ServerState};

/// Returns all breakpoints, with the lines where they stand now.
pub async fn breakpoints(server: &ServerState, here: &Where) -> Reply<BreakpointsResult> {
    let handle = targets::workspace_handle(server, here)?;
    all(&server.documents, &handle).await
}

/// As `breakpoints`. An editor without panels shows them as a document.
pub async fn list(
    server: &Arc<ServerState>,
    handle: &Arc<WorkspaceHandle>,
) -> Reply<BreakpointsResult> {
    let found = all(&server.documents, handle).await?;
    if !server.client.features().own.panels {
        let text = messages::breakpoints(&found.breakpoints);
        views::show(server, "breakpoints.md", text.as_bytes()).await?;
    }
    Ok(found)
}

async fn all(documents: &Documents, handle: &WorkspaceHandle) -> Reply<BreakpointsResult> {
    let workspace = handle.workspace().clone();
    let found = handle.control(false, move |control| {
        let all = control.breakpoints().all()?;
        let all = follow_renames::follow(&workspace, control, &all).unwrap_or(all);
        let all = all.into_iter();
        let all: Vec<(Breakpoint, Option<Vec<u8>>)> = all
            .map(|one| {
                let base = control
                    .breakpoints()
                    .region_base(one.id)?
                    .map(|(_, base)| base);
                Ok((one, base))
            })
            .collect::<backstitch_core::Result<_>>()?;
        Ok((control.seq()?, all))
    });
    let (seq, all) = found.await?.unwrap_or_default();
    let breakpoints = all.iter().map(|(one, base)| {
        let mut shape = view::breakpoint(one);
        shape.region = base
            .as_deref()
            .and_then(|base| region(documents, handle, one, base));
        shape
    });
    Ok(BreakpointsResult {
        seq,
        breakpoints: breakpoints.collect(),
    })
}

/// Returns the lines of a `line` breakpoint in the open document, or in the file.
pub fn region(
    documents: &Documents,
    handle: &WorkspaceHandle,
    breakpoint: &Breakpoint,
    base: &[u8],
) -> Option<protocol::Region> {
    let set = breakpoint.spec.lines()?;
    let open = documents.of(handle).into_iter();
    let mut open = open.filter(|(_, document)| {
        let place = document.place.as_ref();
        place.is_some_and(|place| place.path.display() == set.path)
    });
    let text = match open.next().and_then(|(_, document)| document.as_saved()) {
        Some(text) => Some(text),
        None => line_texts::read_file(&handle.root().join(set.path))
            .ok()
            .flatten(),
    };
    view::region(
        breakpoint,
        follow(base, set.range, &text.unwrap_or_default()),
    )
}

fn text(name: Option<Name>) -> Option<String> {
    name.map(String::from)
}

/// Finds the value of a name. `all`: all values that the argument takes.
fn named<T: Copy>(
    argument: &str,
    typed: Option<&str>,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Reply<Option<T>> {
    let Some(typed) = typed else {
        return Ok(None);
    };
    let found = all.iter().find(|one| name(**one) == typed).copied();
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>();
    let wrong = || Failure::usage(messages::not_one_of(argument, typed, &names()));
    found.map(Some).ok_or_else(wrong)
}

fn action(typed: Option<&str>) -> Reply<Option<BreakpointAction>> {
    let all = BreakpointAction::ALL;
    named("action", typed, &all, BreakpointAction::name)
}

fn unattended(typed: Option<&str>) -> Reply<Option<Unattended>> {
    named("unattended", typed, &Unattended::ALL, Unattended::name)
}

/// Runs a job on the database, which is created if it is missing.
async fn with<T, F>(handle: &WorkspaceHandle, work: F) -> Reply<T>
where
    T: Send + 'static,
    F: FnOnce(&Control) -> backstitch_core::Result<T> + Send + 'static,
{
    let done = handle.control(true, work).await?;
    done.ok_or_else(|| Failure::new(FailureKind::NotFound, messages::NO_BREAKPOINTS))
}

/// Returns the text of a file in which a `line` breakpoint is set: of the open document, or on disk.
fn base_of(
    documents: &Documents,
    handle: &WorkspaceHandle,
    path: &str,
) -> backstitch_core::Result<Vec<u8>> {
    let open = documents.of(handle).into_iter();
    let mut open = open.filter(|(_, document)| {
        let place = document.place.as_ref();
        place.is_some_and(|place| place.path.display() == path)
    });
    match open.next().and_then(|(_, document)| document.as_saved()) {
        Some(text) => Ok(text),
        None => line_texts::text_for_lines(handle.root(), path),
    }
}

/// Paths as editors send them: relative to the root, or URIs.
struct EditorPaths<'a>(&'a WorkspaceHandle);

impl PathReader for EditorPaths<'_> {
    fn pattern(&self, typed: &str) -> backstitch_core::Result<String> {
        let root = &self.0.workspace().root;
        Ok(crate::control::pattern::pattern(root, root, typed))
    }

    fn file(&self, typed: &str) -> backstitch_core::Result<String> {
        let path = targets::rel_path(self.0, typed);
        let path = path
            .ok_or_else(|| backstitch_core::Error::Usage(refusal::no_path(typed, self.0.root())))?;
        Ok(path.display())
    }
}

pub async fn add(
    server: &ServerState,
    handle: &WorkspaceHandle,
    params: AddBreakpointParams,
) -> Reply<BreakpointResult> {
    let at = params.at.as_deref();
    let typed = TypedBreakpoint {
        kind: params.kind.into(),
        fields: params.spec.into(),
        moment: named("at", at, &CallMoment::ALL, CallMoment::name)?,
        scope: BreakpointScope {
            agent: text(params.agent),
            session: text(params.session),
            subagent: text(params.subagent),
        },
        options: TypedOptions {
            when: text(params.when),
            hits: text(params.hits),
            action: action(params.action.as_deref())?,
            message: params.message,
            once: params.once,
            unattended: unattended(params.unattended.as_deref())?,
        },
        made_by: face(&server.client),
    };
    let read = typed.read(&EditorPaths(handle), |path| {
        base_of(&server.documents, handle, path)
    })?;
    let ReadBreakpoint { new, pattern } = read;
    let made = with(handle, |control| control.breakpoints().add(new)).await?;
    let remarks = words::remarks(handle.root(), pattern.as_deref(), &made.spec);
    server.client.report(messages::added(&made, &remarks));
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&made),
        remarks,
    })
}

pub async fn edit(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: EditBreakpointParams,
) -> Reply<BreakpointResult> {
    let (id, face) = (params.breakpoint.to_string(), face(client));
    let changes = TypedOptions {
        when: params.when,
        hits: params.hits,
        action: action(params.action.as_deref())?,
        message: params.message,
        once: params.once,
        unattended: None,
    };
    let changed = with(handle, move |control| {
        let mut one = control.breakpoints().named(&id)?;
        changes.change(&mut one)?;
        control.breakpoints().edit(&one, &face)?;
        Ok(one)
    });
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&changed.await?),
        remarks: Vec::new(),
    })
}

pub async fn enable(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: &BreakpointParams,
    enabled: bool,
) -> Reply<BreakpointResult> {
    let (id, face) = (params.breakpoint.to_string(), face(client));
    let changed = with(handle, move |control| {
        let one = Breakpoint {
            enabled,
            ..control.breakpoints().named(&id)?
        };
        control.breakpoints().edit(&one, &face)?;
        Ok(one)
    });
    Ok(BreakpointResult {
        breakpoint: view::breakpoint(&changed.await?),
        remarks: Vec::new(),
    })
}

pub async fn remove(
    client: &EditorClient,
    handle: &WorkspaceHandle,
    params: &BreakpointParams,
) -> Reply<RemovedResult> {
    let (id, face) = (params.breakpoint.to_string(), face(client));
    let removed = with(handle, move |control| {
        let one = control.breakpoints().named(&id)?;
        control.breakpoints().remove(one.id, &face)
    });
    Ok(RemovedResult {
        removed: usize::from(removed.await?),
    })
}

pub async fn clear(client: &EditorClient, handle: &WorkspaceHandle) -> Reply<RemovedResult> {
    let face = face(client);
    let removed = handle.control(false, move |control| control.breakpoints().clear(&face));
    Ok(RemovedResult {
        removed: removed.await?.unwrap_or(0),
    })
}

/// Makes a breakpoint at lines of a document, or removes those that stand there.
pub async fn toggle(
    server: &Arc<ServerState>,
    handle: &WorkspaceHandle,
    params: &ToggleBreakpointParams,
) -> Reply<ToggleResult> {
    let uri = params.uri.as_deref().unwrap_or_default();
    let path = targets::path(handle, uri)?.display();
    let (first, end) = *params.lines;
    let here = Where {
        uri: params.uri.clone(),
        workspace: None,
    };
    let touches = |region: &protocol::Region| {
        let start = region.start as usize;
        region.state == "present" && start < end && first < start + (region.count as usize).max(1)
    };
    let there = breakpoints(server, &here).await?.breakpoints.into_iter();
    let there: Vec<String> = there
        .filter(|one| {
            let region = one.region.as_ref();
            region.is_some_and(|region| region.path == path && touches(region))
        })
        .map(|one| one.id)
        .collect();
    if !there.is_empty() {
        let (removed, face) = (there.clone(), face(&server.client));
        with(handle, move |control| {
            for name in &there {
                let one = control.breakpoints().named(name)?;
                control.breakpoints().remove(one.id, &face)?;
            }
            Ok(())
        })
        .await?;
        server.client.report(messages::removed(&removed));
        return Ok(ToggleResult {
            added: None,
            removed,
        });
    }
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let base = base_of(&server.documents, handle, &path)?;
    let spec = BreakpointSpec::from(LineKind {
        path,
        start: number(first).saturating_add(1),
        count: number(end - first),
    });
    let new = NewBreakpoint {
        base: Some(base),
        ..NewBreakpoint::of(spec, &face(&server.client))
    };
    let made = with(handle, |control| control.breakpoints().add(new)).await?;
    server.client.report(messages::added(&made, &[]));
    Ok(ToggleResult {
        added: Some(view::breakpoint(&made)),
        removed: Vec::new(),
    })
}
