//! Retention of breakpoints and pauses, and the check of the database.

use rusqlite::Connection;

use super::Control;
use super::armed::Armed;
use super::tables::pause::{PARKED, PauseFilter};
use super::tables::{breakpoint, command, hit, message, meta, object, pause, program, repl};
use backstitch_core::Result;
use backstitch_core::process::ProcessId;
use backstitch_core::sqlite;

/// Microseconds of a day.
const DAY: i64 = 24 * 3600 * 1_000_000;

/// Part of the size of a store that transcripts and values may take: a tenth.
const SHARE: u64 = 10;
/// Key of the time of the last `gc`.
const GC: &str = "gc";
/// Key of the microseconds by which the clock has jumped ahead.
const JUMPED: &str = "jumped";
/// Maximum time between two runs that counts as passed: a longer one may be a jump of the clock.
const MAX_GAP: i64 = 7 * DAY;

/// Returns the microseconds by which the clock may have jumped ahead up to now: of the time between two runs only a part
/// counts as passed, and a clock that is set back takes a jump back.
fn jumped(conn: &Connection) -> Result<i64> {
    let Some(last) = meta::get(conn, GC)? else {
        return Ok(0);
    };
    let before = meta::get(conn, JUMPED)?.unwrap_or(0);
    let gap = sqlite::now().saturating_sub(last);
    let beyond = if gap < 0 { gap } else { (gap - MAX_GAP).max(0) };
    Ok(before.saturating_add(beyond).max(0))
}

/// Returns the time before which a parked call is over.
pub(super) fn parked_before(conn: &Connection) -> Result<i64> {
    Ok(sqlite::now() - PARKED - jumped(conn)?)
}

/// Something wrong with the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(pub String);

impl Control {
    /// As `gc`, unless it was done within the last day.
    pub fn gc_if_due(&self, days: Option<u64>, bytes: Option<u64>) -> Result<()> {
        let last = meta::get(&self.conn, GC)?;
        // a negative age means that the clock was set back
        if !last.is_some_and(|last| (0..DAY).contains(&(sqlite::now() - last))) {
            // one reading of the clock tells no age
            self.gc(days.filter(|_| last.is_some()), bytes)?;
        }
        Ok(())
    }

    /// Removes ended pauses, hits, commands, programs and closed sessions that are older than a number of days. Where all
    /// transcripts and values have more than a tenth of the bytes that the store may have, the oldest sessions go, however
    /// young. Returns the number of rows.
    pub fn gc(&self, days: Option<u64>, bytes: Option<u64>) -> Result<usize> {
        self.write_armed(|conn| {
            let jumped = jumped(conn)?;
            pause::expire(conn, None, parked_before(conn)?)?;
            meta::set(conn, JUMPED, jumped)?;
            meta::set(conn, GC, sqlite::now())?;
            for gone in program::without_end(conn)? {
                let is_old = gone.connected < sqlite::now() - DAY;
                if is_old && !ProcessId::of(gone.pid).is_alive() {
                    program::end(conn, gone.id)?;
                }
            }
            let mut removed = 0;
            if let Some(days) = days {
                let days = i64::try_from(days).unwrap_or(i64::MAX);
                let now = sqlite::now().saturating_sub(jumped);
                let before = now.saturating_sub(days.saturating_mul(DAY));
                // sessions ask for the state of their pauses
                removed += repl::delete_before(conn, before)?;
                removed += pause::delete_before(conn, before)?;
                removed += hit::delete_before(conn, before)?;
                removed += command::delete_before(conn, before)?;
                removed += message::delete_before(conn, before)?;
                removed += program::delete_before(conn, before)?;
                removed += object::delete_unnamed(conn)?;
            }
            let limit = bytes.map(|bytes| bytes / SHARE);
            let limit = limit.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
            while limit.is_some_and(|limit| repl::bytes(conn).is_ok_and(|size| size > limit)) {
                let Some(oldest) = repl::oldest_over(conn)? else {
                    break;
                };
                removed += repl::delete_before(conn, oldest + 1)?;
                removed += object::delete_unnamed(conn)?;
            }
            Ok(removed)
        })
    }

    /// Number of calls that are held now.
    pub fn held(&self) -> Result<usize> {
        let open = self.pauses().list(PauseFilter::Open)?;
        Ok(open.iter().filter(|one| one.state.has_holder()).count())
    }

    /// Removes everything. Requires that no call is held.
    pub fn clear(&self) -> Result<()> {
        self.write_armed(|conn| {
            breakpoint::delete_all(conn)?;
            pause::expire(conn, None, i64::MAX)?;
            pause::delete_before(conn, i64::MAX)?;
            hit::delete_before(conn, i64::MAX)?;
            command::delete_before(conn, i64::MAX)?;
            repl::delete_before(conn, i64::MAX)?;
            program::delete_before(conn, i64::MAX)?;
            object::delete_unnamed(conn)?;
            message::delete_all(conn)
        })
    }

    /// Checks the database, and the file `armed` against the rows.
    pub fn verify(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let mut check = self.conn.prepare("PRAGMA integrity_check")?;
        let mut rows = check.query([])?;
        while let Some(row) = rows.next()? {
            let line: String = row.get(0)?;
            if line != "ok" {
                problems.push(Problem(format!("control.db: {line}")));
            }
        }
        drop(rows);
        breakpoint::all(&self.conn)?;
        pause::list(&self.conn, PauseFilter::All)?;
        let rows = Armed::of(&self.conn)?;
        match Armed::read(&self.dir) {
            Err(error) => problems.push(Problem(error.to_string())),
            Ok(file) => {
                let file = file.unwrap_or_default();
                let is_named = |id| file.breakpoints.iter().any(|one| one.id == id);
                for one in &rows.breakpoints {
                    if !is_named(one.id) {
                        problems.push(Problem(format!(
                            "the file `armed` does not name breakpoint {}",
                            one.id
                        )));
                    }
                }
            }
        }
        Ok(problems)
    }
}
