//! Inotify watches and their events. Owns the watches: one for each directory that a scan walks, by the same
//! `.gitignore` rules as a scan.
//!
//! Uses inotify directly for three reasons: the proof relies on the order of its single queue; a moved directory must
//! be followed by its watch descriptor and not by its path; ignored directories must cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{AtFlags, CWD, FileType};
use rustix::io::Errno;

use crate::config::Sources;
use crate::error::{Context, Error, Result};
use crate::model::{RelPath, bytes_path};
use crate::places::MARK;
use crate::raw_stat::stat_at;
use crate::system::read_small;
use crate::vcs::{self, VcsFiles};
use crate::worktree::disk::{DirListing, Root, TEMP_PREFIX};
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

/// Change reported by the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A file was created, removed or written, or a directory has another time.
    Path(RelPath),
    /// The chat history of an agent without hooks was written. It may be an ignored file.
    ChatHistory,
    /// A directory was created or removed, with everything below it.
    Tree(RelPath),
    /// The rules changed, or the kernel lost events.
    Everything,
    /// A process asks for the touched paths.
    Question(PathBuf),
    /// The root or the questions directory is gone.
    Gone,
}

struct Watched {
    path: Vec<u8>,
    /// Its mode when it was listed. None: it could not be listed.
    mode: Option<i64>,
    /// Rules inside the directory.
    rules: Arc<Rules>,
}

pub(super) struct Watch {
    /// Name of the file in the root to which an agent appends its conversations.
    chat_history: Option<&'static str>,
    queue: OwnedFd,
    root: PathBuf,
    questions: PathBuf,
    questions_wd: i32,
    sources: Arc<Sources>,
    excludes: Excludes,
    dirs: FxHashMap<i32, Watched>,
    by_path: BTreeMap<Vec<u8>, i32>,
    /// Directories that could not be watched: anything may change in them.
    unwatched: BTreeSet<Vec<u8>>,
    /// Set when the rules changed: the watches are set again as soon as the queue is empty.
    stale: bool,
}

