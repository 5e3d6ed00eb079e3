//! Steps back: files, times, environment, outputs and contexts are those of a point.

use backstitch_core::restore::Gap;

use crate::run::{ReachedOut, StandingJob};

use super::JobSession;
use super::kept::{BeforeRestore, RunWork};
use super::points::JobPoint;

/// The reason of a step back that leads nowhere.
const NO_POINT: &str = "There is no checkpoint to go back to: no step has run.";

/// A restore of a point.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Place of the point in the list.
    pub place: usize,
    /// Files and directories that changed.
    pub changed: usize,
    /// Variables that changed.
    pub variables: usize,
    /// Paths that stayed as they were, each with the reason.
    pub gaps: Vec<Gap>,
    /// Steps after the point with commands that reach out of the run: what they did there stays.
    pub reached: Vec<ReachedOut>,
    /// Steps after the point that have no point: they are undone, too.
    pub passed: Vec<String>,
}

impl Restored {
    /// Lines about all that stayed: paths, and what commands may have done outside of the run.
    pub fn stayed(&self) -> String {
        let reached = self.reached.iter().map(|step| {
            let (name, commands) = (&step.name, step.commands.join("; "));
            format!("\n  not taken back: '{name}' may have reached out of the run: {commands}")
        });
        gap_lines(&self.gaps) + &reached.collect::<String>()
    }
}

impl JobSession {
    /// Goes so many points back.
    pub fn back(&mut self, steps: usize) -> Result<Restored, String> {
        let depth = self.stop.depth();
        let available = self.points.available().len();
        if available == 0 {
            return Err(NO_POINT.to_owned());
        }
        let place = self.points.back(steps, depth).ok_or_else(|| {
            format!("{steps} steps back are too many; checkpoints to go back to: {available}.")
        })?;
        self.restore(place)
    }

    /// Goes back to the point at this place.
    pub fn restore(&mut self, place: usize) -> Result<Restored, String> {
        let last = self.points.all().len().checked_sub(1);
        let last = last.ok_or_else(|| NO_POINT.to_owned())?;
        let point = self.points.all().get(place).cloned().ok_or_else(|| {
            format!("There is no checkpoint [{place}]: they have the numbers 0 to {last}.")
        })?;
        self.kill_taken_back()?;
        self.run.end_programs_after(point.programs);
        self.undo = Some(BeforeRestore::of(self)?);
        self.cut.clear();
        self.by_hand.clear();
        self.shell_directory = None;
        self.save(&RunWork::Restore(place))?;
        self.finish_restore(place)
    }

    /// Restores a point, or does the rest of a restore that was cut off.
    pub(super) fn finish_restore(&mut self, place: usize) -> Result<Restored, String> {
        let missing = || format!("The checkpoint [{place}] is missing in the run.");
        let point = self.points.all().get(place).cloned().ok_or_else(missing)?;
        let applied = self.history.restore(&point.files)?;
        let variables = differing(&self.run, &point);
        self.run.set_live(point.live.clone());
        self.stood_since(point.at);
        let reached = self.run.taken_back(point.ended);
        let (cut, passed) = self.points.restored(place);
        self.cut = cut;
        for sentence in self.run.take_up_workflow() {
            self.notes.add(self.run.mask(&sentence));
        }
        self.stand();
        self.log(&format!(
            "restored checkpoint [{place}] before '{}'",
            point.step.name
        ));
        self.save(&RunWork::Standing)?;
        Ok(Restored {
            place,
            changed: applied.plan.actions.len(),
            variables,
            gaps: applied.plan.gaps,
            reached,
            passed,
        })
    }
}

/// Begins the job anew, as a further attempt of the run. None: no step has run, so the job stands at its beginning already.
pub fn restart(session: &mut JobSession) -> Result<Option<Restored>, String> {
    if session.points.available().is_empty() {
        return Ok(None);
    }
    // the restored state counts the attempts before it alone
    let restarts = session.run.state().restarts + 1;
    let restored = session.restore(0)?;
    session.run.state_mut().restarts = restarts;
    session.refresh();
    Ok(Some(restored))
}

/// Paths that a restore left as they were, each in a line after the sentence about it.
pub fn gap_lines(gaps: &[Gap]) -> String {
    let lines = gaps.iter().map(|gap| {
        let path = gap.path.as_deref().map(String::from_utf8_lossy);
        let path = path.unwrap_or_default();
        format!("\n  not restored: {path} {}", gap.detail)
    });
    lines.collect()
}

/// Number of variables whose values a restore changes.
fn differing(run: &StandingJob, point: &JobPoint) -> usize {
    let (now, then) = (&run.state().env, &point.live.state.env);
    let changed = now
        .iter()
        .filter(|(name, value)| then.get(name) != Some(value));
    let gone = then.iter().filter(|(name, _)| now.get(name).is_none());
    changed.count() + gone.count()
}
