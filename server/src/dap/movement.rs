//! Requests that move a job, forward or back.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use backstitch_job::session::Forward;
use backstitch_job::step::stop::StopRequest;
use dapts::{GotoArguments, GotoTarget, GotoTargetsArguments, RestartFrameArguments};
use serde_json::json;

use super::machine::MachineCommand;
use super::paths::path_of;
use super::request::{DapBody, DapRequest, body};
use super::server::DapServer;
use super::shared::{JobPhase, QueuedKind};
use super::steps::steps_of;
use super::view::JobView;

/// Steps that begin at a line: those that have a checkpoint, and those that are ahead.
pub fn goto_targets(server: &mut DapServer, request: &DapRequest) -> DapBody {
    let wanted: GotoTargetsArguments = request.read()?;
    let file = path_of(&wanted.source)?;
    let line = server.line_of(wanted.line);
    let steps = steps_of(&file)?;
    let mut at_line = steps.iter();
    let step = at_line.find(|step| (step.first..=step.last).contains(&line));
    let view = server.shared.view();
    let place = step.map(|step| (file, step.first));
    let found = place.and_then(|place| Some((target_label(&view, &place)?, place)));
    let targets = found.map(|(label, place)| {
        let shown = server.client_line(place.1);
        GotoTarget {
            column: None,
            end_column: None,
            end_line: None,
            id: server.target_number(place),
            instruction_pointer_reference: None,
            label,
            line: shown,
        }
    });
    body(json!({"targets": targets.into_iter().collect::<Vec<_>>()}))
}

/// The way to a step in words. None: it has no checkpoint, and is not ahead beside the next step.
fn target_label(view: &JobView, (file, line): &(PathBuf, u32)) -> Option<String> {
    let mut ran = view.frames.iter();
    let ran = ran.find(|frame| frame.has_run && frame.file == *file && frame.line == *line);
    if let Some(frame) = ran {
        return Some(format!("back to before {}", frame.name));
    }
    let mut ahead = view.ahead.iter().enumerate();
    let (count, (.., name)) = ahead.find(|(_, (of, first, _))| of == file && first == line)?;
    Some(match count {
        0 => format!("ahead to '{name}'"),
        1 => format!("ahead to '{name}', leaving out 1 step"),
        count => format!("ahead to '{name}', leaving out {count} steps"),
    })
}

/// Freezes the step that runs. Between two steps the job stops before the next one.
pub fn pause(server: &DapServer, request: &DapRequest) -> DapBody {
    request.is_of_job()?;
    if server.shared.phase() != JobPhase::Running {
        return Err("No step runs, so none can be frozen.".to_owned());
    }
    let freezes = server.stop.as_ref().is_some_and(StopRequest::freeze);
    if !freezes {
        server.shared.pauses.store(true, Ordering::SeqCst);
    }
    Ok(None)
}

/// Moves a job that stands. The answer comes before the first event of that.
pub fn go(server: &DapServer, request: &DapRequest) {
    let name = request.command.as_str();
    let client = &server.client;
    let kind = match name {
        "stepBack" => QueuedKind::Back,
        _ => QueuedKind::Move,
    };
    let follows = kind == QueuedKind::Back && server.shared.further_steps_back().is_some();
    let taken = if server.shared.answers() || follows {
        let checked = request
            .is_of_job()
            .and_then(|()| command_of(server, request));
        checked.map(|command| server.shared.takes(kind).then_some(command))
    } else {
        Ok(None)
    };
    let reason = match taken {
        Ok(Some(command)) => {
            let body = (name == "continue").then(|| json!({"allThreadsContinued": true}));
            client.respond(request.number, name, body);
            server.send(command);
            return;
        }
        Ok(None) => match name {
            "stepBack" | "reverseContinue" => "Stop first (pause), then step back.",
            _ => "The job does not stand.",
        }
        .to_owned(),
        Err(reason) => reason,
    };
    client.refuse(request.number, name, &reason);
    server.shared.refused_step();
}

fn command_of(server: &DapServer, request: &DapRequest) -> Result<MachineCommand, String> {
    let view = server.shared.view();
    let available = server.shared.further_steps_back();
    let available = available.unwrap_or(view.available);
    let needs_point = || match available {
        0 => Err("No checkpoints are available: no step has run.".to_owned()),
        _ => Ok(()),
    };
    Ok(match request.command.as_str() {
        "continue" => MachineCommand::Go(Forward::On),
        "next" => MachineCommand::Go(Forward::Over),
        "stepIn" => MachineCommand::Go(Forward::Into),
        "stepOut" => MachineCommand::Go(Forward::Out),
        "stepBack" => {
            needs_point()?;
            MachineCommand::Back(1)
        }
        "reverseContinue" => {
            needs_point()?;
            MachineCommand::Reverse
        }
        "restart" => MachineCommand::Restart,
        "restartFrame" => {
            let wanted: RestartFrameArguments = request.read()?;
            let frame = view.frame(wanted.frame_id);
            let point = frame.and_then(|frame| frame.point);
            let point = point.ok_or("The frame has no checkpoint: its step has not run.")?;
            MachineCommand::Restore(point)
        }
        _ => {
            let wanted: GotoArguments = request.read()?;
            let target = server.target(wanted.target_id);
            let (file, line) = target.ok_or_else(|| {
                format!(
                    "{}: no such target; gotoTargets lists them.",
                    wanted.target_id
                )
            })?;
            MachineCommand::Goto(file, line)
        }
    })
}
