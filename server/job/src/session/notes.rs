//! Sentences for the person who steps through a job: about edits that were taken up, and about restores.

use std::fmt;

/// Receiver of sentences, each at the moment in which it is true.
pub type NoteListener = Box<dyn FnMut(&str)>;

/// Sentences that nobody has seen yet. Secrets in them are masked.
#[derive(Default)]
pub struct SessionNotes {
    kept: Vec<String>,
    listener: Option<NoteListener>,
}

impl SessionNotes {
    /// Tells sentences to a receiver at once: before the output of a step that follows. Without one they are kept.
    pub fn hear(&mut self, listener: NoteListener) {
        self.listener = Some(listener);
    }

    /// Tells the person a sentence.
    pub fn add(&mut self, sentence: String) {
        match &mut self.listener {
            Some(listener) => listener(&sentence),
            None => self.kept.push(sentence),
        }
    }

    /// Sentences since the last call. There are none where somebody hears them.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.kept)
    }
}

impl fmt::Debug for SessionNotes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heard = self.listener.is_some();
        write!(out, "SessionNotes({:?}, heard: {heard})", self.kept)
    }
}
