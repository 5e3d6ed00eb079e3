//! The generated walks of `job debug` (`jobs/back/walk.rs`), over the protocol: the same jobs, commands, kills and judgements.

use serde_json::{Value, json};

use super::talk::DapTalk;
use crate::jobs::back::stepped::Debugger;
use crate::jobs::back::walk::walk;
use crate::support::World;
use crate::support::rng::{Rng, cases};

/// A client as a debugger that takes the words of `job debug`.
pub struct DapDebugger {
    talk: DapTalk,
    first: Value,
    /// A request that was sent, and whose answer is to come.
    sent: Option<i64>,
    is_at_end: bool,
}

impl DapDebugger {
    fn begin(mut talk: DapTalk) -> DapDebugger {
        talk.event("stopped");
        let mut debugger = DapDebugger {
            talk,
            first: Value::Null,
            sent: None,
            is_at_end: false,
        };
        debugger.first = debugger.place();
        debugger.first["said"] = debugger.talk.output().into();
        debugger
    }

    /// The place as `job debug` tells it.
    fn place(&mut self) -> Value {
        let stops = self.talk.events("stopped");
        let stop = stops.last().expect("a stop")["body"]["description"].clone();
        let text = stop.as_str().expect("a text");
        let text = text.strip_prefix("stepped back: ").unwrap_or(text);
        let (stop, step) = match text.split_once('\'') {
            Some(("before ", rest)) => ("before", rest.strip_suffix('\'')),
            Some(("", rest)) => ("failed", rest.strip_suffix("' failed")),
            _ => ("end", None),
        };
        self.is_at_end = stop == "end";
        let stack = self.talk.ok("stackTrace", &json!({"threadId": 1}));
        let frames = stack["stackFrames"].as_array().expect("frames");
        let ended = frames.iter().rev();
        // the job itself has no checkpoint
        let ended = ended
            .take_while(|frame| frame["canRestart"] == true)
            .count();
        // the job itself is a frame, too
        let depth = (frames.len() - ended - 1).max(1);
        json!({"stop": stop, "step": step, "checkpoints": ended, "path": vec![0; depth]})
    }

    /// The place after a request that moves the job.
    fn moved(&mut self, number: i64) -> Value {
        let answer = self.talk.answer_to(number);
        if answer["success"] == false {
            return json!({"error": answer["message"]});
        }
        self.talk.event("stopped");
        self.place()
    }

    fn evaluate(&mut self, line: &str) -> Value {
        let arguments = json!({"expression": line, "context": "repl"});
        let number = self.talk.send("evaluate", &arguments);
        let answer = self.talk.answer_to(number);
        if answer["success"] == false {
            return json!({"error": answer["message"]});
        }
        let said = answer["body"]["result"].clone();
        if !line.starts_with(':')
            || [":state", ":checkpoints", ":env"]
                .iter()
                .any(|word| line.starts_with(word))
        {
            return json!({"said": said});
        }
        self.talk.event("stopped");
        let mut place = self.place();
        place["said"] = said;
        place
    }

    fn request(line: &str) -> Option<&'static str> {
        match line {
            "n" => Some("next"),
            "s" => Some("stepIn"),
            "b 1" => Some("stepBack"),
            _ => None,
        }
    }
}

impl Debugger for DapDebugger {
    fn start(world: &World) -> DapDebugger {
        let mut talk = DapTalk::launch(world, &json!({}));
        talk.ok(
            "setExceptionBreakpoints",
            &json!({"filters": ["failed", "failed-but-continued"]}),
        );
        talk.ok("configurationDone", &json!({}));
        DapDebugger::begin(talk)
    }

    fn resume(world: &World) -> DapDebugger {
        DapDebugger::begin(DapTalk::attach_with(
            world,
            &["failed", "failed-but-continued"],
        ))
    }

    fn first(&self) -> &Value {
        &self.first
    }

    fn write(&mut self, line: &str) {
        let command = DapDebugger::request(line).expect("a request");
        // at its end a step forward ends the job
        let is_forward = command != "stepBack";
        if !(is_forward && self.is_at_end) {
            self.sent = Some(self.talk.send(command, &json!({"threadId": 1})));
        }
    }

    fn line(&mut self, line: &str) -> Option<Value> {
        if DapDebugger::request(line).is_some() {
            self.write(line);
            let at_end = json!({"error": "the job is at its end"});
            let number = self.sent.take();
            return Some(number.map_or(at_end, |number| self.moved(number)));
        }
        let line = match line.strip_prefix("b ") {
            Some(count) => format!(":back {count}"),
            None => line.to_owned(),
        };
        Some(self.evaluate(&line))
    }

    fn kill(mut self, machine: bool) {
        if machine {
            self.talk.kill_machine();
        } else {
            self.talk.kill();
        }
    }

    fn end(mut self) {
        self.talk.leave(&json!({"terminateDebuggee": true}));
    }
}

/// A walk over the protocol ends as a fresh run of what survived.
#[test]
fn walks_over_the_protocol() {
    let first = Rng::seed("BACKSTITCH_JOB_SEED", 1);
    for seed in first..first + cases("BACKSTITCH_DAP_WALKS", 20, 1_000) {
        eprintln!("BACKSTITCH_JOB_SEED={seed} BACKSTITCH_DAP_WALKS=1 repeats this walk");
        walk::<DapDebugger>(seed);
    }
}
