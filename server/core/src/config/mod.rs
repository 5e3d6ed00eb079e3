//! Settings: the keys, the values of each source, and the effective value. The nearest source that sets a key wins.
//! An invalid value is skipped and reported as a problem. Prints nothing.

mod catalogue;
mod choice;
mod file;
mod form;
mod loosening;
mod size;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use catalogue::{ChoiceSetting, Key, SettingInfo, unknown};
pub(crate) use catalogue::{MAX_FILE, MOST};
pub use choice::*;
pub use form::{NumberForm, Setting, SettingForm};
pub use loosening::{Looser, SettingOrigin};
pub use sources::keep_editor;
pub(crate) use sources::{Sources, user_store_dir};

/// Values that one source sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceValues(BTreeMap<Key, ValueAt>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ValueAt {
    setting: Setting,
    /// Line number from 1, or 0 if the value is in no file.
    line: usize,
}

impl SourceValues {
    pub fn get(&self, key: Key) -> Option<&Setting> {
        self.0.get(&key).map(|entry| &entry.setting)
    }

    pub fn set(&mut self, key: Key, setting: Setting) {
        self.0.insert(key, ValueAt { setting, line: 0 });
    }

    pub fn remove(&mut self, key: Key) {
        self.0.remove(&key);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Key, &Setting)> {
        self.0.iter().map(|(key, entry)| (*key, &entry.setting))
    }

    /// Merges both: values of `weaker` apply where this one sets nothing.
    #[must_use]
    pub fn or(&self, weaker: &Self) -> Self {
        let mut all = weaker.0.clone();
        all.extend(self.0.clone());
        Self(all)
    }
}

/// An invalid entry of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    line: usize,
    /// Key whose value is invalid. None: the key is unknown.
    key: Option<Key>,
    said: String,
}

/// One source as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Layer {
    /// None: the editor's settings.
    file: Option<PathBuf>,
    said: SourceValues,
    faults: Vec<(PathBuf, Fault)>,
}

impl Layer {
    fn source(&self, entry: &ValueAt) -> Source {
        match &self.file {
            Some(path) => Source::File {
                path: path.clone(),
                line: entry.line,
            },
            None => Source::Editor,
        }
    }
}

/// Parses a settings file. Returns its values and its faults, each with its line.
#[cfg(any(test, fuzzing))]
pub(crate) fn parse(text: &str, base: &Path) -> (SourceValues, Vec<(usize, String)>) {
    let (said, faults) = file::parse(text, base);
    let faults = faults.into_iter().map(|fault| (fault.line, fault.said));
    (said, faults.collect())
}

/// Source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    File {
        path: PathBuf,
        line: usize,
    },
    Editor,
    /// The command line.
    Option,
    Default,
}

/// Bytes of a file that a step of a CI job may write and a step back restores.
const LARGEST_OF_RUN: u64 = 1 << 30;

/// Effective settings of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Layers, nearest first.
    layers: [Layer; 3],
}

/// Indexes of the layers.
const WORKSPACE: usize = 0;
const EDITOR: usize = 1;
const USER: usize = 2;

/// The layers that need not be the user's own, the nearer ones last. Each counts only as far as `Key::heeded` allows.
const OTHERS: [(usize, SettingOrigin); 2] = [
    (EDITOR, SettingOrigin::Editor),
    (WORKSPACE, SettingOrigin::Workspace),
];

/// The place of an editor's settings, for people.
const EDITORS: &str = "the editor's settings";

/// The value of a key, layer by layer.
struct EffectiveValue {
    setting: Option<Setting>,
    source: Source,
    /// The layers whose value is not heeded, and why.
    refused: Vec<(usize, String)>,
}

impl Config {
    /// Reads the settings of a workspace from its files.
    pub fn read(workspace: &crate::places::Workspace) -> Self {
        (*Sources::of(workspace).now()).clone()
    }

    /// Settings of a CI job's run: all files are recorded up to the largest size.
    fn of_run() -> Self {
        let mut config = Self::default();
        let said = &mut config.layers[USER].said;
        said.set(Key::Include, Setting::Patterns(vec!["**/*".to_owned()]));
        said.set(Key::MaxFileSize, Setting::Number(LARGEST_OF_RUN));
        config
    }

    /// Replaces the editor's layer with the settings of this editor.
    #[must_use]
    pub fn with_editor(mut self, said: &SourceValues) -> Self {
        self.layers[EDITOR] = Layer {
            said: said.clone(),
            ..Layer::default()
        };
        // it locates the store that the value would be read from, and is the server's own
        self.layers[EDITOR].said.remove(Key::StoreDir);
        self
    }

    /// Returns the effective value and its source. None: no source sets it, and there is no default.
    pub fn get(&self, key: Key) -> (Option<Setting>, Source) {
        let found = self.resolve(key, &OTHERS);
        (found.setting, found.source)
    }

