//! Sessions of REPLs: their transcripts, and the queue of evaluations. A session closes with its pause.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Control;
use super::pause::{Pause, PauseId, PauseState};
use super::repl::{
    EvalAnswer, EvalId, EvalRequest, EvalState, LONGER, ObjectValue, ReplEntry, ReplFilter,
    ReplSession, StoredObject,
};
use super::subject::Subject;
use super::tables::command::{self, NewCommand};
use super::tables::{object, pause, repl};
use backstitch_core::sqlite::now;
use backstitch_core::{Error, Result};

/// Microseconds of a millisecond.
const MS: i64 = 1000;

/// Sessions of REPLs, and the queue of evaluations.
#[derive(Debug)]
pub struct Repls<'a> {
    pub(crate) control: &'a Control,
}

impl Repls<'_> {
    /// Starts a session at a pause that is held (S5-024, S5-050). There may be several (S5-025).
    pub fn start(&self, pause: PauseId, face: &str) -> Result<ReplSession> {
        let there = self
            .control
            .pauses()
            .get(pause)?
            .ok_or_else(|| Error::UnknownPause(pause.to_string()))?;
        if there.state != PauseState::Held {
            return Err(super::pauses::already(&there));
        }
        if !there.call.subject.has_repl() {
            return Err(Error::refused(
                format!("{pause} is a proposed rewind, which evaluates nothing"),
                "continue or deny it",
            ));
        }
        self.control.write(|conn| {
            let there = pause::get(conn, pause)?.unwrap_or(there);
            if there.state != PauseState::Held {
                return Err(super::pauses::already(&there));
            }
            let mut new = self.new_session(&there)?;
            // one that was started in the same microsecond
            while !repl::insert(conn, &new)? {
                new.started += MS;
                new.id = session_id(new.pid, new.started);
            }
            log(
                conn,
                face,
                &there,
                "repl start",
                &json!({ "session": new.id }),
            )?;
            Ok(new)
        })
    }

    fn new_session(&self, at: &Pause) -> Result<ReplSession> {
        let program = self.control.programs().of_pause(at.id)?;
        let pid = match (&program, at.call.agent_process) {
            (Some(program), _) => program.pid,
            (None, Some(agent)) => agent.pid,
            (None, None) => at.holder.pid,
        };
        let started = now();
        Ok(ReplSession {
            id: session_id(pid, started),
            pause: at.id,
            pid,
            process: program.as_ref().map(|program| program.id),
            function: self.function_of(at)?,
            letter: at.call.letter.clone(),
            prompt: at.call.prompt.clone(),
            why: Some(at.call.why.clone()),
            breakpoint: at.call.breakpoint,
            hit: at.call.hit.clone(),
            call: self.control.programs().call_of_pause(at.id)?,
            language: program.map_or_else(|| "jq".to_owned(), |program| program.language),
            started,
            closed: None,
            reason: None,
            entries: 0,
        })
    }

    /// Returns the function that is paused. A pause that the program asks for is named by its label, and stands in the function
    /// of the innermost frame.
    fn function_of(&self, at: &Pause) -> Result<String> {
        if at.call.subject == Subject::Program && at.call.breakpoint.is_none() {
            let innermost = self.control.programs().stack(at.id)?.pop();
            if let Some(frame) = innermost {
                return Ok(frame.name);
            }
        }
        Ok(at.call.tool.clone())
    }

    /// Returns a session. None: there is none with this id (S5-027).
    pub fn get(&self, id: &str) -> Result<Option<ReplSession>> {
        repl::get(&self.control.conn, id)
    }

    /// As `repl`, for one that has to exist.
    pub fn known(&self, id: &str) -> Result<ReplSession> {
        self.get(id)?
            .ok_or_else(|| Error::UnknownSession(id.to_owned()))
    }

    /// Returns sessions, the newest first, and true if there are more.
    pub fn list(&self, filter: &ReplFilter) -> Result<(Vec<ReplSession>, bool)> {
        let one_more = ReplFilter {
            limit: filter.limit.saturating_add(1),
            ..filter.clone()
        };
        let mut found = repl::list(&self.control.conn, &one_more)?;
        let more = found.len() > filter.limit;
        found.truncate(filter.limit);
        Ok((found, more))
    }

    /// Returns the entries of a session after a number. They stay readable after its end (S5-033).
    pub fn transcript(&self, id: &str, after: i64, limit: usize) -> Result<Vec<ReplEntry>> {
        self.known(id)?;
        repl::entries(&self.control.conn, id, after, limit)
    }

    /// Closes a session. Closing it again changes nothing (S5-030). Its evaluations are withdrawn.
    pub fn close(&self, id: &str, reason: &str, face: &str) -> Result<ReplSession> {
        let there = self.known(id)?;
        self.control.write(|conn| {
            if repl::close(conn, id, reason)?
                && let Some(at) = pause::get(conn, there.pause)?
            {
                log(conn, face, &at, "repl close", &json!({ "session": id }))?;
            }
            Ok(())
        })?;
        self.known(id)
    }

    /// Queues an input for its evaluation, and returns its number. `timeout`: how long it may take.
    pub fn ask(&self, session: &str, expression: &str, timeout: Duration) -> Result<EvalId> {
        if expression.trim().is_empty() {
            return Err(Error::MissingField("expression"));
        }
        let there = self.known(session)?;
        let timeout = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        self.control.write(|conn| {
            let now = repl::get(conn, session)?.unwrap_or_else(|| there.clone());
            if now.closed.is_some() {
                return Err(closed(&now));
            }
            repl::ask(conn, (there.pause, session), expression, timeout)
        })
    }

    /// Waits for the answer to an input. `is_over`: asked from time to time; true ends the wait, and withdraws the input.
    pub fn answer_to(&self, id: EvalId, is_over: &dyn Fn() -> bool) -> Result<ReplEntry> {
        let answer = self.control.wait_for(is_over, || self.look_for_answer(id));
        if matches!(answer, Err(Error::CalledOff)) {
            self.control
                .write(|conn| repl::set_state(conn, id, EvalState::Withdrawn, None))?;
        }
        answer
    }

    /// None: there is none yet.
    fn look_for_answer(&self, id: EvalId) -> Result<Option<ReplEntry>> {
        let request = repl::request(&self.control.conn, id)?
            .ok_or_else(|| Error::UnknownSession("of this evaluation".to_owned()))?;
        match request.state {
            EvalState::Answered | EvalState::TimedOut => {
                let number = request.entry.unwrap_or(0);
                let mut entries =
                    repl::entries(&self.control.conn, &request.session, number - 1, 1)?;
                entries.pop().map(Some).ok_or(Error::EvalTimeout {
                    ms: request.timeout,
                })
            }
            EvalState::Withdrawn => Err(closed(&self.known(&request.session)?)),
            EvalState::Waiting | EvalState::Taken if self.is_too_late(&request)? => {
                self.time_out(&request)
            }
            EvalState::Waiting | EvalState::Taken => Ok(None),
        }
    }

    /// True once the evaluating side should have answered. An input that waits behind another is not being evaluated yet.
    fn is_too_late(&self, request: &EvalRequest) -> Result<bool> {
        let longer = i64::try_from(LONGER.as_micros()).unwrap_or(0);
        let since = match request.taken {
            Some(taken) => taken,
            None if repl::next(&self.control.conn, request.pause)?.map(|next| next.id)
                == Some(request.id) =>
            {
                request.made
            }
            None => return Ok(false),
        };
        Ok(now() > since + request.timeout.saturating_mul(MS).saturating_add(longer))
    }

    /// Notes that nobody answered an input. None: somebody did meanwhile.
    fn time_out(&self, request: &EvalRequest) -> Result<Option<ReplEntry>> {
        let entry = self.control.write(|conn| {
            let is_open = matches!(
                repl::request(conn, request.id)?.map(|now| now.state),
                Some(EvalState::Waiting | EvalState::Taken)
            );
            if !is_open {
                return Ok(None);
            }
            let entry = ReplEntry {
                input: request.expression.clone(),
                output: format!("no answer within {}", seconds(request.timeout)),
                is_error: true,
                ms: request.timeout,
                ..ReplEntry::default()
            };
            let added = repl::append(conn, &request.session, &entry)?;
            repl::set_state(conn, request.id, EvalState::TimedOut, Some(added.number))?;
            Ok(Some(added))
        })?;
        match entry {
            Some(_) => Err(Error::EvalTimeout {
                ms: request.timeout,
            }),
            None => Ok(None),
        }
    }

    /// Takes the oldest input of a pause that waits: one at a time, in the order in which they came (S5-116). None: there
    /// is none, or one is being evaluated.
    pub fn take_eval(&self, pause: PauseId) -> Result<Option<EvalRequest>> {
        if repl::next(&self.control.conn, pause)?.is_none() {
            return Ok(None);
        }
        self.control.write(|conn| {
            let Some(next) = repl::next(conn, pause)? else {
                return Ok(None);
            };
            repl::set_state(conn, next.id, EvalState::Taken, None)?;
            Ok(Some(next))
        })
    }

    /// True if an input of a pause waits, and none is being evaluated.
    pub fn has_eval(&self, pause: PauseId) -> Result<bool> {
        Ok(repl::next(&self.control.conn, pause)?.is_some())
    }

    /// True while an input is being evaluated, or waits for it.
    pub fn is_eval_wanted(&self, id: EvalId) -> Result<bool> {
        let state = repl::request(&self.control.conn, id)?.map(|request| request.state);
        Ok(matches!(state, Some(EvalState::Waiting | EvalState::Taken)))
    }

    /// Gives an input that a dead evaluator had taken back to the queue.
    pub fn untake_evals(&self, pause: PauseId) -> Result<()> {
        self.control.write(|conn| repl::untake(conn, pause))
    }

    /// Stores an answer. Fails if the session is closed by now (S5-065). None: it came too late, and is dropped.
    pub fn answer_eval(&self, id: EvalId, answer: &EvalAnswer) -> Result<Option<ReplEntry>> {
        let request = repl::request(&self.control.conn, id)?
            .ok_or_else(|| Error::UnknownSession("of this evaluation".to_owned()))?;
        if let Some(value) = &answer.value {
            check_cid(value)?;
        }
        self.control.write(|conn| {
            let request = repl::request(conn, id)?.unwrap_or_else(|| request.clone());
            match request.state {
                EvalState::Waiting | EvalState::Taken => {}
                EvalState::Withdrawn => {
                    let session = repl::get(conn, &request.session)?;
                    return Err(session.map_or_else(
                        || Error::UnknownSession(request.session.clone()),
                        |session| closed(&session),
                    ));
                }
                EvalState::Answered | EvalState::TimedOut => return Ok(None),
            }
            let cid = match &answer.value {
                // an error has no value (S5-129)
                Some(value) if answer.error.is_none() => {
                    object::put(conn, &value.cid, &value.bytes, &value.view)?;
                    Some(value.cid.clone())
                }
                _ => None,
            };
            let entry = ReplEntry {
                input: request.expression.clone(),
                output: answer
                    .error
                    .clone()
                    .unwrap_or_else(|| answer.result.clone()),
                stdout: answer.stdout.clone(),
                is_error: answer.error.is_some(),
                cid,
                ms: (now() - request.taken.unwrap_or(request.made)).max(0) / MS,
                ..ReplEntry::default()
            };
            let added = repl::append(conn, &request.session, &entry)?;
            repl::set_state(conn, id, EvalState::Answered, Some(added.number))?;
            Ok(Some(added))
        })
    }

    /// Returns the entries of all sessions after a row, each with its row and its session.
    pub fn entries_after(&self, row: i64, limit: usize) -> Result<Vec<(i64, String, ReplEntry)>> {
        repl::entries_after(&self.control.conn, row, limit)
    }

    /// Returns the row of the newest entry. 0: there is none.
    pub fn newest_entry(&self) -> Result<i64> {
        repl::newest_entry(&self.control.conn)
    }

    /// Returns a stored value.
    pub fn object(&self, cid: &str) -> Result<Option<StoredObject>> {
        object::get(&self.control.conn, cid)
    }
}

