//! An open workspace: two threads with an engine each, one for reads and one for writes, so
//! that no read waits for a restore, and a third one for breakpoints and held calls. Owns the opening of the engines, and limits a panic to the job that caused it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use backstitch_control::Control;
use backstitch_core::{
    EditorLease, Engine, Error, Recorder, RecorderStatus, Recording, Result, Workspace,
};
use tokio::sync::{oneshot, watch};

use super::messages;
use crate::opening;

type EngineJob = Box<dyn FnOnce(&mut EngineWorker) + Send>;
type ControlJob = Box<dyn FnOnce(&mut ControlWorker) + Send>;

#[derive(Debug)]
pub struct WorkspaceHandle {
    workspace: Workspace,
    /// Held while a restore of another process is applied.
    pub serving: tokio::sync::Mutex<()>,
    /// Held during a restore of this server, until its documents have their texts. A holder of `serving` never waits
    /// for it.
    pub restoring: tokio::sync::Mutex<()>,
    /// Held while a change on disk is merged into a document.
    pub merging: tokio::sync::Mutex<()>,
    asks: Sender<EngineJob>,
    acts: Sender<EngineJob>,
    controls: Sender<ControlJob>,
    /// Keeps watching the files as long as the workspace is open.
    _recorder: Recorder,
    standing: watch::Receiver<RecorderStatus>,
}

/// State of one thread: the engine, once there is a store.
struct EngineWorker {
    workspace: Workspace,
    engine: Option<(Engine, Option<StoreIdentity>)>,
    /// The editor's name and its lease, for the thread that writes.
    editor: Option<(String, Option<Arc<EditorLease>>)>,
}

/// State of the thread for breakpoints and held calls: their database, once there is one.
struct ControlWorker {
    workspace: Workspace,
    control: Option<(Control, Option<StoreIdentity>)>,
}

/// Parameters of a job that writes.
#[derive(Debug)]
pub struct WriteAccess<'a> {
    pub engine: &'a mut Engine,
    pub lease: Arc<EditorLease>,
}

/// Device and inode, which tell a store from a replacement at the same path.
type StoreIdentity = (u64, u64);

impl WorkspaceHandle {
    /// `editor`: its name, for people.
    pub fn open(workspace: Workspace, editor: &str) -> Result<Self> {
        let asks = spawn(workspace.clone(), None, "asks")?;
        let acts = spawn(workspace.clone(), Some(editor.to_owned()), "acts")?;
        let controls = spawn_control(workspace.clone())?;
        let (sender, standing) = watch::channel(RecorderStatus::Waiting);
        let recording = Recording {
            options: opening::SERVER,
            ..Recording::default()
        };
        let recorder = Recorder::start(&workspace, recording, move |standing| {
            if let RecorderStatus::Failed(why) = &standing {
                tracing::warn!("the files are not watched: {why}");
            }
            sender.send_replace(standing);
        })?;
        Ok(Self {
            _recorder: recorder,
            standing,
            workspace,
            serving: tokio::sync::Mutex::default(),
            restoring: tokio::sync::Mutex::default(),
            merging: tokio::sync::Mutex::default(),
            asks,
            acts,
            controls,
        })
    }

    /// Returns the recorder's status, with its changes.
    pub fn standing(&self) -> watch::Receiver<RecorderStatus> {
        self.standing.clone()
    }

