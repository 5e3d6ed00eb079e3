//! The breakpoints that a call triggers. Pure: databases, files and jq are behind [`CallLookup`], which is asked only
//! for a breakpoint that everything else lets through.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::breakpoint::{
    Breakpoint, BreakpointAction, BreakpointId, BreakpointSpec, BudgetOf, CallMoment, Case,
    StepUntil, fixed_start, glob, regex,
};
use super::regions::{ChangedLines, LineRange};
use backstitch_core::Result;
use backstitch_core::command_words::{CommandPattern, SearchedFiles};

/// Facts about a call that cost nothing.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'a> {
    pub moment: CallMoment,
    pub agent: &'a str,
    /// The agent's own id of the session.
    pub session: &'a str,
    /// None: the main thread.
    pub subagent: Option<&'a str>,
    pub tool: &'a str,
    pub input: &'a Value,
    /// Reason why the input cannot be read. Such an input counts as a match.
    pub unreadable: Option<&'a str>,
    /// Text of a shell command, for tools that are shells.
    pub command: Option<&'a str>,
    /// Paths that the call names: relative to the root with `/`, absolute if they are outside of it.
    pub paths: &'a [String],
    /// Paths that the call only mentions: words of a shell command, and paths in the input of a tool that edits nothing.
    pub mentioned: &'a [String],
    /// Those of `mentioned` that the call only reads.
    pub only_read: &'a [String],
    /// Searches of a tree for files of a pattern.
    pub searched: &'a [SearchedFiles],
    /// True if the call changes nothing.
    pub reads: bool,
    /// The directory in which the call runs. Absolute.
    pub cwd: &'a str,
    /// True if the tool reported an error.
    pub failed: bool,
    /// True if the call can have changed no file but those that it names.
    pub writes_named: bool,
}

/// Facts about the turn of a call, without the call itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnFacts {
    /// `t4` is 4. None: the call belongs to no turn.
    pub number: Option<i64>,
    pub is_first_call: bool,
    /// Calls, changed files and lines, and minutes so far.
    pub calls: u64,
    pub files: u64,
    pub lines: u64,
    pub minutes: u64,
}

/// Facts that are looked up only for a candidate.
pub trait CallLookup {
    /// Number of the call in its session. The first is 1.
    fn iteration(&mut self) -> Result<u32>;
    /// True if this is the call with a number, or the first after it where calls ran at the same time.
    fn passes_iteration(&mut self, _breakpoint: BreakpointId, number: u32) -> Result<bool> {
        Ok(self.iteration()? == number)
    }
    fn turn(&mut self) -> Result<TurnFacts>;
    /// Tokens of the turn. None: unknown.
    fn tokens(&mut self) -> Result<Option<u64>>;
    /// The changes of a call that ran.
    fn changed(&mut self) -> Result<Vec<ChangedLines>>;
    /// The predicted changes of a call that has not run. Empty if nothing is predicted.
    fn predicted(&mut self) -> Result<Vec<ChangedLines>>;
    /// Place of the region of a `line` breakpoint in the text that the change begins with: before a call the file as it
    /// is, after a call the file before its step. None: gone.
    fn region(&mut self, breakpoint: BreakpointId) -> Result<Option<LineRange>>;
    /// True if the breakpoint triggered before this call ran.
    fn triggered_before(&mut self, breakpoint: BreakpointId) -> Result<bool>;
    /// True if a file below a directory matches a pattern.
    fn has_below(&mut self, dir: &str, pattern: &str) -> Result<bool>;
    /// True if a search reads a file that matches a pattern.
    fn is_searched(&mut self, _search: &SearchedFiles, _pattern: &str) -> Result<bool> {
        Ok(false)
    }
    /// True if the call was held before it ran, and was let go on.
    fn was_let_go(&mut self) -> Result<bool>;
    /// The result of a jq condition. Err: the reason why it has none.
    fn condition(&mut self, jq: &str) -> Result<bool, String>;
    /// Raises the number of triggers by one and returns it.
    fn count(&mut self, breakpoint: BreakpointId) -> Result<i64>;
    /// Notes a trigger that the condition on the number of hits lets pass.
    fn passed_by(&mut self, trigger: &Trigger);
    /// Notes the failure of a condition or an expression.
    fn problem(&mut self, breakpoint: BreakpointId, what: &str);
}

/// The breakpoints that act on a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Log points, in order.
    pub logged: Vec<Trigger>,
    /// The breakpoint that pauses or denies the call.
    pub stop: Option<Trigger>,
}

