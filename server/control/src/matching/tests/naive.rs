//! A matcher that looks everything up for every breakpoint, and generated breakpoints and calls for it.

use std::path::Path;

use regex::RegexBuilder;

use super::*;
use crate::FunctionKind;
use crate::breakpoint::KindName;

/// Pseudorandom numbers (xorshift) from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("a number") % limit
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn number(&mut self, limit: u32) -> u32 {
        u32::try_from(self.below(limit as usize)).expect("a number")
    }
}

const FILES: [&str; 8] = [
    "src/main.rs",
    "src/auth.rs",
    "src/deep/er/x.rs",
    "README.md",
    "notes.ipynb",
    "a b.txt",
    "/etc/hosts",
    "lib/x.py",
];
const GLOBS: [&str; 12] = [
    "**",
    "*",
    "src/**",
    "src/*.rs",
    "**/*.rs",
    "**/x.rs",
    "*.md",
    "src/{main,auth}.rs",
    "/etc/*",
    "src/[a-m]*.rs",
    "a b.txt",
    "**/er/**",
];
const TOOLS: [&str; 12] = [
    "Bash",
    "Edit",
    "Write",
    "Read",
    "*",
    "B*",
    "{Edit,Write}",
    "NotebookEdit",
    "mcp__*",
    "Agent",
    "Edi?",
    "bash",
];
const EXPRESSIONS: [&str; 12] = [
    "one",
    "rm -rf",
    "say \"",
    "^ls",
    "\\bSRC\\b",
    "[0-9]{3}",
    "main\\.rs$",
    "a|b",
    "true",
    "\\\\n",
    "ünï",
    "^$",
];
const LINES: [&str; 6] = [
    "one",
    "two ls",
    "say \"rm -rf\"",
    "",
    "main.rs",
    "let b = 123;",
];
const JQ: [&str; 3] = ["met", "not met", "fails"];

/// Makes a breakpoint of a kind.
pub fn breakpoint(random: &mut Random, kind: KindName, id: i64) -> Breakpoint {
    let text = |random: &mut Random, all: &[&str]| random.pick(all).to_owned();
    let maybe =
        |random: &mut Random, all: &[&str]| random.one_in(2).then(|| random.pick(all).to_owned());
    let spec = match kind {
        KindName::Tool => BreakpointSpec::Tool(ToolKind {
            name: text(random, &TOOLS),
            condition: maybe(random, &EXPRESSIONS),
        }),
        KindName::Path => path(random.pick(&GLOBS)),
        KindName::Line => line(
            random.pick(&FILES[..6]),
            random.number(6) + 1,
            random.number(3) + 1,
        ),
        KindName::Content => BreakpointSpec::Content(ContentKind {
            regex: text(random, &EXPRESSIONS),
            path: maybe(random, &GLOBS),
        }),
        KindName::Pattern => pattern(random.pick(&EXPRESSIONS)),
        KindName::Command => BreakpointSpec::Command(CommandKind {
            regex: Some(text(random, &EXPRESSIONS)),
            words: None,
        }),
        KindName::Iteration => BreakpointSpec::Iteration(IterationKind {
            number: random.number(40) + 1,
        }),
        KindName::Turn => BreakpointSpec::Turn(TurnKind {
            number: random.number(9) + 1,
        }),
        KindName::Error => BreakpointSpec::Error(FailedCallKind {
            tool: maybe(random, &TOOLS),
        }),
        KindName::Budget => BreakpointSpec::Budget(BudgetKind {
            of: random.pick(&BudgetOf::ALL),
            limit: random.below(40) as u64 + 1,
        }),
        KindName::Any => BreakpointSpec::Any(AnyKind {}),
        KindName::Function => BreakpointSpec::Function(FunctionKind {
            name: text(random, &TOOLS),
        }),
        KindName::Step => BreakpointSpec::Step(StepKind { how: step(random) }),
    };
    let mut made = super::breakpoint(id, spec);
    if random.one_in(4) {
        made.moment = CallMoment::After;
    }
    let pauses_rarely = [
        BreakpointAction::Log,
        BreakpointAction::Log,
        BreakpointAction::Pause,
    ];
    made.action = random.pick(&pauses_rarely);
    made.enabled = !random.one_in(6);
    if random.one_in(4) {
        made.condition = Some(text(random, &JQ));
    }
    if random.one_in(2) {
        let when = random.pick(&["% 7", ">= 40", "< 9", "== 3", "% 2"]);
        made.hits_when = Some(when.parse().expect("a condition"));
    }
    made.scope = BreakpointScope {
        agent: random.one_in(8).then(|| "codex".to_owned()),
        session: random.one_in(4).then(|| text(random, &["0123", "9"])),
        subagent: random.one_in(3).then(|| text(random, &["main", "*", "s1"])),
    };
    made
}