    pub fn root(&self) -> &Path {
        &self.workspace.root
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn has_history(&self) -> bool {
        self.workspace.store_dir.join("store.db").exists()
    }

    /// Runs a read. Dropping the future drops the answer, not the work.
    pub async fn ask<T, F>(&self, question: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Engine) -> Result<T> + Send + 'static,
    {
        send_job(&self.asks, move |worker| question(worker.engine(false)?)).await
    }

    /// Runs a write, one after the other. `create_store`: creates the store if there is none.
    pub async fn act<T, F>(&self, create_store: bool, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(WriteAccess<'_>) -> Result<T> + Send + 'static,
    {
        send_job(&self.acts, move |worker| work(worker.acting(create_store)?)).await
    }

    /// Runs a job on the database of breakpoints and held calls. None: there is no such database, and `create` is false.
    pub async fn control<T, F>(&self, create: bool, work: F) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: FnOnce(&Control) -> Result<T> + Send + 'static,
    {
        send_job(&self.controls, move |worker: &mut ControlWorker| {
            worker.control(create)?.map(work).transpose()
        })
        .await
    }

    /// Gives up the editor's lease after all earlier jobs. No write is possible after that.
    pub async fn leave(&self) {
        let left = send_job(&self.acts, |worker| {
            worker.editor = None;
            Ok(())
        });
        left.await.ok();
    }
}

fn spawn(workspace: Workspace, editor: Option<String>, what: &str) -> Result<Sender<EngineJob>> {
    let (sender, receiver) = channel::<EngineJob>();
    let worker = EngineWorker {
        workspace,
        engine: None,
        editor: editor.map(|name| (name, None)),
    };
    let work = move || serve(worker, &receiver);
    let thread = std::thread::Builder::new().name(format!("backstitch {what}"));
    let spawned = thread.spawn(work);
    spawned.map(|_| sender).map_err(|source| Error::Io {
        what: messages::START_THREAD.into(),
        source,
    })
}

fn serve(mut worker: EngineWorker, jobs: &Receiver<EngineJob>) {
    while let Ok(job) = jobs.recv() {
        if catch_unwind(AssertUnwindSafe(|| job(&mut worker))).is_err() {
            // the engine's state is unknown after a panic; its store is consistent all the same
            worker.close();
        } else if let Some((engine, _)) = &mut worker.engine {
            engine.tidy();
        }
    }
}

fn spawn_control(workspace: Workspace) -> Result<Sender<ControlJob>> {
    let (sender, jobs) = channel::<ControlJob>();
    let mut worker = ControlWorker {
        workspace,
        control: None,
    };
    let work = move || {
        while let Ok(job) = jobs.recv() {
            if catch_unwind(AssertUnwindSafe(|| job(&mut worker))).is_err() {
                worker.control = None;
            }
        }
    };
    let thread = std::thread::Builder::new().name("backstitch-control".to_owned());
    let spawned = thread.spawn(work);
    spawned.map(|_| sender).map_err(|source| Error::Io {
        what: messages::START_THREAD.into(),
        source,
    })
}

type Job<W> = Box<dyn FnOnce(&mut W) + Send>;

async fn send_job<T, W, F>(to: &Sender<Job<W>>, work: F) -> Result<T>
where
    T: Send + 'static,
    W: 'static,
    F: FnOnce(&mut W) -> Result<T> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    let job: Job<W> = Box::new(move |worker| {
        let outcome = work(worker);
        // the caller may be gone
        answer.send(outcome).ok();
    });
    let failed = |what: &str| Error::Refused {
        reason: messages::failed(what),
        hint: Some(messages::LOG_HINT.into()),
    };
    to.send(job).map_err(|_| failed(messages::THREAD_ENDED))?;
    answered.await.map_err(|_| failed(messages::PANIC))?
}

impl ControlWorker {
    fn control(&mut self, create: bool) -> Result<Option<&Control>> {
        let there = identity_of(&self.workspace.store_dir.join(Control::DATABASE));
        if self.control.as_ref().is_some_and(|known| known.1 != there) {
            self.control = None;
        }
        if let Some((control, _)) = &self.control {
            control.mend_armed()?;
        } else {
            let opened = if create {
                Some(Control::open(&self.workspace)?)
            } else {
                Control::open_existing(&self.workspace)?
            };
            let path = self.workspace.store_dir.join(Control::DATABASE);
            self.control = opened.map(|control| (control, identity_of(&path)));
        }
        Ok(self.control.as_ref().map(|(control, _)| control))
    }
}

impl EngineWorker {
    fn close(&mut self) {
        self.engine = None;
        if let Some((_, lease)) = &mut self.editor {
            *lease = None;
        }
    }

    /// Returns the engine with this editor's lease.
    fn acting(&mut self, create_store: bool) -> Result<WriteAccess<'_>> {
        self.engine(create_store)?;
        let (Some((engine, _)), Some((name, lease))) = (&mut self.engine, &mut self.editor) else {
            return Err(Error::NoStore(self.workspace.root.clone()));
        };
        let lease = match lease {
            Some(lease) => lease.clone(),
            None => lease
                .insert(Arc::new(engine.documents_mut().attach_editor(name)?))
                .clone(),
        };
        Ok(WriteAccess { engine, lease })
    }

    /// Returns the engine, up to date with other processes.
    fn engine(&mut self, create_store: bool) -> Result<&mut Engine> {
        let there = identity(&self.workspace);
        let stale = |known: &(Engine, Option<StoreIdentity>)| known.1 != there;
        if self.engine.as_ref().is_some_and(stale) {
            self.close();
        }
        if self.engine.is_none() {
            let engine = if create_store {
                Engine::open_with(&self.workspace, opening::SERVER)?
            } else {
                Engine::open_with(&self.workspace, opening::SERVER.existing())?
            };
            self.engine = Some((engine, identity(&self.workspace)));
        }
        match &mut self.engine {
            Some((engine, _)) => {
                engine.refresh()?;
                Ok(engine)
            }
            None => Err(Error::NoStore(self.workspace.root.clone())),
        }
    }
}

fn identity(workspace: &Workspace) -> Option<StoreIdentity> {
    identity_of(&workspace.store_dir.join("store.db"))
}

#[cfg(unix)]
fn identity_of(path: &Path) -> Option<StoreIdentity> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity_of(_: &Path) -> Option<StoreIdentity> {
    None
}