/// A breakpoint that acts on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub breakpoint: BreakpointId,
    /// Number of this trigger. The first is 1.
    pub hits: i64,
    /// The reason in words: `names src/auth.rs`.
    pub why: String,
}

/// Result of the comparison of one breakpoint with a call.
enum Match {
    /// The reason in words.
    Yes(String),
    No,
    /// The breakpoint's expression cannot be used. Such a breakpoint triggers, as with a failed condition.
    Unusable(String),
}

/// Checks a call against breakpoints in their order. The first that pauses or denies ends the check; log points count
/// and go on. Each is compared by kind, scope and condition, and then counted; `hits_when` selects the triggers that
/// act. A condition that fails counts as met and is noted.
pub fn check(
    breakpoints: &[Breakpoint],
    facts: &CallFacts<'_>,
    lookup: &mut dyn CallLookup,
) -> Result<Checked> {
    let mut checked = Checked::default();
    for breakpoint in breakpoints {
        if !is_candidate(breakpoint, facts) {
            continue;
        }
        let mut why = match compare(breakpoint, facts, lookup)? {
            Match::Yes(why) => why,
            Match::No => continue,
            Match::Unusable(problem) => {
                lookup.problem(breakpoint.id, &problem);
                problem
            }
        };
        match breakpoint
            .condition
            .as_deref()
            .map(|jq| lookup.condition(jq))
        {
            None | Some(Ok(true)) => {}
            Some(Ok(false)) => continue,
            Some(Err(problem)) => {
                lookup.problem(breakpoint.id, &problem);
                why = format!("{why}; the condition failed: {problem}");
            }
        }
        let hits = lookup.count(breakpoint.id)?;
        let trigger = Trigger {
            breakpoint: breakpoint.id,
            hits,
            why,
        };
        if breakpoint.hits_when.is_some_and(|when| !when.acts_at(hits)) {
            lookup.passed_by(&trigger);
            continue;
        }
        match breakpoint.action {
            BreakpointAction::Log => checked.logged.push(trigger),
            BreakpointAction::Pause | BreakpointAction::Deny => {
                checked.stop = Some(trigger);
                break;
            }
        }
    }
    Ok(checked)
}

/// A call of a program.
#[derive(Clone, Copy, Debug)]
pub struct FunctionFacts<'a> {
    /// The language, and the program's name in scopes: `<pid>-<start>`.
    pub agent: &'a str,
    pub session: &'a str,
    pub thread: &'a str,
    /// `module.function`.
    pub function: &'a str,
    pub moment: CallMoment,
    /// True: the program asks to be paused, whatever is armed.
    pub failed: bool,
}

/// Returns the reason why a breakpoint stops a program's call. None: it does not. Conditions and counts are the
/// caller's.
pub fn stops_function(breakpoint: &Breakpoint, facts: &FunctionFacts<'_>) -> Option<String> {
    let is_candidate = breakpoint.enabled
        && breakpoint.scope.has(facts.agent, facts.session, None)
        && (breakpoint.moment == facts.moment
            || matches!(breakpoint.spec, BreakpointSpec::Error { .. }));
    if !is_candidate {
        return None;
    }
    let is_before = facts.moment == CallMoment::Before;
    match &breakpoint.spec {
        BreakpointSpec::Function { name } => {
            let short = facts.function.rsplit('.').next().unwrap_or_default();
            (is_tool(name, facts.function) || is_tool(name, short))
                .then(|| format!("calls {}", facts.function))
        }
        BreakpointSpec::Error { tool } => {
            let is_it = tool
                .as_deref()
                .is_none_or(|name| is_tool(name, facts.function));
            (!is_before && facts.failed && is_it).then(|| format!("{} failed", facts.function))
        }
        BreakpointSpec::Any => is_before.then(|| "the next call".to_owned()),
        BreakpointSpec::Step { how } => {
            let is_end = match how {
                StepUntil::Over { thread } => thread.as_deref().is_none_or(|it| it == facts.thread),
                StepUntil::Into
                | StepUntil::Out { .. }
                | StepUntil::File { .. }
                | StepUntil::Turn { .. } => true,
            };
            (is_before && is_end).then(|| format!("step {}", how.name()))
        }
        BreakpointSpec::Tool { .. }
        | BreakpointSpec::Path { .. }
        | BreakpointSpec::Line { .. }
        | BreakpointSpec::Content { .. }
        | BreakpointSpec::Pattern { .. }
        | BreakpointSpec::Command { .. }
        | BreakpointSpec::Iteration { .. }
        | BreakpointSpec::Turn { .. }
        | BreakpointSpec::Budget { .. } => None,
    }
}

