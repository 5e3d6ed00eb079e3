//! Sessions and transcripts: ids, order, search, pages.

use backstitch_control::{
    Ability, CallMoment, Control, EvalAnswer, HeldCall, Hold, HoldOutcome, ObjectValue,
    PauseDecision, PauseId, ProgramHello, ProgramPause, ReplFilter,
};
use backstitch_core::{Error, Workspace, WorkspaceKind};
use std::time::Duration;

use crate::support::World;

const TIME: Duration = Duration::from_secs(30);

/// A held call in its own database. The hold is kept: a pause whose holder is gone is over.
fn held(world: &World, name: &str) -> (Control, Hold) {
    let control = open(world);
    let call = a_call(world, name);
    match control.pauses().hold(&call, None, false) {
        Ok(Some(HoldOutcome::Held(hold))) => (control, hold),
        other => panic!("not held: {other:?}"),
    }
}

fn a_call(world: &World, name: &str) -> HeldCall {
    HeldCall {
        why: "a test".into(),
        root: world.root.clone(),
        agent: "claude-code".into(),
        session: "s1".into(),
        tool: name.into(),
        call: name.into(),
        moment: CallMoment::Before,
        input: "{}".into(),
        can: vec![Ability::Continue],
        ..HeldCall::default()
    }
}

fn open(world: &World) -> Control {
    world.ok(["checkpoint"]);
    let workspace = Workspace {
        root: world.root.clone(),
        store_dir: world.store(),
        shared: false,
        kind: WorkspaceKind::Project,
    };
    Control::open(&workspace).expect("a database")
}

fn answer(result: &str) -> EvalAnswer {
    EvalAnswer {
        result: result.to_owned(),
        ..EvalAnswer::default()
    }
}

/// Asks and answers, as a person and a program do.
fn exchange(control: &Control, session: &str, pause: PauseId, input: &str, result: &str) {
    let id = control.repls().ask(session, input, TIME).expect("asked");
    let taken = control
        .repls()
        .take_eval(pause)
        .expect("taken")
        .expect("a request");
    assert_eq!(taken.expression, input);
    control
        .repls()
        .answer_eval(taken.id, &answer(result))
        .expect("answered");
    let entry = control.repls().answer_to(id, &|| false).expect("an entry");
    assert_eq!(entry.output, result);
}

/// S5-003…006, S5-015…019, S5-021…023, S5-025…031, S5-033: a session's fields and its end.
#[test]
fn a_session_and_its_end() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let first = control.repls().start(hold.id, "cli").expect("started");
    let second = control.repls().start(hold.id, "cli").expect("started");
    assert_ne!(first.id, second.id);
    let (pid, time) = first.id.split_once('-').expect("two parts");
    assert_eq!(pid.parse(), Ok(first.pid));
    let (seconds, micros) = time.split_once('.').expect("a time");
    assert_eq!(micros.len(), 6);
    assert_eq!(format!("{seconds}{micros}").parse(), Ok(first.started));
    assert_eq!(
        control.repls().get(&first.id).expect("asked"),
        Some(first.clone())
    );
    assert_eq!((first.function.as_str(), first.closed), ("Edit", None));
    exchange(&control, &first.id, hold.id, "1", "one");
    exchange(&control, &first.id, hold.id, "2", "two");
    exchange(&control, &second.id, hold.id, "3", "three");
    let transcript = control
        .repls()
        .transcript(&first.id, 0, 10)
        .expect("entries");
    let shown: Vec<_> = transcript
        .iter()
        .map(|entry| (entry.number, entry.input.as_str(), entry.output.as_str()))
        .collect();
    assert_eq!(shown, [(1, "1", "one"), (2, "2", "two")]);
    let by_pause = ReplFilter {
        pause: Some(hold.id),
        ..ReplFilter::default()
    };
    assert_eq!(
        control.repls().list(&by_pause).expect("sessions").0.len(),
        2
    );
    let by_another = ReplFilter {
        pause: Some(PauseId(99)),
        ..ReplFilter::default()
    };
    assert_eq!(control.repls().list(&by_another).expect("sessions").0, []);
    assert_eq!(control.repls().get("7-7.000007").expect("asked"), None);
    assert!(matches!(
        control.repls().ask("7-7.000007", "1", TIME),
        Err(Error::UnknownSession(_))
    ));
    assert!(matches!(
        control.repls().close("7-7.000007", "x", "cli"),
        Err(Error::UnknownSession(_))
    ));
    assert!(matches!(
        control.repls().start(PauseId(99), "cli"),
        Err(Error::UnknownPause(_))
    ));
    let closed = control
        .repls()
        .close(&first.id, "it was closed", "cli")
        .expect("closed");
    let again = control
        .repls()
        .close(&first.id, "again", "cli")
        .expect("closed");
    assert!(closed.closed.is_some());
    assert_eq!(closed, again);
    assert!(matches!(
        control.repls().ask(&first.id, "1", TIME),
        Err(Error::SessionClosed { .. })
    ));
    // the other one continues, until the pause is over
    exchange(&control, &second.id, hold.id, "4", "four");
    control
        .pauses()
        .decide_alone(hold.id, &PauseDecision::Continue, "cli")
        .expect("decided");
    let second = control
        .repls()
        .get(&second.id)
        .expect("asked")
        .expect("a session");
    assert!(second.closed.is_some());
    assert_eq!(
        control
            .repls()
            .transcript(&second.id, 0, 10)
            .expect("entries")
            .len(),
        2
    );
    assert!(matches!(
        control.repls().start(hold.id, "cli"),
        Err(Error::Resumed { .. })
    ));
}

