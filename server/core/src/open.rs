//! Opening the store of a workspace: its root and branch are found or made, and a restore that was cut off is finished.

use std::sync::Arc;

use crate::config::Sources;
use crate::engine::{Engine, OpenOptions, ProgressSink, UpperLayers};
use crate::error::{Error, Result};
use crate::model::{Here, os_bytes};
use crate::owner::{self, Ownership};
use crate::places::{Workspace, WorkspaceKind};
use crate::roots;
use crate::store::tables::root;
use crate::store::{self, Durable, Store};
use crate::system::DirIdentity;
use crate::worktree::cookie;
use crate::worktree::disk::Root;
use crate::worktree::past_times;

impl Engine {
    /// Opens the store of a workspace, and creates it the first time. Work that a process left unfinished when it
    /// died is finished or rolled back first.
    pub fn open(workspace: &Workspace) -> Result<Self> {
        Self::open_with(workspace, OpenOptions::SERVER)
    }

    /// As `open`, with the options of the process.
    pub fn open_with(workspace: &Workspace, options: OpenOptions) -> Result<Self> {
        if !options.create && !Store::exists(&workspace.store_dir)? {
            return Err(Error::NoStore(workspace.root.clone()));
        }
        let sources = Sources::of(workspace).read_once(options.read_settings_once);
        let root = Root::open(&workspace.root, Arc::new(sources))?;
        if workspace.shared && !Store::exists(&workspace.store_dir)? {
            return Err(Error::NotFound {
                what: "the history that this directory was forked from, store",
                name: workspace.store_dir.display().to_string(),
            });
        }
        let owner = owner::check(&workspace.store_dir, &workspace.root)?;
        let store = Store::open_with(&workspace.store_dir, options.busy_timeout)?;
        if owner == Ownership::Unstamped {
            owner::adopt(&store)?;
        }
        if workspace.kind == WorkspaceKind::Run {
            past_times::prepare(&store.conn)?;
        }
        crate::forks::finish_left(&store, &workspace.root)?;
        let identity = root.identity();
        if !roots::reconcile(&store, workspace, identity)? {
            let found_again = workspace.again()?;
            return if found_again == *workspace {
                Err(interrupted_fork(workspace))
            } else {
                Self::open_with(&found_again, options)
            };
        }
        let (here, is_new_branch) = position(&store, workspace, identity)?;
        let mut engine = Self {
            store,
            root,
            here,
            progress: ProgressSink::default(),
            recorder_timeout: cookie::ANSWER_TIMEOUT,
            walks_avoided: 0,
            always_scan: false,
            notice: None,
            options,
            upper: UpperLayers {
                recover: |engine| engine.restore_mut().recover_locked(),
                open: Self::open_with,
            },
        };
        engine.restore_mut().recover()?;
        if is_new_branch {
            engine.notice = Some(format!(
                "another directory uses the branch of this one, which is now on {}",
                engine.history().branch_name()?
            ));
        }
        Ok(engine)
    }
}

/// Returns the root and branch of a workspace, and true if the root had to begin a branch because another directory took
/// over its own. A new root is inserted on `main`.
fn position(
    store: &Store,
    workspace: &Workspace,
    identity: Option<DirIdentity>,
) -> Result<(Here, bool)> {
    let path = os_bytes(workspace.root.as_os_str());
    match root::position(&store.conn, &path)? {
        Some((root, Some(branch))) => Ok((Here { root, branch }, false)),
        Some((_, None)) => store.write(Durable::Power, |conn| {
            match root::position(conn, &path)? {
                // another process may have done this first
                Some((root, Some(branch))) => Ok((Here { root, branch }, false)),
                Some((root, None)) => {
                    let branch = roots::branch_again(conn, root)?;
                    let branch = branch.ok_or_else(|| branch_lost(workspace))?;
                    Ok((Here { root, branch }, true))
                }
                None => Err(branch_lost(workspace)),
            }
        }),
        None if workspace.shared => Err(interrupted_fork(workspace)),
        None => store.write(Durable::Power, |conn| {
            // another process may have done this first
            if let Some((root, Some(branch))) = root::position(conn, &path)? {
                return Ok((Here { root, branch }, false));
            }
            Ok((root::insert_on_main(conn, &path, identity)?, false))
        }),
    }
}

fn branch_lost(workspace: &Workspace) -> Error {
    Error::refused(
        format!(
            "another directory uses the branch of {}, and its last checkpoint is not known",
            workspace.root.display()
        ),
        "move the files you need elsewhere, remove the directory, and fork again",
    )
}

/// Notes a gap when the store cannot be used. Returns `false` if that fails, too.
pub fn record_gap(workspace: &Workspace, what: &str) -> bool {
    let refused = owner::check(&workspace.store_dir, &workspace.root);
    // nothing is written to a store that is not the user's; on a full disk there is space set aside
    !matches!(refused, Err(Error::Refused { .. }))
        && store::gaps::append(&workspace.store_dir, what)
}

fn interrupted_fork(workspace: &Workspace) -> Error {
    Error::refused(
        format!("the fork into {} was interrupted", workspace.root.display()),
        "remove that directory and fork again",
    )
}
