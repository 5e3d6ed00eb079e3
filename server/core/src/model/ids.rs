//! Ids of the history's things, and the hash that identifies a content.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub i64);
    };
}

id!(
    /// A node of the history; printed `c12`.
    NodeId
);
id!(
    /// A change of one path in one node. Ids grow with time, so their order is the order of age.
    ChangeId
);
id!(
    /// A file's identity: survives renames, and deletion followed by creation at the same path.
    FileId
);
id!(
    /// A conversation of one agent, as numbered by this store.
    SessionId
);
id!(
    /// A prompt and everything that follows from it.
    TurnId
);
id!(
    /// One tool call.
    CallId
);
id!(
    /// A rewind, revert, undo, redo; printed `op3`.
    OpId
);
id!(
    /// A directory whose history this store holds.
    RootId
);
id!(
    /// A line of history with a name.
    BranchId
);
id!(
    /// A new session of an agent, which ends before a turn of an older one.
    ConversationId
);
id!(
    /// A language server, as numbered by this store. A number is never reused.
    EditorId
);

impl SessionId {
    /// Letter of the session for people: A for the first one of the store, then B … Z, AA, AB …
    #[must_use]
    pub fn letter(self) -> String {
        let mut letters = Vec::new();
        let mut left = self.0.max(1);
        while left > 0 {
            left -= 1;
            let place = u8::try_from(left % 26).unwrap_or(0);
            letters.push(char::from(b'A' + place));
            left /= 26;
        }
        letters.iter().rev().collect()
    }

    /// Reads a letter: `None` for other texts.
    #[must_use]
    pub fn from_letter(text: &str) -> Option<Self> {
        let mut number: i64 = 0;
        for byte in text.bytes() {
            let place = byte
                .is_ascii_uppercase()
                .then(|| i64::from(byte - b'A') + 1)?;
            number = number.checked_mul(26)?.checked_add(place)?;
        }
        (number > 0).then_some(Self(number))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl fmt::Display for OpId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op{}", self.0)
    }
}

/// The BLAKE3 hash of a content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentId(pub [u8; 32]);

impl ContentId {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..6].iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}
