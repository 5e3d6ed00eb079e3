//! Terminals without a screen: the output of a program on one, and a way to type.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a new terminal: ours and the program's.
pub fn open() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    // the program must not hold our end, else its terminal never closes
    fcntl_setfd(&ours, FdFlags::CLOEXEC).expect("a flag");
    grantpt(&ours).expect("access");
    unlockpt(&ours).expect("access");
    let name = ptsname(&ours, Vec::new()).expect("a name");
    let name = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name, flags, Mode::empty()).expect("a terminal");
    (File::from(ours), File::from(theirs))
}

pub fn resize(terminal: &File, rows: u16, columns: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).expect("a size");
}

/// Reads from our end until nobody holds the other one any longer.
pub fn output(ours: &File) -> Receiver<Vec<u8>> {
    let mut ours = ours.try_clone().expect("a terminal");
    let (shown, screen) = channel();
    thread::spawn(move || {
        let mut chunk = [0; 4096];
        // a terminal that nobody holds any longer is at its end, or returns an error
        while let Ok(n @ 1..) = ours.read(&mut chunk) {
            if shown.send(chunk[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    screen
}
