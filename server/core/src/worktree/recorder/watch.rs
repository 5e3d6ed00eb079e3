//! Which directories are watched, and what the kernel says of them. Owns the watches: one for each directory that
//! a scan walks, by the rules of `.gitignore` as a scan goes by them.
//!
//! Straight on inotify: the order of its one queue is what the proof rests on, a directory that moves must be
//! followed by its watch's number and not by its path, and ignored directories must cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::config::Sources;
use crate::error::{Context, Error, Result};
use crate::model::{RelPath, bytes_path, is_vcs};
use crate::workspace::MARK;
use crate::worktree::disk::{DirListing, Root, TEMP_PREFIX, read_small};
use crate::worktree::ignore_rules::{self, Excludes, Rules};

const MASK: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::EXCL_UNLINK);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A file came, went, or was written.
    Path(RelPath),
    /// A directory came or went, with all that is below it.
    Tree(RelPath),
    /// The rules changed, or the kernel lost events.
    Everything,
    /// Somebody asks.
    Question(PathBuf),
    /// The root or the place of the questions is gone.
    Gone,
}

struct Watched {
    path: Vec<u8>,
    /// Inside of it.
    rules: Arc<Rules>,
}

pub(super) struct Watch {
    queue: OwnedFd,
    root: PathBuf,
    questions: PathBuf,
    asked: i32,
    sources: Arc<Sources>,
    excludes: Excludes,
    dirs: FxHashMap<i32, Watched>,
    by_path: BTreeMap<Vec<u8>, i32>,
    /// Directories that could not be watched: anything may happen in them.
    blind: BTreeSet<Vec<u8>>,
    /// The rules changed: the watches are set anew as soon as the queue is empty.
    stale: bool,
}

impl Watch {
    /// Watches nothing yet but the questions: `set` does.
    pub(super) fn new(root: &Root, questions: &Path) -> Result<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .at("watch the files of", &root.path)?;
        let asked = inotify::add_watch(&queue, questions, MASK).at("watch", questions)?;
        Ok(Self {
            queue,
            root: root.path.clone(),
            questions: questions.to_path_buf(),
            asked,
            sources: Arc::clone(&root.sources),
            excludes: Excludes::default(),
            dirs: FxHashMap::default(),
            by_path: BTreeMap::new(),
            blind: BTreeSet::new(),
            stale: true,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.dirs.len()
    }

    /// The rules outside the tree changed.
    pub(super) fn renew(&mut self) {
        self.stale = true;
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Directories that nobody can watch: to be looked at each time.
    pub(super) fn blind(&self) -> impl Iterator<Item = RelPath> {
        self.blind.iter().filter_map(|dir| RelPath::new(&**dir))
    }

    /// Whether the rules outside the tree are still those that the watches were set by.
    pub(super) fn rules_hold(&self) -> bool {
        Excludes::read(&self.root, &self.sources) == self.excludes
    }

    /// Sets the watches anew, by the rules of now. What happened before is not told.
    pub(super) fn set(&mut self) -> Result<()> {
        self.excludes = Excludes::read(&self.root, &self.sources);
        self.blind.clear();
        let before = std::mem::take(&mut self.dirs);
        self.by_path.clear();
        self.stale = false;
        self.watch(Vec::new(), Rules::base(&self.excludes))?;
        for wd in before.into_keys().filter(|wd| !self.dirs.contains_key(wd)) {
            inotify::remove_watch(&self.queue, wd).ok();
        }
        if self.by_path.contains_key(&b""[..]) {
            Ok(())
        } else {
            Err(Error::NotFound {
                what: "directory",
                name: self.root.display().to_string(),
            })
        }
    }

    /// Watches a directory and those below it. Each is watched before it is listed, so that what comes into it
    /// meanwhile is told or listed.
    fn watch(&mut self, dir: Vec<u8>, above: Arc<Rules>) -> Result<()> {
        let mut todo = vec![(dir, above)];
        while let Some((path, above)) = todo.pop() {
            let full = self.root.join(bytes_path(&path));
            let wd = match inotify::add_watch(&self.queue, &full, MASK) {
                Ok(wd) => wd,
                // gone again, or no directory any more: that is told too
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(Errno::NOSPC) => {
                    return Err(Error::refused(
                        "the system's limit of watched directories is reached",
                        "raise fs.inotify.max_user_watches; until then every look walks the whole tree",
                    ));
                }
                Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) => {
                    self.blind.insert(path);
                    continue;
                }
                Err(e) => return Err(e).at("watch", &full),
            };
            let text = read_small(&full.join(bytes_path(ignore_rules::FILE)), false);
            let rules = above.below(&path, text.as_deref());
            let now = Watched {
                path: path.clone(),
                rules: Arc::clone(&rules),
            };
            // the same directory under another name
            if let Some(was) = self.dirs.insert(wd, now)
                && self.by_path.get(&was.path) == Some(&wd)
            {
                self.by_path.remove(&was.path);
            }
            self.by_path.insert(path.clone(), wd);
            let Ok(listed) = DirListing::read(&full) else {
                self.blind.insert(path);
                continue;
            };
            for (name, kind) in &listed.entries {
                let is_dir = match kind {
                    FileType::Directory => true,
                    FileType::Unknown => listed
                        .stat(name)
                        .is_some_and(|s| s.kind() == FileType::Directory),
                    _ => false,
                };
                let below = joined(&path, name);
                // a forked directory in here is watched with the rest: it may become a part of the tree
                if is_dir
                    && !is_ours(name)
                    && let Some(rules) = rules.enter(&below)
                {
                    todo.push((below, rules));
                }
            }
        }
        Ok(())
    }

    /// Watches a directory and those below it no more.
    fn leave(&mut self, dir: &[u8]) {
        let below = [dir, b"/"].concat();
        let inside = self
            .by_path
            .range(below.clone()..)
            .take_while(|(path, _)| path.starts_with(&below));
        let mut all: Vec<Vec<u8>> = inside.map(|(path, _)| path.clone()).collect();
        all.push(dir.to_vec());
        for path in all {
            if let Some(wd) = self.by_path.remove(&path) {
                self.dirs.remove(&wd);
                inotify::remove_watch(&self.queue, wd).ok();
            }
        }
        self.blind
            .retain(|path| path != dir && !path.starts_with(&below));
    }

    /// Waits until something happened, at most so long; what did, in its order.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<Vec<Event>> {
        let timeout = Timespec::try_from(limit).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        let ready = {
            let mut fds = [PollFd::new(&self.queue, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(n) => n > 0,
                Err(Errno::INTR) => false,
                Err(e) => return Err(e).at("watch the files of", &self.root),
            }
        };
        if ready { self.read() } else { Ok(Vec::new()) }
    }

    fn read(&mut self) -> Result<Vec<Event>> {
        let queue = self
            .queue
            .as_fd()
            .try_clone_to_owned()
            .at("watch the files of", &self.root)?;
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(queue, &mut space);
        let mut events = Vec::new();
        // by portions: who asks is not to wait for the end of a storm; what was read is not read again
        while events.len() < 1024 || !reader.is_buffer_empty() {
            let (wd, what, name) = match reader.next() {
                Ok(event) => (
                    event.wd(),
                    event.events(),
                    event
                        .file_name()
                        .map_or(Vec::new(), |n| n.to_bytes().to_vec()),
                ),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e).at("watch the files of", &self.root),
            };
            self.take(wd, what, &name, &mut events)?;
        }
        Ok(events)
    }