fn step(random: &mut Random) -> StepUntil {
    let turn = Some(i64::from(random.number(9)) + 1);
    match random.below(5) {
        0 => StepUntil::Over {
            thread: random.one_in(2).then(|| "s1".to_owned()),
        },
        1 => StepUntil::Into,
        2 => StepUntil::Out { turn },
        3 => StepUntil::File {
            paths: vec![random.pick(&FILES).to_owned()],
        },
        _ => StepUntil::Turn { turn },
    }
}

/// Inputs of tools as agents sent them.
fn recorded() -> &'static [(String, Value)] {
    static RECORDED: OnceLock<Vec<(String, Value)>> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/agents/payloads/claude"
        );
        let mut files: Vec<_> = std::fs::read_dir(Path::new(folder))
            .expect("payloads")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let call = |file: &std::path::PathBuf| {
            let bytes = std::fs::read(file).ok()?;
            let payload: Value = serde_json::from_slice(&bytes).ok()?;
            let tool = payload.get("tool_name")?.as_str()?.to_owned();
            Some((tool, payload.get("tool_input")?.clone()))
        };
        let calls: Vec<_> = files.iter().filter_map(call).collect();
        assert!(calls.len() > 10, "{} payloads with an input", calls.len());
        calls
    })
}

/// Makes calls from recorded ones: changes strings and files, and adds fields.
pub fn calls(random: &mut Random, count: usize) -> Vec<(Call, Answers)> {
    (0..count).map(|_| call(random)).collect()
}

fn call(random: &mut Random) -> (Call, Answers) {
    let all = recorded();
    let (mut tool, mut input) = all[random.below(all.len())].clone();
    mutate(random, &mut input);
    if random.one_in(8) {
        tool = random
            .pick(&["mcp__db__query", "Bash", "Edit", "bash"])
            .to_owned();
    }
    if tool == "Bash" && random.one_in(2) {
        let file = random.pick(&FILES);
        let program = random.pick(&["ls", "rm -rf", "cat", "sed -i s/one/two/"]);
        input = json!({"command": format!("{program} \"{file}\" | wc -l")});
    }
    let mut call = Call::new(&tool, input);
    for _ in 0..random.below(3) {
        call.paths.push(random.pick(&FILES).to_owned());
    }
    if random.one_in(3) {
        call.moment = CallMoment::After;
        call.failed = random.one_in(2);
    }
    call.subagent = random.one_in(3).then(|| "s1".to_owned());
    let answers = answers(random, &call);
    (call, answers)
}

fn mutate(random: &mut Random, value: &mut Value) {
    match value {
        Value::String(text) if random.one_in(3) => {
            let at = (0..=random.below(text.len() + 1))
                .rev()
                .find(|at| text.is_char_boundary(*at))
                .expect("a boundary");
            text.insert_str(at, random.pick(&EXPRESSIONS));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mutate(random, item)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| mutate(random, field));
            if random.one_in(5) {
                fields.insert(
                    "extra".to_owned(),
                    json!([{"x": random.pick(&LINES)}, 123, true]),
                );
            }
        }
        _ => {}
    }
}

fn text(random: &mut Random) -> String {
    (0..random.below(7))
        .flat_map(|_| [random.pick(&LINES), "\n"])
        .collect()
}

fn answers(random: &mut Random, call: &Call) -> Answers {
    let mut files: Vec<&str> = call.paths.iter().map(String::as_str).collect();
    if call.command.is_some() && call.moment == CallMoment::After {
        files.push(random.pick(&FILES));
    }
    let all: Vec<ChangedLines> = files
        .iter()
        .map(|file| changes(file, &text(random), &text(random)))
        .collect();
    let is_before = call.moment == CallMoment::Before;
    let predicted = if call.command.is_none() {
        all.clone()
    } else {
        Vec::new()
    };
    Answers {
        iteration: random.number(40) + 1,
        turn: TurnFacts {
            number: (!random.one_in(9)).then(|| i64::from(random.number(9)) + 1),
            is_first_call: random.one_in(3),
            calls: random.below(30) as u64,
            files: random.below(30) as u64,
            lines: random.below(60) as u64,
            minutes: random.below(30) as u64,
        },
        tokens: (!random.one_in(3)).then(|| random.below(60) as u64),
        changed: if is_before { Vec::new() } else { all },
        predicted: if is_before { predicted } else { Vec::new() },
        region: (!random.one_in(4)).then(|| LineRange {
            start: random.number(6) + 1,
            count: random.number(3) + 1,
        }),
        before: (1..=20)
            .filter(|_| random.one_in(2))
            .map(BreakpointId)
            .collect(),
        conditions: [
            ("met".to_owned(), Ok(true)),
            ("not met".to_owned(), Ok(false)),
            ("fails".to_owned(), Err("no end".to_owned())),
        ]
        .into(),
        ..Answers::default()
    }
}

