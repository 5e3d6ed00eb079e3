//! The history of a run's files: its job is a turn, and its steps are the calls of that turn.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use backstitch_core::capture::{AgentEvent, Effect, EventKind, ToolCall, ToolReport};
use backstitch_core::model::NodeId;
use backstitch_core::restore::{
    Action, ActionKind, Applied, Gap, GapKind, Goal, Request, TimeMark,
};
use backstitch_core::{Engine, OpenOptions, Recorder, Recording, Workspace};
use serde::{Deserialize, Serialize};

use crate::place::RunPlace;
use crate::report::StepPart;
use crate::run::{PendingStep, StandingJob};
use crate::workflow::StepAction;

/// The agent and the tool under which the history of a run has its steps.
const AGENT: &str = "job";
const STEP_TOOL: &str = "step";

/// The detail of a gap at a path that is missing.
const NOT_CAPTURED: &str = "was there, and its content was not captured";

/// The detail of a gap at a path that no scan could read at the checkpoint.
const UNREAD: &str = "could not be read at the checkpoint: what was in it is not restored";

/// The detail of a gap at a file that had several names.
const SEPARATE: &str = "had other hard links: each name is a separate file now";

/// The detail of a gap at a path that cannot be read after the restore.
const STAYS: &str =
    "cannot be read, so it stays as it is: change its permissions, and step back again";

/// Time to wait for the recorder, which lives in this process. A walk of a large tree takes longer.
const RECORDER_TIMEOUT: Duration = Duration::from_millis(50);

/// Files of a run as they were recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordedFiles {
    /// The checkpoint.
    node: i64,
    /// The moment in the log of times.
    times: i64,
    /// Paths without permissions: what was in them is not recorded.
    unread: BTreeSet<Vec<u8>>,
}

impl RecordedFiles {
    pub fn node(&self) -> NodeId {
        NodeId(self.node)
    }
}

#[derive(Debug)]
pub(super) struct RunHistory {
    engine: Engine,
    /// Watches the files, so that a scan looks at those alone that a step has touched. Without it every scan walks the tree.
    recorder: Option<Recorder>,
    /// Id of the run, which its session in the history has.
    run: String,
    files: PathBuf,
    store: PathBuf,
    /// The number of the last call, which its end has too.
    calls: i64,
}