    fn resolve(&self, key: Key, others: &[(usize, SettingOrigin)]) -> EffectiveValue {
        let user = &self.layers[USER];
        let mut found = match user.said.0.get(&key) {
            Some(entry) => EffectiveValue {
                setting: Some(entry.setting.clone()),
                source: user.source(entry),
                refused: Vec::new(),
            },
            None => EffectiveValue {
                setting: key.info().form.default(),
                source: Source::Default,
                refused: Vec::new(),
            },
        };
        for (at, origin) in others {
            let layer = &self.layers[*at];
            let Some(entry) = layer.said.0.get(&key) else {
                continue;
            };
            match key.heeded(found.setting.as_ref(), &entry.setting, *origin) {
                Ok(setting) => {
                    found.setting = Some(setting);
                    found.source = layer.source(entry);
                }
                Err(why) => found.refused.push((*at, why)),
            }
        }
        found
    }

    fn setting(&self, key: Key) -> Option<Setting> {
        self.get(key).0
    }

    fn number(&self, key: Key) -> u64 {
        self.setting(key)
            .and_then(|setting| setting.number())
            .unwrap_or_default()
    }

    /// A number; 0 means no limit.
    fn limit(&self, key: Key) -> Option<u64> {
        Some(self.number(key)).filter(|number| *number > 0)
    }

    fn flag(&self, key: Key) -> bool {
        self.setting(key) == Some(Setting::Flag(true))
    }

    /// The value of a setting that is a choice.
    pub fn choice<T: ChoiceSetting>(&self) -> T {
        let setting = self.setting(T::KEY);
        let name = setting.as_ref().and_then(Setting::name);
        name.and_then(T::from_name).unwrap_or_default()
    }

    /// Maximum size of a captured file, in bytes.
    pub fn max_file_size(&self) -> u64 {
        self.number(Key::MaxFileSize)
    }

    /// Number of days for which checkpoints are kept.
    pub fn keep_days(&self) -> u64 {
        self.number(Key::KeepDays)
    }

    /// Maximum size of a store, in bytes. None: no limit.
    pub fn most_bytes(&self) -> Option<u64> {
        self.limit(Key::MaxBytes)
    }

    /// Maximum number of checkpoints. None: no limit.
    pub fn most_checkpoints(&self) -> Option<u64> {
        self.limit(Key::MaxCheckpoints)
    }

    /// True if the work of agents and the edits of the user are recorded without being asked for.
    pub fn records_automatically(&self) -> bool {
        self.flag(Key::Automatic)
    }

    /// The place of the setting that turns recording off, if it is off.
    pub fn turned_off_at(&self) -> Option<String> {
        if self.records_automatically() {
            return None;
        }
        Some(match self.get(Key::Automatic).1 {
            Source::File { path, line } => format!("{}:{line}", path.display()),
            Source::Editor => EDITORS.to_owned(),
            Source::Option | Source::Default => "the settings".to_owned(),
        })
    }

    /// The place of the first line that has less recorded and need not be the user's own: the workspace's file, or an
    /// editor's settings.
    pub(crate) fn narrowed_at(&self) -> Option<String> {
        let narrows = |layer: &Layer, at: usize, key: Key| {
            let entry = layer.said.0.get(&key)?;
            let refused = self.resolve(key, &OTHERS).refused;
            let is_heeded = refused.iter().all(|(other, _)| *other != at);
            let is_empty = matches!(&entry.setting, Setting::Patterns(all) if all.is_empty());
            (is_heeded && !is_empty).then_some(entry.line)
        };
        OTHERS.iter().rev().find_map(|(at, _)| {
            let layer = &self.layers[*at];
            let keys = [Key::Exclude, Key::MaxFileSize].into_iter();
            let line = keys.filter_map(|key| narrows(layer, *at, key)).min()?;
            Some(match &layer.file {
                Some(file) => format!("{}:{line}: this file of the workspace", file.display()),
                None => format!("{EDITORS}: its `backstitch.capture`"),
            })
        })
    }

    /// Returns the exclude patterns of the user's own file alone.
    pub(crate) fn exclude_of_user(&self) -> Vec<String> {
        match self.resolve(Key::Exclude, &[]).setting {
            Some(Setting::Patterns(all)) => all,
            _ => Vec::new(),
        }
    }

    /// The line that lets agents decide, if one does.
    pub fn agents_may_control_at(&self) -> Option<String> {
        if !self.agents_may_control() {
            return None;
        }
        Some(self.place_of(Key::AllowControl))
    }

    /// The line that says where stores are, if one does.
    pub fn store_dir_at(&self) -> Option<String> {
        self.setting(Key::StoreDir)?;
        Some(self.place_of(Key::StoreDir))
    }

