//! Values that no row of ours has. The error names the table and the row, and is never the same as an empty result.

use rusqlite::types::{FromSqlError, ValueRef};
use rusqlite::{Connection, Row, Rows};

use crate::error::{Error, Result, is_damage};

/// A column of an enum with a value that is none of the enum's.
#[derive(Debug, thiserror::Error)]
#[error("`{value}` is no {what}")]
struct UnknownValue {
    what: &'static str,
    value: String,
}

pub fn unknown_value(what: &'static str, value: &impl ToString) -> FromSqlError {
    let value = value.to_string();
    FromSqlError::Other(Box::new(UnknownValue { what, value }))
}

/// Reason in words for an error about a value.
fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, source) => source.to_string(),
        rusqlite::Error::IntegralValueOutOfRange(_, value) => format!("{value} is out of range"),
        rusqlite::Error::InvalidColumnType(_, column, kind) => {
            format!("the column `{column}` holds an unexpected value of type {kind}")
        }
        other => other.to_string(),
    }
}

/// Adds the table and the row to an error about a value.
pub trait InRow<T> {
    /// `row` names the row: `the call 5`.
    fn in_row(self, conn: &Connection, row: impl Fn() -> String) -> Result<T>;
}

impl<T> InRow<T> for rusqlite::Result<T> {
    fn in_row(self, conn: &Connection, row: impl Fn() -> String) -> Result<T> {
        self.map_err(|e| in_row(e, conn, &row))
    }
}

// not generic: the code is compiled once, and not for each query
fn in_row(error: rusqlite::Error, conn: &Connection, row: &dyn Fn() -> String) -> Error {
    if !is_damage(&error) {
        return Error::Sqlite(error);
    }
    Error::Damaged {
        path: conn.path().unwrap_or("in memory").into(),
        reason: format!("{} is damaged: {}", row(), reason(&error)),
    }
}

/// Reads all rows of a query. The first column and `table` name a damaged row.
pub fn read_all<T, C: FromIterator<T>>(
    conn: &Connection,
    table: &str,
    mut rows: Rows<'_>,
    mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<C> {
    let mut next = || -> Result<Option<T>> {
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        read(row)
            .in_row(conn, || format!("row {} of table {table}", key(row)))
            .map(Some)
    };
    std::iter::from_fn(|| next().transpose()).collect()
}

/// The first column in words.
pub fn key(row: &Row<'_>) -> String {
    printed(row.get_ref(0).unwrap_or(ValueRef::Null))
}

pub fn printed(key: ValueRef<'_>) -> String {
    match key {
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            format!("`{}`", String::from_utf8_lossy(text))
        }
        ValueRef::Real(_) | ValueRef::Null => "?".to_owned(),
    }
}

/// Stores the variants of an enum as integers or texts. Any other value is damage.
#[macro_export]
#[doc(hidden)]
macro_rules! stored_as {
    ($name:ident as i64, $what:literal, { $($variant:ident = $value:literal),+ $(,)? }) => {
        $crate::stored_as!(@ $name, i64, $what, as_i64, { $($variant = $value),+ });
    };
    ($name:ident as text, $what:literal, { $($variant:ident = $value:literal),+ $(,)? }) => {
        $crate::stored_as!(@ $name, &'static str, $what, as_str, { $($variant = $value),+ });
    };
    (@ $name:ident, $stored:ty, $what:literal, $read:ident, { $($variant:ident = $value:literal),+ }) => {
        impl $name {
            /// The value in the database.
            pub(crate) const fn stored(self) -> $stored {
                match self {
                    $(Self::$variant => $value),+
                }
            }
        }

        impl rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.stored().into())
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(
                value: rusqlite::types::ValueRef<'_>,
            ) -> rusqlite::types::FromSqlResult<Self> {
                match value.$read()? {
                    $($value => Ok(Self::$variant),)+
                    other => Err($crate::sqlite::unknown_value($what, &other)),
                }
            }
        }
    };
}
pub(crate) use crate::stored_as;
