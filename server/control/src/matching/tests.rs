use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::*;
use crate::breakpoint::KindName;
use crate::{
    AnyKind, BreakpointScope, BreakpointSpec, BudgetKind, BudgetOf, CallMoment, ChangedLines,
    CommandKind, ContentKind, FailedCallKind, HitCondition, IterationKind, LineKind, LineRange,
    PathKind, PatternKind, RegionState, StepKind, StepUntil, ToolKind, TurnFacts, TurnKind, follow,
};
use commands::named_paths;

mod commands;
mod naive;

/// Answers of a database and of files, as values. Notes what was asked.
#[derive(Clone, Debug, Default)]
struct Answers {
    iteration: u32,
    turn: TurnFacts,
    tokens: Option<u64>,
    changed: Vec<ChangedLines>,
    predicted: Vec<ChangedLines>,
    region: Option<LineRange>,
    before: BTreeSet<BreakpointId>,
    let_go: bool,
    passed_by: Vec<BreakpointId>,
    conditions: BTreeMap<String, Result<bool, String>>,
    counts: BTreeMap<BreakpointId, i64>,
    problems: Vec<(BreakpointId, String)>,
    asked: BTreeSet<&'static str>,
}

impl CallLookup for Answers {
    fn iteration(&mut self) -> Result<u32> {
        self.asked.insert("iteration");
        Ok(self.iteration)
    }

    fn turn(&mut self) -> Result<TurnFacts> {
        self.asked.insert("turn");
        Ok(self.turn)
    }

    fn tokens(&mut self) -> Result<Option<u64>> {
        self.asked.insert("tokens");
        Ok(self.tokens)
    }

    fn changed(&mut self) -> Result<Vec<ChangedLines>> {
        self.asked.insert("changed");
        Ok(self.changed.clone())
    }

    fn predicted(&mut self) -> Result<Vec<ChangedLines>> {
        self.asked.insert("predicted");
        Ok(self.predicted.clone())
    }

    fn region(&mut self, _: BreakpointId) -> Result<Option<LineRange>> {
        self.asked.insert("region");
        Ok(self.region)
    }

    fn triggered_before(&mut self, breakpoint: BreakpointId) -> Result<bool> {
        self.asked.insert("triggered_before");
        Ok(self.before.contains(&breakpoint))
    }

    fn has_below(&mut self, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }

    fn was_let_go(&mut self) -> Result<bool> {
        Ok(self.let_go)
    }

    fn condition(&mut self, jq: &str) -> Result<bool, String> {
        self.asked.insert("condition");
        self.conditions.get(jq).cloned().unwrap_or(Ok(true))
    }

    fn count(&mut self, breakpoint: BreakpointId) -> Result<Option<i64>> {
        let count = self.counts.entry(breakpoint).or_default();
        *count += 1;
        Ok(Some(*count))
    }

    fn passed_by(&mut self, trigger: &Trigger) {
        self.passed_by.push(trigger.breakpoint);
    }

    fn problem(&mut self, breakpoint: BreakpointId, what: &str) {
        self.problems.push((breakpoint, what.to_owned()));
    }
}

/// A breakpoint as it is when it is made (S2-007, S2-008).
fn breakpoint(id: i64, spec: BreakpointSpec) -> Breakpoint {
    Breakpoint {
        id: BreakpointId(id),
        name: format!("bp_17000000000{id}_abcd"),
        moment: spec.usual_moment(),
        spec,
        scope: BreakpointScope::default(),
        condition: None,
        hits_when: None,
        action: BreakpointAction::Pause,
        message: None,
        once: false,
        enabled: true,
        hits: 0,
        unattended: None,
        made_by: "cli".to_owned(),
        created: 0,
        problem: None,
    }
}

fn tool(name: &str, condition: Option<&str>) -> BreakpointSpec {
    BreakpointSpec::Tool(ToolKind {
        name: name.to_owned(),
        condition: condition.map(str::to_owned),
    })
}

fn path(glob: &str) -> BreakpointSpec {
    BreakpointSpec::Path(PathKind {
        glob: glob.to_owned(),
        edits: false,
    })
}

fn pattern(regex: &str) -> BreakpointSpec {
    BreakpointSpec::Pattern(PatternKind {
        regex: regex.to_owned(),
    })
}

fn line(path: &str, start: u32, count: u32) -> BreakpointSpec {
    BreakpointSpec::Line(LineKind {
        path: path.to_owned(),
        start,
        count,
    })
}

