//! Generated dialogues, valid and not, one after the other and several at once, with kills of either side between. Each request has one
//! answer, no message is lost, the job stands where the model says, and the adapter ends with its client.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::STEPS;
use super::model::{JobModel, ModelCommand, ModelPlace, Outcome};
use super::talk::DapTalk;
use crate::jobs::{job, newest, workflow};
use crate::support::World;
use crate::support::rng::{Rng, cases};

/// Turns of a dialogue: a request, some at once, or a kill.
const LENGTH: usize = 24;

/// Requests that read, and that are answered at a stop.
const READS: [&str; 11] = [
    "breakpointLocations",
    "cancel",
    "completions",
    "configurationDone",
    "gotoTargets",
    "loadedSources",
    "scopes",
    "setBreakpoints",
    "setFunctionBreakpoints",
    "stackTrace",
    "threads",
];

/// Requests that are refused at a stop: those of no kind, and of another time.
const WRONG: [&str; 8] = [
    "attach",
    "initialize",
    "launch",
    "modules",
    "nothing",
    "pause",
    "readMemory",
    "terminateThreads",
];

/// A request, and its meaning for the model.
struct Request {
    name: &'static str,
    arguments: Value,
    command: ModelCommand,
}

fn request(name: &'static str, arguments: Value, command: ModelCommand) -> Request {
    Request {
        name,
        arguments,
        command,
    }
}

fn console(line: &str, command: ModelCommand) -> Request {
    let arguments = json!({"expression": line, "context": "repl"});
    request("evaluate", arguments, command)
}

/// Arguments that fit any request that reads.
fn reading(file: &Value, frame: u64) -> Value {
    json!({
        "source": {"path": file}, "line": 9, "threadId": 1, "frameId": frame, "text": ":c", "column": 3, "breakpoints": [],
    })
}

/// A dialogue under way.
struct Dialogue {
    world: World,
    talk: DapTalk,
    model: JobModel,
    asked: BTreeSet<i64>,
    turns: Vec<String>,
}

impl Dialogue {
    fn begin() -> Dialogue {
        let world = workflow(&job(STEPS));
        let mut talk = DapTalk::begin(&world, &json!({}));
        talk.may_send_wrong_requests();
        talk.frames();
        Dialogue {
            world,
            talk,
            model: JobModel::begin(),
            asked: BTreeSet::new(),
            turns: Vec::new(),
        }
    }

    fn hint(&self) -> String {
        format!("{}\n{:#?}", self.turns.join("\n"), self.model)
    }