/// True if one of these breakpoints may match the call. Compares tools, scopes, kinds and named paths, and no
/// expression.
pub fn may_match(breakpoints: &[Breakpoint], facts: &CallFacts<'_>) -> bool {
    breakpoints
        .iter()
        .any(|breakpoint| is_candidate(breakpoint, facts))
}

fn is_candidate(breakpoint: &Breakpoint, facts: &CallFacts<'_>) -> bool {
    breakpoint.enabled
        && is_moment(breakpoint, facts.moment)
        && breakpoint
            .scope
            .has(facts.agent, facts.session, facts.subagent)
        && may_be_of_kind(breakpoint, facts)
}

fn is_moment(breakpoint: &Breakpoint, moment: CallMoment) -> bool {
    breakpoint.spec.looks_at(breakpoint.moment, moment)
}

/// True unless tool, kind and named paths tell that the call cannot match.
fn may_be_of_kind(breakpoint: &Breakpoint, facts: &CallFacts<'_>) -> bool {
    let is_before = facts.moment == CallMoment::Before;
    if is_before && facts.unreadable.is_some() && reads_input(&breakpoint.spec) {
        return true;
    }
    // changes that nobody could predict are found after the call
    let may_write_any = !is_before && !facts.writes_named;
    match &breakpoint.spec {
        BreakpointSpec::Tool { name, .. } => is_tool(name, facts.tool),
        BreakpointSpec::Path { edits: true, .. } if is_before && facts.reads => false,
        BreakpointSpec::Path { glob, .. } => {
            may_write_any
                || any_path_may_match(glob, facts.paths)
                || any_path_may_match(glob, facts.mentioned)
                || facts.mentioned.iter().any(|path| is_above(path, glob))
                || (is_anywhere(glob) && !facts.mentioned.is_empty())
                || !facts.searched.is_empty()
        }
        BreakpointSpec::Line { path, .. } => {
            may_write_any || facts.paths.contains(path) || facts.mentioned.contains(path)
        }
        BreakpointSpec::Content { path, .. } => {
            let named = [facts.paths, facts.mentioned];
            !is_before
                || named.iter().any(|named| match path {
                    Some(glob) => any_path_may_match(glob, named),
                    None => !named.is_empty(),
                })
        }
        BreakpointSpec::Command { .. } => facts.command.is_some(),
        BreakpointSpec::Error { tool } => {
            facts.failed && tool.as_deref().is_none_or(|tool| is_tool(tool, facts.tool))
        }
        BreakpointSpec::Step { how } => may_end_step(how, facts),
        // programs ask about their own calls
        BreakpointSpec::Function { .. } => false,
        BreakpointSpec::Pattern { .. }
        | BreakpointSpec::Iteration { .. }
        | BreakpointSpec::Turn { .. }
        | BreakpointSpec::Budget { .. }
        | BreakpointSpec::Any => true,
    }
}

