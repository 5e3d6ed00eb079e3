//! Locates the settings files of a workspace and reads them again when they have changed.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};

use super::{Config, EDITOR, Fault, Key, Layer, Setting, SourceValues, USER, file};
use crate::error::{Context, Result};
use crate::owner;
use crate::places::{MARK, USER_CONFIG, Workspace, WorkspaceKind, own_config_dir};
use crate::store;
use crate::vcs::VcsFiles;

/// File in the store's directory with the editor's settings, for other processes.
const EDITOR_FILE: &str = "editor.toml";
/// Maximum size of a settings file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Bytes of a file. None: it does not exist. Err: the reason why it cannot be read.
type FileBytes = std::result::Result<Option<Vec<u8>>, String>;

/// Settings files of a workspace, nearest first.
#[derive(Debug)]
pub(crate) struct Sources {
    places: [Option<PathBuf>; 3],
    /// The user's file, where a project may have brought it: it is not read.
    brought: Option<PathBuf>,
    /// Patterns of Backstitch's own directories in the tree.
    own: Vec<String>,
    kind: WorkspaceKind,
    /// True if the settings stay as they were read first.
    read_once: bool,
    last: Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    texts: [FileBytes; 3],
    config: Arc<Config>,
}

impl Sources {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        match workspace.kind {
            WorkspaceKind::Project => {
                Self::at(&workspace.root, &workspace.root, &workspace.store_dir)
            }
            WorkspaceKind::Run => Self {
                places: [None, None, None],
                brought: None,
                own: Vec::new(),
                kind: WorkspaceKind::Run,
                read_once: true,
                last: Mutex::new(None),
            },
        }
    }

    pub(crate) fn kind(&self) -> WorkspaceKind {
        self.kind
    }

    /// The rule for the files of version control.
    pub(crate) fn vcs(&self) -> VcsFiles {
        match self.kind {
            WorkspaceKind::Project => VcsFiles::Apart,
            WorkspaceKind::Run => VcsFiles::Recorded,
        }
    }

    /// The same, read once: for a process that ends soon.
    pub(crate) fn read_once(self, read_once: bool) -> Self {
        Self { read_once, ..self }
    }

    /// Sources of a workspace that will be at `root`, and whose files are in `tree` for now.
    pub(crate) fn at(root: &Path, tree: &Path, store_dir: &Path) -> Self {
        let (user, brought) = match own_config_dir(root) {
            Ok(dir) => (dir.map(|dir| dir.join(USER_CONFIG)), None),
            Err(dir) => (None, Some(dir.join(USER_CONFIG))),
        };
        Self {
            brought,
            places: [
                Some(tree.join(MARK)),
                Some(store_dir.join(EDITOR_FILE)),
                user,
            ],
            own: own(root, store_dir),
            kind: WorkspaceKind::Project,
            read_once: false,
            last: Mutex::new(None),
        }
    }

    /// Returns the user's own settings alone.
    pub(crate) fn of_user() -> Config {
        let mut config = Config::default();
        let cwd = std::env::current_dir().unwrap_or_default();
        if let Ok(Some(dir)) = own_config_dir(&cwd) {
            let place = dir.join(USER_CONFIG);
            config.layers[USER] = read_layer(&place, &read(&place));
        }
        config
    }

    /// Returns the current settings. Reads the files, and parses them if they have changed.
    pub(crate) fn now(&self) -> Arc<Config> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|_| self.read_once) {
            return Arc::clone(&last.config);
        }
        let texts = self.places.each_ref().map(|place| match place {
            Some(place) => read(place),
            None => Ok(None),
        });
        if let Some(last) = last.as_ref().filter(|last| last.texts == texts) {
            return Arc::clone(&last.config);
        }
        let config = Arc::new(self.parse(&texts));
        *last = Some(Last {
            texts,
            config: Arc::clone(&config),
        });
        config
    }

    fn parse(&self, texts: &[FileBytes; 3]) -> Config {
        if self.kind == WorkspaceKind::Run {
            return Config::of_run();
        }
        let mut config = Config::default();
        for (at, layer) in config.layers.iter_mut().enumerate() {
            let Some(place) = &self.places[at] else {
                continue;
            };
            *layer = read_layer(place, &texts[at]);
            if at == EDITOR {
                // it would name the place of the store that it is read from
                layer.said.remove(Key::StoreDir);
                layer.file = None;
            }
        }
        if let Some(file) = &self.brought {
            let said = "XDG_CONFIG_HOME names a place in a project, so this is not your own config.toml: it is not read";
            let fault = Fault {
                line: 0,
                key: None,
                said: said.to_owned(),
            };
            config.layers[USER].faults.push((file.clone(), fault));
        }
        config
    }

    /// Patterns excluded by the settings, and those of Backstitch's own directories.
    pub(crate) fn exclude(&self, config: &Config) -> Vec<String> {
        [config.exclude(), self.own.clone()].concat()
    }
}