    /// A request of any kind, as the job stands.
    fn request(&self, rng: &mut Rng) -> Request {
        let thread = json!({"threadId": 1});
        match rng.below(26) {
            0..=3 => request("next", thread, ModelCommand::Next),
            4 => request("stepIn", thread, ModelCommand::Next),
            5 => request("continue", thread, ModelCommand::Continue),
            6 => request("stepOut", thread, ModelCommand::StepOut),
            7..=9 => request("stepBack", thread, ModelCommand::StepBack),
            10 => request("reverseContinue", thread, ModelCommand::Reverse),
            11 => {
                // the frames of steps that have run follow those of the place and of the job
                let here = if self.model.at.place == ModelPlace::End {
                    1
                } else {
                    2
                };
                let number = rng.below(5);
                let ids = &self.talk.frame_ids;
                let frame = ids.get(here + number).copied().unwrap_or(0);
                let count = self.model.available().len();
                let command = match count.checked_sub(number + 1) {
                    Some(place) => ModelCommand::Restart(place),
                    None => ModelCommand::Wrong,
                };
                request("restartFrame", json!({"frameId": frame}), command)
            }
            12 => console("n", ModelCommand::WordNext),
            13 => console(":back", ModelCommand::WordBack),
            14 => console(":undo", ModelCommand::WordUndo),
            15 => console("!touch mended", ModelCommand::Mend),
            16 => {
                let value = format!("v{}", rng.below(9));
                let line = format!(":env A={value}");
                console(&line, ModelCommand::SetVariable(value))
            }
            17 => {
                let line = *rng.pick(&[
                    "env.A",
                    "!echo hi",
                    "!exit 3",
                    "${{ steps }}",
                    ":checkpoints",
                ]);
                console(line, ModelCommand::Reads)
            }
            18 => {
                let line = *rng.pick(&[
                    "}{",
                    ":nothing",
                    ":goto 77",
                    ":back x",
                    ":env",
                    "nothing(1)",
                ]);
                console(line, ModelCommand::Wrong)
            }
            19 => {
                let context = *rng.pick(&["watch", "hover", "clipboard", "variables"]);
                let line = *rng.pick(&["!touch bad", "n", ":back"]);
                let arguments = json!({"expression": line, "context": context});
                request("evaluate", arguments, ModelCommand::Wrong)
            }
            20 => {
                let foreign = rng
                    .pick(&[json!(0), json!(2), json!(-1), json!("1"), json!([])])
                    .clone();
                let name = *rng.pick(&[
                    "continue",
                    "next",
                    "stepBack",
                    "stepIn",
                    "stepOut",
                    "reverseContinue",
                ]);
                request(name, json!({"threadId": foreign}), ModelCommand::Wrong)
            }
            21 => {
                let names = [
                    "evaluate",
                    "goto",
                    "restartFrame",
                    "scopes",
                    "setBreakpoints",
                    "setVariable",
                    "variables",
                    "gotoTargets",
                ];
                let wrong = [
                    json!({}),
                    json!(null),
                    json!([]),
                    json!({"frameId": "x", "source": 3, "targetId": 99}),
                ];
                let wrong = rng.pick(&wrong);
                request(rng.pick::<&str>(&names), wrong.clone(), ModelCommand::Wrong)
            }
            22 => {
                let is_on = rng.once_in(2);
                let filters = if is_on { json!(["failed"]) } else { json!([]) };
                request(
                    "setExceptionBreakpoints",
                    json!({"filters": filters}),
                    ModelCommand::Filter(is_on),
                )
            }
            23 => request(rng.pick::<&str>(&WRONG), thread, ModelCommand::Wrong),
            _ => {
                let file = json!(self.world.root.join(".github/workflows/ci.yml"));
                request(
                    rng.pick::<&str>(&READS),
                    reading(&file, self.talk.frame_ids.first().copied().unwrap_or(0)),
                    ModelCommand::Reads,
                )
            }
        }
    }

    fn send(&mut self, request: &Request) -> i64 {
        self.turns
            .push(format!("{} {}", request.name, request.arguments));
        let number = self.talk.send(request.name, &request.arguments);
        self.asked.insert(number);
        number
    }

    /// One request, of which the model says the answer.
    fn one(&mut self, request: &Request) {
        let number = self.send(request);
        let answer = self.talk.answer_to(number);
        let expected = self.model.apply(&request.command);
        if expected == Outcome::Any {
            return;
        }
        let is_refused = expected == Outcome::Refused;
        assert_eq!(
            answer["success"],
            !is_refused,
            "{answer:#}\n{}",
            self.hint()
        );
        self.follows(&expected);
        self.is_at_its_place();
    }

    /// Some requests at once. Those that come while the job moves may be refused.
    fn some(&mut self, requests: &[Request]) {
        let numbers: Vec<i64> = requests.iter().map(|one| self.send(one)).collect();
        let mut may_run = false;
        for (request, number) in requests.iter().zip(numbers) {
            let answer = self.talk.answer_to(number);
            let before = self.model.clone();
            let expected = self.model.apply(&request.command);
            if expected == Outcome::Any {
                continue;
            }
            let might_run = may_run;
            may_run |= request.name == "evaluate"
                || !matches!(expected, Outcome::Stays | Outcome::Refused);
            if answer["success"] == false {
                let is_right = might_run || expected == Outcome::Refused;
                assert!(is_right, "{answer:#}\n{}", self.hint());
                self.model = before;
                continue;
            }
            // a request that reads is answered, also while the job moves
            let is_of_reader = request.command == ModelCommand::Reads;
            let is_right = expected != Outcome::Refused || might_run && is_of_reader;
            assert!(is_right, "{answer:#}\n{}", self.hint());
            self.follows(&expected);
        }
        self.is_at_its_place();
    }