/// S5-007…009, S5-116, S5-117: one evaluation at a time for each pause, in the order of their submission, whatever the session.
#[test]
fn evaluations_queue() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let sessions: Vec<_> = (0..4)
        .map(|_| control.repls().start(hold.id, "cli").expect("started").id)
        .collect();
    let asked: Vec<_> = (0..100)
        .map(|n| {
            control
                .repls()
                .ask(&sessions[n % 4], &format!("{n}"), TIME)
                .expect("asked")
        })
        .collect();
    for (n, &request) in asked.iter().enumerate() {
        let taken = control
            .repls()
            .take_eval(hold.id)
            .expect("taken")
            .expect("a request");
        assert_eq!(
            (taken.id, taken.expression.clone()),
            (request, n.to_string())
        );
        assert_eq!(control.repls().take_eval(hold.id).expect("asked"), None);
        control
            .repls()
            .answer_eval(taken.id, &answer(&taken.expression))
            .expect("answered");
    }
    for (at, session) in sessions.iter().enumerate() {
        let entries = control
            .repls()
            .transcript(session, 0, 1000)
            .expect("entries");
        let own: Vec<String> = (0..100)
            .filter(|n| n % 4 == at)
            .map(|n| n.to_string())
            .collect();
        assert_eq!(
            entries
                .iter()
                .map(|entry| entry.output.clone())
                .collect::<Vec<_>>(),
            own
        );
    }
}

/// S5-065, S5-115, S5-121…123: what comes after the end is dropped, and whoever waits is informed at once.
#[test]
fn late_results_are_dropped() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let session = control.repls().start(hold.id, "cli").expect("started").id;
    let id = control.repls().ask(&session, "slow", TIME).expect("asked");
    let taken = control
        .repls()
        .take_eval(hold.id)
        .expect("taken")
        .expect("a request");
    control
        .repls()
        .close(&session, "it was closed", "cli")
        .expect("closed");
    assert!(matches!(
        control.repls().answer_to(id, &|| false),
        Err(Error::SessionClosed { .. })
    ));
    assert!(matches!(
        control.repls().answer_eval(taken.id, &answer("late")),
        Err(Error::SessionClosed { .. })
    ));
    assert_eq!(
        control
            .repls()
            .transcript(&session, 0, 10)
            .expect("entries")
            .len(),
        0
    );
    // an answer that comes twice
    let session = control.repls().start(hold.id, "cli").expect("started").id;
    let id = control.repls().ask(&session, "1", TIME).expect("asked");
    control.repls().take_eval(hold.id).expect("taken");
    assert!(
        control
            .repls()
            .answer_eval(id, &answer("first"))
            .expect("answered")
            .is_some()
    );
    assert!(
        control
            .repls()
            .answer_eval(id, &answer("second"))
            .expect("dropped")
            .is_none()
    );
    assert_eq!(
        control
            .repls()
            .transcript(&session, 0, 10)
            .expect("entries")
            .len(),
        1
    );
}

/// S5-057, S5-D1, U-29: an evaluating side that does not answer: the waiting one says so, in the transcript, too.
#[test]
fn nobody_answers() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let session = control.repls().start(hold.id, "cli").expect("started").id;
    let id = control
        .repls()
        .ask(&session, "1", Duration::from_millis(1))
        .expect("asked");
    assert!(matches!(
        control.repls().answer_to(id, &|| false),
        Err(Error::EvalTimeout { ms: 1 })
    ));
    let entries = control
        .repls()
        .transcript(&session, 0, 10)
        .expect("entries");
    assert!(
        entries[0].is_error && entries[0].output.contains("no answer within"),
        "{entries:?}"
    );
    // the session can be used on
    exchange(&control, &session, hold.id, "2", "two");
}