fn compare(
    breakpoint: &Breakpoint,
    facts: &CallFacts<'_>,
    lookup: &mut dyn CallLookup,
) -> Result<Match> {
    let is_before = facts.moment == CallMoment::Before;
    if is_before
        && let Some(reason) = facts.unreadable
        && reads_input(&breakpoint.spec)
    {
        return Ok(Match::Unusable(format!(
            "the input of the call cannot be read: {reason}"
        )));
    }
    Ok(match &breakpoint.spec {
        BreakpointSpec::Tool {
            condition: None, ..
        } => Match::Yes(format!("calls {}", facts.tool)),
        BreakpointSpec::Tool {
            condition: Some(text),
            ..
        }
        | BreakpointSpec::Pattern { regex: text } => input_matches(text, facts.input),
        BreakpointSpec::Path { glob: text, edits } if is_before => {
            let mentioned = mentioned(facts, *edits);
            match names(text, facts, &mentioned) {
                Match::No => names_above(text, facts, &mentioned, lookup)?,
                found => found,
            }
        }
        BreakpointSpec::Path { glob: text, edits } => {
            let named = || matches!(names(text, facts, &mentioned(facts, *edits)), Match::Yes(_));
            changes_path(breakpoint, text, named, lookup)?
        }
        BreakpointSpec::Line { path, .. } => touches_region(breakpoint, path, facts, lookup)?,
        BreakpointSpec::Content { regex, path } => {
            let changes = if is_before {
                lookup.predicted()?
            } else {
                lookup.changed()?
            };
            adds_line(regex, path.as_deref(), &changes, facts.input)
        }
        BreakpointSpec::Command { regex, words } => {
            command_matches(regex.as_deref(), words.as_deref(), facts.command)
        }
        BreakpointSpec::Iteration { number } => {
            // calls that run at the same time may get the same number
            let is_reached = lookup.passes_iteration(breakpoint.id, *number)?;
            yes_if(is_reached, || format!("call {number} of its session"))
        }
        BreakpointSpec::Turn { number } => {
            let turn = lookup.turn()?;
            let is_turn = turn.is_first_call && turn.number == Some(i64::from(*number));
            yes_if(is_turn, || format!("the first call of t{number}"))
        }
        BreakpointSpec::Error { .. } => Match::Yes(format!("{} failed", facts.tool)),
        BreakpointSpec::Budget { of, limit } => {
            let used = used(*of, lookup)?;
            yes_if(used >= Some(*limit), || {
                let used = used.unwrap_or_default();
                format!("the turn has used {used} of {limit} {}", of.name())
            })
        }
        BreakpointSpec::Function { .. } => Match::No,
        BreakpointSpec::Any => Match::Yes("the next call".to_owned()),
        BreakpointSpec::Step { how } => yes_if(ends_step(how, facts, lookup)?, || {
            format!("step {}", how.name())
        }),
    })
}

/// True for a kind that compares the input of a call before it runs.
fn reads_input(spec: &BreakpointSpec) -> bool {
    match spec {
        BreakpointSpec::Tool { condition, .. } => condition.is_some(),
        BreakpointSpec::Path { .. }
        | BreakpointSpec::Line { .. }
        | BreakpointSpec::Content { .. }
        | BreakpointSpec::Pattern { .. }
        | BreakpointSpec::Command { .. } => true,
        BreakpointSpec::Iteration { .. }
        | BreakpointSpec::Turn { .. }
        | BreakpointSpec::Error { .. }
        | BreakpointSpec::Budget { .. }
        | BreakpointSpec::Function { .. }
        | BreakpointSpec::Any
        | BreakpointSpec::Step { .. } => false,
    }
}

fn yes_if(is_match: bool, why: impl FnOnce() -> String) -> Match {
    if is_match {
        Match::Yes(why())
    } else {
        Match::No
    }
}

/// True if a tool has this name, or one that matches this pattern.
fn is_tool(name: &str, tool: &str) -> bool {
    // names are no paths: `*` stands for any letters, `/` included
    let pattern = || GlobBuilder::new(name).backslash_escape(true).build();
    name == tool
        || (has_wildcard(name)
            && pattern().is_ok_and(|pattern| pattern.compile_matcher().is_match(tool)))
}

const WILDCARDS: [char; 6] = ['*', '?', '[', '{', '\\', ']'];

fn has_wildcard(glob: &str) -> bool {
    glob.contains(WILDCARDS)
}

/// Compares the fixed start and end of a pattern, so that it is compiled for few paths only.
fn any_path_may_match(glob: &str, paths: &[String]) -> bool {
    let (start, _) = fixed_start(glob);
    // a class, an alternative or an escape may end with these letters
    let is_simple = !glob.contains(['[', ']', '{', '}', '\\']);
    let end = if is_simple {
        glob.rsplit(WILDCARDS).next().unwrap_or_default()
    } else {
        ""
    };
    // `**/` also stands for nothing: what follows it may be the whole path
    let end = end.trim_start_matches('/');
    paths
        .iter()
        .any(|path| path.starts_with(&start) && path.ends_with(end))
}

/// The paths that a call only mentions. `edits`: without those that it only reads.
fn mentioned(facts: &CallFacts<'_>, edits: bool) -> Vec<String> {
    let all = facts.mentioned.iter();
    all.filter(|path| !edits || !facts.reads && !facts.only_read.contains(path))
        .cloned()
        .collect()
}