    /// Waits for the stop or the end that follows.
    fn follows(&mut self, expected: &Outcome) {
        match expected {
            Outcome::Refused | Outcome::Any | Outcome::Stays => {}
            Outcome::Stops(stop) => {
                let stopped = self.talk.next_stop();
                assert_eq!(stopped, *stop, "{}", self.hint());
            }
            Outcome::Ends(code) => {
                let ended = self.talk.next_event("exited");
                assert_eq!(ended["exitCode"], *code, "{}", self.hint());
                self.talk.next_event("terminated");
            }
        }
    }

    /// The job stands where the model says, with its checkpoints, its variable and its files.
    fn is_at_its_place(&mut self) {
        if self.model.has_ended {
            return;
        }
        let frames: Vec<String> = self
            .talk
            .frames()
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        self.asked.insert(self.talk.last_number());
        let mut expected = Vec::new();
        match self.model.at.place {
            ModelPlace::Before(step) => expected.push(super::model::NAMES[step].to_owned()),
            ModelPlace::Failed(step) => {
                expected.push(format!("{} (failed)", super::model::NAMES[step]));
            }
            ModelPlace::End => {}
        }
        expected.push("build".to_owned());
        let plain = |name: &str| {
            name.split(", attempt")
                .next()
                .map(|one| one.trim_end_matches(')').to_owned())
        };
        let available = self.model.available();
        let ended = available.iter().enumerate().rev();
        expected
            .extend(ended.map(|(place, step)| {
                format!("{} (checkpoint {place}", super::model::NAMES[*step])
            }));
        let count = expected.len() - available.len();
        let shown: Vec<String> = frames
            .iter()
            .enumerate()
            .map(|(place, name)| {
                if place < count {
                    name.clone()
                } else {
                    plain(name).expect("a name")
                }
            })
            .collect();
        assert_eq!(shown, expected, "{}", self.hint());
        let log = newest(&self.world).join("files/work/work/work/log");
        let log = fs::read_to_string(log).unwrap_or_default();
        assert_eq!(log, self.model.at.log, "{}", self.hint());
        let variable = self.talk.ok(
            "evaluate",
            &json!({"expression": "env.A", "context": "hover"}),
        );
        self.asked.insert(self.talk.last_number());
        let expected = self.model.at.variable.as_deref().unwrap_or("null");
        assert_eq!(variable["result"], expected, "{}", self.hint());
    }

    /// Either side is killed, while the job stands or moves. Another client continues the run.
    fn kill(&mut self, rng: &mut Rng) {
        let mut moving = None;
        if rng.once_in(2) {
            let request = self.request(rng);
            let is_move = !matches!(
                request.command,
                ModelCommand::Reads | ModelCommand::Wrong | ModelCommand::Filter(_)
            );
            let mut after = self.model.clone();
            // a run that has ended does not continue
            if is_move
                && !matches!(after.apply(&request.command), Outcome::Ends(_))
                && !self.may_end()
            {
                self.send(&request);
                moving = Some(after);
            }
        }
        self.turns.push("kill".to_owned());
        match rng.below(3) {
            0 => self.talk.kill_machine(),
            1 => self.talk.kill(),
            _ => self.talk.close(),
        }
        let world = &self.world;
        self.talk = DapTalk::attach(world);
        self.talk.may_send_wrong_requests();
        self.asked.clear();
        let stop = self.talk.stop();
        let stop = stop.strip_prefix("entry: ").unwrap_or(&stop).to_owned();
        if let Some(after) = moving
            && self.has_moved(&stop, &after)
        {
            self.model = after;
        }
        self.model.stops_at_failures = true;
        assert_eq!(stop, self.model.words(), "{}", self.hint());
        self.is_at_its_place();
    }

