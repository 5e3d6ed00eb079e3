//! Texts that the server shows in their own documents: as virtual documents, or as read-only files in a temporary
//! directory.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use backstitch_agents::settings_file;
use tempfile::TempDir;

use super::uri;

/// Texts of virtual documents, which the client may request again.
#[derive(Debug, Default)]
pub struct Views(Mutex<Vec<(String, Arc<str>)>>);

/// Maximum number of texts.
const MAX_VIEWS: usize = 64;

impl Views {
    /// Stores a text and returns its URI.
    pub fn store(&self, name: &str, content: &[u8]) -> String {
        let uri = uri::of_view(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed), name);
        let mut kept = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.len() == MAX_VIEWS {
            kept.remove(0);
        }
        kept.push((uri.clone(), String::from_utf8_lossy(content).into()));
        uri
    }

    pub fn get(&self, uri: &str) -> Option<Arc<str>> {
        let kept = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut found = kept.iter().filter(|(of, _)| uri::same_view(of, uri));
        found.next().map(|(_, text)| text.clone())
    }
}

/// Number of the next view. Each view has its own URI, since editors do not reload an open document.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// Directory of the views that are files. Only the user can read them.
static VIEW_DIR: OnceLock<Mutex<Option<TempDir>>> = OnceLock::new();

/// Writes a read-only file and returns its path.
pub fn write(name: &str, content: &[u8]) -> std::io::Result<std::path::PathBuf> {
    let place = VIEW_DIR.get_or_init(Mutex::default);
    let mut place = place
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if place.is_none() {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        *place = Some(builder.prefix(&unfinished_views()).tempdir()?);
    }
    let Some(dir) = place.as_ref() else {
        return Err(std::io::ErrorKind::NotFound.into());
    };
    let plain: String = name
        .chars()
        .map(|c| if c == '/' || c.is_control() { '-' } else { c })
        .collect();
    let own = dir
        .path()
        .join(NEXT_NUMBER.fetch_add(1, Ordering::Relaxed).to_string());
    std::fs::create_dir(&own)?;
    let path = own.join(plain);
    let mut file = tempfile::NamedTempFile::new_in(&own)?;
    file.write_all(content)?;
    let mut permissions = file.as_file().metadata()?.permissions();
    permissions.set_readonly(true);
    file.as_file().set_permissions(permissions)?;
    file.persist(&path)?;
    Ok(path)
}

/// Begin of the names of directories of views, before the number of the server that has one.
const PREFIX: &str = "backstitch-views-";

fn unfinished_views() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

/// Deletes directories of servers that were killed.
pub fn clear_left_over() {
    settings_file::remove_of_ended(&std::env::temp_dir(), PREFIX);
}

/// Deletes the directory of the files.
pub fn clear() {
    if let Some(place) = VIEW_DIR.get()
        && let Ok(mut place) = place.lock()
    {
        place.take();
    }
}
