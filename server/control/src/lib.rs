//! Breakpoints and pauses of agents. Owns the database `control.db` beside the store, the file `armed`, and the locks of
//! held calls. Knows no agent's payload.

pub mod armed;
mod armed_index;
mod attempts;
mod breakpoint;
mod breakpoints;
pub mod condition;
mod decided;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hit_condition;
mod hits;
mod hold;
mod locks;
pub mod mask;
pub mod matching;
mod messages;
mod pause;
mod pauses;
mod program;
mod programs;
mod proposals;
mod regions;
mod repl;
mod repls;
mod retention;
pub mod shell;
mod silence;
mod subject;
mod tables;
mod typed;
mod wait;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use armed::Armed;
pub use armed_index::{armed_at, armed_elsewhere};
pub use attempts::Attempt;
pub use backstitch_core::command_words::{CommandPlace, NamedFiles, SearchedFiles, named_files};
pub use backstitch_core::process::{ProcessId, agent_processes, ancestors, descendants, starter};
pub use breakpoint::*;
pub use breakpoints::{Breakpoints, NewBreakpoint};
pub use decided::{Decided, Undone};
pub use hit_condition::HitCondition;
pub use hits::Hits;
pub use hold::{Hold, WaitResult};
pub use matching::{Checked, CheckedCall, check, check_call, compare_function, may_match};
pub use messages::Messages;
pub use pause::{
    Ability, ChangedInput, HeldCall, NOBODY_WATCHES, Pause, PauseDecision, PauseHit, PauseId,
    PauseOutcome, PauseState, TERMINAL, TIME_LIMIT, decider, place,
};
pub use pauses::{CALLED_OFF, HoldOutcome, Pauses, Ruling, SeenInput};
pub use program::{FunctionCall, NewFunctionCall, Program, ProgramHello, ProgramPause, StackFrame};
pub use programs::Programs;
pub use proposals::Proposals;
pub use regions::{ChangedLines, LineRange, RegionState, follow};
pub use repl::{
    EvalAnswer, EvalId, EvalRequest, EvalState, LONGER, ObjectValue, PAGE, ReplEntry, ReplFilter,
    ReplSession, StoredObject,
};
pub use repls::Repls;
pub use retention::Problem;
pub use silence::{Silence, SilenceClock, SilenceRules, SilentOutcome};
pub use subject::Subject;
pub use tables::hit::Hit;
pub use tables::message::WaitingMessage;
pub use tables::pause::PauseFilter;
pub use typed::{ReadBreakpoint, TypedBreakpoint, TypedOptions};
pub use wait::{BellWatch, Wakeup};

use backstitch_core::sqlite::Schema;
use backstitch_core::sqlite::{self, private_file};
use backstitch_core::{Error, Result};
use backstitch_core::{Workspace, record_gap};
use tables::{breakpoint as breakpoint_table, meta};

pub use backstitch_core::sqlite::now;

/// Gaps in the record, for people.
const ARMED_REMOVED: &str = "the file `armed`, by which hooks find breakpoints, was removed from the store; it is written again, \
                             and breakpoints hold calls as before";
const BREAKPOINTS_REMOVED: &str =
    "the breakpoints of this workspace were removed with its store: set them again";

const DATABASE: &str = "control.db";
/// "bkct"
const SCHEMA: Schema = Schema {
    application_id: 0x626b_6374,
    steps: &[
        include_str!("schema/001.sql"),
        include_str!("schema/002.sql"),
        include_str!("schema/003.sql"),
        include_str!("schema/004.sql"),
        include_str!("schema/005.sql"),
    ],
    name: "a database of breakpoints and pauses",
    lock: "migrate-control.lock",
};

/// The opened database of a workspace.
#[derive(Debug)]
pub struct Control {
    conn: Connection,
    dir: PathBuf,
    workspace: Workspace,
}

impl Control {
    /// Name of its file beside the store.
    pub const DATABASE: &str = DATABASE;

    /// Opens the database of a workspace; makes it if it is missing. A store that is not the user's own is refused.
    pub fn open(workspace: &Workspace) -> Result<Self> {
        backstitch_core::check_owner(&workspace.store_dir, &workspace.root)?;
        let control = Self::open_in(workspace, sqlite::BUSY_TIMEOUT)?;
        control.mend_armed()?;
        // one that an older version armed is not in the index
        if armed::path(&control.dir).exists() && !armed_index::is_noted(workspace) {
            let _ = armed_index::note(workspace, control.armed()?.has_breakpoints());
        }
        Ok(control)
    }

    /// As `open`. None: there is no database yet.
    pub fn open_existing(workspace: &Workspace) -> Result<Option<Self>> {
        let path = workspace.store_dir.join(DATABASE);
        // one that cannot be looked at is not absent
        let is_there = path.try_exists().map_err(|source| Error::Io {
            what: format!("open {}", path.display()),
            source,
        })?;
        if !is_there {
            return Ok(None);
        }
        Self::open(workspace).map(Some)
    }

    /// As `open`, for a hook, which does not wait long for other writers.
    pub fn open_for_hook(workspace: &Workspace) -> Result<Self> {
        backstitch_core::check_owner(&workspace.store_dir, &workspace.root)?;
        Self::open_in(workspace, sqlite::BUSY_TIMEOUT_HOOK)
    }

