//! The scenarios of stepping back, word for word over the protocol: in steps of a job, with composite actions, and within one. Each
//! is tried once more with a kill of the adapter before each way back.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::jobs::{newest, workflow_with};
use super::talk::DapTalk;
use crate::support::World;

/// The steps of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepForm {
    /// They are those of the job.
    OfJob,
    /// Each is a composite action, which is stepped over.
    Composite,
    /// They are within one composite action, which is entered.
    Inner,
    /// They are those of the job, and the adapter is killed before each way back. Another one attaches.
    Killed,
}

const FORMS: [StepForm; 4] = [
    StepForm::OfJob,
    StepForm::Composite,
    StepForm::Inner,
    StepForm::Killed,
];

/// The script of a step, by its number. A value that was set before it is in the log, too.
fn script(step: usize) -> String {
    format!(
        "echo {step}$X >> log; echo \"V{step}=set\" >> $GITHUB_ENV; echo $PWD/{step} >> $GITHUB_PATH"
    )
}

/// A scenario under way.
struct Scenario {
    world: World,
    talk: DapTalk,
    form: StepForm,
}

impl Scenario {
    /// The job stands before the first of four steps.
    fn begin(form: StepForm) -> Scenario {
        let step = |number: usize| {
            format!(
                "{{name: Step {number}, id: s{number}, shell: bash, run: '{}'}}",
                script(number)
            )
        };
        let action =
            |steps: String| format!("name: a\nruns:\n  using: composite\n  steps:\n{steps}");
        let mut files = Vec::new();
        let mut job =
            "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n".to_owned();
        match form {
            StepForm::OfJob | StepForm::Killed => {
                for number in 1..=4 {
                    let _ = writeln!(job, "      - {}", step(number));
                }
            }
            StepForm::Composite => {
                for number in 1..=4 {
                    let _ = writeln!(
                        job,
                        "      - {{name: Step {number}, id: s{number}, uses: $/step{number}}}"
                    );
                    let steps = format!(
                        "    - {}\n    - {{shell: bash, run: 'true'}}\n",
                        step(number)
                    );
                    files.push((format!("step{number}/action.yml"), action(steps)));
                }
            }
            StepForm::Inner => {
                job += "      - {name: All, id: all, uses: $/all}\n";
                let steps = (1..=4).map(|number| format!("    - {}\n", step(number)));
                files.push(("all/action.yml".to_owned(), action(steps.collect())));
            }
        }
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let world = workflow_with(&job, &files);
        let mut talk = DapTalk::launch(&world, &json!({}));
        talk.ok("configurationDone", &json!({}));
        let first = talk.stop();
        if form == StepForm::Inner {
            assert_eq!(first, "entry: before 'All'");
            assert_eq!(talk.go("stepIn"), "step: before 'Step 1'");
        } else {
            assert_eq!(first, "entry: before 'Step 1'");
        }
        Scenario { world, talk, form }
    }

    /// Runs a step, and stands before the next one.
    fn next(&mut self, before: usize) {
        let stop = self.talk.go("next");
        assert_eq!(
            stop,
            format!("step: before 'Step {before}'"),
            "{:?}",
            self.form
        );
    }

    /// A request that leads back. Returns the place where the job then stands.
    fn back(&mut self, command: &str) -> String {
        if self.form == StepForm::Killed {
            self.kill();
        }
        let stop = self.talk.go(command);
        let place = stop.rsplit_once("before ").expect("a place").1;
        place.trim_matches('\'').to_owned()
    }

    fn kill(&mut self) {
        self.talk.kill();
        self.talk = DapTalk::attach(&self.world);
        self.talk.stop();
    }

    fn log(&self) -> String {
        let file = newest(&self.world).join("files/work/work/work/log");
        std::fs::read_to_string(file).unwrap_or_default()
    }

