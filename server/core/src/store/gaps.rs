//! `gaps.log`: what a hook could not record because the store could not be opened or written. A line
//! each, imported into the history at the next chance, so that no gap is silent.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::private_file;

fn log(dir: &Path) -> PathBuf {
    dir.join("gaps.log")
}

/// Appends a gap. `false` where even that is not possible (the caller still has stderr).
pub(crate) fn append(dir: &Path, what: &str) -> bool {
    let line = format!("{} {}\n", super::now(), what.replace(['\n', '\r'], " "));
    super::make_private_dir(dir).is_ok()
        && private_file(dir)
            .create(true)
            .append(true)
            .open(log(dir))
            .and_then(|mut f| f.write_all(line.as_bytes()))
            .is_ok()
}

/// Takes the gaps out of the log: (time, what). The file is moved aside first, so that a gap written
/// meanwhile is in one or the other; `done` removes it.
pub(crate) fn take(dir: &Path) -> Option<Taken> {
    let from = log(dir);
    if !from.exists() {
        return None;
    }
    let aside = dir.join(format!("gaps.{}.{}", super::now(), std::process::id()));
    std::fs::rename(&from, &aside).ok()?;
    let text = String::from_utf8_lossy(&std::fs::read(&aside).ok()?).into_owned();
    let gaps = text
        .lines()
        .filter_map(|line| {
            let (time, what) = line.split_once(' ')?;
            Some((time.parse().ok()?, what.to_owned()))
        })
        .collect();
    Some(Taken { gaps, aside })
}

/// What waits to be taken up.
pub(crate) fn peek(dir: &Path) -> Vec<String> {
    let text = std::fs::read(log(dir)).unwrap_or_default();
    let line = |l: &str| l.split_once(' ').map(|(_, what)| what.to_owned());
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(line)
        .collect()
}

pub(crate) struct Taken {
    pub gaps: Vec<(i64, String)>,
    aside: PathBuf,
}

impl Taken {
    pub(crate) fn done(self) {
        std::fs::remove_file(self.aside).ok();
    }
}
