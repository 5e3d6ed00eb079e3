//! Encoding of images in the database: one tag byte, then the fields.

use gix_hash::ObjectId;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, Value, ValueRef};

use crate::error::{Error, Result};
use crate::model::{ContentId, FileVersion, Image, Kind, Opaque, Placed, RelPath};

impl Image {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(48);
        match self {
            Self::Absent => out.push(0),
            Self::File {
                mode,
                content,
                size,
            } => {
                out.push(1);
                out.extend_from_slice(&stored_mode(*mode));
                out.extend_from_slice(&size.to_le_bytes());
                out.extend_from_slice(&content.0);
            }
            Self::Symlink { content } => {
                out.push(2);
                out.extend_from_slice(&content.0);
            }
            Self::InGit { mode, size, object } => {
                out.push(4);
                out.extend_from_slice(&stored_mode(*mode));
                out.extend_from_slice(&size.to_le_bytes());
                out.extend_from_slice(object.as_slice());
            }
            Self::Opaque(why) => out.extend_from_slice(&[
                3,
                match why {
                    Opaque::TooLarge => 0,
                    Opaque::Unreadable => 1,
                    Opaque::Special => 2,
                },
            ]),
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let content = |b: &[u8]| Some(ContentId(b.try_into().ok()?));
        match bytes.split_first()? {
            (0, []) => Some(Self::Absent),
            (1, rest) => {
                let (mode, size, id) = file(rest)?;
                let content = content(id)?;
                Some(Self::File {
                    mode,
                    content,
                    size,
                })
            }
            (4, rest) => {
                let (mode, size, id) = file(rest)?;
                let object = ObjectId::try_from(id).ok()?;
                Some(Self::InGit { mode, size, object })
            }
            (2, rest) => Some(Self::Symlink {
                content: content(rest)?,
            }),
            (3, [0]) => Some(Self::Opaque(Opaque::TooLarge)),
            (3, [1]) => Some(Self::Opaque(Opaque::Unreadable)),
            (3, [2]) => Some(Self::Opaque(Opaque::Special)),
            _ => None,
        }
    }
}

fn stored_mode(mode: u32) -> [u8; 2] {
    u16::try_from(mode & 0o7777).unwrap_or(0o644).to_le_bytes()
}

/// Splits the bytes into mode, size and content id.
fn file(bytes: &[u8]) -> Option<(u32, u64, &[u8])> {
    let (mode, rest) = bytes.split_first_chunk()?;
    let (size, id) = rest.split_first_chunk()?;
    let mode = u32::from(u16::from_le_bytes(*mode));
    Some((mode, u64::from_le_bytes(*size), id))
}

impl ToSql for Image {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(Value::Blob(self.encode())))
    }
}

impl FromSql for Image {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::decode(value.as_blob()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for RelPath {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.bytes())))
    }
}

impl FromSql for RelPath {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::new(value.as_blob()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for ContentId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Blob(&self.0)))
    }
}

impl FromSql for ContentId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_blob()?
            .try_into()
            .map(Self)
            .map_err(|_| FromSqlError::InvalidType)
    }
}

macro_rules! sql_id {
    ($($name:ident),*) => {$(
        impl ToSql for crate::model::$name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }
        impl FromSql for crate::model::$name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    )*};
}
sql_id!(
    NodeId,
    ChangeId,
    FileId,
    SessionId,
    TurnId,
    CallId,
    OpId,
    RootId,
    BranchId,
    EditorId,
    ConversationId
);

impl ToSql for Kind {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.name().into())
    }
}

impl FromSql for Kind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let name = value.as_str()?;
        Self::ALL
            .into_iter()
            .find(|k| k.name() == name)
            .ok_or(FromSqlError::InvalidType)
    }
}

/// Reads a column of JSON; `row` names it. An unreadable value is damage, never the same as an empty one.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    conn: &rusqlite::Connection,
    row: impl FnOnce() -> String,
    text: &str,
) -> Result<T> {
    serde_json::from_str(text).map_err(|e| Error::Damaged {
        path: conn.path().unwrap_or("in memory").into(),
        reason: format!("{} is damaged: {e}", row()),
    })
}

/// Returns a value as JSON, for a column that `json` reads.
pub fn to_json(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string(value);
    text.map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)).into())
}

/// Returns the two columns of a file's state.
pub(crate) fn state_columns(state: &FileVersion) -> (Option<&RelPath>, Option<&Image>) {
    (
        state.as_ref().map(|p| &p.path),
        state.as_ref().map(|p| &p.image),
    )
}

/// Reads a file's state from the columns `at` and `at + 1`.
pub(crate) fn state_from(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<FileVersion> {
    let path: Option<RelPath> = row.get(at)?;
    let image: Option<Image> = row.get(at + 1)?;
    Ok(path.zip(image).map(|(path, image)| Placed { path, image }))
}