    fn open_in(workspace: &Workspace, busy_timeout: Duration) -> Result<Self> {
        let dir = workspace.store_dir.as_path();
        let path = dir.join(DATABASE);
        let is_new = std::fs::metadata(&path).map_or(true, |file| file.len() == 0);
        // the database is gone, and what was armed is not: the hooks must not let pass what it holds
        let lost = if is_new { Armed::read(dir)? } else { None };
        if is_new {
            // private before SQLite writes a byte
            private_file(&path)
                .create(true)
                .append(true)
                .open(&path)
                .map_err(|source| Error::Io {
                    what: format!("create {}", path.display()),
                    source,
                })?;
        }
        let no_wait = Arc::new(AtomicBool::new(false));
        let conn = sqlite::connect(&path, &SCHEMA, busy_timeout, &no_wait)?;
        conn.execute_batch(
            "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=1048576;",
        )?;
        let control = Self {
            conn,
            dir: dir.to_path_buf(),
            workspace: workspace.clone(),
        };
        if let Some(lost) = lost {
            control.recover(&lost)?;
        }
        Ok(control)
    }

    /// Takes the breakpoints of the file `armed` over into a new database, whose predecessor is gone.
    fn recover(&self, lost: &Armed) -> Result<()> {
        self.write(|conn| {
            // another process may have been faster
            if breakpoint_table::all(conn)?.is_empty() {
                for (at, one) in lost.breakpoints.iter().enumerate() {
                    // an edit that was cut off left both forms, the newer one last
                    let has_newer = lost.breakpoints[at + 1..]
                        .iter()
                        .any(|newer| newer.id == one.id);
                    if !has_newer {
                        breakpoint_table::insert_again(conn, one)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// The breakpoints of a workspace.
    pub fn breakpoints(&self) -> Breakpoints<'_> {
        Breakpoints { control: self }
    }

    /// The triggers of breakpoints.
    pub fn hits(&self) -> Hits<'_> {
        Hits { control: self }
    }

    /// All that is, or was, held.
    pub fn pauses(&self) -> Pauses<'_> {
        Pauses { control: self }
    }

    /// Texts of the user for models.
    pub fn messages(&self) -> Messages<'_> {
        Messages { control: self }
    }

    /// Programs that pause: connections, watched calls and pauses.
    pub fn programs(&self) -> Programs<'_> {
        Programs { control: self }
    }

    /// Rewinds that agents propose.
    pub fn proposals(&self) -> Proposals<'_> {
        Proposals { control: self }
    }

    /// Sessions of REPLs, and the queue of evaluations.
    pub fn repls(&self) -> Repls<'_> {
        Repls { control: self }
    }

    /// Number of the newest commit. It rises with each, whoever made it.
    pub fn seq(&self) -> Result<i64> {
        meta::seq(&self.conn)
    }

    /// The file that each commit rewrites. Watchers watch it.
    pub fn bell(&self) -> PathBuf {
        self.dir.join(sqlite::CONTROL_BELL)
    }

    /// Runs `f` in one write transaction, and rings the bell after the commit.
    fn write<T>(&self, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
        let value = f(&tx)?;
        let seq = meta::raise(&tx)?;
        backstitch_core::fault_point("control before commit");
        tx.commit()?;
        backstitch_core::fault_point("control committed");
        self.ring(seq);
        Ok(value)
    }

    /// As `write`, for a change of what is armed. Before the commit, the file `armed` holds old and new together, so
    /// that it never names too little; a second transaction then leaves what the rows say.
    fn write_armed<T>(&self, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let value = self.write(|conn| {
            let value = f(conn)?;
            let new = Armed::of(conn)?;
            // an unreadable file is replaced: the hooks ask the rows until then
            let old = Armed::read(&self.dir).ok().flatten().unwrap_or_default();
            old.with(new).replace(&self.dir)?;
            Ok(value)
        })?;
        // the file names too much if this fails, and the next change writes it again
        let _ = self.settle_armed();
        Ok(value)
    }

    /// Has the file `armed` say what the rows say.
    pub(crate) fn settle_armed(&self) -> Result<()> {
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
        let armed = Armed::of(&tx)?;
        armed.replace(&self.dir)?;
        tx.rollback()?;
        // the index only serves agents of other workspaces
        let _ = armed_index::note(&self.workspace, armed.has_breakpoints());
        Ok(())
    }

    /// Writes the file `armed` anew if it names less than the rows do: it was removed, or an older one was put in its
    /// place. Hooks would pass what is listed as armed.
    pub fn mend_armed(&self) -> Result<()> {
        // hooks ask the rows where the file cannot be read, and a damaged row is reported where it is listed
        let (Ok(file), Ok(rows)) = (Armed::read(&self.dir), Armed::of(&self.conn)) else {
            return Ok(());
        };
        let is_lost = file.is_none() && rows.has_breakpoints();
        if file.unwrap_or_default().names_all_of(&rows) {
            return Ok(());
        }
        if is_lost {
            record_gap(&self.workspace, ARMED_REMOVED);
        }
        self.settle_armed()
    }

    /// As `mend_armed`, for a workspace that the index has and whose file is gone. If the rows are gone, too, they were
    /// removed with the store.
    pub fn mend_lost_armed(&self) -> Result<()> {
        self.mend_armed()?;
        // the rows decide where it cannot be read
        if matches!(Armed::read(&self.dir), Ok(None)) && armed_index::is_noted(&self.workspace) {
            if Armed::of(&self.conn)?.is_empty() {
                record_gap(&self.workspace, BREAKPOINTS_REMOVED);
            }
            armed_index::note(&self.workspace, false)?;
        }
        Ok(())
    }

    /// Tells watchers that there is news. A lost ring is harmless, because they also poll.
    fn ring(&self, seq: i64) {
        let stamp = format!("{seq:<20} {:<10}\n", std::process::id());
        let path = self.bell();
        private_file(&path)
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, stamp.as_bytes()))
            .ok();
    }
}