fn session_id(pid: u32, started: i64) -> String {
    format!("{pid}-{}.{:06}", started / 1_000_000, started % 1_000_000)
}

fn seconds(ms: i64) -> String {
    if ms % 1000 == 0 {
        format!("{} s", ms / 1000)
    } else {
        format!("{ms} ms")
    }
}

/// The error of an input to a session that is over.
pub(super) fn closed(session: &ReplSession) -> Error {
    Error::SessionClosed {
        session: session.id.clone(),
        reason: session
            .reason
            .clone()
            .unwrap_or_else(|| "it was closed".to_owned()),
    }
}

fn check_cid(value: &ObjectValue) -> Result<()> {
    if value.bytes.len() > object::MAX_BYTES {
        return Err(Error::Usage("the value is too large to be kept".to_owned()));
    }
    let mut cid = String::from("sha256:");
    for byte in Sha256::digest(&value.bytes) {
        let _ = write!(cid, "{byte:02x}");
    }
    if value.cid == cid {
        Ok(())
    } else {
        Err(Error::Usage(
            "the content id of the value is not the hash of its bytes".to_owned(),
        ))
    }
}

fn log(
    conn: &rusqlite::Connection,
    face: &str,
    at: &Pause,
    name: &str,
    args: &serde_json::Value,
) -> Result<()> {
    let command = NewCommand {
        face,
        agent: Some(&at.call.agent),
        session: Some(&at.call.session),
        pause: Some(at.id.0),
        name,
        args,
    };
    command::insert(conn, &command)?;
    Ok(())
}