    fn take(
        &mut self,
        wd: i32,
        what: ReadFlags,
        name: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<()> {
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.stale = true;
            events.push(Event::Everything);
            return Ok(());
        }
        if wd == self.asked {
            let over = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
            if what.intersects(over) {
                events.push(Event::Gone);
            } else if what.contains(ReadFlags::CREATE) && super::cookie::is_question(name) {
                events.push(Event::Question(self.questions.join(bytes_path(name))));
            }
            return Ok(());
        }
        // of a directory that is watched no more: what moved away was told where it went
        let Some(dir) = self.dirs.get(&wd) else {
            return Ok(());
        };
        if name.is_empty() {
            let is_root = dir.path.is_empty();
            if what.contains(ReadFlags::IGNORED)
                && let Some(dir) = self.dirs.remove(&wd)
                && self.by_path.get(&dir.path) == Some(&wd)
            {
                self.by_path.remove(&dir.path);
            }
            if is_root
                && what
                    .intersects(ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF)
            {
                events.push(Event::Gone);
            }
            return Ok(());
        }
        if is_ours(name) {
            return Ok(());
        }
        let path = joined(&dir.path, name);
        let rules = Arc::clone(&dir.rules);
        let Some(rel) = RelPath::new(&*path) else {
            return Ok(());
        };
        if !what.contains(ReadFlags::ISDIR) {
            if name == ignore_rules::FILE || rel.bytes() == MARK.as_bytes() {
                self.stale = true;
                events.push(Event::Everything);
            } else if !rules.hides(&path) {
                events.push(Event::Path(rel));
            }
            return Ok(());
        }
        let Some(rules) = rules.enter(&path) else {
            return Ok(());
        };
        if what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            self.leave(&path);
        } else if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO | ReadFlags::ATTRIB) {
            self.watch(path, rules)?;
        }
        events.push(Event::Tree(rel));
        Ok(())
    }
}

fn is_ours(name: &[u8]) -> bool {
    is_vcs(name) || name.starts_with(TEMP_PREFIX)
}

fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        name.to_vec()
    } else {
        [dir, b"/", name].concat()
    }
}
