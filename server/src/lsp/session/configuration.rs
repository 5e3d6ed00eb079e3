//! The client's settings, and their effects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use backstitch_core::config::keep_editor;
use backstitch_core::health;
use serde_json::Value;
use tower_lsp::gen_lsp_types::{ConfigurationItem, MessageType};

use super::client::ANSWER;
use super::settings::{ClientSettings, Lenses, SECTION};
use super::settings_state::CheckedSettings;
use super::state::ServerState;
use crate::control::guard::{self, Face};
use crate::host::workspace::WorkspaceHandle;
use crate::lsp::messages;
use crate::safeguards::{self, WeaknessKind};

impl ServerState {
    /// Reads the settings of a workspace again. Reports each error in its files once, refreshes lenses after a
    /// change, and returns the lens setting.
    pub fn check_settings(&self, handle: &WorkspaceHandle) -> Lenses {
        let config = self.settings.config(handle);
        let (mut problems, lenses) = (config.problems(), config.choice());
        problems.extend(health::nothing_recorded(handle.workspace(), &config));
        let weak = safeguards::of(handle.workspace(), &config).into_iter();
        // an attempt is said when it is made
        let weak = weak.filter(|one| one.kind != WeaknessKind::Attempt);
        problems.extend(weak.map(|one| one.line()));
        let root = handle.root().to_path_buf();
        let checked = CheckedSettings {
            problems: problems.clone(),
            lenses,
            shows_job_problems: config.shows_job_problems(),
        };
        let before = self.settings.keep_checked(root, checked);
        let said = before.as_ref().map(|before| before.problems.as_slice());
        for problem in problems {
            if !said.unwrap_or_default().contains(&problem) {
                self.client.say(MessageType::Warning, problem);
            }
        }
        if let Some(before) = before {
            if before.lenses != lenses {
                self.history_cache.forget();
                self.client.refresh_lenses();
            }
            if before.shows_job_problems != config.shows_job_problems() {
                self.renew_problems();
            }
        }
        lenses
    }

    /// Notes that the client has sent its initial settings.
    pub fn settings_received(&self) {
        self.settings.set_received();
        for handle in self.workspaces.all() {
            self.publish_settings(&handle);
        }
    }

    /// True if an agent at work in this workspace has started this server.
    fn is_inside_agent(&self, handle: &WorkspaceHandle) -> bool {
        let editor = self.client.features().name.clone();
        let found = guard::check(Some(handle.workspace()), Face::Server(&editor));
        matches!(found, Ok(Some(_)))
    }

    /// Writes the client's settings to a file for other processes.
    pub(super) fn publish_settings(&self, handle: &WorkspaceHandle) {
        if !self.settings.has_received() {
            return;
        }
        let said = self.settings.get().effective();
        if self.is_inside_agent(handle) {
            // an agent that starts an editor neither ends recording with it nor removes what the user's editor says
            if !said.is_empty() {
                self.client.say(
                    MessageType::Warning,
                    messages::notice::setting::OF_AGENT.to_owned(),
                );
            }
            return;
        }
        let kept = keep_editor(handle.workspace(), &self.client.features().name, &said);
        if let Err(error) = kept {
            self.client.say(
                MessageType::Warning,
                messages::notice::setting::not_published(error),
            );
        }
    }

    /// Returns the directory of all stores, if it is set.
    pub(super) fn store_dir(&self) -> Option<PathBuf> {
        let own = || self.settings.get().store_dir().map(Path::to_path_buf);
        let own = || own().filter(|dir| !self.is_in_a_folder(dir));
        let given = self.settings.store_dir().map(Path::to_path_buf);
        given.or_else(own)
    }

    /// True for a place in an open folder, which may have brought the settings that name it.
    fn is_in_a_folder(&self, dir: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let nearest = dir.ancestors().find(|above| above.exists());
        let nearest = real(nearest.unwrap_or(dir));
        let folders = self.workspaces.folders();
        folders
            .iter()
            .any(|folder| nearest.starts_with(real(folder)))
    }

    /// Changes the settings, and reports errors in them.
    pub fn configure(&self, change: impl FnOnce(&mut ClientSettings) -> Vec<String>) {
        let (changed, wrong) = self.settings.change(change);
        for wrong in wrong {
            self.client.say(MessageType::Warning, wrong);
        }
        if changed {
            for handle in self.workspaces.all() {
                self.publish_settings(&handle);
            }
            self.history_cache.forget();
            self.client.refresh_lenses();
            self.renew_problems();
        }
    }

    /// Reports the directory of the stores, if only this server knows it.
    pub fn announce_store_dir(&self) {
        if let (None, Some(dir)) = (self.settings.store_dir(), self.settings.get().store_dir())
            && self.is_in_a_folder(dir)
        {
            let said = messages::notice::setting::stores_in_folder(SECTION, dir);
            return self.client.say(MessageType::Warning, said);
        }
        if let (None, Some(dir)) = (self.settings.store_dir(), self.store_dir()) {
            let said = messages::notice::setting::own_stores(SECTION, &dir);
            self.client.say(MessageType::Info, said);
        }
    }

    /// Asks the client for its settings in the background, if it supports that.
    pub fn pull_settings(self: &Arc<Self>) {
        if !self.client.features().configuration {
            self.settings_received();
            return;
        }
        let server = self.clone();
        let request = self.settings.begin_request();
        tokio::spawn(async move {
            let item = ConfigurationItem {
                scope_uri: None,
                section: Some(SECTION.to_owned()),
            };
            let asked =
                tokio::time::timeout(ANSWER, server.client.connection.configuration(vec![item]));
            let answer = asked.await;
            match answer {
                // the answer to a later question has come before this one
                _ if !server.settings.is_newest(request) => return,
                Ok(Ok(sections)) => {
                    if let Some(Value::Object(section)) = sections.first() {
                        server.configure(|settings| settings.answer(section));
                    }
                }
                Ok(Err(error)) => tracing::info!("the client's settings: {error}"),
                Err(_) => tracing::info!("the client did not send its settings"),
            }
            server.settings_received();
        });
    }
}