/// The breakpoints that acted: log points, and the one that stops.
pub type Acted = (Vec<(i64, i64)>, Option<(i64, i64)>);

pub fn acted(checked: &Checked) -> Acted {
    let pair = |trigger: &Trigger| (trigger.breakpoint.0, trigger.hits);
    (
        checked.logged.iter().map(pair).collect(),
        checked.stop.as_ref().map(pair),
    )
}

/// A breakpoint with all its expressions compiled.
struct Compiled {
    breakpoint: Breakpoint,
    regex: Option<regex::Regex>,
    glob: Option<globset::GlobMatcher>,
}

pub struct Matcher {
    compiled: Vec<Compiled>,
    pub counts: BTreeMap<BreakpointId, i64>,
}

impl Matcher {
    pub fn new(breakpoints: &[Breakpoint]) -> Self {
        let compiled = breakpoints.iter().cloned().map(compile).collect();
        let counts = BTreeMap::new();
        Self { compiled, counts }
    }

    pub fn check(&mut self, facts: &CallFacts<'_>, answers: &mut Answers) -> Acted {
        let mut logged = Vec::new();
        for compiled in &self.compiled {
            let breakpoint = &compiled.breakpoint;
            let condition = breakpoint.condition.as_deref();
            let is_met = condition != Some("not met");
            let is_hit = breakpoint.enabled
                && scope(&breakpoint.scope, facts)
                && matches(compiled, facts, answers)
                && is_met;
            if !is_hit {
                continue;
            }
            let count = self.counts.entry(breakpoint.id).or_default();
            *count += 1;
            let hits = *count;
            if breakpoint.hits_when.is_some_and(|when| !when.acts_at(hits)) {
                continue;
            }
            match breakpoint.action {
                BreakpointAction::Log => logged.push((breakpoint.id.0, hits)),
                _ => return (logged, Some((breakpoint.id.0, hits))),
            }
        }
        (logged, None)
    }
}

fn compile(breakpoint: Breakpoint) -> Compiled {
    let (regex, ignore_case, glob) = match breakpoint.spec.clone() {
        BreakpointSpec::Tool(ToolKind { name, condition }) => (condition, true, Some(name)),
        BreakpointSpec::Path(PathKind { glob, .. }) => (None, false, Some(glob)),
        BreakpointSpec::Content(ContentKind { regex, path }) => (Some(regex), false, path),
        BreakpointSpec::Pattern(PatternKind { regex }) => (Some(regex), true, None),
        BreakpointSpec::Command(CommandKind { regex, .. }) => (regex, false, None),
        BreakpointSpec::Error(FailedCallKind { tool }) => (None, false, tool),
        _ => (None, false, None),
    };
    let expression = |text: String| {
        let mut builder = RegexBuilder::new(&text);
        builder
            .case_insensitive(ignore_case)
            .build()
            .expect("an expression")
    };
    let pattern = |text: String| {
        let mut builder = globset::GlobBuilder::new(&text);
        let glob = builder
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        glob.expect("a pattern").compile_matcher()
    };
    Compiled {
        breakpoint,
        regex: regex.map(expression),
        glob: glob.map(pattern),
    }
}

fn scope(scope: &BreakpointScope, facts: &CallFacts<'_>) -> bool {
    scope
        .agent
        .as_ref()
        .is_none_or(|agent| agent == facts.agent)
        && scope
            .session
            .as_ref()
            .is_none_or(|id| facts.session.starts_with(id.as_str()))
        && match scope.subagent.as_deref() {
            None => true,
            Some("main") => facts.subagent.is_none(),
            Some("*") => facts.subagent.is_some(),
            Some(id) => facts.subagent.is_some_and(|thread| thread.starts_with(id)),
        }
}

