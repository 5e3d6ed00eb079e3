//! Table `meta`: single values of a store.

use rusqlite::types::{FromSql, ToSql};
use rusqlite::{Connection, OptionalExtension, params};

use super::damage::InRow;
use crate::error::Result;
use crate::model::RootId;

/// Name of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MetaKey {
    /// Number of the newest node whose words are in the index.
    Words,
    /// Time of the last `gc`.
    Gc,
    /// The newest node at the last `gc`.
    GcMark,
    /// Parts of the log of gaps that were read, as JSON.
    GapsTaken,
    /// Root of a fork that is committed and not yet in its place. The text tells forks apart.
    Fork(String),
    /// Position up to which aider's chat history in this root was read, as JSON.
    ChatHistory(RootId),
}

impl MetaKey {
    fn name(&self) -> String {
        match self {
            Self::Words => "words".to_owned(),
            Self::Gc => "gc".to_owned(),
            Self::GcMark => "gc mark".to_owned(),
            Self::GapsTaken => "gaps taken".to_owned(),
            Self::Fork(token) => format!("fork {token}"),
            Self::ChatHistory(root) => format!("chat history {}", root.0),
        }
    }
}

pub(crate) fn get<T: FromSql>(conn: &Connection, key: &MetaKey) -> Result<Option<T>> {
    let name = key.name();
    conn.prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([&name], |r| r.get(0))
        .optional()
        .in_row(conn, || format!("row `{name}` of table meta"))
}

pub(crate) fn set(conn: &Connection, key: &MetaKey, value: impl ToSql) -> Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute(params![key.name(), value])?;
    Ok(())
}

pub(crate) fn remove(conn: &Connection, key: &MetaKey) -> Result<()> {
    conn.execute("DELETE FROM meta WHERE key = ?1", [key.name()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_another_type_is_damage() {
        let conn = crate::store::migrate::in_memory();
        assert_eq!(get::<i64>(&conn, &MetaKey::Gc).expect("read"), None);
        set(&conn, &MetaKey::Gc, 5).expect("written");
        assert_eq!(get(&conn, &MetaKey::Gc).expect("read"), Some(5));
        set(&conn, &MetaKey::Gc, "soon").expect("written");
        let said = get::<i64>(&conn, &MetaKey::Gc)
            .expect_err("damage")
            .to_string();
        assert!(said.contains("row `gc` of table meta is damaged"), "{said}");
        remove(&conn, &MetaKey::Gc).expect("removed");
        assert_eq!(get::<i64>(&conn, &MetaKey::Gc).expect("read"), None);
    }
}