fn names(pattern: &str, facts: &CallFacts<'_>, mentioned: &[String]) -> Match {
    let verb = if facts.reads { "reads" } else { "names" };
    let shown = |path: &str| path.strip_suffix("/.").unwrap_or(path).to_owned();
    if any_path_may_match(pattern, facts.paths) || any_path_may_match(pattern, mentioned) {
        let compiled = match glob(pattern) {
            Ok(compiled) => compiled,
            Err(error) => return Match::Unusable(error.to_string()),
        };
        if let Some(path) = first_match(&compiled, facts.paths.iter().chain(mentioned)) {
            return Match::Yes(format!("{verb} {}", shown(path)));
        }
    }
    match mentioned.iter().find(|path| is_above(path, pattern)) {
        Some(path) => Match::Yes(format!("{verb} {path}, above {pattern}")),
        None => Match::No,
    }
}

/// True if the files of a pattern may lie in any directory: it begins with a wildcard.
fn is_anywhere(glob: &str) -> bool {
    let first = glob.split('/').next().unwrap_or_default();
    glob.contains('/') && !fixed_start(first).1
}

/// The same as `names`, for what only the disk knows: a pattern of files in any directory, and a search for files.
fn names_above(
    pattern: &str,
    facts: &CallFacts<'_>,
    mentioned: &[String],
    lookup: &mut dyn CallLookup,
) -> Result<Match> {
    if is_anywhere(pattern) {
        for path in mentioned.iter().filter(|path| !path.ends_with("/.")) {
            if lookup.has_below(path, pattern)? {
                return Ok(Match::Yes(format!("names {path}, above {pattern}")));
            }
        }
    }
    for search in facts.searched {
        if lookup.is_searched(search, pattern)? {
            return Ok(Match::Yes(format!("searches {}", search.glob)));
        }
    }
    Ok(Match::No)
}

/// True if all files of a pattern lie below this path, as far as the pattern says: `rm -rf src` concerns `src/auth/**`.
fn is_above(path: &str, glob: &str) -> bool {
    if path == "." {
        return !glob.starts_with('/');
    }
    let (fixed, _) = fixed_start(glob);
    let Some((dir, _)) = fixed.rsplit_once('/') else {
        return false;
    };
    !path.is_empty()
        && dir
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn first_match<'p>(
    pattern: &GlobMatcher,
    mut paths: impl Iterator<Item = &'p String>,
) -> Option<&'p String> {
    paths.find(|path| pattern.is_match(path))
}

fn changes_path(
    breakpoint: &Breakpoint,
    text: &str,
    is_named: impl FnOnce() -> bool,
    lookup: &mut dyn CallLookup,
) -> Result<Match> {
    let pattern = match glob(text) {
        Ok(pattern) => pattern,
        Err(error) => return Ok(Match::Unusable(error.to_string())),
    };
    let changed = lookup.changed()?;
    let path = first_match(&pattern, changed.iter().map(|change| &change.path));
    match path {
        Some(path) if !was_before(breakpoint, is_named, lookup)? => {
            Ok(Match::Yes(format!("changed {path}")))
        }
        _ => Ok(Match::No),
    }
}

/// True if a breakpoint that is set before calls has triggered at this call before it ran. Also if it would have, and
/// another one held the call: it was looked at once, and let go on. `is_named`: the call names the file.
fn was_before(
    breakpoint: &Breakpoint,
    is_named: impl FnOnce() -> bool,
    lookup: &mut dyn CallLookup,
) -> Result<bool> {
    Ok(breakpoint.moment == CallMoment::Before
        && (lookup.triggered_before(breakpoint.id)? || (is_named() && lookup.was_let_go()?)))
}

fn touches_region(
    breakpoint: &Breakpoint,
    path: &str,
    facts: &CallFacts<'_>,
    lookup: &mut dyn CallLookup,
) -> Result<Match> {
    let moment = facts.moment;
    let changes = match moment {
        CallMoment::Before => lookup.predicted()?,
        CallMoment::After => lookup.changed()?,
    };
    let Some(change) = changes.iter().find(|change| change.path == path) else {
        return Ok(Match::No);
    };
    if change.unknown {
        return Ok(Match::Yes(format!(
            "may change {path}, whose lines cannot be compared"
        )));
    }
    let Some(region) = lookup.region(breakpoint.id)? else {
        return Ok(Match::No);
    };
    let is_touched = change
        .ranges
        .iter()
        .any(|lines| region.is_touched_by(*lines));
    let is_named = || facts.paths.iter().any(|named| named == path);
    if !is_touched || (moment == CallMoment::After && was_before(breakpoint, is_named, lookup)?) {
        return Ok(Match::No);
    }
    let lines = match region.count {
        1 => format!("{path}:{}", region.start),
        count => format!(
            "{path}:{}-{}",
            region.start,
            region.start.saturating_add(count - 1)
        ),
    };
    Ok(Match::Yes(match moment {
        CallMoment::Before => format!("changes {lines}"),
        CallMoment::After => format!("changed {lines}, already on disk"),
    }))
}

