//! The hash of a set of edits, which identifies the state of a file with exactly these edits in force.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::model::ChangeId;

/// Identifies a set of edits independent of their order: the exclusive or of the members' hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetHash(pub(super) [u8; 16]);

impl SetHash {
    pub(crate) const EMPTY: Self = Self([0; 16]);

    /// Returns the set with this member added, or removed if present.
    pub(crate) fn toggled(self, member: ChangeId) -> Self {
        let hash = blake3::hash(&member.0.to_le_bytes());
        let mut out = self.0;
        for (byte, with) in out.iter_mut().zip(hash.as_bytes()) {
            *byte ^= with;
        }
        Self(out)
    }

    /// Returns the set without these members, which must be in it.
    pub(crate) fn without<'a>(self, members: impl IntoIterator<Item = &'a ChangeId>) -> Self {
        members
            .into_iter()
            .fold(self, |set, member| set.toggled(*member))
    }

    pub(crate) fn of<'a>(members: impl IntoIterator<Item = &'a ChangeId>) -> Self {
        members
            .into_iter()
            .fold(Self::EMPTY, |set, member| set.toggled(*member))
    }
}

impl ToSql for SetHash {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0)))
    }
}

impl FromSql for SetHash {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_blob()?
            .try_into()
            .map(Self)
            .map_err(|_| FromSqlError::InvalidType)
    }
}