/// S5-034: sessions that start at once, and transcripts that several write, are whole.
#[test]
fn sessions_start_at_once() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let starts = |_| {
        let own = open(&world);
        let ids: Vec<String> = (0..10)
            .map(|_| own.repls().start(hold.id, "cli").expect("started").id)
            .collect();
        for id in &ids {
            own.repls().ask(id, id, TIME).expect("asked");
        }
        ids
    };
    let ids: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|n| scope.spawn(move || starts(n))).collect();
        // answered while they still come
        let mut answered = 0;
        while answered < 60 {
            if let Some(taken) = control.repls().take_eval(hold.id).expect("taken") {
                assert_eq!(taken.session, taken.expression);
                control
                    .repls()
                    .answer_eval(taken.id, &answer(&taken.expression))
                    .expect("answered");
                answered += 1;
            }
        }
        all.into_iter()
            .flat_map(|one| one.join().expect("ended"))
            .collect()
    });
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), 60);
    for id in &ids {
        let entries = control.repls().transcript(id, 0, 10).expect("entries");
        let shown: Vec<_> = entries
            .iter()
            .map(|entry| (entry.number, &entry.input, &entry.output))
            .collect();
        assert_eq!(shown, [(1, id, id)]);
    }
}

/// S5-035: a program with the process number of an earlier one is another program; one that connects again is the same.
#[test]
fn programs_by_number_and_start() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let control = open(&world);
    let hello = |started| ProgramHello {
        pid: 4711,
        started,
        argv: vec!["a".to_owned()],
        language: "python".to_owned(),
        cwd: "/".to_owned(),
    };
    let first = control.programs().connect(&hello(1)).expect("connected");
    let again = control.programs().connect(&hello(1)).expect("connected");
    let other = control.programs().connect(&hello(2)).expect("connected");
    assert_eq!(first, again);
    assert_ne!(first, other);
    assert_eq!(control.programs().all().expect("programs").len(), 2);
}

/// S5-037…039, S5-041…046: lists by search, status, dates, pages; S5-045: an empty one.
#[test]
fn lists() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let control = open(&world);
    assert_eq!(
        control
            .repls()
            .list(&ReplFilter::default())
            .expect("a list"),
        (Vec::new(), false)
    );
    drop(control);
    let (control, hold) = held(&world, "plan_route");
    let mut ids = Vec::new();
    for n in 0..120 {
        let session = control.repls().start(hold.id, "cli").expect("started");
        exchange(
            &control,
            &session.id,
            hold.id,
            &format!("x{n} = 'äpfel {n}'"),
            &format!("value {n}"),
        );
        if n % 2 == 0 {
            control
                .repls()
                .close(&session.id, "done", "cli")
                .expect("closed");
        }
        ids.push(session.id);
    }
    ids.reverse();
    let list = |filter: ReplFilter| {
        let (sessions, more) = control.repls().list(&filter).expect("a list");
        (
            sessions
                .into_iter()
                .map(|session| session.id)
                .collect::<Vec<_>>(),
            more,
        )
    };
    let (page, more) = list(ReplFilter::default());
    assert_eq!((page.as_slice(), more), (&ids[..50], true));
    let next = ReplFilter {
        before: page.last().cloned(),
        ..ReplFilter::default()
    };
    assert_eq!(list(next).0, ids[50..100]);
    let search = |text: &str| ReplFilter {
        search: Some(text.to_owned()),
        limit: 1000,
        ..ReplFilter::default()
    };
    assert_eq!(list(search("äpfel 77")).0.len(), 1);
    assert_eq!(list(search("value 7")).0.len(), 11);
    assert_eq!(list(search("x5")).0.len(), 11);
    assert_eq!(list(search("plan_rou")).0.len(), 120);
    assert_eq!(list(search("100% \"quoted\" OR")).0.len(), 0);
    let both = ReplFilter {
        active: Some(true),
        ..search("value 7")
    };
    assert_eq!(list(both).0.len(), 6);
    for is_active in [true, false] {
        let by_state = ReplFilter {
            active: Some(is_active),
            limit: 1000,
            ..ReplFilter::default()
        };
        assert_eq!(list(by_state).0.len(), 60);
    }
    let started = |id: &str| {
        control
            .repls()
            .get(id)
            .expect("asked")
            .expect("a session")
            .started
    };
    let between = ReplFilter {
        from: Some(started(&ids[20])),
        to: Some(started(&ids[10])),
        limit: 1000,
        ..ReplFilter::default()
    };
    assert_eq!(list(between).0, ids[10..=20]);
}