/// A call with its facts as values of its own.
#[derive(Clone, Debug)]
struct Call {
    moment: CallMoment,
    subagent: Option<String>,
    tool: String,
    input: Value,
    command: Option<String>,
    paths: Vec<String>,
    mentioned: Vec<String>,
    failed: bool,
}

impl Call {
    fn new(tool: &str, input: Value) -> Self {
        let text = |name: &str| input.get(name).and_then(Value::as_str);
        let is_shell = tool == "Bash";
        let path = text("file_path").map(|path| {
            path.strip_prefix("/home/dev/project/")
                .unwrap_or(path)
                .to_owned()
        });
        Self {
            moment: CallMoment::Before,
            subagent: None,
            tool: tool.to_owned(),
            command: text("command").filter(|_| is_shell).map(str::to_owned),
            mentioned: text("command")
                .map(|command| named_paths(command, "/home/dev/project", "/home/dev/project"))
                .unwrap_or_default(),
            paths: path.into_iter().collect(),
            input,
            failed: false,
        }
    }

    fn after(mut self) -> Self {
        self.moment = CallMoment::After;
        self
    }

    fn facts(&self) -> CallFacts<'_> {
        CallFacts {
            moment: self.moment,
            agent: "claude-code",
            session: "0123-4567",
            subagent: self.subagent.as_deref(),
            tool: &self.tool,
            input: &self.input,
            unreadable: None,
            command: self.command.as_deref(),
            paths: &self.paths,
            mentioned: &self.mentioned,
            only_read: &[],
            searched: &[],
            reads: false,
            cwd: "/home/dev/project",
            failed: self.failed,
            writes_named: false,
        }
    }
}

fn edit(path: &str) -> Call {
    let path = format!("/home/dev/project/{path}");
    Call::new(
        "Edit",
        json!({"file_path": path, "old_string": "a", "new_string": "say \"hello\""}),
    )
}

fn bash(command: &str) -> Call {
    Call::new("Bash", json!({ "command": command }))
}

/// Returns the reason for which a breakpoint stops a call.
fn stopped(spec: BreakpointSpec, call: &Call, answers: &mut Answers) -> Option<String> {
    stopped_by(&breakpoint(1, spec), call, answers)
}

fn stopped_by(breakpoint: &Breakpoint, call: &Call, answers: &mut Answers) -> Option<String> {
    let breakpoints = std::slice::from_ref(breakpoint);
    let checked = check(breakpoints, &call.facts(), answers).expect("checked");
    let stop = checked.stop.map(|stop| stop.why);
    if stop.is_some() {
        assert!(may_match(breakpoints, &call.facts()), "{breakpoint:?}");
    }
    stop
}

fn stops(spec: BreakpointSpec, call: &Call) -> bool {
    stopped(spec, call, &mut Answers::default()).is_some()
}

/// S2-001: the exact name. A pattern of names is possible, too.
#[test]
fn a_tool_by_its_name() {
    let call = bash("ls");
    assert!(stops(tool("Bash", None), &call));
    assert!(!stops(tool("bash", None), &call));
    assert!(!stops(tool("BashOutput", None), &call));
    assert!(!stops(tool("Bas", None), &call));
    assert!(stops(
        tool("mcp__*", None),
        &Call::new("mcp__db__query", json!({}))
    ));
    assert!(stops(tool("{Edit,Write}", None), &edit("a")));
    let why = stopped(tool("Bash", None), &call, &mut Answers::default());
    assert_eq!(why.as_deref(), Some("calls Bash"));
}

/// S2-002: a tool breakpoint with a condition on the serialized input. S2-D4 decided: a tool breakpoint has a name and a condition.
#[test]
fn a_tool_with_a_condition_on_its_input() {
    let with = |condition| tool("Bash", Some(condition));
    assert!(stops(with("rm -rf"), &bash("rm -rf build")));
    assert!(!stops(with("rm -rf"), &bash("ls")));
    assert!(!stops(
        with("rm -rf"),
        &Call::new("Other", json!({"command": "rm -rf build"}))
    ));
    assert!(stops(with("\"command\":\"ls\""), &bash("ls")));
}

