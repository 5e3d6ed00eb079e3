//! Queries over one table. A value that no row of ours has is an error that names the table and the row.

use rusqlite::types::{FromSql, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::damage::{InRow, key, printed, read_all};
use crate::error::{Error, Result};
use crate::model::{ContentId, Image};

/// A table, by its name.
pub(super) struct Table(pub &'static str);

impl Table {
    /// Returns all rows of a query. Its first column names the row in an error.
    pub(super) fn all<T, C: FromIterator<T>>(
        &self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C> {
        let mut select = conn.prepare_cached(sql)?;
        read_all(conn, self.0, select.query(params)?, read)
    }

    /// Returns the first column of all rows of a query.
    pub(super) fn column<T: FromSql, C: FromIterator<T>>(
        &self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
    ) -> Result<C> {
        self.all(conn, sql, params, |row| row.get(0))
    }

    /// Reads the rows of a query one by one, until one of them yields a result.
    pub(super) fn find<T>(
        &self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut select = conn.prepare_cached(sql)?;
        let mut rows = select.query(params)?;
        while let Some(row) = rows.next()? {
            let found = match read(row) {
                Err(Error::Sqlite(error)) => self.named(conn, row, Err(error))?,
                read => read?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Passes the contents of images on, those in the second column of a query.
    pub(super) fn contents(
        &self,
        conn: &Connection,
        sql: &str,
        take: &mut dyn FnMut(ContentId),
    ) -> Result<()> {
        self.find::<()>(conn, sql, [], |row| {
            let image: Option<Image> = row.get(1)?;
            image.and_then(|image| image.content()).map(&mut *take);
            Ok(None)
        })?;
        Ok(())
    }

    /// Returns the first row of a query. Its first column names the row in an error.
    pub(super) fn first<T>(
        &self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.find(conn, sql, params, |row| Ok(Some(read(row)?)))
    }

    /// Returns the only row of a query that has one for sure.
    pub(super) fn one<T>(
        &self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let row = self.first(conn, sql, params, read)?;
        row.ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    }

    /// Returns a value of the row with this key, if there is one.
    pub(super) fn value_of<T: FromSql>(
        &self,
        conn: &Connection,
        sql: &str,
        key: &impl ToSql,
    ) -> Result<Option<T>> {
        let mut select = conn.prepare_cached(sql)?;
        let value = select.query_row([key], |row| row.get(0)).optional();
        value.in_row(conn, || {
            let key = match key.to_sql() {
                Ok(ToSqlOutput::Borrowed(value)) => printed(value),
                Ok(ToSqlOutput::Owned(value)) => printed((&value).into()),
                _ => printed(ValueRef::Null),
            };
            format!("row {key} of table {}", self.0)
        })
    }

    /// Returns the number that a query over the table yields.
    pub(super) fn number<T: FromSql>(
        &self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
    ) -> Result<T> {
        let mut select = conn.prepare_cached(sql)?;
        let number = select.query_row(params, |row| row.get(0));
        number.in_row(conn, || format!("a number in table {}", self.0))
    }

    /// Names the row in an error about one of its values.
    pub(super) fn named<T>(
        &self,
        conn: &Connection,
        row: &Row<'_>,
        read: rusqlite::Result<T>,
    ) -> Result<T> {
        read.in_row(conn, || format!("row {} of table {}", key(row), self.0))
    }
}

/// True if a query has a row.
pub(super) fn exists(conn: &Connection, sql: &str, params: impl Params) -> Result<bool> {
    Ok(conn.prepare_cached(sql)?.exists(params)?)
}

/// Carries a statement out. Returns the number of rows that it changed.
pub(super) fn execute(conn: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    Ok(conn.prepare_cached(sql)?.execute(params)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::model::Role;

    #[test]
    fn an_unreadable_value_names_the_table_and_the_row() {
        let conn = Connection::open_in_memory().expect("a database");
        let table = Table("change");
        let is_named = |error: Error, row: &str| {
            assert_eq!(error.kind(), ErrorKind::Store, "{error}");
            let said = error.to_string();
            let named = format!("row {row} of table change is damaged");
            assert!(said.contains(&named) && said.contains("role"), "{said}");
        };
        let read = |row: &Row<'_>| row.get::<_, Role>(1);
        let sql = "SELECT 12, 7 AS role";
        let all: Result<Vec<Role>> = table.all(&conn, sql, [], read);
        is_named(all.expect_err("no role"), "12");
        is_named(
            table.first(&conn, sql, [], read).expect_err("no role"),
            "12",
        );
        let sql = "SELECT 'x' AS role WHERE ?1 = 5";
        let value = table.value_of::<Role>(&conn, sql, &5);
        is_named(value.expect_err("no role"), "5");
    }
}