    /// True where a command may lead to the end of the job.
    fn may_end(&self) -> bool {
        self.model.at.place == ModelPlace::End
    }

    /// True if the command that was cut off by a kill had its effect: the place, the files and the checkpoints tell.
    fn has_moved(&mut self, stop: &str, after: &JobModel) -> bool {
        let frames = self.talk.frames();
        self.asked.insert(self.talk.last_number());
        let ended = |model: &JobModel| {
            let here = if model.at.place == ModelPlace::End {
                1
            } else {
                2
            };
            here + model.available().len()
        };
        let variable = self.talk.ok(
            "evaluate",
            &json!({"expression": "env.A", "context": "hover"}),
        );
        self.asked.insert(self.talk.last_number());
        let file = newest(&self.world).join("files/work/work/work/mended");
        let seen = (
            stop.to_owned(),
            frames.len(),
            variable["result"].as_str().map(str::to_owned),
            file.exists(),
        );
        let of = |model: &JobModel| {
            let variable = model
                .at
                .variable
                .clone()
                .unwrap_or_else(|| "null".to_owned());
            (
                model.words(),
                ended(model),
                Some(variable),
                model.is_mended(),
            )
        };
        let (before, after) = (of(&self.model), of(after));
        assert!(
            seen == before || seen == after,
            "{seen:?}: {before:?} or {after:?}\n{}",
            self.hint()
        );
        seen == after
    }

    /// Ends the dialogue: each request has one answer, and the messages are numbered without a gap.
    fn end(mut self) {
        self.talk.leave(&json!({"terminateDebuggee": true}));
        let numbers = self.talk.all.iter();
        let numbers = numbers.map(|message| message["seq"].as_u64().expect("a number"));
        assert!(
            numbers.eq(1..=self.talk.all.len() as u64),
            "{:#?}",
            self.talk.all
        );
        for number in &self.asked {
            let answers = self.talk.all.iter();
            let answers = answers.filter(|message| message["request_seq"] == *number);
            assert_eq!(answers.count(), 1, "{number}: {:#?}", self.talk.all);
        }
    }
}

fn dialogue(rng: &mut Rng) {
    let mut dialogue = Dialogue::begin();
    for _ in 0..LENGTH {
        match rng.below(12) {
            0..=1 => {
                let count = 2 + rng.below(3);
                let requests = (0..count).map(|_| dialogue.request(rng));
                // a filter or a pause would act at some moment of a move
                let requests = requests.filter(|request| {
                    !matches!(request.command, ModelCommand::Filter(_)) && request.name != "pause"
                });
                let requests: Vec<Request> = requests.collect();
                dialogue.some(&requests);
            }
            2 if rng.once_in(2) && !dialogue.model.has_ended => dialogue.kill(rng),
            _ => {
                let request = dialogue.request(rng);
                dialogue.one(&request);
            }
        }
    }
    dialogue.end();
}

/// Dialogues of each of some tests that run side by side. A failure names its seed: `BACKSTITCH_DAP_SEED` repeats it.
fn dialogues(part: u64) {
    const PARTS: u64 = 4;
    let first = Rng::seed("BACKSTITCH_DAP_SEED", 1);
    let all = cases("BACKSTITCH_DAP_DIALOGUES", 80, 10_000);
    for seed in first + all * part / PARTS..first + all * (part + 1) / PARTS {
        eprintln!("BACKSTITCH_DAP_SEED={seed} BACKSTITCH_DAP_DIALOGUES=1 repeats this dialogue");
        dialogue(&mut Rng::new(seed));
    }
}

#[test]
fn dialogues_0() {
    dialogues(0);
}

#[test]
fn dialogues_1() {
    dialogues(1);
}

#[test]
fn dialogues_2() {
    dialogues(2);
}

#[test]
fn dialogues_3() {
    dialogues(3);
}
