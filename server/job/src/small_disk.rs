//! A small file system, for tests of a full disk.

use std::path::Path;
use std::process::Command;

pub(crate) struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None where no file system can be mounted. The size is one of `mount`, such as `64k`.
    pub fn mount(size: &str) -> Option<SmallDisk> {
        let dir = tempfile::tempdir().expect("a directory");
        let options = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "backstitch-test"]);
        let done = mount.arg(dir.path()).output();
        let is_mounted = done.is_ok_and(|done| done.status.success());
        is_mounted.then(|| SmallDisk(dir))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}