/// S2-004, S2-005: a pattern on the input as JSON and on each of its strings, whatever the case.
#[test]
fn a_pattern_in_the_input() {
    let call = edit("src/Main.rs");
    assert!(stops(pattern("main\\.RS"), &call));
    assert!(stops(pattern("\"old_string\":\"a\",\"new_string\""), &call));
    // without the escapes of JSON
    assert!(stops(pattern("say \"hello\""), &call));
    assert!(stops(pattern("^a$"), &call));
    assert!(!stops(pattern("^b$"), &call));
    let nested = Call::new("X", json!({"edits": [{"text": ["one\ntwo"]}], "n": 42}));
    assert!(stops(pattern("ONE\\ntwo"), &nested));
    assert!(stops(pattern(":42"), &nested));
    assert!(stops(pattern("^edits$"), &nested));
}

#[test]
fn a_path_that_a_call_names() {
    assert!(stops(path("src/**"), &edit("src/deep/a.rs")));
    assert!(!stops(path("src/*"), &edit("src/deep/a.rs")));
    assert!(stops(path("**/*.rs"), &edit("a.rs")));
    assert!(stops(path("**/a.rs"), &edit("a.rs")));
    assert!(stops(path("src/[ab].rs"), &edit("src/a.rs")));
    assert!(!stops(path("src/a.rs"), &edit("src/b.rs")));
    assert!(stops(
        path("/etc/**"),
        &Call::new("Read", json!({"file_path": "/etc/hosts"}))
    ));
    // words of a shell command
    assert!(stops(path("src/*.rs"), &bash("sed -i s/a/b/ ./src/a.rs")));
    assert!(stops(
        path("src/a.rs"),
        &bash("cat </home/dev/project/src/a.rs")
    ));
    assert!(!stops(path("src/a.rs"), &bash("cat xsrc/a.rs")));
    let why = stopped(path("**/*.rs"), &bash("cat b.rs"), &mut Answers::default());
    assert_eq!(why.as_deref(), Some("names b.rs"));
}

fn changes(path: &str, old: &str, new: &str) -> ChangedLines {
    ChangedLines::between(path, old.as_bytes(), new.as_bytes())
}

#[test]
fn a_path_that_a_call_changed() {
    let mut answers = Answers {
        changed: vec![changes("src/a.rs", "a\n", "b\n")],
        ..Answers::default()
    };
    let call = bash("./generate").after();
    let why = stopped(path("src/**"), &call, &mut answers);
    assert_eq!(why.as_deref(), Some("changed src/a.rs"));
    assert_eq!(stopped(path("doc/**"), &call, &mut answers), None);
    // the breakpoint has acted on the same call before it ran
    answers.before.insert(BreakpointId(1));
    assert_eq!(stopped(path("src/**"), &call, &mut answers), None);
    // one that is set for after the call acts all the same
    let mut after = breakpoint(1, path("src/**"));
    after.moment = CallMoment::After;
    assert!(stopped_by(&after, &call, &mut answers).is_some());
    assert!(stopped_by(&after, &edit("src/a.rs"), &mut answers).is_none());
}

#[test]
fn lines_that_a_call_changes() {
    let base = "1\n2\n3\n4\n5\n";
    let region = LineRange { start: 2, count: 2 };
    let RegionState::Present(now) = follow(base.as_bytes(), region, base.as_bytes()) else {
        panic!("the region is there");
    };
    let mut answers = Answers {
        region: Some(now),
        predicted: vec![changes("src/a.rs", base, "1\n2\nX\n4\n5\n")],
        ..Answers::default()
    };
    let spec = || line("src/a.rs", 2, 2);
    let why = stopped(spec(), &edit("src/a.rs"), &mut answers);
    assert_eq!(why.as_deref(), Some("changes src/a.rs:2-3"));
    // other files and other lines
    answers.asked.clear();
    assert_eq!(stopped(spec(), &edit("src/b.rs"), &mut answers), None);
    assert!(answers.asked.is_empty(), "{answers:?}");
    answers.predicted = vec![changes("src/a.rs", base, "1\n2\n3\nX\n5\n")];
    assert_eq!(stopped(spec(), &edit("src/a.rs"), &mut answers), None);
    // nothing is predicted of a command, so its change is found after it
    answers.predicted.clear();
    answers.changed = vec![changes("src/a.rs", base, "1\n4\n5\n")];
    assert_eq!(
        stopped(spec(), &bash("sed -i 2,3d src/a.rs"), &mut answers),
        None
    );
    let after = bash("sed -i 2,3d src/a.rs").after();
    let why = stopped(spec(), &after, &mut answers);
    assert_eq!(
        why.as_deref(),
        Some("changed src/a.rs:2-3, already on disk")
    );
    // a region that is gone has no lines to touch
    answers.region = None;
    assert_eq!(stopped(spec(), &after, &mut answers), None);
}