fn adds_line(text: &str, pattern: Option<&str>, changes: &[ChangedLines], input: &Value) -> Match {
    let pattern = match pattern.map(glob).transpose() {
        Ok(pattern) => pattern,
        Err(error) => return Match::Unusable(error.to_string()),
    };
    let expression = match regex(text, Case::Counts) {
        Ok(expression) => expression,
        Err(error) => return Match::Unusable(error.to_string()),
    };
    let is_file = |change: &&ChangedLines| {
        pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(&change.path))
    };
    let may_add = || {
        any_string(input, &|text| {
            text.lines().any(|line| expression.is_match(line))
        })
    };
    let file = changes.iter().filter(is_file).find(|change| {
        change.added.iter().any(|line| expression.is_match(line)) || change.unknown && may_add()
    });
    match file {
        Some(change) if change.unknown => {
            Match::Yes(format!("may add a line with /{text}/ to {}", change.path))
        }
        Some(change) => Match::Yes(format!("adds a line with /{text}/ to {}", change.path)),
        None => Match::No,
    }
}

/// Compares an expression with the input as compact JSON, and with each of its strings.
fn input_matches(text: &str, input: &Value) -> Match {
    match regex(text, Case::Ignored) {
        Ok(expression) => {
            let is_match = any_string(input, &|text| expression.is_match(text))
                || expression.is_match(&input.to_string());
            yes_if(is_match, || format!("its input matches /{text}/"))
        }
        Err(error) => Match::Unusable(error.to_string()),
    }
}

/// True if `is_match` is true of a string in a value. Names of fields are strings, too.
fn any_string(value: &Value, is_match: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_match(text),
        Value::Array(items) => items.iter().any(|item| any_string(item, is_match)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| is_match(name) || any_string(value, is_match)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn command_matches(expression: Option<&str>, words: Option<&str>, command: Option<&str>) -> Match {
    let command = command.unwrap_or_default();
    if let Some(text) = expression {
        return match regex(text, Case::Counts) {
            Ok(expression) => yes_if(expression.is_match(command), || {
                format!("its command matches /{text}/")
            }),
            Err(error) => Match::Unusable(error.to_string()),
        };
    }
    let text = words.unwrap_or_default();
    match CommandPattern::new(text) {
        Ok(pattern) => yes_if(pattern.is_in(command), || format!("its command has {text}")),
        Err(error) => Match::Unusable(error.to_string()),
    }
}

/// The part of a budget that the turn has used. None: unknown.
fn used(of: BudgetOf, lookup: &mut dyn CallLookup) -> Result<Option<u64>> {
    Ok(match of {
        BudgetOf::Calls => Some(lookup.turn()?.calls),
        BudgetOf::Files => Some(lookup.turn()?.files),
        BudgetOf::Lines => Some(lookup.turn()?.lines),
        BudgetOf::Minutes => Some(lookup.turn()?.minutes),
        BudgetOf::Tokens => lookup.tokens()?,
    })
}

/// False if a step cannot end at this call, whatever its turn.
fn may_end_step(how: &StepUntil, facts: &CallFacts<'_>) -> bool {
    match how {
        StepUntil::Over { thread } => thread.as_deref() == facts.subagent,
        StepUntil::File { paths } => facts.paths.iter().any(|path| !paths.contains(path)),
        StepUntil::Into | StepUntil::Out { .. } | StepUntil::Turn { .. } => true,
    }
}

fn ends_step(how: &StepUntil, facts: &CallFacts<'_>, lookup: &mut dyn CallLookup) -> Result<bool> {
    Ok(match how {
        StepUntil::Over { .. } | StepUntil::File { .. } => may_end_step(how, facts),
        StepUntil::Into => true,
        StepUntil::Out { turn } => facts.subagent.is_none() || lookup.turn()?.number != *turn,
        StepUntil::Turn { turn } => lookup.turn()?.number != *turn,
    })
}

/// Compares a breakpoint that is accepted with calls whose texts are arbitrary. Its expressions can be used.
#[cfg(any(test, fuzzing))]
pub(crate) fn exercise(spec: BreakpointSpec, text: &str) {
    exercise::exercise(spec, text);
}

#[cfg(any(test, fuzzing))]
mod exercise;
#[cfg(test)]
mod tests;