fn matches(compiled: &Compiled, facts: &CallFacts<'_>, answers: &Answers) -> bool {
    let breakpoint = &compiled.breakpoint;
    let is_after = facts.moment == CallMoment::After;
    let is_moment = facts.moment == breakpoint.moment;
    let is_new = is_moment || !answers.before.contains(&breakpoint.id);
    let is_glob = |text: &str| {
        compiled
            .glob
            .as_ref()
            .is_none_or(|glob| glob.is_match(text))
    };
    let is_match = |text: &str| {
        compiled
            .regex
            .as_ref()
            .is_none_or(|regex| regex.is_match(text))
    };
    let in_input = || strings(facts.input).iter().any(|text| is_match(text));
    match &breakpoint.spec {
        BreakpointSpec::Tool(_) => is_moment && is_glob(facts.tool) && in_input(),
        BreakpointSpec::Pattern(_) => is_moment && in_input(),
        BreakpointSpec::Path(_) if is_after => {
            is_new && answers.changed.iter().any(|change| is_glob(&change.path))
        }
        BreakpointSpec::Path(PathKind { glob, .. }) => {
            let words = facts.mentioned;
            // a directory of the pattern without wildcards, or one above it
            let mut above: Vec<String> = Vec::new();
            let parts: Vec<&str> = glob.split('/').collect();
            for end in 1..parts.len() {
                let dir = parts[..end].join("/");
                if !dir.contains(['*', '?', '[', ']', '{', '}', '\\']) {
                    above.push(dir);
                }
            }
            is_moment
                && (facts.paths.iter().chain(words).any(|path| is_glob(path))
                    || words
                        .iter()
                        .any(|word| !word.is_empty() && above.contains(word)))
        }
        BreakpointSpec::Line(LineKind { path, .. }) => {
            let changes = if is_after {
                &answers.changed
            } else {
                &answers.predicted
            };
            let change = changes.iter().find(|change| change.path == *path);
            (is_after && is_new || is_moment)
                && change
                    .zip(answers.region)
                    .is_some_and(|(change, region)| touched(change, region))
        }
        BreakpointSpec::Content(_) => {
            let changes = if is_after {
                &answers.changed
            } else {
                &answers.predicted
            };
            let adds = |change: &ChangedLines| change.added.iter().any(|line| is_match(line));
            is_moment
                && changes
                    .iter()
                    .any(|change| is_glob(&change.path) && adds(change))
        }
        BreakpointSpec::Command(_) => is_moment && facts.command.is_some_and(is_match),
        BreakpointSpec::Iteration(IterationKind { number }) => {
            is_moment && answers.iteration == *number
        }
        BreakpointSpec::Turn(TurnKind { number }) => {
            let turn = answers.turn;
            is_moment && turn.is_first_call && turn.number == Some(i64::from(*number))
        }
        BreakpointSpec::Error(_) => is_after && facts.failed && is_glob(facts.tool),
        BreakpointSpec::Budget(BudgetKind { of, limit }) => {
            let used = match of {
                BudgetOf::Calls => Some(answers.turn.calls),
                BudgetOf::Files => Some(answers.turn.files),
                BudgetOf::Lines => Some(answers.turn.lines),
                BudgetOf::Minutes => Some(answers.turn.minutes),
                BudgetOf::Tokens => answers.tokens,
            };
            is_moment && used.is_some_and(|used| used >= *limit)
        }
        BreakpointSpec::Function(_) => false,
        BreakpointSpec::Any(AnyKind {}) => is_moment,
        BreakpointSpec::Step(StepKind { how }) => {
            let turn = answers.turn.number;
            is_moment
                && match how {
                    StepUntil::Over { thread } => facts.subagent.map(str::to_owned) == *thread,
                    StepUntil::Into => true,
                    StepUntil::Out { turn: last } => facts.subagent.is_none() || turn != *last,
                    StepUntil::File { paths } => {
                        !facts.paths.iter().all(|path| paths.contains(path))
                    }
                    StepUntil::Turn { turn: last } => turn != *last,
                }
        }
    }
}

/// Line by line: a region is touched if one of its lines is replaced, or a line is inserted between two of them.
fn touched(change: &ChangedLines, region: LineRange) -> bool {
    let lines: Vec<u32> = (region.start..region.start + region.count).collect();
    change.ranges.iter().any(|range| match range.count {
        0 => lines.contains(&range.start) && lines.contains(&(range.start - 1)),
        count => (range.start..range.start + count).any(|line| lines.contains(&line)),
    })
}

/// All strings of a value, and the value as JSON.
fn strings(value: &Value) -> Vec<String> {
    fn collect(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::String(text) => into.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            Value::Object(fields) => {
                into.extend(fields.keys().cloned());
                fields.values().for_each(|field| collect(field, into));
            }
            _ => {}
        }
    }
    let mut all = vec![serde_json::to_string(value).expect("JSON")];
    collect(value, &mut all);
    all
}
