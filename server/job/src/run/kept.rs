//! All that a job needs to continue in another process, but for its state: a value, and its secrets apart from it.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::contexts::{At, JobFacts};
use crate::expr::Dict;
use crate::place::environment::Host;
use crate::place::{RunPlace, RunRecord};
use crate::report::{JobEnd, JobName, RunReport};
use crate::repository::ProjectRepository;
use crate::state::JobState;
use crate::step::mask::Masks;
use crate::step::process::{SupervisorCommand, adopt_orphans};
use crate::step::stop::StopRequest;
use crate::workflow::{self, Body};

use super::condition::continues;
use super::job::{JobRun, JobSetup, RunOptions};
use super::standing::StandingJob;
use super::whole::record_end;

/// A job as it began: the workflow's text, the choices of the user, and the facts. It has no secrets.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptJob {
    name: JobName,
    /// Path of the workflow, relative to the repository.
    file: String,
    text: String,
    facts: JobFacts,
    repository: ProjectRepository,
    /// Variables of the place.
    base: Vec<(String, String)>,
    options: RunOptions,
    /// A [`RunPlace`] without its lock.
    place: serde_json::Value,
}

/// The secrets of a run: those of the user, and all texts that no output shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptSecrets {
    secrets: Dict,
    token: String,
    masks: Vec<String>,
}

/// Parts of a run that belong to its process.
#[expect(
    missing_debug_implementations,
    reason = "the receiver of events has no form for people"
)]
pub struct RunProcess {
    pub host: Host,
    pub supervisor: SupervisorCommand,
    pub stop: StopRequest,
    pub masks: Masks,
    pub report: Arc<Mutex<dyn RunReport>>,
}

impl KeptJob {
    /// The job that a run has. The environment of the user's process is left out.
    pub fn of(run: &StandingJob) -> io::Result<KeptJob> {
        let setup = &run.run.setup;
        let mut facts = setup.facts.clone();
        facts.secrets = Dict::default();
        facts.github.set("token", "".into());
        let mut options = setup.options.clone();
        options.builtin.host = Host::default();
        Ok(KeptJob {
            name: setup.name.clone(),
            file: setup.workflow.file.clone(),
            text: setup.text.to_string(),
            facts,
            repository: ProjectRepository::clone(&setup.repository),
            base: setup.base.clone(),
            options,
            place: serde_json::to_value(&*setup.place)?,
        })
    }

    /// Root of the repository whose workflow runs.
    pub fn root(&self) -> &Path {
        &self.repository.root
    }

    /// Path of the workflow, relative to the repository.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text of the workflow, as the run has it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn name(&self) -> &JobName {
        &self.name
    }

    /// Takes the place of the run. The error is `WouldBlock` if another process holds it.
    pub fn hold(&self, dir: &Path) -> io::Result<RunPlace> {
        let place: RunPlace = serde_json::from_value(self.place.clone())?;
        place.held_again(dir)
    }

    /// The job at its beginning, in this process.
    pub fn open(
        self,
        secrets: KeptSecrets,
        place: RunPlace,
        process: RunProcess,
    ) -> Result<JobRun, String> {
        adopt_orphans();
        let (workflow, problems) = workflow::read(&self.file, &self.text);
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let workflow = workflow.ok_or_else(|| all.join("\n"))?;
        let job = workflow
            .jobs
            .iter()
            .find(|job| job.id.value == self.name.key());
        let Some(Body::Steps(body)) = job.map(|job| &job.body) else {
            return Err(format!("{}: no job {} with steps", self.file, self.name.id));
        };
        let body = Arc::new((**body).clone());
        for value in &secrets.masks {
            process.masks.add(value);
        }
        let mut facts = self.facts;
        facts.secrets = secrets.secrets;
        facts.github.set("token", secrets.token.into());
        let mut options = self.options;
        options.builtin.host.clone_from(&process.host);
        options.actions.host = process.host;
        let supervisor = process.supervisor.for_run(&place.dir);
        JobRun::new(JobSetup {
            name: self.name,
            workflow: Arc::new(workflow),
            text: self.text.into(),
            body,
            facts,
            place: Arc::new(place),
            repository: Arc::new(self.repository),
            base: self.base,
            options,
            supervisor,
            masks: process.masks,
            stop: process.stop,
            report: process.report,
        })
    }
}

impl KeptSecrets {
    pub fn of(run: &StandingJob) -> KeptSecrets {
        let setup = &run.run.setup;
        let token = setup.facts.github.get("token");
        KeptSecrets {
            secrets: setup.facts.secrets.clone(),
            token: token.map(crate::expr::Value::to_text).unwrap_or_default(),
            masks: setup.masks.values(),
        }
    }
}

/// Writes the end of a job that continued in this process into its record.
#[expect(
    missing_debug_implementations,
    reason = "the receiver of events has no form for people"
)]
pub struct RunClose {
    record: RunRecord,
    continues: bool,
    report: Arc<Mutex<dyn RunReport>>,
}

impl RunClose {
    pub fn of(run: &JobRun, record: RunRecord) -> RunClose {
        let setup = &run.setup;
        let state = JobState::default();
        let at = At::outside(&setup.facts, &state, &setup.repository.root);
        RunClose {
            record,
            continues: continues(&setup.body, &at),
            report: Arc::clone(&setup.report),
        }
    }

    pub fn close(mut self, mut end: JobEnd, dir: &Path) -> JobEnd {
        record_end(
            &mut end,
            self.continues,
            &mut self.record,
            dir,
            &self.report,
        );
        end
    }
}
