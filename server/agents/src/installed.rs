//! Notes of the files that setup wrote hooks to, so that hooks which somebody else removed are missed. Owns the file
//! `set-up` in the state directory: a line for each, the agent and the path.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::adapter::Agent;

const NAME: &str = "set-up";

/// Notes that a file has hooks of an agent.
pub fn note(agent: &str, settings: &Path) -> Result<()> {
    change(agent, settings, true)
}

/// Forgets a file whose hooks were removed by setup.
pub fn forget(agent: &str, settings: &Path) -> Result<()> {
    change(agent, settings, false)
}

/// Returns the files of an agent that were noted, and have no hooks of ours any longer.
pub fn gone(agent: &dyn Agent) -> Vec<PathBuf> {
    let noted = read().into_iter();
    let own = noted.filter(|(name, _)| name == agent.name());
    // a file that cannot be read is reported elsewhere
    let is_empty = |path: &PathBuf| {
        let hooks = agent.examine(path);
        hooks.is_ok_and(|hooks| hooks.entries.is_empty())
    };
    own.map(|(_, path)| path).filter(is_empty).collect()
}

fn place() -> Option<PathBuf> {
    if cfg!(test) {
        // tests of this crate have the developer's own home
        return None;
    }
    Some(backstitch_core::state_dir().ok()?.join(NAME))
}

fn read() -> Vec<(String, PathBuf)> {
    let text = place().and_then(|place| backstitch_core::read_settings(&place).ok());
    let line = |line: &str| {
        let (agent, path) = line.split_once('\t')?;
        Some((agent.to_owned(), PathBuf::from(path)))
    };
    let text = text.unwrap_or_default();
    text.lines().filter_map(line).collect()
}

fn change(agent: &str, settings: &Path, is_there: bool) -> Result<()> {
    let (Some(place), Some(path)) = (place(), settings.to_str()) else {
        return Ok(());
    };
    let before = read();
    let mut all = before.clone();
    let own = (agent.to_owned(), settings.to_path_buf());
    all.retain(|one| *one != own);
    if is_there && !path.contains('\n') {
        all.push(own);
    }
    if all == before {
        return Ok(());
    }
    let failed = || format!("writing {}", place.display());
    let dir = place.parent().unwrap_or(&place);
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    private.create(dir).with_context(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(dir).with_context(failed)?;
    for (agent, path) in &all {
        writeln!(file, "{agent}\t{}", path.display()).with_context(failed)?;
    }
    file.persist(&place).with_context(failed)?;
    Ok(())
}
