//! The session on disk: its files as they are recorded and restored, and the place where it stands.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use crate::run::KeptSecrets;

use super::kept::{KeptStop, RunWork};
use super::{JobSession, StopPlace};

impl JobSession {
    /// Saves the place where the job stands, so that another process continues from it. To be called after each command.
    pub fn keep(&mut self) -> Result<(), String> {
        if self.is_in_frozen_step() {
            // it is cut off as a step that runs
            return self.db.keep_secrets(KeptSecrets::of(&self.run));
        }
        self.save(&RunWork::Standing)
    }

    pub(super) fn save(&mut self, work: &RunWork) -> Result<(), String> {
        self.db.keep_secrets(KeptSecrets::of(&self.run))?;
        let stop = self.kept_stop();
        self.db.save(work, &stop, &self.points, &self.cut)
    }

    pub(super) fn kept_stop(&mut self) -> KeptStop {
        // deadlines are kept as the time that is left
        self.stood_since(self.stood_since);
        let failed = match &self.stop {
            StopPlace::Failed(name, end) => Some((name.clone(), end.clone())),
            StopPlace::Before(_) | StopPlace::Frozen(_) | StopPlace::End => None,
        };
        KeptStop {
            stop: self.run.live_stop(),
            failed,
            at_last: self.points.is_at_last(),
            passed: self.points.passed().to_vec(),
            only: self.choice.words().to_vec(),
            undo: self.undo.clone(),
            by_hand: self.by_hand.clone(),
            attempts: self.attempts.all().to_vec(),
        }
    }

    /// Writes a line to the log of the points. Nothing depends on it.
    pub(super) fn log(&self, line: &str) {
        let file = self.run.place().log.join("checkpoints.log");
        let mut options = fs::OpenOptions::new();
        let opened = options.create(true).append(true).mode(0o600).open(file);
        let _ = opened.and_then(|mut file| writeln!(file, "{}", self.run.mask(line)));
    }
}
