//! A watch over directories, for one asker. The kernel queues a change before the call that makes it returns. So an asker that
//! empties the queue knows of every earlier change. Elsewhere than on Linux there is none.

#[cfg(target_os = "linux")]
pub(super) use linux::DirWatch;

#[cfg(not(target_os = "linux"))]
pub(super) use elsewhere::DirWatch;

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    #[derive(Debug)]
    pub(in super::super) struct DirWatch;

    impl DirWatch {
        pub fn of(_: &Path, _: &BTreeSet<PathBuf>) -> Option<DirWatch> {
            None
        }

        pub fn has(&self, _: &Path) -> bool {
            false
        }

        pub fn touched(&mut self) -> Option<BTreeSet<PathBuf>> {
            None
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    const MASK: WatchFlags = WatchFlags::ATTRIB
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::CREATE)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::DONT_FOLLOW)
        .union(WatchFlags::ONLYDIR);

    /// Events after which the list of the directories itself may be another one.
    const UNSURE: ReadFlags = ReadFlags::ISDIR
        .union(ReadFlags::QUEUE_OVERFLOW)
        .union(ReadFlags::IGNORED)
        .union(ReadFlags::DELETE_SELF)
        .union(ReadFlags::MOVE_SELF)
        .union(ReadFlags::UNMOUNT);

    #[derive(Debug)]
    pub(in super::super) struct DirWatch {
        queue: OwnedFd,
        dirs: BTreeMap<i32, PathBuf>,
        watched: BTreeSet<PathBuf>,
    }

    impl DirWatch {
        /// Watches directories below a root, but not those in them. None: not all of them can be watched.
        pub fn of(root: &Path, dirs: &BTreeSet<PathBuf>) -> Option<DirWatch> {
            let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let mut watch = DirWatch {
                queue,
                dirs: BTreeMap::new(),
                watched: dirs.clone(),
            };
            for dir in dirs {
                let added = inotify::add_watch(&watch.queue, root.join(dir), MASK).ok()?;
                // the same directory by two names: its events would have one of them
                if watch.dirs.insert(added, dir.clone()).is_some() {
                    return None;
                }
            }
            Some(watch)
        }

        pub fn has(&self, dir: &Path) -> bool {
            self.watched.contains(dir)
        }

        /// Paths in the directories that were touched since the last question. None: others may have been, too.
        pub fn touched(&mut self) -> Option<BTreeSet<PathBuf>> {
            let queue = self.queue.try_clone().ok()?;
            let mut space = [MaybeUninit::uninit(); 16 * 1024];
            let mut reader = inotify::Reader::new(queue, &mut space);
            let mut touched = BTreeSet::new();
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::AGAIN) => return Some(touched),
                    Err(Errno::INTR) => continue,
                    Err(_) => return None,
                };
                if event.events().intersects(UNSURE) {
                    return None;
                }
                let dir = self.dirs.get(&event.wd())?;
                let name = event.file_name()?;
                touched.insert(dir.join(OsStr::from_bytes(name.to_bytes())));
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;

    use super::DirWatch;

    fn dirs(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn touched_files_are_named_and_other_directories_are_unsure() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("d/below")).expect("made");
        fs::write(path("d/old"), "old").expect("written");
        let mut watch = DirWatch::of(root.path(), &dirs(&["", "d"])).expect("a watch");
        assert_eq!(watch.touched(), Some(dirs(&[])));
        fs::write(path("new"), "new").expect("written");
        fs::rename(path("d/old"), path("d/renamed")).expect("renamed");
        fs::write(path("d/below/unseen"), "").expect("written");
        assert_eq!(watch.touched(), Some(dirs(&["d/old", "d/renamed", "new"])));
        assert_eq!(watch.touched(), Some(dirs(&[])));
        fs::create_dir(path("d/made")).expect("made");
        assert_eq!(watch.touched(), None, "a new directory may have files");
        assert!(DirWatch::of(root.path(), &dirs(&["", "gone"])).is_none());
    }

    #[test]
    fn a_directory_that_moves_is_unsure() {
        let root = tempfile::tempdir().expect("a directory");
        fs::create_dir(root.path().join("d")).expect("made");
        let mut watch = DirWatch::of(root.path(), &dirs(&["d"])).expect("a watch");
        fs::rename(root.path().join("d"), root.path().join("e")).expect("renamed");
        assert_eq!(watch.touched(), None);
    }
}