#[test]
fn lines_that_a_call_adds() {
    let content = |path: Option<&str>| {
        BreakpointSpec::Content(ContentKind {
            regex: "TODO|unwrap\\(".to_owned(),
            path: path.map(str::to_owned),
        })
    };
    let mut answers = Answers {
        predicted: vec![changes(
            "src/a.rs",
            "x // TODO\n",
            "x // TODO\ny.unwrap()\n",
        )],
        ..Answers::default()
    };
    let why = stopped(content(None), &edit("src/a.rs"), &mut answers);
    assert_eq!(
        why.as_deref(),
        Some("adds a line with /TODO|unwrap\\(/ to src/a.rs")
    );
    assert!(stopped(content(Some("src/*.rs")), &edit("src/a.rs"), &mut answers).is_some());
    assert!(stopped(content(Some("*.md")), &edit("src/a.rs"), &mut answers).is_none());
    // lines that were there, or that are removed, are not added
    answers.predicted = vec![changes("src/a.rs", "x // TODO\n// TODO\n", "x // TODO\n")];
    assert!(stopped(content(None), &edit("src/a.rs"), &mut answers).is_none());
}

#[test]
fn a_shell_command_by_its_text() {
    let command = |regex: &str| {
        BreakpointSpec::Command(CommandKind {
            regex: Some(regex.to_owned()),
            words: None,
        })
    };
    assert!(stops(command("^git push"), &bash("git push origin")));
    assert!(!stops(command("^git push"), &bash("GIT PUSH")));
    assert!(!stops(command("."), &edit("a")));
}

/// S2-003: the iteration equals the number.
#[test]
fn the_call_with_a_number() {
    let at = |iteration: u32, number: u32| {
        let mut answers = Answers {
            iteration,
            ..Answers::default()
        };
        stopped(
            BreakpointSpec::Iteration(IterationKind { number }),
            &bash("ls"),
            &mut answers,
        )
    };
    assert_eq!(at(3, 3).as_deref(), Some("call 3 of its session"));
    assert_eq!(at(2, 3), None);
    assert_eq!(at(4, 3), None);
}

#[test]
fn the_first_call_of_a_turn() {
    let at = |number: Option<i64>, is_first_call: bool| {
        let mut answers = Answers {
            turn: TurnFacts {
                number,
                is_first_call,
                ..TurnFacts::default()
            },
            ..Answers::default()
        };
        stopped(
            BreakpointSpec::Turn(TurnKind { number: 4 }),
            &bash("ls"),
            &mut answers,
        )
    };
    assert_eq!(at(Some(4), true).as_deref(), Some("the first call of t4"));
    assert_eq!(at(Some(4), false), None);
    assert_eq!(at(Some(5), true), None);
    assert_eq!(at(None, true), None);
}

/// S2-006: an error of any tool.
#[test]
fn a_call_that_failed() {
    let error = |tool: Option<&str>| {
        BreakpointSpec::Error(FailedCallKind {
            tool: tool.map(str::to_owned),
        })
    };
    let mut failed = bash("false").after();
    failed.failed = true;
    assert!(stops(error(None), &failed));
    assert!(stops(error(Some("B*")), &failed));
    assert!(!stops(error(Some("Edit")), &failed));
    assert!(!stops(error(None), &bash("true").after()));
    let why = stopped(error(None), &failed, &mut Answers::default());
    assert_eq!(why.as_deref(), Some("Bash failed"));
    failed.moment = CallMoment::Before;
    assert!(!stops(error(None), &failed));
}