impl Sources {
    /// The same without the workspace's own file.
    pub(crate) fn exclude_of_user(&self, config: &Config) -> Vec<String> {
        [config.exclude_of_user(), self.own.clone()].concat()
    }
}

fn read_layer(place: &Path, text: &FileBytes) -> Layer {
    let base = place.parent().unwrap_or(place);
    let fault = |why: &str| {
        let said = format!("{why}; the file is ignored");
        Fault {
            line: 0,
            key: None,
            said,
        }
    };
    let (said, faults) = match text {
        Ok(None) => return Layer::default(),
        Err(why) => (SourceValues::default(), vec![fault(why)]),
        Ok(Some(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => file::parse(text.trim_start_matches('\u{feff}'), base),
            Err(_) => (SourceValues::default(), vec![fault("this is not UTF-8")]),
        },
    };
    Layer {
        file: Some(place.to_path_buf()),
        said,
        faults: faults
            .into_iter()
            .map(|f| (place.to_path_buf(), f))
            .collect(),
    }
}

/// Reads a regular file. Never blocks on a fifo.
fn read(path: &Path) -> FileBytes {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = match opened.map_err(std::io::Error::from) {
        Ok(fd) => std::fs::File::from(fd),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(format!("it cannot be read: {e}")),
    };
    let mut bytes = Vec::new();
    let whole = || -> std::io::Result<bool> {
        let is_file = file.metadata()?.is_file();
        Ok(is_file && file.take(LONGEST + 1).read_to_end(&mut bytes)? as u64 <= LONGEST)
    };
    match whole() {
        Ok(true) => Ok(Some(bytes)),
        Ok(false) => Err("it is not a file of up to 1 MiB".to_owned()),
        Err(e) => Err(format!("it cannot be read: {e}")),
    }
}

/// Patterns of Backstitch's own directories, if the stores are inside the tree.
fn own(root: &Path, store_dir: &Path) -> Vec<String> {
    let beside = store_dir.parent().unwrap_or(store_dir);
    let ours = if beside == root {
        vec![store_dir.to_path_buf(), beside.join(".places")]
    } else {
        vec![beside.to_path_buf()]
    };
    let inside = ours.iter().filter_map(|dir| dir.strip_prefix(root).ok());
    let inside = inside.filter(|dir| !dir.as_os_str().is_empty());
    inside.map(|dir| literal(&dir.to_string_lossy())).collect()
}

/// Returns a pattern that matches only this directory.
fn literal(dir: &str) -> String {
    let mut pattern = String::from("/");
    for c in dir.chars() {
        if matches!(
            c,
            '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!' | '#' | ' '
        ) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('/');
    pattern
}

/// The place of all stores that the user's own settings name, for a workspace around `near`.
pub(crate) fn user_store_dir(near: &Path) -> Option<PathBuf> {
    let place = own_config_dir(near).ok()??.join(USER_CONFIG);
    match read_layer(&place, &read(&place)).said.get(Key::StoreDir) {
        Some(Setting::Dir(dir)) => std::path::absolute(dir).ok(),
        _ => None,
    }
}

/// Saves the editor's settings that apply to other processes. Deletes the file if the editor sets none and wrote the
/// file itself.
pub fn keep_editor(workspace: &Workspace, editor: &str, said: &SourceValues) -> Result<()> {
    let path = workspace.store_dir.join(EDITOR_FILE);
    let name: String = editor.chars().filter(|c| !c.is_control()).collect();
    let head = format!("# Said by {name}, whose language server writes this file.\n");
    let there = read(&path).ok().flatten().unwrap_or_default();
    let mut text = head.clone();
    for (key, setting) in said.iter().filter(|(key, _)| key.info().is_shared) {
        writeln!(text, "{} = {}", key.name(), toml(setting)).ok();
    }
    if text == head {
        if there.starts_with(head.as_bytes()) {
            std::fs::remove_file(&path).at("remove", &path)?;
        }
        return Ok(());
    }
    if there == text.as_bytes() || (workspace.shared && !workspace.store_dir.is_dir()) {
        return Ok(());
    }
    owner::check(&workspace.store_dir, &workspace.root)?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    store::private_file(&part)
        .create(true)
        .truncate(true)
        .write(true)
        .open(&part)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&part, &path))
        .at("write", &path)
}

pub(super) fn toml(setting: &Setting) -> toml_edit::Value {
    match setting.json() {
        serde_json::Value::Array(all) => {
            let texts = all.iter().filter_map(|one| one.as_str());
            texts.collect::<toml_edit::Array>().into()
        }
        serde_json::Value::Number(number) => i64::try_from(number.as_u64().unwrap_or_default())
            .unwrap_or(i64::MAX)
            .into(),
        serde_json::Value::Bool(on) => on.into(),
        serde_json::Value::String(text) => text.into(),
        // no setting has such a value
        other @ (serde_json::Value::Null | serde_json::Value::Object(_)) => {
            other.to_string().into()
        }
    }
}