    fn place_of(&self, key: Key) -> String {
        match self.get(key).1 {
            Source::File { path, line } => format!("{}:{line}", path.display()),
            _ => "the settings".to_owned(),
        }
    }

    fn patterns(&self, key: Key) -> Vec<String> {
        match self.setting(key) {
            Some(Setting::Patterns(all)) => all,
            _ => Vec::new(),
        }
    }

    pub(crate) fn exclude(&self) -> Vec<String> {
        self.patterns(Key::Exclude)
    }

    pub(crate) fn include(&self) -> Vec<String> {
        self.patterns(Key::Include)
    }

    /// Time after which a pause ends without a decision. None: as long as the agent waits.
    pub fn pause_timeout(&self) -> Option<Duration> {
        self.limit(Key::PauseTimeout).map(Duration::from_secs)
    }

    /// Time that an evaluation may take.
    pub fn eval_timeout(&self) -> Duration {
        Duration::from_secs(self.number(Key::EvalTimeout))
    }

    /// Bytes of a value in a REPL that is kept at most. 0: none is.
    pub fn max_object(&self) -> u64 {
        self.number(Key::MaxObject)
    }

    /// The shell of `!command` in REPLs.
    pub fn shell(&self) -> String {
        match self.setting(Key::Shell) {
            Some(Setting::Program(program)) => program,
            _ => String::new(),
        }
    }

    /// The command that sums up conversations. None: that of the agent.
    pub fn summarizer(&self) -> Option<String> {
        match self.setting(Key::Summarizer) {
            Some(Setting::Program(command)) if !command.is_empty() => Some(command),
            _ => None,
        }
    }

    /// Number of ended runs of jobs that are kept.
    pub fn kept_runs(&self) -> usize {
        usize::try_from(self.number(Key::KeepRuns)).unwrap_or(usize::MAX)
    }

    /// Number of checkpoints that a job keeps.
    pub fn kept_points(&self) -> usize {
        usize::try_from(self.number(Key::KeepPoints)).unwrap_or(usize::MAX)
    }

    /// Names of the user's variables that a run of a job keeps; a `*` at the end stands for any rest.
    pub fn inherited_variables(&self) -> Vec<String> {
        match self.setting(Key::InheritEnv) {
            Some(Setting::Variables(all)) => all,
            _ => Vec::new(),
        }
    }

    /// True if agents may decide on their own calls, and rewind.
    pub fn agents_may_control(&self) -> bool {
        self.flag(Key::AllowControl)
    }

    /// True if editors show the problems of workflows.
    pub fn shows_job_problems(&self) -> bool {
        self.flag(Key::JobProblems)
    }

    /// Returns the user's own settings, outside of all workspaces.
    pub fn of_user() -> Self {
        Sources::of_user()
    }

    /// Returns the settings of a workspace now, for a process that has not opened its store.
    pub fn of(workspace: &crate::places::Workspace) -> std::sync::Arc<Self> {
        Sources::of(workspace).now()
    }

    /// True if a rewind is exact by default.
    pub fn rewinds_exactly(&self) -> bool {
        self.choice::<Restoring>() == Restoring::Exact
    }

    /// Problems in the files, one line each: the place, the reason, and the effective value.
    pub fn problems(&self) -> Vec<String> {
        let faults = self.layers.iter().flat_map(|layer| &layer.faults);
        let unheeded = self.unheeded();
        faults
            .chain(&unheeded)
            .map(|(file, fault)| self.problem(file, fault))
            .collect()
    }

    /// Returns the values that are not heeded, since only the user may say them.
    fn unheeded(&self) -> Vec<(PathBuf, Fault)> {
        let mut found = Vec::new();
        for &key in Key::ALL {
            for (at, why) in self.resolve(key, &OTHERS).refused {
                let layer = &self.layers[at];
                let line = layer.said.0.get(&key).map_or(0, |entry| entry.line);
                let (file, line) = match &layer.file {
                    Some(file) => (file.clone(), line),
                    None => (EDITORS.into(), 0),
                };
                let fault = Fault {
                    line,
                    key: Some(key),
                    said: format!("`{}`: {why}", key.name()),
                };
                found.push((at, file, fault));
            }
        }
        found.sort_by_key(|(at, _, fault)| (*at, fault.line));
        found
            .into_iter()
            .map(|(_, file, fault)| (file, fault))
            .collect()
    }

    fn problem(&self, file: &Path, fault: &Fault) -> String {
        let Fault { line, key, said } = fault;
        let file = file.display();
        let place = match line {
            0 => format!("{file}"),
            line => format!("{file}:{line}"),
        };
        let held = key.map(|key| self.setting(key));
        let holds = match held {
            Some(Some(setting)) => format!("; {setting} is used"),
            Some(None) => "; the user's state directory is used".to_owned(),
            None => String::new(),
        };
        format!("{place}: {said}{holds}")
    }
}