impl Watch {
    /// Watches only the questions directory; `set` watches the tree.
    pub(super) fn new(
        root: &Root,
        questions: &Path,
        chat_history: Option<&'static str>,
    ) -> Result<Self> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .at("watch the files of", &root.path)?;
        let questions_wd = inotify::add_watch(&queue, questions, MASK).at("watch", questions)?;
        Ok(Self {
            queue,
            root: root.path.clone(),
            chat_history,
            questions: questions.to_path_buf(),
            questions_wd,
            sources: Arc::clone(&root.sources),
            excludes: Excludes::default(),
            dirs: FxHashMap::default(),
            by_path: BTreeMap::new(),
            unwatched: BTreeSet::new(),
            stale: true,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.dirs.len()
    }

    /// Notes that the rules outside the tree changed.
    pub(super) fn renew(&mut self) {
        self.stale = true;
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Returns the directories that cannot be watched and must be scanned each time.
    pub(super) fn unwatched(&self) -> impl Iterator<Item = RelPath> {
        self.unwatched.iter().filter_map(|dir| RelPath::new(&**dir))
    }

    /// True if the rules outside the tree are still those that the watches were set with.
    pub(super) fn rules_hold(&self) -> bool {
        Excludes::read(&self.root, &self.sources) == self.excludes
    }

    /// Sets the watches again with the current rules. Earlier events are not reported.
    pub(super) fn set(&mut self) -> Result<()> {
        self.excludes = Excludes::read(&self.root, &self.sources);
        self.unwatched.clear();
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

    /// Watches a directory and those below it. Each is watched before it is listed, so that a new entry is either
    /// reported or listed.
    fn watch(&mut self, dir: Vec<u8>, above: Arc<Rules>) -> Result<()> {
        let vcs_files = self.sources.vcs();
        let mut todo = vec![(dir, above)];
        while let Some((path, above)) = todo.pop() {
            let full = self.root.join(bytes_path(&path));
            let wd = match inotify::add_watch(&self.queue, &full, MASK) {
                Ok(wd) => wd,
                // already gone, or no longer a directory: that is reported, too
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(Errno::NOSPC) => {
                    return Err(Error::refused(
                        "the system's limit for watched directories is reached",
                        "raise fs.inotify.max_user_watches; until then every scan walks the whole tree",
                    ));
                }
                Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) => {
                    self.unwatched.insert(path);
                    continue;
                }
                Err(e) => return Err(e).at("watch", &full),
            };
            let listed = DirListing::read(&full, vcs_files);
            let is_repository = listed
                .as_ref()
                .is_ok_and(|l| vcs_files.is_git_dir(&l.entries));
            if is_repository && !path.is_empty() {
                inotify::remove_watch(&self.queue, wd).ok();
                continue;
            }
            let text = read_small(&full.join(bytes_path(ignore_rules::FILE)), false);
            let rules = above.below(&path, text.as_deref());
            let before = listed.as_ref().ok().and_then(|listed| listed.before);
            let now = Watched {
                path: path.clone(),
                mode: before.map(|stat| stat.mode),
                rules: Arc::clone(&rules),
            };
            // the same directory under another name
            if let Some(previous) = self.dirs.insert(wd, now)
                && self.by_path.get(&previous.path) == Some(&wd)
            {
                self.by_path.remove(&previous.path);
            }
            self.by_path.insert(path.clone(), wd);
            let Ok(listed) = listed else {
                self.unwatched.insert(path);
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
                // a forked directory in here is watched, too: it may become a part of the tree
                if is_dir
                    && !is_ours(name, vcs_files)
                    && !(is_repository && vcs::is_git_entry(name))
                    && let Some(rules) = rules.enter(&below)
                {
                    todo.push((below, rules));
                }
            }
        }
        Ok(())
    }

    /// Stops watching a directory and those below it.
    fn unwatch(&mut self, dir: &[u8]) {
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
        self.unwatched
            .retain(|path| path != dir && !path.starts_with(&below));
    }

    /// Waits for events, at most this long, and not after `end` is ready for a read; returns them in order.
    pub(super) fn wait(
        &mut self,
        limit: Duration,
        end: Option<BorrowedFd<'_>>,
    ) -> Result<Vec<Event>> {
        let timeout = Timespec::try_from(limit).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        let ready = {
            let mut fds = vec![PollFd::new(&self.queue, PollFlags::IN)];
            fds.extend(end.map(|end| PollFd::from_borrowed_fd(end, PollFlags::IN)));
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) => !fds[0].revents().is_empty(),
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
        // in portions, so that a question does not wait for the end of a burst; a full buffer is never read again
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
            self.handle(wd, what, &name, &mut events)?;
        }
        Ok(events)
    }

    /// True if a watched directory has the mode with which it was listed: all in it is as readable as then.
    fn has_same_mode(&self, dir: &[u8]) -> bool {
        let known = self.by_path.get(dir).and_then(|wd| self.dirs.get(wd));
        let full = self.root.join(bytes_path(dir));
        let now = stat_at(CWD, &full, AtFlags::SYMLINK_NOFOLLOW);
        let now = now.ok().map(|stat| i64::from(stat.mode));
        now.is_some() && known.is_some_and(|known| known.mode == now)
    }

    fn handle(
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
        if wd == self.questions_wd {
            let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED;
            if what.intersects(gone) {
                events.push(Event::Gone);
            } else if what.contains(ReadFlags::CREATE) && crate::worktree::cookie::is_question(name)
            {
                events.push(Event::Question(self.questions.join(bytes_path(name))));
            }
            return Ok(());
        }
        // the directory is no longer watched: a move away was reported at its new place
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
        if is_ours(name, self.sources.vcs()) {
            return Ok(());
        }
        let path = joined(&dir.path, name);
        let rules = Arc::clone(&dir.rules);
        let Some(rel) = RelPath::new(&*path) else {
            return Ok(());
        };
        if !what.contains(ReadFlags::ISDIR) {
            // a directory with a HEAD may have become one of git's
            let is_head = name == b"HEAD" && what.contains(ReadFlags::CREATE);
            if name == ignore_rules::FILE || rel.bytes() == MARK.as_bytes() || is_head {
                self.stale = true;
                events.push(Event::Everything);
            } else {
                if self
                    .chat_history
                    .is_some_and(|name| path == name.as_bytes())
                {
                    events.push(Event::ChatHistory);
                }
                if !rules.hides(&path) {
                    events.push(Event::Path(rel));
                }
            }
            return Ok(());
        }
        self.handle_dir(what, path, rel, &rules, events)
    }

    /// Handles an event of a directory in a watched one.
    fn handle_dir(
        &mut self,
        what: ReadFlags,
        path: Vec<u8>,
        rel: RelPath,
        rules: &Arc<Rules>,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let Some(rules) = rules.enter(&path) else {
            return Ok(());
        };
        // the kernel reports a new time of modification alone as `MODIFY`
        if what.intersects(ReadFlags::ATTRIB | ReadFlags::MODIFY) && self.has_same_mode(&path) {
            events.push(Event::Path(rel));
            return Ok(());
        }
        if what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
            self.unwatch(&path);
        } else if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO | ReadFlags::ATTRIB) {
            self.watch(path, rules)?;
        }
        events.push(Event::Tree(rel));
        Ok(())
    }
}

fn is_ours(name: &[u8], vcs: VcsFiles) -> bool {
    vcs.is_name(name) || name.starts_with(TEMP_PREFIX)
}

fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        name.to_vec()
    } else {
        [dir, b"/", name].concat()
    }
}