    /// Values of the job: its variables, `PATH`, and the results of its steps.
    fn state(&mut self) -> Value {
        let all = ["env", "PATH", "steps", "job"].map(|name| {
            let scope = self.talk.scope(name);
            json!({name: self.talk.values(scope)})
        });
        json!(all)
    }

    fn end(mut self) {
        self.talk.leave(&json!({"terminateDebuggee": true}));
    }
}

/// After two steps, one step back lands before the second and forward runs it again (S1-078).
#[test]
fn s1_078_one_step_back() {
    for form in FORMS {
        let mut job = Scenario::begin(form);
        job.next(2);
        job.next(3);
        assert_eq!(job.log(), "1\n2\n", "{form:?}");
        assert_eq!(job.back("stepBack"), "Step 2", "{form:?}");
        assert_eq!(job.log(), "1\n", "{form:?}");
        job.next(3);
        assert_eq!(job.log(), "1\n2\n", "{form:?}");
        job.end();
    }
}

/// A variable set before step 1 is there again after going back to it (S1-079).
#[test]
fn s1_079_a_variable_of_before() {
    for form in FORMS {
        let mut job = Scenario::begin(form);
        assert_eq!(job.talk.console("!export X=early"), "Set: X.");
        job.next(2);
        job.talk.console("!export X=late; export Y=late");
        assert_eq!(job.talk.console("env.Y"), "late");
        assert_eq!(job.back("stepBack"), "Step 1", "{form:?}");
        assert_eq!(job.talk.console("env.X"), "early", "{form:?}");
        assert_eq!(job.talk.console("env.Y"), "null", "{form:?}");
        job.next(2);
        assert_eq!(job.log(), "1early\n", "{form:?}");
        job.end();
    }
}

/// Each further step back moves one step, down to checkpoint 0 (S1-080).
#[test]
fn s1_080_further_steps_back() {
    for form in FORMS {
        let mut job = Scenario::begin(form);
        for before in 2..=4 {
            job.next(before);
        }
        for (before, log) in [(3, "1\n2\n"), (2, "1\n"), (1, "")] {
            assert_eq!(job.back("stepBack"), format!("Step {before}"), "{form:?}");
            assert_eq!(job.log(), log, "{form:?}");
        }
        if form == StepForm::Inner {
            assert_eq!(job.back("stepBack"), "All");
        }
        let none = job.talk.refused("stepBack", &json!({"threadId": 1}));
        assert_eq!(none, "No checkpoints are available: no step has run.");
        job.end();
    }
}

/// reverseContinue before step 4 restores all of checkpoint 0 (S1-081).
#[test]
fn s1_081_back_to_the_beginning() {
    for form in FORMS {
        let mut job = Scenario::begin(form);
        let begin = job.state();
        for before in 2..=4 {
            job.next(before);
        }
        assert_ne!(job.state(), begin, "{form:?}");
        let first = job.back("reverseContinue");
        if form == StepForm::Inner {
            assert_eq!(first, "All");
            assert_eq!(job.talk.go("stepIn"), "step: before 'Step 1'");
        } else {
            assert_eq!(first, "Step 1", "{form:?}");
        }
        assert_eq!(job.state(), begin, "{form:?}");
        assert_eq!(job.log(), "", "{form:?}");
        job.end();
    }
}

/// Change, forward, back, change, forward: the second value counts (S1-082).
#[test]
fn s1_082_the_second_value_counts() {
    for form in FORMS {
        let mut job = Scenario::begin(form);
        job.talk.console("!export X=first");
        job.next(2);
        assert_eq!(job.log(), "1first\n", "{form:?}");
        assert_eq!(job.back("stepBack"), "Step 1", "{form:?}");
        job.talk.console("!export X=second");
        job.next(2);
        assert_eq!(job.log(), "1second\n", "{form:?}");
        // it is in the checkpoint, too
        assert_eq!(job.back("stepBack"), "Step 1", "{form:?}");
        assert_eq!(job.talk.console("env.X"), "second", "{form:?}");
        job.end();
    }
}