#[test]
fn a_budget_that_is_used_up() {
    let turn = TurnFacts {
        calls: 20,
        files: 3,
        lines: 100,
        minutes: 7,
        ..TurnFacts::default()
    };
    let over = |of: BudgetOf, limit: u64, tokens: Option<u64>| {
        let mut answers = Answers {
            turn,
            tokens,
            ..Answers::default()
        };
        let why = stopped(
            BreakpointSpec::Budget(BudgetKind { of, limit }),
            &bash("ls"),
            &mut answers,
        );
        assert_eq!(answers.asked.contains("tokens"), of == BudgetOf::Tokens);
        why
    };
    let why = over(BudgetOf::Calls, 20, None);
    assert_eq!(why.as_deref(), Some("the turn has used 20 of 20 calls"));
    assert_eq!(over(BudgetOf::Calls, 21, None), None);
    assert!(over(BudgetOf::Files, 2, None).is_some());
    assert!(over(BudgetOf::Files, 4, None).is_none());
    assert!(over(BudgetOf::Lines, 100, None).is_some());
    assert!(over(BudgetOf::Minutes, 8, None).is_none());
    assert!(over(BudgetOf::Tokens, 5, Some(6)).is_some());
    assert!(over(BudgetOf::Tokens, 5, Some(4)).is_none());
    assert!(
        over(BudgetOf::Tokens, 5, None).is_none(),
        "unknown is not used up"
    );
}

#[test]
fn steps() {
    let step = |how: StepUntil| BreakpointSpec::Step(StepKind { how });
    let of = |thread: Option<&str>, call: Call| {
        let subagent = thread.map(str::to_owned);
        Call { subagent, ..call }
    };
    let at = |how: StepUntil, call: &Call, turn: i64| {
        let mut answers = Answers::default();
        answers.turn.number = Some(turn);
        stopped(step(how), call, &mut answers).is_some()
    };
    let main = of(None, bash("ls"));
    let sub = of(Some("s1"), bash("ls"));
    assert!(stops(BreakpointSpec::Any(AnyKind {}), &sub));
    let over = |thread: Option<&str>| StepUntil::Over {
        thread: thread.map(str::to_owned),
    };
    assert!(at(over(None), &main, 1) && !at(over(None), &sub, 1));
    assert!(at(over(Some("s1")), &sub, 1) && !at(over(Some("s1")), &main, 1));
    assert!(!at(over(Some("s")), &sub, 1), "the whole id of a thread");
    assert!(at(StepUntil::Into, &main, 1) && at(StepUntil::Into, &sub, 1));
    let out = || StepUntil::Out { turn: Some(1) };
    assert!(at(out(), &main, 1) && !at(out(), &sub, 1) && at(out(), &sub, 2));
    let turn = || StepUntil::Turn { turn: Some(1) };
    assert!(!at(turn(), &main, 1) && at(turn(), &main, 2) && at(turn(), &sub, 2));
    let file = || StepUntil::File {
        paths: vec!["a.rs".to_owned()],
    };
    assert!(at(file(), &edit("b.rs"), 1) && !at(file(), &edit("a.rs"), 1) && !at(file(), &main, 1));
}

/// S2-012: the first match in the order in which breakpoints were made. S2-011: each trigger counts once.
#[test]
fn the_first_that_stops_ends_the_check() {
    let mut log = breakpoint(1, tool("*", None));
    log.action = BreakpointAction::Log;
    let mut deny = breakpoint(3, tool("Bash", None));
    deny.action = BreakpointAction::Deny;
    let all = [
        log,
        breakpoint(2, tool("Edit", None)),
        deny,
        breakpoint(4, tool("Bash", None)),
    ];
    let mut answers = Answers::default();
    let checked = check(&all, &bash("ls").facts(), &mut answers).expect("checked");
    let ids =
        |triggers: &[Trigger]| -> Vec<i64> { triggers.iter().map(|t| t.breakpoint.0).collect() };
    assert_eq!(ids(&checked.logged), [1]);
    assert_eq!(
        checked.stop.map(|stop| stop.breakpoint),
        Some(BreakpointId(3))
    );
    let counts = |answers: &Answers| -> Vec<(i64, i64)> {
        answers
            .counts
            .iter()
            .map(|(id, count)| (id.0, *count))
            .collect()
    };
    assert_eq!(counts(&answers), [(1, 1), (3, 1)]);
    check(&all, &edit("a").facts(), &mut answers).expect("checked");
    assert_eq!(counts(&answers), [(1, 2), (2, 1), (3, 1)]);
}

/// S2-010: disabled breakpoints neither trigger nor count.
#[test]
fn disabled_breakpoints_do_nothing() {
    let mut disabled = breakpoint(1, tool("Bash", None));
    disabled.enabled = false;
    let mut answers = Answers::default();
    assert_eq!(stopped_by(&disabled, &bash("ls"), &mut answers), None);
    assert!(answers.counts.is_empty() && answers.asked.is_empty());
    assert!(!may_match(&[disabled], &bash("ls").facts()));
}