/// S5-124…129: a value is stored under the hash of its bytes, which is checked. An error has none.
#[test]
fn values_by_their_hash() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let session = control.repls().start(hold.id, "cli").expect("started").id;
    let value = ObjectValue {
        cid: "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        bytes: b"abc".to_vec(),
        view: "{\"type\":\"str\"}".to_owned(),
    };
    let id = control.repls().ask(&session, "'abc'", TIME).expect("asked");
    let with = |value: ObjectValue, error: Option<&str>| EvalAnswer {
        value: Some(value),
        error: error.map(str::to_owned),
        ..answer("'abc'")
    };
    let forged = ObjectValue {
        bytes: b"abd".to_vec(),
        ..value.clone()
    };
    assert!(
        control
            .repls()
            .answer_eval(id, &with(forged, None))
            .is_err()
    );
    let entry = control
        .repls()
        .answer_eval(id, &with(value.clone(), None))
        .expect("answered")
        .expect("an entry");
    assert_eq!(entry.cid.as_ref(), Some(&value.cid));
    let stored = control
        .repls()
        .object(&value.cid)
        .expect("asked")
        .expect("a value");
    assert_eq!((stored.bytes, stored.size), (b"abc".to_vec(), 3));
    let id = control.repls().ask(&session, "fails", TIME).expect("asked");
    let entry = control
        .repls()
        .answer_eval(id, &with(value, Some("no")))
        .expect("answered")
        .expect("an entry");
    assert_eq!((entry.cid, entry.output.as_str()), (None, "no"));
}

/// S5-017, S5-018: an id that another session has taken in the same microsecond is made again a millisecond later, as often as
/// it needs; the largest process number fits.
#[test]
fn an_id_that_is_taken() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let control = open(&world);
    let hello = ProgramHello {
        pid: u32::MAX,
        started: 1,
        argv: Vec::new(),
        language: "python".to_owned(),
        cwd: "/".to_owned(),
    };
    let process = control.programs().connect(&hello).expect("connected");
    let at = ProgramPause {
        process,
        call: None,
        stack: &[],
    };
    let call = a_call(&world, "plan");
    let hold = control.programs().hold(&call, &at, None, false);
    let hold = hold.expect("stored").expect("held");
    // another process starts one in the same microsecond, twice
    let rows = rusqlite::Connection::open(world.store().join(Control::DATABASE)).expect("open");
    rows.execute_batch(
        "CREATE TRIGGER other BEFORE INSERT ON repl_session WHEN (SELECT COUNT(*) FROM repl_session) < 2 BEGIN
           INSERT INTO repl_session (id, pause, pid, function, language, started)
             VALUES (NEW.id, NEW.pause, NEW.pid, 'of another', NEW.language, NEW.started);
         END",
    )
    .expect("a trigger");
    let own = control.repls().start(hold.id, "cli").expect("started");
    let (all, _) = control
        .repls()
        .list(&ReplFilter::default())
        .expect("sessions");
    let started: Vec<_> = all
        .iter()
        .map(|session| (session.function.as_str(), own.started - session.started))
        .collect();
    assert_eq!(
        started,
        [("plan", 0), ("of another", 1000), ("of another", 2000)]
    );
    let (seconds, micros) = (own.started / 1_000_000, own.started % 1_000_000);
    assert_eq!(own.id, format!("4294967295-{seconds}.{micros:06}"));
}

/// S5-006, S5-046: a transcript of hundreds of entries is complete and in order, also in a terminal.
#[test]
fn a_long_transcript() {
    let world = World::committed(&[("a.txt", "a\n")]);
    let (control, hold) = held(&world, "Edit");
    let session = control.repls().start(hold.id, "cli").expect("started").id;
    let line = |n: usize| (format!("input {n}"), format!("output {n}"));
    for n in 0..600 {
        let (input, output) = line(n);
        exchange(&control, &session, hold.id, &input, &output);
    }
    let shown = world.ok(["repl", "show", &session]).stdout;
    let expected: Vec<String> = (0..600)
        .flat_map(|n| [format!("> input {n}"), format!("output {n}")])
        .collect();
    assert_eq!(shown.lines().skip(1).collect::<Vec<_>>(), expected);
    let entries = control
        .repls()
        .transcript(&session, 590, 1000)
        .expect("entries");
    let numbers: Vec<_> = entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, (591..=600).collect::<Vec<_>>());
}
