//! A model of a job under commands of a client: where it stands, its checkpoints, a variable, and its files. It has the three steps of
//! [`super::STEPS`], of which the second one fails until it is mended.

/// Names of the steps.
pub const NAMES: [&str; 3] = ["One", "Two", "Three"];

/// The line that each step writes to the log.
const LOGS: [&str; 3] = ["one\n", "two\n", "three\n"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelPlace {
    Before(usize),
    Failed(usize),
    End,
}

/// The job at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub place: ModelPlace,
    pub log: String,
    /// The value of `env.A`.
    pub variable: Option<String>,
    is_mended: bool,
    has_failed: bool,
}

/// The effect of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Refused,
    /// Either answer is right, and changes nothing.
    Any,
    /// It has its answer, and the job stands as before.
    Stays,
    /// A stop with this reason and description follows.
    Stops(String),
    /// The job ends with this code.
    Ends(u64),
}

/// A command of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelCommand {
    Next,
    Continue,
    StepOut,
    StepBack,
    Reverse,
    /// To the checkpoint of a frame of a step that has run.
    Restart(usize),
    /// A word of the console.
    WordNext,
    WordBack,
    WordUndo,
    /// Values and files, set by hand.
    SetVariable(String),
    Mend,
    /// Stops at failures, or none.
    Filter(bool),
    /// Anything else, of which the answer is known.
    Reads,
    Wrong,
}

#[derive(Clone, Debug)]
pub struct JobModel {
    pub at: Standing,
    /// The steps that have a checkpoint, and the job before each.
    points: Vec<(usize, Standing)>,
    /// The job stands at the last checkpoint, which a step back does not offer.
    is_at_last: bool,
    /// The job before the last way back.
    undo: Option<Box<JobModel>>,
    pub stops_at_failures: bool,
    pub has_ended: bool,
}

impl JobModel {
    pub fn begin() -> JobModel {
        JobModel {
            at: Standing {
                place: ModelPlace::Before(0),
                log: String::new(),
                variable: None,
                is_mended: false,
                has_failed: false,
            },
            points: Vec::new(),
            is_at_last: false,
            undo: None,
            stops_at_failures: true,
            has_ended: false,
        }
    }

    /// `before 'One'`: the place in words.
    pub fn words(&self) -> String {
        match self.at.place {
            ModelPlace::Before(step) => format!("before '{}'", NAMES[step]),
            ModelPlace::Failed(step) => format!("'{}' failed", NAMES[step]),
            ModelPlace::End => "at the end of the job".to_owned(),
        }
    }

    /// The stop after a word of the console.
    fn word_stop(&self) -> String {
        let reason = match self.at.place {
            ModelPlace::Failed(_) => "exception",
            ModelPlace::Before(_) | ModelPlace::End => "step",
        };
        format!("{reason}: {}", self.words())
    }

    /// Steps of the checkpoints to which a step back leads.
    pub fn available(&self) -> Vec<usize> {
        let count = self.points.len() - usize::from(self.is_at_last);
        self.points[..count].iter().map(|(step, _)| *step).collect()
    }

    pub fn is_mended(&self) -> bool {
        self.at.is_mended
    }

    /// Carries a command out.
    pub fn apply(&mut self, command: &ModelCommand) -> Outcome {
        if self.has_ended {
            // nothing is left that could change
            return match command {
                ModelCommand::Reads | ModelCommand::Filter(_) => Outcome::Any,
                _ => Outcome::Refused,
            };
        }
        let available = self.available();
        match command {
            ModelCommand::Next => self.go(1),
            ModelCommand::Continue => {
                let outcome = self.go(usize::MAX);
                self.continued(outcome)
            }
            ModelCommand::StepOut => self.go(usize::MAX),
            ModelCommand::StepBack => {
                self.back(available.len().checked_sub(1), "step: stepped back: ")
            }
            ModelCommand::Reverse => {
                let first = (!available.is_empty()).then_some(0);
                self.back(first, "step: stepped back: ")
            }
            ModelCommand::Restart(place) => {
                let place = (*place < available.len()).then_some(*place);
                self.back(place, "restart: stepped back: ")
            }
            ModelCommand::WordNext => match self.at.place {
                ModelPlace::End => Outcome::Refused,
                ModelPlace::Before(_) | ModelPlace::Failed(_) => {
                    self.step();
                    Outcome::Stops(self.word_stop())
                }
            },
            ModelCommand::WordBack => self.back(available.len().checked_sub(1), "step: "),
            ModelCommand::WordUndo => {
                let Some(before) = self.undo.take() else {
                    return Outcome::Refused;
                };
                let stops_at_failures = self.stops_at_failures;
                *self = *before;
                self.stops_at_failures = stops_at_failures;
                Outcome::Stops(self.word_stop())
            }
            ModelCommand::SetVariable(value) => {
                self.at.variable = Some(value.clone());
                Outcome::Stays
            }
            ModelCommand::Mend => {
                self.at.is_mended = true;
                Outcome::Stays
            }
            ModelCommand::Filter(is_on) => {
                self.stops_at_failures = *is_on;
                Outcome::Stays
            }
            ModelCommand::Reads => Outcome::Stays,
            ModelCommand::Wrong => Outcome::Refused,
        }
    }

    /// Runs so many steps, or up to a stop on the way.
    fn go(&mut self, count: usize) -> Outcome {
        if self.at.place == ModelPlace::End {
            self.has_ended = true;
            return Outcome::Ends(u64::from(self.at.has_failed));
        }
        let mut left = count;
        loop {
            self.step();
            left -= 1;
            match self.at.place {
                ModelPlace::Failed(_) if self.stops_at_failures => {
                    return Outcome::Stops(format!("exception: {}", self.words()));
                }
                // it is passed: the next step is taken, too
                ModelPlace::Failed(_) => left = left.max(1),
                ModelPlace::Before(_) if left == 0 => break,
                ModelPlace::Before(_) => {}
                ModelPlace::End => break,
            }
        }
        Outcome::Stops(format!("step: {}", self.words()))
    }

    /// Takes one step. After a failure the rest is left out.
    fn step(&mut self) {
        let ModelPlace::Before(step) = self.at.place else {
            self.at.place = ModelPlace::End;
            return;
        };
        if self.is_at_last {
            self.points.pop();
        }
        self.is_at_last = false;
        self.undo = None;
        self.points.push((step, self.at.clone()));
        self.at.log += LOGS[step];
        if step == 0 {
            self.at.variable = Some("1".to_owned());
        }
        self.at.place = match step {
            1 if !self.at.is_mended => {
                self.at.has_failed = true;
                ModelPlace::Failed(1)
            }
            2 => ModelPlace::End,
            _ => ModelPlace::Before(step + 1),
        };
    }

    /// Goes to a checkpoint.
    fn back(&mut self, place: Option<usize>, reason: &str) -> Outcome {
        let Some(place) = place else {
            return Outcome::Refused;
        };
        let before = JobModel {
            undo: None,
            ..self.clone()
        };
        self.undo = Some(Box::new(before));
        self.points.truncate(place + 1);
        self.at = self.points[place].1.clone();
        self.is_at_last = true;
        Outcome::Stops(format!("{reason}{}", self.words()))
    }

    /// A job that comes to its end by `continue` stands there only after a failure.
    fn continued(&mut self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Stops(_) if self.at.place == ModelPlace::End && !self.at.has_failed => {
                self.has_ended = true;
                Outcome::Ends(0)
            }
            other => other,
        }
    }
}