#[test]
fn conditions_come_last_and_count_only_if_met() {
    let mut conditional = breakpoint(1, tool("Bash", Some("rm")));
    conditional.condition = Some("no".to_owned());
    let mut answers = Answers::default();
    answers.conditions.insert("no".to_owned(), Ok(false));
    assert_eq!(stopped_by(&conditional, &bash("ls"), &mut answers), None);
    assert!(answers.asked.is_empty(), "the expression does not match");
    assert_eq!(stopped_by(&conditional, &bash("rm x"), &mut answers), None);
    assert!(answers.asked.contains("condition") && answers.counts.is_empty());
    // a failed condition counts as met and is noted
    answers
        .conditions
        .insert("no".to_owned(), Err("no end".to_owned()));
    let why = stopped_by(&conditional, &bash("rm x"), &mut answers);
    assert_eq!(
        why.as_deref(),
        Some("its input matches /rm/; the condition failed: no end")
    );
    assert_eq!(answers.problems, [(BreakpointId(1), "no end".to_owned())]);
    assert_eq!(answers.counts[&BreakpointId(1)], 1);
}

#[test]
fn the_count_selects_the_triggers_that_act() {
    let mut third = breakpoint(1, tool("Bash", None));
    third.hits_when = Some("% 3".parse::<HitCondition>().expect("a condition"));
    let mut answers = Answers::default();
    let acted: Vec<bool> = (0..7)
        .map(|_| stopped_by(&third, &bash("ls"), &mut answers).is_some())
        .collect();
    assert_eq!(acted, [false, false, true, false, false, true, false]);
    assert_eq!(answers.counts[&BreakpointId(1)], 7);
}

#[test]
fn scope_and_moment_limit_a_breakpoint() {
    let mut other = breakpoint(1, tool("Bash", None));
    other.scope.session = Some("99".to_owned());
    assert_eq!(
        stopped_by(&other, &bash("ls"), &mut Answers::default()),
        None
    );
    other.scope.session = Some("0123".to_owned());
    assert!(stopped_by(&other, &bash("ls"), &mut Answers::default()).is_some());
    assert_eq!(
        stopped_by(&other, &bash("ls").after(), &mut Answers::default()),
        None
    );
    other.moment = CallMoment::After;
    assert!(stopped_by(&other, &bash("ls").after(), &mut Answers::default()).is_some());
}

/// A row of an older version, or a damaged one: the call is held rather than let through.
#[test]
fn an_expression_that_cannot_be_used_triggers_and_is_noted() {
    for spec in [
        pattern("("),
        tool("Bash", Some("(")),
        BreakpointSpec::Command(CommandKind {
            regex: Some("(".to_owned()),
            words: None,
        }),
    ] {
        let mut answers = Answers::default();
        let why = stopped(spec, &bash("ls"), &mut answers).expect("stopped");
        assert!(why.contains("unclosed group"), "{why}");
        assert_eq!(answers.problems.len(), 1);
    }
}

/// S2-001 to S2-006 and all other kinds: 20 breakpoints of each kind against 5,000 recorded and mutated calls. Both
/// sides agree on what is logged, what stops the call, and every count.
#[test]
fn every_kind_equals_a_naive_matcher() {
    let mut random = naive::Random(7);
    let calls = naive::calls(&mut random, 5000);
    for kind in KindName::ALL {
        let breakpoints: Vec<Breakpoint> = (1..=20)
            .map(|id| naive::breakpoint(&mut random, *kind, id))
            .collect();
        let mut reference = naive::Matcher::new(&breakpoints);
        let mut counts = BTreeMap::new();
        let mut matched = 0;
        for (call, answers) in &calls {
            let mut ours = answers.clone();
            ours.counts = counts;
            let mut theirs = answers.clone();
            let checked = check(&breakpoints, &call.facts(), &mut ours).expect("checked");
            let wanted = reference.check(&call.facts(), &mut theirs);
            assert_eq!(naive::acted(&checked), wanted, "{call:?}");
            assert_eq!(ours.counts, reference.counts, "{call:?}");
            let acted = checked.stop.is_some() || !checked.logged.is_empty();
            assert!(!acted || may_match(&breakpoints, &call.facts()), "{call:?}");
            matched += usize::from(acted);
            counts = ours.counts;
        }
        let info = breakpoints[0].spec.info();
        let is_enough = if info.is_about_programs {
            matched == 0
        } else {
            matched >= 50
        };
        assert!(is_enough, "{}: {matched} of 5000", info.name);
    }
}
