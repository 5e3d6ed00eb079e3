//! What no process can do without: it starts and ends. With a file named, it makes one write to it durable first.

use std::fs::File;
use std::io::Write as _;

fn main() {
    let Some(path) = std::env::args_os().nth(1) else {
        return;
    };
    let written = File::options()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| {
            file.write_all(&[b'x'; 1024])?;
            file.sync_data()
        });
    if let Err(error) = written {
        eprintln!("bench-nothing: {error}");
        std::process::exit(1);
    }
}