impl RunHistory {
    /// Opens the history of a run's files. A restore that was cut off is finished, or undone.
    pub fn open(place: &RunPlace) -> Result<RunHistory, String> {
        let workspace = Workspace::run(&place.dir).map_err(|error| error.to_string())?;
        let engine = Engine::open_with(&workspace, OpenOptions::SERVER);
        let mut engine = engine.map_err(|error| error.to_string())?;
        engine.wait_for_recorder(RECORDER_TIMEOUT);
        let recording = Recording {
            // each step records its own changes
            records: false,
            ..Recording::default()
        };
        Ok(RunHistory {
            engine,
            recorder: Recorder::start(&workspace, recording, |_| {}).ok(),
            run: place.id.clone(),
            files: place.files.clone(),
            store: workspace.store_dir.clone(),
            // a process that continues the run counts on, also within the same second
            calls: micros_now(),
        })
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Begins the turn of the job.
    pub fn job_begins(&mut self, job: &str) -> Result<(), String> {
        self.record_event(EventKind::Prompt {
            text: job.to_owned(),
            synthetic: false,
        })
    }

    /// Ends the turn of the job: nothing of it writes to the files any longer.
    pub fn job_ends(&mut self) -> Result<(), String> {
        self.record_event(EventKind::Stop { background: false })
    }

    pub fn step_begins(&mut self, step: &PendingStep, run: &StandingJob) -> Result<(), String> {
        self.calls += 1;
        self.record_event(EventKind::Before(self.call_of(step, run)))
    }

    pub fn step_ends(
        &mut self,
        step: &PendingStep,
        run: &StandingJob,
        failed: bool,
    ) -> Result<(), String> {
        self.record_event(EventKind::After {
            call: self.call_of(step, run),
            report: ToolReport::default(),
            failed,
        })?;
        if let Some(recorder) = &self.recorder {
            recorder.scan_soon();
        }
        Ok(())
    }

    /// The files as they were recorded last.
    pub fn present(&self) -> Result<RecordedFiles, String> {
        let said = |error| self.reason(&error);
        let node = self.engine.history().head().map_err(said)?;
        let node = node.ok_or_else(|| "The history of the run is empty.".to_owned())?;
        let times = self.engine.times();
        let unread = times.unread().map_err(said)?.into_iter();
        Ok(RecordedFiles {
            node: node.0,
            times: times.mark().map_err(said)?.0,
            unread: unread.map(|path| path.bytes().to_vec()).collect(),
        })
    }

    /// Records the files as they are now.
    pub fn record_files(&mut self) -> Result<RecordedFiles, String> {
        let recorded = self.engine.capture_mut().record_changes();
        recorded.map_err(|error| self.reason(&error))?;
        self.present()
    }

    /// Files, directories, modes and times as they were recorded.
    pub fn restore(&mut self, files: &RecordedFiles) -> Result<Applied, String> {
        let before = self.present()?;
        let mut request = Request::new(Goal::Rewind(files.node()));
        request.exact = true;
        let applied = self.engine.restore_mut().apply(&request, None, &mut |_| {});
        let mut applied = applied.map_err(|error| self.reason(&error))?;
        let plan = &mut applied.plan;
        let were_there: Vec<bool> = plan.gaps.iter().map(|gap| self.is_there(gap)).collect();
        let set = self.engine.times_mut().set(TimeMark(files.times));
        set.map_err(|error| self.reason(&error))?;
        let skipped = |action: &&Action| action.kind == ActionKind::Skip;
        let skipped = plan.actions.iter().filter(skipped);
        let skipped: BTreeSet<&[u8]> = skipped.map(|action| action.path.bytes()).collect();
        let mut were_there = were_there.into_iter();
        plan.gaps.retain_mut(|gap| {
            let was_there = were_there.next().unwrap_or_default();
            if self.is_there(gap) {
                return true;
            }
            NOT_CAPTURED.clone_into(&mut gap.detail);
            // a pipe that was made later went with the times
            !was_there
                && gap
                    .path
                    .as_deref()
                    .is_some_and(|path| skipped.contains(path))
        });
        for gap in &mut plan.gaps {
            if gap.kind == GapKind::HardLink {
                SEPARATE.clone_into(&mut gap.detail);
            }
        }
        let unread = unread_gaps(files, &before, &self.present()?);
        plan.gaps
            .retain(|gap| unread.iter().all(|new| new.path != gap.path));
        plan.gaps.extend(unread);
        Ok(applied)
    }

    /// True if the path of a gap is there, or it concerns none.
    fn is_there(&self, gap: &Gap) -> bool {
        let path = gap.path.as_deref();
        let path = path.map(|path| self.files.join(OsStr::from_bytes(path)));
        path.is_none_or(|path| path.symlink_metadata().is_ok())
    }

    fn record_event(&mut self, kind: EventKind) -> Result<(), String> {
        let event = AgentEvent {
            agent: AGENT.to_owned(),
            session: self.run.clone(),
            transcript: None,
            prompt_id: None,
            subagent: None,
            cwd: Some(self.files.clone()),
            process: None,
            other_hooks: None,
            name: String::new(),
            kind,
        };
        let recorded = self.engine.capture_mut().record(&event);
        recorded.map(drop).map_err(|error| self.reason(&error))
    }

    /// The sentence for an error. Without its directories a run has no next step.
    fn reason(&self, error: &backstitch_core::Error) -> String {
        let mut all = [&self.store, &self.files].into_iter();
        match all.find(|directory| !directory.exists()) {
            Some(gone) => format!(
                "The run's directory {} was deleted: none of its steps can run or be undone any longer. End the run, and start it again.",
                gone.display()
            ),
            None => error.to_string(),
        }
    }

    fn call_of(&self, step: &PendingStep, run: &StandingJob) -> ToolCall {
        let text = match &step.step.action {
            StepAction::Run { script, .. } => script.display(),
            StepAction::Uses { uses, .. } => uses.value.clone(),
            StepAction::Background(key) => key.value.clone(),
        };
        let input = serde_json::json!({
            "description": step.name.name,
            "command": run.mask(&text),
        });
        let part = match step.name.part {
            StepPart::Pre => "pre-",
            StepPart::Main => "",
            StepPart::Post => "post-",
        };
        ToolCall {
            id: Some(format!("{part}{}-{}", step.name.key(), self.calls)),
            tool: STEP_TOOL.to_owned(),
            input: input.to_string().into_bytes(),
            effect: Effect::Any { background: false },
        }
    }
}

/// Gaps at paths that could not be read: those of the checkpoint that have changed since, and those that the restore left.
fn unread_gaps(then: &RecordedFiles, before: &RecordedFiles, after: &RecordedFiles) -> Vec<Gap> {
    let lost = then.unread.difference(&before.unread);
    let stay = after.unread.difference(&then.unread);
    let gaps = lost.map(|path| (path, UNREAD));
    let gaps = gaps.chain(stay.map(|path| (path, STAYS)));
    let gaps = gaps.map(|(path, detail)| Gap {
        path: Some(path.clone()),
        kind: GapKind::Unreadable,
        detail: detail.to_owned(),
    });
    gaps.collect()
}

/// Microseconds since 1970.
pub(super) fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(i64::MAX)
}
