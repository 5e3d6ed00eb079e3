//! Sentences for the person who steps through a job: about edits that were taken up, and what a restore has done.

use std::fmt;

use super::JobSession;

/// Receiver of sentences, each at the moment in which it is true.
pub type NoteListener = Box<dyn FnMut(&str)>;

/// Sentences that nobody has seen yet.
#[derive(Default)]
pub(super) struct SessionNotes {
    kept: Vec<String>,
    listener: Option<NoteListener>,
}

impl fmt::Debug for SessionNotes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heard = self.listener.is_some();
        write!(out, "SessionNotes({:?}, heard: {heard})", self.kept)
    }
}

impl JobSession {
    /// Tells sentences to a receiver at once: before the output of a step that follows. Without one they are kept.
    pub fn hear_notes(&mut self, listener: NoteListener) {
        self.notes.listener = Some(listener);
    }

    /// Tells the person a sentence.
    pub fn note(&mut self, sentence: &str) {
        let sentence = self.run.mask(sentence);
        match &mut self.notes.listener {
            Some(listener) => listener(&sentence),
            None => self.notes.kept.push(sentence),
        }
    }

    pub(super) fn note_all(&mut self, sentences: impl IntoIterator<Item = String>) {
        for sentence in sentences {
            self.note(&sentence);
        }
    }

    /// Sentences since the last call. There are none where somebody hears them.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes.kept)
    }
}
