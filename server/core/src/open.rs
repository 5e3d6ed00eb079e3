//! Opening the store of a workspace: its root and branch are found or made, and a restore that was cut off is finished.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use crate::config::Sources;
use crate::engine::{Engine, OpenOptions, ProgressSink};
use crate::error::{Error, Result};
use crate::model::{BranchId, Here, RootId, os_bytes};
use crate::owner::{self, Ownership};
use crate::places::Workspace;
use crate::roots;
use crate::store::{self, Durable, Store};
use crate::worktree::cookie;
use crate::worktree::disk::Root;

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
        let path = os_bytes(workspace.root.as_os_str());
        let found = |conn: &rusqlite::Connection| -> Result<Option<(RootId, Option<BranchId>)>> {
            Ok(conn
                .prepare_cached("SELECT id, branch FROM root WHERE path = ?1")?
                .query_row([&path], |r| Ok((r.get(0)?, r.get(1)?)))
                .optional()?)
        };
        let branch_lost = || {
            Error::refused(
                format!(
                    "another directory took over the branch of {}, and its last checkpoint is not known",
                    workspace.root.display()
                ),
                "move the files you need elsewhere, remove the directory, and fork again",
            )
        };
        let mut new_branch = None;
        let here = match found(&store.conn)? {
            Some((root, Some(branch))) => Here { root, branch },
            Some((_, None)) => store.write(Durable::Power, |conn| match found(conn)? {
                // another process may have done this first
                Some((root, Some(branch))) => Ok(Here { root, branch }),
                Some((root, None)) => {
                    let branch = roots::branch_again(conn, root)?.ok_or_else(branch_lost)?;
                    new_branch = Some(branch);
                    Ok(Here { root, branch })
                }
                None => Err(branch_lost()),
            })?,
            None if workspace.shared => {
                return Err(interrupted_fork(workspace));
            }
            None => store.write(Durable::Power, |conn| {
                // another process may have done this first
                if let Some((root, Some(branch))) = found(conn)? {
                    return Ok(Here { root, branch });
                }
                conn.execute(
                    "INSERT OR IGNORE INTO branch (name, created) VALUES ('main', ?1)",
                    [store::now()],
                )?;
                let main = "SELECT id FROM branch WHERE name = 'main'";
                let branch: BranchId = conn.query_row(main, [], |r| r.get(0))?;
                conn.execute(
                    "INSERT INTO root (path, branch, inode, btime) VALUES (?1,?2,?3,?4)",
                    params![
                        path,
                        branch,
                        identity.map(|i| i.inode),
                        identity.map(|i| i.btime)
                    ],
                )?;
                Ok(Here {
                    root: RootId(conn.last_insert_rowid()),
                    branch,
                })
            })?,
        };
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
        };
        engine.recover()?;
        if new_branch.is_some() {
            engine.notice = Some(format!(
                "another directory took over the branch of this one, which is now on {}",
                engine.branch_name()?
            ));
        }
        Ok(engine)
    }

    /// Like `open`, but creates no store.
    pub fn open_existing(workspace: &Workspace) -> Result<Self> {
        Self::open_with(workspace, OpenOptions::SERVER.existing())
    }
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
