//! A workspace as the language server has it open: two threads with an engine each, one that answers
//! questions and one that acts, so that no question waits for a restore. Owns when an engine is opened,
//! and that a panic in one job costs that job alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use backstitch_core::{Engine, Error, Result, Workspace};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce(&mut Desk) + Send>;

#[derive(Debug)]
pub struct Room {
    workspace: Workspace,
    asks: Sender<Job>,
    acts: Sender<Job>,
}

/// What one thread works with: the engine, once there is a store.
struct Desk {
    workspace: Workspace,
    engine: Option<(Engine, Option<Identity>)>,
}

/// Tells a store from one that has taken its place.
type Identity = (u64, u64);

impl Room {
    pub fn open(workspace: Workspace) -> Result<Self> {
        let asks = spawn(workspace.clone(), "asks")?;
        let acts = spawn(workspace.clone(), "acts")?;
        Ok(Self {
            workspace,
            asks,
            acts,
        })
    }

    pub fn root(&self) -> &Path {
        &self.workspace.root
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// A question. Dropping the future drops the answer, not the work.
    pub async fn ask<T, F>(&self, question: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Engine) -> Result<T> + Send + 'static,
    {
        hand(&self.asks, false, question).await
    }

    /// Something that writes, one after the other. `begins`: makes the store where there is none.
    pub async fn act<T, F>(&self, begins: bool, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Engine) -> Result<T> + Send + 'static,
    {
        hand(&self.acts, begins, work).await
    }
}

fn spawn(workspace: Workspace, what: &str) -> Result<Sender<Job>> {
    let (sender, receiver) = channel::<Job>();
    let work = move || serve(workspace, &receiver);
    let thread = std::thread::Builder::new().name(format!("backstitch {what}"));
    let spawned = thread.spawn(work);
    spawned.map(|_| sender).map_err(|source| Error::Io {
        what: "start a thread".into(),
        source,
    })
}

fn serve(workspace: Workspace, jobs: &Receiver<Job>) {
    let mut desk = Desk {
        workspace,
        engine: None,
    };
    while let Ok(job) = jobs.recv() {
        if catch_unwind(AssertUnwindSafe(|| job(&mut desk))).is_err() {
            // what the engine was about is not known any more; its store is whole all the same
            desk.engine = None;
        } else if let Some((engine, _)) = &mut desk.engine {
            engine.tidy();
        }
    }
}

async fn hand<T, F>(to: &Sender<Job>, begins: bool, work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce(&mut Engine) -> Result<T> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    let job: Job = Box::new(move |desk| {
        let outcome = desk.engine(begins).and_then(work);
        // nobody may be waiting any more
        answer.send(outcome).ok();
    });
    let failed = |what: &str| Error::Refused {
        reason: format!("the server failed at this ({what})"),
        hint: Some("its log says why; try again".into()),
    };
    to.send(job).map_err(|_| failed("its thread ended"))?;
    answered.await.map_err(|_| failed("a panic"))?
}

impl Desk {
    /// The engine, up to date with what other processes did.
    fn engine(&mut self, begins: bool) -> Result<&mut Engine> {
        let there = identity(&self.workspace);
        let stale = |known: &(Engine, Option<Identity>)| known.1 != there;
        if self.engine.as_ref().is_some_and(stale) {
            self.engine = None;
        }
        if self.engine.is_none() {
            let engine = if begins {
                Engine::open(&self.workspace)?
            } else {
                Engine::open_existing(&self.workspace)?
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

#[cfg(unix)]
fn identity(workspace: &Workspace) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = std::fs::metadata(workspace.store_dir.join("store.db")).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Workspace) -> Option<Identity> {
    None
}
